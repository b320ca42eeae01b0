// Judges usages by pyright:
//
//     npm install --prefix DIR pyright
//     NODE_MODULES=DIR/node_modules node pyright.mjs usages.jsonl TREE

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { Tally, readSymbols } from "./tally.mjs";

const [dump, tree] = process.argv.slice(2);
const root = fs.realpathSync(tree);
const server = path.join(process.env.NODE_MODULES ?? "node_modules", "pyright/langserver.index.js");
const child = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
const waiting = new Map();
let buffered = Buffer.alloc(0);
let next = 1;

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
  child.stdin.write(body);
}

function request(method, params) {
  const id = next++;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function receive(message) {
  if (message.id !== undefined && message.method) {
    const items = message.method === "workspace/configuration" ? message.params.items.map(() => ({})) : null;
    send({ id: message.id, result: items });
  } else if (waiting.has(message.id)) {
    waiting.get(message.id)(message.result);
    waiting.delete(message.id);
  }
}

child.stdout.on("data", (data) => {
  buffered = Buffer.concat([buffered, data]);
  for (;;) {
    const end = buffered.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/.exec(buffered.subarray(0, end).toString())[1]);
    if (buffered.length < end + 4 + length) return;
    receive(JSON.parse(buffered.subarray(end + 4, end + 4 + length).toString()));
    buffered = buffered.subarray(end + 4 + length);
  }
});

const uri = pathToFileURL(root).href;
await request("initialize", {
  processId: process.pid,
  rootUri: uri,
  workspaceFolders: [{ uri, name: "tree" }],
  capabilities: { workspace: { configuration: true, workspaceFolders: true } },
});
send({ method: "initialized", params: {} });
const opened = new Set();
const tally = new Tally();
for (const symbol of readSymbols(dump).filter((each) => each.file.endsWith(".py"))) {
  const file = path.join(root, symbol.file);
  const document = { uri: pathToFileURL(file).href };
  if (!opened.has(file)) {
    opened.add(file);
    const text = fs.readFileSync(file, "utf8");
    send({ method: "textDocument/didOpen", params: { textDocument: { ...document, languageId: "python", version: 1, text } } });
  }
  const position = { line: symbol.line - 1, character: symbol.column - 1 };
  const found = await request("textDocument/references", {
    textDocument: document,
    position,
    context: { includeDeclaration: false },
  });
  const lines = (found ?? []).map((it) => {
    const at = path.relative(root, fileURLToPath(it.uri));
    return `${at}:${it.range.start.line + 1}`;
  });
  tally.add(symbol, new Set(lines.filter((line) => !line.startsWith(".."))));
}
tally.print();
child.kill();
