//! Counts of sessions, turns, messages and calls, as one record or by group.
//!
//! Does not read transcripts: rows are enough.

use crate::ViewQuery;
use crate::printer::Printer;
use crate::records::BOTH;
use api::Error;
use history::error::read_error;
use history::outcome::Outcome;
use history::scan::{ScanResult, by_time, is_warm_up, scan_rows};
use query::stats::{Stats, round_rate};
use record::{Cell, Clock, Kind, Record, Row, RowKind, Stamp};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn count_stats(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    // With a tool or status filter, only calls are counted.
    let of_calls = !question.request.tool.is_empty() || question.request.status.is_some();
    let mut total = Total { of_calls, ..Total::default() };
    let (library, rows) = scan_rows(question.history, question.request, BOTH, by_time, |library, joined| {
        let row = &joined.row;
        if is_warm_up(row) {
            return false;
        }
        if row.row == RowKind::Message {
            if !total.of_calls {
                total.add_message(library, row);
            }
            return false;
        }
        question.matches_call(library, row)
    })?;
    let by = question.request.by.as_deref().and_then(|by| GROUPINGS.iter().find(|(name, _)| *name == by));
    let (name, group) = by
        .copied()
        .unwrap_or(("tool", |library: &ScanResult, row: &Row, _: Clock| library.name(row).to_string()));
    let mut stats = Stats::default();
    for row in rows {
        let row = row.map_err(read_error)?;
        total.add_call(&library, &row);
        stats.add_call(
            &group(&library, &row, question.history.clock),
            row.status(),
            &library.session(&row).session_id,
        );
    }
    if name == "day" {
        question.print_newest_first(stats.into_records(name), printer);
    } else if by.is_some() {
        question.print_records(stats.into_records(name), printer);
    } else if !total.sessions.is_empty() {
        printer.print_record(&total.to_record(stats.into_records("tool")));
    }
    Ok(library.outcome)
}

type GroupOf = fn(&ScanResult, &Row, Clock) -> String;

const GROUPINGS: &[(&str, GroupOf)] = &[
    ("tool", |library, row, _| library.name(row).to_string()),
    ("day", |_, row, clock| clock.local_day(row.at)),
    ("session", |library, row, _| library.session(row).session_id.to_string()),
    ("project", |library, row, _| library.session(row).project.to_string()),
    ("source", |library, row, _| library.session(row).source.to_string()),
    ("status", |_, row, _| row.status().as_str().to_string()),
];

#[derive(Default)]
struct Total {
    of_calls: bool,
    sessions: BTreeSet<Arc<str>>,
    turns: u64,
    messages: u64,
    calls: u64,
    errors: u64,
    first: Option<Stamp>,
    last: Stamp,
}

impl Total {
    fn extend_span(&mut self, library: &ScanResult, row: &Row) {
        let id = &library.session(row).session_id;
        if !self.sessions.contains(id) {
            self.sessions.insert(id.clone());
        }
        if row.at.is_some() {
            self.first = Some(self.first.map_or(row.at, |f| f.min(row.at)));
            self.last = self.last.max(row.until).max(row.at);
        }
    }

    fn add_message(&mut self, library: &ScanResult, row: &Row) {
        self.extend_span(library, row);
        self.messages += 1;
        self.turns += u64::from(row.kind() == Kind::Prompt);
    }

    fn add_call(&mut self, library: &ScanResult, row: &Row) {
        self.extend_span(library, row);
        self.calls += 1;
        self.errors += u64::from(row.status() == record::Status::Error);
    }

    fn to_record(&self, tools: Vec<Record<'static>>) -> Record<'static> {
        let tools = tools.into_iter().map(Cell::Object).collect();
        vec![
            ("sessions", Cell::count(self.sessions.len())),
            ("turns", if self.of_calls { Cell::Null } else { Cell::count(self.turns) }),
            ("messages", if self.of_calls { Cell::Null } else { Cell::count(self.messages) }),
            ("tool_calls", Cell::count(self.calls)),
            ("errors", Cell::count(self.errors)),
            ("error_rate", Cell::Float(round_rate(self.errors, self.calls))),
            ("started_at", Cell::opt(self.first, Cell::Time)),
            ("ended_at", Cell::Time(self.last)),
            ("tools", Cell::List(tools)),
        ]
    }
}
