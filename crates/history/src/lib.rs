//! Reads the transcripts that agents leave on disk and returns fresh records.
//!
//! From disk to record: [`scope`] selects transcripts, [`transcripts`] finds them, [`freshness`] compares them with the
//! catalogue, [`scan`] surveys the stale ones and joins copies, [`masked_read`] reads single records with their secrets masked, and
//! [`to_record`] fills the fields of a record. [`ingest`] brings archive, catalogue and text index up to date; [`unindexed`] reads
//! the part that the text index does not contain yet. [`saved_results`] stores responses that are too large to inline.
//!
//! Does not know operations, memory, models or source code, nor how records are printed.

pub mod archive_manifest;
pub mod call_summary;
pub mod catalogue_cache;
pub mod checked_stores;
pub mod coverage;
pub mod error;
pub mod event_ids;
pub mod excerpt;
pub mod file_calls;
mod file_system;
pub mod freshness;
pub mod guard;
pub mod home;
pub mod import;
pub mod ingest;
pub mod lost_places;
pub mod masked_read;
pub mod masker;
pub mod ordered_read;
pub mod outcome;
pub mod projects;
pub mod repository;
pub mod resolve_session;
pub mod saved_results;
pub mod scan;
pub mod scope;
pub mod search_text;
pub mod shared_messages;
pub mod shortened;
pub mod snapshot;
mod snapshot_cache;
pub mod standing_problems;
pub mod to_record;
pub mod tombstones;
pub mod transcripts;
pub mod unindexed;
mod watched_list;

pub use snapshot_cache::{CountChanges, SnapshotCache, SnapshotLease, open_snapshot};
pub use watched_list::WatchedList;

use api::{Error, Progress};
use home::Home;
use masker::LazyMasker;
use record::Clock;
use sources::Environment;
use std::path::Path;
use std::sync::OnceLock;

/// Everything that reading the history depends on, borrowed from the owner of a request and cheap to copy.
#[derive(Clone, Copy)]
pub struct History<'a> {
    pub places: &'a Environment,
    pub clock: Clock,
    /// The working directory: projects are given relative to it.
    pub cwd: &'a Path,
    pub threads: usize,
    /// Mask secrets. Off only for a person at a terminal who requested unmasked text.
    pub masked: bool,
    /// Progress and cancellation of a long read.
    pub progress: &'a Progress,
    /// Built on first use.
    pub masker: &'a OnceLock<LazyMasker>,
    pub forget_elsewhere: ForgetElsewhere,
    /// The list of transcripts, if their folders are watched.
    pub watched: Option<&'a WatchedList>,
    /// Archived copies to read beside the transcripts that they are of.
    pub also: &'a [sources::Transcript],
    /// The snapshot of the last search, if somebody counts the changes in those folders.
    pub snapshots: Option<&'a SnapshotCache>,
}

/// Removes sessions from stores that this crate does not know. Called with the writer lock held, before the sessions are
/// removed from archive, catalogue and index, so that an interrupted run starts again here.
pub type ForgetElsewhere = fn(&Home, &dyn Fn(&str, &str) -> bool) -> Result<(), Error>;

impl History<'_> {
    /// None without a home directory.
    pub fn home(&self) -> Option<Home> {
        Home::from_places(self.places)
    }
}
