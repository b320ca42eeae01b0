//! A program's process group, and processes that have left the group but still descend from us.
//!
//! Does not know Windows.

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};
use std::io::Result;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};

/// A program without a usable exit status.
const NO_STATUS: i32 = 64;

#[derive(Debug)]
pub(crate) struct ProcessTree {
    program: Pid,
}

impl ProcessTree {
    /// Starts the program in a process group of its own, so that one signal reaches all processes that stay in it.
    pub(crate) fn start(command: &mut Command) -> Result<(ProcessTree, Option<ChildStdin>)> {
        become_subreaper();
        let mut child = command.stdin(Stdio::piped()).process_group(0).spawn()?;
        Ok((ProcessTree { program: Pid::from_child(&child) }, child.stdin.take()))
    }

    /// Waits for the program and for the orphans it left, which become our children. Calls `on_end` with the exit code of the
    /// program.
    pub(crate) fn wait_for_all(&self, on_end: &dyn Fn(i32)) {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.program => on_end(shell_exit_code(status)),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    pub(crate) fn ask_to_end(&self) {
        signal_tree(self.program, Signal::TERM);
    }

    pub(crate) fn kill(&self) {
        signal_tree(self.program, Signal::KILL);
    }
}

fn shell_exit_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(NO_STATUS)
}

/// Makes this process the subreaper: orphans below us become our children, so that none escapes.
#[cfg(target_os = "linux")]
fn become_subreaper() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// On other systems a process that leaves its group escapes.
#[cfg(not(target_os = "linux"))]
fn become_subreaper() {}

/// Sends a signal to the group and to all our descendants.
fn signal_tree(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
    for pid in descendants_of(rustix::process::getpid()) {
        let _ = kill_process(pid, signal);
    }
}

/// All descendants of a process, nearest first.
#[cfg(target_os = "linux")]
fn descendants_of(top: Pid) -> Vec<Pid> {
    let all = list_processes();
    let (mut found, mut at) = (vec![top], 0);
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

#[cfg(not(target_os = "linux"))]
fn descendants_of(_top: Pid) -> Vec<Pid> {
    Vec::new()
}

/// Every process with its parent.
#[cfg(target_os = "linux")]
fn list_processes() -> Vec<(Pid, Pid)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid: i32| Some((Pid::from_raw(pid)?, parent_of(pid)?))).collect()
}

/// The fourth field of `/proc/<pid>/stat`; the second is the name in brackets, which may contain anything.
#[cfg(target_os = "linux")]
fn parent_of(pid: i32) -> Option<Pid> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = line.iter().rposition(|byte| *byte == b')')? + 1;
    let words = std::str::from_utf8(&line[after..]).ok()?;
    Pid::from_raw(words.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_grandchild_in_its_own_session_is_still_a_descendant() {
        let script = "setsid sh -c 'sleep 300; :' & echo; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::null()).spawn().unwrap();
        let sleeping = |pid: &Pid| {
            let name =
                std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
            name == "sleep\n"
        };
        let found = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            let below = descendants_of(Pid::from_child(&child));
            below.iter().any(sleeping).then_some(below)
        });
        let found = found.expect("the sleeper descends from its great-grandparent");
        assert_eq!(found.len(), 2, "the shell of the session and its sleeper");
        for pid in found {
            kill_process(pid, Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }
}
