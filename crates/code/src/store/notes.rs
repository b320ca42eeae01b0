//! Stores the state of notes: requested, being written, current or stale, and their baselines.
//!
//! Does not read notes: the caller passes their text.

use super::{Store, StoreError};
use crate::note::Base;
use crate::note_state::{Note, State};
use crate::store::table::Table;
use std::time::Duration;
use syntax::{Digest, TypeId};

/// A request by a person, or a result that was paid for, is worth waiting for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Store {
    /// The note state of a type.
    pub fn state(&self, of: TypeId) -> Result<State, StoreError> {
        Ok(Table::new(&self.db).state(of)?.unwrap_or_default())
    }

    /// The state of a type's note with this text. A note seen for the first time counts as current if it `holds`, otherwise as
    /// stale.
    pub fn since(&self, of: TypeId, text: &str, holds: bool, now: i64) -> Result<State, StoreError> {
        let mut table = Table::new(&self.db);
        let note = Digest::of(text.as_bytes()).0;
        let mut state = table.state(of)?.unwrap_or_default();
        if table.note_of(of)? != Some(note) {
            let note_now = if holds { Note::Cached } else { Note::Stale };
            state = State { note: note_now, changed: state.changed, ..State::default() };
            self.scribble(|table| {
                table.set_state(of, &state)?;
                table.set_note(of, note)
            });
        }
        state.tick(now);
        Ok(state)
    }

    /// The types whose note is requested or being written, with their state.
    pub fn asked_for(&self, now: i64) -> Result<Vec<(TypeId, State)>, StoreError> {
        let mut all = Table::new(&self.db).states()?;
        for (_, state) in &mut all {
            state.tick(now);
        }
        all.retain(|(_, state)| matches!(state.note, Note::Pending | Note::Generating));
        Ok(all)
    }

    /// Applies a state transition and stores the state if `transition` returns true; returns the resulting state.
    pub fn step(
        &self,
        of: TypeId,
        now: i64,
        transition: impl Fn(&mut State) -> bool,
    ) -> Result<State, StoreError> {
        let mut state = Table::new(&self.db).state(of)?.unwrap_or_default();
        state.tick(now);
        if transition(&mut state) {
            self.write_within(PATIENCE, |table| table.set_state(of, &state))?;
        }
        Ok(state)
    }

    /// Requests the note about a type; returns the resulting state.
    pub fn ask_for_note(&self, of: TypeId, now: i64) -> Result<State, StoreError> {
        self.step(of, now, |state| state.ask(now))
    }

    /// Starts writing the note about a type, whether it was requested or not; returns the previous state.
    pub fn begin_note(&self, of: TypeId, now: i64) -> Result<State, StoreError> {
        let mut before = self.state(of)?;
        before.tick(now);
        self.step(of, now, |state| {
            // a person may have a current note rewritten
            state.note = Note::Pending;
            state.begin(now)
        })?;
        Ok(before)
    }

    /// Writing failed: the note is requested again, unless it was current `before` and nothing has changed since.
    pub fn give_up_note(&self, of: TypeId, before: &State, now: i64) -> Result<(), StoreError> {
        self.step(of, now, |state| {
            let was_written = state.note == Note::Generating;
            state.end(false);
            if was_written && before.note == Note::Cached {
                (state.note, state.at) = (Note::Cached, before.at);
            }
            was_written
        })
        .map(|_| ())
    }

    /// Stores a finished note, which was written for `base`. If something changed in the meantime, the note is stale at once:
    /// `holds` says whether the type itself is unchanged.
    pub fn end_note(&self, of: TypeId, text: &str, base: &Base, holds: bool) -> Result<State, StoreError> {
        let mut state = Table::new(&self.db).state(of)?.unwrap_or_default();
        if state.note != Note::Stale {
            // the index may have been rebuilt since writing began
            state.note = Note::Generating;
        }
        state.end(true);
        if !holds {
            state.note = Note::Stale;
        }
        self.write_within(PATIENCE, |table| {
            table.set_state(of, &state)?;
            table.set_note(of, Digest::of(text.as_bytes()).0)?;
            table.set_base(of, base)
        })?;
        Ok(state)
    }

    /// The baseline of a type's note, if it is still known.
    pub fn base_of(&self, of: TypeId) -> Result<Option<Base>, StoreError> {
        Ok(Table::new(&self.db).base(of)?)
    }
}
