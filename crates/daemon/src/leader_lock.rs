//! Leader election by a kernel lock: one process per data directory serves as the daemon. The kernel releases the lock
//! however the process ends.
//!
//! Does not know what serving means.

use crate::{Error, Holder, RuntimePaths, client, ownership};
use os::files::{OpenOptionsExt, identity, open_identity};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::time::{Duration, Instant};

/// The leader lock, held by the process that serves.
#[derive(Debug)]
pub struct LeaderLock {
    file: File,
}

/// [`Holder::read_current`] takes the lock for a moment while it probes; acquiring retries for longer than a probe takes.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(400);

impl LeaderLock {
    /// Takes the lock. Returns `None` if another process holds it.
    pub fn acquire(place: &RuntimePaths, version: &str) -> Result<Option<LeaderLock>, Error> {
        let mut file = open_lock_file(place).map_err(Error::at_path(&place.lock))?;
        let until = Instant::now() + ACQUIRE_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(Error::at_path(&place.lock)(error)),
                Err(TryLockError::WouldBlock)
                    if client::is_daemon_responding(place) || Instant::now() > until =>
                {
                    return Ok(None);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        let own = Holder::for_this_process(version, place.socket.clone());
        let text = serde_json::to_string(&own).unwrap_or_default();
        // The text is informational: if the disk is full, the lock holds without it.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Some(LeaderLock { file }))
    }

    /// Whether the lock file on disk is still the one this process locked. If the file was removed with its folder, the
    /// lock no longer keeps another process from serving.
    pub fn is_current(&self, place: &RuntimePaths) -> bool {
        let own = open_identity(&self.file);
        let there = std::fs::metadata(&place.lock).and_then(|meta| identity(&place.lock, &meta));
        matches!((own, there), (Ok(own), Ok(there)) if own == there)
    }

    /// Releases the lock before the process has ended.
    pub fn release(mut self) {
        let _ = self.file.set_len(0).and_then(|()| self.file.flush());
    }
}

fn open_lock_file(place: &RuntimePaths) -> std::io::Result<File> {
    if let Some(dir) = place.lock.parent() {
        ownership::create_private_dir(dir)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&place.lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_paths(dir: &std::path::Path) -> RuntimePaths {
        RuntimePaths {
            socket: dir.join("d.sock"),
            lock: dir.join("data/daemon.lock"),
            log: dir.join("d.log"),
        }
    }

    #[test]
    fn one_process_holds_the_lock_and_identifies_itself() {
        let tmp = tempfile::tempdir().unwrap();
        let place = test_paths(tmp.path());
        assert_eq!(Holder::read_current(&place), None);
        let lock = LeaderLock::acquire(&place, "1.2.3").unwrap().unwrap();
        assert!(LeaderLock::acquire(&place, "1.2.3").unwrap().is_none());
        let holder = Holder::read_current(&place).unwrap();
        assert_eq!((holder.pid, holder.version.as_str()), (std::process::id(), "1.2.3"));
        assert!(holder.is_running());
        assert!(lock.is_current(&place));
        std::fs::remove_file(&place.lock).unwrap();
        let other = LeaderLock::acquire(&place, "1.2.3").unwrap().unwrap();
        assert!(
            !lock.is_current(&place) && other.is_current(&place),
            "a second process leads: the first must exit"
        );
        lock.release();
        other.release();
        assert_eq!(Holder::read_current(&place), None);
        assert!(LeaderLock::acquire(&place, "1.2.3").unwrap().is_some());
    }
}
