//! Selects the notes to write and their order: the types of a dependency cycle share a note, and types with many dependents come
//! first.
//!
//! Does not know the content of a note, nor who requested it: the caller passes the state of each requested type.

use crate::note_state::{NoteState, note_urgency};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::ChangeClass::{self, Internal, PublicBehavior, Structure};
    use crate::note_state::NoteStatus;

    fn requested_at(at: i64) -> NoteState {
        NoteState { status: NoteStatus::Pending, at, ..NoteState::default() }
    }

    fn stale_state(changed: Option<ChangeClass>, reached: bool) -> NoteState {
        NoteState {
            status: NoteStatus::Stale,
            last_change: changed,
            dependency_changed: reached,
            ..NoteState::default()
        }
    }

    fn planned_order(graph: &Graph, wanted: &[(u32, NoteState)]) -> Vec<Vec<u32>> {
        plan_notes(graph, &wanted.iter().copied().collect()).into_iter().map(|job| job.of).collect()
    }

    #[test]
    fn types_with_many_dependents_and_few_dependencies_come_first() {
        // 1, 2 and 3 use 0; 4 uses 3
        let graph = Graph::new(5, [(1, 0), (2, 0), (3, 0), (4, 3)]);
        for (wanted, expected) in [
            (
                vec![(4, requested_at(1)), (3, requested_at(1)), (0, requested_at(1))],
                vec![vec![0], vec![3], vec![4]],
            ),
            (
                vec![(4, requested_at(9)), (2, requested_at(5)), (1, requested_at(7))],
                vec![vec![2], vec![1], vec![4]],
            ),
            (vec![(1, stale_state(None, false)), (2, requested_at(5))], vec![vec![2], vec![1]]),
            (vec![], vec![]),
        ] {
            assert_eq!(planned_order(&graph, &wanted), expected, "{wanted:?}");
        }
    }

    #[test]
    fn the_deeper_the_change_the_sooner() {
        // 10 to 14 each use one of 0 to 4
        let graph = Graph::new(15, [(10, 0), (11, 1), (12, 2), (13, 3), (14, 4)]);
        let wanted = [
            (0, stale_state(Some(Internal), false)),
            (1, stale_state(None, true)),
            (2, stale_state(Some(PublicBehavior), false)),
            (3, stale_state(Some(Structure), false)),
            (4, requested_at(1)),
        ];
        assert_eq!(planned_order(&graph, &wanted), [vec![3], vec![2], vec![1], vec![4], vec![0]]);
        let jobs = plan_notes(&graph, &wanted.into_iter().collect());
        assert_eq!(jobs.iter().map(|job| job.urgency).collect::<Vec<_>>(), [2.0, 1.5, 1.2, 1.0, 0.5]);
    }

    #[test]
    fn a_cycle_is_one_job_unless_it_is_large() {
        // 1, 2 and 3 form a cycle; 4 and 5 use them
        let small = Graph::new(6, [(1, 2), (2, 3), (3, 1), (4, 1), (5, 2), (5, 3)]);
        let jobs = plan_notes(&small, &[(2, stale_state(Some(Structure), false))].into_iter().collect());
        assert_eq!(
            jobs,
            [NoteJob { of: vec![1, 2, 3], urgency: 4.0 }],
            "a dependent outside the cycle counts once"
        );
        let many = MAX_CYCLE_TYPES as u32 + 1;
        let ring: Vec<(u32, u32)> = (0..many).map(|at| (at, (at + 1) % many)).collect();
        let large = Graph::new(many as usize, ring.iter().copied());
        assert_eq!(planned_order(&large, &[(3, requested_at(1)), (5, requested_at(0))]), [vec![5], vec![3]]);
    }
}
