//! The only place that prints. Records go to standard output in the chosen format, words for people to standard
//! error; a reader that goes away (`| head`) is not an error.

use crate::args::Call;
use crate::text::Text;
use api::{Exit, View};
use record::{Cell, cell};
use service::{Format, Outcome, Service};
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

pub(crate) struct Out {
    shown: Shown,
    view: &'static View,
    to: BufWriter<std::io::Stdout>,
}

impl Out {
    pub(crate) fn new(shown: Shown, view: &'static View) -> Out {
        Out { shown, view, to: BufWriter::with_capacity(64 * 1024, std::io::stdout()) }
    }

    pub(crate) fn answer(&mut self, call: &Call) -> Result<Outcome, api::Error> {
        let ask = call.ask.as_ref().map_err(Clone::clone)?;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            if std::io::stderr().is_terminal() {
                scope.spawn(|| show_progress(&call.service, &done));
            }
            let result = self.print(call, ask);
            done.store(true, Relaxed);
            result
        })
    }

    fn print(&mut self, call: &Call, ask: &api::Ask) -> Result<Outcome, api::Error> {
        let format = if self.shown == Shown::Tsv { Format::Tsv } else { Format::Jsonl };
        let mut text = (self.shown == Shown::Text).then(|| Text::new(self.view, ask));
        let to = &mut self.to;
        let outcome = call.service.answer(call.view, ask, format, &mut |line| match &mut text {
            Some(text) => text.line(line, to),
            None => to.write_all(line).is_ok(),
        })?;
        if let Some(text) = text {
            text.finish(to);
        }
        Ok(outcome)
    }

    /// What people should know besides the records, and the exit code.
    pub(crate) fn close(&mut self, call: &Call, outcome: &Outcome) -> Exit {
        let open = self.to.flush().is_ok();
        let lost = outcome.lost();
        if lost > 0 && self.view.name != "sources" {
            let (what, files) = (
                plural(lost, "place"),
                outcome
                    .problems
                    .iter()
                    .filter(|p| p.kind.is_loss())
                    .map(|p| &p.file)
                    .collect::<std::collections::BTreeSet<_>>()
                    .len(),
            );
            note(&format!(
                "{what} in {} could not be read; `loci sources --problems` lists them",
                plural(files, "file")
            ));
        }
        if outcome.printed == 0 && open {
            note(&nothing(call, outcome));
            return Exit::Nothing;
        }
        if lost > 0 { Exit::Incomplete } else { Exit::Found }
    }

    /// An error is told to the reader of standard output in its own format, and to the person in words.
    pub(crate) fn fail(&mut self, error: &api::Error) -> Exit {
        let _ = self.to.write_all(&as_record(self.shown, error));
        let _ = self.to.flush();
        note(&format!("error: {error}"));
        error.hints.iter().for_each(|hint| note(&format!("hint: {hint}")));
        Exit::Failed
    }
}

/// Tells the reader of standard output of an error that the person has been told of already.
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
fn nothing(call: &Call, outcome: &Outcome) -> String {
    if outcome.files == 0 && outcome.sessions == 0 {
        let places: Vec<String> = outcome
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
        let project = outcome.project.as_ref().filter(|_| outcome.looked.iter().any(|l| l.2));
        let head = match project {
            Some(project) => format!(
                "no sessions of {} were found; --all-projects asks about every project. Looked in:",
                project.display()
            ),
            None => "no agent has left a history here. Looked in:".to_string(),
        };
        return format!("{head}\n{}", places.join("\n"));
    }
    let scope = match &outcome.project {
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
            complain(&format!("\r\x1b[Kreading {files} of {of} transcripts"));
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
