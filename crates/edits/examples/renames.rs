//! Renames sampled symbols of a real tree, one at a time, in a scratch copy, and compares the compiler's diagnostics before and
//! after:
//!
//! ```text
//! cargo run -p loci-edits --example renames -- TREE COUNT [SEED] [--plan-only] [--tests COMMAND] [--only NAMES]
//! ```
//!
//! With `--only`, sampled symbols with other names than these, joined by commas, are left out: to look again at what failed.
//! With `--plan-only`, nothing is compiled, and only plans that are complete without a compiler count. COMMAND is run by a shell in
//! the copy after each rename, and has to succeed as it does before: the tests of the project.
//!
//! Prints one line per symbol and a summary: how many are complete in memory alone, how many a compiler completes, how many are
//! refused and why, and how many break the build although they were thought complete. The last column of a renamed symbol has the
//! places that change, as byte offsets, for the scripts in `judges`. Needs the compiler of the language on the path. Does not
//! change the tree.

#![allow(
    clippy::unwrap_used,
    clippy::pedantic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::expect_used
)] // a measurement, run by hand

use loci_edits::{
    Carried, CheckError, CheckRun, Diagnostic, EditError, Plan, ProjectChecker, RenameOptions, Scratch,
    SymbolPlace, Tree, checker_for, consult_service, find_checker, plan_rename, settle_plan,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use syntax::{MemberKind, Role, TypeKind, VariableKind};

/// Why a symbol was not renamed.
enum Refusal {
    Edit(EditError),
    Check(CheckError),
}

impl From<EditError> for Refusal {
    fn from(error: EditError) -> Refusal {
        Refusal::Edit(error)
    }
}

impl From<CheckError> for Refusal {
    fn from(error: CheckError) -> Refusal {
        Refusal::Check(error)
    }
}

struct Bench<'a> {
    tree: &'a Tree,
    plans_only: bool,
    scratch: Scratch,
    checker: &'a ProjectChecker,
    run: CheckRun<'a>,
    before: Vec<Diagnostic>,
    tests: Option<String>,
}

impl Bench<'_> {
    /// Whether the tests of the project pass in the copy with these contents.
    fn pass_tests(&self, contents: &loci_edits::Contents) -> bool {
        let Some(command) = &self.tests else { return true };
        let run = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).current_dir(self.scratch.folder()).stdin(Stdio::null());
            shell.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
        };
        self.scratch.with_contents(contents, run).unwrap()
    }

    fn compile(&self, contents: &loci_edits::Contents) -> Result<Vec<Diagnostic>, Refusal> {
        let ran = self.scratch.with_contents(contents, || self.checker.run(self.scratch.folder(), &self.run));
        Ok(ran.map_err(CheckError::from)??)
    }

    fn rename(&self, place: &SymbolPlace, new: &str) -> Result<(Plan, bool), Refusal> {
        let mut plan = plan_rename(self.tree, place, new, RenameOptions::default())?;
        let was_complete = plan.is_complete();
        if self.plans_only {
            plan.require_complete()?;
            return Ok((plan, true));
        }
        let consulted = consult_service(
            self.tree,
            &mut plan,
            (place, new),
            self.checker,
            self.scratch.folder(),
            &self.run,
        )?;
        let names = vec![(new.to_owned(), place.name.clone())];
        let carried = Carried { names, ..Carried::default() };
        let known = (self.before.as_slice(), &carried);
        let is_gradual = self.checker.checker.is_gradual;
        settle_plan(self.tree, &mut plan, known, is_gradual, &consulted.rejected, &mut |contents| {
            self.compile(contents)
        })?;
        plan.require_complete()?;
        Ok((plan, was_complete))
    }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|it| it == subprocess::COMMAND) {
        let (code, message) = subprocess::run_supervisor(std::env::args_os().skip(2), std::io::stdin());
        eprint!("{message}");
        std::process::exit(code);
    }
    let plans_only = arguments.iter().any(|it| it == "--plan-only");
    arguments.retain(|it| it != "--plan-only");
    let mut take_value = |option: &str| {
        let at = arguments.iter().position(|it| it == option)?;
        arguments.remove(at);
        Some(arguments.remove(at))
    };
    let (tests, only) = (take_value("--tests"), take_value("--only"));
    let [_, root, count, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: renames TREE COUNT [SEED] [--plan-only] [--tests COMMAND] [--only NAMES]");
        std::process::exit(2);
    };
    let root = PathBuf::from(root).canonicalize().unwrap();
    let seed = rest.first().and_then(|it| it.parse().ok()).unwrap_or(1);
    let work = std::env::temp_dir().join(format!("loci-renames-{}", std::process::id()));
    measure(&root, &work, (count.parse().unwrap(), seed), (plans_only, tests, only));
    std::fs::remove_dir_all(&work).unwrap();
}

fn measure(
    root: &Path,
    work: &Path,
    (count, seed): (usize, u64),
    (plans_only, tests, only): (bool, Option<String>, Option<String>),
) {
    let tree = Tree::open(root, 2).unwrap();
    let file =
        tree.code.files.iter().find(|file| checker_for(root, &file.path).is_some()).expect("a language");
    let project = find_checker(root, &file.path).unwrap();
    let checker = project.checker;
    let supervisor = subprocess::Supervisor::new(std::env::current_exe().unwrap());
    let run = CheckRun {
        supervisor: &supervisor,
        env: std::env::vars_os().collect(),
        deadline: Duration::from_mins(10),
        output: &work.join("output"),
    };
    let scratch = Scratch::create(root, &work.join("tree"), &|_| false).unwrap();
    let compile = || project.run(scratch.folder(), &run).unwrap_or_else(|error| panic!("{error}"));
    let before = if plans_only { Vec::new() } else { compile() };
    println!("# {} with {}: {} diagnostics before", root.display(), checker.name, before.len());
    let bench = Bench { tree: &tree, plans_only, scratch, checker: &project, run, before, tests };
    assert!(bench.pass_tests(&BTreeMap::new()), "the tests fail before anything is renamed");
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0;
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|it| it == name));
    let sampled = sample_symbols(&tree, checker.language, count, seed);
    for (kind, place) in sampled.into_iter().filter(|(_, place)| is_wanted(&place.name)) {
        let began = Instant::now();
        let new = format!("{}Zq", place.name);
        let (outcome, detail) = match bench.rename(&place, &new) {
            Ok((plan, _)) if !bench.pass_tests(&plan.contents(&tree).unwrap()) => {
                ("tests-failed", show_places(&plan))
            }
            Ok((plan, true)) => ("complete", show_places(&plan)),
            Ok((plan, false)) => ("compiled", show_places(&plan)),
            Err(Refusal::Check(error)) => ("check-failed", error.to_string().replace('\n', " ")),
            Err(Refusal::Edit(error)) => {
                let first = error.places().first();
                let at = first.map_or_else(String::new, |it| {
                    format!("{}:{} {} | {}", it.file, it.line, it.reason.replace('\n', " "), it.text)
                });
                (error.reason(), at)
            }
        };
        total += 1;
        *tally.entry(outcome.to_owned()).or_default() += 1;
        let seconds = began.elapsed().as_secs_f32();
        println!("{outcome}\t{kind}\t{}\t{}:{}\t{seconds:.1} s\t{detail}", place.name, place.file, place.at);
    }
    let of = |name: &str| tally.get(name).copied().unwrap_or(0);
    let applied = of("complete") + of("compiled");
    println!("# {total} symbols, {applied} applied ({} %): {tally:?}", applied * 100 / total.max(1));
    if let Some(command) = &bench.tests {
        println!("# after each, `{command}` passed, but for {}", of("tests-failed"));
    }
}

/// `src/a.rs:12,80 src/b.rs:7`
fn show_places(plan: &Plan) -> String {
    let show = |file: &loci_edits::FileEdit| {
        let offsets: Vec<String> = file.edits.iter().map(|edit| edit.from.to_string()).collect();
        format!("{}:{}", file.path, offsets.join(","))
    };
    plan.files.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Symbols of all kinds, chosen by a fixed sequence of random numbers.
fn sample_symbols(tree: &Tree, language: &str, count: usize, seed: u64) -> Vec<(&'static str, SymbolPlace)> {
    let mut groups: BTreeMap<&'static str, Vec<SymbolPlace>> = BTreeMap::new();
    for (number, file) in tree.code.files.iter().enumerate() {
        let is_it =
            loci_edits::checker_for(tree.root(), &file.path).is_some_and(|it| it.language == language);
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
            if !matches!(part.kind, TypeKind::Impl | TypeKind::Module) {
                offer("type", &part.name, part.signature.from, part.signature.to);
            }
            for member in &part.members {
                let kind = match member.kind {
                    MemberKind::Method | MemberKind::Property => "method",
                    MemberKind::Field | MemberKind::EnumValue | MemberKind::Constant => "field",
                    MemberKind::Function => "function",
                    _ => continue,
                };
                offer(kind, &member.name, member.signature.from, member.signature.to.max(member.span.to));
            }
        }
        for place in locals_of(tree, number as u32) {
            groups.entry("local").or_default().push(place);
        }
    }
    let mut chosen = Vec::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while chosen.len() < count && groups.values().any(|group| !group.is_empty()) {
        for (kind, group) in &mut groups {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if !group.is_empty() && chosen.len() < count {
                let at = (state >> 33) as usize % group.len();
                chosen.push((*kind, group.swap_remove(at)));
            }
        }
    }
    chosen
}

/// One local variable or parameter of every twentieth word of a file.
fn locals_of(tree: &Tree, file: u32) -> Vec<SymbolPlace> {
    let path = tree.code.files[file as usize].path.clone();
    let Ok(source) = tree.text(&path) else { return Vec::new() };
    let words = source.text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_lowercase() || c == '_') && word.len() > 1;
    let mut words: Vec<&str> = words.filter(is_name).step_by(20).take(40).collect();
    words.sort_unstable();
    words.dedup();
    let mut found = Vec::new();
    for word in words {
        let Ok(all) = tree.occurrences(file, word) else { continue };
        let is_local = |it: &&syntax::Occurrence| {
            let variable = it.variable.map(|at| all.variables[at as usize].kind);
            it.role == Role::Binding
                && matches!(variable, Some(VariableKind::Local | VariableKind::Parameter))
        };
        if let Some(it) = all.all.iter().find(is_local) {
            found.push(SymbolPlace { file: path.clone(), at: it.span.from, name: word.to_owned() });
        }
    }
    found
}
