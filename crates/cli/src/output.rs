//! The only place that prints. Records go to standard output in the chosen format, words for people to standard
//! error; a reader that goes away (`| head`) is not an error.

use crate::args::Call;
use crate::door::{self, Asked};
use crate::text::Text;
use api::{Exit, View};
use record::{Cell, cell};
use service::{Ending, Format, Service};
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
struct Pipe {
    to: BufWriter<std::io::Stdout>,
    failed: Option<std::io::Error>,
}

impl Pipe {
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

pub(crate) struct Out {
    shown: Shown,
    view: &'static View,
    to: Pipe,
}

impl Out {
    pub(crate) fn new(shown: Shown, view: &'static View) -> Out {
        let to = Pipe { to: BufWriter::with_capacity(64 * 1024, std::io::stdout()), failed: None };
        Out { shown, view, to }
    }

    pub(crate) fn answer(&mut self, call: &Call) -> Result<Ending, api::Error> {
        let ask = call.ask.as_ref().map_err(Clone::clone)?;
        if call.hybrid {
            return with_progress(&call.service, || enclosed(call, ask));
        }
        with_progress(&call.service, || self.print(call, ask))
    }

    fn print(&mut self, call: &Call, ask: &api::Ask) -> Result<Ending, api::Error> {
        let plain = service::env::text(&call.service.places, "NO_COLOR").is_some();
        let mut text = (self.shown == Shown::Text).then(|| Text::new(self.view, ask, plain));
        let to = &mut self.to;
        let mut take = |line: &[u8]| match &mut text {
            Some(text) => text.line(line, to),
            None => to.write_all(line).is_ok(),
        };
        let asked = Asked { view: call.view, params: &call.params, tsv: self.shown == Shown::Tsv };
        let answered = match door::ask_view(&call.service, &asked, &mut take) {
            Ok(answered) => answered,
            Err(told) => alone(call, ask, &mut told.rest(&mut take)),
        };
        if let Some(text) = text {
            text.finish(to);
        }
        // Before an error is told: it stands behind the records that were found.
        let flushed = to.flush();
        let ending = answered?;
        match self.to.failed.take() {
            Some(e) => Err(api::Error::new(api::Code::ReadError, format!("standard output: {e}"))),
            None => Ok(Ending {
                printed: if flushed.is_ok() { ending.printed } else { ending.printed.max(1) },
                ..ending
            }),
        }
    }

    /// What people should know besides the records, and the exit code.
    pub(crate) fn close(&mut self, call: &Call, ending: &Ending) -> Exit {
        if ending.lost > 0 && self.view.name != "sources" {
            note(&lost_note(ending));
        }
        let empty = ending.printed == 0 || (self.view.name == "sources" && ending.files == 0);
        if empty {
            note(&nothing(call, ending));
        }
        match (ending.lost > 0, empty) {
            (true, _) => Exit::Incomplete,
            (_, true) => Exit::Nothing,
            _ => Exit::Found,
        }
    }
}

/// The answer as an agent gets it.
fn enclosed(call: &Call, ask: &api::Ask) -> Result<Ending, api::Error> {
    let told = door::ask_enclosed(&call.service, call.view, &call.params).unwrap_or_else(|| {
        let (envelope, outcome) = call.service.view(call.view, ask.clone(), &call.view.named())?;
        Ok((envelope, outcome.ending()))
    });
    let (envelope, ending) = told?;
    say(&(serde_json::to_string(&envelope).unwrap_or_default() + "\n"))?;
    Ok(ending)
}

/// Without the daemon, or what it left to be told.
fn alone(call: &Call, ask: &api::Ask, take: &mut dyn FnMut(&[u8]) -> bool) -> Result<Ending, api::Error> {
    let format = if call.format == Shown::Tsv { Format::Tsv } else { Format::Jsonl };
    call.service.answer(call.view, ask, format, take).map(|outcome| outcome.ending())
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

fn lost_note(ending: &Ending) -> String {
    let (places, files) = (plural(ending.lost, "place"), plural(ending.lost_files, "file"));
    format!("{places} in {files} could not be read; `loci sources --problems` lists them")
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

/// Says why there is nothing, and what to type next.
fn nothing(call: &Call, ending: &Ending) -> String {
    if call.ask.as_ref().is_ok_and(|ask| ask.problems) && ending.files > 0 {
        return format!("all of {} was read", plural(ending.files as usize, "transcript"));
    }
    if ending.looked.is_empty() {
        return "there is nowhere to look: HOME is not set".to_string();
    }
    if ending.files == 0 && ending.sessions == 0 {
        let places: Vec<String> = ending
            .looked
            .iter()
            .map(|(name, path, there)| {
                format!(
                    "  {name:<12} {}{}",
                    path.display(),
                    if *there { " (there, but without sessions of this project)" } else { "" }
                )
            })
            .collect();
        let project = ending.project.as_ref().filter(|_| ending.looked.iter().any(|l| l.2));
        let head = match project {
            Some(project) => format!(
                "no sessions of {} were found; --all-projects asks about every project. Looked in:",
                project.display()
            ),
            None => "no agent has left a history here. Looked in:".to_string(),
        };
        return format!("{head}\n{}", places.join("\n"));
    }
    let scope = match &ending.project {
        Some(project) => format!(" in {} (--all-projects asks about everything)", project.display()),
        None => String::new(),
    };
    format!("nothing found for `loci {}`{scope}", call.view.title())
}

pub(crate) fn plural(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

fn note(text: &str) {
    complain(&format!("loci: {text}\n"));
}

/// A step of something that takes long.
pub(crate) fn step(told: &str) {
    note(&api::plain::one_line(told));
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
