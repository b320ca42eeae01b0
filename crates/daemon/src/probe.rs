//! Learns that every file event up to now has been handled: makes a file in a watched folder and waits for its event. The kernel reports
//! the events of one watcher in their order, so that all earlier ones have been handled then.
//!
//! Does not know what else is watched. Only Linux promises that order; elsewhere nothing is learned.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// An event takes a tenth of a millisecond. A machine that is busier than this has other worries than a list of files.
const LONGEST: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Probe {
    folder: PathBuf,
    last: AtomicU64,
    /// The highest number whose event has arrived.
    seen: Mutex<u64>,
    arrived: Condvar,
}

impl Probe {
    /// The folder is emptied: a daemon that was killed may have left files.
    pub(crate) fn new(folder: PathBuf) -> Probe {
        let _ = fs::remove_dir_all(&folder);
        let _ = fs::create_dir_all(&folder);
        Probe { folder, last: AtomicU64::new(0), seen: Mutex::default(), arrived: Condvar::new() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The daemon ends, and leaves nothing in the folder of its socket.
    pub(crate) fn remove_folder(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Takes an event in this folder; false for any other.
    pub(crate) fn take_event(&self, path: &Path) -> bool {
        if path.parent() != Some(&self.folder) {
            return path == self.folder;
        }
        if let Some(number) = path.file_name().and_then(|name| name.to_str()?.parse::<u64>().ok()) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen = (*seen).max(number);
            self.arrived.notify_all();
        }
        true
    }

    /// Waits until every event before this call has been handled; false if that is not known.
    pub(crate) fn wait(&self) -> bool {
        if !cfg!(target_os = "linux") {
            return false;
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let path = self.folder.join(number.to_string());
        if File::create(&path).is_err() {
            return false;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.arrived.wait_timeout_while(seen, LONGEST, |seen| *seen < number);
        let has_arrived = *waited.unwrap_or_else(PoisonError::into_inner).0 >= number;
        let _ = fs::remove_file(&path);
        has_arrived
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use notify::{RecursiveMode, Watcher};
    use std::sync::Arc;

    #[test]
    fn what_was_written_before_has_been_reported_afterwards() {
        let place = tempfile::tempdir().unwrap();
        let (history, changes) = (place.path().join("history"), Arc::new(AtomicU64::new(0)));
        fs::create_dir(&history).unwrap();
        let probe = Arc::new(Probe::new(place.path().join("probe")));
        let (counted, watching) = (Arc::clone(&changes), Arc::clone(&probe));
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            for path in event.unwrap().paths {
                if !watching.take_event(&path) {
                    // A slow handler must not make a difference.
                    std::thread::sleep(Duration::from_micros(300));
                    counted.fetch_add(1, Relaxed);
                }
            }
        })
        .unwrap();
        for folder in [probe.folder(), &history] {
            watcher.watch(folder, RecursiveMode::NonRecursive).unwrap();
        }
        for round in 0..50 {
            let before = changes.load(Relaxed);
            fs::write(history.join("a"), format!("{round}")).unwrap();
            if probe.wait() {
                assert!(changes.load(Relaxed) > before, "round {round}");
            }
        }
        assert!(probe.wait());
        assert_eq!(fs::read_dir(probe.folder()).unwrap().count(), 0);
    }

    #[test]
    fn without_a_watcher_nothing_is_learned() {
        let place = tempfile::tempdir().unwrap();
        assert!(!Probe::new(place.path().join("probe")).wait());
    }
}
