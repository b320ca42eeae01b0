//! Runs another program so that nothing of it outlives us: not when it takes too long or says too much, not when it is called
//! off, and not when we are killed. What it said comes back whole, or not at all.
//!
//! Does not know what the program is for. If the guard itself is killed together with us (`killall -9 loci`), its program is
//! beyond reach: nothing short of a control group would help.

mod descent;
mod guard;

pub use guard::{COMMAND, guard};

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// What is to be run, and within what.
#[derive(Debug)]
pub struct Job<'j> {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
    pub stdin: Vec<u8>,
    pub deadline: Duration,
    /// One that says more is stopped.
    pub stdout_limit: usize,
    /// Set from elsewhere, it stops the program.
    pub cancel: Option<&'j AtomicBool>,
}

#[derive(Debug)]
pub struct Finished {
    /// As a shell tells it: a program that a signal ended has 128 and the signal's number.
    pub status: i32,
    pub stdout: Vec<u8>,
    /// Its last words.
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("there is no program `{}`", .0.display())]
    NotFound(PathBuf),
    #[error("{program} cannot be started: {reason}", program = .program.display())]
    CannotStart { program: PathBuf, reason: String },
    #[error("it took longer than {:.0} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("it printed more than {0} bytes")]
    TooMuch(usize),
    #[error("it was called off")]
    Cancelled,
    #[error("its guard was killed")]
    Unguarded,
}

/// Starts programs below a guard: this very binary, started again under a hidden command.
#[derive(Debug)]
pub struct Ward {
    exe: PathBuf,
}

/// How soon an end, a limit or a call to stop is noticed.
const TICK: Duration = Duration::from_millis(10);
/// What is kept of a program's complaints.
const LAST_WORDS: usize = 8 << 10;
/// A guard that has ended has closed its pipes, unless it was killed and something of it still holds them.
const STRAGGLERS: Duration = Duration::from_secs(1);

impl Ward {
    pub fn new(exe: impl Into<PathBuf>) -> Ward {
        Ward { exe: exe.into() }
    }

    /// Runs the program to its end, or stops it. When this returns, nothing of it is left.
    pub fn run(&self, job: Job<'_>) -> Result<Finished, Failed> {
        let began = Instant::now();
        let mut child = self.start(&job).map_err(|error| cannot_start(&job.program, &error.to_string()))?;
        let over = Arc::new(AtomicBool::new(false));
        let pipes = Pipes::take(&mut child, job.stdin, job.stdout_limit, &over);
        let stopped = loop {
            if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                break None;
            } else if over.load(Ordering::Relaxed) {
                break Some(Failed::TooMuch(job.stdout_limit));
            } else if job.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                break Some(Failed::Cancelled);
            } else if began.elapsed() >= job.deadline {
                break Some(Failed::TimedOut(job.deadline));
            }
            std::thread::sleep(TICK);
        };
        let (stdout, stderr) = pipes.close(&mut child);
        let status = child.wait().ok().and_then(|status| status.code());
        match stopped {
            Some(failed) => Err(failed),
            None if over.load(Ordering::Relaxed) => Err(Failed::TooMuch(job.stdout_limit)),
            None if status == Some(guard::TOO_LONG) && began.elapsed() >= job.deadline => {
                Err(Failed::TimedOut(job.deadline))
            }
            None => guard::told(status, &stderr, &job.program).map(|status| Finished {
                status,
                stdout,
                stderr: String::from_utf8_lossy(&stderr).into_owned(),
            }),
        }
    }

    fn start(&self, job: &Job<'_>) -> std::io::Result<Child> {
        let mut command = Command::new(&self.exe);
        command.arg(COMMAND).arg(job.deadline.as_millis().to_string()).arg(std::process::id().to_string());
        command.arg(&job.program).args(&job.args).env_clear().envs(&job.env).current_dir(&job.cwd);
        // A group of its own: what a terminal sends to ours (Ctrl-C) must not take the guard before it has cleaned up.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

fn cannot_start(program: &Path, reason: &str) -> Failed {
    Failed::CannotStart { program: program.to_path_buf(), reason: reason.to_string() }
}

/// The three lines to the guard. Its input stays open for as long as the program is wanted: when it closes, by our doing or
/// because we are gone, the guard ends everything.
struct Pipes {
    stop: Option<mpsc::Sender<()>>,
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
}

impl Pipes {
    fn take(child: &mut Child, input: Vec<u8>, limit: usize, over: &Arc<AtomicBool>) -> Pipes {
        let (stop, stopped) = mpsc::channel();
        let (said, stdout) = mpsc::channel();
        let (complained, stderr) = mpsc::channel();
        if let Some(line) = child.stdin.take() {
            std::thread::spawn(move || feed(line, &input, &stopped));
        }
        if let (Some(out), over) = (child.stdout.take(), Arc::clone(over)) {
            std::thread::spawn(move || said.send(whole(out, limit, &over)));
        }
        if let Some(err) = child.stderr.take() {
            std::thread::spawn(move || complained.send(last_words(err)));
        }
        Pipes { stop: Some(stop), stdout, stderr }
    }

    /// Cuts the line, waits for the guard, and gives what was said.
    fn close(mut self, child: &mut Child) -> (Vec<u8>, Vec<u8>) {
        self.stop = None;
        let _ = child.wait();
        let rest = |pipe: &mpsc::Receiver<Vec<u8>>| pipe.recv_timeout(STRAGGLERS).unwrap_or_default();
        (rest(&self.stdout), rest(&self.stderr))
    }
}

/// Hands over the input and then keeps the line open until it is to be cut.
fn feed(mut line: ChildStdin, input: &[u8], stopped: &mpsc::Receiver<()>) {
    let fed = line.write_all(format!("{}\n", input.len()).as_bytes()).and_then(|()| line.write_all(input));
    if fed.is_ok() {
        let _ = stopped.recv();
    }
}

/// Everything, unless it is more than may be.
fn whole(output: impl Read, limit: usize, over: &AtomicBool) -> Vec<u8> {
    let mut text = Vec::new();
    let _ = output.take(limit as u64 + 1).read_to_end(&mut text);
    over.store(text.len() > limit, Ordering::Relaxed);
    text
}

fn last_words(mut complaints: impl Read) -> Vec<u8> {
    let (mut kept, mut piece) = (VecDeque::new(), [0; 4096]);
    while let Ok(read @ 1..) = complaints.read(&mut piece) {
        kept.extend(&piece[..read]);
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
    kept.into()
}
