//! The guard's side: this program again, with another program below it, which it ends together with everything that came of it.
//!
//! Does not look at what passes through: the program has the guard's own output, and its input is handed on.

use crate::{Failed, cannot_start, descent};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getppid, wait};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The hidden command under which the binary becomes the guard: milliseconds, who started it, the program and its arguments.
pub const COMMAND: &str = "internal-ward";

/// What the guard itself has to say, as `timeout` and `env` number it. The program may use the same: the first counts only
/// after the deadline, the second only beside the guard's own words.
pub(crate) const TOO_LONG: i32 = 124;
const CANNOT_START: i32 = 125;
const MISUSED: i32 = 64;
/// Begins the guard's own words.
const MARK: &str = "\u{1}ward: ";
const MISSING: &str = "no such program";

/// How often the guard looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// How often it kills while something is left.
const KILL: Duration = Duration::from_millis(10);
/// How long what is asked to end may take. With a look of a tenth, everything is gone well within a second.
const GRACE: Duration = Duration::from_millis(500);
/// Whoever started us keeps the time; a program of one who was stopped himself gets this much longer.
const MARGIN: Duration = Duration::from_secs(1);

/// What the guard hears of.
enum Heard {
    Ended(Pid, WaitStatus),
    NobodyLeft,
    /// The line was cut.
    CalledOff,
}

/// Runs what the arguments name. Returns the exit code and what to complain of.
pub fn guard(args: impl Iterator<Item = OsString>, line: impl Read + Send + 'static) -> (i32, String) {
    let Some((deadline, parent, mut command)) = understood(args) else {
        return (MISUSED, "this command is for Loci itself".to_string());
    };
    descent::adopt();
    // A group of its own, so that all that stays in it is reached at once.
    let mut child = match command.stdin(Stdio::piped()).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => return (CANNOT_START, complaint(&error)),
    };
    let (tell, heard) = channel();
    listen(line, child.stdin.take(), tell.clone());
    std::thread::spawn(move || reap(&tell));
    let program = Pid::from_child(&child);
    (Guard { parent, program, heard, until: Instant::now() + deadline + MARGIN }.watch(), String::new())
}

fn understood(mut args: impl Iterator<Item = OsString>) -> Option<(Duration, Pid, Command)> {
    let deadline = args.next()?.to_str()?.parse().ok()?;
    let parent = Pid::from_raw(args.next()?.to_str()?.parse().ok()?)?;
    let mut command = Command::new(args.next()?);
    command.args(args);
    Some((Duration::from_millis(deadline), parent, command))
}

fn complaint(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{MARK}{MISSING}"),
        _ => format!("{MARK}{error}"),
    }
}

/// What the guard's end means to who started it.
pub(crate) fn told(status: Option<i32>, stderr: &[u8], program: &Path) -> Result<i32, Failed> {
    let status = status.ok_or(Failed::Unguarded)?;
    let words = std::str::from_utf8(stderr).unwrap_or_default();
    match words.strip_prefix(MARK).map(str::trim) {
        Some(MISSING) if status == CANNOT_START => Err(Failed::NotFound(program.to_path_buf())),
        Some(reason) if status == CANNOT_START => Err(cannot_start(program, reason)),
        _ => Ok(status),
    }
}

/// Takes the input at once, so that the line is free to be cut, and hands it on as the program reads it.
fn listen(line: impl Read + Send + 'static, program: Option<ChildStdin>, tell: Sender<Heard>) {
    let (send, input) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut line = BufReader::new(line);
        let mut length = String::new();
        let _ = line.read_line(&mut length);
        let mut text = Vec::new();
        let _ = line.by_ref().take(length.trim().parse().unwrap_or(0)).read_to_end(&mut text);
        let _ = send.send(text);
        let _ = line.read(&mut [0]);
        let _ = tell.send(Heard::CalledOff);
    });
    std::thread::spawn(move || {
        // A program that does not want its input closes it.
        let _ = program.zip(input.recv().ok()).map(|(mut program, text)| program.write_all(&text));
    });
}

/// Waits for whoever ends: the program, and what it left behind, which comes to us.
fn reap(tell: &Sender<Heard>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => _ = tell.send(Heard::Ended(pid, status)),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => {
                let _ = tell.send(Heard::NobodyLeft);
                return;
            }
        }
    }
}

struct Guard {
    parent: Pid,
    program: Pid,
    heard: Receiver<Heard>,
    until: Instant,
}

impl Guard {
    /// Until the program has ended or is not wanted any more; then until nobody is left.
    fn watch(&self) -> i32 {
        let code = loop {
            match self.heard.recv_timeout(LOOK) {
                Ok(Heard::Ended(pid, status)) if pid == self.program => break as_shells_tell(status),
                Ok(Heard::NobodyLeft) | Err(RecvTimeoutError::Disconnected) => return MISUSED,
                Ok(Heard::CalledOff) => break self.ask_to_end(TOO_LONG),
                Ok(Heard::Ended(..)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > self.until || getppid() != Some(self.parent) {
                break self.ask_to_end(TOO_LONG);
            }
        };
        self.end_all();
        code
    }

    fn ask_to_end(&self, code: i32) -> i32 {
        descent::signal(self.program, Signal::TERM);
        let until = Instant::now() + GRACE;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.heard.recv_timeout(left) {
                Ok(Heard::Ended(pid, _)) if pid == self.program => break,
                Ok(Heard::NobodyLeft) | Err(_) => break,
                Ok(_) => {}
            }
        }
        code
    }

    /// Again and again, since what is killed may have started something a moment before.
    fn end_all(&self) {
        loop {
            descent::signal(self.program, Signal::KILL);
            match self.heard.recv_timeout(KILL) {
                Ok(Heard::NobodyLeft) | Err(RecvTimeoutError::Disconnected) => return,
                _ => {}
            }
        }
    }
}

fn as_shells_tell(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(MISUSED)
}
