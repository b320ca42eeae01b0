//! Counts calls, failures and sessions, in total or by tool, day, session, project, source or status.
//!
//! Does not know how a group is chosen: the caller names it.

use record::{Cell, Record, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Default)]
pub struct Stats(BTreeMap<String, Counts>);

#[derive(Default)]
struct Counts {
    calls: u64,
    by_status: [u64; 4],
    sessions: BTreeSet<Arc<str>>,
}

impl Stats {
    pub fn add_call(&mut self, group: &str, status: Status, session: &Arc<str>) {
        let counts = match self.0.get_mut(group) {
            Some(counts) => counts,
            None => self.0.entry(group.to_string()).or_default(),
        };
        counts.calls += 1;
        counts.by_status[status as usize] += 1;
        if !counts.sessions.contains(session) {
            counts.sessions.insert(session.clone());
        }
    }

    /// Most calls first, then by name; days in their own order.
    pub fn into_records(self, name: &'static str) -> Vec<Record<'static>> {
        let mut groups: Vec<_> = self.0.into_iter().collect();
        if name != "day" {
            groups.sort_by(|(a, x), (b, y)| y.calls.cmp(&x.calls).then(a.cmp(b)));
        }
        groups.into_iter().map(|(group, counts)| to_record(name, group, &counts)).collect()
    }
}

fn to_record(name: &'static str, group: String, counts: &Counts) -> Record<'static> {
    let of = |status: Status| counts.by_status[status as usize];
    vec![
        (name, Cell::text(group)),
        ("count", Cell::count(counts.calls)),
        ("success", Cell::count(of(Status::Success))),
        ("errors", Cell::count(of(Status::Error))),
        ("pending", Cell::count(of(Status::Pending))),
        ("unknown", Cell::count(of(Status::Unknown))),
        ("error_rate", Cell::Float(round_rate(of(Status::Error), counts.calls))),
        ("sessions", Cell::count(counts.sessions.len())),
    ]
}

pub fn round_rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0 }
}
