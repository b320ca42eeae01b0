//! The list of transcripts, kept while somebody watches their folders: looking at ten thousand files again for every key that is typed
//! takes longer than a search.
//!
//! Does not watch: its owner says when something has changed.

use sources::walk::TranscriptList;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct WatchedList(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// 0 until the folders are watched; then it grows with every change.
    changes: u64,
    list: Option<(Instant, TranscriptList)>,
}

/// Kept no longer: some file systems report no changes, and a folder that was deleted and made again may not be watched.
const MAX_AGE: Duration = Duration::from_secs(5);

impl WatchedList {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something may have changed. The first call says that the folders are watched from now on.
    pub fn mark_changed(&self) {
        let mut kept = self.lock();
        kept.changes += 1;
        kept.list = None;
    }

    /// The kept list, or that which `read` returns.
    pub(crate) fn get_or_read(&self, read: impl FnOnce() -> TranscriptList) -> TranscriptList {
        let before = {
            let kept = self.lock();
            if let Some((read_at, list)) = &kept.list
                && read_at.elapsed() < MAX_AGE
            {
                return list.clone();
            }
            kept.changes
        };
        let list = read();
        let mut kept = self.lock();
        // What changed while the list was read may be missing from it.
        if before > 0 && kept.changes == before {
            kept.list = Some((Instant::now(), list.clone()));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_only_while_nothing_changes() {
        let (watched, mut reads) = (WatchedList::default(), 0);
        let mut read = |watched: &WatchedList| {
            watched.get_or_read(|| {
                reads += 1;
                TranscriptList { skipped: reads, ..TranscriptList::default() }
            });
            reads
        };
        assert_eq!((read(&watched), read(&watched)), (1, 2), "nobody watches yet");
        watched.mark_changed();
        assert_eq!((read(&watched), read(&watched)), (3, 3));
        watched.mark_changed();
        assert_eq!(read(&watched), 4);
        watched.mark_changed();
        watched.get_or_read(|| {
            watched.mark_changed();
            TranscriptList::default()
        });
        assert_eq!(read(&watched), 5, "it changed while it was read");
    }
}
