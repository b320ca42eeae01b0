//! Views by turn: prompts with their replies and calls, and the turns around a failure.
//!
//! Does not know how rows are joined or sorted: that is `history::scan`.

use crate::ViewQuery;
use crate::printer::Printer;
use crate::records::{BOTH, is_failure};
use api::Error;
use history::History;
use history::error::read_error;
use history::outcome::Outcome;
use history::scan::{ScanResult, by_session, by_turn_down, is_warm_up, scan_rows};
use history::to_record::{Failure, tokens_cell};
use record::{Cell, Kind, Problem, Record, Row, RowKind, Stamp, Status, Tokens};
use std::sync::Arc;

/// One turn, accumulated from its rows.
struct Turn {
    first: Row,
    prompt: Option<Row>,
    reply: Option<Row>,
    messages: u32,
    errors: u32,
    tools: Vec<Arc<str>>,
    tokens: [u64; 4],
    until: Stamp,
    failures: Vec<Row>,
}

impl Turn {
    fn new(row: Row) -> Turn {
        let (prompt, reply, until) = (None, None, Stamp::NONE);
        Turn {
            first: row,
            prompt,
            reply,
            messages: 0,
            errors: 0,
            tools: Vec::new(),
            tokens: [0; 4],
            until,
            failures: Vec::new(),
        }
    }

    fn contains_row(&self, row: &Row) -> bool {
        (self.first.key, self.first.turn) == (row.key, row.turn)
    }

    fn add_row(&mut self, library: &ScanResult, row: Row) {
        self.until = self.until.max(row.until).max(row.at);
        if is_failure(&row) {
            self.failures.push(row);
        }
        match (row.row, row.kind()) {
            (RowKind::Call, _) => {
                self.tools.push(library.name(&row).clone());
                self.errors += u32::from(row.status() == Status::Error);
            }
            (_, kind) => {
                self.messages += 1;
                self.add_tokens(row.tokens);
                match kind {
                    Kind::Prompt | Kind::Task => self.prompt = Some(row),
                    Kind::Reply => self.reply = Some(row),
                    _ => {}
                }
            }
        }
    }

    fn add_tokens(&mut self, t: Tokens) {
        for (sum, n) in self.tokens.iter_mut().zip([t.input, t.output, t.cache_read, t.cache_write]) {
            *sum += u64::from(n);
        }
    }
}

/// How many turns a callback sees at once: one, or a whole session where neighbours matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batch {
    Turn,
    Session,
}

/// Visits the turns of the sessions in scope, holding in memory only those of one callback.
fn visit_turns(
    question: &ViewQuery<'_>,
    together: Batch,
    mut each_session: impl FnMut(&ScanResult, Vec<Turn>, &mut Vec<Problem>) -> bool,
) -> Result<Outcome, Error> {
    let order = question.choose_order(by_session, by_turn_down);
    let (mut library, mut rows) =
        scan_rows(question.history, question.request, BOTH, order, |_, joined| !is_warm_up(&joined.row))?;
    let (mut turns, mut problems): (Vec<Turn>, Vec<Problem>) = (Vec::new(), Vec::new());
    loop {
        let next = rows.next().transpose().map_err(read_error)?;
        let goes_on = |row: &Row| match together {
            Batch::Turn => turns.last().is_some_and(|t| t.contains_row(row)),
            Batch::Session => turns.last().is_some_and(|t| t.first.key == row.key),
        };
        if !next.as_ref().is_some_and(goes_on) && !turns.is_empty() {
            let session = std::mem::take(&mut turns);
            if !each_session(&library, session, &mut problems) {
                break;
            }
        }
        let Some(row) = next else { break };
        if !turns.last().is_some_and(|t| t.contains_row(&row)) {
            turns.push(Turn::new(row));
        }
        if let Some(turn) = turns.last_mut() {
            turn.add_row(&library, row);
        }
    }
    library.outcome.problems.extend(problems);
    Ok(library.outcome)
}

fn message_text(
    history: &History<'_>,
    library: &ScanResult,
    row: Option<&Row>,
    problems: &mut Vec<Problem>,
) -> String {
    let Some(row) = row else { return String::new() };
    match history.read_message(library, row) {
        Ok(message) => message.text,
        Err(problem) => {
            problems.push(problem);
            String::new()
        }
    }
}

pub(crate) fn list_turns(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, history) = (question.compile_pattern()?, &question.history);
    visit_turns(question, Batch::Turn, |library, turns, problems| {
        for turn in turns.iter().filter(|t| t.first.turn > 0) {
            let mut text = |row: &Option<Row>| message_text(history, library, row.as_ref(), problems);
            let (prompt, reply) = (text(&turn.prompt), text(&turn.reply));
            if pattern.as_ref().is_some_and(|p| !p.matches(&prompt) && !p.matches(&reply)) {
                continue;
            }
            if !printer.print_record(&turn_line(library, turn, &prompt, &reply)) {
                return false;
            }
        }
        true
    })
}

fn turn_line<'a>(library: &'a ScanResult, turn: &'a Turn, prompt: &'a str, reply: &'a str) -> Record<'a> {
    let session = library.session(&turn.first);
    let start = turn.prompt.as_ref().unwrap_or(&turn.first).at;
    let some = |s: &'a str| if s.is_empty() { Cell::Null } else { Cell::text(s) };
    let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let [input, output, cache_read, cache_write] = turn.tokens.map(clamp);
    let spent = Tokens { input, output, cache_read, cache_write, cache_write_1h: 0 };
    vec![
        ("session_id", Cell::text(&*session.session_id)),
        ("source", Cell::text(session.source)),
        ("project", some(&session.project)),
        ("agent_id", Cell::opt(session.agent_id.as_deref(), Cell::text)),
        ("turn", Cell::count(turn.first.turn)),
        ("timestamp", Cell::Time(start)),
        ("ended_at", Cell::Time(turn.until)),
        (
            "duration_ms",
            if start.is_some() && turn.until.is_some() {
                Cell::Int(turn.until.0 - start.0)
            } else {
                Cell::Null
            },
        ),
        ("prompt", Cell::text(prompt)),
        ("reply", some(reply)),
        ("messages", Cell::count(turn.messages)),
        ("tool_calls", Cell::count(turn.tools.len())),
        ("errors", Cell::count(turn.errors)),
        ("tools", Cell::List(turn.tools.iter().map(|t| Cell::text(&**t)).collect())),
        ("tokens", tokens_cell(spent)),
        ("abandoned", if library.is_abandoned(&turn.first) { Cell::Bool(true) } else { Cell::Null }),
    ]
}

// ---- failure context

/// Characters shown of a neighbouring turn.
const PREVIEW_CHARS: usize = 200;
const DEFAULT_WINDOW: u32 = 3;

pub(crate) fn failure_context(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, history) = (question.compile_pattern()?, &question.history);
    let window = question.request.window.unwrap_or(DEFAULT_WINDOW) as usize;
    visit_turns(question, Batch::Session, |library, mut turns, problems| {
        if !question.request.reverse {
            turns.reverse();
        }
        for (at, row) in failures_in_order(&turns, question.request.reverse) {
            if question.matches_failure(library, row) {
                let failure = match history.read_failure(library, row) {
                    Ok(failure) => failure,
                    Err(problem) => {
                        problems.push(problem);
                        continue;
                    }
                };
                let named = question.request.signature.as_ref().is_none_or(|s| *s == failure.signature);
                if !named || pattern.as_ref().is_some_and(|p| !p.matches(&failure.message)) {
                    continue;
                }
                let mut shown = |turns: &[Turn]| {
                    Cell::List(turns.iter().map(|t| preview_turn(history, library, t, problems)).collect())
                };
                let before = shown(&turns[at.saturating_sub(window)..at]);
                let here = shown(&turns[at..=at]);
                let after = shown(&turns[(at + 1).min(turns.len())..(at + 1 + window).min(turns.len())]);
                let line = context_line(library, row, &failure, before, here, after);
                if !printer.print_record(&line) {
                    return false;
                }
            }
        }
        true
    })
}

/// The failures of a session's turns with the index of their turn, newest first or oldest first.
fn failures_in_order(turns: &[Turn], oldest_first: bool) -> Vec<(usize, &Row)> {
    let mut all: Vec<(usize, &Row)> = turns
        .iter()
        .enumerate()
        .flat_map(|(at, turn)| turn.failures.iter().map(move |row| (at, row)))
        .collect();
    if !oldest_first {
        all.reverse();
    }
    all
}

fn context_line<'a>(
    library: &'a ScanResult,
    row: &Row,
    failure: &'a Failure,
    before: Cell<'a>,
    here: Cell<'a>,
    after: Cell<'a>,
) -> Record<'a> {
    let session = library.session(row);
    vec![
        ("signature", Cell::text(failure.signature.as_str())),
        ("session_id", Cell::text(&*session.session_id)),
        ("source", Cell::text(session.source)),
        ("project", if session.project.is_empty() { Cell::Null } else { Cell::text(&*session.project) }),
        ("turn", Cell::count(row.turn)),
        ("timestamp", Cell::Time(row.at)),
        ("tool", Cell::text(failure.tool.as_str())),
        ("message", Cell::text(failure.message.as_str())),
        ("before", before),
        ("at", here),
        ("after", after),
    ]
}

fn preview_turn(
    history: &History<'_>,
    library: &ScanResult,
    turn: &Turn,
    problems: &mut Vec<Problem>,
) -> Cell<'static> {
    let cut = |s: String| s.chars().take(PREVIEW_CHARS).collect::<String>();
    let prompt = cut(message_text(history, library, turn.prompt.as_ref(), problems));
    let reply = cut(message_text(history, library, turn.reply.as_ref(), problems));
    let some = |s: String| if s.is_empty() { Cell::Null } else { Cell::text(s) };
    Cell::Object(vec![
        ("turn", Cell::count(turn.first.turn)),
        ("timestamp", Cell::Time(turn.first.at)),
        ("prompt", some(prompt)),
        ("reply", some(reply)),
        ("tools", Cell::List(turn.tools.iter().map(|t| Cell::text(t.to_string())).collect())),
        ("errors", Cell::count(turn.errors)),
    ])
}
