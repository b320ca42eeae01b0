//! Runs a program so that none of its processes outlives us: not after a timeout, too much output or a cancellation, and not
//! if we are killed. Its output is returned whole or not at all.
//!
//! Does not know what the program is for. If the supervisor is killed together with us (`killall -9 loci`), its program
//! escapes: only a control group could prevent that.

mod process_tree;
mod supervise;

pub use supervise::{COMMAND, run_supervisor};

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// A program to run, and its limits.
#[derive(Debug)]
pub struct Job<'j> {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
    pub stdin: Vec<u8>,
    pub deadline: Duration,
    /// A program that prints more is stopped.
    pub stdout_limit: usize,
    /// Setting this stops the program.
    pub cancel: Option<&'j AtomicBool>,
}

#[derive(Debug)]
pub struct Finished {
    /// The exit code as a shell reports it: 128 plus the signal number for a program ended by a signal.
    pub status: i32,
    pub stdout: Vec<u8>,
    /// The end of its standard error.
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("program `{}` not found", .0.display())]
    NotFound(PathBuf),
    #[error("cannot start {program}: {reason}", program = .program.display())]
    CannotStart { program: PathBuf, reason: String },
    #[error("timed out after {:.0} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("printed more than {0} bytes")]
    TooMuchOutput(usize),
    #[error("cancelled")]
    Cancelled,
    #[error("the supervisor process was killed")]
    SupervisorKilled,
}

/// Runs programs under a supervisor process: our own binary, started with a hidden command.
#[derive(Debug)]
pub struct Supervisor {
    exe: PathBuf,
}

/// How often the end of the program, a limit or a cancellation is checked for.
const TICK: Duration = Duration::from_millis(10);
/// Bytes kept of standard error.
const STDERR_TAIL_BYTES: usize = 8 << 10;
/// A supervisor that has ended has closed its pipes, unless it was killed and a surviving process still holds them.
const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

impl Supervisor {
    pub fn new(exe: impl Into<PathBuf>) -> Supervisor {
        Supervisor { exe: exe.into() }
    }

    /// Runs the program to its end, or stops it. When this returns, none of its processes is left.
    pub fn run(&self, job: Job<'_>) -> Result<Finished, RunError> {
        let began = Instant::now();
        let mut child =
            self.spawn_supervisor(&job).map_err(|error| start_error(&job.program, &error.to_string()))?;
        let exceeded = Arc::new(AtomicBool::new(false));
        let pipes = Pipes::take_from(&mut child, job.stdin, job.stdout_limit, &exceeded);
        let stopped = loop {
            if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                break None;
            } else if exceeded.load(Ordering::Relaxed) {
                break Some(RunError::TooMuchOutput(job.stdout_limit));
            } else if job.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                break Some(RunError::Cancelled);
            } else if began.elapsed() >= job.deadline {
                break Some(RunError::TimedOut(job.deadline));
            }
            // Most programs that we run are done within a few milliseconds.
            std::thread::sleep((began.elapsed() / 8).clamp(Duration::from_millis(1), TICK));
        };
        let (stdout, stderr) = pipes.close(&mut child);
        let status = child.wait().ok().and_then(|status| status.code());
        match stopped {
            Some(failed) => Err(failed),
            None if exceeded.load(Ordering::Relaxed) => Err(RunError::TooMuchOutput(job.stdout_limit)),
            None if status == Some(supervise::TIMEOUT_EXIT) && began.elapsed() >= job.deadline => {
                Err(RunError::TimedOut(job.deadline))
            }
            None => supervise::interpret_exit(status, &stderr, &job.program).map(|status| Finished {
                status,
                stdout,
                stderr: String::from_utf8_lossy(&stderr).into_owned(),
            }),
        }
    }

    fn spawn_supervisor(&self, job: &Job<'_>) -> std::io::Result<Child> {
        let mut command = Command::new(&self.exe);
        command.arg(COMMAND).arg(job.deadline.as_millis().to_string()).arg(std::process::id().to_string());
        command.arg(&job.program).args(&job.args).env_clear().envs(&job.env).current_dir(&job.cwd);
        // A process group of its own: a Ctrl-C in the terminal must not end the supervisor before it has cleaned up.
        os::processes::detach_from_terminal(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

/// Runs a program that is known to end soon, without input and without a supervisor: starting one takes longer than the program. For
/// a process that itself ends in a moment. The output is returned if it has at most `limit` bytes.
pub fn run_briefly(
    program: &Path,
    args: &[OsString],
    env: &BTreeMap<OsString, OsString>,
    cwd: &Path,
    limit: usize,
) -> Result<Vec<u8>, RunError> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => RunError::NotFound(program.to_path_buf()),
        _ => start_error(program, &error.to_string()),
    })?;
    let mut output = Vec::new();
    let read = child.stdout.take().map(|pipe| pipe.take(limit as u64 + 1).read_to_end(&mut output));
    if output.len() > limit {
        let _ = child.kill();
    }
    let status = child.wait().ok().and_then(|status| status.code());
    match (status, read) {
        _ if output.len() > limit => Err(RunError::TooMuchOutput(limit)),
        (Some(0), Some(Ok(_))) => Ok(output),
        _ => Err(start_error(program, "it failed")),
    }
}

fn start_error(program: &Path, reason: &str) -> RunError {
    RunError::CannotStart { program: program.to_path_buf(), reason: reason.to_string() }
}

/// The pipes to the supervisor. Its input stays open as long as the program should run: when it closes, because we closed it
/// or because we are gone, the supervisor ends the whole process tree.
struct Pipes {
    stop: Option<mpsc::Sender<()>>,
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
}

impl Pipes {
    fn take_from(child: &mut Child, input: Vec<u8>, limit: usize, exceeded: &Arc<AtomicBool>) -> Pipes {
        let (stop, stopped) = mpsc::channel();
        let (stdout_sender, stdout) = mpsc::channel();
        let (stderr_sender, stderr) = mpsc::channel();
        if let Some(pipe) = child.stdin.take() {
            std::thread::spawn(move || feed_input(pipe, &input, &stopped));
        }
        if let (Some(out), exceeded) = (child.stdout.take(), Arc::clone(exceeded)) {
            std::thread::spawn(move || stdout_sender.send(read_limited(out, limit, &exceeded)));
        }
        if let Some(err) = child.stderr.take() {
            std::thread::spawn(move || stderr_sender.send(read_tail(err)));
        }
        Pipes { stop: Some(stop), stdout, stderr }
    }

    /// Closes the input, waits for the supervisor, and returns standard output and standard error.
    fn close(mut self, child: &mut Child) -> (Vec<u8>, Vec<u8>) {
        self.stop = None;
        let _ = child.wait();
        let rest = |pipe: &mpsc::Receiver<Vec<u8>>| pipe.recv_timeout(PIPE_DRAIN_TIMEOUT).unwrap_or_default();
        (rest(&self.stdout), rest(&self.stderr))
    }
}

/// Writes the input, then keeps the pipe open until the program should stop.
fn feed_input(mut pipe: ChildStdin, input: &[u8], stopped: &mpsc::Receiver<()>) {
    let fed = pipe.write_all(format!("{}\n", input.len()).as_bytes()).and_then(|()| pipe.write_all(input));
    if fed.is_ok() {
        let _ = stopped.recv();
    }
}

/// Reads all output, up to one byte beyond the limit.
fn read_limited(output: impl Read, limit: usize, exceeded: &AtomicBool) -> Vec<u8> {
    let mut text = Vec::new();
    let _ = output.take(limit as u64 + 1).read_to_end(&mut text);
    exceeded.store(text.len() > limit, Ordering::Relaxed);
    text
}

fn read_tail(mut output: impl Read) -> Vec<u8> {
    let (mut kept, mut piece) = (VecDeque::new(), [0; 4096]);
    while let Ok(read @ 1..) = output.read(&mut piece) {
        kept.extend(&piece[..read]);
        let surplus = kept.len().saturating_sub(STDERR_TAIL_BYTES);
        kept.drain(..surplus);
    }
    kept.into()
}
