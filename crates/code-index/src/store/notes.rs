//! Stores the state of notes: requested, being written, current or stale, and their baselines.
//!
//! Does not read notes: the caller passes their text.

use super::{Store, StoreError};
use crate::store::table::Table;
use code::Baseline;
use code::{NoteState, NoteStatus};
use std::time::Duration;
use syntax::{Digest, TypeId};

/// A request by a person, or a result that was paid for, is worth waiting for another writer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

impl Store {
    /// The note state of a type.
    pub fn note_state(&self, of: TypeId) -> Result<NoteState, StoreError> {
        Ok(Table::new(&self.db).load_state(of)?.unwrap_or_default())
    }

    /// The state of a type's note with this text. A note seen for the first time counts as current if it `holds`, otherwise as
    /// stale.
    pub fn note_state_for_text(
        &self,
        of: TypeId,
        text: &str,
        holds: bool,
        now: i64,
    ) -> Result<NoteState, StoreError> {
        let mut table = Table::new(&self.db);
        let note = Digest::of_bytes(text.as_bytes()).0;
        let mut state = table.load_state(of)?.unwrap_or_default();
        if table.note_digest(of)? != Some(note) {
            let note_now = if holds { NoteStatus::Cached } else { NoteStatus::Stale };
            let ground = if holds { table.note_ground(of)? } else { 0 };
            let last_change = state.last_change;
            state = NoteState { status: note_now, last_change, ground, ..NoteState::default() };
            self.write_best_effort(|table| {
                table.set_state(of, &state)?;
                table.set_note(of, note)?;
                table.mark_row_pending(of)
            });
        }
        state.apply_timeouts(now);
        Ok(state)
    }

    /// The types whose note is requested or being written, with their state.
    pub fn requested_notes(&self, now: i64) -> Result<Vec<(TypeId, NoteState)>, StoreError> {
        let mut all = Table::new(&self.db).all_states()?;
        for (_, state) in &mut all {
            state.apply_timeouts(now);
        }
        all.retain(|(_, state)| matches!(state.status, NoteStatus::Pending | NoteStatus::Generating));
        Ok(all)
    }

    /// The number of notes to be written: requested, being written or stale.
    pub fn queue_length(&self, now: i64) -> Result<u64, StoreError> {
        let mut all = Table::new(&self.db).all_states()?;
        for (_, state) in &mut all {
            state.apply_timeouts(now);
        }
        let waits = |state: &NoteState| !matches!(state.status, NoteStatus::None | NoteStatus::Cached);
        Ok(all.iter().filter(|(_, state)| waits(state)).count() as u64)
    }

    /// Applies a state transition and stores the state if `transition` returns true; returns the resulting state.
    pub fn update_note_state(
        &self,
        of: TypeId,
        now: i64,
        transition: impl Fn(&mut NoteState) -> bool,
    ) -> Result<NoteState, StoreError> {
        let mut state = Table::new(&self.db).load_state(of)?.unwrap_or_default();
        state.apply_timeouts(now);
        if transition(&mut state) {
            self.write_within(WRITE_TIMEOUT, |table| table.set_state(of, &state))?;
        }
        Ok(state)
    }

    /// Requests the note about a type; returns the resulting state.
    pub fn request_note(&self, of: TypeId, now: i64) -> Result<NoteState, StoreError> {
        self.update_note_state(of, now, |state| state.request_note(now))
    }

    /// Starts writing the note about a type, whether it was requested or not; returns the previous state.
    pub fn begin_note(&self, of: TypeId, now: i64) -> Result<NoteState, StoreError> {
        let mut before = self.note_state(of)?;
        before.apply_timeouts(now);
        self.update_note_state(of, now, |state| {
            // a person may have a current note rewritten
            state.status = NoteStatus::Pending;
            state.begin_writing(now)
        })?;
        Ok(before)
    }

    /// Writing failed: the note is requested again, unless it was current `before` and nothing has changed since.
    pub fn abandon_note(&self, of: TypeId, before: &NoteState, now: i64) -> Result<(), StoreError> {
        self.update_note_state(of, now, |state| {
            let was_written = state.status == NoteStatus::Generating;
            state.finish_writing(false);
            if was_written && before.status == NoteStatus::Cached {
                (state.status, state.at) = (NoteStatus::Cached, before.at);
            }
            was_written
        })
        .map(|_| ())
    }

    /// Stores a finished note, which was written for `base`. If something changed in the meantime, the note is stale at once:
    /// `holds` says whether the type itself is unchanged.
    pub fn finish_note(
        &self,
        of: TypeId,
        text: &str,
        base: &Baseline,
        holds: bool,
    ) -> Result<NoteState, StoreError> {
        let mut table = Table::new(&self.db);
        let mut state = table.load_state(of)?.unwrap_or_default();
        if state.status != NoteStatus::Stale {
            // the index may have been rebuilt since writing began
            state.status = NoteStatus::Generating;
        }
        state.finish_writing(true);
        if !holds {
            state.status = NoteStatus::Stale;
        }
        state.ground = if state.status == NoteStatus::Cached { table.note_ground(of)? } else { 0 };
        self.write_within(WRITE_TIMEOUT, |table| {
            table.set_state(of, &state)?;
            table.set_note(of, Digest::of_bytes(text.as_bytes()).0)?;
            table.store_baseline(of, base)?;
            table.mark_row_pending(of)
        })?;
        Ok(state)
    }

    /// The baseline of a type's note, if it is still known.
    pub fn baseline_of(&self, of: TypeId) -> Result<Option<Baseline>, StoreError> {
        Ok(Table::new(&self.db).load_baseline(of)?)
    }
}
