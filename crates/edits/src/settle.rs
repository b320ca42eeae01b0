//! Lets a compiler decide about the uncertain places of a plan: a place that was left alone and fails to compile means the
//! symbol, a place that was changed and fails does not.
//!
//! Does not know which compiler it is, or how it runs.

use crate::diagnostic::{Carried, Diagnostic, new_diagnostics};
use crate::edit::Place;
use crate::error::EditError;
use crate::plan::{Plan, Uncertain};
use crate::tree::Tree;
use std::collections::BTreeMap;

/// The contents of changed files, by path.
pub type Contents = BTreeMap<String, Option<Vec<u8>>>;

/// What the compiler said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How often it ran.
    pub runs: u32,
    /// Places that it showed to mean the symbol.
    pub confirmed: usize,
    /// Places that it showed to mean something else.
    pub rejected: usize,
    pub new_warnings: Vec<Diagnostic>,
}

/// How often a compiler may run for one plan: name errors hide type errors, which hide borrow errors.
const MAX_RUNS: u32 = 12;

/// Completes a plan with a compiler. `compile` returns the diagnostics of the tree with these contents, `before` are those of
/// the tree as it is, which the edit changes as `carried` says. Places in `rejected` change only if the compiler asks for it. Refuses a
/// plan that brings new errors.
pub fn settle_plan<E: From<EditError>>(
    tree: &Tree,
    plan: &mut Plan,
    (before, carried): (&[Diagnostic], &Carried),
    is_gradual: bool,
    rejected: &[Uncertain],
    compile: &mut dyn FnMut(&Contents) -> Result<Vec<Diagnostic>, E>,
) -> Result<Settled, E> {
    let mut settled = Settled::default();
    // compilers stop at errors: what comes after them is not looked at
    let is_gradual = is_gradual || before.iter().any(|it| it.is_error);
    let (mut open, kept): (Vec<Uncertain>, Vec<Uncertain>) =
        std::mem::take(&mut plan.unsure).into_iter().partition(|it| it.can_be_compiled);
    // where values have no types, a place that no error names proves nothing: start with what nothing else can mean
    let mut included: Vec<bool> = open.iter().map(|it| is_gradual && it.likely).collect();
    let undecided = open.len();
    open.extend_from_slice(rejected);
    included.resize(open.len(), false);
    let mut moved = vec![false; open.len()];
    let mut is_widened = false;
    loop {
        let trial = with_places(tree, plan, &open, &included)?;
        let after = compile(&trial.contents(tree)?)?;
        settled.runs += 1;
        let new = new_diagnostics(before, &after, carried);
        let errors: Vec<&Diagnostic> = new.iter().filter(|it| it.is_error).collect();
        if errors.is_empty() {
            settled.new_warnings = new;
            break;
        }
        let mut has_moved = false;
        for (at, uncertain) in open.iter().enumerate() {
            let is_named = errors.iter().any(|error| is_at(error, &uncertain.place, &trial));
            if is_named && !moved[at] && uncertain.edit.is_some() {
                included[at] = !included[at];
                moved[at] = true;
                has_moved = true;
            }
        }
        if !has_moved && !is_widened {
            is_widened = true;
            has_moved = include_files(&errors, &open, &mut included, &moved);
        }
        if !has_moved || settled.runs >= MAX_RUNS {
            let places = errors.iter().map(|error| error.place()).collect();
            return Err(EditError::NewErrors(places).into());
        }
    }
    if is_gradual {
        let mut has_moved = true;
        let is_left = |at: usize, moved: &[bool]| !included[at] && !moved[at] && open[at].edit.is_some();
        // each run shows the errors that those of the run before had hidden
        while has_moved && settled.runs < MAX_RUNS && (0..undecided).any(|at| is_left(at, &moved)) {
            let places = (open.as_slice(), undecided);
            has_moved =
                reject_typed_places(tree, plan, places, &included, &mut moved, (before, carried), compile)?;
            settled.runs += 1;
        }
    }
    settled.confirmed = included.iter().filter(|it| **it).count();
    *plan = with_places(tree, plan, &open, &included)?;
    let is_open = |at: &usize| is_gradual && !included[*at] && !moved[*at] && open[*at].edit.is_some();
    let left: Vec<Uncertain> = (0..undecided).filter(is_open).map(|at| open[at].clone()).collect();
    settled.rejected = open.len() - settled.confirmed - left.len();
    plan.unsure = kept.into_iter().chain(left).collect();
    Ok(settled)
}

/// Changes the open places in files that errors name elsewhere: that a class without a name lacks a member is reported where it is
/// made, not where the member is.
fn include_files(errors: &[&Diagnostic], open: &[Uncertain], included: &mut [bool], moved: &[bool]) -> bool {
    let mut has_changed = false;
    for (at, uncertain) in open.iter().enumerate() {
        let is_named = errors.iter().any(|error| error.file == uncertain.place.file);
        if is_named && !included[at] && !moved[at] && uncertain.edit.is_some() {
            included[at] = true;
            has_changed = true;
        }
    }
    has_changed
}

/// Changes the undecided places that are left as well: where that brings an error, the value has a type without the symbol. Whether there
/// is such a place.
fn reject_typed_places<E: From<EditError>>(
    tree: &Tree,
    plan: &Plan,
    (open, undecided): (&[Uncertain], usize),
    included: &[bool],
    moved: &mut [bool],
    (before, carried): (&[Diagnostic], &Carried),
    compile: &mut dyn FnMut(&Contents) -> Result<Vec<Diagnostic>, E>,
) -> Result<bool, E> {
    let all: Vec<bool> = (0..open.len()).map(|at| included[at] || at < undecided && !moved[at]).collect();
    let trial = with_places(tree, plan, open, &all)?;
    let after = compile(&trial.contents(tree)?)?;
    let new = new_diagnostics(before, &after, carried);
    let mut has_moved = false;
    for (at, uncertain) in open.iter().enumerate() {
        let is_named = new.iter().any(|error| error.is_error && is_at(error, &uncertain.place, &trial));
        if is_named && !included[at] && !moved[at] {
            moved[at] = true;
            has_moved = true;
        }
    }
    Ok(has_moved)
}

/// A plan with the edits of some uncertain places.
fn with_places(tree: &Tree, plan: &Plan, open: &[Uncertain], included: &[bool]) -> Result<Plan, EditError> {
    let mut trial = plan.clone();
    trial.unsure = open.iter().zip(included).filter(|(_, is_in)| **is_in).map(|(it, _)| it.clone()).collect();
    trial.confirm(&tree.sources, &|_| true)?;
    Ok(trial)
}

fn is_at(error: &Diagnostic, place: &Place, plan: &Plan) -> bool {
    let moved =
        plan.files.iter().find(|file| file.path == place.file).and_then(|file| file.moved_to.as_ref());
    error.line == place.line && (error.file == place.file || Some(&error.file) == moved)
}
