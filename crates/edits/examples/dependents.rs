//! Whether the dependents of `loci code changes` contain everything that a compiler has to build again: takes commits of a repository,
//! takes the name of every declaration whose structure a commit changed away, and compares the files with new errors with the report:
//!
//! ```text
//! cargo run -p loci-edits --example dependents -- LOCI REPOSITORY COUNT [MODULES]
//! ```
//!
//! Commits are spread evenly over the latest 500 that changed a file of the language. A file is known if it declares a type that the report
//! lists, as changed or as dependent. `MODULES` is a `node_modules` that the commits need. Prints one line per commit, the missed
//! files, and a summary. Needs the compiler of the language on the path. Does not change the repository.

#![allow(
    clippy::unwrap_used,
    clippy::pedantic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::expect_used
)] // a measurement, run by hand

use loci_edits::{Carried, CheckRun, Checker, Diagnostic, Tree, checker_for, new_diagnostics};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Commits are taken from this many, the latest that changed a file of the language.
const LATEST: usize = 500;

struct Bench<'a> {
    loci: PathBuf,
    copy: PathBuf,
    home: PathBuf,
    modules: Option<PathBuf>,
    checker: &'static Checker,
    run: CheckRun<'a>,
}

/// What one commit showed.
#[derive(Default)]
struct Shown {
    /// Declarations whose names were taken away.
    broken: usize,
    /// Files with new errors, other than those of the declarations.
    needed: Vec<String>,
    /// Those of them that the report does not name, each with an error.
    missed: Vec<String>,
    /// Dependents in the report.
    reported: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|it| it == subprocess::COMMAND) {
        let (code, message) = subprocess::run_supervisor(std::env::args_os().skip(2), std::io::stdin());
        eprint!("{message}");
        std::process::exit(code);
    }
    let [_, loci, repository, count, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: dependents LOCI REPOSITORY COUNT [MODULES]");
        std::process::exit(2);
    };
    let work = std::env::temp_dir().join(format!("loci-dependents-{}", std::process::id()));
    let (copy, home) = (work.join("tree"), work.join("home"));
    std::fs::create_dir_all(&home).unwrap();
    let to = copy.to_string_lossy().into_owned();
    git(Path::new("."), &["clone", "-q", "-s", repository, &to]);
    let supervisor = subprocess::Supervisor::new(std::env::current_exe().unwrap());
    let run = CheckRun {
        supervisor: &supervisor,
        env: std::env::vars_os().collect(),
        deadline: Duration::from_mins(10),
        output: &work.join("output"),
    };
    let modules = rest.first().map(|it| PathBuf::from(it).canonicalize().unwrap());
    let loci = PathBuf::from(loci).canonicalize().unwrap();
    let bench = Bench { loci, checker: main_checker(&copy), copy, home, modules, run };
    bench.measure(count.parse().unwrap());
    std::fs::remove_dir_all(&work).unwrap();
}

/// The compiler of the language of most files.
fn main_checker(root: &Path) -> &'static Checker {
    let tree = Tree::open(root, 2).unwrap();
    let mut found: BTreeMap<&'static str, (usize, &'static Checker)> = BTreeMap::new();
    for checker in tree.code.files.iter().filter_map(|file| checker_for(root, &file.path)) {
        found.entry(checker.language).or_insert((0, checker)).0 += 1;
    }
    found.into_values().max_by_key(|(count, _)| *count).expect("a language with a compiler").1
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(run.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

impl Bench<'_> {
    fn measure(&self, count: usize) {
        let (mut commits, mut all) = (0, Shown::default());
        for commit in self.pick_commits(count) {
            let shown = match self.try_commit(&commit) {
                Ok(shown) => shown,
                Err(why) => {
                    println!("{}\tnot compiled: {why}", &commit[..9]);
                    continue;
                }
            };
            println!(
                "{}\t{} broken\t{} files need it\t{} missed\t{} dependents",
                &commit[..9],
                shown.broken,
                shown.needed.len(),
                shown.missed.len(),
                shown.reported
            );
            shown.missed.iter().for_each(|it| println!("  missed {it}"));
            commits += 1;
            all.broken += shown.broken;
            all.reported += shown.reported;
            all.needed.extend(shown.needed);
            all.missed.extend(shown.missed);
        }
        println!(
            "# {commits} commits, {} declarations, {} files need them, {} missed, {} dependents reported",
            all.broken,
            all.needed.len(),
            all.missed.len(),
            all.reported
        );
    }

    fn pick_commits(&self, count: usize) -> Vec<String> {
        let patterns: &[&str] = match self.checker.language {
            "Java" => &["*.java"],
            "TypeScript" => &["*.ts", "*.tsx"],
            "Python" => &["*.py"],
            "Go" => &["*.go"],
            "Rust" => &["*.rs"],
            _ => &["*.cs"],
        };
        let limit = format!("-{LATEST}");
        let mut asked = vec!["rev-list", "--no-merges", "--min-parents=1", &limit, "HEAD", "--"];
        asked.extend(patterns);
        let listed = git(&self.copy, &asked);
        let all: Vec<&str> = listed.lines().collect();
        let step = (all.len() / count.max(1)).max(1);
        all.into_iter().step_by(step).take(count).map(str::to_owned).collect()
    }

    fn try_commit(&self, commit: &str) -> Result<Shown, String> {
        git(&self.copy, &["checkout", "-q", "-f", commit]);
        git(&self.copy, &["clean", "-q", "-f", "-d", "-x"]);
        if let Some(modules) = &self.modules {
            std::os::unix::fs::symlink(modules, self.copy.join("node_modules")).unwrap();
        }
        let report = self.ask(&["code", "changes", "--since", "HEAD^"]);
        let places = changed_places(&report);
        let reported = report["dependents"].as_array().map_or(0, Vec::len);
        if places.is_empty() {
            return Ok(Shown { reported, ..Shown::default() });
        }
        let before = self.compile()?;
        let mut files = BTreeSet::new();
        for (file, line, name) in &places {
            if take_name_away(&self.copy.join(file), *line, name) {
                files.insert(file.clone());
            }
        }
        let new = new_diagnostics(&before, &self.compile()?, &Carried::default());
        let mut needed: BTreeMap<String, String> = BTreeMap::new();
        for it in new.into_iter().filter(|it| it.is_error && !files.contains(&it.file)) {
            needed.entry(it.file.clone()).or_insert(format!("{}:{} {}", it.file, it.line, it.message));
        }
        git(&self.copy, &["checkout", "-q", "-f", "--", "."]);
        let (named, declared) = (named_types(&report), types_by_file(&self.copy));
        let is_known =
            |file: &str| declared.get(file).is_some_and(|all| all.iter().any(|it| named.contains(it)));
        let missed = needed.iter().filter(|(file, _)| !is_known(file)).map(|(_, error)| error.clone());
        let missed = missed.collect();
        Ok(Shown { broken: places.len(), needed: needed.into_keys().collect(), missed, reported })
    }

    fn compile(&self) -> Result<Vec<Diagnostic>, String> {
        self.checker.run(&self.copy, &self.run).map_err(|error| error.to_string())
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(&self.loci);
        command.args(arguments).args(["--root", &self.copy.to_string_lossy(), "-o", "json"]);
        command.env("HOME", &self.home);
        for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }
}

/// The names of the types and modules that each file declares.
fn types_by_file(root: &Path) -> BTreeMap<String, Vec<String>> {
    let tree = Tree::open(root, 2).unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for declared in &tree.code.types {
        for (file, _) in &declared.parts {
            found
                .entry(tree.code.files[*file as usize].path.clone())
                .or_default()
                .push(declared.name.clone());
        }
    }
    found
}

/// The declarations whose structure changed and that still exist: file, line and name.
fn changed_places(report: &Value) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for change in report["changes"].as_array().into_iter().flatten() {
        if change["changeClass"] != "Structure" {
            continue;
        }
        let members = change["members"].as_array().cloned().unwrap_or_default();
        let deep: Vec<&Value> = members
            .iter()
            .filter(|it| it["changeClass"] == "Structure" && it["change"] == "Changed")
            .collect();
        // the type itself changed if none of its members explains it
        let own = (!members.iter().any(|it| it["changeClass"] == "Structure")).then_some(change);
        for it in own.into_iter().chain(deep) {
            let text = it["key"].as_str().or(it["path"].as_str()).unwrap_or_default();
            let head = text.split(['(', '<', '`']).next().unwrap_or_default();
            let name = head.rsplit(['.', '+']).next().unwrap_or_default();
            if let (Some(file), Some(line)) = (it["file"].as_str(), it["line"].as_u64()) {
                found.push((file.to_owned(), line as usize, name.to_owned()));
            }
        }
    }
    found.retain(|(_, _, name)| !name.is_empty());
    found
}

/// Everything that a report calls changed or dependent.
fn named_types(report: &Value) -> BTreeSet<String> {
    let changed = report["changes"].as_array().into_iter().flatten().filter_map(|it| it["path"].as_str());
    let dependents = report["dependents"].as_array().into_iter().flatten().filter_map(Value::as_str);
    changed.chain(dependents).map(str::to_owned).collect()
}

/// Replaces a name in a line, which has its declaration; whether it is there.
fn take_name_away(path: &Path, line: usize, name: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(at) = line.checked_sub(1).and_then(|at| lines.get_mut(at)) else { return false };
    let Some(span) = syntax::whole_words(at, name).into_iter().next() else { return false };
    at.replace_range(span.from as usize..span.to as usize, &format!("{name}Zq"));
    std::fs::write(path, lines.concat()).is_ok()
}
