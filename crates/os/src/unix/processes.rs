//! Processes: their parents, the programs they become, limits and names. Does not know what they do.

use crate::ProcessLimits;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The process that started this one, or the one that took its place.
pub fn parent_id() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// A command that the shell interprets.
pub fn shell_command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}

/// A command that the shell interprets, with a path as its last argument.
pub fn shell_command_on(text: &str, path: &Path) -> Command {
    let mut command = shell_command(&format!("{text} \"$1\""));
    command.arg("sh").arg(path);
    command
}

/// Whether the shell would find a program of this name.
pub fn has_program(name: &str) -> std::io::Result<bool> {
    let mut command = shell_command("command -v -- \"$1\" >/dev/null");
    Ok(command.args(["sh", name]).status()?.success())
}

/// Becomes another program. Returns only if that fails.
pub fn replace_process(mut command: Command) -> Error {
    command.exec()
}

/// Gives a command a process group of its own: a Ctrl-C in the terminal does not reach it.
pub fn detach_from_terminal(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Leaves the terminal and closes the files that were inherited from the parent. Otherwise a script that waits for the end of
/// its pipe, or for a lock released with its file, would wait as long as this process runs. Call it before anything is opened.
pub fn leave_parent() {
    // Fails if this process already leads a process group; then it needs no new session.
    let _ = rustix::process::setsid();
    let Ok(open) = std::fs::read_dir("/dev/fd") else { return };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    // Collect first: the directory being read has a descriptor too, closed at the end of the iteration.
    let numbers: Vec<i32> = open.flatten().filter_map(number).filter(|number| *number > 2).collect();
    for number in numbers {
        // Fails only if the descriptor is closed already.
        let _ = nix::unistd::close(number);
    }
}

/// Limits this process for the rest of its life; where the system can, it also dies with its parent.
pub fn limit_self(limits: ProcessLimits) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let limit = |resource, n| {
        let _ = setrlimit(resource, Rlimit { current: Some(n), maximum: Some(n) });
    };
    limit(Resource::As, limits.memory);
    limit(Resource::Core, 0);
    limit(Resource::Nofile, limits.open_files);
    limit(Resource::Fsize, 0);
    limit(Resource::Nproc, 0);
}

/// Ends this process when it has used this much time of a processor.
pub fn limit_own_cpu(seconds: u64) {
    let _ = setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: None });
}

/// Asks a process to end. False if there is none, or it belongs to somebody else.
pub fn ask_to_end(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The file names that a program of this name can have.
pub fn program_names(name: &str) -> Vec<OsString> {
    vec![name.into()]
}

/// A file that grows beyond the limit of this process (`RLIMIT_FSIZE`) is an error of the write, not the end of the process.
/// A handler, not `SIG_IGN`: programs that this process starts do not inherit it.
pub fn fail_at_file_size_limit() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(|_| ())
}

/// The signals that ask this process to end.
#[derive(Debug)]
pub struct EndRequests(Signals);

impl EndRequests {
    /// From here on such a signal does not end the process. `on_hangup`: a closed terminal counts, too.
    pub fn listen(on_hangup: bool) -> std::io::Result<EndRequests> {
        let signals = Signals::new([SIGTERM, SIGINT])?;
        if on_hangup {
            signals.add_signal(SIGHUP)?;
        }
        Ok(EndRequests(signals))
    }

    /// Calls `each` for every signal, for as long as the process lives.
    pub fn for_each(mut self, mut each: impl FnMut()) {
        self.0.forever().for_each(|_| each());
    }
}
