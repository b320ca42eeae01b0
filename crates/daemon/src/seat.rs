//! Who serves: one process, by a lock of the kernel's, which goes with it however it ends. What it writes into the lock's
//! file says who it is; nobody is taken for it by a process number alone.
//!
//! Does not know what serving is.

use crate::{Error, Place, client};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Held by the one that serves.
#[derive(Debug)]
pub struct Seat {
    file: File,
}

/// Who holds the seat, as it wrote itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    pub pid: u32,
    /// When the process started, in ticks since the machine did: a number is given to another process, both never are.
    pub started: u64,
    /// Which start of the machine that was.
    pub boot: String,
    pub version: String,
    pub socket: PathBuf,
}

/// Somebody who only looks holds the lock for a moment; whoever wants it tries as long as that may take.
const TRIES: Duration = Duration::from_millis(400);

impl Seat {
    /// None: another one serves, and answers.
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
        let own = Holder {
            pid: std::process::id(),
            started: started(std::process::id()).unwrap_or_default(),
            boot: boot(),
            version: version.to_string(),
            socket: place.socket.clone(),
        };
        let text = serde_json::to_string(&own).unwrap_or_default();
        // Only for those who look; on a full disk the lock holds without it.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Some(Seat { file }))
    }

    /// Whether the lock is still the one that others would try: where its file was taken away with its folder, nobody is
    /// kept from serving by it any more.
    pub fn is_seen(&self, place: &Place) -> bool {
        let own = self.file.metadata().map(|meta| (meta.dev(), meta.ino()));
        let there = std::fs::metadata(&place.lock).map(|meta| (meta.dev(), meta.ino()));
        matches!((own, there), (Ok(own), Ok(there)) if own == there)
    }

    /// Lets the next one have it before the process has ended.
    pub fn leave(mut self) {
        let _ = self.file.set_len(0).and_then(|()| self.file.flush());
    }
}

fn open(place: &Place) -> std::io::Result<File> {
    if let Some(dir) = place.lock.parent() {
        crate::socket::make_private(dir)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&place.lock)
}

impl Holder {
    /// Who serves, if anybody does.
    pub fn of(place: &Place) -> Option<Holder> {
        let mut file = OpenOptions::new().read(true).open(&place.lock).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Whether the process of that number is the one that wrote this.
    pub fn is_running(&self) -> bool {
        self.boot == boot() && started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Asks the process to end; false where it is not the one that holds the seat.
    pub fn end(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        let Some(pid) = pid.filter(|_| self.is_running()) else { return false };
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok()
    }
}

/// The 22nd field of `/proc/<pid>/stat`; the name before it may hold blanks and brackets. Elsewhere than on Linux
/// there is no such file, and a process is never taken for another's.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dir: &std::path::Path) -> Place {
        Place { socket: dir.join("d.sock"), lock: dir.join("data/daemon.lock"), log: dir.join("d.log") }
    }

    #[test]
    fn one_sits_at_a_time_and_says_who_it_is() {
        let tmp = tempfile::tempdir().unwrap();
        let place = place(tmp.path());
        assert_eq!(Holder::of(&place), None);
        let seat = Seat::take(&place, "1.2.3").unwrap().unwrap();
        assert!(Seat::take(&place, "1.2.3").unwrap().is_none());
        let holder = Holder::of(&place).unwrap();
        assert_eq!((holder.pid, holder.version.as_str()), (std::process::id(), "1.2.3"));
        assert!(holder.is_running());
        assert!(seat.is_seen(&place));
        std::fs::remove_file(&place.lock).unwrap();
        let other = Seat::take(&place, "1.2.3").unwrap().unwrap();
        assert!(!seat.is_seen(&place) && other.is_seen(&place), "a second one sat down: the first must go");
        seat.leave();
        other.leave();
        assert_eq!(Holder::of(&place), None);
        assert!(Seat::take(&place, "1.2.3").unwrap().is_some());
    }

    /// A number that went to another process, or was written before the machine started again.
    #[test]
    fn nobody_is_ended_for_having_a_number() {
        let own = Holder {
            pid: std::process::id(),
            started: started(std::process::id()).unwrap(),
            boot: boot(),
            ..Holder::default()
        };
        assert!(own.is_running());
        let other = Holder { started: own.started + 1, ..own.clone() };
        let before = Holder { boot: "another".into(), ..own.clone() };
        let gone = Holder { pid: 4_000_000, ..own };
        assert!([other, before, gone].iter().all(|holder| !holder.is_running() && !holder.end()));
    }
}
