// Lists references as a language server finds them: `node lsp.mjs SERVER SYMBOLS TREE`.
//
// Knows neither how usages were found nor how the two are compared.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { printReferences, readSymbols } from "./symbols.mjs";

const SERVERS = {
  pyright: {
    command: [process.execPath, path.join(process.env.NODE_MODULES ?? "node_modules", "pyright/langserver.index.js"), "--stdio"],
    language: "python",
    // whatever the project's configuration leaves out is a usage all the same
    opens: ".py",
  },
  "rust-analyzer": {
    command: ["rust-analyzer"],
    language: "rust",
    options: { checkOnSave: false, procMacro: { enable: false }, cargo: { buildScripts: { enable: false } } },
    reportsStatus: true,
  },
};

const [name, symbols, tree] = process.argv.slice(2);
const server = SERVERS[name];
const root = fs.realpathSync(tree);
const child = spawn(server.command[0], server.command.slice(1), {
  cwd: root,
  stdio: ["pipe", "pipe", "ignore"],
});
const waiting = new Map();
let buffered = Buffer.alloc(0);
let next = 1;
let reportReady;
const ready = new Promise((resolve) => (reportReady = resolve));

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
    const items = message.method === "workspace/configuration" ? message.params.items.map(() => server.options ?? {}) : null;
    send({ id: message.id, result: items });
  } else if (message.method === "experimental/serverStatus" && message.params.quiescent) {
    reportReady();
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
    const length = Number(/Content-Length: (\d+)/i.exec(buffered.subarray(0, end).toString())[1]);
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
  initializationOptions: server.options,
  capabilities: {
    workspace: { configuration: true, workspaceFolders: true },
    experimental: { serverStatusNotification: true },
  },
});
send({ method: "initialized", params: {} });
if (server.reportsStatus) await ready;
const opened = new Set();
function open(file) {
  if (opened.has(file)) return;
  opened.add(file);
  const text = fs.readFileSync(file, "utf8");
  const textDocument = { uri: pathToFileURL(file).href, languageId: server.language, version: 1, text };
  send({ method: "textDocument/didOpen", params: { textDocument } });
}

for (const file of server.opens ? fs.readdirSync(root, { recursive: true }) : []) {
  if (file.endsWith(server.opens) && !file.startsWith(".")) open(path.join(root, file));
}
for (const symbol of readSymbols(symbols)) {
  const file = path.join(root, symbol.file);
  const document = { uri: pathToFileURL(file).href };
  open(file);
  const position = { line: symbol.line - 1, character: symbol.column - 1 };
  const context = { includeDeclaration: false };
  const found = await request("textDocument/references", { textDocument: document, position, context });
  const lines = (found ?? []).map((it) => `${path.relative(root, fileURLToPath(it.uri))}:${it.range.start.line + 1}`);
  printReferences(symbol, lines.filter((line) => !line.startsWith("..")));
}
child.kill();
