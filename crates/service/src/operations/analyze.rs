//! Views that aggregate over many calls: sequences, failures by signature, files by access, idle gaps.
//!
//! Does not know how rows are found or sorted: that is `history::scan`.

use super::Question;
use super::records::{BOTH, CALLS, MESSAGES};
use crate::Outcome;
use crate::printer::Printer;
use api::Error;
use history::error::read_error;
use history::scan::{Library, by_session, by_time, gather, is_warm_up};
use query::failures::Failures;
use query::idle::{Idle, Moment};
use query::sequences::Sequences;
use query::touched::{Act, Shape, Touched};
use record::Row;

/// A tool sequence that occurs less often is considered coincidence.
const SEQUENCE_LEAST: u64 = 3;
const CHURN_LEAST: u64 = 5;
const IDLE_MINUTES: f64 = 5.0;

pub(crate) fn sequences(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (library, rows) =
        gather(&question.service.history(), question.request, CALLS, by_session, |_, _| true)?;
    let mut sequences = Sequences::new(question.request.pattern.as_deref());
    for row in rows {
        let row = row.map_err(read_error)?;
        sequences.add(used(&library, &row));
    }
    question.print(sequences.lines(question.request.min_count.unwrap_or(SEQUENCE_LEAST)), printer);
    Ok(library.outcome)
}

pub(crate) fn errors(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let pattern = question.pattern()?;
    let (mut library, rows) =
        gather(&question.service.history(), question.request, BOTH, by_time, |library, joined| {
            question.holds_failure(library, &joined.row)
        })?;
    let mut failures = Failures::default();
    for row in rows {
        let row = row.map_err(read_error)?;
        match question.service.history().read_failure(&library, &row) {
            Ok(f) if pattern.as_ref().is_none_or(|p| p.matches(&f.message)) => {
                failures.add(&f.signature, &f.tool, &f.message, &library.session(&row).session_id, row.at);
            }
            Ok(_) => {}
            Err(problem) => library.outcome.problems.push(problem),
        }
    }
    question.print(failures.lines(question.request.min_count.unwrap_or(1)), printer);
    Ok(library.outcome)
}

pub(crate) fn files(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    touched(question, printer, Shape::List)
}

pub(crate) fn file_access(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    touched(question, printer, Shape::Timeline)
}

pub(crate) fn file_churn(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    touched(question, printer, Shape::Churn(question.request.min_count.unwrap_or(CHURN_LEAST)))
}

fn touched(question: &Question<'_>, printer: &mut Printer<'_>, shape: Shape) -> Result<Outcome, Error> {
    let pattern = question.pattern()?;
    let (mut library, rows) =
        gather(&question.service.history(), question.request, CALLS, by_time, |library, joined| {
            Act::of(library.name(&joined.row)).is_some()
        })?;
    let mut touched = Touched::default();
    for row in rows {
        let row = row.map_err(read_error)?;
        let Some(act) = Act::of(library.name(&row)) else { continue };
        let file = match question.service.history().read_call(&library, &row) {
            Ok(call) => call.file.map(|file| absolute(&library.session(&row).cwd, file)),
            Err(problem) => {
                library.outcome.problems.push(problem);
                continue;
            }
        };
        let Some(file) =
            file.filter(|f| question.holds_file(f) && pattern.as_ref().is_none_or(|p| p.matches(f)))
        else {
            continue;
        };
        touched.add(&file, act, &used(&library, &row), shape == Shape::Timeline);
    }
    question.print(touched.lines(shape), printer);
    Ok(library.outcome)
}

/// Some agents record paths as typed, relative to the session's working directory.
fn absolute(cwd: &str, file: String) -> String {
    if cwd.is_empty() || file.starts_with(['/', '~']) {
        return file;
    }
    format!("{}/{}", cwd.trim_end_matches('/'), file.trim_start_matches("./"))
}

impl Question<'_> {
    /// Whether `file` equals the requested path or ends with it at a `/` boundary.
    fn holds_file(&self, file: &str) -> bool {
        let Some(wanted) = &self.request.file else { return true };
        file == wanted
            || file
                .strip_suffix(wanted.as_str())
                .is_some_and(|head| head.ends_with('/') || wanted.starts_with('/'))
    }
}

pub(crate) fn idle(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let main =
        |library: &Library, row: &record::Row| library.session(row).agent_id.is_none() && !is_warm_up(row);
    let (library, rows) =
        gather(&question.service.history(), question.request, MESSAGES, by_session, |library, joined| {
            main(library, &joined.row)
        })?;
    let mut idle = Idle::new(question.request.minutes.unwrap_or(IDLE_MINUTES));
    for row in rows {
        let row = row.map_err(read_error)?;
        let session = library.session(&row).session_id.clone();
        idle.add(Moment { session, turn: row.turn, at: row.at, until: row.until, what: row.kind().word() });
    }
    question.print(idle.lines(), printer);
    Ok(library.outcome)
}

/// Converts a joined row to the form that the aggregations take.
fn used(library: &Library, row: &Row) -> query::Used {
    query::Used {
        session: library.session(row).session_id.clone(),
        run: row.key,
        turn: row.turn,
        at: row.at,
        tool: library.name(row).clone(),
        status: row.status(),
    }
}
