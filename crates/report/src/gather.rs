//! Reads the views that a report consists of, all for the same part of the history.
//!
//! Does not know how a view is computed: the caller runs it.

use crate::activity::Activity;
use crate::window::Window;
use api::report::{Listed, Report};
use api::{Code, Error, View, ViewRequest, view_named};
use record::{Clock, Stamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

const MAX_LISTED: usize = 100;
/// A failure that occurred once does not recur.
const MIN_FAILURES: u64 = 2;

/// Runs a view, passes its records as JSON lines, and returns how many places of the history could not be read.
pub type ReadView<'r> =
    dyn FnMut(&'static View, &ViewRequest, &mut dyn FnMut(&[u8]) -> bool) -> Result<usize, Error> + 'r;

/// The parts of a report that views count; sessions and facts are left empty.
pub fn gather_views(window: &Window, clock: Clock, read: &mut ReadView<'_>) -> Result<Report, Error> {
    let scope = &window.scope;
    let mut views = Views { scope, read, unread: 0 };
    let by = |word: &str| ViewRequest { by: Some(word.to_string()), ..scope.clone() };
    let recurring = ViewRequest { min_count: Some(MIN_FAILURES), ..scope.clone() };
    Ok(Report {
        counts: views.read("", "stats", scope)?.pop().unwrap_or_default(),
        usage: views.read("", "usage", &by("total"))?.pop().unwrap_or_default(),
        days: views.read("", "usage", scope)?,
        models: views.read("", "usage", &by("model"))?,
        projects: views.read("", "usage", &by("project"))?,
        activity: views.count_activity(clock)?,
        failures: Listed::first_of(views.read("analyze", "errors", &recurring)?, MAX_LISTED),
        files: Listed::first_of(views.read("analyze", "file-churn", scope)?, MAX_LISTED),
        unread: views.unread as u64,
        ..Report::default()
    })
}

struct Views<'v, 'r> {
    scope: &'v ViewRequest,
    read: &'v mut ReadView<'r>,
    /// The most places that one of them could not read: each reads the same transcripts.
    unread: usize,
}

#[derive(Deserialize)]
struct CallTime {
    timestamp: Option<String>,
}

impl Views<'_, '_> {
    fn read<T: DeserializeOwned>(
        &mut self,
        group: &str,
        name: &str,
        request: &ViewRequest,
    ) -> Result<Vec<T>, Error> {
        let mut records = Vec::new();
        self.for_each(group, name, request, &mut |record| records.push(record))?;
        Ok(records)
    }

    /// Passes each record to `take` without keeping it.
    fn for_each<T: DeserializeOwned>(
        &mut self,
        group: &str,
        name: &str,
        request: &ViewRequest,
        take: &mut dyn FnMut(T),
    ) -> Result<(), Error> {
        let invalid = |why: String| Error::new(Code::InternalError, format!("{group} {name}: {why}"));
        let view = view_named(group, name).ok_or_else(|| invalid("no such view".to_string()))?;
        let mut failure = None;
        let unread = (self.read)(view, request, &mut |line| {
            match serde_json::from_slice(line) {
                Ok(record) => take(record),
                Err(error) => failure = Some(invalid(error.to_string())),
            }
            failure.is_none()
        })?;
        self.unread = self.unread.max(unread);
        failure.map_or(Ok(()), Err)
    }

    fn count_activity(&mut self, clock: Clock) -> Result<Vec<[u64; 24]>, Error> {
        let mut activity = Activity::default();
        let times = ViewRequest { fields: vec!["timestamp".to_string()], ..self.scope.clone() };
        self.for_each("query", "tools", &times, &mut |call: CallTime| {
            if let Some(at) = call.timestamp {
                activity.add_event(Stamp::parse(at.as_bytes()), clock);
            }
        })?;
        Ok(activity.into_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::report::ReportRequest;

    #[test]
    fn every_view_is_read_for_the_same_part_of_the_history() {
        let request = ReportRequest { project: Some("/p".into()), ..ReportRequest::default() };
        let window = Window::new(&request, Clock::At(Stamp(0))).unwrap();
        let mut seen = Vec::new();
        let report = gather_views(&window, Clock::At(Stamp(0)), &mut |view, request, take| {
            assert_eq!((&request.project, &request.since), (&window.scope.project, &window.scope.since));
            seen.push(format!("{} {}", view.title(), request.by.as_deref().unwrap_or_default()));
            if view.title() == "stats" {
                take(br#"{"sessions":2,"turns":3,"tools":[{"tool":"Bash","count":4}]}"#);
            }
            Ok(seen.len() % 3)
        });
        let report = report.unwrap();
        assert_eq!((report.counts.sessions, report.counts.tools[0].count, report.unread), (2, 4, 2));
        let views = ["stats ", "usage total", "usage ", "usage model", "usage project", "query tools "];
        assert_eq!(seen, [&views[..], &["analyze errors ", "analyze file-churn "]].concat());
    }

    #[test]
    fn a_record_of_another_form_is_an_error() {
        let read = &mut |_: &'static View, _: &ViewRequest, take: &mut dyn FnMut(&[u8]) -> bool| {
            assert!(!take(b"7"), "the view goes on");
            Ok(0)
        };
        let window = Window::new(&ReportRequest::default(), Clock::At(Stamp(0))).unwrap();
        let error = gather_views(&window, Clock::At(Stamp(0)), read).unwrap_err();
        assert_eq!(error.code, Code::InternalError);
    }
}
