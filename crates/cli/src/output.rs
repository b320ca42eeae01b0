//! The only place that prints. Records go to standard output in the chosen format, words for people to standard
//! error; a reader that goes away (`| head`) is not an error.

use api::Exit;
use record::{Cell, cell};
use service::Service;
use std::io::{BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// What the user sees.
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

/// Standard output. A reader that has gone away is remembered and forgiven; a disk that is full is not.
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

/// Does something that may take long, and tells the person how far it is.
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

/// How wide standard output is, and whether it is a terminal.
pub(crate) fn screen() -> (usize, bool) {
    let width = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col));
    (width.clamp(40, 400), std::io::stdout().is_terminal())
}

/// Prints an answer. A reader that has gone away is forgiven.
pub(crate) fn say(text: &str) -> Result<(), api::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(api::Error::new(api::Code::ReadError, format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Whether there is somebody to be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the person at the terminal. Anything but a yes is a no.
pub(crate) fn ask(question: &str) -> bool {
    complain(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// An error is told to the reader of standard output in its own format, and to the person in words.
pub(crate) fn fail(shown: Shown, error: &api::Error) -> Exit {
    refuse(shown, error);
    note(&format!("error: {error}"));
    error.hints.iter().for_each(|hint| note(&format!("hint: {hint}")));
    Exit::Failed
}

/// Tells the reader of standard output of an error that the person is told of in words.
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

/// A step of something that takes long.
pub(crate) fn step(told: &str) {
    note(&api::terminal_text::one_line(told));
}

/// Writes to standard error, come what may of it.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Nobody wants to see a bar for what takes less than this.
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
