//! Pending file events, coalesced: any number of them become "the history changed", "this source tree changed" or
//! "folders appeared or disappeared".
//!
//! Does not know where an event came from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Transcripts grow line by line; waiting this long reads several lines at once.
const HISTORY_QUIET: Duration = Duration::from_millis(250);
/// Editors and compilers write in bursts; a tree is handled once it has been quiet for this long.
const CODE_QUIET: Duration = Duration::from_millis(800);
/// A tree that is written to without a pause is handled after this time nevertheless.
const CODE_MAX_DELAY: Duration = Duration::from_secs(10);

/// Far more than appear in practice. Folders beyond this limit are found by the next full scan.
const MAX_NEW_FOLDERS: usize = 1000;

/// What a watched folder belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderKind {
    History,
    /// The source tree with this root.
    Code(PathBuf),
}

#[derive(Debug)]
struct Pending {
    history: Option<Instant>,
    /// Each changed tree with the time of its first and its latest event.
    code: BTreeMap<PathBuf, (Instant, Instant)>,
    folders: bool,
    /// Recently created folders, which may still be empty.
    new_folders: BTreeSet<PathBuf>,
    /// Trees in which a folder appeared or disappeared. Their folders are known once the tree has been indexed again.
    changed_trees: BTreeSet<PathBuf>,
    stop: bool,
    /// When the history last changed.
    last_active: Instant,
    /// How often the history has changed.
    history_changes: u64,
    /// Whether the last scan found that every folder of the history is watched.
    is_settled: bool,
}

#[derive(Debug)]
pub(crate) struct Events {
    pending: Mutex<Pending>,
    wakeup: Condvar,
}

/// The work to do now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Folders,
    History,
    Code(PathBuf),
    Nothing,
    Stop,
}

impl Events {
    pub(crate) fn new() -> Events {
        let pending = Pending {
            history: None,
            code: BTreeMap::new(),
            folders: true,
            new_folders: BTreeSet::new(),
            changed_trees: BTreeSet::new(),
            stop: false,
            last_active: Instant::now(),
            history_changes: 0,
            is_settled: false,
        };
        Events { pending: Mutex::new(pending), wakeup: Condvar::new() }
    }

    fn lock_pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record_change(&self, kind: &FolderKind) {
        let (mut pending, now) = (self.lock_pending(), Instant::now());
        match kind {
            FolderKind::History => {
                pending.history.get_or_insert(now);
                pending.last_active = now;
                pending.history_changes += 1;
            }
            FolderKind::Code(root) => pending.code.entry(root.clone()).or_insert((now, now)).1 = now,
        }
        self.wakeup.notify_one();
    }

    /// Requests a check of folders that are not watched. Unlike an event, this is not a sign of activity.
    pub(crate) fn record_polled_change(&self, kind: &FolderKind) {
        let active = self.lock_pending().last_active;
        self.record_change(kind);
        self.lock_pending().last_active = active;
    }

    /// Folders appeared or disappeared, or events were lost: requests a full scan for folders to watch.
    pub(crate) fn request_folder_scan(&self) {
        self.lock_pending().folders = true;
        self.wakeup.notify_one();
    }

    /// A folder appeared in a watched folder. A history folder is watched at once: its first transcript may follow a
    /// moment or an hour later.
    pub(crate) fn record_new_folder(&self, path: &Path, kind: &FolderKind) {
        let mut pending = self.lock_pending();
        match kind {
            FolderKind::History if pending.new_folders.len() < MAX_NEW_FOLDERS => {
                pending.new_folders.insert(path.to_path_buf());
            }
            FolderKind::History => {}
            FolderKind::Code(root) => {
                pending.changed_trees.insert(root.clone());
            }
        }
        pending.folders |= *kind == FolderKind::History;
        self.wakeup.notify_one();
    }

    /// A scan for folders has ended. `is_complete`: it found no folder that was not watched before, and all are watched now.
    pub(crate) fn finish_folder_scan(&self, is_complete: bool) {
        let mut pending = self.lock_pending();
        pending.history_changes += 1;
        pending.is_settled = is_complete;
    }

    /// How often the history has changed; `None` while a folder of it may not be watched.
    pub(crate) fn settled_changes(&self) -> Option<u64> {
        let pending = self.lock_pending();
        (pending.is_settled && !pending.folders).then_some(pending.history_changes)
    }

    /// The recently created folders that still exist.
    pub(crate) fn existing_new_folders(&self) -> Vec<PathBuf> {
        let mut pending = self.lock_pending();
        pending.new_folders.retain(|path| path.is_dir());
        pending.new_folders.iter().cloned().collect()
    }

    /// Whether folders appeared or disappeared in a tree that has been indexed since. Resets the flag.
    pub(crate) fn take_tree_changed(&self, root: &Path) -> bool {
        self.lock_pending().changed_trees.remove(root)
    }

    pub(crate) fn stop(&self) {
        self.lock_pending().stop = true;
        self.wakeup.notify_one();
    }

    /// How long the history has been unchanged.
    pub(crate) fn quiet_time(&self) -> Duration {
        self.lock_pending().last_active.elapsed()
    }

    /// Waits until something is due, at most for `longest`. The history is not due before `history_from`.
    pub(crate) fn wait_next(&self, longest: Duration, history_from: Instant) -> Due {
        let until = Instant::now() + longest;
        let mut pending = self.lock_pending();
        loop {
            let now = Instant::now();
            let (due, at) = pending.take_due(now, history_from);
            if due != Due::Nothing || now >= until {
                return due;
            }
            let wake = at.map_or(until, |at| at.min(until)).saturating_duration_since(now);
            let waited = self.wakeup.wait_timeout(pending, wake.max(Duration::from_millis(1)));
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Pending {
    /// Takes the work that is due now, or returns the time at which some will be.
    fn take_due(&mut self, now: Instant, history_from: Instant) -> (Due, Option<Instant>) {
        if self.stop {
            return (Due::Stop, None);
        }
        if std::mem::take(&mut self.folders) {
            self.is_settled = false;
            return (Due::Folders, None);
        }
        let history = self.history.map(|first| (first + HISTORY_QUIET).max(history_from));
        if history.is_some_and(|at| at <= now) {
            self.history = None;
            return (Due::History, None);
        }
        let ripe = |(first, latest): (Instant, Instant)| (latest + CODE_QUIET).min(first + CODE_MAX_DELAY);
        let code =
            self.code.iter().min_by_key(|(_, times)| ripe(**times)).map(|(root, t)| (root.clone(), ripe(*t)));
        match code {
            Some((root, at)) if at <= now => {
                self.code.remove(&root);
                (Due::Code(root), None)
            }
            code => (Due::Nothing, history.into_iter().chain(code.map(|(_, at)| at)).min()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn many_events_are_one_piece_of_work() {
        let events = Events::new();
        let long = Duration::from_secs(5);
        assert_eq!(events.wait_next(long, now()), Due::Folders);
        for _ in 0..1000 {
            events.record_change(&FolderKind::History);
            events.record_change(&FolderKind::Code("/a".into()));
        }
        assert_eq!(events.wait_next(long, now()), Due::History);
        assert_eq!(events.wait_next(long, now()), Due::Code("/a".into()));
        assert_eq!(events.wait_next(Duration::from_millis(1), now()), Due::Nothing);
        events.stop();
        assert_eq!(events.wait_next(long, now()), Due::Stop);
    }

    #[test]
    fn history_work_respects_its_pause() {
        let events = Events::new();
        events.wait_next(Duration::ZERO, now());
        events.record_change(&FolderKind::History);
        let from = now() + Duration::from_millis(600);
        assert_eq!(events.wait_next(Duration::from_millis(300), from), Due::Nothing);
        assert_eq!(events.wait_next(Duration::from_secs(9), from), Due::History);
        assert!(now() >= from);
    }
}
