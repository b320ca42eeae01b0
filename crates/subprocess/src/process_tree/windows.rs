//! A program and its descendants, which `taskkill` finds by their parents: one whose parent has ended escapes.
//!
//! Does not know process groups.

use std::io::Result;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A program without a usable exit status.
const NO_STATUS: i32 = 64;
/// How often the end of the program is looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(crate) struct ProcessTree {
    program: Mutex<Child>,
}

impl ProcessTree {
    pub(crate) fn start(command: &mut Command) -> Result<(ProcessTree, Option<ChildStdin>)> {
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        Ok((ProcessTree { program: Mutex::new(child) }, stdin))
    }

    /// Waits for the program. Calls `on_end` with its exit code.
    pub(crate) fn wait_for_all(&self, on_end: &dyn Fn(i32)) {
        loop {
            let ended = self.program.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            match ended {
                Ok(None) => std::thread::sleep(CHECK_INTERVAL),
                Ok(Some(status)) => return on_end(status.code().unwrap_or(NO_STATUS)),
                Err(_) => return on_end(NO_STATUS),
            }
        }
    }

    /// A program cannot be asked.
    pub(crate) fn ask_to_end(&self) {
        self.kill();
    }

    pub(crate) fn kill(&self) {
        let pid = self.program.lock().unwrap_or_else(PoisonError::into_inner).id().to_string();
        let mut command = Command::new("taskkill");
        command.args(["/T", "/F", "/PID", &pid]).stdin(Stdio::null()).stdout(Stdio::null());
        let _ = command.stderr(Stdio::null()).status();
        let _ = self.program.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
}
