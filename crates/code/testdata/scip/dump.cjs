// Reads an index with the bindings that scip-typescript brings along, and prints every occurrence: what our reader is held against.
//
//   npm i @sourcegraph/scip-typescript@0.4.0
//   NODE_PATH=node_modules node dump.cjs index.scip > index.tsv
const fs = require("fs");
const { scip } = require("@sourcegraph/scip-typescript/dist/src/scip.js");
const index = scip.Index.deserializeBinary(fs.readFileSync(process.argv[2]));
const lines = [];
for (const document of index.documents) {
  for (const { range, symbol, symbol_roles } of document.occurrences) {
    const [line, column, ...end] = range;
    const [endLine, endColumn] = end.length === 1 ? [line, end[0]] : end;
    const name = symbol.replaceAll("\n", "\\n");
    if (symbol) lines.push([document.relative_path, `${line}:${column}-${endLine}:${endColumn}`, symbol_roles, name].join("\t"));
  }
}
process.stdout.write(lines.join("\n") + "\n");
