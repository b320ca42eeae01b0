//! Leader election by a kernel lock: one process per data directory serves as the daemon. The kernel releases the lock
//! however the process ends.
//!
//! Does not know what serving means.

use crate::{Error, Holder, Place, client, ownership};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// The leader lock, held by the process that serves.
#[derive(Debug)]
pub struct Seat {
    file: File,
}

/// [`Holder::of`] takes the lock for a moment while it probes; acquiring retries for longer than a probe takes.
const TRIES: Duration = Duration::from_millis(400);

impl Seat {
    /// Takes the lock. Returns `None` if another process holds it.
    pub fn take(place: &Place, version: &str) -> Result<Option<Seat>, Error> {
        let mut file = open(place).map_err(Error::path(&place.lock))?;
        let until = Instant::now() + TRIES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(Error::path(&place.lock)(error)),
                Err(TryLockError::WouldBlock) if client::answers(place) || Instant::now() > until => {
                    return Ok(None);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        let own = Holder::for_this_process(version, place.socket.clone());
        let text = serde_json::to_string(&own).unwrap_or_default();
        // The text is informational: if the disk is full, the lock holds without it.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Some(Seat { file }))
    }

    /// Whether the lock file on disk is still the one this process locked. If the file was removed with its folder, the
    /// lock no longer keeps another process from serving.
    pub fn is_seen(&self, place: &Place) -> bool {
        let own = self.file.metadata().map(|meta| (meta.dev(), meta.ino()));
        let there = std::fs::metadata(&place.lock).map(|meta| (meta.dev(), meta.ino()));
        matches!((own, there), (Ok(own), Ok(there)) if own == there)
    }

    /// Releases the lock before the process has ended.
    pub fn leave(mut self) {
        let _ = self.file.set_len(0).and_then(|()| self.file.flush());
    }
}

fn open(place: &Place) -> std::io::Result<File> {
    if let Some(dir) = place.lock.parent() {
        ownership::create_private_dir(dir)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&place.lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dir: &std::path::Path) -> Place {
        Place { socket: dir.join("d.sock"), lock: dir.join("data/daemon.lock"), log: dir.join("d.log") }
    }

    #[test]
    fn one_process_holds_the_lock_and_identifies_itself() {
        let tmp = tempfile::tempdir().unwrap();
        let place = place(tmp.path());
        assert_eq!(Holder::of(&place), None);
        let lock = Seat::take(&place, "1.2.3").unwrap().unwrap();
        assert!(Seat::take(&place, "1.2.3").unwrap().is_none());
        let holder = Holder::of(&place).unwrap();
        assert_eq!((holder.pid, holder.version.as_str()), (std::process::id(), "1.2.3"));
        assert!(holder.is_running());
        assert!(lock.is_seen(&place));
        std::fs::remove_file(&place.lock).unwrap();
        let other = Seat::take(&place, "1.2.3").unwrap().unwrap();
        assert!(
            !lock.is_seen(&place) && other.is_seen(&place),
            "a second process leads: the first must exit"
        );
        lock.leave();
        other.leave();
        assert_eq!(Holder::of(&place), None);
        assert!(Seat::take(&place, "1.2.3").unwrap().is_some());
    }
}
