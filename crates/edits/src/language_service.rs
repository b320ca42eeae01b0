//! Asks the language service that comes with a compiler what a rename changes, and decides the open places of a plan by it: values
//! whose types only the compiler infers, keys of objects, strings that name members.
//!
//! Does not know the languages' rules: each service is run by a script of its own.

use crate::checker::{CheckRun, ProjectChecker, find_program};
use crate::edit::TextEdit;
use crate::error::EditError;
use crate::plan::{Plan, Uncertain};
use crate::sources::SymbolPlace;
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use subprocess::Job;

/// The services by the compiler they come with, and the script that asks each.
const SERVICES: &[(&str, &str)] = &[("tsc", include_str!("language_service/typescript.js"))];

/// What the service said about a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consulted {
    /// How many open places mean the symbol.
    pub confirmed: usize,
    /// The open places that mean something else, as far as the service knows: a string in a union of names does not lead to the
    /// members of these names, but the compiler compares them.
    pub rejected: Vec<Uncertain>,
}

/// More than the places of a symbol with a million uses.
const ANSWER_LIMIT: usize = 256 << 20;

#[derive(Serialize)]
struct Request<'a> {
    root: &'a Path,
    /// The folder of the project in it.
    project: &'a Path,
    package: &'a Path,
    file: &'a str,
    at: u32,
    open: Vec<OpenPlace>,
}

#[derive(Serialize)]
struct OpenPlace {
    file: String,
    at: u32,
}

#[derive(Deserialize)]
struct Answer {
    edits: Vec<ServiceEdit>,
    /// Of the open places, in their order.
    meanings: Vec<Meaning>,
}

#[derive(Deserialize)]
struct ServiceEdit {
    file: String,
    from: u32,
    to: u32,
    before: String,
    after: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Meaning {
    Symbol,
    Other,
    Unknown,
}

/// Completes the plan of a rename as the language service of the compiler would rename the symbol, in a copy of the tree at
/// `folder`. Leaves the plan as it is if there is no service, or if it does not rename the symbol.
pub fn consult_service(
    tree: &Tree,
    plan: &mut Plan,
    (place, new_name): (&SymbolPlace, &str),
    checker: &ProjectChecker,
    folder: &Path,
    run: &CheckRun<'_>,
) -> Result<Consulted, EditError> {
    if plan.is_complete() {
        return Ok(Consulted::default());
    }
    let Some(answer) = ask(plan, place, checker, folder, run) else { return Ok(Consulted::default()) };
    let consulted = take_meanings(tree, plan, &answer.meanings)?;
    add_missing(tree, plan, &answer.edits, (&place.name, new_name))?;
    Ok(consulted)
}

/// Changes what means the symbol, and keeps as unsure what the service knows nothing about.
fn take_meanings(tree: &Tree, plan: &mut Plan, meanings: &[Meaning]) -> Result<Consulted, EditError> {
    let (mut consulted, mut open, mut meanings) = (Consulted::default(), Vec::new(), meanings.iter());
    for it in std::mem::take(&mut plan.unsure) {
        // a doubt about the symbol itself is gone: the service renames it
        let Some(edit) = &it.edit else { continue };
        match meanings.next() {
            Some(Meaning::Symbol) => {
                plan.add_edit(&tree.sources, &it.place.file, edit.clone())?;
                consulted.confirmed += 1;
            }
            Some(Meaning::Other) => consulted.rejected.push(it),
            Some(Meaning::Unknown) | None => open.push(it),
        }
    }
    plan.unsure = open;
    Ok(consulted)
}

/// Adds the places that the service names and nothing else did. One that does not have the old name is left out: the compiler
/// shows whether the plan lacks it.
fn add_missing(
    tree: &Tree,
    plan: &mut Plan,
    edits: &[ServiceEdit],
    (old_name, new_name): (&str, &str),
) -> Result<(), EditError> {
    for it in edits.iter().filter(|it| tree.file_number(&it.file).is_some()) {
        let planned = plan.files.iter().filter(|file| file.path == it.file).flat_map(|file| &file.edits);
        let is_planned = planned.into_iter().any(|edit| edit.from < it.to && it.from < edit.to);
        let text = &tree.text(&it.file)?.text;
        if !is_planned && text.get(it.from as usize..it.to as usize) == Some(old_name) {
            let text = format!("{}{new_name}{}", it.before, it.after);
            plan.add_edit(&tree.sources, &it.file, TextEdit { from: it.from, to: it.to, text })?;
        }
    }
    plan.refresh_diff(&tree.sources)
}

/// `None` if there is no service, or no answer: the compiler alone decides then.
fn ask(
    plan: &Plan,
    place: &SymbolPlace,
    checker: &ProjectChecker,
    folder: &Path,
    run: &CheckRun<'_>,
) -> Option<Answer> {
    let (name, script) = SERVICES.iter().find(|(compiler, _)| *compiler == checker.checker.name)?;
    let project = folder.join(&checker.folder);
    let package = package_of(&find_program(name, &[&project, folder], &run.env))?;
    let to_open = |it: &Uncertain| {
        it.edit.as_ref().map(|edit| OpenPlace { file: it.place.file.clone(), at: edit.from })
    };
    let open: Vec<OpenPlace> = plan.unsure.iter().filter_map(to_open).collect();
    let count = open.len();
    let (file, at) = (&place.file, place.at);
    let request = Request { root: folder, project: &project, package: &package, file, at, open };
    let job = Job {
        program: find_program("node", &[&project, folder], &run.env),
        args: vec![OsString::from("-e"), OsString::from(script)],
        env: run.env.clone(),
        cwd: folder.to_path_buf(),
        stdin: serde_json::to_vec(&request).ok()?,
        deadline: run.deadline,
        stdout_limit: ANSWER_LIMIT,
        cancel: None,
    };
    let finished = run.supervisor.run(job).ok().filter(|it| it.status == 0)?;
    let answer: Option<Answer> = serde_json::from_slice(&finished.stdout).ok()?;
    answer.filter(|it| it.meanings.len() == count)
}

/// The installed package that a program belongs to: `typescript` of `node_modules/.bin/tsc`.
fn package_of(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    real.ancestors().find(|it| it.join("package.json").is_file()).map(Path::to_path_buf)
}
