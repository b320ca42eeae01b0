//! The part of the history that a report is about, as the views and operations take it.
//!
//! Does not read: it turns one request into theirs, and puts their responses together.

use api::report::{FactLine, Listed, Report, ReportRequest, SessionEntry};
use api::sessions::{ListSessions, Sessions};
use api::{Code, Error, Request, ViewRequest};
use record::{Clock, Stamp};

/// More sessions do not fit into a page of 2 MB together with the rest.
const MAX_SESSIONS: u64 = 1500;
const MAX_FACTS: usize = 300;

pub struct Window {
    pub from: Stamp,
    pub to: Stamp,
    pub(crate) scope: ViewRequest,
}

/// A fact of memory, with what decides whether it is shown.
pub struct StatedFact {
    pub line: FactLine,
    pub state: &'static str,
    /// The agents in whose sessions it was stated.
    pub sources: Vec<String>,
}

impl Window {
    /// Resolves relative times once, so that all parts are about the same period.
    pub fn new(request: &ReportRequest, clock: Clock) -> Result<Window, Error> {
        request.check_params()?;
        let from = clock.parse_time(&request.since).unwrap_or(Stamp(i64::MIN));
        let until = request.until.as_deref().and_then(|text| clock.parse_end_time(text));
        let to = until.unwrap_or_else(|| clock.now());
        if from > to {
            return Err(Error::new(Code::InvalidArgument, "`since` is later than `until`")
                .hint("loci report --since 2026-11-01 --until 2026-11-30"));
        }
        let scope = ViewRequest {
            project: request.project.clone(),
            all_projects: request.project.is_none(),
            source: request.source.clone(),
            since: Some(from.to_string()),
            until: until.map(|until| until.to_string()),
            ..ViewRequest::default()
        };
        Ok(Window { from, to, scope })
    }

    pub fn sessions(&self) -> ListSessions {
        ListSessions {
            since: self.scope.since.clone(),
            until: self.scope.until.clone(),
            project: self.scope.project.clone(),
            source: self.scope.source.clone(),
            limit: MAX_SESSIONS,
            ..ListSessions::default()
        }
    }

    /// Adds what views do not count: sessions, and the facts of this period and project, newest first.
    pub fn complete(
        &self,
        counted: Report,
        sessions: Sessions,
        facts: impl Iterator<Item = StatedFact>,
    ) -> Report {
        let listed = sessions.sessions.into_iter().map(SessionEntry::from).collect();
        let (decisions, open) = self.select_facts(facts);
        Report {
            from: self.from.0,
            to: self.to.0,
            project: self.scope.project.clone(),
            source: self.scope.source.clone(),
            sessions: Listed { total: sessions.total, listed },
            decisions: Listed::first_of(decisions, MAX_FACTS),
            open: Listed::first_of(open, MAX_FACTS),
            notes: if sessions.total == 0 { explain_empty(sessions.notes) } else { sessions.notes },
            ..counted
        }
    }

    /// Decisions, in force or superseded, and what was left open.
    fn select_facts(&self, facts: impl Iterator<Item = StatedFact>) -> (Vec<FactLine>, Vec<FactLine>) {
        let (mut decisions, mut open) = (Vec::new(), Vec::new());
        for fact in facts.filter(|fact| self.has_source_of(fact)) {
            match (fact.line.kind.as_str(), fact.state) {
                ("open", "fresh") => open.push(fact.line),
                ("open" | "cause", _) => {}
                (_, "fresh" | "superseded") => decisions.push(fact.line),
                _ => {}
            }
        }
        (decisions, open)
    }

    fn has_source_of(&self, fact: &StatedFact) -> bool {
        let wanted = &self.scope.source;
        wanted.is_empty() || fact.sources.iter().any(|source| wanted.contains(source))
    }
}

/// Without another reason, the period is too short.
fn explain_empty(notes: Vec<String>) -> Vec<String> {
    if notes.is_empty() {
        return vec!["no sessions in this period; try `loci report --since 365d`".to_string()];
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(source: &[&str]) -> Window {
        let request = ReportRequest {
            source: source.iter().map(ToString::to_string).collect(),
            ..ReportRequest::default()
        };
        Window::new(&request, Clock::At(Stamp::parse(b"2026-11-17T12:00:00Z"))).unwrap()
    }

    #[test]
    fn a_relative_time_is_resolved_once() {
        let window = window(&[]);
        assert_eq!(window.scope.since.as_deref(), Some("2026-10-18T12:00:00.000Z"));
        assert_eq!((window.sessions().since, window.sessions().until), (window.scope.since, None));
        let backwards = ReportRequest { until: Some("2001-01-01".into()), ..ReportRequest::default() };
        let error = Window::new(&backwards, Clock::System).err().unwrap();
        assert!(error.hints[0].starts_with("loci report"), "{error:?}");
    }

    #[test]
    fn facts_are_decisions_or_open_points_of_the_agents() {
        let fact = |kind: &str, state: &'static str, source: &str| StatedFact {
            line: FactLine { kind: kind.into(), text: format!("{kind} {state}"), ..FactLine::default() },
            state,
            sources: vec![source.into()],
        };
        let all = || {
            [
                fact("decision", "fresh", "codex"),
                fact("rule", "superseded", "claude-code"),
                fact("decision", "retired", "codex"),
                fact("cause", "fresh", "codex"),
                fact("open", "fresh", "codex"),
                fact("open", "superseded", "codex"),
            ]
            .into_iter()
        };
        let texts = |lines: Vec<FactLine>| lines.into_iter().map(|line| line.text).collect::<Vec<_>>();
        let (decisions, open) = window(&[]).select_facts(all());
        assert_eq!(
            (texts(decisions), texts(open)),
            (vec!["decision fresh".into(), "rule superseded".into()], vec!["open fresh".to_string()])
        );
        let (decisions, open) = window(&["claude-code"]).select_facts(all());
        assert_eq!((texts(decisions), open.len()), (vec!["rule superseded".to_string()], 0));
    }
}
