//! The state machine of a note: how each change class affects it, when small changes add up to a large one, and how a type's
//! change affects its dependents.
//!
//! Does not know who writes notes, and does not read the clock: the caller passes the time of each change.

use crate::classify::ChangeClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The status of the note about a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub enum Note {
    /// Not requested.
    #[default]
    None,
    /// Requested.
    Pending,
    /// Being written.
    Generating,
    Cached,
    /// Written, but no longer correct.
    Stale,
}

impl Note {
    pub fn name(self) -> &'static str {
        match self {
            Note::None => "none",
            Note::Pending => "pending",
            Note::Generating => "generating",
            Note::Cached => "cached",
            Note::Stale => "stale",
        }
    }
}

/// The stored state of a type's note.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub note: Note,
    /// The class of the type's own last change.
    pub changed: Option<ChangeClass>,
    /// The type itself did not change, but the structure of one of its dependencies did.
    pub reached: bool,
    pub drift: Drift,
    /// When the note was requested, or when writing began, in milliseconds.
    pub at: i64,
}

/// Internal changes since the note was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Drift {
    /// The number of changes; those within one window count once.
    pub count: u32,
    /// The times of the first and the latest change, in milliseconds.
    pub first: i64,
    pub latest: i64,
}

/// Either limit makes accumulated small changes count as a large one.
const MOST_CHANGES: u32 = 5;
const LONGEST: i64 = 24 * 60 * 60 * 1000;
/// A writer that has not finished by then was killed.
const LONGEST_WRITING: i64 = 15 * 60 * 1000;
/// Saves within this many milliseconds count as one change.
pub const WINDOW: i64 = 10 * 60 * 1000;
/// File changes within this many milliseconds are processed together.
pub const BATCH: i64 = 800;

impl State {
    /// Records a change of the type itself.
    pub fn change(&mut self, class: ChangeClass, at: i64) {
        self.changed = Some(class);
        match class {
            ChangeClass::Structure | ChangeClass::PublicBehavior => self.outdate(),
            ChangeClass::Internal => self.drift(at),
            ChangeClass::Docs | ChangeClass::Cosmetic => {}
        }
    }

    /// Records that the structure of a dependency changed.
    pub fn reach(&mut self) {
        self.reached = true;
        self.outdate();
    }

    fn outdate(&mut self) {
        // A note being written is based on source that was read before the change.
        if matches!(self.note, Note::Cached | Note::Generating) {
            self.note = Note::Stale;
        }
        self.drift = Drift::default();
    }

    fn drift(&mut self, at: i64) {
        let drift = &mut self.drift;
        if drift.count == 0 {
            *drift = Drift { count: 1, first: at, latest: at };
        } else if at - drift.latest >= WINDOW {
            (drift.count, drift.latest) = (drift.count + 1, at);
        }
        self.tick(at);
    }

    /// Applies timeouts: small changes older than a day count as a large one, and a writer that takes too long has been killed.
    pub fn tick(&mut self, now: i64) {
        if self.drift.count >= MOST_CHANGES || (self.drift.count > 0 && now - self.drift.first >= LONGEST) {
            self.outdate();
        }
        if self.note == Note::Generating && now - self.at >= LONGEST_WRITING {
            self.note = Note::Pending;
        }
    }

    /// Whether there are small changes that the note does not cover.
    pub fn drifts(&self) -> bool {
        self.drift.count > 0
    }

    // ---- transitions

    /// Returns false if the note is already requested or up to date.
    pub fn ask(&mut self, now: i64) -> bool {
        let can_request = matches!(self.note, Note::None | Note::Stale);
        if can_request {
            (self.note, self.at) = (Note::Pending, now);
        }
        can_request
    }

    pub fn begin(&mut self, now: i64) -> bool {
        let can_begin = self.note == Note::Pending;
        if can_begin {
            (self.note, self.at) = (Note::Generating, now);
        }
        can_begin
    }

    /// When the note was requested; unrequested notes sort last.
    pub fn asked(&self) -> i64 {
        if matches!(self.note, Note::Pending | Note::Generating) { self.at } else { i64::MAX }
    }

    /// If a change made the note stale while it was being written, it stays stale.
    pub fn end(&mut self, written: bool) {
        if self.note == Note::Generating {
            self.note = if written { Note::Cached } else { Note::Pending };
            if written {
                (self.drift, self.reached) = (Drift::default(), false);
            }
        }
    }
}

/// Applies all changes of one batch: to the types themselves, to their dependents, and to their cycles. A type's own change and a
/// change of its dependency are independent: a new comment in the type does not keep its note correct if a dependency changed
/// structurally.
///
/// `users` has the dependents of each type whose structure changed; `cycles` are the dependency cycles.
pub fn settle<K: Ord + Copy>(
    states: &mut BTreeMap<K, State>,
    changes: &BTreeMap<K, ChangeClass>,
    users: &BTreeMap<K, Vec<K>>,
    cycles: &[Vec<K>],
    at: i64,
) {
    for (of, class) in changes {
        states.entry(*of).or_default().change(*class, at);
    }
    for of in users.values().flatten() {
        states.entry(*of).or_default().reach();
    }
    let deep = |of: &K| changes.get(of).is_some_and(|class| *class <= ChangeClass::PublicBehavior);
    for cycle in cycles.iter().filter(|cycle| cycle.len() > 1 && cycle.iter().any(deep)) {
        for of in cycle {
            states.entry(*of).or_default().outdate();
        }
    }
}

/// The priority of writing a note: higher for types with many dependents, few dependencies and a deep change.
pub fn urgency(state: &State, used_by: usize, depth: u32) -> f64 {
    let weight = match state.changed {
        Some(ChangeClass::Structure) => 2.0,
        Some(ChangeClass::PublicBehavior) => 1.5,
        _ if state.reached => 1.2,
        Some(ChangeClass::Internal) => 0.5,
        _ => 1.0,
    };
    used_by as f64 / f64::from(1 + depth) * weight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::graph;
    use ChangeClass::{Cosmetic, Docs, Internal, PublicBehavior, Structure};

    const MINUTE: i64 = 60_000;

    fn cached() -> State {
        State { note: Note::Cached, ..State::default() }
    }

    #[test]
    fn each_change_class_has_its_effect() {
        for (class, note, drifts) in [
            (Structure, Note::Stale, false),
            (PublicBehavior, Note::Stale, false),
            (Internal, Note::Cached, true),
            (Docs, Note::Cached, false),
            (Cosmetic, Note::Cached, false),
        ] {
            let mut state = cached();
            state.change(class, 0);
            assert_eq!((state.note, state.drifts(), state.changed), (note, drifts, Some(class)));
            let mut none = State::default();
            none.change(class, 0);
            assert_eq!(none.note, Note::None, "a missing note cannot be stale");
        }
        let mut state = cached();
        state.reach();
        assert_eq!((state.note, state.reached, state.changed), (Note::Stale, true, None));
    }

    #[test]
    fn small_changes_add_up() {
        let mut state = cached();
        for n in 0..20 {
            state.change(Internal, n * MINUTE / 10); // all within one window
        }
        assert_eq!((state.note, state.drift.count), (Note::Cached, 1));
        for n in 1..4 {
            state.change(Internal, n * 11 * MINUTE);
        }
        assert_eq!((state.note, state.drift.count), (Note::Cached, 4));
        state.change(Internal, 60 * MINUTE);
        assert_eq!((state.note, state.drifts()), (Note::Stale, false), "the fifth");
        let mut state = cached();
        state.change(Internal, 0);
        state.tick(LONGEST - 1);
        assert_eq!(state.note, Note::Cached);
        state.tick(LONGEST);
        assert_eq!(state.note, Note::Stale, "a day");
    }

    #[test]
    fn a_note_is_requested_begun_and_finished() {
        let mut state = State::default();
        assert!(state.ask(5) && !state.ask(6) && state.asked() == 5 && state.begin(7) && !state.begin(8));
        state.end(false);
        assert_eq!(state.note, Note::Pending, "a failed note is retried");
        state.begin(9);
        state.change(Structure, 0);
        state.end(true);
        assert_eq!(state.note, Note::Stale, "a change during writing is not covered");
        assert!(state.ask(10) && state.begin(10));
        state.tick(10 + LONGEST_WRITING - 1);
        assert_eq!(state.note, Note::Generating);
        let mut killed = state;
        killed.tick(10 + LONGEST_WRITING);
        assert_eq!(killed.note, Note::Pending, "the writer was killed");
        state.change(Internal, 1);
        state.end(true);
        assert_eq!((state.note, state.drifts()), (Note::Cached, false));
    }

    #[test]
    fn a_change_affects_dependents_and_its_cycle() {
        // 1 and 2 use 0; 3 and 4 form a cycle; 4 uses 0
        let graph = graph(5, &[(1, 0), (2, 0), (3, 4), (4, 3), (4, 0)]);
        let stale_and_reached = |changes: &[(u32, ChangeClass)]| {
            let mut states: BTreeMap<u32, State> = (0..5).map(|of| (of, cached())).collect();
            let changes: BTreeMap<u32, ChangeClass> = changes.iter().copied().collect();
            let structural = changes.iter().filter(|(_, class)| **class == Structure);
            let users = structural.map(|(of, _)| (*of, graph.used(*of).to_vec())).collect();
            settle(&mut states, &changes, &users, &graph.groups(), 0);
            let stale = |of: &u32| states[of].note == Note::Stale;
            let reached = |of: &u32| states[of].reached;
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
        let deep = State { changed: Some(Structure), ..cached() };
        assert!(urgency(&deep, 10, 1) > urgency(&State { changed: Some(Internal), ..cached() }, 10, 1));
        assert!(urgency(&deep, 10, 1) > urgency(&deep, 10, 3) && urgency(&deep, 4, 0) > urgency(&deep, 2, 0));
    }
}
