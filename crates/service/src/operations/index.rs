//! Brings the index up to date and reports the result.
//!
//! Does not know how transcripts are indexed: that is `ingest`.

use crate::{Service, memory_store};
use api::maintenance::{Index, Indexed};
use api::{Error, Handle};
use history::checked_stores::CheckedStores;
use history::error::{no_home, store_error};
use history::home::{Home, Lock};
use history::tombstones::Tombstones;
use history::{catalogue_cache, ingest, lost_places, standing_problems};
use record::Problem;
use std::path::Path;
use std::time::Instant;

impl Handle<Index> for Service {
    fn handle(&self, request: &Index) -> Result<Indexed, Error> {
        let started = Instant::now();
        let mut checked = CheckedStores::load(&self.home().ok_or_else(no_home)?, self.clock.now());
        let mut notes = Vec::new();
        if !request.rebuild {
            notes.extend(ingest::repair_stores(&self.history(), &mut checked)?);
        }
        let caught = ingest::catch_up(&self.history(), request.rebuild)?;
        notes.extend(caught.notes);
        let lock = Lock::acquire(&self.home().ok_or_else(no_home)?)?;
        self.check_databases(&lock, &mut checked)?;
        // An older memory that was put back may have what was forgotten since.
        let gone = Tombstones::read(self.home().as_ref())?;
        if !gone.is_empty()
            && let Some(home) = self.home()
        {
            // A damaged memory is a problem by now, and no reason to index nothing.
            let _ = memory_store::forget_returned_sessions(&home, &|source, id| gone.contains(source, id));
        }
        drop(lock);
        // A rebuild has moved catalogue and index.
        let home = self.home().ok_or_else(no_home)?;
        let mut done = Indexed {
            added: caught.added,
            changed: caught.changed,
            gone: caught.gone,
            bytes_read: caught.bytes,
            problems: caught.problems.iter().filter(|problem| problem.kind.is_loss()).count() as u64,
            notes,
            ..file_sizes(&home)
        };
        if let Some(reader) = catalogue_cache::open_catalogue(&self.history()) {
            (done.files, done.sessions, done.events) = reader.count_totals().map_err(store_error)?;
            let open = standing_problems::list_open(&home, self.clock.now())?;
            let shortened = history::shortened::list_problems(&reader, &open)?;
            done.problems += shortened.len() as u64;
            let named = |problem: Problem| format!("shortened: {} {}", problem.file.display(), problem.note);
            done.notes.extend(shortened.into_iter().map(named));
            // Also what earlier runs could not read: it is still missing.
            done.problems += lost_places::count_lost_places(&reader, &[])?;
        }
        checked.store();
        done.seconds = started.elapsed().as_secs_f64();
        Ok(done)
    }
}

/// Sizes of Loci's own files.
pub(crate) fn file_sizes(home: &Home) -> Indexed {
    let database = ["db", "db-wal"].map(|ending| size_of_path(&home.catalogue().with_extension(ending)));
    Indexed {
        index_bytes: size_of_path(&home.index()),
        catalogue_bytes: database.iter().sum(),
        archive_bytes: size_of_path(&home.archive()),
        ..Indexed::default()
    }
}

pub(crate) fn size_of_path(path: &Path) -> u64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size_of_path(&entry.path())).sum()
}
