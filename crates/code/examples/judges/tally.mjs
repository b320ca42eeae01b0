// Compares usages with a compiler's references, line by line.
//
// Knows neither the compiler nor how usages were found.

import fs from "node:fs";

export function readSymbols(path) {
  return fs.readFileSync(path, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

export class Tally {
  constructor() {
    this.symbols = 0;
    this.certain = [0, 0];
    this.likely = [0, 0];
    this.possible = [0, 0];
    this.truth = [0, 0, 0];
    this.wrong = [];
    this.missed = [];
    this.kinds = new Map();
  }

  // `truth` is a set of `file:line`, without the declaration.
  add(symbol, truth) {
    this.symbols += 1;
    const declared = `${symbol.file}:${symbol.line}`;
    const best = new Map();
    const order = ["exact", "certain", "likely", "possible"];
    for (const [file, line, certainty] of symbol.usages) {
      const key = `${file}:${line}`;
      if (key === declared) continue;
      if (!best.has(key) || order.indexOf(certainty) < order.indexOf(best.get(key))) best.set(key, certainty);
    }
    for (const [key, certainty] of best) {
      const counts = certainty === "exact" || certainty === "certain" ? this.certain : this[certainty];
      counts[0] += truth.has(key) ? 1 : 0;
      counts[1] += 1;
      if (counts === this.certain && !truth.has(key)) this.wrong.push(`${symbol.symbol} at ${key}`);
    }
    const kind = this.kinds.get(symbol.kind) ?? [0, 0];
    this.kinds.set(symbol.kind, kind);
    for (const key of truth) {
      if (key === declared) continue;
      const certainty = best.get(key);
      this.truth[0] += certainty ? 1 : 0;
      this.truth[1] += certainty && certainty !== "possible" ? 1 : 0;
      this.truth[2] += 1;
      kind[0] += certainty ? 1 : 0;
      kind[1] += 1;
      if (!certainty) this.missed.push(`${symbol.symbol} at ${key}`);
    }
  }

  print() {
    const share = (part, of) => (of === 0 ? "-" : (part / of).toFixed(3));
    const of = ([right, all]) => `${share(right, all)} of ${all} lines`;
    console.log(`${this.symbols} symbols, ${this.truth[2]} lines with references`);
    console.log(`precision: certain ${of(this.certain)}, likely ${of(this.likely)}, possible ${of(this.possible)}`);
    console.log(
      `recall: ${share(this.truth[0], this.truth[2])}, as likely or better ${share(this.truth[1], this.truth[2])}`,
    );
    const kinds = [...this.kinds].map(([kind, [found, all]]) => `${kind} ${share(found, all)} of ${all}`);
    console.log(`recall by kind: ${kinds.join(", ")}`);
    const sample = (list) => list.filter((_, at) => at % Math.ceil(list.length / 25) === 0).join("\n  ");
    if (this.wrong.length) console.log(`certain but wrong (${this.wrong.length}):\n  ${sample(this.wrong)}`);
    if (this.missed.length) console.log(`missed (${this.missed.length}):\n  ${sample(this.missed)}`);
  }
}
