//! Views that aggregate over many calls: sequences, failures by signature, files by access, idle gaps.
//!
//! Does not know how rows are found or sorted: that is `history::scan`.

use crate::ViewQuery;
use crate::printer::Printer;
use crate::records::{BOTH, CALLS, MESSAGES};
use api::Error;
use history::error::read_error;
use history::outcome::Outcome;
use history::scan::{ScanResult, by_session, by_time, is_warm_up, scan_rows};
use query::failures::Failures;
use query::file_usage::{FileAccess, FileUsage, UsageView};
use query::idle::{IdleGaps, SessionEvent};
use query::sequences::Sequences;
use record::Row;

/// A tool sequence that occurs less often is considered coincidence.
const MIN_SEQUENCE_COUNT: u64 = 3;
const MIN_CHURN_COUNT: u64 = 5;
const IDLE_MINUTES: f64 = 5.0;

pub(crate) fn tool_sequences(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (library, rows) = scan_rows(question.history, question.request, CALLS, by_session, |_, _| true)?;
    let mut sequences = Sequences::new(question.request.pattern.as_deref());
    for row in rows {
        let row = row.map_err(read_error)?;
        sequences.add_call(to_used_call(&library, &row));
    }
    question.print_records(
        sequences.into_records(question.request.min_count.unwrap_or(MIN_SEQUENCE_COUNT)),
        printer,
    );
    Ok(library.outcome)
}

pub(crate) fn count_errors(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let pattern = question.compile_pattern()?;
    let (mut library, rows) =
        scan_rows(question.history, question.request, BOTH, by_time, |library, joined| {
            question.matches_failure(library, &joined.row)
        })?;
    let mut failures = Failures::default();
    for row in rows {
        let row = row.map_err(read_error)?;
        match question.history.read_failure(&library, &row) {
            Ok(f) if pattern.as_ref().is_none_or(|p| p.matches(&f.message)) => {
                failures.add_failure(
                    &f.signature,
                    &f.tool,
                    &f.message,
                    &library.session(&row).session_id,
                    row.at,
                );
            }
            Ok(_) => {}
            Err(problem) => library.outcome.problems.push(problem),
        }
    }
    question.print_records(failures.into_records(question.request.min_count.unwrap_or(1)), printer);
    Ok(library.outcome)
}

pub(crate) fn list_files(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    aggregate_files(question, printer, UsageView::List)
}

pub(crate) fn file_access(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    aggregate_files(question, printer, UsageView::Timeline)
}

pub(crate) fn file_churn(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    aggregate_files(
        question,
        printer,
        UsageView::Churn(question.request.min_count.unwrap_or(MIN_CHURN_COUNT)),
    )
}

fn aggregate_files(
    question: &ViewQuery<'_>,
    printer: &mut Printer<'_>,
    shape: UsageView,
) -> Result<Outcome, Error> {
    let pattern = question.compile_pattern()?;
    let (mut library, rows) =
        scan_rows(question.history, question.request, CALLS, by_time, |library, joined| {
            FileAccess::from_tool(library.name(&joined.row)).is_some()
        })?;
    let mut touched = FileUsage::default();
    for row in rows {
        let row = row.map_err(read_error)?;
        let Some(act) = FileAccess::from_tool(library.name(&row)) else { continue };
        let file = match question.history.read_call(&library, &row) {
            Ok(call) => call.file.map(|file| library.absolute_path(&row, &file)),
            Err(problem) => {
                library.outcome.problems.push(problem);
                continue;
            }
        };
        let Some(file) =
            file.filter(|f| question.matches_file(f) && pattern.as_ref().is_none_or(|p| p.matches(f)))
        else {
            continue;
        };
        touched.add_use(&file, act, &to_used_call(&library, &row), shape == UsageView::Timeline);
    }
    question.print_records(touched.into_records(shape), printer);
    Ok(library.outcome)
}

impl ViewQuery<'_> {
    /// Whether `file` equals the requested path or ends with it at a `/` boundary.
    pub(super) fn matches_file(&self, file: &str) -> bool {
        let Some(wanted) = &self.request.file else { return true };
        file == wanted
            || file
                .strip_suffix(wanted.as_str())
                .is_some_and(|head| head.ends_with('/') || wanted.starts_with('/'))
    }
}

pub(crate) fn idle_gaps(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let main =
        |library: &ScanResult, row: &record::Row| library.session(row).agent_id.is_none() && !is_warm_up(row);
    let (library, rows) =
        scan_rows(question.history, question.request, MESSAGES, by_session, |library, joined| {
            main(library, &joined.row)
        })?;
    let mut idle = IdleGaps::new(question.request.minutes.unwrap_or(IDLE_MINUTES));
    for row in rows {
        let row = row.map_err(read_error)?;
        let session = library.session(&row).session_id.clone();
        idle.add_event(SessionEvent {
            session,
            turn: row.turn,
            at: row.at,
            until: row.until,
            kind: row.kind().as_str(),
        });
    }
    question.print_newest_first(idle.into_records(), printer);
    Ok(library.outcome)
}

/// Converts a joined row to the form that the aggregations take.
fn to_used_call(library: &ScanResult, row: &Row) -> query::ToolCall {
    query::ToolCall {
        session: library.session(row).session_id.clone(),
        run: row.key,
        turn: row.turn,
        at: row.at,
        tool: library.name(row).clone(),
        status: row.status(),
    }
}
