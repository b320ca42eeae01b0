//! Selects the notes to write and their order: the types of a dependency cycle share a note, and types with many dependents come
//! first.
//!
//! Does not know the content of a note, nor who requested it: the caller passes the state of each requested type.

use code::{NoteState, note_urgency};
use graph::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// One request to a model.
#[derive(Clone, PartialEq, Debug)]
pub struct NoteJob {
    /// One type, or all types of a cycle, by number.
    pub of: Vec<u32>,
    pub urgency: f64,
}

/// A larger cycle is no longer one unit, and its outlines would fill a prompt: its types get separate notes.
pub const MAX_CYCLE_TYPES: usize = 12;

/// Plans the requested notes, most urgent first; of equally urgent ones, the earliest request first.
pub fn plan_notes(graph: &Graph, wanted: &BTreeMap<u32, NoteState>) -> Vec<NoteJob> {
    let depths = graph.depths();
    let mut jobs: Vec<(i64, NoteJob)> = wanted_groups(graph, wanted)
        .into_iter()
        .map(|of| {
            let requested = of.iter().filter_map(|one| wanted.get(one)).map(NoteState::requested_at);
            let since = requested.min().unwrap_or(i64::MAX);
            (since, NoteJob { urgency: job_urgency(graph, &depths, wanted, &of), of })
        })
        .collect();
    jobs.sort_by(|(since, one), (later, other)| {
        other.urgency.total_cmp(&one.urgency).then(since.cmp(later)).then(one.of.cmp(&other.of))
    });
    jobs.into_iter().map(|(_, job)| job).collect()
}

fn wanted_groups(graph: &Graph, wanted: &BTreeMap<u32, NoteState>) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    for mut cycle in graph.groups() {
        cycle.sort_unstable();
        if cycle.len() > MAX_CYCLE_TYPES {
            found.extend(cycle.into_iter().filter(|of| wanted.contains_key(of)).map(|of| vec![of]));
        } else if cycle.iter().any(|of| wanted.contains_key(of)) {
            found.push(cycle);
        }
    }
    found
}

/// A cycle is as urgent as the deepest change in it, and counts the dependents outside of it.
fn job_urgency(graph: &Graph, depths: &[u32], wanted: &BTreeMap<u32, NoteState>, of: &[u32]) -> f64 {
    let users: BTreeSet<u32> =
        of.iter().flat_map(|one| graph.used_by(*one)).filter(|user| !of.contains(user)).copied().collect();
    let depth = of.iter().map(|one| depths.get(*one as usize).copied().unwrap_or(0)).min().unwrap_or(0);
    let each =
        of.iter().filter_map(|one| wanted.get(one)).map(|state| note_urgency(state, users.len(), depth));
    each.fold(0.0, f64::max)
}
