//! Selects the sessions that changed since they were consolidated, and builds a digest of each.
//!
//! Reads one session at a time, so that memory use does not grow with the history. Messages of subagents are not part of the
//! parent session. Does not know how names or facts are derived.

use super::super::records::BOTH;
use crate::{Service, memory_store};
use api::memory::Consolidate;
use api::{Code, Error, ViewRequest};
use catalogue::Pick;
use history::call_summary::{CallSummary, shortened};
use history::error::read_error;
use history::resolve_session;
use history::scan::{self, Library, Need, by_session, by_time, gather, is_warm_up};
use memory::{Digest, Said};
use query::touched::Act;
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Role, Row, RowKind, Session, Stamp, Status};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Source and session ID.
pub(super) type Name = (String, String);

/// Sessions to consolidate.
pub(crate) struct Plan {
    /// For each session, the number of transcripts that contain it and the time of its last event.
    wanted: BTreeMap<Name, Wanted>,
    request: ViewRequest,
    pub(crate) unchanged: u64,
    pub(crate) forgotten: u64,
    /// Whether to read the last messages as well, which only a model needs.
    with_turns: bool,
    /// Facts forgotten by a person, by session.
    unsaid: BTreeMap<Name, BTreeSet<String>>,
}

pub(super) struct Wanted {
    parts: usize,
    pub(super) ended_at: Stamp,
    pub(super) project: String,
}

/// More prompts than a person types; beyond that a script wrote them.
const PROMPTS: usize = 2_000;
/// Calls that are read; the rest is only counted.
const CALLS: u32 = 4_000;
const COMMANDS: usize = 300;
/// Number of last messages kept: thirty turns of two messages.
const LAST: usize = 60;

impl Plan {
    /// Sessions with new events.
    pub(crate) fn new(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        Plan::of(service, request, |(made_from, _)| made_from)
    }

    /// Sessions regardless of whether they have new events.
    pub(crate) fn again(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        Plan::of(service, request, |_| Stamp::NONE)
    }

    /// Sessions with events that the model has not seen, including their last messages.
    pub(crate) fn for_model(service: &Service, request: &Consolidate) -> Result<Plan, Error> {
        let plan = Plan::of(service, request, |(_, seen_by_model)| seen_by_model)?;
        Ok(Plan { with_turns: true, ..plan })
    }

    fn of(
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
        let need = Need { want: BOTH, pick: Pick::None };
        let (library, _) = gather(&service.history(), &everything, need, by_time, |_, _| false)?;
        let mut found = found(&library);
        only_named(&mut found, &request.chat_ids)?;
        if let Some(since) = request.since.as_deref().and_then(|text| service.clock.moment(text)) {
            found.retain(|_, wanted| wanted.ended_at >= since);
        }
        let mut plan = Plan {
            wanted: found,
            request: everything,
            unchanged: 0,
            forgotten: 0,
            with_turns: false,
            unsaid: BTreeMap::new(),
        };
        plan.leave_out_known(service, known_up_to)?;
        plan.limit(request.limit);
        Ok(plan)
    }

    fn leave_out_known(
        &mut self,
        service: &Service,
        known_up_to: fn((Stamp, Stamp)) -> Stamp,
    ) -> Result<(), Error> {
        let Some(store) = memory_store::look(service)? else { return Ok(()) };
        let known = store.made_from().map_err(|error| memory_store::told(&error))?;
        let forgotten = store.forgotten().map_err(|error| memory_store::told(&error))?;
        self.unsaid = store.forgotten_facts().map_err(|error| memory_store::told(&error))?;
        let before = self.wanted.len();
        self.wanted.retain(|name, _| !forgotten.contains(name));
        self.forgotten = (before - self.wanted.len()) as u64;
        let before = self.wanted.len();
        self.wanted.retain(|name, wanted| {
            known.get(name).is_none_or(|known| known_up_to(*known) != wanted.ended_at)
        });
        self.unchanged = (before - self.wanted.len()) as u64;
        Ok(())
    }

    /// Removes sessions and returns how many.
    pub(super) fn leave_out(&mut self, is_out: &dyn Fn(&Name, &Wanted) -> bool) -> u64 {
        let before = self.wanted.len();
        self.wanted.retain(|name, wanted| !is_out(name, wanted));
        (before - self.wanted.len()) as u64
    }

    /// Keeps the latest sessions and returns how many were dropped.
    pub(super) fn limit(&mut self, most: Option<u64>) -> u64 {
        let Some(most) = most.map(|most| most as usize).filter(|most| *most < self.wanted.len()) else {
            return 0;
        };
        let mut latest: Vec<(Stamp, Name)> =
            self.wanted.iter().map(|(name, wanted)| (wanted.ended_at, name.clone())).collect();
        latest.sort_by(|a, b| b.cmp(a));
        for (_, name) in &latest[most..] {
            self.wanted.remove(name);
        }
        (latest.len() - most) as u64
    }

    /// Passes a digest of each session to `take`, ordered by start, and returns the number of unreadable records.
    pub(crate) fn each(
        mut self,
        service: &Service,
        take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        if self.wanted.is_empty() {
            return Ok(0);
        }
        if self.wanted.len() == 1 {
            self.request.session = self.wanted.keys().next().map(|(_, id)| id.clone());
        }
        let wanted = &self.wanted;
        let (library, rows) =
            gather(&service.history(), &self.request, BOTH, by_session, |library, joined| {
                let session = library.session(&joined.row);
                session.agent_id.is_none() && wanted.contains_key(&name(session)) && is_said(&joined.row)
            })?;
        let mut reader = Reader {
            service,
            library: &library,
            wanted,
            unsaid: &self.unsaid,
            open: BTreeMap::new(),
            at: None,
            with_turns: self.with_turns,
            unread: 0,
        };
        for row in rows {
            reader.add(&row.map_err(read_error)?, take)?;
        }
        reader.finish(take)
    }
}

fn name(session: &Session) -> Name {
    (session.source.to_string(), session.session_id.to_string())
}

/// Sessions with events of their own, without subagents.
fn found(library: &Library) -> BTreeMap<Name, Wanted> {
    let mut found: BTreeMap<Name, Wanted> = BTreeMap::new();
    for session in library.facts.iter().flat_map(|facts| &facts.sessions) {
        if session.agent_id.is_some() || scan::is_empty(session) || !library.scope.holds_session(session) {
            continue;
        }
        let wanted = found.entry(name(session)).or_insert_with(|| Wanted {
            parts: 0,
            ended_at: Stamp::NONE,
            project: session.place().to_string(),
        });
        wanted.parts += 1;
        wanted.ended_at = wanted.ended_at.max(session.ended_at);
    }
    found
}

/// Keeps only the sessions that the prefixes name. Each prefix must match exactly one.
fn only_named(found: &mut BTreeMap<Name, Wanted>, prefixes: &[String]) -> Result<(), Error> {
    let mut named = Vec::new();
    for prefix in prefixes.iter().map(|prefix| prefix.trim()) {
        let matching: Vec<&Name> = found.keys().filter(|(_, id)| id.starts_with(prefix)).collect();
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
                return Err(resolve_session::one_of(prefix, "sessions", ids));
            }
        }
    }
    found.retain(|name, _| prefixes.is_empty() || named.contains(name));
    Ok(())
}

fn is_said(row: &Row) -> bool {
    !is_warm_up(row) && !row.is(USAGE_ONLY) && !row.is(SIDECHAIN)
}

/// Builds digests from the rows of their sessions.
struct Reader<'a> {
    service: &'a Service,
    library: &'a Library,
    wanted: &'a BTreeMap<Name, Wanted>,
    unsaid: &'a BTreeMap<Name, BTreeSet<String>>,
    /// Sessions in progress: the parts of a session with several transcripts are not adjacent.
    open: BTreeMap<Name, Gathering>,
    at: Option<(u64, Name)>,
    with_turns: bool,
    unread: u64,
}

#[derive(Default)]
struct Gathering {
    digest: Digest,
    parts: usize,
    last: VecDeque<Row>,
}

impl Reader<'_> {
    fn add(&mut self, row: &Row, take: &mut dyn FnMut(&Digest) -> Result<(), Error>) -> Result<(), Error> {
        if self.at.as_ref().is_none_or(|(rank, _)| *rank != row.key) {
            self.close(take)?;
            self.enter(row);
        }
        if !self.library.abandoned(row) {
            match row.row {
                RowKind::Message => self.message(row),
                _ => self.call(row),
            }
        }
        Ok(())
    }

    fn enter(&mut self, row: &Row) {
        let session = self.library.session(row);
        let name = name(session);
        let gathering = self.open.entry(name.clone()).or_default();
        gathering.parts += 1;
        gathering.digest.describe(session);
        self.at = Some((row.key, name));
    }

    fn here(&mut self) -> Option<&mut Gathering> {
        let (_, name) = self.at.as_ref()?;
        self.open.get_mut(name)
    }

    fn message(&mut self, row: &Row) {
        let kind = row.kind();
        if !matches!(kind, Kind::Prompt | Kind::Command | Kind::Reply) {
            return;
        }
        if kind != Kind::Command
            && let Some(here) = self.here()
        {
            here.last.push_back(*row);
            if here.last.len() > LAST {
                here.last.pop_front();
            }
        }
        // Only the last reply is needed; it is read once it is known which one that is.
        let full = self.here().is_none_or(|here| here.digest.prompts.len() >= PROMPTS);
        if kind == Kind::Reply || full {
            return;
        }
        match self.service.history().read_message(self.library, row) {
            Ok(message) => {
                let entry =
                    Said { id: message.id, role: Role::User, at: row.at, text: shortened(message.text) };
                let Some(here) = self.here() else { return };
                if kind == Kind::Prompt {
                    here.digest.prompts.push(entry);
                } else {
                    here.digest.slashes.extend(memory::slash(&entry.text));
                }
            }
            Err(_) => self.unread += 1,
        }
    }

    fn call(&mut self, row: &Row) {
        let Some(here) = self.here() else { return };
        let failed = row.status() == Status::Error;
        here.digest.calls += 1;
        here.digest.errors += u32::from(failed);
        if here.digest.calls > CALLS {
            return;
        }
        let tool = self.library.name(row).clone();
        match self.service.history().read_call_summary(self.library, row) {
            Ok(summary) => {
                if let Some(here) = self.here() {
                    here.add_call(&tool, &summary, failed);
                }
            }
            Err(_) => self.unread += 1,
        }
    }

    /// Called when the rows of one part of a session have ended.
    fn close(&mut self, take: &mut dyn FnMut(&Digest) -> Result<(), Error>) -> Result<(), Error> {
        let Some((_, name)) = self.at.take() else { return Ok(()) };
        let parts = self.wanted.get(&name).map_or(0, |wanted| wanted.parts);
        if self.open.get(&name).is_some_and(|gathering| gathering.parts >= parts) {
            self.hand_on(&name, take)?;
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        name: &Name,
        take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(mut gathering) = self.open.remove(name) else { return Ok(()) };
        self.last_words(&mut gathering);
        if self.with_turns {
            self.turns(&mut gathering);
        }
        if let Some(wanted) = self.wanted.get(name) {
            gathering.digest.ended_at = wanted.ended_at;
        }
        match self.unsaid.get(name) {
            Some(forgotten) => take(&gathering.digest.without(forgotten)),
            None => take(&gathering.digest),
        }
    }

    /// Reads the last messages of both sides, in order.
    fn turns(&mut self, gathering: &mut Gathering) {
        for row in &gathering.last {
            let role = if row.kind() == Kind::Prompt { Role::User } else { Role::Assistant };
            match self.service.history().read_message(self.library, row) {
                Ok(message) if message.text.trim().is_empty() => {}
                Ok(message) => {
                    let entry = Said { id: message.id, role, at: row.at, text: shortened(message.text) };
                    gathering.digest.turns.push(entry);
                }
                Err(_) => self.unread += 1,
            }
        }
    }

    fn last_words(&mut self, gathering: &mut Gathering) {
        for row in gathering.last.iter().rev() {
            if row.kind() == Kind::Prompt {
                gathering.digest.unanswered += 1;
                continue;
            }
            match self.service.history().read_message(self.library, row) {
                Ok(message) if message.text.trim().is_empty() => {}
                Ok(message) => {
                    gathering.digest.last_reply = shortened(message.text);
                    return;
                }
                Err(_) => self.unread += 1,
            }
        }
    }

    /// Passes on the sessions still open, which had a part without any rows.
    fn finish(mut self, take: &mut dyn FnMut(&Digest) -> Result<(), Error>) -> Result<u64, Error> {
        self.at = None;
        let open: Vec<Name> = self.open.keys().cloned().collect();
        open.iter().try_for_each(|name| self.hand_on(name, take))?;
        Ok(self.unread)
    }
}

impl Gathering {
    /// Adds a call. A failed or denied call has changed and shown nothing, so only its command is recorded, as failed.
    fn add_call(&mut self, tool: &str, summary: &CallSummary, failed: bool) {
        let digest = &mut self.digest;
        if failed {
            let free = COMMANDS.saturating_sub(digest.failed.len());
            digest.failed.extend(summary.command.clone().into_iter().take(free));
            return;
        }
        if let Some(file) = &summary.file {
            let files = match Act::of(tool) {
                Some(Act::Edit | Act::Write) => &mut digest.changed,
                _ => &mut digest.looked_at,
            };
            *files.entry(file.clone()).or_default() += 1;
        }
        if let Some(command) = summary.command.as_ref().filter(|_| digest.commands.len() < COMMANDS) {
            digest.commits.extend(memory::committed(command));
            digest.commands.push(command.clone());
        }
    }
}
