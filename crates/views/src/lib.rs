//! Answers views: lists, counts and sums the records of sessions, one module per kind of view, and prints them.
//!
//! Does not know operations, terminals or protocols.

mod analyze;
mod coverage;
mod edit_records;
mod printer;
mod records;
mod stats;
mod turns;
mod usage;

pub use printer::Format;
pub use records::{BOTH, MESSAGES};

use api::{Code, Error, View, ViewRequest};
use history::History;
use history::outcome::Outcome;
use history::saved_results::SavedResults;
use printer::Printer;
use query::pattern::Pattern;
use record::{Record, Session};
use std::path::Path;

/// Receives one output line, including its newline. Returns false to stop (closed pipe).
pub type Take<'a> = &'a mut dyn FnMut(&[u8]) -> bool;
/// The name that was given to a session, and the word for who gave it.
pub type Naming = Box<dyn Fn(&Session) -> Option<(String, &'static str)>>;
/// Loads the names of sessions, which most views do not need.
pub type LoadNames<'a> = &'a dyn Fn() -> Naming;

/// What views depend on besides their parameters.
pub struct Views<'a> {
    pub history: &'a History<'a>,
    /// The path of this executable, which runs filters.
    pub exe: &'a Path,
    pub saved_results: SavedResults,
    pub load_names: LoadNames<'a>,
}

/// Answers a view and passes its records to `take`.
pub fn run_view(
    views: &Views<'_>,
    view: &View,
    request: &ViewRequest,
    format: Format,
    take: Take<'_>,
) -> Result<Outcome, Error> {
    let mut printer = Printer::new(views, view, request, format, take)?;
    let question = ViewQuery { history: views.history, load_names: views.load_names, view, request };
    let mut outcome = match (view.group, view.name) {
        ("query", "tools") => records::list_calls(&question, &mut printer),
        ("query", "errors") => records::list_errors(&question, &mut printer),
        ("query", "messages") => records::list_messages(&question, &mut printer, records::Author::All),
        ("query", "user-messages") => records::list_messages(&question, &mut printer, records::Author::Users),
        ("query", "assistant-messages") => {
            records::list_messages(&question, &mut printer, records::Author::Agents)
        }
        ("query", "sessions") => records::list_sessions(&question, &mut printer),
        ("query", "turns") => turns::list_turns(&question, &mut printer),
        ("query", "context") => turns::failure_context(&question, &mut printer),
        ("query", "file-access") => analyze::file_access(&question, &mut printer),
        ("query", "files") => analyze::list_files(&question, &mut printer),
        ("query", "edits") => edit_records::list_edits(&question, &mut printer),
        ("analyze", "sequences") => analyze::tool_sequences(&question, &mut printer),
        ("analyze", "errors") => analyze::count_errors(&question, &mut printer),
        ("analyze", "file-churn") => analyze::file_churn(&question, &mut printer),
        ("analyze", "rework") => edit_records::list_rework(&question, &mut printer),
        ("analyze", "idle") => analyze::idle_gaps(&question, &mut printer),
        ("", "stats") => stats::count_stats(&question, &mut printer),
        ("", "usage") => usage::sum_usage(&question, &mut printer),
        ("", "sources") => coverage::list_sources(&question, &mut printer),
        _ => Err(Error::new(Code::InternalError, format!("{} is listed but not implemented", view.title()))),
    }?;
    outcome.printed = printer.finish()?;
    Ok(outcome)
}

/// A view, and what was asked of it.
pub(crate) struct ViewQuery<'a> {
    pub(crate) history: &'a History<'a>,
    pub(crate) load_names: LoadNames<'a>,
    view: &'a View,
    pub(crate) request: &'a ViewRequest,
}

impl ViewQuery<'_> {
    pub(crate) fn compile_pattern(&self) -> Result<Option<Pattern>, Error> {
        self.request.pattern.as_deref().map(Pattern::new).transpose().map_err(|e| query_error(&e))
    }

    /// The fields to fill: the requested ones, or all fields of the view.
    pub(crate) fn selected_fields(&self) -> Vec<&str> {
        if self.request.fields.is_empty() {
            return self.view.fields.to_vec();
        }
        self.request.fields.iter().map(String::as_str).collect()
    }

    /// Prints records collected in memory from the oldest to the newest: newest first, unless the request reverses it.
    pub(crate) fn print_newest_first(&self, mut lines: Vec<Record<'static>>, printer: &mut Printer<'_>) {
        lines.reverse();
        self.print_records(lines, printer);
    }

    /// Prints records collected in memory, in order or reversed.
    pub(crate) fn print_records(&self, mut lines: Vec<Record<'static>>, printer: &mut Printer<'_>) {
        if self.request.reverse {
            lines.reverse();
        }
        lines.iter().all(|line| printer.print_record(line));
    }
}

/// An error of a filter or a pattern, with a hint.
pub fn query_error(error: &query::Error) -> Error {
    let code = match error {
        query::Error::Child(_) => Code::ReadError,
        _ => Code::FilterError,
    };
    let hint = match error {
        query::Error::Pattern(_) => {
            "patterns are Rust regular expressions; escape . ( ) [ ] * + ? with a backslash"
        }
        query::Error::Filter(_) => "`loci query tools --help` shows the input of filters",
        query::Error::Failed(_) => "guard fields that may be missing: `.file // empty`, `.input.command?`",
        query::Error::Stopped(_) => "narrow the request with --since, --limit or --fields, or pipe into jq",
        query::Error::Child(_) => {
            "filters run in a subprocess of loci; check that this machine can start one"
        }
    };
    Error::new(code, error.to_string()).hint(hint)
}
