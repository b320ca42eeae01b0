//! How the notes about types stand: which was asked for, is being written, holds or is out of date, and what it was based on.
//!
//! Does not read notes: whoever has one hands over its text.

use super::{Store, StoreError};
use crate::note::Base;
use crate::note_state::{Note, State};
use crate::store::table::Table;
use std::time::Duration;
use syntax::{Digest, TypeId};

/// What somebody asked for, and what was paid for, is worth waiting for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Store {
    /// What has happened to a type since it was first seen.
    pub fn state(&self, of: TypeId) -> Result<State, StoreError> {
        Ok(Table::new(&self.db).state(of)?.unwrap_or_default())
    }

    /// What has happened to a type since a text was written about it. One that is seen for the first time is taken for true if
    /// it `holds`, and for out of date otherwise.
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

    /// Types whose note is asked for or being written, with when.
    pub fn asked_for(&self, now: i64) -> Result<Vec<(TypeId, State)>, StoreError> {
        let mut all = Table::new(&self.db).states()?;
        for (_, state) in &mut all {
            state.tick(now);
        }
        all.retain(|(_, state)| matches!(state.note, Note::Pending | Note::Generating));
        Ok(all)
    }

    /// Lets what is remembered of how a note stands go one step on, if it can; gives how it stands then.
    pub fn step(&self, of: TypeId, now: i64, step: impl Fn(&mut State) -> bool) -> Result<State, StoreError> {
        let mut state = Table::new(&self.db).state(of)?.unwrap_or_default();
        state.tick(now);
        if step(&mut state) {
            self.write_within(PATIENCE, |table| table.set_state(of, &state))?;
        }
        Ok(state)
    }

    /// Somebody wants the note about a type; gives how it stands now.
    pub fn ask_for_note(&self, of: TypeId, now: i64) -> Result<State, StoreError> {
        self.step(of, now, |state| state.ask(now))
    }

    /// Somebody begins to write the note about a type, whether it was asked for or not; gives how it stood before.
    pub fn begin_note(&self, of: TypeId, now: i64) -> Result<State, StoreError> {
        let mut before = self.state(of)?;
        before.tick(now);
        self.step(of, now, |state| {
            // what holds is written again where a person wants that
            state.note = Note::Pending;
            state.begin(now)
        })?;
        Ok(before)
    }

    /// It could not be written: it is asked for again, unless there is one that held `before` and that nothing has changed since.
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

    /// This text is the note about a type now, which was written for `base`. What has changed while it was written makes it stale at
    /// once: `holds` says whether the type itself still is what it was.
    pub fn end_note(&self, of: TypeId, text: &str, base: &Base, holds: bool) -> Result<State, StoreError> {
        let mut state = Table::new(&self.db).state(of)?.unwrap_or_default();
        if state.note != Note::Stale {
            // what is kept may have been made anew since it was begun
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

    /// What the note about a type was based on, as far as it is still known.
    pub fn base_of(&self, of: TypeId) -> Result<Option<Base>, StoreError> {
        Ok(Table::new(&self.db).base(of)?)
    }
}
