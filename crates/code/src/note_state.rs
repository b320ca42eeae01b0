//! Whether what was written about a type is still true: what each change does to it, how small changes add up, and what one type's
//! change means for those that rest on it.
//!
//! Does not know who writes notes, nor what time it is: whoever tells of a change says when it was.

use crate::classify::ChangeClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the note about a type stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub enum Note {
    /// Nobody has asked for one.
    #[default]
    None,
    /// Asked for.
    Pending,
    /// Being written.
    Generating,
    Cached,
    /// There, and no longer true as it stands.
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

/// What is known of a type besides its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub note: Note,
    /// What its last own change meant.
    pub changed: Option<ChangeClass>,
    /// It was not changed itself: something it rests on was, in its structure.
    pub reached: bool,
    pub drift: Drift,
    /// When the note was asked for, or when somebody began to write it, in milliseconds.
    pub at: i64,
}

/// Changes that nobody else can see, since the note was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Drift {
    /// How many, those within one window counted once.
    pub count: u32,
    /// When the first and the latest of them were, in milliseconds.
    pub first: i64,
    pub latest: i64,
}

/// Each of these makes small changes count as a large one.
const MOST_CHANGES: u32 = 5;
const LONGEST: i64 = 24 * 60 * 60 * 1000;
/// Whoever began to write a note and has not ended by then was killed over it.
const LONGEST_WRITING: i64 = 15 * 60 * 1000;
/// Saves within so many milliseconds are one change.
pub const WINDOW: i64 = 10 * 60 * 1000;
/// Changes of files that come within so many milliseconds are looked at together.
pub const BATCH: i64 = 800;

impl State {
    /// Takes note of a change of the type itself.
    pub fn change(&mut self, class: ChangeClass, at: i64) {
        self.changed = Some(class);
        match class {
            ChangeClass::Structure | ChangeClass::PublicBehavior => self.outdate(),
            ChangeClass::Internal => self.drift(at),
            ChangeClass::Docs | ChangeClass::Cosmetic => {}
        }
    }

    /// Something it rests on has another structure now.
    pub fn reach(&mut self) {
        self.reached = true;
        self.outdate();
    }

    fn outdate(&mut self) {
        // What is being written rests on what was read before the change.
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

    /// Time passes: small changes that have waited for a day count as a large one, and nobody writes for ever.
    pub fn tick(&mut self, now: i64) {
        if self.drift.count >= MOST_CHANGES || (self.drift.count > 0 && now - self.drift.first >= LONGEST) {
            self.outdate();
        }
        if self.note == Note::Generating && now - self.at >= LONGEST_WRITING {
            self.note = Note::Pending;
        }
    }

    /// Whether there are small changes that the note does not know.
    pub fn drifts(&self) -> bool {
        self.drift.count > 0
    }

    // ---- the note's own way

    /// False: it is on its way already, or true as it stands.
    pub fn ask(&mut self, now: i64) -> bool {
        let asks = matches!(self.note, Note::None | Note::Stale);
        if asks {
            (self.note, self.at) = (Note::Pending, now);
        }
        asks
    }

    pub fn begin(&mut self, now: i64) -> bool {
        let begins = self.note == Note::Pending;
        if begins {
            (self.note, self.at) = (Note::Generating, now);
        }
        begins
    }

    /// When it was asked for; what nobody asked for comes behind all others.
    pub fn asked(&self) -> i64 {
        if matches!(self.note, Note::Pending | Note::Generating) { self.at } else { i64::MAX }
    }

    /// A change while it was written has made it stale already; then it stays so.
    pub fn end(&mut self, written: bool) {
        if self.note == Note::Generating {
            self.note = if written { Note::Cached } else { Note::Pending };
            if written {
                (self.drift, self.reached) = (Drift::default(), false);
            }
        }
    }
}

/// Takes note of all changes of one batch: of the types themselves, of what rests on them, and of their circles. What a type's own
/// change means and what reached it are two things: a comment of its own does not keep a note true whose ground has moved.
///
/// `users` has those who use each type whose structure changed; `circles` are types that hold each other, in lists of their own.
pub fn settle<K: Ord + Copy>(
    states: &mut BTreeMap<K, State>,
    changes: &BTreeMap<K, ChangeClass>,
    users: &BTreeMap<K, Vec<K>>,
    circles: &[Vec<K>],
    at: i64,
) {
    for (of, class) in changes {
        states.entry(*of).or_default().change(*class, at);
    }
    for of in users.values().flatten() {
        states.entry(*of).or_default().reach();
    }
    let deep = |of: &K| changes.get(of).is_some_and(|class| *class <= ChangeClass::PublicBehavior);
    for circle in circles.iter().filter(|circle| circle.len() > 1 && circle.iter().any(deep)) {
        for of in circle {
            states.entry(*of).or_default().outdate();
        }
    }
}

/// How soon a note is worth writing: what many rest on and what rests on little first, and the deeper the change.
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
    fn each_change_does_what_the_matrix_says() {
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
            assert_eq!(none.note, Note::None, "what is not there cannot be stale");
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
    fn a_note_goes_its_way() {
        let mut state = State::default();
        assert!(state.ask(5) && !state.ask(6) && state.asked() == 5 && state.begin(7) && !state.begin(8));
        state.end(false);
        assert_eq!(state.note, Note::Pending, "a failure is tried again");
        state.begin(9);
        state.change(Structure, 0);
        state.end(true);
        assert_eq!(state.note, Note::Stale, "what changed while it was written is not in it");
        assert!(state.ask(10) && state.begin(10));
        state.tick(10 + LONGEST_WRITING - 1);
        assert_eq!(state.note, Note::Generating);
        let mut killed = state;
        killed.tick(10 + LONGEST_WRITING);
        assert_eq!(killed.note, Note::Pending, "whoever wrote it was killed");
        state.change(Internal, 1);
        state.end(true);
        assert_eq!((state.note, state.drifts()), (Note::Cached, false));
    }

    #[test]
    fn a_change_reaches_what_rests_on_it_and_its_circle() {
        // 1 and 2 use 0; 3 and 4 hold each other; 4 uses 0
        let graph = graph(5, &[(1, 0), (2, 0), (3, 4), (4, 3), (4, 0)]);
        let settled = |changes: &[(u32, ChangeClass)]| {
            let mut states: BTreeMap<u32, State> = (0..5).map(|of| (of, cached())).collect();
            let changes: BTreeMap<u32, ChangeClass> = changes.iter().copied().collect();
            let structural = changes.iter().filter(|(_, class)| **class == Structure);
            let users = structural.map(|(of, _)| (*of, graph.used(*of).to_vec())).collect();
            settle(&mut states, &changes, &users, &graph.groups(), 0);
            let stale = |of: &u32| states[of].note == Note::Stale;
            let reached = |of: &u32| states[of].reached;
            ((0..5).filter(stale).collect::<Vec<_>>(), (0..5).filter(reached).collect::<Vec<_>>())
        };
        assert_eq!(settled(&[(0, Structure)]), (vec![0, 1, 2, 4], vec![1, 2, 4]));
        assert_eq!(settled(&[(0, PublicBehavior)]), (vec![0], vec![]));
        assert_eq!(settled(&[(0, Structure), (1, Docs)]), (vec![0, 1, 2, 4], vec![1, 2, 4]));
        assert_eq!(settled(&[(3, PublicBehavior)]), (vec![3, 4], vec![]));
        assert_eq!(settled(&[(3, Internal)]), (vec![], vec![]));
        assert_eq!(settled(&[(3, Structure)]), (vec![3, 4], vec![4]));
    }

    #[test]
    fn what_many_rest_on_comes_first() {
        let deep = State { changed: Some(Structure), ..cached() };
        assert!(urgency(&deep, 10, 1) > urgency(&State { changed: Some(Internal), ..cached() }, 10, 1));
        assert!(urgency(&deep, 10, 1) > urgency(&deep, 10, 3) && urgency(&deep, 4, 0) > urgency(&deep, 2, 0));
    }
}
