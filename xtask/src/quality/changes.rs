//! `cargo xtask quality changes LANGUAGE TREE`: whether `loci code changes` reports every declaration that a commit changed, in the class
//! that the laws of the hashes give it, and the same whoever asked before.
//!
//! Commits are spread evenly over the latest of a repository. Does not parse source: a script in `examples/judges` lists the
//! declarations of the changed files, before and after, with a parser that Loci does not use.

mod declarations;
mod report;

use super::set::Scratch;
use crate::args::Args;
use crate::{Outcome, repository};
use declarations::{Declarations, Expected, expected_changes};
use report::Report;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A parser: the language, the endings of its files, the program that runs its script, and the script.
struct Judge {
    language: &'static str,
    endings: &'static [&'static str],
    program: &'static str,
    script: &'static str,
}

const JUDGES: &[Judge] = &[
    Judge { language: "python", endings: &["py"], program: "python3", script: "declarations.py" },
    Judge { language: "java", endings: &["java"], program: "java", script: "Declarations.java" },
    Judge { language: "typescript", endings: &["ts", "tsx"], program: "node", script: "declarations.mjs" },
];

/// Commits are taken from this many, the latest that changed a file of the language.
const LATEST: usize = 500;
/// Least share of changes with the expected class.
const MINIMUM_CLASSES: f64 = 0.99;

/// A changed file: its path, and the numbers of its stored versions.
struct ChangedFile {
    path: String,
    before: Option<usize>,
    after: Option<usize>,
}

struct Commit {
    id: String,
    files: Vec<ChangedFile>,
    report: Report,
}

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["count", "loci", "modules"], &["all"])?;
    let [language, tree] = &args.positional[..] else {
        return Err("name a language and a repository".to_owned());
    };
    let known = || JUDGES.iter().map(|judge| judge.language).collect::<Vec<_>>().join(", ");
    let judge = JUDGES.iter().find(|judge| judge.language == language);
    let judge = judge.ok_or_else(|| format!("no judge of {language}; one of: {}", known()))?;
    let loci = args.path_value("loci").map_or_else(super::names::beside_this_program, Ok)?;
    let mut work = Work::clone_repository(tree, judge, loci)?;
    let mut commits = Vec::new();
    for id in work.pick_commits(args.number_value("count", 50)? as usize)? {
        commits.push(work.read_commit(id)?);
    }
    let judged = work.ask_judge(args.text_value("modules").unwrap_or("."))?;
    let mut tally = Tally { commits: commits.len(), different: work.different, ..Tally::default() };
    for commit in &commits {
        tally.add(commit, &judged);
    }
    tally.print(args.has_switch("all"));
    Ok(tally.is_passed())
}

/// A clone to check commits out in, and the versions of the files that they changed.
struct Work<'a> {
    judge: &'a Judge,
    loci: PathBuf,
    tree: PathBuf,
    versions: Vec<PathBuf>,
    /// Commits with two different answers.
    different: Vec<String>,
    scratch: Scratch,
}

impl<'a> Work<'a> {
    fn clone_repository(of: &str, judge: &'a Judge, loci: PathBuf) -> Result<Work<'a>, String> {
        let scratch = Scratch::new();
        let tree = scratch.subfolder("tree");
        let make = |name: &str| std::fs::create_dir_all(scratch.subfolder(name)).map_err(|it| it.to_string());
        ["versions", "home"].iter().try_for_each(|name| make(name))?;
        let to = tree.to_string_lossy().into_owned();
        run_git(Path::new("."), &["clone", "-q", "-s", "--no-checkout", of, &to])?;
        Ok(Work { judge, loci, tree, versions: Vec::new(), different: Vec::new(), scratch })
    }

    fn git(&self, args: &[&str]) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&run_git(&self.tree, args)?).into_owned())
    }

    fn pick_commits(&self, count: usize) -> Result<Vec<String>, String> {
        let (limit, endings) = (format!("-{LATEST}"), self.judge.endings.iter());
        let patterns: Vec<String> = endings.map(|ending| format!("*.{ending}")).collect();
        let mut asked = vec!["rev-list", "--no-merges", "--min-parents=1", &limit, "HEAD", "--"];
        asked.extend(patterns.iter().map(String::as_str));
        let all: Vec<String> = self.git(&asked)?.lines().map(str::to_owned).collect();
        let step = (all.len() / count.max(1)).max(1);
        Ok(all.into_iter().step_by(step).take(count).collect())
    }

    fn read_commit(&mut self, id: String) -> Result<Commit, String> {
        self.git(&["checkout", "-q", "-f", &id])?;
        let parent = format!("{id}^");
        let listed = self.git(&["diff", "--no-renames", "--name-only", "-z", &parent, &id])?;
        let ending = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| self.judge.endings.contains(&&*ending(path))) {
            let (before, after) = (self.store_version(&parent, path)?, self.store_version(&id, path)?);
            files.push(ChangedFile { path: path.to_owned(), before, after });
        }
        let first = self.ask_loci("home", &parent)?;
        // the second has nothing stored, and knows nothing of what was asked before
        let fresh = format!("fresh-{}", &id[..12]);
        let second = self.ask_loci(&fresh, &parent)?;
        let _ = std::fs::remove_dir_all(self.scratch.subfolder(&fresh));
        if first != second {
            self.different.push(id.clone());
        }
        Ok(Commit { id, files, report: Report::read(&first)? })
    }

    /// Stores a file as it is in a commit, and returns its number; `None` if the commit does not have it.
    fn store_version(&mut self, commit: &str, path: &str) -> Result<Option<usize>, String> {
        let Ok(text) = run_git(&self.tree, &["show", &format!("{commit}:{path}")]) else { return Ok(None) };
        let (number, ending) = (self.versions.len(), path.rsplit('.').next().unwrap_or_default());
        let at = self.scratch.subfolder("versions").join(format!("v{number}.{ending}"));
        std::fs::write(&at, text).map_err(|error| error.to_string())?;
        self.versions.push(at);
        Ok(Some(number))
    }

    fn ask_loci(&self, home: &str, parent: &str) -> Result<String, String> {
        let home = self.scratch.subfolder(home);
        std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.loci);
        testutil::set_environment(&mut command, &home);
        command.args(["code", "changes", "--since", parent, "--json"]).current_dir(&self.tree);
        let answer = command.output().map_err(|error| format!("{}: {error}", self.loci.display()))?;
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }

    fn ask_judge(&self, modules: &str) -> Result<BTreeMap<usize, Declarations>, String> {
        let rows = self.scratch.subfolder("rows");
        let mut text = String::new();
        for (number, path) in self.versions.iter().enumerate() {
            let _ = writeln!(text, "{number}\t{}", path.display());
        }
        std::fs::write(&rows, text).map_err(|error| error.to_string())?;
        let script = repository::root().join("crates/code/examples/judges").join(self.judge.script);
        let modules = Path::new(modules).canonicalize().unwrap_or_default();
        let mut command = Command::new(self.judge.program);
        command.arg(script).arg(&rows).env("NODE_MODULES", modules);
        declarations::parse_all(&super::judges::run_for_output(&mut command)?)
    }
}

fn run_git(folder: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let run = Command::new("git").arg("-C").arg(folder).args(args).output();
    let run = run.map_err(|error| format!("git: {error}"))?;
    let complaint = || format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&run.stderr).trim());
    if run.status.success() { Ok(run.stdout) } else { Err(complaint()) }
}

#[derive(Default)]
struct Tally {
    commits: usize,
    different: Vec<String>,
    expected: usize,
    missed: Vec<String>,
    other_class: Vec<String>,
    unreadable: usize,
}

impl Tally {
    fn add(&mut self, commit: &Commit, judged: &BTreeMap<usize, Declarations>) {
        let none = Declarations::default();
        let of = |number: Option<usize>| number.map_or(&none, |it| judged.get(&it).unwrap_or(&none));
        for file in &commit.files {
            let (before, after) = (of(file.before), of(file.after));
            if before.unreadable || after.unreadable {
                self.unreadable += 1;
                continue;
            }
            for expected in expected_changes(before, after) {
                self.judge(commit, &file.path, &expected);
            }
        }
    }

    fn judge(&mut self, commit: &Commit, path: &str, expected: &Expected) {
        self.expected += 1;
        let found = commit.report.find(path, expected);
        let line = || format!("{} {path} {expected}: {}", &commit.id[..9], found.join(" and "));
        if found.is_empty() {
            self.missed.push(line());
        } else if !found.iter().any(|found| expected.accepts(found)) {
            self.other_class.push(line());
        }
    }

    fn is_passed(&self) -> bool {
        let wrong = self.missed.len() + self.other_class.len();
        let share = 1.0 - wrong as f64 / self.expected.max(1) as f64;
        self.expected > 0 && self.missed.is_empty() && self.different.is_empty() && share >= MINIMUM_CLASSES
    }

    fn print(&self, all: bool) {
        println!("{} commits, {} changed declarations", self.commits, self.expected);
        println!("reported: {}", self.expected - self.missed.len());
        println!("as expected: {}", self.expected - self.missed.len() - self.other_class.len());
        println!("files that the judge cannot read: {}", self.unreadable);
        println!("commits with two different answers: {}", self.different.len());
        super::judges::print_sample("missed", &self.missed, all);
        super::judges::print_sample("another class", &self.other_class, all);
        super::judges::print_sample("two answers", &self.different, all);
    }
}
