//! The supervisor process: our own binary, which runs another program and ends it together with all its descendants.
//!
//! Does not read the program's data: the program inherits the supervisor's output, and its input is passed on.

use crate::{RunError, process_tree, start_error};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getppid, wait};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The hidden command that runs the binary as supervisor. Arguments: deadline in milliseconds, parent process ID, the program
/// and its arguments.
pub const COMMAND: &str = "internal-supervise";

/// The supervisor's own exit codes, as `timeout` and `env` number them. The program may use the same codes: the first counts
/// only after the deadline, the second only together with the supervisor's own message.
pub(crate) const TIMEOUT_EXIT: i32 = 124;
const CANNOT_START_EXIT: i32 = 125;
const USAGE_EXIT: i32 = 64;
/// Prefix of the supervisor's own messages.
const MARK: &str = "\u{1}supervisor: ";
const MISSING: &str = "no such program";

/// How often the supervisor checks the deadline and its parent.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How often it sends SIGKILL while a process is left.
const KILL_INTERVAL: Duration = Duration::from_millis(10);
/// How long processes may take to end after SIGTERM. With checks every tenth of a second, all are gone well within a second.
const TERM_TIMEOUT: Duration = Duration::from_millis(500);
/// Our parent enforces the deadline. If the parent itself is stopped, the program gets this much longer.
const DEADLINE_MARGIN: Duration = Duration::from_secs(1);

/// Events the supervisor waits for.
enum Event {
    Ended(Pid, WaitStatus),
    NoChildren,
    /// The input was closed.
    InputClosed,
}

/// Runs the program given by the arguments. Returns the exit code and a message for standard error.
pub fn run_supervisor(
    args: impl Iterator<Item = OsString>,
    input: impl Read + Send + 'static,
) -> (i32, String) {
    let Some((deadline, parent, mut command)) = parse_args(args) else {
        return (USAGE_EXIT, "this command is internal to loci".to_string());
    };
    process_tree::become_subreaper();
    // A process group of its own, so that one signal reaches all processes that stay in it.
    let mut child = match command.stdin(Stdio::piped()).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => return (CANNOT_START_EXIT, start_failure_message(&error)),
    };
    let (sender, heard) = channel();
    forward_input(input, child.stdin.take(), sender.clone());
    std::thread::spawn(move || reap_children(&sender));
    let program = Pid::from_child(&child);
    (
        Supervised { parent, program, events: heard, until: Instant::now() + deadline + DEADLINE_MARGIN }
            .wait_for_end(),
        String::new(),
    )
}

fn parse_args(mut args: impl Iterator<Item = OsString>) -> Option<(Duration, Pid, Command)> {
    let deadline = args.next()?.to_str()?.parse().ok()?;
    let parent = Pid::from_raw(args.next()?.to_str()?.parse().ok()?)?;
    let mut command = Command::new(args.next()?);
    command.args(args);
    Some((Duration::from_millis(deadline), parent, command))
}

fn start_failure_message(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{MARK}{MISSING}"),
        _ => format!("{MARK}{error}"),
    }
}

/// Interprets the supervisor's exit for the process that started it.
pub(crate) fn interpret_exit(status: Option<i32>, stderr: &[u8], program: &Path) -> Result<i32, RunError> {
    let status = status.ok_or(RunError::SupervisorKilled)?;
    let words = std::str::from_utf8(stderr).unwrap_or_default();
    match words.strip_prefix(MARK).map(str::trim) {
        Some(MISSING) if status == CANNOT_START_EXIT => Err(RunError::NotFound(program.to_path_buf())),
        Some(reason) if status == CANNOT_START_EXIT => Err(start_error(program, reason)),
        _ => Ok(status),
    }
}

/// Reads the whole input at once, so that closing the pipe is noticed, and passes it on as the program reads it.
fn forward_input(pipe: impl Read + Send + 'static, program: Option<ChildStdin>, sender: Sender<Event>) {
    let (send, input) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut length = String::new();
        let _ = pipe.read_line(&mut length);
        let mut text = Vec::new();
        let _ = pipe.by_ref().take(length.trim().parse().unwrap_or(0)).read_to_end(&mut text);
        let _ = send.send(text);
        let _ = pipe.read(&mut [0]);
        let _ = sender.send(Event::InputClosed);
    });
    std::thread::spawn(move || {
        // A program that does not read its input closes it; the error is ignored.
        let _ = program.zip(input.recv().ok()).map(|(mut program, text)| program.write_all(&text));
    });
}

/// Waits for the program and for the orphans it left, which become our children.
fn reap_children(sender: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => _ = sender.send(Event::Ended(pid, status)),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => {
                let _ = sender.send(Event::NoChildren);
                return;
            }
        }
    }
}

struct Supervised {
    parent: Pid,
    program: Pid,
    events: Receiver<Event>,
    until: Instant,
}

impl Supervised {
    /// Runs until the program has ended or must stop; then ends all remaining processes.
    fn wait_for_end(&self) -> i32 {
        let code = loop {
            match self.events.recv_timeout(CHECK_INTERVAL) {
                Ok(Event::Ended(pid, status)) if pid == self.program => break shell_exit_code(status),
                Ok(Event::NoChildren) | Err(RecvTimeoutError::Disconnected) => return USAGE_EXIT,
                Ok(Event::InputClosed) => break self.terminate_tree(TIMEOUT_EXIT),
                Ok(Event::Ended(..)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > self.until || getppid() != Some(self.parent) {
                break self.terminate_tree(TIMEOUT_EXIT);
            }
        };
        self.kill_tree();
        code
    }

    fn terminate_tree(&self, code: i32) -> i32 {
        process_tree::signal_tree(self.program, Signal::TERM);
        let until = Instant::now() + TERM_TIMEOUT;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.events.recv_timeout(left) {
                Ok(Event::Ended(pid, _)) if pid == self.program => break,
                Ok(Event::NoChildren) | Err(_) => break,
                Ok(_) => {}
            }
        }
        code
    }

    /// Repeatedly, because a killed process may have started another just before.
    fn kill_tree(&self) {
        loop {
            process_tree::signal_tree(self.program, Signal::KILL);
            match self.events.recv_timeout(KILL_INTERVAL) {
                Ok(Event::NoChildren) | Err(RecvTimeoutError::Disconnected) => return,
                _ => {}
            }
        }
    }
}

fn shell_exit_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(USAGE_EXIT)
}
