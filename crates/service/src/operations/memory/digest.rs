//! Selects the sessions that changed since they were consolidated.
//!
//! Does not know how a session is read, nor how names or facts are derived.

use crate::{Service, memory_store};
use api::memory::Consolidate;
use api::{Code, Error, ViewRequest};
use catalogue::EventFilter;
use digests::{DigestOptions, PlannedSession, SessionKey, read_digests, session_key};
use history::resolve_session;
use history::scan::{self, Need, ScanResult, by_time, scan_rows};
use memory::Digest;
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};
use views::BOTH;

/// Sessions to consolidate.
pub(crate) struct Plan {
    /// For each session, the number of transcripts that contain it and the time of its last event.
    sessions: BTreeMap<SessionKey, PlannedSession>,
    request: ViewRequest,
    pub(crate) unchanged: u64,
    pub(crate) forgotten: u64,
    /// Whether to read the last messages as well, which only a model needs.
    with_turns: bool,
    /// Facts forgotten by a person, by session.
    forgotten_facts: BTreeMap<SessionKey, BTreeSet<String>>,
}

impl Plan {
    /// Sessions with new events.
    pub(crate) fn new(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        Plan::select_sessions(service, request, |(made_from, _)| made_from)
    }

    /// Sessions regardless of whether they have new events.
    pub(crate) fn including_unchanged(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        Plan::select_sessions(service, request, |_| Stamp::NONE)
    }

    /// Sessions with events that the model has not seen, including their last messages.
    pub(crate) fn for_model(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        let plan = Plan::select_sessions(service, request, |(_, seen_by_model)| seen_by_model)?;
        Ok(Plan { with_turns: true, ..plan })
    }

    fn select_sessions(
        service: &Service,
        request: &Consolidate,
        known_up_to: fn((Stamp, Stamp)) -> Stamp,
    ) -> Result<Plan, Error> {
        let everything = ViewRequest {
            all_projects: true,
            project: request.project.clone(),
            since: None,
            ..ViewRequest::default()
        };
        // The session facts are enough; no rows are needed.
        let need = Need { want: BOTH, pick: EventFilter::None };
        let (library, _) = scan_rows(&service.history(), &everything, need, by_time, |_, _| false)?;
        let mut found = sessions_in_scope(&library);
        retain_named(&mut found, &request.chat_ids)?;
        // What other people said becomes a fact only when it was suggested and accepted.
        let of_others = exchange::Origins::load(service.home().as_ref()).team_sessions();
        found.retain(|name, _| !of_others.contains(name));
        if let Some(since) = request.since.as_deref().and_then(|text| service.clock.parse_time(text)) {
            found.retain(|_, wanted| wanted.ended_at >= since);
        }
        let mut plan = Plan {
            sessions: found,
            request: everything,
            unchanged: 0,
            forgotten: 0,
            with_turns: false,
            forgotten_facts: BTreeMap::new(),
        };
        plan.remove_unchanged(service, known_up_to)?;
        plan.keep_latest(request.limit);
        Ok(plan)
    }

    fn remove_unchanged(
        &mut self,
        service: &Service,
        known_up_to: fn((Stamp, Stamp)) -> Stamp,
    ) -> Result<(), Error> {
        let Some(store) = memory_store::open_existing(service)? else { return Ok(()) };
        let known = store.derived_up_to().map_err(|error| memory_store::store_error(&error))?;
        let forgotten = store.forgotten_sessions().map_err(|error| memory_store::store_error(&error))?;
        self.forgotten_facts = store.forgotten_facts().map_err(|error| memory_store::store_error(&error))?;
        let before = self.sessions.len();
        self.sessions.retain(|name, _| !forgotten.contains(name));
        self.forgotten = (before - self.sessions.len()) as u64;
        let before = self.sessions.len();
        self.sessions.retain(|name, wanted| {
            known.get(name).is_none_or(|known| known_up_to(*known) != wanted.ended_at)
        });
        self.unchanged = (before - self.sessions.len()) as u64;
        Ok(())
    }

    /// Removes sessions and returns how many.
    pub(super) fn remove_where(&mut self, is_out: &dyn Fn(&SessionKey, &PlannedSession) -> bool) -> u64 {
        let before = self.sessions.len();
        self.sessions.retain(|name, wanted| !is_out(name, wanted));
        (before - self.sessions.len()) as u64
    }

    /// Keeps the latest sessions and returns how many were dropped.
    pub(super) fn keep_latest(&mut self, most: Option<u64>) -> u64 {
        let Some(most) = most.map(|most| most as usize).filter(|most| *most < self.sessions.len()) else {
            return 0;
        };
        let mut latest: Vec<(Stamp, SessionKey)> =
            self.sessions.iter().map(|(name, wanted)| (wanted.ended_at, name.clone())).collect();
        latest.sort_by(|a, b| b.cmp(a));
        for (_, name) in &latest[most..] {
            self.sessions.remove(name);
        }
        (latest.len() - most) as u64
    }

    /// Passes a digest of each session to `take`, ordered by start, and returns the number of unreadable records.
    pub(crate) fn for_each_digest(
        mut self,
        service: &Service,
        take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        if self.sessions.is_empty() {
            return Ok(0);
        }
        if self.sessions.len() == 1 {
            self.request.session = self.sessions.keys().next().map(|(_, id)| id.clone());
        }
        let options = DigestOptions {
            wanted: &self.sessions,
            forgotten_facts: &self.forgotten_facts,
            with_turns: self.with_turns,
        };
        read_digests(&service.history(), &self.request, options, take)
    }
}

/// Sessions with events of their own, without subagents.
fn sessions_in_scope(library: &ScanResult) -> BTreeMap<SessionKey, PlannedSession> {
    let mut found: BTreeMap<SessionKey, PlannedSession> = BTreeMap::new();
    for session in library.facts.iter().flat_map(|facts| &facts.sessions) {
        if session.agent_id.is_some() || scan::is_empty(session) || !library.scope.contains_session(session) {
            continue;
        }
        let wanted = found.entry(session_key(session)).or_insert_with(|| PlannedSession {
            parts: 0,
            ended_at: Stamp::NONE,
            project: session.directory().to_string(),
        });
        wanted.parts += 1;
        wanted.ended_at = wanted.ended_at.max(session.ended_at);
    }
    found
}

/// Keeps only the sessions that the prefixes name. Each prefix must match exactly one.
fn retain_named(found: &mut BTreeMap<SessionKey, PlannedSession>, prefixes: &[String]) -> Result<(), Error> {
    let mut named = Vec::new();
    for prefix in prefixes.iter().map(|prefix| prefix.trim()) {
        let matching: Vec<&SessionKey> = found.keys().filter(|(_, id)| id.starts_with(prefix)).collect();
        let exact = matching.iter().find(|(_, id)| id == prefix);
        match (exact, &matching[..]) {
            (Some(one), _) | (None, [one]) => named.push((*one).clone()),
            (None, []) => {
                let message = format!("no session has an ID that starts with `{prefix}`");
                return Err(Error::new(Code::SessionNotFound, message)
                    .hint("list recent sessions with `loci sessions`"));
            }
            (None, several) => {
                let ids = several.iter().map(|(_, id)| id.as_str());
                return Err(resolve_session::ambiguous_id(prefix, "sessions", ids));
            }
        }
    }
    found.retain(|name, _| prefixes.is_empty() || named.contains(name));
    Ok(())
}
