//! What has happened and is not dealt with yet. Any number of events become a few words: the history moved, this tree
//! moved, folders came or went.
//!
//! Does not know where an event came from.

use crate::watch::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A line is often followed by another; a few of them are read at once.
const HISTORY_QUIET: Duration = Duration::from_millis(250);
/// Editors and compilers write in bursts.
const CODE_QUIET: Duration = Duration::from_millis(800);
/// A tree that is written without a pause is looked at nevertheless.
const CODE_PATIENCE: Duration = Duration::from_secs(10);

/// More than anybody makes; beyond it a folder is found by the next look at everything.
const YOUNG: usize = 1000;

#[derive(Debug)]
struct Pending {
    history: Option<Instant>,
    /// Each tree with its first and its latest event.
    code: BTreeMap<PathBuf, (Instant, Instant)>,
    folders: bool,
    /// Folders that came lately, which may be empty yet.
    young: BTreeSet<PathBuf>,
    /// A folder came or went in this tree: what is in it is known once the tree has been read.
    regrown: BTreeSet<PathBuf>,
    stop: bool,
    /// When the history moved last.
    active: Instant,
}

#[derive(Debug)]
pub(crate) struct Events {
    pending: Mutex<Pending>,
    bell: Condvar,
}

/// What is to be done now.
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
            young: BTreeSet::new(),
            regrown: BTreeSet::new(),
            stop: false,
            active: Instant::now(),
        };
        Events { pending: Mutex::new(pending), bell: Condvar::new() }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn moved(&self, kind: &Kind) {
        let (mut pending, now) = (self.pending(), Instant::now());
        match kind {
            Kind::History => {
                pending.history.get_or_insert(now);
                pending.active = now;
            }
            Kind::Code(root) => pending.code.entry(root.clone()).or_insert((now, now)).1 = now,
        }
        self.bell.notify_one();
    }

    /// Somebody should look, though nothing was seen to move: no sign that anybody is at work.
    pub(crate) fn moved_unseen(&self, kind: &Kind) {
        let active = self.pending().active;
        self.moved(kind);
        self.pending().active = active;
    }

    /// Folders came or went, or nobody knows which.
    pub(crate) fn rearranged(&self) {
        self.pending().folders = true;
        self.bell.notify_one();
    }

    /// A folder came where something is watched. One of the history is watched at once: its first transcript may come a
    /// moment, or an hour, later.
    pub(crate) fn came(&self, path: &Path, kind: &Kind) {
        let mut pending = self.pending();
        match kind {
            Kind::History if pending.young.len() < YOUNG => drop(pending.young.insert(path.to_path_buf())),
            Kind::History => {}
            Kind::Code(root) => drop(pending.regrown.insert(root.clone())),
        }
        pending.folders |= *kind == Kind::History;
        self.bell.notify_one();
    }

    /// The folders that came and still are there.
    pub(crate) fn young(&self) -> Vec<PathBuf> {
        let mut pending = self.pending();
        pending.young.retain(|path| path.is_dir());
        pending.young.iter().cloned().collect()
    }

    /// Whether folders came or went in a tree that has been read meanwhile.
    pub(crate) fn regrown(&self, root: &Path) -> bool {
        self.pending().regrown.remove(root)
    }

    pub(crate) fn stop(&self) {
        self.pending().stop = true;
        self.bell.notify_one();
    }

    /// How long the history has been quiet.
    pub(crate) fn quiet(&self) -> Duration {
        self.pending().active.elapsed()
    }

    /// Waits until something is due, at most so long. The history is not due before `history_from`.
    pub(crate) fn next(&self, longest: Duration, history_from: Instant) -> Due {
        let until = Instant::now() + longest;
        let mut pending = self.pending();
        loop {
            let now = Instant::now();
            let (due, at) = pending.due(now, history_from);
            if due != Due::Nothing || now >= until {
                return due;
            }
            let wake = at.map_or(until, |at| at.min(until)).saturating_duration_since(now);
            let waited = self.bell.wait_timeout(pending, wake.max(Duration::from_millis(1)));
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Pending {
    /// What is due now; else when something will be.
    fn due(&mut self, now: Instant, history_from: Instant) -> (Due, Option<Instant>) {
        if self.stop {
            return (Due::Stop, None);
        }
        if std::mem::take(&mut self.folders) {
            return (Due::Folders, None);
        }
        let history = self.history.map(|first| (first + HISTORY_QUIET).max(history_from));
        if history.is_some_and(|at| at <= now) {
            self.history = None;
            return (Due::History, None);
        }
        let ripe = |(first, latest): (Instant, Instant)| (latest + CODE_QUIET).min(first + CODE_PATIENCE);
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
        assert_eq!(events.next(long, now()), Due::Folders);
        for _ in 0..1000 {
            events.moved(&Kind::History);
            events.moved(&Kind::Code("/a".into()));
        }
        assert_eq!(events.next(long, now()), Due::History);
        assert_eq!(events.next(long, now()), Due::Code("/a".into()));
        assert_eq!(events.next(Duration::from_millis(1), now()), Due::Nothing);
        events.stop();
        assert_eq!(events.next(long, now()), Due::Stop);
    }

    #[test]
    fn the_history_waits_for_its_turn() {
        let events = Events::new();
        events.next(Duration::ZERO, now());
        events.moved(&Kind::History);
        let from = now() + Duration::from_millis(600);
        assert_eq!(events.next(Duration::from_millis(300), from), Due::Nothing);
        assert_eq!(events.next(Duration::from_secs(9), from), Due::History);
        assert!(now() >= from);
    }
}
