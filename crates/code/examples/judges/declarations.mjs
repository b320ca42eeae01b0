// Lists the declarations of TypeScript files as the TypeScript compiler parses them: `node declarations.mjs ROWS`.
//
// A row is a number and the path of a file; a line of the output is one declaration as JSON. Knows neither how Loci reads a file nor
// how the two are compared.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const ts = createRequire(path.join(process.env.NODE_MODULES ?? ".", "x"))("typescript");
const { SyntaxKind: K } = ts;

for (const row of fs.readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) {
  const [number, file] = row.split("\t");
  const source = ts.createSourceFile(file, fs.readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  if (source.parseDiagnostics.length) {
    console.log(JSON.stringify({ file: Number(number), unreadable: true }));
    continue;
  }
  const print = (owner, name, kind, visibility, structure, behaviour, node) => {
    const doc = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).map((it) => it.getText()).join("\n");
    console.log(JSON.stringify({ file: Number(number), owner, name, kind, visibility, structure, behaviour, doc }));
  };
  readStatements(source.statements, "", source, print);
}

/** The tokens of a node without comments and layout. */
function tokens(node) {
  if (!node) return "";
  if (Array.isArray(node)) return node.map(tokens).join(" ");
  const found = [];
  const visit = (at) => {
    if (at.kind >= K.FirstJSDocNode && at.kind <= K.LastJSDocNode) return;
    const children = at.getChildren();
    if (children.length === 0) {
      // one may write or omit these, and quote a string either way
      const text = at.kind === K.StringLiteral ? JSON.stringify(at.text) : at.getText();
      if (text && at.kind !== K.SemicolonToken && at.kind !== K.CommaToken) found.push(text);
    }
    children.forEach(visit);
  };
  visit(node);
  return found.join(" ");
}

function has(node, kind) {
  return (node.modifiers ?? []).some((it) => it.kind === kind);
}

function modifiers(node) {
  const words = (node.modifiers ?? []).filter((it) => it.kind !== K.AsyncKeyword);
  return words.map(tokens).sort().join(" ");
}

/** The names in `export { a, b as c }` without a module. */
function exportedNames(statements) {
  const lists = statements.filter((it) => ts.isExportDeclaration(it) && !it.moduleSpecifier && it.exportClause?.elements);
  return new Set(lists.flatMap((it) => it.exportClause.elements.map((each) => (each.propertyName ?? each.name).text)));
}

function readStatements(statements, owner, source, print) {
  const exported = exportedNames(statements);
  for (const node of statements) {
    const names = ts.isVariableStatement(node) ? node.declarationList.declarations.map((it) => it.name) : [node.name];
    // what a script without imports and exports declares is global
    const isExported = has(node, K.ExportKeyword) || !ts.isExternalModule(source) || names.some((it) => it && exported.has(it.text));
    const visible = isExported ? "public" : "private";
    if (ts.isFunctionDeclaration(node) && node.name) readFunction(node, node.name.text, owner, visible, print);
    else if (ts.isVariableStatement(node)) readVariables(node, owner, visible, print);
    else if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node)) readType(node, owner, visible, print);
    else if (ts.isTypeAliasDeclaration(node)) print(owner, node.name.text, "type", visible, tokens([...(node.typeParameters ?? []), node.type]), "", node);
    else if (ts.isModuleDeclaration(node) && node.body && ts.isModuleBlock(node.body)) {
      const name = owner ? `${owner}.${node.name.text}` : node.name.text;
      readStatements(node.body.statements, name, source, print);
    }
  }
}

function readVariables(node, owner, visible, print) {
  for (const each of node.declarationList.declarations) {
    if (!ts.isIdentifier(each.name)) continue;
    const value = each.initializer;
    if (value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value))) {
      const [structure, behaviour] = functionTexts(value);
      print(owner, each.name.text, "function", visible, modifiers(node) + tokens(each.type) + structure, behaviour, node);
    } else print(owner, each.name.text, "field", visible, modifiers(node) + tokens(each.type), tokens(value), node);
  }
}

/** The contract and the behaviour: names and default values of parameters are behaviour. */
function functionTexts(node) {
  const types = node.parameters.map((it) => `${modifiers(it)} ${tokens(it.dotDotDotToken)}${tokens(it.questionToken)}${tokens(it.type)}`);
  const names = node.parameters.map((it) => `${tokens(it.name)}=${tokens(it.initializer)}`);
  const isAsync = has(node, K.AsyncKeyword) ? "async" : "";
  const structure = [tokens([...(node.typeParameters ?? [])]), types.join(" | "), tokens(node.type)].join(" : ");
  return [structure, [isAsync, names.join(" "), tokens(node.body)].join(" : ")];
}

function readFunction(node, name, owner, visible, print) {
  const [structure, behaviour] = functionTexts(node);
  print(owner, name, "function", visible, `${modifiers(node)} ${structure}`, behaviour, node);
}

function readType(node, owner, visible, print) {
  if (!node.name) return;
  const name = node.name.text;
  print(owner, name, "type", visible, `${K[node.kind]} ${modifiers(node)} ${tokens([...(node.typeParameters ?? []), ...(node.heritageClauses ?? [])])}`, "", node);
  for (const member of node.members) readMember(member, owner ? `${owner}.${name}` : name, print);
}

function readMember(node, owner, print) {
  const isConstructor = ts.isConstructorDeclaration(node);
  if (!isConstructor && !node.name) return;
  if (!isConstructor && !ts.isIdentifier(node.name) && !ts.isStringLiteral(node.name) && !ts.isPrivateIdentifier(node.name)) return;
  const name = isConstructor ? "constructor" : node.name.text;
  const isPrivate = has(node, K.PrivateKeyword) || name.startsWith("#");
  const visible = isPrivate ? "private" : "public";
  if (node.parameters) return readFunction(node, name, owner, visible, print);
  const structure = `${modifiers(node)} ${tokens(node.questionToken)} ${tokens(node.type)}`;
  print(owner, name, "field", visible, structure, tokens(node.initializer), node);
}
