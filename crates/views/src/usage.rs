//! Tokens and cost, each reply counted once, and the rule by which each line was counted or skipped.
//!
//! Does not know prices: they come from `prices`.

use crate::ViewQuery;
use crate::printer::Printer;
use crate::records::MESSAGES;
use api::Error;
use catalogue::CopyCounts;
use config::Prices;
use history::error::read_error;
use history::outcome::Outcome;
use history::scan::{ScanResult, by_time, is_warm_up, scan_rows};
use record::row::SIDECHAIN;
use record::{Cell, Clock, Record, Row, Tokens};
use std::collections::BTreeMap;

/// How each line with a token count is treated. Printed by `usage --explain`.
const RULES: &[(&str, bool, &str)] = &[
    ("reply", true, "a reply in the session itself"),
    ("sidechain", true, "a reply in a subagent: billed like any other"),
    ("warm_up", true, "a call the client made at startup, without a prompt"),
    ("streamed_block", false, "another line of a reply already counted: each block repeats the whole count"),
    ("replayed", false, "a copy of a reply in a transcript created by resume, fork or compaction"),
    ("synthetic", false, "written by the client itself; no model was called"),
];

pub(crate) fn sum_usage(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let prices = Prices::load(question.history.places)?;
    let mut dropped = CopyCounts::default();
    let (mut library, rows) =
        scan_rows(question.history, question.request, MESSAGES, by_time, |_, joined| {
            if joined.row.tokens.is_zero() {
                return false;
            }
            dropped.streamed += joined.copies.streamed;
            dropped.replayed += joined.copies.replayed;
            true
        })?;
    let by = question.request.by.as_deref().unwrap_or("day");
    let mut groups: BTreeMap<String, Sum> = BTreeMap::new();
    let mut rules: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut listed = Vec::new();
    for row in rows {
        let row = row.map_err(read_error)?;
        let rule = counting_rule(&library, &row);
        let price = prices.cost_of(library.name(&row), row.tokens);
        rules.entry(rule).or_default().add_reply(row.tokens, price);
        if rule != "synthetic" {
            groups
                .entry(group_key(&library, &row, by, question.history.clock))
                .or_default()
                .add_reply(row.tokens, price);
        }
        if question.request.explain {
            match question.history.read_message(&library, &row) {
                Ok(message) => listed.push(counted_line(&library, &row, message.id, rule)),
                Err(problem) => library.outcome.problems.push(problem),
            }
        }
    }
    if question.request.explain {
        listed.reverse();
        listed.extend(explain_rules(&rules, dropped));
        question.print_records(listed, printer);
        return Ok(library.outcome);
    }
    let name = GROUPINGS.iter().find(|b| **b == by).copied().unwrap_or("day");
    let records = groups.into_iter().map(|(group, sum)| sum.to_record(name, group)).collect();
    if SPANS.contains(&name) {
        question.print_newest_first(records, printer);
    } else {
        question.print_records(records, printer);
    }
    Ok(library.outcome)
}

/// The groupings by time.
const SPANS: &[&str] = &["day", "week", "month"];
const GROUPINGS: &[&str] = &["day", "week", "month", "session", "model", "project", "source", "total"];

fn group_key(library: &ScanResult, row: &Row, by: &str, clock: Clock) -> String {
    let session = library.session(row);
    match by {
        "session" => session.session_id.to_string(),
        "model" => library.name(row).to_string(),
        "project" => session.project.to_string(),
        "source" => session.source.to_string(),
        "total" => "total".to_string(),
        _ if !row.at.is_some() => "unknown".to_string(),
        "week" => clock.local_week(row.at),
        "month" => clock.local_month(row.at),
        _ => clock.local_day(row.at),
    }
}

fn counting_rule(library: &ScanResult, row: &Row) -> &'static str {
    match () {
        () if library.name(row).starts_with('<') => "synthetic",
        () if is_warm_up(row) => "warm_up",
        () if row.has_flag(SIDECHAIN) => "sidechain",
        () => "reply",
    }
}

#[derive(Default)]
struct Sum {
    messages: u64,
    tokens: [u64; 4],
    cost: f64,
    unpriced: u64,
}

impl Sum {
    fn add_reply(&mut self, t: Tokens, cost: Option<f64>) {
        self.messages += 1;
        for (sum, n) in self.tokens.iter_mut().zip([t.input, t.output, t.cache_read, t.cache_write]) {
            *sum += u64::from(n);
        }
        match cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }

    fn to_cells(&self) -> Record<'static> {
        let [input, output, cache_read, cache_write] = self.tokens;
        vec![
            ("messages", Cell::count(self.messages)),
            ("input", Cell::count(input)),
            ("output", Cell::count(output)),
            ("cache_read", Cell::count(cache_read)),
            ("cache_write", Cell::count(cache_write)),
            ("cost_usd", Cell::Float((self.cost * 10_000.0).round() / 10_000.0)),
            ("unpriced", if self.unpriced > 0 { Cell::count(self.unpriced) } else { Cell::Null }),
        ]
    }

    fn to_record(&self, name: &'static str, group: String) -> Record<'static> {
        let mut line = vec![(name, Cell::text(group))];
        line.extend(self.to_cells());
        line
    }
}

fn counted_line(library: &ScanResult, row: &Row, id: String, rule: &'static str) -> Record<'static> {
    let t = row.tokens;
    vec![
        ("rule", Cell::text(rule)),
        ("counted", Cell::Bool(rule != "synthetic")),
        ("timestamp", Cell::Time(row.at)),
        ("session_id", Cell::text(library.session(row).session_id.to_string())),
        ("id", Cell::text(id)),
        ("model", Cell::text(library.name(row).to_string())),
        ("lines", Cell::count(row.lines)),
        ("input", Cell::count(t.input)),
        ("output", Cell::count(t.output)),
        ("cache_read", Cell::count(t.cache_read)),
        ("cache_write", Cell::count(t.cache_write)),
    ]
}

/// One record per rule, including rules that never applied.
fn explain_rules(rules: &BTreeMap<&str, Sum>, dropped: CopyCounts) -> Vec<Record<'static>> {
    let one = |(rule, counted, meaning): &(&'static str, bool, &'static str)| {
        let mut line = vec![
            ("rule", Cell::text(*rule)),
            ("counted", Cell::Bool(*counted)),
            ("meaning", Cell::text(*meaning)),
        ];
        match *rule {
            "streamed_block" => line.push(("lines", Cell::count(dropped.streamed))),
            "replayed" => line.push(("lines", Cell::count(dropped.replayed))),
            _ => line.extend(rules.get(rule).unwrap_or(&Sum::default()).to_cells()),
        }
        line
    };
    RULES.iter().map(one).collect()
}
