//! Which notes are written, and in which order.

use code::ChangeClass::{self, Internal, PublicBehavior, Structure};
use code::{Graph, NoteState, NoteStatus};
use loci_notes::{MAX_CYCLE_TYPES, NoteJob, plan_notes};

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
