//! Edits that a crash left between before and after: names them, and finishes or rolls them back, only when that is asked for.
//!
//! Does not know how a transaction runs.

use super::{Applied, Journal, JournalEntry, JournalState, applied};
use crate::error::EditError;
use crate::interrupted::Interrupted;
use crate::transaction::{Direction, replace_file};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::Error as IoError;
use std::path::PathBuf;

/// The file that names the edit that is being written. It stays when the process ends first.
const RUNNING: &str = "running";

#[derive(Serialize, Deserialize)]
struct Running {
    id: String,
    root: PathBuf,
}

impl Journal {
    /// The journal in `folder` of an edit that was interrupted, of whichever tree.
    pub fn of_interrupted(folder: &std::path::Path) -> Option<Journal> {
        let running: Running = serde_json::from_slice(&std::fs::read(folder.join(RUNNING)).ok()?).ok()?;
        Some(Journal::new(&running.root, folder))
    }

    /// The edit that a crash left unfinished; `None` also while it is being written. Writes nothing. Without such an edit it costs one
    /// failed `open`.
    pub fn interrupted(&self) -> Option<Interrupted> {
        let entry = {
            let file = File::open(self.folder.join(RUNNING)).is_ok().then(|| self.folder.join("lock"))?;
            let lock = File::open(file).ok()?;
            if matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
                return None;
            }
            self.unfinished()?
        };
        Some(self.describe(&entry))
    }

    fn unfinished(&self) -> Option<JournalEntry> {
        let running: Running =
            serde_json::from_slice(&std::fs::read(self.folder.join(RUNNING)).ok()?).ok()?;
        let entry = std::fs::read(self.entry_path(&running.id)).ok()?;
        let entry: JournalEntry = serde_json::from_slice(&entry).ok()?;
        (!matches!(entry.state, JournalState::Applied | JournalState::Undone)).then_some(entry)
    }

    fn describe(&self, entry: &JournalEntry) -> Interrupted {
        let is_undo = matches!(entry.state, JournalState::Unstaging | JournalState::Undoing);
        let direction = if is_undo { Direction::Undo } else { Direction::Apply };
        Interrupted {
            id: entry.id.clone(),
            title: entry.title.clone(),
            root: self.root.clone(),
            is_undo,
            written: self.disk().count_at_goal(&entry.files, direction),
            files: entry.files.len(),
            temporary: self.disk().count_staged(&entry.files),
        }
    }

    // ---- marking

    pub(super) fn mark_running(&self, id: &str) -> Result<(), IoError> {
        let running = Running { id: id.to_owned(), root: self.root.clone() };
        let bytes = serde_json::to_vec(&running).map_err(IoError::other)?;
        replace_file(&self.folder.join(RUNNING), &bytes, super::PRIVATE)
    }

    /// The edit that was running is at rest. A marker that stays names an entry at rest, which counts as none.
    pub(super) fn clear_running(&self) {
        let _ = std::fs::remove_file(self.folder.join(RUNNING));
    }

    // ---- finishing and rolling back

    /// Finishes applying an edit that was interrupted, or brings back what was being undone; `None` if it was not interrupted.
    pub fn finish(&self, id: &str) -> Result<Option<Applied>, EditError> {
        if self.unfinished().is_none() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        self.resume(id, Direction::Apply)
    }

    /// Brings the interrupted edit `id` to where `wanted` leads. `None`: there is none, or it had not written a file. Another
    /// interrupted edit is an error: its files are not written by a command that does not name it.
    pub(super) fn resume(&self, id: &str, wanted: Direction) -> Result<Option<Applied>, EditError> {
        let Some(mut entry) = self.unfinished() else { return Ok(None) };
        let is_named = entry.id == id;
        let running = match entry.state {
            JournalState::Staging => {
                self.disk().remove_staged(&entry.files);
                self.drop_entry(&entry.id);
                self.clear_running();
                return Ok((is_named && wanted == Direction::Undo).then(|| applied(&entry)));
            }
            JournalState::Unstaging => {
                self.disk().remove_staged(&entry.files);
                self.rest(&mut entry, JournalState::Applied)?;
                return Ok((is_named && wanted == Direction::Apply).then(|| applied(&entry)));
            }
            JournalState::Applying => Direction::Apply,
            JournalState::Undoing => Direction::Undo,
            JournalState::Applied | JournalState::Undone => return Ok(None),
        };
        if !is_named {
            return Err(EditError::Interrupted(Box::new(self.describe(&entry))));
        }
        if running == wanted {
            self.complete(&mut entry, running)?;
            return Ok(Some(applied(&entry)));
        }
        let left = self.roll_back(&entry, running);
        if let Some(error) = left.error {
            return Err(EditError::NotRolledBack { paths: left.failed, error });
        }
        // what someone else wrote since stays, and the edit ends: it could never be rolled back wholly
        self.end_rolled_back(&mut entry, running)?;
        Ok(Some(Applied { kept: left.foreign, ..applied(&entry) }))
    }

    fn complete(&self, entry: &mut JournalEntry, direction: Direction) -> Result<(), EditError> {
        let blocked = self.disk().find_blocked(&entry.files, direction);
        if !blocked.is_empty() {
            return Err(EditError::CannotFinish { paths: blocked, way_out: Box::new(self.describe(entry)) });
        }
        let done = self.disk().complete(&entry.files, direction, &entry.id);
        done.map_err(|error| EditError::io(&entry.id, error))?;
        self.disk().remove_staged(&entry.files);
        self.rest(entry, direction.done())
    }

    fn rest(&self, entry: &mut JournalEntry, state: JournalState) -> Result<(), EditError> {
        entry.state = state;
        self.write_entry(entry).map_err(|error| EditError::io(&entry.id, error))?;
        self.clear_running();
        Ok(())
    }
}
