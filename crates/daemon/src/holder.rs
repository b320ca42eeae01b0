//! The process that holds the leader lock, as it describes itself in the lock file. A process is identified by its ID,
//! start time and boot, never by its ID alone.
//!
//! Does not take the lock.

use crate::RuntimePaths;
use serde::{Deserialize, Serialize};
use std::fs::{OpenOptions, TryLockError};
use std::io::Read;
use std::path::PathBuf;

/// The holder of the leader lock, written by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    pub pid: u32,
    /// Start time of the process in clock ticks since boot. A process ID is reused; the pair of ID and start time is not.
    pub started: u64,
    /// The boot ID of the machine when the process started.
    pub boot: String,
    pub version: String,
    pub socket: PathBuf,
}

impl Holder {
    /// Describes the current process.
    pub(crate) fn for_this_process(version: &str, socket: PathBuf) -> Holder {
        let pid = std::process::id();
        let started = process_start_time(pid).unwrap_or_default();
        Holder { pid, started, boot: boot_id(), version: version.to_string(), socket }
    }

    /// The process that holds the lock, or `None` if the lock is free.
    pub fn read_current(place: &RuntimePaths) -> Option<Holder> {
        let mut file = OpenOptions::new().read(true).open(&place.lock).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Whether the process with this ID is the one that wrote this record.
    pub fn is_running(&self) -> bool {
        self.boot == boot_id() && process_start_time(self.pid).is_some_and(|started| started == self.started)
    }

    /// Sends SIGTERM to the process. Returns false if the process is not the one that holds the lock.
    pub fn terminate(&self) -> bool {
        self.is_running() && os::processes::ask_to_end(self.pid)
    }
}

/// Field 22 of `/proc/<pid>/stat`. The process name before it may contain spaces and brackets. Other systems than Linux
/// have no such file; there, no process is ever mistaken for another.
fn process_start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ID was reused by another process, or the record was written before a reboot.
    #[test]
    fn a_process_that_only_shares_the_pid_is_not_signalled() {
        let own = Holder {
            pid: std::process::id(),
            started: process_start_time(std::process::id()).unwrap(),
            boot: boot_id(),
            ..Holder::default()
        };
        assert!(own.is_running());
        let other = Holder { started: own.started + 1, ..own.clone() };
        let before = Holder { boot: "another".into(), ..own.clone() };
        let gone = Holder { pid: 4_000_000, ..own };
        assert!([other, before, gone].iter().all(|holder| !holder.is_running() && !holder.terminate()));
    }
}
