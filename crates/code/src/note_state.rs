//! The state machine of a note: how each change class affects it, when small changes add up to a large one, and how a type's
//! change affects its dependents.
//!
//! Does not know who writes notes, and does not read the clock: the caller passes the time of each change.

use crate::classify::ChangeClass;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The status of the note about a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub enum NoteStatus {
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

impl NoteStatus {
    pub fn name(self) -> &'static str {
        match self {
            NoteStatus::None => "none",
            NoteStatus::Pending => "pending",
            NoteStatus::Generating => "generating",
            NoteStatus::Cached => "cached",
            NoteStatus::Stale => "stale",
        }
    }
}

/// The stored state of a type's note.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NoteState {
    pub status: NoteStatus,
    /// The class of the type's own last change.
    pub last_change: Option<ChangeClass>,
    /// The type itself did not change, but the structure of one of its dependencies did.
    pub dependency_changed: bool,
    /// Another type of its dependency cycle changed; the types of a cycle share a note.
    pub cycle_changed: bool,
    pub drift: Drift,
    /// Digest of the type and of the structure of what it uses, as they were when the note was written; 0 if not known.
    pub ground: u64,
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
const MAX_SMALL_CHANGES: u32 = 5;
const MAX_DRIFT_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// A writer that has not finished by then was killed.
const MAX_WRITING_MILLIS: i64 = 15 * 60 * 1000;
/// Saves within this many milliseconds count as one change.
pub const DRIFT_WINDOW_MILLIS: i64 = 10 * 60 * 1000;
/// File changes within this many milliseconds are processed together.
pub const BATCH_MILLIS: i64 = 800;

impl NoteState {
    /// Records a change of the type itself.
    pub fn record_change(&mut self, class: ChangeClass, at: i64) {
        self.last_change = Some(class);
        match class {
            ChangeClass::Structure | ChangeClass::PublicBehavior => self.mark_stale(),
            ChangeClass::Internal => self.record_drift(at),
            ChangeClass::Docs | ChangeClass::Cosmetic => {}
        }
    }

    /// Records that the structure of a dependency changed.
    pub fn record_dependency_change(&mut self) {
        self.dependency_changed = true;
        self.mark_stale();
    }

    fn record_cycle_change(&mut self) {
        self.cycle_changed = true;
        self.mark_stale();
    }

    /// Everything is again as it was when the note was written. A note that is being written is finished nevertheless.
    fn revert(&mut self) {
        if self.status != NoteStatus::Generating {
            self.status = NoteStatus::Cached;
            (self.dependency_changed, self.cycle_changed) = (false, false);
            self.drift = Drift::default();
        }
    }

    fn mark_stale(&mut self) {
        // A note being written is based on source that was read before the change.
        if matches!(self.status, NoteStatus::Cached | NoteStatus::Generating) {
            self.status = NoteStatus::Stale;
        }
        self.drift = Drift::default();
    }

    fn record_drift(&mut self, at: i64) {
        let drift = &mut self.drift;
        if drift.count == 0 {
            *drift = Drift { count: 1, first: at, latest: at };
        } else if at - drift.latest >= DRIFT_WINDOW_MILLIS {
            (drift.count, drift.latest) = (drift.count + 1, at);
        }
        self.apply_timeouts(at);
    }

    /// Applies timeouts: small changes older than a day count as a large one, and a writer that takes too long has been killed.
    pub fn apply_timeouts(&mut self, now: i64) {
        if self.drift.count >= MAX_SMALL_CHANGES
            || (self.drift.count > 0 && now - self.drift.first >= MAX_DRIFT_MILLIS)
        {
            self.mark_stale();
        }
        if self.status == NoteStatus::Generating && now - self.at >= MAX_WRITING_MILLIS {
            self.status = NoteStatus::Pending;
        }
    }

    /// Whether there are small changes that the note does not cover.
    pub fn has_drift(&self) -> bool {
        self.drift.count > 0
    }

    // ---- transitions

    /// Returns false if the note is already requested or up to date.
    pub fn request_note(&mut self, now: i64) -> bool {
        let can_request = matches!(self.status, NoteStatus::None | NoteStatus::Stale);
        if can_request {
            (self.status, self.at) = (NoteStatus::Pending, now);
        }
        can_request
    }

    pub fn begin_writing(&mut self, now: i64) -> bool {
        let can_begin = self.status == NoteStatus::Pending;
        if can_begin {
            (self.status, self.at) = (NoteStatus::Generating, now);
        }
        can_begin
    }

    /// When the note was requested; unrequested notes sort last.
    pub fn requested_at(&self) -> i64 {
        if matches!(self.status, NoteStatus::Pending | NoteStatus::Generating) { self.at } else { i64::MAX }
    }

    /// If a change made the note stale while it was being written, it stays stale.
    pub fn finish_writing(&mut self, written: bool) {
        if self.status == NoteStatus::Generating {
            self.status = if written { NoteStatus::Cached } else { NoteStatus::Pending };
            if written {
                self.drift = Drift::default();
                (self.dependency_changed, self.cycle_changed) = (false, false);
            }
        }
    }
}

/// Applies all changes of one batch: to the types themselves, to their dependents, and to their cycles. A type's own change and a
/// change of its dependency are independent: a new comment in the type does not keep its note correct if a dependency changed
/// structurally.
///
/// `users` has the dependents of each type whose structure changed; `cycles` are the dependency cycles.
pub fn apply_changes<K: Ord + Copy>(
    states: &mut BTreeMap<K, NoteState>,
    changes: &BTreeMap<K, ChangeClass>,
    users: &BTreeMap<K, Vec<K>>,
    cycles: &[Vec<K>],
    at: i64,
) {
    for (of, class) in changes {
        states.entry(*of).or_default().record_change(*class, at);
    }
    for of in users.values().flatten() {
        states.entry(*of).or_default().record_dependency_change();
    }
    let deep = |of: &K| changes.get(of).is_some_and(|class| *class <= ChangeClass::PublicBehavior);
    for cycle in cycles.iter().filter(|cycle| cycle.len() > 1 && cycle.iter().any(deep)) {
        for of in cycle {
            states.entry(*of).or_default().record_cycle_change();
        }
    }
}

/// Makes notes current again whose types, and what they use, are as they were when the notes were written. `grounds` has the digests
/// as they are now. The types of a cycle become current together.
pub fn revert_changes<K: Ord + Copy>(
    states: &mut BTreeMap<K, NoteState>,
    cycles: &[Vec<K>],
    grounds: &BTreeMap<K, u64>,
) {
    let is_back = |of: &K, state: &NoteState| state.ground != 0 && grounds.get(of) == Some(&state.ground);
    let back: BTreeSet<K> =
        states.iter().filter(|(of, state)| is_back(of, state)).map(|(of, _)| *of).collect();
    for of in &back {
        let Some(state) = states.get_mut(of) else { continue };
        let cycle = cycles.iter().find(|cycle| cycle.len() > 1 && cycle.contains(of));
        if cycle.map_or(!state.cycle_changed, |cycle| cycle.iter().all(|it| back.contains(it))) {
            state.revert();
        }
    }
}

/// The priority of writing a note: higher for types with many dependents, few dependencies and a deep change.
pub fn note_urgency(state: &NoteState, used_by: usize, depth: u32) -> f64 {
    let weight = match state.last_change {
        Some(ChangeClass::Structure) => 2.0,
        Some(ChangeClass::PublicBehavior) => 1.5,
        _ if state.dependency_changed => 1.2,
        Some(ChangeClass::Internal) => 0.5,
        _ => 1.0,
    };
    used_by as f64 / f64::from(1 + depth) * weight
}
