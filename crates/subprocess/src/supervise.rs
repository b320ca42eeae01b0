//! The supervisor process: our own binary, which runs another program and ends it together with all its descendants.
//!
//! Does not read the program's data: the program inherits the supervisor's output, and its input is passed on.

use crate::process_tree::ProcessTree;
use crate::{RunError, start_error};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command};
use std::sync::Arc;
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
    /// The program has ended, with this exit code.
    Ended(i32),
    /// None of its processes is left.
    NoneLeft,
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
    let (tree, stdin) = match ProcessTree::start(&mut command) {
        Ok((tree, stdin)) => (Arc::new(tree), stdin),
        Err(error) => return (CANNOT_START_EXIT, start_failure_message(&error)),
    };
    let (sender, heard) = channel();
    forward_input(input, stdin, sender.clone());
    let reaped = Arc::clone(&tree);
    std::thread::spawn(move || {
        reaped.wait_for_all(&|code| drop(sender.send(Event::Ended(code))));
        let _ = sender.send(Event::NoneLeft);
    });
    let until = Instant::now() + deadline + DEADLINE_MARGIN;
    (Supervised { parent, tree, events: heard, until }.wait_for_end(), String::new())
}

fn parse_args(mut args: impl Iterator<Item = OsString>) -> Option<(Duration, u32, Command)> {
    let deadline = args.next()?.to_str()?.parse().ok()?;
    let parent = args.next()?.to_str()?.parse().ok()?;
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

struct Supervised {
    parent: u32,
    tree: Arc<ProcessTree>,
    events: Receiver<Event>,
    until: Instant,
}

impl Supervised {
    /// Runs until the program has ended or must stop; then ends all remaining processes.
    fn wait_for_end(&self) -> i32 {
        let code = loop {
            match self.events.recv_timeout(CHECK_INTERVAL) {
                Ok(Event::Ended(code)) => break code,
                Ok(Event::NoneLeft) | Err(RecvTimeoutError::Disconnected) => return USAGE_EXIT,
                Ok(Event::InputClosed) => break self.terminate_tree(TIMEOUT_EXIT),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > self.until || is_orphaned(self.parent) {
                break self.terminate_tree(TIMEOUT_EXIT);
            }
        };
        self.kill_tree();
        code
    }

    fn terminate_tree(&self, code: i32) -> i32 {
        self.tree.ask_to_end();
        let until = Instant::now() + TERM_TIMEOUT;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.events.recv_timeout(left) {
                Ok(Event::Ended(_) | Event::NoneLeft) | Err(_) => break,
                Ok(Event::InputClosed) => {}
            }
        }
        code
    }

    /// Repeatedly, because a killed process may have started another just before.
    fn kill_tree(&self) {
        loop {
            self.tree.kill();
            match self.events.recv_timeout(KILL_INTERVAL) {
                Ok(Event::NoneLeft) | Err(RecvTimeoutError::Disconnected) => return,
                _ => {}
            }
        }
    }
}

/// Whether the process that started the supervisor is gone; not known on every system.
fn is_orphaned(parent: u32) -> bool {
    os::processes::parent_id().is_some_and(|now| now != parent)
}
