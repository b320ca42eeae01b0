//! Selects the sessions that changed since they were consolidated, and builds a digest of each.
//!
//! Reads one session at a time, so that memory use does not grow with the history. Messages of subagents are not part of the
//! parent session. Does not know how names or facts are derived.

use super::super::records::BOTH;
use crate::{Service, memory_store};
use api::memory::Consolidate;
use api::{Code, Error, ViewRequest};
use catalogue::EventFilter;
use history::call_summary::{CallSummary, shorten_text};
use history::error::read_error;
use history::resolve_session;
use history::scan::{self, Need, ScanResult, by_session, by_time, is_warm_up, scan_rows};
use memory::{Digest, DigestMessage, Reply};
use query::file_usage::FileAccess;
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Role, Row, RowKind, Session, Stamp, Status};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Source and session ID.
pub(super) type SessionKey = (String, String);

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

pub(super) struct PlannedSession {
    parts: usize,
    pub(super) ended_at: Stamp,
    pub(super) project: String,
}

/// More prompts than a person types; beyond that a script wrote them.
const MAX_PROMPTS: usize = 2_000;
/// Calls that are read; the rest is only counted.
const MAX_CALLS_READ: u32 = 4_000;
const MAX_COMMANDS: usize = 300;
/// Number of last messages kept: thirty turns of two messages.
const LAST_MESSAGES: usize = 60;
/// Replies that are read between two prompts: an agent at work says something at every step.
const MAX_REPLIES: usize = 4;

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
        let wanted = &self.sessions;
        let (library, rows) =
            scan_rows(&service.history(), &self.request, BOTH, by_session, |library, joined| {
                let session = library.session(&joined.row);
                session.agent_id.is_none()
                    && wanted.contains_key(&session_key(session))
                    && is_digest_row(&joined.row)
            })?;
        let mut reader = DigestBuilder {
            service,
            library: &library,
            wanted,
            forgotten_facts: &self.forgotten_facts,
            open: BTreeMap::new(),
            current: None,
            with_turns: self.with_turns,
            unread: 0,
        };
        for row in rows {
            reader.add_row(&row.map_err(read_error)?, take)?;
        }
        reader.emit_remaining(take)
    }
}

fn session_key(session: &Session) -> SessionKey {
    (session.source.to_string(), session.session_id.to_string())
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

fn is_digest_row(row: &Row) -> bool {
    !is_warm_up(row) && !row.has_flag(USAGE_ONLY) && !row.has_flag(SIDECHAIN)
}

/// Builds digests from the rows of their sessions.
struct DigestBuilder<'a> {
    service: &'a Service,
    library: &'a ScanResult,
    wanted: &'a BTreeMap<SessionKey, PlannedSession>,
    forgotten_facts: &'a BTreeMap<SessionKey, BTreeSet<String>>,
    /// Sessions in progress: the parts of a session with several transcripts are not adjacent.
    open: BTreeMap<SessionKey, PartialDigest>,
    current: Option<(u64, SessionKey)>,
    with_turns: bool,
    unread: u64,
}

#[derive(Default)]
struct PartialDigest {
    digest: Digest,
    parts: usize,
    last: VecDeque<Row>,
    /// Replies since the last prompt, each with the calls before it. Only those next to a prompt are read.
    replies: Vec<(Row, u32)>,
    calls_since: u32,
    /// Records that could not be read.
    unread: u64,
}

impl DigestBuilder<'_> {
    fn add_row(
        &mut self,
        row: &Row,
        take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.current.as_ref().is_none_or(|(rank, _)| *rank != row.key) {
            self.end_part(take)?;
            self.begin_part(row);
        }
        if !self.library.is_abandoned(row) {
            match row.row {
                RowKind::Message => self.add_message(row),
                _ => self.add_call_row(row),
            }
        }
        Ok(())
    }

    fn begin_part(&mut self, row: &Row) {
        let session = self.library.session(row);
        let name = session_key(session);
        let gathering = self.open.entry(name.clone()).or_default();
        gathering.parts += 1;
        gathering.digest.describe(session);
        self.current = Some((row.key, name));
    }

    fn current_digest(&mut self) -> Option<&mut PartialDigest> {
        let (_, name) = self.current.as_ref()?;
        self.open.get_mut(name)
    }

    fn count_unread(&mut self) {
        if let Some(here) = self.current_digest() {
            here.unread += 1;
        }
    }

    fn add_message(&mut self, row: &Row) {
        let kind = row.kind();
        if !matches!(kind, Kind::Prompt | Kind::Command | Kind::Reply) {
            return;
        }
        if kind != Kind::Command
            && let Some(here) = self.current_digest()
        {
            here.last.push_back(*row);
            if here.last.len() > LAST_MESSAGES {
                here.last.pop_front();
            }
        }
        let full = self.current_digest().is_none_or(|here| here.digest.prompts.len() >= MAX_PROMPTS);
        if kind == Kind::Reply || full {
            if let Some(here) = self.current_digest() {
                here.add_reply(row);
            }
            return;
        }
        if kind == Kind::Prompt {
            self.read_replies();
        }
        match self.service.history().read_message(self.library, row) {
            Ok(message) => {
                let entry = DigestMessage {
                    id: message.id,
                    role: Role::User,
                    at: row.at,
                    text: shorten_text(message.text),
                };
                let Some(here) = self.current_digest() else { return };
                if kind == Kind::Prompt {
                    here.digest.prompts.push(entry);
                } else {
                    here.digest.slash_commands.extend(memory::slash(&entry.text));
                }
            }
            Err(_) => self.count_unread(),
        }
    }

    fn add_call_row(&mut self, row: &Row) {
        let Some(here) = self.current_digest() else { return };
        let failed = row.status() == Status::Error;
        here.digest.calls += 1;
        here.calls_since += 1;
        here.digest.errors += u32::from(failed);
        if here.digest.calls > MAX_CALLS_READ {
            return;
        }
        let tool = self.library.name(row).clone();
        match self.service.history().read_call_summary(self.library, row) {
            Ok(summary) => {
                if let Some(here) = self.current_digest() {
                    here.add_call(&tool, &summary, failed);
                }
            }
            Err(_) => self.count_unread(),
        }
    }

    /// Called when the rows of one part of a session have ended.
    fn end_part(&mut self, take: &mut dyn FnMut(&Digest) -> Result<(), Error>) -> Result<(), Error> {
        let Some((_, name)) = self.current.take() else { return Ok(()) };
        let parts = self.wanted.get(&name).map_or(0, |wanted| wanted.parts);
        if self.open.get(&name).is_some_and(|gathering| gathering.parts >= parts) {
            self.emit_digest(&name, take)?;
        }
        Ok(())
    }

    fn emit_digest(
        &mut self,
        name: &SessionKey,
        take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(mut gathering) = self.open.remove(name) else { return Ok(()) };
        self.read_last_reply(&mut gathering);
        self.read_replies_of(&mut gathering);
        if self.with_turns {
            self.read_last_turns(&mut gathering);
        }
        if gathering.unread > 0 {
            // Without a digest the session counts as not derived, and the next run reads it again.
            self.unread += gathering.unread;
            return Ok(());
        }
        if let Some(wanted) = self.wanted.get(name) {
            gathering.digest.ended_at = wanted.ended_at;
        }
        match self.forgotten_facts.get(name) {
            Some(forgotten) => take(&gathering.digest.without_forgotten(forgotten)),
            None => take(&gathering.digest),
        }
    }

    /// Reads the last messages of both sides, in order.
    fn read_last_turns(&self, gathering: &mut PartialDigest) {
        for row in &gathering.last.clone() {
            let role = if row.kind() == Kind::Prompt { Role::User } else { Role::Assistant };
            match self.service.history().read_message(self.library, row) {
                Ok(message) if message.text.trim().is_empty() => {}
                Ok(message) => {
                    let entry =
                        DigestMessage { id: message.id, role, at: row.at, text: shorten_text(message.text) };
                    gathering.digest.turns.push(entry);
                }
                Err(_) => gathering.unread += 1,
            }
        }
    }

    fn read_replies(&mut self) {
        let Some((_, name)) = self.current.clone() else { return };
        let Some(mut gathering) = self.open.remove(&name) else { return };
        self.read_replies_of(&mut gathering);
        self.open.insert(name, gathering);
    }

    /// Reads the replies between two prompts: the first, which answers the one, and the last, which the other answers.
    fn read_replies_of(&self, gathering: &mut PartialDigest) {
        for (row, calls) in std::mem::take(&mut gathering.replies) {
            match self.service.history().read_message(self.library, &row) {
                Ok(message) if message.text.trim().is_empty() => {}
                Ok(message) => {
                    let (role, text) = (Role::Assistant, shorten_text(message.text));
                    let message = DigestMessage { id: message.id, role, at: row.at, text };
                    let prompts_before = gathering.digest.prompts.len();
                    gathering.digest.replies.push(Reply { message, prompts_before, calls });
                }
                Err(_) => gathering.unread += 1,
            }
        }
        gathering.calls_since = 0;
    }

    fn read_last_reply(&self, gathering: &mut PartialDigest) {
        for row in gathering.last.clone().iter().rev() {
            if row.kind() == Kind::Prompt {
                gathering.digest.unanswered_prompts += 1;
                continue;
            }
            match self.service.history().read_message(self.library, row) {
                Ok(message) if message.text.trim().is_empty() => {}
                Ok(message) => {
                    gathering.digest.last_reply = shorten_text(message.text);
                    return;
                }
                Err(_) => gathering.unread += 1,
            }
        }
    }

    /// Passes on the sessions still open, which had a part without any rows.
    fn emit_remaining(mut self, take: &mut dyn FnMut(&Digest) -> Result<(), Error>) -> Result<u64, Error> {
        self.current = None;
        let open: Vec<SessionKey> = self.open.keys().cloned().collect();
        open.iter().try_for_each(|name| self.emit_digest(name, take))?;
        Ok(self.unread)
    }
}

impl PartialDigest {
    /// Keeps the first and the last replies since the prompt.
    fn add_reply(&mut self, row: &Row) {
        if self.replies.len() >= MAX_REPLIES {
            self.replies.remove(1);
        }
        self.replies.push((*row, std::mem::take(&mut self.calls_since)));
    }

    /// Adds a call. A failed or denied call has changed and shown nothing, so only its command is recorded, as failed.
    fn add_call(&mut self, tool: &str, summary: &CallSummary, failed: bool) {
        let digest = &mut self.digest;
        if failed {
            let free = MAX_COMMANDS.saturating_sub(digest.failed_commands.len());
            digest.failed_commands.extend(summary.command.clone().into_iter().take(free));
            return;
        }
        if let Some(file) = &summary.file {
            let files = match FileAccess::from_tool(tool) {
                Some(FileAccess::Edit | FileAccess::Write) => &mut digest.files_changed,
                _ => &mut digest.files_read,
            };
            *files.entry(file.clone()).or_default() += 1;
        }
        if let Some(command) = summary.command.as_ref().filter(|_| digest.commands.len() < MAX_COMMANDS) {
            digest.commits.extend(memory::committed(command));
            digest.commands.push(command.clone());
        }
    }
}
