//! `cargo xtask quality judges LANGUAGE FOLDER`: usages of a sample of symbols against the references that a compiler finds, line by
//! line.
//!
//! Does not parse source: the example `usages` of the crate `code` lists the usages, and a script in `examples/judges` asks the
//! compiler.

use super::set::Scratch;
use crate::args::Args;
use crate::{Outcome, repository};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A compiler: the language, the endings of its files, the program that runs its script, and the script with its arguments.
struct Judge {
    language: &'static str,
    endings: &'static [&'static str],
    program: &'static str,
    before: &'static [&'static str],
    script: &'static str,
    arguments: &'static [&'static str],
    /// Least recall of all usages.
    recall: f64,
}

/// Least share of certain usages that the compiler confirms.
const PRECISION: f64 = 0.97;

const JUDGES: &[Judge] = &[
    Judge {
        language: "typescript",
        endings: &["ts", "tsx", "mts", "cts"],
        program: "node",
        before: &["--max-old-space-size=3000"],
        script: "typescript.mjs",
        arguments: &[],
        recall: 0.90,
    },
    Judge {
        language: "python",
        endings: &["py", "pyi"],
        program: "node",
        before: &[],
        script: "lsp.mjs",
        arguments: &["pyright"],
        recall: 0.90,
    },
    Judge {
        language: "rust",
        endings: &["rs"],
        program: "node",
        before: &[],
        script: "lsp.mjs",
        arguments: &["rust-analyzer"],
        recall: 0.80,
    },
    Judge {
        language: "java",
        endings: &["java"],
        program: "java",
        before: &[],
        script: "References.java",
        arguments: &[],
        recall: 0.90,
    },
    Judge {
        language: "go",
        endings: &["go"],
        program: "go",
        before: &["run"],
        script: "references.go",
        arguments: &[],
        recall: 0.90,
    },
];

/// A sampled symbol, as the example prints it.
struct Symbol {
    full_name: String,
    name: String,
    kind: String,
    file: String,
    line: u64,
    column: u64,
    /// File, line and certainty.
    usages: Vec<(String, u64, String)>,
}

impl Symbol {
    fn parse(row: &str) -> Result<Symbol, String> {
        let row: Value = serde_json::from_str(row).map_err(|error| format!("usages: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let usages = row["usages"].as_array().into_iter().flatten();
        Ok(Symbol {
            full_name: text(&row["symbol"]),
            name: text(&row["name"]),
            kind: text(&row["kind"]),
            file: text(&row["file"]),
            line: number(&row["line"]),
            column: number(&row["column"]),
            usages: usages.map(|it| (text(&it[0]), number(&it[1]), text(&it[2]))).collect(),
        })
    }
}

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["count", "modules"], &["all"])?;
    let [language, tree] = &args.positional[..] else {
        return Err("name a language and a source tree".to_owned());
    };
    let known = || JUDGES.iter().map(|judge| judge.language).collect::<Vec<_>>().join(", ");
    let judge = JUDGES.iter().find(|judge| judge.language == language);
    let judge = judge.ok_or_else(|| format!("no judge of {language}; one of: {}", known()))?;
    let symbols = list_usages(tree, args.number_value("count", 300)?, judge)?;
    let references =
        ask_compiler(judge, tree, &symbols, args.text_value("modules").unwrap_or("node_modules"))?;
    let mut tally = Tally::default();
    for (number, symbol) in symbols.iter().enumerate() {
        if let Some(references) = references.get(&number) {
            tally.add(symbol, references);
        }
    }
    tally.print(args.has_switch("all"));
    Ok(tally.precision() >= PRECISION && tally.recall() >= judge.recall)
}

fn list_usages(tree: &str, count: u64, judge: &Judge) -> Result<Vec<Symbol>, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "-p", "loci-code-index", "--example", "usages"]);
    // optimised if this task is: an unoptimised run takes some minutes for a large tree
    cargo.args((!cfg!(debug_assertions)).then_some("--release")).args(["--", "dump", tree]);
    let printed = run_for_output(cargo.arg(count.to_string()))?;
    let mut symbols = printed.lines().map(Symbol::parse).collect::<Result<Vec<Symbol>, String>>()?;
    let ending = |symbol: &Symbol| symbol.file.rsplit('.').next().unwrap_or_default().to_owned();
    symbols.retain(|symbol| judge.endings.contains(&ending(symbol).as_str()));
    Ok(symbols)
}

/// The references of each symbol that the compiler knows, as `file:line`.
fn ask_compiler(
    judge: &Judge,
    tree: &str,
    symbols: &[Symbol],
    modules: &str,
) -> Result<BTreeMap<usize, BTreeSet<String>>, String> {
    let scratch = Scratch::new();
    let folder = scratch.subfolder("symbols");
    let file = folder.join("rows");
    let mut rows = String::new();
    for (number, it) in symbols.iter().enumerate() {
        let _ = writeln!(rows, "{number}\t{}\t{}\t{}\t{}", it.file, it.line, it.column, it.name);
    }
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&file, rows))
        .map_err(|error| error.to_string())?;
    let script = repository::root().join("crates/code/examples/judges").join(judge.script);
    let modules = Path::new(modules).canonicalize().unwrap_or_default();
    let mut command = Command::new(judge.program);
    command.args(judge.before).arg(script).args(judge.arguments).arg(&file).arg(tree);
    let printed = run_for_output(command.env("NODE_MODULES", modules))?;
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (number, place) in printed.lines().filter_map(|row| row.split_once('\t')) {
        let lines = found.entry(number.parse().map_err(|_| format!("{number} is no number"))?).or_default();
        lines.extend((!place.is_empty()).then(|| place.to_owned()));
    }
    Ok(found)
}

pub(super) fn run_for_output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let run = command.stderr(std::process::Stdio::inherit()).output();
    let run = run.map_err(|error| format!("{name}: {error}"))?;
    if !run.status.success() {
        return Err(format!("{name}: {}", run.status));
    }
    String::from_utf8(run.stdout).map_err(|error| format!("{name}: {error}"))
}

/// Lines that are right, and all lines.
type Share = [usize; 2];

#[derive(Default)]
struct Tally {
    symbols: usize,
    /// Of the usages, by certainty.
    right: BTreeMap<&'static str, Share>,
    /// Of the references.
    found: Share,
    likely: usize,
    kinds: BTreeMap<String, Share>,
    wrong: Vec<String>,
    missed: Vec<String>,
}

impl Tally {
    fn add(&mut self, symbol: &Symbol, references: &BTreeSet<String>) {
        let declared = format!("{}:{}", symbol.file, symbol.line);
        let best = best_certainties(symbol);
        self.symbols += 1;
        for (place, certainty) in best.iter().filter(|(place, _)| **place != declared) {
            let is_right = references.contains(place);
            let share = self.right.entry(certainty).or_default();
            *share = [share[0] + usize::from(is_right), share[1] + 1];
            if *certainty == "certain" && !is_right {
                self.wrong.push(format!("{} ({}) at {place}", symbol.full_name, symbol.kind));
            }
        }
        for place in references.iter().filter(|place| **place != declared) {
            let certainty = best.get(place);
            self.found = [self.found[0] + usize::from(certainty.is_some()), self.found[1] + 1];
            self.likely += usize::from(certainty.is_some_and(|it| *it != "possible"));
            let kind = self.kinds.entry(symbol.kind.clone()).or_default();
            *kind = [kind[0] + usize::from(certainty.is_some()), kind[1] + 1];
            if certainty.is_none() {
                self.missed.push(format!("{} ({}) at {place}", symbol.full_name, symbol.kind));
            }
        }
    }

    fn precision(&self) -> f64 {
        self.right.get("certain").map_or(1.0, |share| rate(*share))
    }

    fn recall(&self) -> f64 {
        rate(self.found)
    }

    fn print(&self, all: bool) {
        println!("{} symbols, {} lines with references", self.symbols, self.found[1]);
        for (certainty, share) in &self.right {
            println!("precision of {certainty}: {:.3} of {} lines", rate(*share), share[1]);
        }
        let likely = rate([self.likely, self.found[1]]);
        println!("recall: {:.3}, as likely or better {likely:.3}", self.recall());
        let kinds: Vec<String> = self
            .kinds
            .iter()
            .map(|(kind, share)| format!("{kind} {:.3} of {}", rate(*share), share[1]))
            .collect();
        println!("recall by kind: {}", kinds.join(", "));
        print_sample("certain but wrong", &self.wrong, all);
        print_sample("missed", &self.missed, all);
    }
}

/// The best certainty on each line.
fn best_certainties(symbol: &Symbol) -> BTreeMap<String, &'static str> {
    const ORDER: [&str; 3] = ["certain", "likely", "possible"];
    let rank = |certainty: &str| ORDER.iter().position(|it| *it == certainty).unwrap_or(0);
    let mut best: BTreeMap<String, usize> = BTreeMap::new();
    for (file, line, certainty) in &symbol.usages {
        let known = best.entry(format!("{file}:{line}")).or_insert(usize::MAX);
        *known = rank(certainty).min(*known);
    }
    best.into_iter().map(|(place, at)| (place, ORDER[at])).collect()
}

fn rate([part, of]: Share) -> f64 {
    part as f64 / of.max(1) as f64
}

/// Prints a list, or 25 of it, evenly spread.
pub(super) fn print_sample(what: &str, list: &[String], all: bool) {
    if list.is_empty() {
        return;
    }
    println!("{what} ({}):", list.len());
    let step = if all { 1 } else { list.len().div_ceil(25) };
    list.iter().step_by(step).for_each(|each| println!("  {each}"));
}
