// Compares the places that `renames` changed in a TypeScript tree with those that TypeScript's language service would rename:
// `node rename_locations.mjs ROOT OUTPUT`, where OUTPUT is what the example printed.
//
// Prints each symbol whose places differ, and a summary. Does not know how Loci finds the places.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const ts = createRequire(path.join(process.env.NODE_MODULES ?? ".", "x"))("typescript");
const [root, output] = process.argv.slice(2);
const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const texts = new Map();
const textOf = (file) => texts.get(file) ?? texts.set(file, fs.readFileSync(file)).get(file);
const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => fileNames,
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) => (fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined),
  getCurrentDirectory: () => root,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
});

/** Where a byte is in the text as the language service counts. */
const toUnits = (file, byte) => textOf(file).subarray(0, byte).toString("utf8").length;
const toBytes = (file, unit) => Buffer.byteLength(textOf(file).toString("utf8").slice(0, unit));

let [same, other, without] = [0, 0, 0];
for (const row of fs.readFileSync(output, "utf8").split("\n")) {
  const [outcome, , name, place, , places] = row.split("\t");
  if (outcome !== "complete" && outcome !== "compiled") continue;
  const [file, at] = place.split(":");
  const full = path.join(root, file);
  const found = service.findRenameLocations(full, toUnits(full, Number(at)), false, false, {
    providePrefixAndSuffixTextForRename: true,
  });
  if (!found) {
    without += 1;
    console.log(`no answer\t${name}\t${place}`);
    continue;
  }
  const theirs = new Set(
    found.map((it) => `${path.relative(root, it.fileName)}:${toBytes(it.fileName, it.textSpan.start)}`),
  );
  const ours = new Set(
    places.split(" ").flatMap((it) => {
      const [file, offsets] = it.split(":");
      return offsets.split(",").map((offset) => `${file}:${offset}`);
    }),
  );
  const more = [...ours].filter((it) => !theirs.has(it));
  const less = [...theirs].filter((it) => !ours.has(it));
  if (more.length + less.length === 0) same += 1;
  else {
    other += 1;
    console.log(`different\t${name}\t${place}\tonly Loci: ${more.join(" ")}\tonly TypeScript: ${less.join(" ")}`);
  }
}
console.log(`# ${same} the same, ${other} different, ${without} without an answer`);
