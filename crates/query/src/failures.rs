//! Groups failures by signature: how often, where, since when.
//!
//! Does not know how a signature is computed.

use record::{Cell, Record, Stamp, signature::error_pattern};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Default)]
pub struct Failures(BTreeMap<String, Group>);

struct Group {
    tool: String,
    count: u64,
    sessions: BTreeSet<Arc<str>>,
    first: Stamp,
    last: Stamp,
    message: String,
    pattern: String,
}

/// Maximum length of the sample message.
const MAX_MESSAGE: usize = 500;

impl Failures {
    pub fn add_failure(&mut self, signature: &str, tool: &str, message: &str, session: &Arc<str>, at: Stamp) {
        let group = self.0.entry(signature.to_string()).or_insert_with(|| Group {
            tool: tool.to_string(),
            count: 0,
            sessions: BTreeSet::new(),
            first: at,
            last: at,
            message: message.chars().take(MAX_MESSAGE).collect(),
            pattern: error_pattern(message),
        });
        group.count += 1;
        group.sessions.insert(session.clone());
        group.first = group.first.min(at);
        group.last = group.last.max(at);
    }

    /// Most frequent first, then by signature.
    pub fn into_records(self, least: u64) -> Vec<Record<'static>> {
        let mut groups: Vec<_> = self.0.into_iter().filter(|(_, g)| g.count >= least).collect();
        groups.sort_by(|(a, x), (b, y)| y.count.cmp(&x.count).then(a.cmp(b)));
        groups.into_iter().map(|(signature, group)| to_record(signature, group)).collect()
    }
}

fn to_record(signature: String, group: Group) -> Record<'static> {
    vec![
        ("signature", Cell::text(signature)),
        ("tool", Cell::text(group.tool)),
        ("count", Cell::count(group.count)),
        ("sessions", Cell::count(group.sessions.len())),
        ("first_at", Cell::Time(group.first)),
        ("last_at", Cell::Time(group.last)),
        ("pattern", Cell::text(group.pattern)),
        ("message", Cell::text(group.message)),
    ]
}
