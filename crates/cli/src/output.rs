//! The only module that prints: records to stdout in the chosen format, messages for people to stderr. A closed pipe
//! (`| head`) is not an error.
//!
//! Does not know which command prints.

use api::Exit;
use record::{Cell, cell};
use service::Service;
use std::io::{BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Jsonl,
    Tsv,
    Text,
}

impl Default for Shown {
    fn default() -> Shown {
        if std::io::stdout().is_terminal() { Shown::Text } else { Shown::Jsonl }
    }
}

impl Shown {
    pub(crate) fn from_word(word: &str) -> Shown {
        match word {
            "tsv" => Shown::Tsv,
            "text" => Shown::Text,
            _ => Shown::Jsonl,
        }
    }
}

/// Buffered stdout. Remembers the first write error, except a closed pipe: a full disk must be reported.
pub(crate) struct Pipe {
    to: BufWriter<std::io::Stdout>,
    failed: Option<std::io::Error>,
}

impl Pipe {
    pub(crate) fn new() -> Pipe {
        Pipe { to: BufWriter::with_capacity(64 * 1024, std::io::stdout()), failed: None }
    }

    /// The first error other than a closed pipe.
    pub(crate) fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failed.take()
    }

    fn note<T>(&mut self, result: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(e) = &result
            && e.kind() != std::io::ErrorKind::BrokenPipe
            && self.failed.is_none()
        {
            self.failed = Some(std::io::Error::new(e.kind(), e.to_string()));
        }
        result
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let result = self.to.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let result = self.to.flush();
        self.note(result)
    }
}

/// Runs `work` and shows its progress on a terminal.
pub(crate) fn with_progress<T>(service: &Service, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if std::io::stderr().is_terminal() {
            scope.spawn(|| show_progress(service, &done));
        }
        let result = work();
        done.store(true, Relaxed);
        result
    })
}

/// Width of stdout in columns, and whether it is a terminal.
pub(crate) fn screen() -> (usize, bool) {
    let width = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col));
    (width.clamp(40, 400), std::io::stdout().is_terminal())
}

/// Prints to stdout. A closed pipe is not an error.
pub(crate) fn say(text: &str) -> Result<(), api::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(api::Error::new(api::Code::ReadError, format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Whether a person can be prompted: stdin and stderr are terminals.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Prompts at the terminal. Everything except `y` and `yes` means no.
pub(crate) fn ask(question: &str) -> bool {
    complain(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Reports an error as a record on stdout, and as a message with hints on stderr.
pub(crate) fn fail(shown: Shown, error: &api::Error) -> Exit {
    refuse(shown, error);
    note(&format!("error: {error}"));
    error.hints.iter().for_each(|hint| note(&format!("hint: {hint}")));
    Exit::Failed
}

/// Writes the error record to stdout only; the caller prints the message for people.
pub(crate) fn refuse(shown: Shown, error: &api::Error) {
    let _ = std::io::stdout().lock().write_all(&as_record(shown, error));
}

fn as_record(shown: Shown, error: &api::Error) -> Vec<u8> {
    let mut bytes = Vec::new();
    match shown {
        Shown::Jsonl => cell::write_object(&error.line(), &mut bytes),
        Shown::Tsv => tsv_error(error, &mut bytes),
        Shown::Text => return bytes,
    }
    bytes.push(b'\n');
    bytes
}

fn tsv_error(error: &api::Error, out: &mut Vec<u8>) {
    out.extend_from_slice(b"error\tcode\n");
    Cell::text(error.message.as_str()).write_tsv(out);
    out.push(b'\t');
    out.extend_from_slice(error.code.word().as_bytes());
}

pub(crate) fn plural(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

pub(crate) fn note(text: &str) {
    complain(&format!("loci: {text}\n"));
}

/// Prints one step of a long-running operation.
pub(crate) fn step(text: &str) {
    note(&api::terminal_text::one_line(text));
}

/// Writes to stderr, best effort: write errors are ignored.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Operations shorter than this show no progress.
const PATIENCE: Duration = Duration::from_millis(700);

fn show_progress(service: &Service, done: &AtomicBool) {
    let started = std::time::Instant::now();
    let mut shown = false;
    while !done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        let (files, of) = (service.progress.files.load(Relaxed), service.progress.of.load(Relaxed));
        if started.elapsed() > PATIENCE && of > 0 && files < of {
            complain(&format!("\r\x1b[Kreading {files} of {of} files"));
            shown = true;
        } else if shown {
            complain("\r\x1b[K");
            shown = false;
        }
    }
    if shown {
        complain("\r\x1b[K");
    }
}
