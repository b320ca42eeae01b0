// Lists references as the TypeScript language service finds them: `node typescript.mjs SYMBOLS TREE`.
//
// Knows neither how usages were found nor how the two are compared. Packages of the tree that import each other must be linked
// in the tree's node_modules. A member that a class or interface declares again is no reference, as in the answers of the other
// judges; the service lists each of them for every related interface (2,725 of 20,818 lines in zod).

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { printReferences, readSymbols } from "./symbols.mjs";

const [symbols, tree] = process.argv.slice(2);
const root = fs.realpathSync(tree);
const ts = createRequire(path.join(process.env.NODE_MODULES ?? ".", "x"))("typescript");

const files = ts.sys
  .readDirectory(root, [".ts", ".tsx", ".mts", ".cts"], ["**/node_modules/**"])
  .map((file) => path.resolve(file));
const config = ts.findConfigFile(root, ts.sys.fileExists);
const read = config ? ts.readConfigFile(config, ts.sys.readFile).config : {};
const parsed = ts.parseJsonConfigFileContent(read, ts.sys, root).options;
const options = { ...parsed, noEmit: true, allowJs: false, skipLibCheck: true };
const host = {
  getScriptFileNames: () => files,
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) =>
    fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined,
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
  realpath: ts.sys.realpath,
};
const service = ts.createLanguageService(host);
const program = service.getProgram();
for (const symbol of readSymbols(symbols)) {
  const file = path.join(root, symbol.file);
  const source = program.getSourceFile(file);
  if (!source) continue;
  const at = source.getPositionOfLineAndCharacter(symbol.line - 1, symbol.column - 1);
  const found = service.findReferences(file, at) ?? [];
  const lines = new Set();
  for (const reference of found.flatMap((each) => each.references)) {
    if (reference.isDefinition || reference.fileName.includes("node_modules")) continue;
    const of = program.getSourceFile(reference.fileName);
    if (isDeclaredMember(of, reference.textSpan.start)) continue;
    const line = of.getLineAndCharacterOfPosition(reference.textSpan.start).line + 1;
    lines.add(`${path.relative(root, reference.fileName)}:${line}`);
  }
  printReferences(symbol, [...lines]);
}

/** Whether a class or an interface declares a member with the name at this position. */
function isDeclaredMember(source, at) {
  const name = innermost(source, at);
  const declared = name.parent;
  const isMember = declared && (ts.isClassElement(declared) || ts.isTypeElement(declared));
  return isMember && declared.name === name && !ts.isObjectLiteralExpression(declared.parent);
}

/** The smallest node around a position. The span of a quoted name begins after its quote. */
function innermost(node, at) {
  const inner = ts.forEachChild(node, (child) => (child.getStart() <= at && at < child.end ? child : undefined));
  return inner ? innermost(inner, at) : node;
}
