//! `cargo xtask quality names FILE FOLDER`: whether names as people write and paste them lead to the symbol that is meant.
//!
//! FILE lists names with the place of their symbol, `xtask/data/names-*.json`; FOLDER contains the source trees that it names. Does not
//! know how a name is read: it asks the program.

use crate::Outcome;
use crate::args::Args;
use crate::quality::set::Scratch;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A symbol must be what each of these answers about first.
const OPERATIONS: [&str; 4] = ["resolve", "outline", "source", "usages"];
/// Attributes and decorators stand before the line that has the name.
const MAX_LINES_BEFORE: u64 = 6;
const MINIMUM: f64 = 0.95;

struct Case {
    repo: String,
    commit: String,
    ask: String,
    kind: String,
    /// Where it is, and may also be: overloads, or variants for another system.
    places: Vec<Place>,
}

/// A file and a line.
type Place = (String, u64);

fn read_place(of: &Value) -> Option<Place> {
    Some((of["file"].as_str()?.to_owned(), of["line"].as_u64()?))
}

impl Case {
    fn read(of: &Value) -> Option<Case> {
        let text = |field: &str| of[field].as_str().map(str::to_owned);
        let also = of["also"].as_array()?.iter();
        let places = std::iter::once(of).chain(also).map(read_place).collect::<Option<Vec<Place>>>()?;
        Some(Case {
            repo: text("repo")?,
            commit: text("commit")?,
            ask: text("ask")?,
            kind: text("kind")?,
            places,
        })
    }

    fn accepts(&self, (file, line): &Place) -> bool {
        let is_near = |at: &u64| (*line..=line + MAX_LINES_BEFORE).contains(at);
        self.places.iter().any(|(known, at)| known == file && is_near(at))
    }
}

fn read_cases(file: &str) -> Result<Vec<Case>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let cases: Vec<Value> = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let cases: Option<Vec<Case>> = cases.iter().map(Case::read).collect();
    cases.ok_or_else(|| format!("{file}: a name without its place"))
}

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["loci"], &["misses"])?;
    let [file, folder] = &args.positional[..] else { return Err("name a list and a folder".to_owned()) };
    let (cases, scratch) = (read_cases(file)?, Scratch::new());
    let home = scratch.subfolder("home");
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let loci = args.path_value("loci").map_or_else(beside_this_program, Ok)?;
    let mut right = [0; OPERATIONS.len()];
    for case in &cases {
        let tree = Path::new(folder).join(&case.repo);
        check_commit(&tree, &case.commit)?;
        for (count, operation) in right.iter_mut().zip(OPERATIONS) {
            let found = ask(&loci, &home, &tree, operation, &case.ask)?;
            let is_right = found.as_ref().is_some_and(|found| case.accepts(found));
            *count += usize::from(is_right);
            if !is_right && args.has_switch("misses") {
                println!("{operation} {} ({}, {}): {found:?}", case.ask, case.kind, case.repo);
            }
        }
    }
    for (count, operation) in right.iter().zip(OPERATIONS) {
        println!("{operation}: {count} of {}", cases.len());
    }
    Ok(right.iter().all(|count| *count as f64 >= MINIMUM * cases.len() as f64))
}

pub(super) fn beside_this_program() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(this.with_file_name("loci"))
}

/// At another commit, the lines mean something else.
pub(super) fn check_commit(tree: &Path, commit: &str) -> Result<(), String> {
    let head = Command::new("git").arg("-C").arg(tree).args(["rev-parse", "HEAD"]).output();
    let head = head.map_err(|error| format!("git: {error}"))?.stdout;
    if String::from_utf8_lossy(&head).trim() == commit {
        return Ok(());
    }
    Err(format!("{} is not at {commit}: clone it and check that commit out", tree.display()))
}

/// Where the symbol is that an answer is about.
fn ask(loci: &Path, home: &Path, tree: &Path, operation: &str, name: &str) -> Result<Option<Place>, String> {
    let mut command = Command::new(loci);
    testutil::set_environment(&mut command, home);
    command.args(["code", operation, name, "--json"]).current_dir(tree);
    let answer = command.output().map_err(|error| format!("{}: {error}", loci.display()))?.stdout;
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let answer: Value = serde_json::from_slice(line).unwrap_or_default();
    let symbol = ["resolved", "outline"].iter().map(|field| &answer[*field]).find(|it| it.is_object());
    Ok(read_place(symbol.unwrap_or(&answer)))
}
