//! Views that print events: calls, failures, messages and sessions.
//!
//! Does not know how a record is laid out: that is `history::to_record`.

use crate::ViewQuery;
use crate::printer::Printer;
use api::{Error, ViewRequest};
use catalogue::{EventFilter, Order};
use history::History;
use history::error::read_error;
use history::ordered_read::{RowResult, process_in_order};
use history::outcome::Outcome;
use history::scan::{self, Need, ScanResult, by_session, by_session_down, by_time, by_time_down, scan_rows};
use history::scope::Scope;
use history::to_record;
use record::row::USAGE_ONLY;
use record::{Kind, Row, RowKind, Session, Status, TitleOrigin};
use sources::SurveyOptions;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const CALLS: SurveyOptions = SurveyOptions { calls: true, messages: false, fields: false };
pub const MESSAGES: SurveyOptions = SurveyOptions { calls: false, messages: true, fields: false };
pub const BOTH: SurveyOptions = SurveyOptions::ALL;

/// Whether a row is a failed call or an API error.
pub(crate) fn is_failure(row: &Row) -> bool {
    match row.row {
        RowKind::Call => row.status() == Status::Error,
        RowKind::Message => row.kind() == Kind::ApiError,
        RowKind::Result => false,
    }
}

// ---- views

impl ViewQuery<'_> {
    /// Newest first, unless the request reverses it.
    pub(crate) fn choose_order(&self, oldest_first: Order, newest_first: Order) -> Order {
        if self.request.reverse { oldest_first } else { newest_first }
    }

    /// Whether a call matches the tool and status filters.
    pub(crate) fn matches_call(&self, library: &ScanResult, row: &Row) -> bool {
        let tool = library.name(row);
        (self.request.tool.is_empty() || self.request.tool.iter().any(|t| t.eq_ignore_ascii_case(tool)))
            && self.request.status.as_deref().is_none_or(|s| s == row.status().as_str())
    }

    fn print_rows(
        &self,
        library: &mut ScanResult,
        rows: catalogue::Sorted,
        printer: &mut Printer<'_>,
        work: impl Fn(&ScanResult, &Row) -> RowResult + Sync,
    ) -> Result<(), Error> {
        let mut lost = Vec::new();
        let shared: &ScanResult = library;
        let worked = |row: &Row| work(shared, row);
        process_in_order(self.history.threads, rows, worked, |done| match done {
            RowResult::Skipped => true,
            RowResult::Line(bytes) => printer.print_encoded(&bytes),
            RowResult::Problem(problem) => {
                lost.push(problem);
                true
            }
        })?;
        library.outcome.problems.extend(lost);
        Ok(())
    }
}

pub(crate) fn list_calls(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, fields, history) =
        (question.compile_pattern()?, question.selected_fields(), &question.history);
    let order = question.choose_order(by_time, by_time_down);
    let (mut library, rows) =
        scan_rows(question.history, question.request, CALLS, order, |library, joined| {
            question.matches_call(library, &joined.row)
        })?;
    library.outcome.total = pattern.is_none().then(|| rows.row_count());
    if to_record::needs_row_only(&question.request.fields) && pattern.is_none() {
        for row in rows {
            let row = row.map_err(read_error)?;
            if !printer.print_record(&to_record::call_record(&library, &row, None, &fields)) {
                break;
            }
        }
        return Ok(library.outcome);
    }
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match history.read_call(library, row) {
            Err(problem) => RowResult::Problem(problem),
            Ok(call) => {
                let matches = pattern.as_ref().is_none_or(|p| {
                    p.matches(&call.input)
                        || call
                            .output
                            .as_ref()
                            .is_some_and(|o| p.matches(&sources::json::decode_string(o.as_bytes())))
                });
                if matches {
                    RowResult::Line(encoder.encode(&to_record::call_record(
                        library,
                        row,
                        Some(&call),
                        &fields,
                    )))
                } else {
                    RowResult::Skipped
                }
            }
        }
    })?;
    Ok(library.outcome)
}

pub(crate) fn list_errors(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, history) = (question.compile_pattern()?, &question.history);
    let order = question.choose_order(by_time, by_time_down);
    let need = Need { want: BOTH, pick: EventFilter::Failures };
    let (mut library, rows) =
        scan_rows(question.history, question.request, need, order, |library, joined| {
            question.matches_failure(library, &joined.row)
        })?;
    let is_read = pattern.is_some() || question.request.signature.is_some();
    library.outcome.total = (!is_read).then(|| rows.row_count());
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match history.read_failure(library, row) {
            Err(problem) => RowResult::Problem(problem),
            Ok(failure) => {
                let named = question.request.signature.as_ref().is_none_or(|s| *s == failure.signature);
                let matches = named && pattern.as_ref().is_none_or(|p| p.matches(&failure.message));
                if matches {
                    RowResult::Line(encoder.encode(&failure.to_line(library, row)))
                } else {
                    RowResult::Skipped
                }
            }
        }
    })?;
    Ok(library.outcome)
}

impl ViewQuery<'_> {
    pub(crate) fn matches_failure(&self, library: &ScanResult, row: &Row) -> bool {
        let tool = if row.row == RowKind::Call { &**library.name(row) } else { "api" };
        is_failure(row)
            && (self.request.tool.is_empty()
                || self.request.tool.iter().any(|t| t.eq_ignore_ascii_case(tool)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    All,
    Users,
    Agents,
}

pub(crate) fn list_messages(
    question: &ViewQuery<'_>,
    printer: &mut Printer<'_>,
    who: Author,
) -> Result<Outcome, Error> {
    let (pattern, history) = (question.compile_pattern()?, &question.history);
    let order = question.choose_order(by_session, by_session_down);
    let (mut library, rows) = scan_rows(question.history, question.request, BOTH, order, |_, joined| {
        is_message_of(&joined.row, who)
    })?;
    library.outcome.total = pattern.is_none().then(|| rows.row_count());
    let encoder = printer.encoder.clone();
    question.print_rows(&mut library, rows, printer, |library, row| {
        match history.read_message(library, row) {
            Err(problem) => RowResult::Problem(problem),
            Ok(message) => {
                let matches = pattern.as_ref().is_none_or(|p| p.matches(&message.text));
                if matches {
                    RowResult::Line(encoder.encode(&to_record::message_record(library, row, &message)))
                } else {
                    RowResult::Skipped
                }
            }
        }
    })?;
    Ok(library.outcome)
}

fn is_message_of(row: &Row, who: Author) -> bool {
    if row.row != RowKind::Message || scan::is_warm_up(row) || row.has_flag(USAGE_ONLY) {
        return false;
    }
    match who {
        Author::All => true,
        Author::Users => row.kind() == Kind::Prompt,
        Author::Agents => row.kind() == Kind::Reply,
    }
}

pub(crate) fn list_sessions(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let pattern = question.compile_pattern()?;
    let mut begun = FirstPrompts::default();
    let scope_of_sessions = ViewRequest { since: None, until: None, ..question.request.clone() };
    // Rows are needed only for sessions that share events with another; everything else is in the session facts.
    let need = Need { want: BOTH, pick: EventFilter::None };
    let (mut library, _) = scan_rows(question.history, &scope_of_sessions, need, by_time, |_, joined| {
        begun.add_row(&joined.row);
        false
    })?;
    library.scope = Scope::new(question.history, question.request)?;
    begun.retitle_sessions(question.history, &mut library);
    let name = (question.load_names)();
    let sessions = library.facts.iter().flat_map(|facts| &facts.sessions);
    let mut found: Vec<(u32, &Session)> = library.ranks.iter().copied().zip(sessions).collect();
    found.retain(|(_, session)| {
        library.scope.contains_session(session)
            && library.scope.overlaps_session(session)
            && !scan::is_empty(session)
            && pattern.as_ref().is_none_or(|p| {
                p.matches(&name(session).map_or_else(|| session.title_text().to_string(), |(name, _)| name))
            })
    });
    found.sort_by_key(|(rank, _)| *rank);
    if !question.request.reverse {
        found.reverse();
    }
    library.outcome.total = Some(found.len() as u64);
    found.iter().all(|(_, session)| printer.print_record(&session.to_record(name(session))));
    Ok(library.outcome)
}

/// The first own prompt of each session: a fork starts with the prompts of its original.
#[derive(Default)]
struct FirstPrompts(BTreeMap<(u32, u32), Row>);

impl FirstPrompts {
    fn add_row(&mut self, row: &Row) {
        if row.row != RowKind::Message || row.kind() != Kind::Prompt {
            return;
        }
        let first = self.0.entry((row.file, row.session)).or_insert(*row);
        if row.sequence < first.sequence {
            *first = *row;
        }
    }

    fn retitle_sessions(&self, history: &History<'_>, library: &mut ScanResult) {
        for ((file, session), row) in self.0.iter().filter(|(_, row)| row.turn > 1) {
            let Ok(message) = history.read_message(library, row) else { continue };
            let slot = &mut library.facts[*file as usize].sessions[*session as usize].title;
            if slot.as_ref().is_none_or(|(_, origin)| *origin == TitleOrigin::FirstPrompt) {
                *slot = Some((
                    Arc::from(sources::survey::title_from_prompt(&message.text)),
                    TitleOrigin::FirstPrompt,
                ));
            }
        }
    }
}
