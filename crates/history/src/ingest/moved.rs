//! Which transcripts stand at another place than before, because a home was copied or a folder renamed: what was kept
//! of them at the old place would tell everything a second time.
//!
//! Does not believe names: the copy that is made of the new one must hold every record of the old one.

use super::Job;
use crate::freshness::{self, State};
use rustc_hash::FxHashMap;
use sources::Transcript;
use sources::archive::Store;

/// A copy whose transcript is gone, and one of the same name that was met for the first time.
pub(super) struct Moved {
    pub(super) copy: Transcript,
    now: Transcript,
}

impl Moved {
    /// Whether what is kept of the new one holds all of the old copy. What cannot be compared stays.
    pub(super) fn is_told(&self, store: &Store) -> bool {
        store.is_within(&self.copy.path, &store.path_of(&self.now)).unwrap_or(false)
    }
}

/// Those among the copies whose session is read from another place in these jobs.
pub(super) fn among(jobs: &[Job], copies: Vec<Transcript>) -> Vec<Moved> {
    let name =
        |transcript: &Transcript| (transcript.source, transcript.hint.clone(), transcript.part.clone());
    let met = |job: &Job| match job {
        Job::Read { transcript, state: State::New, .. } if !freshness::is_kept(transcript) => {
            Some((name(transcript), transcript.clone()))
        }
        _ => None,
    };
    if copies.is_empty() {
        return Vec::new();
    }
    let met: FxHashMap<_, Transcript> = jobs.iter().filter_map(met).collect();
    let moved = |copy: Transcript| met.get(&name(&copy)).cloned().map(|now| Moved { copy, now });
    copies.into_iter().filter_map(moved).collect()
}
