//! Measures symbol → session on the replayed history of a repository: recorded sessions, shell commands and people take turns, two
//! formatter runs and moves of files come in between, and `loci why SYMBOL` is asked for the symbols at the end:
//!
//!     cargo run --example symbols -- REPO [SUFFIX] [COMMITS] [SYMBOLS]
//!
//!     cargo run --release --example symbols -- REPO [SUFFIX] [COMMITS] [SYMBOLS] --hook
//!
//! The second form measures instead how often the hook before an edit is silent about functions without a decision. The truth is which session wrote a line, by `git blame -w -M` on the original, which knows neither formatter nor moves. Kinder than life:
//! one session for each commit, no branches and no worktrees. `--explain` prints what differs, `--keep` leaves the repository.

// The pedantic lints are for shipped code.
#![allow(clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]

mod hook;
mod layout;
mod replay;
mod truth;

use layout::hash;
use replay::Replay;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use testutil::{Finished, command, run_command};
use truth::Truth;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let Some(repo) = args.first().map(Path::new) else {
        println!("usage: symbols REPO [SUFFIX] [COMMITS] [SYMBOLS]");
        return;
    };
    let suffix = args.get(1).map_or(".py", String::as_str);
    let number =
        |at: usize, otherwise: usize| args.get(at).and_then(|it| it.parse().ok()).unwrap_or(otherwise);
    let replay = Replay::make(repo, suffix, number(2, 300));
    loci(&replay, &["index"]).expect(0);
    let symbols = list_symbols(&replay, number(3, 400));
    if has_flag("--hook") {
        hook::measure(&replay, &symbols);
        return;
    }
    let truth = Truth::read(&replay);
    let mut counts = Counts::default();
    for symbol in &symbols {
        counts.add(&replay, &truth, symbol);
    }
    counts.print();
    if has_flag("--keep") {
        println!("{}", replay.root.display());
        std::mem::forget(replay);
    }
}

fn has_flag(flag: &str) -> bool {
    std::env::args().any(|arg| arg == flag)
}

fn loci(replay: &Replay, args: &[&str]) -> Finished {
    let mut run = command(replay.home.path(), args);
    run.current_dir(&replay.root);
    run_command(run)
}

struct Symbol {
    id: String,
    kind: String,
    name: String,
    file: String,
    lines: (usize, usize),
}

/// Some of the symbols of the tree; files as a whole are none.
fn list_symbols(replay: &Replay, most: usize) -> Vec<Symbol> {
    let found = loci(replay, &["code", "find", "*.*", "--limit", "100000"]).expect(0).records().remove(0);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let line = |value: &Value| value.as_u64().unwrap_or(1) as usize;
    let mut symbols: Vec<Symbol> = found["candidates"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|it| it["kind"] != "module")
        .map(|it| Symbol {
            id: text(it.get("memberId").unwrap_or(&it["typeId"])),
            kind: text(&it["kind"]),
            name: text(&it["path"]),
            file: text(&it["file"]),
            lines: (line(&it["line"]), line(&it["endLine"])),
        })
        .collect();
    let total = symbols.len();
    symbols.sort_by_key(|symbol| hash(&symbol.id));
    symbols.truncate(most);
    println!("{} of {total} symbols", symbols.len());
    symbols
}

#[derive(Default)]
struct Counts {
    failed: usize,
    pairs: usize,
    right: usize,
    /// Of the others, those whose session reindented or moved a line of the symbol.
    touched: usize,
    wrong: usize,
    missed: usize,
    /// Missing pairs by the number of lines.
    missed_lines: BTreeMap<usize, usize>,
    made: usize,
    main_right: usize,
    unmade: usize,
    unmade_claimed: usize,
}

impl Counts {
    fn add(&mut self, replay: &Replay, truth: &Truth, symbol: &Symbol) {
        let done = loci(replay, &["why", &symbol.id, "--budget", "100000"]);
        if !matches!(done.code, Some(0 | 2)) {
            self.failed += 1;
            println!("failed: {} {}", symbol.name, done.stderr);
            return;
        }
        let found = done.records().remove(0);
        let ((from, to), file) = (symbol.lines, symbol.file.as_str());
        let (writers, touchers) = (truth.writers(file, from, to), truth.touchers(file, from, to));
        let named = named_sessions(replay, &found);
        self.pairs += writers.len();
        for session in named.keys() {
            let what = match (writers.contains_key(session), touchers.contains(session)) {
                (true, _) => &mut self.right,
                (_, true) => &mut self.touched,
                _ => &mut self.wrong,
            };
            *what += 1;
        }
        for (session, lines) in writers.iter().filter(|(session, _)| !named.contains_key(session)) {
            self.missed += 1;
            *self.missed_lines.entry(*lines).or_default() += 1;
            explain(replay, symbol, "missing", *session, *lines);
        }
        for (session, lines) in named.iter().filter(|(session, _)| !touchers.contains(session)) {
            explain(replay, symbol, "wrong", *session, *lines);
        }
        let most = |sessions: &BTreeMap<usize, usize>| sessions.values().copied().max().unwrap_or(0);
        if writers.is_empty() {
            self.unmade += 1;
            self.unmade_claimed += usize::from(named.keys().any(|session| !touchers.contains(session)));
        } else {
            self.made += 1;
            let first = named.iter().find(|(_, lines)| **lines == most(&named)).map(|(session, _)| *session);
            let is_main = |session: usize| writers.get(&session) == Some(&most(&writers));
            self.main_right += usize::from(first.is_some_and(is_main));
        }
    }

    fn print(&self) {
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let named = self.right + self.touched + self.wrong;
        println!("{} symbols could not be asked for", self.failed);
        println!("{} pairs of symbol and session: {:.1} % found", self.pairs, share(self.right, self.pairs));
        println!("missing by lines: {:?}", self.missed_lines);
        println!(
            "{named} pairs named: {:.2} % wrote a line of the symbol, {:.2} % only reindented or moved one, {:.2} % neither",
            share(self.right, named),
            share(self.touched, named),
            share(self.wrong, named)
        );
        println!(
            "{} symbols that sessions made: the one with most lines is named first for {:.1} %",
            self.made,
            share(self.main_right, self.made)
        );
        println!("{} symbols that none made: {} claimed", self.unmade, self.unmade_claimed);
    }
}

/// The sessions that an answer names for lines as they are, with their lines.
fn named_sessions(replay: &Replay, found: &Value) -> BTreeMap<usize, usize> {
    let mut named = BTreeMap::new();
    let steps = found["steps"].as_array().into_iter().flatten();
    for step in steps.filter(|step| step["undone"] != true) {
        let lines = step["lines"].as_u64().unwrap_or(0) as usize;
        let number = replay.steps.iter().position(|it| step["session_id"] == it.session.as_str());
        if let Some(number) = number.filter(|_| lines > 0) {
            *named.entry(number).or_default() += lines;
        }
    }
    named
}

/// Prints a difference, to look into it.
fn explain(replay: &Replay, symbol: &Symbol, what: &str, session: usize, lines: usize) {
    if has_flag("--explain") {
        let ((from, to), step) = (symbol.lines, &replay.steps[session]);
        println!(
            "{what}: {}:{from}-{to} {} {lines} lines of {} {}",
            symbol.file, symbol.name, step.original, step.subject
        );
    }
}
