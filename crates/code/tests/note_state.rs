//! The state of a note: what a change does to it, and to the notes of dependents and cycles.

use loci_code::ChangeClass::{self, Cosmetic, Docs, Internal, PublicBehavior, Structure};
use loci_code::{Graph, NoteState, NoteStatus, apply_changes, note_urgency, revert_changes};
use std::collections::BTreeMap;

const MINUTE: i64 = 60_000;
/// An internal change this old makes a note stale.
const MAX_DRIFT_MILLIS: i64 = 24 * 60 * MINUTE;
/// A note that is being written for longer has lost its writer.
const MAX_WRITING_MILLIS: i64 = 15 * MINUTE;

fn cached_state() -> NoteState {
    NoteState { status: NoteStatus::Cached, ..NoteState::default() }
}

#[test]
fn each_change_class_has_its_effect() {
    for (class, note, drifts) in [
        (Structure, NoteStatus::Stale, false),
        (PublicBehavior, NoteStatus::Stale, false),
        (Internal, NoteStatus::Cached, true),
        (Docs, NoteStatus::Cached, false),
        (Cosmetic, NoteStatus::Cached, false),
    ] {
        let mut state = cached_state();
        state.record_change(class, 0);
        assert_eq!((state.status, state.has_drift(), state.last_change), (note, drifts, Some(class)));
        let mut none = NoteState::default();
        none.record_change(class, 0);
        assert_eq!(none.status, NoteStatus::None, "a missing note cannot be stale");
    }
    let mut state = cached_state();
    state.record_dependency_change();
    assert_eq!((state.status, state.dependency_changed, state.last_change), (NoteStatus::Stale, true, None));
}

#[test]
fn what_is_as_it_was_makes_a_note_current() {
    let stale_after = |change: fn(&mut NoteState)| {
        let mut state = NoteState { ground: 7, ..cached_state() };
        change(&mut state);
        state
    };
    let changes: [fn(&mut NoteState); 3] = [
        |state| state.record_change(Structure, 0),
        |state| state.record_dependency_change(),
        |state| state.record_change(Internal, 0),
    ];
    for change in changes {
        let mut states = BTreeMap::from([(1, stale_after(change)), (2, stale_after(change))]);
        revert_changes(&mut states, &[], &BTreeMap::from([(1, 7), (2, 8)]));
        let back = &states[&1];
        assert_eq!(
            (back.status, back.dependency_changed, back.has_drift()),
            (NoteStatus::Cached, false, false)
        );
        assert_eq!(states[&2], stale_after(change), "it differs");
    }
    // A note that was never current, or that is being written.
    let unknown = NoteState { status: NoteStatus::Pending, ..NoteState::default() };
    let written = NoteState { status: NoteStatus::Generating, ground: 7, ..NoteState::default() };
    let mut states = BTreeMap::from([(1, unknown), (2, written)]);
    revert_changes(&mut states, &[], &BTreeMap::from([(1, 0), (2, 7)]));
    assert_eq!([states[&1].status, states[&2].status], [NoteStatus::Pending, NoteStatus::Generating]);
}

#[test]
fn the_notes_of_a_cycle_become_current_together() {
    let current = NoteState { ground: 7, ..cached_state() };
    let mut states = BTreeMap::from([(1, current), (2, current)]);
    let cycles = [vec![1, 2]];
    let changes = BTreeMap::from([(1, PublicBehavior)]);
    apply_changes(&mut states, &changes, &BTreeMap::new(), &cycles, 0);
    let shown = |states: &BTreeMap<i32, NoteState>| [states[&1].status, states[&2].status];
    revert_changes(&mut states, &cycles, &BTreeMap::from([(1, 8), (2, 7)]));
    assert_eq!(shown(&states), [NoteStatus::Stale; 2], "the other one changed");
    revert_changes(&mut states, &[], &BTreeMap::from([(1, 8), (2, 7)]));
    assert_eq!(shown(&states), [NoteStatus::Stale; 2], "whatever happens elsewhere");
    revert_changes(&mut states, &cycles, &BTreeMap::from([(1, 7), (2, 7)]));
    assert_eq!(shown(&states), [NoteStatus::Cached; 2]);
}

#[test]
fn small_changes_add_up() {
    let mut state = cached_state();
    for n in 0..20 {
        state.record_change(Internal, n * MINUTE / 10); // all within one window
    }
    assert_eq!((state.status, state.drift.count), (NoteStatus::Cached, 1));
    for n in 1..4 {
        state.record_change(Internal, n * 11 * MINUTE);
    }
    assert_eq!((state.status, state.drift.count), (NoteStatus::Cached, 4));
    state.record_change(Internal, 60 * MINUTE);
    assert_eq!((state.status, state.has_drift()), (NoteStatus::Stale, false), "the fifth");
    let mut state = cached_state();
    state.record_change(Internal, 0);
    state.apply_timeouts(MAX_DRIFT_MILLIS - 1);
    assert_eq!(state.status, NoteStatus::Cached);
    state.apply_timeouts(MAX_DRIFT_MILLIS);
    assert_eq!(state.status, NoteStatus::Stale, "a day");
}

#[test]
fn a_note_is_requested_begun_and_finished() {
    let mut state = NoteState::default();
    assert!(
        state.request_note(5)
            && !state.request_note(6)
            && state.requested_at() == 5
            && state.begin_writing(7)
            && !state.begin_writing(8)
    );
    state.finish_writing(false);
    assert_eq!(state.status, NoteStatus::Pending, "a failed note is retried");
    state.begin_writing(9);
    state.record_change(Structure, 0);
    state.finish_writing(true);
    assert_eq!(state.status, NoteStatus::Stale, "a change during writing is not covered");
    assert!(state.request_note(10) && state.begin_writing(10));
    state.apply_timeouts(10 + MAX_WRITING_MILLIS - 1);
    assert_eq!(state.status, NoteStatus::Generating);
    let mut killed = state;
    killed.apply_timeouts(10 + MAX_WRITING_MILLIS);
    assert_eq!(killed.status, NoteStatus::Pending, "the writer was killed");
    state.record_change(Internal, 1);
    state.finish_writing(true);
    assert_eq!((state.status, state.has_drift()), (NoteStatus::Cached, false));
}

#[test]
fn a_change_affects_dependents_and_its_cycle() {
    // 1 and 2 use 0; 3 and 4 form a cycle; 4 uses 0
    let graph = Graph::new(5, [(1, 0), (2, 0), (3, 4), (4, 3), (4, 0)]);
    let stale_and_reached = |changes: &[(u32, ChangeClass)]| {
        let mut states: BTreeMap<u32, NoteState> = (0..5).map(|of| (of, cached_state())).collect();
        let changes: BTreeMap<u32, ChangeClass> = changes.iter().copied().collect();
        let structural = changes.iter().filter(|(_, class)| **class == Structure);
        let users = structural.map(|(of, _)| (*of, graph.used_by(*of).to_vec())).collect();
        apply_changes(&mut states, &changes, &users, &graph.groups(), 0);
        let stale = |of: &u32| states[of].status == NoteStatus::Stale;
        let reached = |of: &u32| states[of].dependency_changed;
        ((0..5).filter(stale).collect::<Vec<_>>(), (0..5).filter(reached).collect::<Vec<_>>())
    };
    assert_eq!(stale_and_reached(&[(0, Structure)]), (vec![0, 1, 2, 4], vec![1, 2, 4]));
    assert_eq!(stale_and_reached(&[(0, PublicBehavior)]), (vec![0], vec![]));
    assert_eq!(stale_and_reached(&[(0, Structure), (1, Docs)]), (vec![0, 1, 2, 4], vec![1, 2, 4]));
    assert_eq!(stale_and_reached(&[(3, PublicBehavior)]), (vec![3, 4], vec![]));
    assert_eq!(stale_and_reached(&[(3, Internal)]), (vec![], vec![]));
    assert_eq!(stale_and_reached(&[(3, Structure)]), (vec![3, 4], vec![4]));
}

#[test]
fn types_with_many_dependents_are_more_urgent() {
    let deep = NoteState { last_change: Some(Structure), ..cached_state() };
    assert!(
        note_urgency(&deep, 10, 1)
            > note_urgency(&NoteState { last_change: Some(Internal), ..cached_state() }, 10, 1)
    );
    assert!(
        note_urgency(&deep, 10, 1) > note_urgency(&deep, 10, 3)
            && note_urgency(&deep, 4, 0) > note_urgency(&deep, 2, 0)
    );
}
