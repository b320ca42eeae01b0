// What the judges read and write: symbols as `number, file, line, column, name`, and references as `number, file:line`, with tabs.
//
// Knows no compiler.

import fs from "node:fs";

export function readSymbols(file) {
  const rows = fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((row) => row.split("\t"));
  return rows.map(([number, file, line, column, name]) => ({ number, file, line: +line, column: +column, name }));
}

/** A symbol without references prints one row without a place, so that it counts as judged. */
export function printReferences(symbol, lines) {
  const rows = lines.length ? lines : [""];
  process.stdout.write(rows.map((line) => `${symbol.number}\t${line}\n`).join(""));
}
