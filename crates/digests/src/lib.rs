//! Reads the messages and calls of sessions into digests, from which memory is derived.
//!
//! Reads one session at a time, so that memory use does not grow with the history. Messages of subagents are not part of the
//! parent session. Does not know which sessions are worth reading, nor how names or facts are derived.

pub mod summary;

use api::{Error, ViewRequest};
use history::History;
use history::call_summary::{CallSummary, shorten_text};
use history::error::read_error;
use history::scan::{ScanResult, by_session, is_warm_up, scan_rows};
use memory::{Digest, DigestMessage, Reply};
use query::file_usage::FileAccess;
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Role, Row, RowKind, Session, Stamp, Status};
use sources::SurveyOptions;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Source and session ID.
pub type SessionKey = (String, String);

/// A session to read.
pub struct PlannedSession {
    /// The number of transcripts that contain it.
    pub parts: usize,
    pub ended_at: Stamp,
    pub project: String,
}

/// What to read.
#[derive(Clone, Copy)]
pub struct DigestOptions<'a> {
    pub wanted: &'a BTreeMap<SessionKey, PlannedSession>,
    /// Facts forgotten by a person, by session.
    pub forgotten_facts: &'a BTreeMap<SessionKey, BTreeSet<String>>,
    /// Whether to read the last messages as well, which only a model needs.
    pub with_turns: bool,
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

/// Passes a digest of each wanted session to `take`, ordered by start, and returns the number of unreadable records.
pub fn read_digests(
    history: &History<'_>,
    request: &ViewRequest,
    options: DigestOptions<'_>,
    take: &mut dyn FnMut(&Digest) -> Result<(), Error>,
) -> Result<u64, Error> {
    let DigestOptions { wanted, forgotten_facts, with_turns } = options;
    let (library, rows) = scan_rows(history, request, SurveyOptions::ALL, by_session, |library, joined| {
        let session = library.session(&joined.row);
        session.agent_id.is_none() && wanted.contains_key(&session_key(session)) && is_digest_row(&joined.row)
    })?;
    let mut reader = DigestBuilder {
        history,
        library: &library,
        wanted,
        forgotten_facts,
        open: BTreeMap::new(),
        current: None,
        with_turns,
        unread: 0,
    };
    for row in rows {
        reader.add_row(&row.map_err(read_error)?, take)?;
    }
    reader.emit_remaining(take)
}

pub fn session_key(session: &Session) -> SessionKey {
    (session.source.to_string(), session.session_id.to_string())
}

fn is_digest_row(row: &Row) -> bool {
    !is_warm_up(row) && !row.has_flag(USAGE_ONLY) && !row.has_flag(SIDECHAIN)
}

/// Builds digests from the rows of their sessions.
struct DigestBuilder<'a> {
    history: &'a History<'a>,
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
        match self.history.read_message(self.library, row) {
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
        match self.history.read_call_summary(self.library, row) {
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
            match self.history.read_message(self.library, row) {
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
            match self.history.read_message(self.library, &row) {
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
            match self.history.read_message(self.library, row) {
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
