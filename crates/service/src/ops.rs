//! The questions, each in its room.

mod align;
mod analyze;
pub(crate) mod archive;
pub(crate) mod code;
mod coverage;
pub(crate) mod doctor;
pub(crate) mod forget;
pub(crate) mod gather_chats;
pub(crate) mod index;
pub(crate) mod mailbox;
pub(crate) mod memory;
mod parallel;
pub(crate) mod recommend;
mod records;
pub(crate) mod resolve_ids;
pub(crate) mod search_conversations;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod spending;
mod stats;
pub(crate) mod status;
mod turns;
mod usage;

use crate::printer::{Format, Printer};
use crate::{Outcome, Service, Take, query_error};
use api::{Ask, Code, Error, View};
use query::pattern::Pattern;
use record::Line;

pub(crate) fn answer(
    service: &Service,
    view: &View,
    ask: &Ask,
    format: Format,
    take: Take<'_>,
) -> Result<Outcome, Error> {
    let mut printer = Printer::new(service, view, ask, format, take)?;
    let question = Question { service, view, ask };
    let mut outcome = match (view.group, view.name) {
        ("query", "tools") => records::tools(&question, &mut printer),
        ("query", "errors") => records::errors(&question, &mut printer),
        ("query", "messages") => records::messages(&question, &mut printer, records::Who::All),
        ("query", "user-messages") => records::messages(&question, &mut printer, records::Who::People),
        ("query", "assistant-messages") => records::messages(&question, &mut printer, records::Who::Agents),
        ("query", "sessions") => records::sessions(&question, &mut printer),
        ("query", "turns") => turns::turns(&question, &mut printer),
        ("query", "context") => turns::context(&question, &mut printer),
        ("query", "file-access") => analyze::file_access(&question, &mut printer),
        ("query", "files") => analyze::files(&question, &mut printer),
        ("analyze", "sequences") => analyze::sequences(&question, &mut printer),
        ("analyze", "errors") => analyze::errors(&question, &mut printer),
        ("analyze", "file-churn") => analyze::file_churn(&question, &mut printer),
        ("analyze", "idle") => analyze::idle(&question, &mut printer),
        ("", "stats") => stats::stats(&question, &mut printer),
        ("", "usage") => usage::usage(&question, &mut printer),
        ("", "sources") => coverage::sources(&question, &mut printer),
        _ => Err(Error::new(Code::InternalError, format!("{} is listed but not answered", view.title()))),
    }?;
    outcome.printed = printer.finish()?;
    Ok(outcome)
}

pub(crate) struct Question<'a> {
    pub(crate) service: &'a Service,
    view: &'a View,
    pub(crate) ask: &'a Ask,
}

impl Question<'_> {
    pub(crate) fn pattern(&self) -> Result<Option<Pattern>, Error> {
        self.ask.pattern.as_deref().map(Pattern::new).transpose().map_err(|e| query_error(&e))
    }

    /// The fields to fill: those asked for, or all the view has.
    pub(crate) fn fields(&self) -> Vec<&str> {
        if self.ask.fields.is_empty() {
            return self.view.fields.to_vec();
        }
        self.ask.fields.iter().map(String::as_str).collect()
    }

    /// Prints records that were made in memory, in their order or the other way round.
    pub(crate) fn print(&self, mut lines: Vec<Line<'static>>, printer: &mut Printer<'_>) {
        if self.ask.reverse {
            lines.reverse();
        }
        lines.iter().all(|line| printer.record(line));
    }
}
