//! Tells a process that stays open, such as the browser, of changed folders and of signals that ask it to end.
//!
//! Does not know what changed, nor how the process ends.

use crate::Error;
use notify::event::{CreateKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use os::processes::EndRequests;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Folders beyond the kernel's watch limit are assumed to change this often.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Calls `on_signal` when the process is asked to end.
pub fn watch_signals(on_signal: impl Fn() + Send + 'static) -> Result<(), Error> {
    let requests = EndRequests::listen(true).map_err(Error::Thread)?;
    spawn("signals", move || requests.for_each(on_signal))
}

/// Calls `on_change` once, and then when something in the folders changes, until it returns false. Lists the folders again when one is added.
pub fn watch_folders(
    list: impl Fn() -> Vec<PathBuf> + Send + 'static,
    on_change: impl Fn() -> bool + Send + 'static,
) -> Result<(), Error> {
    spawn("watch", move || {
        let (sender, events) = mpsc::channel();
        let Ok(watcher) = notify::recommended_watcher(sender) else { return poll(&on_change) };
        let mut folders = Folders { watcher, watched: BTreeSet::new(), is_complete: true };
        folders.watch(list());
        // What changed before the folders were watched is reported at once.
        while on_change() && folders.wait(&events, &list) {}
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    std::thread::Builder::new().name(name.to_string()).spawn(work).map(drop).map_err(Error::Thread)
}

/// Without a watcher of the kernel.
fn poll(on_change: &impl Fn() -> bool) {
    while on_change() {
        std::thread::sleep(POLL_INTERVAL);
    }
}

struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    /// Whether the kernel watches all of them.
    is_complete: bool,
}

impl Folders {
    fn watch(&mut self, folders: Vec<PathBuf>) {
        for folder in folders {
            if self.watched.contains(&folder) {
                continue;
            }
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.watched.insert(folder)),
                Err(_) => self.is_complete &= !folder.is_dir(),
            }
        }
    }

    /// Waits for a change. Returns false if there is nothing to wait for any more.
    fn wait(&mut self, events: &Receiver<notify::Result<Event>>, list: &impl Fn() -> Vec<PathBuf>) -> bool {
        loop {
            let event = match self.next(events) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            };
            if adds_folder(&event) {
                self.watch(list());
            }
            // Our own reads cause access events, too.
            if !matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
                return true;
            }
        }
    }

    fn next(
        &self,
        events: &Receiver<notify::Result<Event>>,
    ) -> Result<notify::Result<Event>, RecvTimeoutError> {
        if self.is_complete {
            return events.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        events.recv_timeout(POLL_INTERVAL)
    }
}

/// Whether there may be folders that are not watched yet: one was added, or events were lost.
fn adds_folder(event: &notify::Result<Event>) -> bool {
    let Ok(event) = event else { return true };
    let is_new = matches!(
        event.kind,
        EventKind::Create(CreateKind::Folder | CreateKind::Any) | EventKind::Modify(ModifyKind::Name(_))
    );
    event.need_rescan() || (is_new && event.paths.iter().any(|path| path.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_and_a_file_in_a_new_folder_are_noticed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_path_buf();
        let (sender, changes) = mpsc::channel();
        let listed = path.clone();
        let list = move || {
            let inner = std::fs::read_dir(&listed).unwrap().map(|entry| entry.unwrap().path());
            inner.filter(|path| path.is_dir()).chain([listed.clone()]).collect()
        };
        watch_folders(list, move || sender.send(()).is_ok()).unwrap();
        // The watcher starts on its own thread: write until it notices.
        let is_noticed = |write: &dyn Fn()| {
            (0..600).any(|_| {
                write();
                changes.recv_timeout(Duration::from_millis(100)).is_ok()
            })
        };
        while changes.recv_timeout(Duration::from_secs(1)).is_ok() {}
        assert!(is_noticed(&|| std::fs::write(path.join("a"), "x").unwrap()));
        std::fs::create_dir(path.join("new")).unwrap();
        while changes.recv_timeout(Duration::from_millis(500)).is_ok() {}
        assert!(is_noticed(&|| std::fs::write(path.join("new/b"), "x").unwrap()));
    }
}
