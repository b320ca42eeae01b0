//! Performs an operation on sampled symbols of a copy of a real tree, through the program `loci`, and lets the project's compiler
//! judge each result:
//!
//! ```text
//! cargo run -p loci-edits --example operations -- LOCI TREE OPERATION COUNT [SEED] [--check]
//! ```
//!
//! `OPERATION` is `rename`, `delete`, `signature`, `move` or `extract`. An edit that is applied is compiled and undone, and the
//! files are compared with those before. Prints one line per case and a summary. Needs the compiler of the language on the path.
//! Does not change the tree.

#![allow(
    clippy::unwrap_used,
    clippy::pedantic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::expect_used
)] // a measurement, run by hand

use loci_edits::{
    Carried, CheckRun, Checker, Diagnostic, Scratch, SymbolPlace, Tree, checker_for, new_diagnostics,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use syntax::{Digest, MemberKind, TypeKind};

struct Bench<'a> {
    loci: PathBuf,
    /// A copy of the tree, which is edited.
    copy: PathBuf,
    home: PathBuf,
    checker: &'static Checker,
    run: CheckRun<'a>,
    before: Vec<Diagnostic>,
    files: BTreeMap<String, u64>,
    with_check: bool,
}

/// What became of a case.
enum Outcome {
    /// Applied, with the same diagnostics, and undone.
    Same,
    /// Applied, with new errors.
    Broken(String),
    /// Undoing it did not bring the files back.
    NotUndone(String),
    Refused(String),
}

impl Bench<'_> {
    /// Runs `loci`; the answer, or the message of the error.
    fn loci(&self, arguments: &[String]) -> Result<Value, String> {
        let output = Command::new(&self.loci)
            .args(arguments)
            .args(["--root", &self.copy.to_string_lossy(), "-o", "json"])
            .env("HOME", &self.home)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME")
            .output()
            .unwrap();
        let first: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.success() {
            Ok(first)
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn perform(&self, case: &Case) -> Outcome {
        let mut arguments = case.arguments.clone();
        let mut done = self.apply(&arguments);
        // the members that can be extracted are in the hint
        if let Err(message) = &done
            && let Some(members) =
                message.split("--members ").nth(1).and_then(|it| it.split_whitespace().next())
        {
            arguments.extend(["--members".to_owned(), members.to_owned()]);
            done = self.apply(&arguments);
        }
        let id = match done {
            Ok(answer) => answer["id"].as_str().unwrap_or_default().to_owned(),
            Err(message) => return Outcome::Refused(message),
        };
        let after = self.checker.run(&self.copy, &self.run);
        let undone = self.loci(&["edit".into(), "undo".into(), id]);
        if let Err(message) = undone {
            return Outcome::NotUndone(message);
        }
        let now = digests(&self.copy);
        if now != self.files {
            let other = now.iter().find(|(path, digest)| self.files.get(*path) != Some(digest));
            return Outcome::NotUndone(format!("{other:?}"));
        }
        let after = match after {
            Ok(after) => after,
            Err(error) => return Outcome::Broken(error.to_string()),
        };
        let carried = Carried { names: case.names.clone(), ..Carried::default() };
        let new = new_diagnostics(&case.judged(&self.before), &case.judged(&after), &carried);
        match new.iter().find(|it| it.is_error) {
            Some(error) => Outcome::Broken(format!("{}:{} {}", error.file, error.line, error.message)),
            None => Outcome::Same,
        }
    }

    fn apply(&self, arguments: &[String]) -> Result<Value, String> {
        let mut arguments = arguments.to_vec();
        arguments.push("--apply".into());
        if self.with_check {
            arguments.push("--check".into());
        }
        self.loci(&arguments)
    }
}

/// One edit.
struct Case {
    shown: String,
    arguments: Vec<String>,
    names: Vec<(String, String)>,
    /// Whether a declaration goes to another file.
    is_move: bool,
}

impl Case {
    /// What the compiler says, wherever it says it if a declaration has moved: no message may come or come more often.
    fn judged(&self, all: &[Diagnostic]) -> Vec<Diagnostic> {
        let mut all = all.to_vec();
        if self.is_move {
            all.iter_mut().for_each(|it| it.file.clear());
        }
        all
    }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|it| it == subprocess::COMMAND) {
        let (code, message) = subprocess::run_supervisor(std::env::args_os().skip(2), std::io::stdin());
        eprint!("{message}");
        std::process::exit(code);
    }
    let with_check = arguments.iter().any(|it| it == "--check");
    arguments.retain(|it| it != "--check");
    let [_, loci, root, operation, count, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: operations LOCI TREE OPERATION COUNT [SEED] [--check]");
        std::process::exit(2);
    };
    let seed = rest.first().and_then(|it| it.parse().ok()).unwrap_or(1);
    let work = std::env::temp_dir().join(format!("loci-operations-{}", std::process::id()));
    let root = PathBuf::from(root).canonicalize().unwrap();
    measure(Path::new(loci), &root, &work, (operation, count.parse().unwrap(), seed), with_check);
    std::fs::remove_dir_all(&work).unwrap();
}

fn measure(
    loci: &Path,
    root: &Path,
    work: &Path,
    (operation, count, seed): (&str, usize, u64),
    with_check: bool,
) {
    let copy = work.join("tree");
    Scratch::create(root, &copy, &|_| false).unwrap();
    std::fs::create_dir_all(work.join("home")).unwrap();
    let tree = Tree::open(&copy, 2).unwrap();
    let mut languages: BTreeMap<&'static str, (usize, &'static Checker)> = BTreeMap::new();
    for file in &tree.code.files {
        if let Some(checker) = checker_for(&copy, &file.path) {
            languages.entry(checker.language).or_insert((0, checker)).0 += 1;
        }
    }
    let (_, checker) =
        languages.into_values().max_by_key(|(count, _)| *count).expect("a language with a compiler");
    let supervisor = subprocess::Supervisor::new(std::env::current_exe().unwrap());
    let run = CheckRun {
        supervisor: &supervisor,
        env: std::env::vars_os().collect(),
        deadline: Duration::from_mins(10),
        output: &work.join("output"),
    };
    let before = checker.run(&copy, &run).unwrap_or_else(|error| panic!("{error}"));
    println!(
        "# {operation} in {} with {}: {} diagnostics before",
        root.display(),
        checker.name,
        before.len()
    );
    let files = digests(&copy);
    let loci = loci.canonicalize().unwrap();
    let bench = Bench { loci, copy, home: work.join("home"), checker, run, before, files, with_check };
    if with_check {
        bench.loci(&["edit".into(), "trust".into()]).unwrap();
    }
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let cases = sample_cases(&tree, checker.language, operation, count, seed);
    for case in &cases {
        let began = Instant::now();
        let (outcome, detail) = match bench.perform(case) {
            Outcome::Same => ("same".to_owned(), String::new()),
            Outcome::Broken(why) => ("BROKEN".to_owned(), why),
            Outcome::NotUndone(why) => ("NOT UNDONE".to_owned(), why),
            Outcome::Refused(why) => {
                let line = why.lines().take(3).map(str::trim).collect::<Vec<_>>().join(" | ");
                ("refused".to_owned(), line.chars().take(300).collect())
            }
        };
        *tally.entry(outcome.clone()).or_default() += 1;
        println!("{outcome}\t{}\t{detail}\t{:.1} s", case.shown, began.elapsed().as_secs_f32());
    }
    println!("# {operation}: {} cases, {tally:?}", cases.len());
}

/// The content of every file of a tree.
fn digests(root: &Path) -> BTreeMap<String, u64> {
    let (mut found, mut open) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir()
                && !matches!(
                    entry.file_name().to_str(),
                    Some("target" | "obj" | "bin" | "node_modules" | "__pycache__")
                )
            {
                open.push(path);
            } else if kind.is_file() {
                let digest = Digest::of_bytes(&std::fs::read(&path).unwrap()).0;
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), digest);
            }
        }
    }
    found
}

/// A fixed sequence of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

fn sample_cases(tree: &Tree, language: &'static str, operation: &str, count: usize, seed: u64) -> Vec<Case> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut groups = collect_symbols(tree, language, operation);
    let mut cases = Vec::new();
    while cases.len() < count && groups.values().any(|group| !group.is_empty()) {
        for (kind, group) in &mut groups {
            if group.is_empty() || cases.len() >= count {
                continue;
            }
            let symbol = group.swap_remove(random.below(group.len()));
            cases.extend(make_case(tree, language, operation, kind, &symbol, &mut random));
        }
    }
    cases
}

/// The symbols that an operation is for, by kind.
fn collect_symbols(tree: &Tree, language: &str, operation: &str) -> BTreeMap<&'static str, Vec<SymbolPlace>> {
    let mut groups: BTreeMap<&'static str, Vec<SymbolPlace>> = BTreeMap::new();
    for file in &tree.code.files {
        let is_it = checker_for(tree.root(), &file.path).is_some_and(|it| it.language == language);
        let Ok(source) = tree.text(&file.path) else { continue };
        if !is_it || file.generated {
            continue;
        }
        let mut offer = |kind, name: &str, from: u32, to: u32| {
            let head = source.text.get(from as usize..to as usize).unwrap_or_default();
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if let Some(at) = syntax::whole_words(head, name).first().filter(|_| is_name) {
                let place =
                    SymbolPlace { file: file.path.clone(), at: from + at.from, name: name.to_owned() };
                groups.entry(kind).or_default().push(place);
            }
        };
        for part in &file.facts.types {
            let is_type = !matches!(part.kind, TypeKind::Impl | TypeKind::Module);
            let fits = match operation {
                "move" => part.outer.is_none(),
                "extract" => matches!(part.kind, TypeKind::Class | TypeKind::Struct | TypeKind::Record),
                "signature" => false,
                _ => true,
            };
            if is_type && fits {
                offer("type", &part.name, part.signature.from, part.signature.to);
            }
            for member in &part.members {
                let kind = match (member.kind, operation) {
                    (_, "extract") => continue,
                    (MemberKind::Function, _) => "function",
                    (MemberKind::Method, "move") if language != "Go" => continue,
                    (MemberKind::Method, _) => "method",
                    (MemberKind::Field | MemberKind::Constant, "rename" | "delete") => "field",
                    _ => continue,
                };
                offer(kind, &member.name, member.signature.from, member.signature.to.max(member.span.to));
            }
        }
    }
    groups
}

fn make_case(
    tree: &Tree,
    language: &'static str,
    operation: &str,
    kind: &str,
    symbol: &SymbolPlace,
    random: &mut Random,
) -> Option<Case> {
    let text = &tree.text(&symbol.file).ok()?.text;
    let before = &text[..symbol.at as usize];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let place = format!("{}:{line}:{column}", symbol.file);
    let mut arguments = vec!["edit".to_owned(), operation.to_owned(), place.clone()];
    let mut names = Vec::new();
    match operation {
        "rename" => {
            arguments.push(format!("{}Zq", symbol.name));
            names.push((format!("{}Zq", symbol.name), symbol.name.clone()));
        }
        "delete" => {}
        "signature" => {
            let (declaration, value) = match language {
                "Java" | "C#" => ("int zq", "0"),
                "Go" => ("zq int", "0"),
                "TypeScript" => ("zq: number", "0"),
                "Python" => ("zq", "None"),
                _ => ("zq: u8", "0"),
            };
            arguments.extend(["--add", declaration, "--value", value].map(str::to_owned));
        }
        "move" => arguments.push(choose_destination(tree, language, symbol, random)?),
        "extract" => arguments.push(format!("Zq{}", symbol.name)),
        other => panic!("unknown operation {other}"),
    }
    let shown = format!("{kind}\t{}\t{place}\t{}", symbol.name, arguments[3..].join(" "));
    Some(Case { shown, arguments, names, is_move: operation == "move" })
}

/// Another file of the folder, a new one, or in Java another package.
fn choose_destination(
    tree: &Tree,
    language: &str,
    symbol: &SymbolPlace,
    random: &mut Random,
) -> Option<String> {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let own = folder(&symbol.file);
    let ending = symbol.file.rsplit('.').next()?;
    let alike = |path: &&str| path.ends_with(&format!(".{ending}")) && **path != symbol.file;
    let all: Vec<&str> = tree.code.files.iter().map(|it| it.path.as_str()).filter(alike).collect();
    if language == "Java" {
        let others: Vec<String> = all.iter().map(|it| folder(it)).filter(|it| *it != own).collect();
        let root = symbol.file.split_once("/java/").map_or(String::new(), |(root, _)| root.to_owned());
        let others: Vec<&String> = others.iter().filter(|it| it.starts_with(&root)).collect();
        let to = others.get(random.below(others.len()))?;
        return Some(format!("{to}{}.java", symbol.name));
    }
    let beside: Vec<&&str> = all.iter().filter(|it| folder(it) == own).collect();
    if beside.is_empty() || random.below(2) == 0 {
        let test = if symbol.file.ends_with("_test.go") { "_test" } else { "" };
        return Some(format!("{own}zq_moved{test}.{ending}"));
    }
    beside.get(random.below(beside.len())).map(|it| (**it).to_owned())
}
