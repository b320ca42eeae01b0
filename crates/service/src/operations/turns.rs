//! Views by turn: prompts with their replies and calls, and the turns around a failure.
//!
//! Does not know how rows are joined or sorted: that is `history::scan`.

use super::Question;
use super::records::{BOTH, is_failure};
use crate::printer::Printer;
use crate::{Outcome, Service};
use api::Error;
use history::error::read_error;
use history::scan::{Library, by_session, gather, is_warm_up};
use history::to_record::{Failure, tokens};
use record::{Cell, Kind, Line, Problem, Row, RowKind, Stamp, Status, Tokens};
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

    fn holds(&self, row: &Row) -> bool {
        (self.first.key, self.first.turn) == (row.key, row.turn)
    }

    fn add(&mut self, library: &Library, row: Row) {
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
enum Together {
    Turn,
    Session,
}

/// Visits the turns of the sessions in scope, holding in memory only those of one callback.
fn walk(
    question: &Question<'_>,
    together: Together,
    mut each_session: impl FnMut(&Library, Vec<Turn>, &mut Vec<Problem>) -> bool,
) -> Result<Outcome, Error> {
    let (mut library, mut rows) =
        gather(&question.service.history(), question.request, BOTH, by_session, |_, joined| {
            !is_warm_up(&joined.row)
        })?;
    let (mut turns, mut problems): (Vec<Turn>, Vec<Problem>) = (Vec::new(), Vec::new());
    loop {
        let next = rows.next().transpose().map_err(read_error)?;
        let goes_on = |row: &Row| match together {
            Together::Turn => turns.last().is_some_and(|t| t.holds(row)),
            Together::Session => turns.last().is_some_and(|t| t.first.key == row.key),
        };
        if !next.as_ref().is_some_and(goes_on) && !turns.is_empty() {
            let session = std::mem::take(&mut turns);
            if !each_session(&library, session, &mut problems) {
                break;
            }
        }
        let Some(row) = next else { break };
        if !turns.last().is_some_and(|t| t.holds(&row)) {
            turns.push(Turn::new(row));
        }
        if let Some(turn) = turns.last_mut() {
            turn.add(&library, row);
        }
    }
    library.outcome.problems.extend(problems);
    Ok(library.outcome)
}

/// Prints records immediately, or buffers them encoded until the end for reverse order.
struct Listing<'q, 'p> {
    printer: &'q mut Printer<'p>,
    waiting: Option<Vec<Vec<u8>>>,
}

impl<'q, 'p> Listing<'q, 'p> {
    fn new(question: &Question<'_>, printer: &'q mut Printer<'p>) -> Listing<'q, 'p> {
        Listing { printer, waiting: question.request.reverse.then(Vec::new) }
    }

    fn print(&mut self, line: &Line<'_>) -> bool {
        let Some(waiting) = &mut self.waiting else { return self.printer.record(line) };
        waiting.push(self.printer.encoder.encode(line));
        true
    }

    fn finish(self) {
        self.waiting.into_iter().flatten().rev().all(|line| self.printer.encoded(&line));
    }
}

fn text(service: &Service, library: &Library, row: Option<&Row>, problems: &mut Vec<Problem>) -> String {
    let Some(row) = row else { return String::new() };
    match service.history().read_message(library, row) {
        Ok(message) => message.text,
        Err(problem) => {
            problems.push(problem);
            String::new()
        }
    }
}

pub(crate) fn turns(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, service) = (question.pattern()?, question.service);
    let mut listing = Listing::new(question, printer);
    let outcome = walk(question, Together::Turn, |library, turns, problems| {
        for turn in turns.iter().filter(|t| t.first.turn > 0) {
            let mut text = |row: &Option<Row>| text(service, library, row.as_ref(), problems);
            let (prompt, reply) = (text(&turn.prompt), text(&turn.reply));
            if pattern.as_ref().is_some_and(|p| !p.matches(&prompt) && !p.matches(&reply)) {
                continue;
            }
            let line = turn_line(library, turn, &prompt, &reply);
            if !listing.print(&line) {
                return false;
            }
        }
        true
    })?;
    listing.finish();
    Ok(outcome)
}

fn turn_line<'a>(library: &'a Library, turn: &'a Turn, prompt: &'a str, reply: &'a str) -> Line<'a> {
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
        ("tokens", tokens(spent)),
        ("abandoned", if library.abandoned(&turn.first) { Cell::Bool(true) } else { Cell::Null }),
    ]
}

// ---- failure context

/// Characters shown of a neighbouring turn.
const PREVIEW: usize = 200;
const WINDOW: u32 = 3;

pub(crate) fn context(question: &Question<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, service) = (question.pattern()?, question.service);
    let window = question.request.window.unwrap_or(WINDOW) as usize;
    let mut listing = Listing::new(question, printer);
    let outcome = walk(question, Together::Session, |library, turns, problems| {
        for (at, turn) in turns.iter().enumerate() {
            for row in turn.failures.iter().filter(|row| question.holds_failure(library, row)) {
                let failure = match service.history().read_failure(library, row) {
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
                    Cell::List(turns.iter().map(|t| preview(service, library, t, problems)).collect())
                };
                let before = shown(&turns[at.saturating_sub(window)..at]);
                let here = shown(&turns[at..=at]);
                let after = shown(&turns[(at + 1).min(turns.len())..(at + 1 + window).min(turns.len())]);
                let line = context_line(library, row, &failure, before, here, after);
                if !listing.print(&line) {
                    return false;
                }
            }
        }
        true
    })?;
    listing.finish();
    Ok(outcome)
}

fn context_line<'a>(
    library: &'a Library,
    row: &Row,
    failure: &'a Failure,
    before: Cell<'a>,
    here: Cell<'a>,
    after: Cell<'a>,
) -> Line<'a> {
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

fn preview(service: &Service, library: &Library, turn: &Turn, problems: &mut Vec<Problem>) -> Cell<'static> {
    let cut = |s: String| s.chars().take(PREVIEW).collect::<String>();
    let prompt = cut(text(service, library, turn.prompt.as_ref(), problems));
    let reply = cut(text(service, library, turn.reply.as_ref(), problems));
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
