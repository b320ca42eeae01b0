//! Keeps the snapshot of the last search open, for a process that watches the transcripts: listing ten thousand files and opening
//! catalogue and index takes longer than most searches.
//!
//! Does not watch: its owner counts the changes. A kept snapshot holds no read transaction, so that writers need not wait for it.

use crate::file_system::network_file_system;
use crate::snapshot::Snapshot;
use crate::{History, ingest, transcripts};
use api::Error;
use catalogue::Reader;
use sources::{FileStamp, SOURCES};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of changes so far in the folders of the transcripts, every change before the call included; `None` if that is not known.
pub type CountChanges = Box<dyn Fn() -> Option<u64> + Send + Sync>;

pub struct SnapshotCache {
    count_changes: CountChanges,
    kept: Mutex<Option<Kept>>,
    reused: AtomicU64,
}

struct Kept {
    snapshot: Snapshot,
    surroundings: Surroundings,
    /// The state of the catalogue, as its connection counts it.
    version: i64,
    read_at: Instant,
}

/// Kept no longer, in case that a file system reports a change to nobody.
const MAX_AGE: Duration = Duration::from_mins(1);

impl SnapshotCache {
    pub fn new(count_changes: CountChanges) -> SnapshotCache {
        SnapshotCache { count_changes, kept: Mutex::default(), reused: AtomicU64::new(0) }
    }

    /// How many requests were answered with a kept snapshot.
    pub fn reused(&self) -> u64 {
        self.reused.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is too old to be used: an open file that was deleted, such as a segment with a forgotten session, stays on the disk.
    pub fn close_expired(&self) {
        self.lock().take_if(|kept| kept.read_at.elapsed() >= MAX_AGE);
    }

    /// The kept snapshot if nothing has changed since it was read. Another request gets none until it is returned.
    fn take(&self, history: &History<'_>, now: &Surroundings) -> Option<Kept> {
        let kept = self.lock().take()?;
        (kept.surroundings == *now && kept.read_at.elapsed() < MAX_AGE && kept.resume(history))
            .then_some(kept)
    }
}

impl Kept {
    /// Begins to read again; false if the catalogue has changed.
    fn resume(&self, history: &History<'_>) -> bool {
        self.snapshot.reader.as_ref().is_some_and(|reader| {
            reader.begin_snapshot().is_ok()
                && reader.version().is_ok_and(|version| version == self.version)
                && ingest::is_forgetting_finished(history, reader)
        })
    }
}

/// What a snapshot depends on besides the catalogue.
#[derive(PartialEq)]
struct Surroundings {
    changes: u64,
    /// A rebuild switches to another one.
    catalogue: PathBuf,
    index: Option<FileStamp>,
    archive: i64,
    /// The places of the sources that exist: nobody watches one that does not.
    roots: Vec<PathBuf>,
}

impl Surroundings {
    fn look(history: &History<'_>, cache: &SnapshotCache) -> Option<Surroundings> {
        let home = history.home()?;
        let index = std::fs::metadata(home.index().join("meta.json"));
        let roots = SOURCES.iter().flat_map(|source| sources::source_roots(*source, history.places));
        Some(Surroundings {
            catalogue: home.catalogue(),
            index: index.ok().map(|meta| FileStamp::from_metadata(&meta)),
            archive: transcripts::archive_store(history)?.fingerprint(),
            roots: roots.filter(|root| root.exists()).collect(),
            // Last: it includes every change before the call.
            changes: (cache.count_changes)()?,
        })
    }
}

/// A snapshot that goes back into the cache when it is dropped.
pub struct SnapshotLease<'c> {
    snapshot: Option<Snapshot>,
    kept_in: Option<(&'c SnapshotCache, Surroundings, Instant)>,
}

impl Deref for SnapshotLease<'_> {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        self.snapshot.as_ref().expect("it is taken only when the lease is dropped")
    }
}

impl Drop for SnapshotLease<'_> {
    fn drop(&mut self) {
        let (Some(snapshot), Some((cache, surroundings, read_at))) =
            (self.snapshot.take(), self.kept_in.take())
        else {
            return;
        };
        let version = snapshot.reader.as_ref().and_then(end_reading);
        if let Some(version) = version {
            *cache.lock() = Some(Kept { snapshot, surroundings, version, read_at });
        }
    }
}

/// Ends the read transaction; returns the state of the catalogue that was read.
fn end_reading(reader: &Reader) -> Option<i64> {
    let version = reader.version().ok()?;
    reader.end_snapshot().ok()?;
    Some(version)
}

/// Opens a snapshot, or takes the kept one if nothing has changed.
pub fn open_snapshot<'h>(history: &History<'h>) -> Result<SnapshotLease<'h>, Error> {
    let cache = history.snapshots.filter(|_| history.masked);
    let Some((cache, now)) = cache.and_then(|cache| Some((cache, Surroundings::look(history, cache)?)))
    else {
        return Ok(SnapshotLease { snapshot: Some(Snapshot::open(history)?), kept_in: None });
    };
    if let Some(kept) = cache.take(history, &now) {
        cache.reused.fetch_add(1, Relaxed);
        let kept_in = Some((cache, now, kept.read_at));
        return Ok(SnapshotLease { snapshot: Some(kept.snapshot), kept_in });
    }
    let read_at = Instant::now();
    let snapshot = Snapshot::open(history)?;
    let is_kept = snapshot.is_enough() && !snapshot.found.has_links && !is_on_network(&now.roots);
    Ok(SnapshotLease { snapshot: Some(snapshot), kept_in: is_kept.then_some((cache, now, read_at)) })
}

/// A network file system does not report what other machines change.
fn is_on_network(roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| network_file_system(root).is_some())
}
