#!/usr/bin/env node
// Starts the binary of this platform, which npm installed as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");

const name = `${require("../package.json").name}-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "loci.exe" : "loci";

function findBinary() {
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    console.error(`loci: the package ${name} is not installed`);
    console.error("hint: install again without --omit=optional; if npm finds no such package, this platform is not supported");
    process.exit(1);
  }
}

const child = spawn(findBinary(), process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to both; a client that stops a server signals only this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`loci: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
