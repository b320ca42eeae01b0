//! The archive during an update: opened and repaired, synced to disk, and cleared of forgotten sessions.
//!
//! Does not write copies; the readers of transcripts do.

use super::{Ingest, UpdateReport};
use crate::error::{newer_store, store_error};
use crate::home::{self, Home, Lock};
use crate::{archive_manifest, freshness, shortened, standing_problems};
use api::{Code, Error};
use catalogue::Writer;
use record::{Problem, ProblemKind};
use rustc_hash::FxHashSet;
use sources::Transcript;
use sources::archive::{self, ArchivedTranscript, LostCopy, Store};
use std::path::PathBuf;

/// Meta key: the catalogue sequence up to which the archive has been synced to disk. 0 lets the next update look for every
/// copy.
const SYNCED: &str = "settled";
/// Meta key: the state in which archive and list were compared last.
const COMPARED: &str = "compared";

pub(super) fn archive_error(error: &sources::Error) -> Error {
    match error {
        sources::Error::Io { path, .. } | sources::Error::Database { path, .. } if error.is_disk_full() => {
            home::disk_full(path)
        }
        sources::Error::Newer { .. } => newer_store(error),
        _ => Error::new(Code::ReadError, error.to_string()),
    }
}

/// Opens the archive, removes what killed writers have left, and moves small copies of earlier versions into its database.
pub(super) fn open_store(home: &Home, catalogue: &Writer, caught: &mut UpdateReport) -> Result<Store, Error> {
    let store = Store::new(home.archive());
    store.remove_temporary_files();
    match store.pack_small_files() {
        Ok(_) => {}
        Err(error) if error.is_damaged_database() => {
            let note = store.repair().map_err(|error| archive_error(&error))?;
            catalogue.set_meta(SYNCED, 0).map_err(store_error)?;
            caught.notes.extend(note);
        }
        // Without the archive, a transcript would count as indexed and be lost when its agent deletes it.
        Err(error @ sources::Error::Newer { .. }) => return Err(archive_error(&error)),
        Err(error) if error.is_disk_full() => return Err(archive_error(&error)),
        Err(error) => {
            let (kind, file) = (ProblemKind::Unreadable, home.archive());
            caught.problems.push(Problem { kind, file, offset: 0, note: error.to_string() });
        }
    }
    Ok(store)
}

/// Repairs the database of small copies if it is damaged, and lets the next update archive again what was lost and can
/// still be read. Returns what was done.
pub(super) fn repair_store(home: &Home) -> Result<Option<String>, Error> {
    let repaired = Store::new(home.archive()).repair().map_err(|error| archive_error(&error))?;
    if repaired.is_some() && home.catalogue().exists() {
        // A damaged catalogue is rebuilt, which archives everything again.
        if let Ok(catalogue) = Writer::open(&home.catalogue(), &[]) {
            catalogue.set_meta(SYNCED, 0).map_err(store_error)?;
        }
    }
    Ok(repaired)
}

impl Ingest<'_> {
    /// Removes sessions from the archive; a copy with no other session is deleted.
    pub(super) fn forget_copies(&self, doomed: &dyn Fn(&str, &str) -> bool) -> Result<u64, Error> {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        self.store.for_each_archived(&mut |copy| {
            if let Ok(copy) = copy
                && copy.sessions.iter().any(|session| doomed(&copy.source, &session.session_id))
            {
                found.push((copy.source, copy.path));
            }
        });
        // A copy that is lost must not be named by its session either.
        let is_doomed = |copy: &LostCopy| doomed(&copy.source, &copy.session_id);
        self.store.unlist_lost(&is_doomed).map_err(|error| archive_error(&error))?;
        for (source, path) in &found {
            let is = |session: &record::Session| doomed(source, &session.session_id);
            self.store.forget_sessions(path, &is).map_err(|error| archive_error(&error))?;
        }
        Ok(found.len() as u64)
    }

    /// If archive and list are not as the last update left them, or something was lost then: finds what was lost, to be archived again where the transcript is
    /// still there, and lists copies that a killed process or a round of sync has stored.
    pub(super) fn compare_with_list(&mut self, home: &Home) -> Result<(), Error> {
        let known = self.catalogue.reader().meta_value(COMPARED).map_err(store_error)?;
        let open = standing_problems::list_open(home, self.history.clock.now())?;
        let is_whole = open.iter().all(|one| one.kind != standing_problems::LOST_COPY);
        if is_whole && known == Some(self.store.state_number()) {
            self.is_compared = true;
            return Ok(());
        }
        // An archive that cannot be read now is a problem already, and nothing of it is lost: see `open_store`.
        let Ok(lost) = self.store.lost_copies() else { return Ok(()) };
        let added = self.store.list_unlisted().map_err(|error| archive_error(&error))?;
        let is_forgotten = |source: &str, id: &str| self.tombstones.contains(source, id);
        // An older archive that was put back may have what was forgotten since.
        let has_returned = |copy: &ArchivedTranscript| {
            copy.sessions.iter().any(|session| is_forgotten(&copy.source, &session.session_id))
        };
        if added.iter().any(has_returned) {
            self.forget_copies(&is_forgotten)?;
        }
        (self.lost, self.is_compared) = (Some(lost), true);
        Ok(())
    }

    /// Whether the copy of a transcript was lost, or has less than it had.
    pub(super) fn is_lost(&self, transcript: &Transcript) -> bool {
        let lost = self.lost.as_deref().unwrap_or_default();
        let name = || archive::transcript_name(transcript);
        // Sorted by name.
        !lost.is_empty() && lost.binary_search_by_key(&name(), |copy| copy.name).is_ok()
    }

    /// What is still lost after everything that can be read was archived stands as a problem from now on; and so does what
    /// transcripts have lost.
    pub(super) fn record_losses(&mut self, home: &Home, lock: &Lock) -> Result<(), Error> {
        let now = self.history.clock.now();
        if let Some(lost) = self.lost.take() {
            let left = self.store.settle_lost(lost).map_err(|error| archive_error(&error))?;
            let (gone, less): (Vec<_>, Vec<_>) = archive_manifest::to_problems(&left, now)
                .into_iter()
                .partition(|one| one.kind == standing_problems::LOST_COPY);
            // What has less than it had is an event: the list has what it has from now on.
            less.into_iter().try_for_each(|one| standing_problems::raise(home, lock, one))?;
            standing_problems::set_found(home, lock, standing_problems::LOST_COPY, gone, now)?;
        }
        let shortened = shortened::list_standing(self.catalogue.reader(), now)?;
        standing_problems::set_found(home, lock, standing_problems::SHORTENED, shortened, now)
    }

    /// What this update itself has changed needs no comparison.
    pub(super) fn remember_list(&self) -> Result<(), Error> {
        if !self.is_compared {
            return Ok(());
        }
        self.catalogue.set_meta(COMPARED, self.store.state_number()).map_err(store_error)
    }

    /// Waits until the copies are on the disk. Without new ones, only erases what an interrupted run has removed.
    pub(super) fn sync_archive(&mut self) -> Result<(), Error> {
        let sequence = self.catalogue.sequence();
        if self.synced_sequence()? == sequence {
            return self.store.erase_removed().map_err(|error| archive_error(&error));
        }
        self.store.sync_to_disk().map_err(|error| archive_error(&error))?;
        self.catalogue.set_meta(SYNCED, sequence as i64).map_err(store_error)
    }

    fn synced_sequence(&self) -> Result<u64, Error> {
        Ok(self.catalogue.reader().meta_value(SYNCED).map_err(store_error)?.unwrap_or(0) as u64)
    }

    /// Transcripts whose copies a power failure or damage may have destroyed: archived, but not synced to disk.
    pub(super) fn unsynced_files(&self) -> Result<FxHashSet<u32>, Error> {
        let since = self.catalogue.ids_since(self.synced_sequence()?).map_err(store_error)?;
        Ok(since.into_iter().collect())
    }

    pub(super) fn has_readable_copy(&self, transcript: &Transcript) -> bool {
        freshness::is_archived_copy(transcript) || matches!(self.store.find_copy(transcript), Ok(Some(_)))
    }
}
