// Asks TypeScript's language service what a rename changes. Reads a request from standard input, prints the answer as JSON:
//
//   { root, project, package, file, at, open: [{ file, at }] }
//   { edits: [{ file, from, to, before, after }], meanings: ["symbol" | "other" | "unknown"] }
//
// Offsets are bytes of UTF-8; `before` and `after` are added around the new name. Prints `null` if the service does not rename the
// symbol, for example because a library declares it. Does not know Loci's plan beyond the open places, and changes nothing.

const fs = require("node:fs");
const path = require("node:path");

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const ts = require(path.join(request.package, "lib", "typescript.js"));
const { config } = ts.readConfigFile(path.join(request.project, "tsconfig.json"), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, request.project);

const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => fileNames,
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) => {
    const text = ts.sys.readFile(file);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  getCurrentDirectory: () => request.project,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
  realpath: ts.sys.realpath,
});

/** The text of a file, and the length of a byte order mark that the service does not count. */
const known = new Map();
function textOf(file) {
  if (!known.has(file)) {
    const bytes = fs.readFileSync(file);
    const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    known.set(file, { text: ts.sys.readFile(file), mark });
  }
  return known.get(file);
}

function toUnits(file, at) {
  const { text, mark } = textOf(file);
  return Buffer.from(text, "utf8").subarray(0, at - mark).toString("utf8").length;
}

function toBytes(file, unit) {
  const { text, mark } = textOf(file);
  return Buffer.byteLength(text.slice(0, unit), "utf8") + mark;
}

function findEdits() {
  const file = path.join(request.root, request.file);
  const at = toUnits(file, request.at);
  if (!service.getProgram().getSourceFile(file) || !service.getRenameInfo(file, at, {}).canRename) return null;
  const found = service.findRenameLocations(file, at, false, false, { providePrefixAndSuffixTextForRename: true });
  return found?.map((it) => ({
    file: path.relative(request.root, it.fileName),
    from: toBytes(it.fileName, it.textSpan.start),
    to: toBytes(it.fileName, it.textSpan.start + it.textSpan.length),
    before: it.prefixText ?? "",
    after: it.suffixText ?? "",
  })) ?? null;
}

/** What a place means that the service would not rename: something else, if the service can say what. */
function meaningOf(file, at) {
  const source = service.getProgram().getSourceFile(file);
  if (!source) return "unknown";
  const token = ts.getTokenAtPosition(source, at);
  if (ts.isStringLiteralLike(token) || ts.isPropertyName(token) && ts.isObjectLiteralElementLike(token.parent)) return "other";
  return service.getDefinitionAtPosition(file, at)?.length ? "other" : "unknown";
}

function answer() {
  const edits = findEdits();
  if (!edits) return null;
  const renamed = new Set(edits.map((it) => `${it.file}:${it.from}`));
  const meanings = request.open.map((it) => {
    const file = path.join(request.root, it.file);
    return renamed.has(`${it.file}:${it.at}`) ? "symbol" : meaningOf(file, toUnits(file, it.at));
  });
  return { edits, meanings };
}

process.stdout.write(JSON.stringify(answer()));
