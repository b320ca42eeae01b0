//! Sums up what was done, decided, left open and spent within a time.
//!
//! Does not find facts: memory has them. Sessions that were not consolidated yet are listed without.

use crate::{Service, memory_store};
use api::digest::{DigestFact, DigestMade, DigestRequest, DoneSession, Spent};
use api::search::stamp_to_ms;
use api::sessions::{ListSessions, SessionLine};
use api::{Error, Handle, Request, ViewRequest, view_named};
use history::scope;
use memory::{Fact, Kind, State};
use record::Stamp;
use serde_json::Value;
use std::path::Path;
use views::Format;

/// More sessions than a person has in a time that can be summed up.
const MAX_SESSIONS: u64 = 10_000;

impl Handle<DigestRequest> for Service {
    fn handle(&self, request: &DigestRequest) -> Result<DigestMade, Error> {
        request.check_params()?;
        let from = self.clock.parse_time(&request.since).unwrap_or(Stamp(i64::MIN));
        let until = request.until.as_deref().and_then(|text| self.clock.parse_end_time(text));
        let to = until.unwrap_or_else(|| self.clock.now());
        let mut facts = self.load_facts()?;
        let is_meant = self.fact_filter(request.project.as_deref(), from, to);
        facts.retain(|fact| fact.state == State::Fresh && is_meant(fact));
        let of = |kinds: &[Kind]| {
            let meant = facts.iter().filter(|fact| kinds.contains(&fact.kind));
            meant.map(digest_fact).collect::<Vec<DigestFact>>()
        };
        Ok(DigestMade {
            from: from.0,
            to: to.0,
            done: self.sessions_between(request)?,
            decided: of(&[Kind::Decision, Kind::Rule, Kind::Preference, Kind::Constraint]),
            found_out: of(&[Kind::Cause]),
            left_open: of(&[Kind::Open]),
            spent: self.spent_between(request)?,
        })
    }
}

impl Service {
    fn sessions_between(&self, request: &DigestRequest) -> Result<Vec<DoneSession>, Error> {
        let listed = ListSessions {
            since: Some(request.since.clone()),
            until: request.until.clone(),
            project: request.project.clone(),
            limit: MAX_SESSIONS,
            ..ListSessions::default()
        };
        let found = Handle::<ListSessions>::handle(self, &listed)?;
        Ok(found.sessions.into_iter().map(done_session).collect())
    }

    /// All facts of memory, newest first.
    pub(super) fn load_facts(&self) -> Result<Vec<Fact>, Error> {
        let Some(store) = memory_store::open_existing(self)? else { return Ok(Vec::new()) };
        let (_, mut facts) = store.load_all().map_err(|error| memory_store::store_error(&error))?;
        facts.sort_by(|a, b| (b.made_at, &a.id).cmp(&(a.made_at, &b.id)));
        Ok(facts)
    }

    /// Whether a fact was stated within the time, in the project.
    pub(super) fn fact_filter(
        &self,
        project: Option<&str>,
        from: Stamp,
        to: Stamp,
    ) -> impl Fn(&Fact) -> bool + use<> {
        let folders = project.map(|named| scope::find_project(&self.history(), named));
        move |fact| {
            let within =
                |folders: &Vec<_>| folders.iter().any(|folder| Path::new(&fact.project).starts_with(folder));
            (from..=to).contains(&fact.made_at) && folders.as_ref().is_none_or(within)
        }
    }

    fn spent_between(&self, request: &DigestRequest) -> Result<Spent, Error> {
        let usage = ViewRequest {
            project: request.project.clone(),
            all_projects: request.project.is_none(),
            since: Some(request.since.clone()),
            until: request.until.clone(),
            by: Some("total".to_string()),
            ..ViewRequest::default()
        };
        let mut total = Value::Null;
        let mut take = |line: &[u8]| {
            total = serde_json::from_slice(line).unwrap_or_default();
            true
        };
        if let Some(view) = view_named("", "usage") {
            self.run_view(view, &usage, Format::Jsonl, &mut take)?;
        }
        let count = |name: &str| total[name].as_u64().unwrap_or(0);
        Ok(Spent {
            messages: count("messages"),
            input: count("input") + count("cache_read") + count("cache_write"),
            output: count("output"),
            cost_usd: total["cost_usd"].as_f64().unwrap_or(0.0),
            unpriced: count("unpriced"),
        })
    }
}

fn done_session(session: SessionLine) -> DoneSession {
    DoneSession {
        session_id: session.chat_id,
        title: session.title,
        source: session.source,
        project: session.project,
        ended_at: session.time_range.to,
        turns: session.turns,
        tool_calls: session.tool_calls,
    }
}

fn digest_fact(fact: &Fact) -> DigestFact {
    DigestFact {
        id: fact.id.clone(),
        text: fact.text.clone(),
        kind: fact.kind.word().to_string(),
        project: (!fact.project.is_empty()).then(|| fact.project.clone()),
        at: stamp_to_ms(fact.made_at),
    }
}
