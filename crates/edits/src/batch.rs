//! Plans several edits as one: all are planned on the tree as it is, and refused where two of them change the same text.
//!
//! Does not let a step see the result of another one. Every step would need the tree to be read again, and the places of an
//! uncertain step would be places of a tree that exists nowhere. What a step means therefore does not depend on their order.

use crate::edit::{FileEdit, Place, TextEdit};
use crate::error::EditError;
use crate::insert::{Gone, declared_text, plan_deletion_with};
use crate::mentions::Mentions;
use crate::plan::{NEEDS_COMPILER, Plan, Uncertain, check_syntax};
use crate::tree::Tree;
use crate::workbench::{BatchStep, EditKind, plan_edit};
use std::collections::BTreeMap;
use syntax::whole_words;

/// Resolves the names that steps take away and give, so that a codebase of a part of the tree can grow before anything is planned.
pub fn look_up_names(tree: &Tree, steps: &[BatchStep]) {
    for step in steps {
        let Some(file) = tree.file_number(&step.place.file) else { continue };
        Mentions::find(tree, &step.place.name, file);
        if let Some(new) = step.kind.given_name() {
            Mentions::find(tree, new, file);
        }
    }
}

/// Plans all steps on the same tree, as one plan. A step whose correctness cannot be read from the source is uncertain until a compiler has
/// checked the plan.
pub fn plan_batch(tree: &Tree, steps: &[BatchStep]) -> Result<Plan, EditError> {
    refuse_second_move(steps)?;
    let mut plan = plan_steps(tree, steps)?;
    // A file that did not mention the symbol may do so by now.
    plan.read = tree.sources.digests_read();
    for step in steps.iter().filter(|step| step.kind.needs_compiler()) {
        let (path, at) = (&step.place.file, step.place.at);
        let place = Place::new(path, &tree.text(path)?.text, at, NEEDS_COMPILER);
        plan.unsure.push(Uncertain { place, edit: None, likely: false, can_be_compiled: true });
    }
    Ok(plan)
}

/// Each of two moves is planned as if the other symbol stayed: they would import each other from where they no longer are.
fn refuse_second_move(steps: &[BatchStep]) -> Result<(), EditError> {
    let moves = steps.iter().filter(|step| matches!(step.kind, EditKind::Move { .. }));
    match moves.map(|step| &step.place.name).nth(1) {
        Some(name) => Err(EditError::invalid(
            format!("`{name}` cannot be moved in the same batch as another symbol"),
            "apply one move, then plan the next",
        )),
        None => Ok(()),
    }
}

fn plan_steps(tree: &Tree, steps: &[BatchStep]) -> Result<Plan, EditError> {
    if let [only] = steps {
        return plan_edit(tree, &only.place, &only.kind);
    }
    let gone = deleted_texts(tree, steps)?;
    let mut plans = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let planned = match step.kind {
            EditKind::Delete { force } => plan_deletion_with(tree, &step.place, force, &gone),
            _ => plan_edit(tree, &step.place, &step.kind),
        };
        plans.push(planned.map_err(|error| EditError::in_step(at + 1, error))?);
    }
    let doubts = doubts_between(tree, steps, &plans)?;
    let mut plan = join_plans(tree, steps, plans)?;
    plan.unsure.extend(doubts);
    check_syntax(&tree.sources, &plan)?;
    Ok(plan)
}

/// What the deletions of a batch take away: a use in there keeps nothing alive.
fn deleted_texts(tree: &Tree, steps: &[BatchStep]) -> Result<Vec<Gone>, EditError> {
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if matches!(step.kind, EditKind::Delete { .. }) {
            found.push(declared_text(tree, &step.place).map_err(|error| EditError::in_step(at + 1, error))?);
        }
    }
    Ok(found)
}

/// An edit and the number of its step.
type Numbered = (usize, TextEdit);

/// One plan with the edits of all.
fn join_plans(tree: &Tree, steps: &[BatchStep], plans: Vec<Plan>) -> Result<Plan, EditError> {
    let titles: Vec<String> = plans.iter().map(|plan| plan.title.clone()).collect();
    let mut joined = Plan::empty(titles.join("; "));
    let mut edits: BTreeMap<String, Vec<Numbered>> = BTreeMap::new();
    for (step, plan) in plans.into_iter().enumerate() {
        for file in plan.files {
            edits
                .entry(file.path.clone())
                .or_default()
                .extend(file.edits.iter().map(|it| (step, it.clone())));
            join_file(&mut joined, file)?;
        }
        joined.unsure.extend(plan.unsure);
        joined.still_used.extend(plan.still_used);
    }
    let is_deletion = |step: usize| matches!(steps[step].kind, EditKind::Delete { .. });
    for file in &mut joined.files {
        let all = edits.remove(&file.path).unwrap_or_default();
        let text = if file.is_new { "" } else { &tree.text(&file.path)?.text };
        let deleted: Vec<TextEdit> =
            all.iter().filter(|(step, _)| is_deletion(*step)).map(|(_, it)| it.clone()).collect();
        joined.unsure.retain(|it| !is_within(it, &file.path, &deleted));
        let claims = all.iter().map(|(_, it)| it).collect::<Vec<_>>();
        let clash = joined.unsure.iter().find(|it| it.place.file == file.path && overlaps_other(it, &claims));
        if let Some(it) = clash {
            return Err(EditError::Overlap(vec![it.place.clone()]));
        }
        file.edits = join_edits(all, &is_deletion, &file.path, text)?;
    }
    joined.files.sort_by(|one, other| one.path.cmp(&other.path));
    joined.refresh_diff(&tree.sources)?;
    Ok(joined)
}

/// Adds a file without its edits; two steps cannot move it to two places.
fn join_file(plan: &mut Plan, file: FileEdit) -> Result<(), EditError> {
    let Some(known) = plan.files.iter_mut().find(|it| it.path == file.path) else {
        plan.files.push(FileEdit { edits: Vec::new(), ..file });
        return Ok(());
    };
    match (&known.moved_to, file.moved_to) {
        (Some(one), Some(other)) if *one != other => {
            let reason = format!("moves to {one} and to {other}");
            let place = Place { file: file.path, line: 1, column: 1, text: String::new(), reason };
            Err(EditError::Overlap(vec![place]))
        }
        (None, Some(other)) => {
            known.moved_to = Some(other);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether an uncertain place is in text that goes.
fn is_within(uncertain: &Uncertain, path: &str, deleted: &[TextEdit]) -> bool {
    let Some(edit) = &uncertain.edit else { return false };
    uncertain.place.file == path && deleted.iter().any(|it| it.from <= edit.from && edit.to <= it.to)
}

fn overlaps_other(uncertain: &Uncertain, all: &[&TextEdit]) -> bool {
    let Some(edit) = &uncertain.edit else { return false };
    all.iter().any(|it| *it != edit && overlap(it, edit))
}

fn overlap(one: &TextEdit, other: &TextEdit) -> bool {
    one.from < other.to && other.from < one.to
}

/// The edits of one file: sorted, those in deleted text left out, those at one place in the order of their steps.
fn join_edits(
    mut all: Vec<Numbered>,
    is_deletion: &dyn Fn(usize) -> bool,
    path: &str,
    text: &str,
) -> Result<Vec<TextEdit>, EditError> {
    let deletions: Vec<Numbered> = all.iter().filter(|(step, _)| is_deletion(*step)).cloned().collect();
    let goes = |(step, it): &Numbered| {
        deletions
            .iter()
            .any(|(by, gone)| by != step && gone.from <= it.from && it.to <= gone.to && gone != it)
    };
    all.retain(|it| !goes(it));
    all.sort_by_key(|(step, it)| (it.from, it.to, *step));
    let mut joined: Vec<Numbered> = Vec::new();
    for (step, edit) in all {
        match joined.last_mut() {
            Some((_, last)) if last.from == last.to && (last.from, last.to) == (edit.from, edit.to) => {
                last.text.push_str(&edit.text);
            }
            Some((by, last)) if overlap(last, &edit) => {
                let reason = format!("changed by step {} and step {}", *by + 1, step + 1);
                return Err(EditError::Overlap(vec![Place::new(path, text, edit.from, reason)]));
            }
            _ => joined.push((step, edit)),
        }
    }
    Ok(joined.into_iter().map(|(_, edit)| edit).collect())
}

/// What no step can know by itself: new text with a name that another step takes away, and two steps that give the same name.
fn doubts_between(tree: &Tree, steps: &[BatchStep], plans: &[Plan]) -> Result<Vec<Uncertain>, EditError> {
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        for (other, rival) in steps.iter().enumerate().filter(|(other, _)| *other != at) {
            let names_lost =
                step.kind.new_texts().iter().any(|text| !whole_words(text, &rival.place.name).is_empty());
            let reason = if names_lost && rival.kind.takes_name_away() {
                format!("the new text has `{}`, which step {} takes away", rival.place.name, other + 1)
            } else if other < at
                && step.kind.given_name().is_some_and(|it| Some(it) == rival.kind.given_name())
                && share_file(&plans[at], &plans[other])
            {
                format!("gets the same name as in step {}", other + 1)
            } else {
                continue;
            };
            let text = &tree.text(&step.place.file)?.text;
            let place = Place::new(&step.place.file, text, step.place.at, reason);
            found.push(Uncertain { place, edit: None, likely: false, can_be_compiled: true });
        }
    }
    Ok(found)
}

fn share_file(one: &Plan, other: &Plan) -> bool {
    one.files.iter().any(|file| other.files.iter().any(|it| it.path == file.path))
}
