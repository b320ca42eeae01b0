//! Finds idle gaps in a session: the time between one message and the next.
//!
//! Does not know what filled the gap.

use record::{Cell, Line, Stamp};
use std::sync::Arc;

/// One event, in order within its session.
#[derive(Clone, Debug)]
pub struct Moment {
    pub session: Arc<str>,
    pub turn: u32,
    pub at: Stamp,
    pub until: Stamp,
    /// The kind of event: `prompt`, `reply`, …
    pub what: &'static str,
}

pub struct Idle {
    least_ms: i64,
    last: Option<Moment>,
    found: Vec<Line<'static>>,
}

impl Idle {
    pub fn new(minutes: f64) -> Idle {
        Idle { least_ms: (minutes * 60_000.0) as i64, last: None, found: Vec::new() }
    }

    pub fn add(&mut self, moment: Moment) {
        if let Some(last) = self.last.take().filter(|last| last.session == moment.session) {
            let gap = moment.at.0.saturating_sub(last.until.0);
            if last.until.is_some() && moment.at.is_some() && gap >= self.least_ms {
                self.found.push(line(&last, &moment, gap));
            }
        }
        self.last = Some(moment);
    }

    /// The gaps in the order of the sessions.
    pub fn lines(self) -> Vec<Line<'static>> {
        self.found
    }
}

fn line(before: &Moment, after: &Moment, gap: i64) -> Line<'static> {
    vec![
        ("session_id", Cell::text(before.session.to_string())),
        ("started_at", Cell::Time(before.until)),
        ("ended_at", Cell::Time(after.at)),
        ("minutes", Cell::Float((gap as f64 / 6000.0).round() / 10.0)),
        ("turn", Cell::count(before.turn)),
        ("before", Cell::text(before.what)),
        ("after", Cell::text(after.what)),
    ]
}
