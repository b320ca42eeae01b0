//! Views that print events: calls, failures, messages and sessions.
//!
//! Does not know how a record is laid out: that is `history::to_record`.

use super::Question;
use crate::printer::Printer;
use crate::{Outcome, Service};
use api::{Error, ViewRequest};
use catalogue::{Order, Pick};
use history::error::read_error;
use history::ordered_read::{Done, ordered};
use history::scan::{self, Library, Need, by_session, by_session_down, by_time, by_time_down, gather};
use history::scope::Scope;
use history::to_record;
use record::row::USAGE_ONLY;
use record::{Kind, Row, RowKind, Session, Status, TitleOrigin};
use sources::Want;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const CALLS: Want = Want { calls: true, messages: false, fields: false };
pub(crate) const MESSAGES: Want = Want { calls: false, messages: true, fields: false };
pub(crate) const BOTH: Want = Want { calls: true, messages: true, fields: false };

/// Whether a row is a failed call or an API error.
pub(crate) fn is_failure(row: &Row) -> bool {
    match row.row {
        RowKind::Call => row.status() == Status::Error,
        RowKind::Message => row.kind() == Kind::ApiError,
        RowKind::Result => false,
    }
}

// ---- views

impl Question<'_> {
    fn order(&self, up: Order, down: Order) -> Order {
        if self.request.reverse { down } else { up }
    }

    /// Whether a call matches the tool and status filters.
    pub(crate) fn holds_call(&self, library: &Library, row: &Row) -> bool {
        let tool = library.name(row);
        (self.request.tool.is_empty() || self.request.tool.iter().any(|t| **t == **tool))
            && self.request.status.as_deref().is_none_or(|s| s == row.status().word())
    }

    fn print_rows(
        &self,
        library: &mut Library,
        rows: catalogue::Sorted,
        printer: &mut Printer<'_>,
        work: impl Fn(&Library, &Row) -> Done + Sync,
    ) -> Result<(), Error> {
        let mut lost = Vec::new();
        let shared: &Library = library;
        let worked = |row: &Row| work(shared, row);
        ordered(self.service.threads, rows, worked, |done| match done {
            Done::Left => true,
            Done::Line(bytes) => printer.encoded(&bytes),
            Done::Lost(problem) => {
                lost.push(problem);
                true
            }
        })?;
        library.outcome.problems.extend(lost);
        Ok(())
    }
}

pub(crate) fn tools(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, fields, service) = (question.pattern()?, question.fields(), question.service);
    let order = question.order(by_time, by_time_down);
    let (mut library, rows) =
        gather(&question.service.history(), question.request, CALLS, order, |library, joined| {
            question.holds_call(library, &joined.row)
        })?;
    if to_record::is_light(&question.request.fields) && pattern.is_none() {
        for row in rows {
            let row = row.map_err(read_error)?;
            if !printer.record(&to_record::call(&library, &row, None, &fields)) {
                break;
            }
        }
        return Ok(library.outcome);
    }
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match service.history().read_call(library, row) {
            Err(problem) => Done::Lost(problem),
            Ok(call) => {
                let matches = pattern.as_ref().is_none_or(|p| {
                    p.matches(&call.input)
                        || call.output.as_ref().is_some_and(|o| p.matches(&sources::json::text(o.as_bytes())))
                });
                if matches {
                    Done::Line(encoder.encode(&to_record::call(library, row, Some(&call), &fields)))
                } else {
                    Done::Left
                }
            }
        }
    })?;
    Ok(library.outcome)
}

pub(crate) fn errors(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, service) = (question.pattern()?, question.service);
    let order = question.order(by_time, by_time_down);
    let need = Need { want: BOTH, pick: Pick::Failures };
    let (mut library, rows) =
        gather(&question.service.history(), question.request, need, order, |library, joined| {
            question.holds_failure(library, &joined.row)
        })?;
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match service.history().read_failure(library, row) {
            Err(problem) => Done::Lost(problem),
            Ok(failure) => {
                let named = question.request.signature.as_ref().is_none_or(|s| *s == failure.signature);
                let matches = named && pattern.as_ref().is_none_or(|p| p.matches(&failure.message));
                if matches { Done::Line(encoder.encode(&failure.line(library, row))) } else { Done::Left }
            }
        }
    })?;
    Ok(library.outcome)
}

impl Question<'_> {
    pub(crate) fn holds_failure(&self, library: &Library, row: &Row) -> bool {
        let tool = if row.row == RowKind::Call { &**library.name(row) } else { "api" };
        is_failure(row) && (self.request.tool.is_empty() || self.request.tool.iter().any(|t| t == tool))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    All,
    People,
    Agents,
}

pub(crate) fn messages(
    question: &Question<'_>,
    printer: &mut Printer<'_>,
    who: Who,
) -> Result<Outcome, Error> {
    let (pattern, service) = (question.pattern()?, question.service);
    let order = question.order(by_session, by_session_down);
    let (mut library, rows) =
        gather(&question.service.history(), question.request, BOTH, order, |_, joined| {
            spoken(&joined.row, who)
        })?;
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match service.history().read_message(library, row) {
            Err(problem) => Done::Lost(problem),
            Ok(message) => {
                let matches = pattern.as_ref().is_none_or(|p| p.matches(&message.text));
                if matches {
                    Done::Line(encoder.encode(&to_record::message(library, row, &message)))
                } else {
                    Done::Left
                }
            }
        }
    })?;
    Ok(library.outcome)
}

fn spoken(row: &Row, who: Who) -> bool {
    if row.row != RowKind::Message || scan::is_warm_up(row) || row.is(USAGE_ONLY) {
        return false;
    }
    match who {
        Who::All => true,
        Who::People => row.kind() == Kind::Prompt,
        Who::Agents => row.kind() == Kind::Reply,
    }
}

pub(crate) fn sessions(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let pattern = question.pattern()?;
    let mut begun = Begun::default();
    let scope_of_sessions = ViewRequest { since: None, until: None, ..question.request.clone() };
    // Rows are needed only for sessions that share events with another; everything else is in the session facts.
    let need = Need { want: BOTH, pick: Pick::None };
    let (mut library, _) =
        gather(&question.service.history(), &scope_of_sessions, need, by_time, |_, joined| {
            begun.add(&joined.row);
            false
        })?;
    library.scope = Scope::new(&question.service.history(), question.request)?;
    begun.retitle(question.service, &mut library);
    let mut found: Vec<(u32, &Session)> = Vec::new();
    for (facts, ranks) in library.facts.iter().zip(&library.ranks) {
        found.extend(ranks.iter().copied().zip(&facts.sessions));
    }
    found.retain(|(_, session)| {
        let title = session.title.as_ref().map_or("", |(title, _)| title);
        library.scope.holds_session(session)
            && library.scope.holds_span(session)
            && !scan::is_empty(session)
            && pattern.as_ref().is_none_or(|p| p.matches(title))
    });
    found.sort_by_key(|(rank, _)| *rank);
    if question.request.reverse {
        found.reverse();
    }
    found.iter().all(|(_, session)| printer.record(&session.line()));
    Ok(library.outcome)
}

/// The first own prompt of each session: a fork starts with the prompts of its original.
#[derive(Default)]
struct Begun(BTreeMap<(u32, u32), Row>);

impl Begun {
    fn add(&mut self, row: &Row) {
        if row.row != RowKind::Message || row.kind() != Kind::Prompt {
            return;
        }
        let first = self.0.entry((row.file, row.session)).or_insert(*row);
        if row.sequence < first.sequence {
            *first = *row;
        }
    }

    fn retitle(&self, service: &Service, library: &mut Library) {
        for ((file, session), row) in self.0.iter().filter(|(_, row)| row.turn > 1) {
            let Ok(message) = service.history().read_message(library, row) else { continue };
            let slot = &mut library.facts[*file as usize].sessions[*session as usize].title;
            if slot.as_ref().is_none_or(|(_, origin)| *origin == TitleOrigin::FirstPrompt) {
                *slot = Some((Arc::from(sources::survey::title_of(&message.text)), TitleOrigin::FirstPrompt));
            }
        }
    }
}
