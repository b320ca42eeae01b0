//! Processes: the programs they become, limits and names. A process does not learn that its parent is gone, and has no limits
//! but those on time that its parent keeps.
//!
//! Does not know what the programs do.

use crate::ProcessLimits;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Not known; `None` at all times means that the parent never changes.
pub fn parent_id() -> Option<u32> {
    None
}

/// A command that the shell interprets.
pub fn shell_command(text: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut command = Command::new("cmd");
    command.arg("/C").raw_arg(text);
    command
}

/// A command that the shell interprets, with a path as its last argument.
pub fn shell_command_on(text: &str, path: &Path) -> Command {
    shell_command(&format!("{text} \"{}\"", path.display()))
}

/// Whether the shell would find a program of this name.
pub fn has_program(name: &str) -> std::io::Result<bool> {
    Ok(Command::new("where").arg("/Q").arg(name).status()?.success())
}

/// Runs another program and ends with its exit code. Returns only if it cannot be started.
pub fn replace_process(mut command: Command) -> Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Gives a command a process group of its own: a Ctrl-C in the console does not reach it.
pub fn detach_from_terminal(command: &mut Command) -> &mut Command {
    use std::os::windows::process::CommandExt;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP)
}

/// Nothing to do: no handle is inherited unless it was marked so.
pub fn leave_parent() {}

/// There are no limits that a process can put on itself.
pub fn limit_self(_limits: ProcessLimits) {}

/// There is no such limit.
pub fn limit_own_cpu(_seconds: u64) {}

/// A process cannot be asked to end, only be ended.
pub fn ask_to_end(_pid: u32) -> bool {
    false
}

/// The name of this machine.
/// There is no such limit.
pub fn fail_at_file_size_limit() -> std::io::Result<()> {
    Ok(())
}

pub fn host_name() -> String {
    let kind = winapi_util::sysinfo::ComputerNameKind::DnsHostname;
    winapi_util::sysinfo::get_computer_name(kind).unwrap_or_default().to_string_lossy().into_owned()
}

/// The file names that a program of this name can have.
pub fn program_names(name: &str) -> Vec<OsString> {
    ["", ".exe", ".cmd", ".bat"].iter().map(|ending| format!("{name}{ending}").into()).collect()
}

/// Ctrl-C in the console, and the request to end that a service manager sends.
#[derive(Debug)]
pub struct EndRequests(Arc<AtomicBool>);

/// How often a request is looked for: there is no thread that waits for signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl EndRequests {
    /// From here on such a request does not end the process.
    pub fn listen(_on_hangup: bool) -> std::io::Result<EndRequests> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(EndRequests(asked))
    }

    /// Calls `each` for every request, for as long as the process lives.
    pub fn for_each(self, mut each: impl FnMut()) {
        loop {
            if self.0.swap(false, Ordering::Relaxed) {
                each();
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
    }
}
