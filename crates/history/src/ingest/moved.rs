//! Detects moved transcripts, after a home directory was copied or a folder renamed: the archived copy from the old path
//! would duplicate every event.
//!
//! Does not trust names: the new copy must contain every record of the old one.

use super::Job;
use crate::freshness::{self, State};
use rustc_hash::FxHashMap;
use sources::Transcript;
use sources::archive::Store;

/// An archived copy whose transcript is gone, and a new transcript of the same name.
pub(super) struct Moved {
    pub(super) copy: Transcript,
    now: Transcript,
}

impl Moved {
    /// Whether the new copy contains all of the old one. Copies that cannot be compared are kept, and those of other devices: what is
    /// added there belongs to them.
    pub(super) fn is_contained(&self, store: &Store) -> bool {
        let name = sources::archive::transcript_name(&self.copy);
        let is_own = store.find_by_name(name).is_ok_and(|copy| copy.origin.is_none());
        is_own && store.is_contained(&self.copy.path, &store.path_of(&self.now)).unwrap_or(false)
    }
}

/// The copies whose session these jobs read from another path.
pub(super) fn find_moved(jobs: &[Job], copies: Vec<Transcript>) -> Vec<Moved> {
    let name =
        |transcript: &Transcript| (transcript.source, transcript.hint.clone(), transcript.part.clone());
    let new = |job: &Job| match job {
        Job::Read { transcript, state: State::New, .. } if !freshness::is_archived_copy(transcript) => {
            Some((name(transcript), transcript.clone()))
        }
        _ => None,
    };
    if copies.is_empty() {
        return Vec::new();
    }
    let new: FxHashMap<_, Transcript> = jobs.iter().filter_map(new).collect();
    let moved = |copy: Transcript| new.get(&name(&copy)).cloned().map(|now| Moved { copy, now });
    copies.into_iter().filter_map(moved).collect()
}
