//! Finds recurring sequences of two to five tool calls, with their success rate.
//!
//! A sequence never crosses a session or turn boundary. Does not know what a tool does.

use crate::ToolCall;
use record::{Cell, Record, Stamp, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const LENGTHS: std::ops::RangeInclusive<usize> = 2..=5;
/// Occurrences listed per pattern; counting continues.
const MAX_LISTED: usize = 100;

#[derive(Default)]
pub struct Sequences {
    /// The latest calls of the current turn, at most as many as the longest sequence.
    recent: Vec<ToolCall>,
    found: BTreeMap<Vec<Arc<str>>, SequenceStats>,
    only: Option<Vec<String>>,
}

#[derive(Default)]
struct SequenceStats {
    count: u64,
    succeeded: u64,
    sessions: BTreeSet<Arc<str>>,
    places: Vec<(Arc<str>, u32, Stamp, Stamp)>,
}

impl Sequences {
    /// `Read -> Edit`, `Read->Edit` and `Read → Edit` denote the same sequence.
    pub fn new(pattern: Option<&str>) -> Sequences {
        let split = |p: &str| p.replace('→', "->").split("->").map(|t| t.trim().to_string()).collect();
        Sequences { only: pattern.map(split), ..Sequences::default() }
    }

    /// Adds a call. Calls must be added session by session, in order.
    pub fn add_call(&mut self, call: ToolCall) {
        if let Some(last) = self.recent.last()
            && (last.run != call.run || last.turn != call.turn)
        {
            self.recent.clear();
        }
        if self.recent.len() == *LENGTHS.end() {
            self.recent.remove(0);
        }
        self.recent.push(call);
        for length in LENGTHS.filter(|n| *n <= self.recent.len()) {
            let run = &self.recent[self.recent.len() - length..];
            if self
                .only
                .as_ref()
                .is_some_and(|only| !run.iter().map(|c| &*c.tool).eq(only.iter().map(String::as_str)))
            {
                continue;
            }
            count_sequence(&mut self.found, run);
        }
    }

    /// Patterns with at least `least` occurrences, the most frequent first, then the longer, then by name.
    pub fn into_records(self, least: u64) -> Vec<Record<'static>> {
        let mut found: Vec<_> = self.found.into_iter().filter(|(_, f)| f.count >= least).collect();
        found.sort_by(|(a, x), (b, y)| y.count.cmp(&x.count).then(b.len().cmp(&a.len())).then(a.cmp(b)));
        found.into_iter().map(|(tools, found)| to_record(&tools, &found)).collect()
    }
}

fn count_sequence(found: &mut BTreeMap<Vec<Arc<str>>, SequenceStats>, run: &[ToolCall]) {
    let tools: Vec<Arc<str>> = run.iter().map(|c| c.tool.clone()).collect();
    let entry = found.entry(tools).or_default();
    let (first, last) = (&run[0], &run[run.len() - 1]);
    entry.count += 1;
    entry.succeeded += u64::from(run.iter().all(|c| c.status == Status::Success));
    entry.sessions.insert(first.session.clone());
    if entry.places.len() < MAX_LISTED {
        entry.places.push((first.session.clone(), first.turn, first.at, last.at));
    }
}

fn to_record(tools: &[Arc<str>], found: &SequenceStats) -> Record<'static> {
    let places = found.places.iter().map(|(session, turn, from, to)| {
        Cell::Object(vec![
            ("session_id", Cell::text(session.to_string())),
            ("turn", Cell::count(*turn)),
            ("started_at", Cell::Time(*from)),
            ("ended_at", Cell::Time(*to)),
        ])
    });
    let rate = (found.succeeded as f64 / found.count as f64 * 10_000.0).round() / 10_000.0;
    vec![
        ("pattern", Cell::text(tools.iter().map(|t| &**t).collect::<Vec<_>>().join(" -> "))),
        ("length", Cell::count(tools.len())),
        ("count", Cell::count(found.count)),
        ("success_rate", Cell::Float(rate)),
        ("sessions", Cell::count(found.sessions.len())),
        ("occurrences", Cell::List(places.collect())),
        (
            "occurrences_listed",
            if found.count > MAX_LISTED as u64 { Cell::count(MAX_LISTED) } else { Cell::Null },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_call(session: &str, turn: u32, tool: &str, status: Status) -> ToolCall {
        ToolCall {
            session: Arc::from(session),
            run: u64::from(session == "b"),
            turn,
            at: Stamp(1),
            tool: Arc::from(tool),
            status,
        }
    }

    fn cell_at<'a>(line: &Record<'a>, i: usize) -> Cell<'a> {
        line[i].1.clone()
    }

    fn found_patterns(pattern: Option<&str>, least: u64) -> Vec<(String, i64, f64)> {
        let mut sequences = Sequences::new(pattern);
        for (session, turn, tool, status) in [
            ("a", 1, "Read", Status::Success),
            ("a", 1, "Edit", Status::Success),
            ("a", 1, "Bash", Status::Error),
            ("a", 2, "Read", Status::Success),
            ("a", 2, "Edit", Status::Success),
            ("b", 2, "Bash", Status::Success),
        ] {
            sequences.add_call(sample_call(session, turn, tool, status));
        }
        let found = sequences.into_records(least);
        found
            .iter()
            .map(|l| match (cell_at(l, 0), cell_at(l, 2), cell_at(l, 3)) {
                (Cell::Text(p), Cell::Int(n), Cell::Float(r)) => (p.into_owned(), n, r),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn sequences_are_counted_within_a_turn() {
        let found = found_patterns(None, 1);
        assert_eq!(found[0], ("Read -> Edit".to_string(), 2, 1.0));
        assert_eq!(found[1], ("Read -> Edit -> Bash".to_string(), 1, 0.0));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_pattern_and_a_threshold_narrow_the_result() {
        assert_eq!(found_patterns(Some("Edit→Bash"), 1), [("Edit -> Bash".to_string(), 1, 0.0)]);
        assert_eq!(found_patterns(None, 2).len(), 1);
    }
}
