//! Selects the notes to write and their order: the types of a dependency cycle share a note, and types with many dependents come
//! first.
//!
//! Does not know the content of a note, nor who requested it: the caller passes the state of each requested type.

use crate::graph::Graph;
use crate::note_state::{State, urgency};
use std::collections::{BTreeMap, BTreeSet};

/// One request to a model.
#[derive(Clone, PartialEq, Debug)]
pub struct NoteJob {
    /// One type, or all types of a cycle, by number.
    pub of: Vec<u32>,
    pub urgency: f64,
}

/// A larger cycle is no longer one unit, and its outlines would fill a prompt: its types get separate notes.
pub const LARGEST_CIRCLE: usize = 12;

/// Plans the requested notes, most urgent first; of equally urgent ones, the earliest request first.
pub fn plan(graph: &Graph, wanted: &BTreeMap<u32, State>) -> Vec<NoteJob> {
    let depths = graph.depths();
    let mut jobs: Vec<(i64, NoteJob)> = groups(graph, wanted)
        .into_iter()
        .map(|of| {
            let requested = of.iter().filter_map(|one| wanted.get(one)).map(State::asked);
            let since = requested.min().unwrap_or(i64::MAX);
            (since, NoteJob { urgency: worth(graph, &depths, wanted, &of), of })
        })
        .collect();
    jobs.sort_by(|(since, one), (later, other)| {
        other.urgency.total_cmp(&one.urgency).then(since.cmp(later)).then(one.of.cmp(&other.of))
    });
    jobs.into_iter().map(|(_, job)| job).collect()
}

fn groups(graph: &Graph, wanted: &BTreeMap<u32, State>) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    for mut cycle in graph.groups() {
        cycle.sort_unstable();
        if cycle.len() > LARGEST_CIRCLE {
            found.extend(cycle.into_iter().filter(|of| wanted.contains_key(of)).map(|of| vec![of]));
        } else if cycle.iter().any(|of| wanted.contains_key(of)) {
            found.push(cycle);
        }
    }
    found
}

/// A cycle is as urgent as the deepest change in it, and counts the dependents outside of it.
fn worth(graph: &Graph, depths: &[u32], wanted: &BTreeMap<u32, State>, of: &[u32]) -> f64 {
    let users: BTreeSet<u32> =
        of.iter().flat_map(|one| graph.used(*one)).filter(|user| !of.contains(user)).copied().collect();
    let depth = of.iter().map(|one| depths.get(*one as usize).copied().unwrap_or(0)).min().unwrap_or(0);
    let each = of.iter().filter_map(|one| wanted.get(one)).map(|state| urgency(state, users.len(), depth));
    each.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::ChangeClass::{self, Internal, PublicBehavior, Structure};
    use crate::graph::tests::graph;
    use crate::note_state::Note;

    fn asked(at: i64) -> State {
        State { note: Note::Pending, at, ..State::default() }
    }

    fn stale(changed: Option<ChangeClass>, reached: bool) -> State {
        State { note: Note::Stale, changed, reached, ..State::default() }
    }

    fn order(graph: &Graph, wanted: &[(u32, State)]) -> Vec<Vec<u32>> {
        plan(graph, &wanted.iter().copied().collect()).into_iter().map(|job| job.of).collect()
    }

    #[test]
    fn types_with_many_dependents_and_few_dependencies_come_first() {
        // 1, 2 and 3 use 0; 4 uses 3
        let graph = graph(5, &[(1, 0), (2, 0), (3, 0), (4, 3)]);
        for (wanted, expected) in [
            (vec![(4, asked(1)), (3, asked(1)), (0, asked(1))], vec![vec![0], vec![3], vec![4]]),
            (vec![(4, asked(9)), (2, asked(5)), (1, asked(7))], vec![vec![2], vec![1], vec![4]]),
            (vec![(1, stale(None, false)), (2, asked(5))], vec![vec![2], vec![1]]),
            (vec![], vec![]),
        ] {
            assert_eq!(order(&graph, &wanted), expected, "{wanted:?}");
        }
    }

    #[test]
    fn the_deeper_the_change_the_sooner() {
        // 10 to 14 each use one of 0 to 4
        let graph = graph(15, &[(10, 0), (11, 1), (12, 2), (13, 3), (14, 4)]);
        let wanted = [
            (0, stale(Some(Internal), false)),
            (1, stale(None, true)),
            (2, stale(Some(PublicBehavior), false)),
            (3, stale(Some(Structure), false)),
            (4, asked(1)),
        ];
        assert_eq!(order(&graph, &wanted), [vec![3], vec![2], vec![1], vec![4], vec![0]]);
        let jobs = plan(&graph, &wanted.into_iter().collect());
        assert_eq!(jobs.iter().map(|job| job.urgency).collect::<Vec<_>>(), [2.0, 1.5, 1.2, 1.0, 0.5]);
    }

    #[test]
    fn a_cycle_is_one_job_unless_it_is_large() {
        // 1, 2 and 3 form a cycle; 4 and 5 use them
        let small = graph(6, &[(1, 2), (2, 3), (3, 1), (4, 1), (5, 2), (5, 3)]);
        let jobs = plan(&small, &[(2, stale(Some(Structure), false))].into_iter().collect());
        assert_eq!(
            jobs,
            [NoteJob { of: vec![1, 2, 3], urgency: 4.0 }],
            "a dependent outside the cycle counts once"
        );
        let many = LARGEST_CIRCLE as u32 + 1;
        let ring: Vec<(u32, u32)> = (0..many).map(|at| (at, (at + 1) % many)).collect();
        let large = graph(many as usize, &ring);
        assert_eq!(order(&large, &[(3, asked(1)), (5, asked(0))]), [vec![5], vec![3]]);
    }
}
