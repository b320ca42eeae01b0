//! Finds idle gaps in a session: the time between one message and the next.
//!
//! Does not know what filled the gap.

use record::{Cell, Record, Stamp};
use std::sync::Arc;

/// One event, in order within its session.
#[derive(Clone, Debug)]
pub struct SessionEvent {
    pub session: Arc<str>,
    pub turn: u32,
    pub at: Stamp,
    pub until: Stamp,
    /// The kind of event: `prompt`, `reply`, …
    pub kind: &'static str,
}

pub struct IdleGaps {
    least_ms: i64,
    last: Option<SessionEvent>,
    found: Vec<Record<'static>>,
}

impl IdleGaps {
    pub fn new(minutes: f64) -> IdleGaps {
        IdleGaps { least_ms: (minutes * 60_000.0) as i64, last: None, found: Vec::new() }
    }

    pub fn add_event(&mut self, moment: SessionEvent) {
        if let Some(last) = self.last.take().filter(|last| last.session == moment.session) {
            let gap = moment.at.0.saturating_sub(last.until.0);
            if last.until.is_some() && moment.at.is_some() && gap >= self.least_ms {
                self.found.push(to_record(&last, &moment, gap));
            }
        }
        self.last = Some(moment);
    }

    /// The gaps in the order of the sessions.
    pub fn into_records(self) -> Vec<Record<'static>> {
        self.found
    }
}

fn to_record(before: &SessionEvent, after: &SessionEvent, gap: i64) -> Record<'static> {
    vec![
        ("session_id", Cell::text(before.session.to_string())),
        ("started_at", Cell::Time(before.until)),
        ("ended_at", Cell::Time(after.at)),
        ("minutes", Cell::Float((gap as f64 / 6000.0).round() / 10.0)),
        ("turn", Cell::count(before.turn)),
        ("before", Cell::text(before.kind)),
        ("after", Cell::text(after.kind)),
    ]
}
