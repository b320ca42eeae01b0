//! The operations and views, one module each.
//!
//! Does not know the interfaces that call them.

mod about;
mod analyze;
mod archive;
pub(crate) mod code;
mod coverage;
mod digest;
mod doctor;
mod edit_records;
mod edits;
mod forget;
mod gather_chats;
mod import;
mod index;
pub(crate) mod mailbox;
pub(crate) mod memory;
mod projects;
mod recommend;
mod records;
mod report;
mod resolve_ids;
mod saved_results;
pub(crate) mod search_conversations;
mod secrets;
mod sessions;
mod setup;
pub(crate) mod spending;
mod stats;
mod status;
mod sync;
mod turns;
mod usage;
mod why;

use crate::printer::{Format, Printer};
use crate::{Outcome, Service, Take, query_error};
use api::{Code, Error, View, ViewRequest};
use query::pattern::Pattern;
use record::Record;

pub(crate) fn run_view(
    service: &Service,
    view: &View,
    request: &ViewRequest,
    format: Format,
    take: Take<'_>,
) -> Result<Outcome, Error> {
    let mut printer = Printer::new(service, view, request, format, take)?;
    let question = ViewQuery { service, view, request };
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

pub(crate) struct ViewQuery<'a> {
    pub(crate) service: &'a Service,
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
