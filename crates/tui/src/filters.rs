//! What limits the sessions that are shown: agent, project, time and kind of text.
//!
//! Does not know how a filter is chosen.

use api::search::{Part, SearchConversations, TimeWindow};
use api::{ViewRequest, sessions::ListSessions};

/// A filter that a person can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Facet {
    Agent,
    Project,
    Time,
    Kind,
}

pub(crate) const TIMES: &[(&str, &str)] = &[
    ("today", "today"),
    ("24h", "last 24 hours"),
    ("7d", "last 7 days"),
    ("30d", "last 30 days"),
    ("90d", "last 90 days"),
    ("365d", "last year"),
];

pub(crate) const KINDS: &[(&str, &str)] = &[
    ("messages", "messages, without tool calls"),
    ("prompts", "prompts of people"),
    ("replies", "replies of agents"),
    ("titles", "titles of sessions"),
];

/// The chosen values; `None` is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    pub(crate) agent: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) kind: Option<String>,
}

impl Filters {
    pub(crate) fn set(&mut self, facet: Facet, value: Option<String>) {
        *match facet {
            Facet::Agent => &mut self.agent,
            Facet::Project => &mut self.project,
            Facet::Time => &mut self.time,
            Facet::Kind => &mut self.kind,
        } = value;
    }

    /// The filters in use, each with its name.
    pub(crate) fn list(&self) -> Vec<(&'static str, &str)> {
        let all =
            [("agent", &self.agent), ("project", &self.project), ("time", &self.time), ("kind", &self.kind)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }

    pub(crate) fn limit_search(&self, request: &mut SearchConversations) {
        request.source = self.agent.iter().cloned().collect();
        request.project.clone_from(&self.project);
        if let Some(time) = &self.time {
            request.time_window = TimeWindow::Word(time.clone());
        }
        let role = |role: &str| vec![role.to_string()];
        match self.kind.as_deref() {
            Some("prompts") => request.role_filter = role("user"),
            Some("replies") => request.role_filter = role("assistant"),
            Some("titles") => request.scope = Part::Title,
            _ => {}
        }
        request.include_tools_in_search = self.kind.is_none();
    }

    pub(crate) fn limit_sessions(&self, request: &mut ListSessions) {
        request.source = self.agent.iter().cloned().collect();
        request.project.clone_from(&self.project);
        request.since.clone_from(&self.time);
    }

    pub(crate) fn view_request(&self) -> ViewRequest {
        ViewRequest {
            source: self.agent.iter().cloned().collect(),
            project: self.project.clone(),
            all_projects: self.project.is_none(),
            since: self.time.clone(),
            ..ViewRequest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Request;

    #[test]
    fn every_choice_makes_a_valid_request() {
        let mut request = SearchConversations::default();
        request.intent_query.0 = vec!["x".to_string()];
        for (kind, _) in KINDS {
            for (time, _) in TIMES {
                let mut filters = Filters::default();
                filters.set(Facet::Kind, Some((*kind).to_string()));
                filters.set(Facet::Time, Some((*time).to_string()));
                filters.limit_search(&mut request);
                request.check_params().unwrap();
                assert!(!request.include_tools_in_search);
                let mut sessions = ListSessions::default();
                filters.limit_sessions(&mut sessions);
                sessions.check_params().unwrap();
            }
        }
    }
}
