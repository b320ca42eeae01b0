//! Runs a jq program in a child process of the same binary. A model may have written the program: it can overflow the
//! stack, exhaust memory or never end, and only a process can always be stopped.
//!
//! The parent (`Runner`) feeds records to the child's standard input and reads results from its output; the child
//! (`run_child`) limits itself before it reads the program. The child has no environment and no open files. Does not know
//! what the records mean.

use crate::Error;
use crate::program::{Program, takes_array};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Resource limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one record; an array of all records gets the same again for every 20 MB.
    pub time: Duration,
    /// For all records together, and `time` again for every 20 MB: simple filters take a tenth of a second for that.
    pub total: Duration,
    pub memory: u64,
    /// Results of one run of the program, in values and in bytes.
    pub values: u64,
    pub bytes: u64,
}

pub const LIMITS: Limits = Limits {
    time: Duration::from_secs(2),
    total: Duration::from_secs(10),
    memory: 512 << 20,
    values: 1_000_000,
    bytes: 64 << 20,
};

/// The input that an allowance of `LIMITS.time` is for.
const ALLOWANCE_BYTES: usize = 20 << 20;
/// Results are passed on at least this often.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// The hidden subcommand that turns the binary into the child.
pub const COMMAND: &str = "internal-jq";

/// The first output of the child: the filter is compiled and records may follow.
const READY: &[u8] = b"ready";

const BAD_FILTER: i32 = 65;
const FAILED: i32 = 66;
const TOO_LONG: i32 = 67;
const TOO_MUCH: i32 = 68;
const NO_WATCHDOG: i32 = 69;

// ---- the parent

/// A program running in its child. One thread writes to the child and one reads from it, each a bounded number of
/// batches ahead. Feeding also takes results, so that neither side waits for the other forever, and a slow consumer
/// slows everything down instead of filling memory.
pub struct Runner {
    child: Child,
    input: Option<mpsc::SyncSender<Vec<u8>>>,
    results: mpsc::Receiver<Vec<Vec<u8>>>,
    readers: Vec<JoinHandle<String>>,
    batch: Vec<u8>,
    array: bool,
    first: bool,
}

/// The size of a write to the pipe.
const BATCH_BYTES: usize = 64 * 1024;
/// The number of batches queued on either side.
const MAX_QUEUED: usize = 2;

impl Runner {
    /// Starts `exe` as the child and waits until it has compiled the filter, so that its errors are reported
    /// immediately. The child also compiles: a filter of nothing but brackets overflows the stack of the process that
    /// parses it.
    pub fn start(exe: &Path, filter: &str, slurp: bool) -> Result<Runner, Error> {
        let mut child = spawn_child(exe).map_err(|e| Error::Child(e.to_string()))?;
        let (Some(stdin), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::Child("cannot open pipes".to_string()));
        };
        let (send, results) = mpsc::sync_channel(MAX_QUEUED);
        let (input, batches) = mpsc::sync_channel(MAX_QUEUED);
        std::thread::spawn(move || write_batches(stdin, &batches));
        let readers = vec![
            std::thread::spawn(move || read_lines(output, &send)),
            std::thread::spawn(move || read_errors(errors)),
        ];
        let array = slurp || takes_array(filter);
        let input = Some(input);
        let mut runner = Runner { child, input, results, readers, batch: Vec::new(), array, first: true };
        let head = serde_json::json!({ "filter": filter, "array": array });
        runner.batch = format!("{head}\n").into_bytes();
        runner.send_batch(&mut |_| true);
        // The child prints one word before it reads any record.
        if runner.results.recv().ok().is_none_or(|lines| lines != [READY]) {
            runner.wait_for_child()?;
            return Err(Error::Child("the subprocess exited before it was ready".to_string()));
        }
        if array {
            runner.batch.push(b'[');
        }
        Ok(runner)
    }

    /// Feeds one record, a JSON text, and passes on the results that are available. Returns false if the child or the
    /// consumer wants no more.
    pub fn feed(&mut self, record: &[u8], each: &mut dyn FnMut(Vec<u8>) -> bool) -> bool {
        if self.array && !std::mem::take(&mut self.first) {
            self.batch.push(b',');
        }
        self.batch.extend_from_slice(record);
        if !self.array {
            self.batch.push(b'\n');
        }
        self.batch.len() < BATCH_BYTES || self.send_batch(each)
    }

    /// Ends the input and passes on the remaining results. If `each` returns false, the child is stopped.
    pub fn finish(mut self, each: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), Error> {
        if self.array {
            self.batch.extend_from_slice(b"]\n");
        }
        self.send_batch(each);
        self.input = None;
        while let Ok(results) = self.results.recv() {
            if !results.into_iter().all(&mut *each) {
                return Ok(()); // dropping the runner kills the child
            }
        }
        self.wait_for_child()
    }

    /// Sends the batch to the writing thread; takes results while that is busy.
    fn send_batch(&mut self, each: &mut dyn FnMut(Vec<u8>) -> bool) -> bool {
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            let Some(input) = &self.input else { return false };
            match input.try_send(batch) {
                Ok(()) => return true,
                Err(mpsc::TrySendError::Disconnected(_)) => return false,
                Err(mpsc::TrySendError::Full(kept)) => batch = kept,
            }
            if let Ok(results) = self.results.recv_timeout(Duration::from_millis(1))
                && !results.into_iter().all(&mut *each)
            {
                return false;
            }
        }
    }

    /// Waits for the child to exit and returns its outcome.
    fn wait_for_child(&mut self) -> Result<(), Error> {
        self.input = None;
        let status = self.child.wait().map_err(|e| Error::Child(e.to_string()))?;
        let message = self.readers.drain(..).map(|r| r.join().unwrap_or_default()).collect::<String>();
        child_outcome(status, message.trim())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn_child(exe: &Path) -> std::io::Result<Child> {
    let mut command = Command::new(exe);
    command.arg(COMMAND).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Writes batches until the child stops reading; the child reports the reason when it exits.
fn write_batches(mut stdin: ChildStdin, batches: &mpsc::Receiver<Vec<u8>>) {
    while let Ok(batch) = batches.recv() {
        if stdin.write_all(&batch).is_err() {
            return;
        }
    }
}

/// Passes lines on in batches: as many as have arrived, up to the batch size.
fn read_lines(output: impl Read, send: &mpsc::SyncSender<Vec<Vec<u8>>>) -> String {
    let mut output = BufReader::with_capacity(BATCH_BYTES, output);
    let (mut batch, mut size) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        let read = output.read_until(b'\n', &mut line);
        // An incomplete line was cut off when the child ended.
        let whole = read.is_ok() && line.pop() == Some(b'\n');
        if whole {
            size += line.len();
            batch.push(line);
        }
        let ready = !whole || size >= BATCH_BYTES || output.buffer().is_empty();
        if ready && !batch.is_empty() && send.send(std::mem::take(&mut batch)).is_err() {
            return String::new();
        }
        if ready {
            size = 0;
        }
        if !whole {
            return String::new();
        }
    }
}

/// The child's error output. A stack overflow makes the runtime verbose, so only the beginning is kept.
fn read_errors(errors: impl Read) -> String {
    let mut text = Vec::new();
    let _ = errors.take(4096).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn child_outcome(status: ExitStatus, message: &str) -> Result<(), Error> {
    match status.code() {
        Some(0) => Ok(()),
        Some(BAD_FILTER) => Err(Error::Filter(message.to_string())),
        Some(FAILED) => Err(Error::Failed(message.to_string())),
        Some(TOO_LONG) => Err(Error::Stopped(format!(
            "more than {} s for one input, or {} s in total",
            LIMITS.time.as_secs(),
            LIMITS.total.as_secs()
        ))),
        Some(NO_WATCHDOG) => Err(Error::Child(message.to_string())),
        Some(TOO_MUCH) => Err(Error::Stopped("too many results".to_string())),
        _ => Err(Error::Stopped(format!(
            "stack or memory limit of {} MB exceeded; a filter over single records needs less",
            LIMITS.memory >> 20
        ))),
    }
}

// ---- the child

/// The child's main function: reads the program and records from `input`, writes results to `output`. Returns the exit
/// code and the error message.
pub fn run_child(input: impl Read, output: impl Write) -> (i32, String) {
    // Start the thread first: the limits allow no further one, and without it nothing would limit the time.
    let watch = match Watchdog::start() {
        Ok(watch) => watch,
        Err(e) => return (NO_WATCHDOG, e.to_string()),
    };
    apply_limits();
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut output = BufWriter::with_capacity(64 * 1024, UntimedWriter { to: output, watch: &watch });
    match process_records(&mut input, &mut output, &watch) {
        Ok(()) => (0, String::new()),
        Err((code, message)) => {
            let _ = output.flush();
            (code, message)
        }
    }
}

fn apply_limits() {
    os::processes::limit_self(os::ProcessLimits { memory: LIMITS.memory, open_files: 8 });
}

type ChildResult<T> = Result<T, (i32, String)>;

fn process_records(input: &mut impl BufRead, output: &mut impl Write, watch: &Watchdog) -> ChildResult<()> {
    let mut head = Vec::new();
    input.read_until(b'\n', &mut head).map_err(|e| (FAILED, e.to_string()))?;
    let head: serde_json::Value = serde_json::from_slice(&head).map_err(|e| (FAILED, e.to_string()))?;
    let filter = head["filter"].as_str().unwrap_or(".");
    watch.set_deadline(LIMITS.time);
    let program = Program::compile(filter).map_err(|e| (BAD_FILTER, error_detail(&e)))?;
    watch.clear_deadline();
    let ready = [READY, b"\n"].concat();
    output.write_all(&ready).and_then(|()| output.flush()).map_err(|e| (FAILED, e.to_string()))?;
    let mut record = Vec::new();
    let mut number = 0u64;
    let (mut left, mut unpaid_bytes) = (LIMITS.total, 0);
    let mut flushed = Instant::now();
    loop {
        record.clear();
        let n = input.read_until(b'\n', &mut record).map_err(|e| (FAILED, e.to_string()))?;
        if n == 0 {
            return output.flush().map_err(|e| (FAILED, e.to_string()));
        }
        number += 1;
        unpaid_bytes += n;
        left += LIMITS.time * (unpaid_bytes / ALLOWANCE_BYTES) as u32;
        unpaid_bytes %= ALLOWANCE_BYTES;
        let began = Instant::now();
        watch.set_deadline(left.min(LIMITS.time * (1 + (n / ALLOWANCE_BYTES) as u32)));
        process_record(&program, &record, output).map_err(|(code, message)| {
            let place = if head["array"] == true { String::new() } else { format!("record {number}: ") };
            (code, if code == FAILED { place + &message } else { message })
        })?;
        watch.clear_deadline();
        left = left.saturating_sub(began.elapsed());
        // A consumer that shows results as they arrive, or wants only a few, should not wait for a full buffer.
        if number == 1 || flushed.elapsed() > FLUSH_INTERVAL {
            output.flush().map_err(|e| (FAILED, e.to_string()))?;
            flushed = Instant::now();
        }
    }
}

fn process_record(program: &Program, record: &[u8], output: &mut impl Write) -> ChildResult<()> {
    let (mut values, mut bytes) = (0, 0);
    let mut failure = None;
    let ran = program.run(record, &mut |value| {
        let line = format!("{value}\n");
        values += 1;
        bytes += line.len() as u64;
        if values > LIMITS.values || bytes > LIMITS.bytes {
            failure = Some((TOO_MUCH, String::new()));
        } else if let Err(e) = output.write_all(line.as_bytes()) {
            failure = Some((FAILED, e.to_string()));
        }
        failure.is_none()
    });
    match (failure, ran) {
        (Some(failure), _) => Err(failure),
        (None, ran) => ran.map_err(|e| (FAILED, error_detail(&e))),
    }
}

/// The message without the prefix that the parent adds.
fn error_detail(error: &Error) -> String {
    match error {
        Error::Filter(m) | Error::Failed(m) | Error::Stopped(m) | Error::Child(m) | Error::Pattern(m) => {
            m.clone()
        }
    }
}

/// Ends the process if one input takes too long. Runs in its own thread, because the program cannot be interrupted.
struct Watchdog(Arc<AtomicU64>);

impl Watchdog {
    fn start() -> std::io::Result<Watchdog> {
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let (watched, started) = (deadline.clone(), Instant::now());
        std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                if started.elapsed().as_millis() as u64 > watched.load(Ordering::Relaxed) {
                    #[allow(clippy::exit)] // the purpose of this thread
                    std::process::exit(TOO_LONG);
                }
            }
        })?;
        STARTED.get_or_init(|| started);
        Ok(Watchdog(deadline))
    }

    fn set_deadline(&self, within: Duration) {
        let now = STARTED.get().map_or(Duration::ZERO, Instant::elapsed);
        self.0.store((now + within).as_millis() as u64, Ordering::Relaxed);
        // The kernel enforces the limit too, in case the thread cannot: the process has used at most `now`.
        let seconds = (now + within).as_secs() + 2;
        os::processes::limit_own_cpu(seconds);
    }

    fn clear_deadline(&self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }

    /// Runs a closure without counting its time.
    fn without_deadline<T>(&self, work: impl FnOnce() -> T) -> T {
        let (deadline, began) = (self.0.swap(u64::MAX, Ordering::Relaxed), Instant::now());
        let done = work();
        self.0.store(deadline.saturating_add(began.elapsed().as_millis() as u64), Ordering::Relaxed);
        done
    }
}

/// Output that does not count the time spent waiting for the reader.
struct UntimedWriter<'w, W> {
    to: W,
    watch: &'w Watchdog,
}

impl<W: Write> Write for UntimedWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.watch.without_deadline(|| self.to.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.watch.without_deadline(|| self.to.flush())
    }
}

static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
