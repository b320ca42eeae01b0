//! A source that appends one JSON record per line. The source parses a record into the messages, calls and results it
//! contains, without knowing the records before it; the survey streams the file, and a fetch parses single lines again.
//! So memory does not depend on the size of the file, and a grown file is read from where it grew.
//!
//! Does not know any agent's format, nor how to join a result to a call without an ID.

use crate::conversation::{Outcome, Part, value};
use crate::json::{self, JsonResult, Malformed};
use crate::records::{self, LineParser};
use crate::survey::{MessageEntry, row_flags};
use crate::{Error, Source, Store, Survey, Transcript, line_reader};
use record::row::USAGE_ONLY;
use record::{Call, Kind, Message, Role, Row, Session, Stamp, TitleOrigin, Tokens};
use serde_json::Value;
use std::sync::Arc;

/// A row in the table of sources, for a log with one record per line.
pub struct EventLog {
    pub store: Store,
    /// Adds what the path and the files beside the log say about the session.
    pub describe: fn(&Transcript, &mut Session),
    /// Model and tokens of the whole session, if a file beside the log has them and its lines do not. They belong to the
    /// line that has an [`Item::Usage`] without tokens.
    pub usage: Option<ReadUsage>,
    pub parse: fn(&Value, &mut Entry),
}

/// Reads model and tokens from beside a log.
pub type ReadUsage = fn(&Transcript) -> (Option<String>, Tokens);

/// What one line contains.
#[derive(Default)]
pub struct Entry {
    pub class: Class,
    /// The ID of the entry and of the one it continues, if the log is a tree.
    pub link: Option<(String, String)>,
    pub session: SessionFacts,
    pub items: Vec<Item>,
}

/// How the line is counted.
#[derive(Default, PartialEq, Eq, Debug)]
pub enum Class {
    #[default]
    Understood,
    Ignored,
    Unknown(String),
}

/// What the line says about its session. The first value of each is kept, except the title.
#[derive(Default)]
pub struct SessionFacts {
    pub session_id: Option<String>,
    pub parent_session_id: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub version: Option<String>,
    pub title: Option<(String, TitleOrigin)>,
    pub started_at: Stamp,
}

pub enum Item {
    Part(Part),
    /// The result of a call on this or an earlier line, by the call's stable ID.
    Result {
        call: String,
        at: Stamp,
        outcome: Outcome,
    },
    /// Tokens on a line of their own.
    Usage {
        id: String,
        at: Stamp,
        model: Option<String>,
        tokens: Tokens,
    },
}

impl Entry {
    pub fn ignore(&mut self) {
        self.class = Class::Ignored;
    }

    pub fn unknown(&mut self, name: &str) {
        self.class = Class::Unknown(if name.is_empty() { "(no type)".to_string() } else { name.to_string() });
    }

    pub fn add_message(&mut self, role: Role, kind: Kind, message: Message, tokens: Tokens) {
        self.items.push(Item::Part(Part::message(role, kind, message, tokens)));
    }

    pub fn add_call(&mut self, call: Call, at: Stamp) {
        self.items.push(Item::Part(Part::call(call, at)));
    }

    pub fn add_result(&mut self, call: &str, at: Stamp, outcome: Outcome) {
        self.items.push(Item::Result { call: call.to_string(), at, outcome });
    }
}

impl Source for EventLog {
    crate::delegate_to_store!();

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        let mut walk = Walk::new(self, transcript, survey);
        records::read_lines(&mut walk, line_reader::open_regular(&transcript.path)?, &transcript.path)
    }

    fn survey_from(
        &self,
        transcript: &Transcript,
        from: u64,
        survey: &mut Survey<'_>,
    ) -> Result<bool, Error> {
        let mut walk = Walk::new(self, transcript, survey);
        // The first line of most logs describes the session.
        let first = parse_line(self, &line_reader::read_line_at(&transcript.path, 0)?);
        if let Some(first) = first {
            walk.add_session_facts(first.session);
        }
        let tail = line_reader::open_at(&transcript.path, from)?;
        records::read_lines_from(&mut walk, tail, &transcript.path, from)?;
        Ok(true)
    }

    fn fetch_call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
        let line = line_reader::read_line_at(&transcript.path, row.start)?;
        let call = parse_line(self, &line).and_then(|entry| find_call(entry, row));
        let mut call = call.ok_or_else(|| moved(transcript, "tool call", row.start))?;
        call.status = row.status();
        if row.end != Row::NO_END {
            let line = line_reader::read_line_at(&result.path, row.end)?;
            let outcome = parse_line(self, &line).and_then(|entry| find_result(entry, row));
            outcome.ok_or_else(|| moved(result, "tool result", row.end))?.apply(&mut call);
            call.duration_ms = call.duration_ms.or_else(|| value::duration_between(row.at, row.until));
        }
        Ok(call)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        let mut joined: Option<Message> = None;
        let mut at = row.start;
        while at <= row.end {
            let line = line_reader::read_line_at(&transcript.path, at)?;
            if let Some(message) = parse_line(self, &line).and_then(|entry| find_message(entry, row)) {
                match &mut joined {
                    Some(before) => append_block(before, &message),
                    None => joined = Some(message),
                }
            } else if at == row.start {
                break;
            }
            at += line.len() as u64 + 1;
        }
        joined.ok_or_else(|| moved(transcript, "message", row.start))
    }
}

fn moved(transcript: &Transcript, what: &'static str, place: u64) -> Error {
    Error::Moved { path: transcript.path.clone(), what, place }
}

/// Parses the record at the beginning of a line; after a damaged one, more may follow it.
fn parse_line(log: &EventLog, line: &[u8]) -> Option<Entry> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let whole = serde_json::from_str(&String::from_utf8_lossy(line)).ok();
    let record = whole.or_else(|| {
        let first = json::first_value(line).ok()?;
        serde_json::from_str(&String::from_utf8_lossy(first)).ok()
    })?;
    Some(parse_record(log, &record))
}

fn parse_record(log: &EventLog, record: &Value) -> Entry {
    let mut entry = Entry::default();
    if record.is_object() {
        (log.parse)(record, &mut entry);
    } else {
        entry.unknown("not an object");
    }
    entry
}

fn is_row(stable_id: &[u8], row: &Row) -> bool {
    Row::id_head(stable_id) == row.id
}

fn find_call(entry: Entry, row: &Row) -> Option<Call> {
    entry.items.into_iter().find_map(|item| match item {
        Item::Part(part @ Part::Call { .. }) if is_row(part.stable_id(), row) => match part {
            Part::Call { call, .. } => Some(call),
            Part::Message { .. } => None,
        },
        _ => None,
    })
}

fn find_result(entry: Entry, row: &Row) -> Option<Outcome> {
    entry.items.into_iter().find_map(|item| match item {
        Item::Result { call, outcome, .. } if is_row(call.as_bytes(), row) => Some(outcome),
        _ => None,
    })
}

fn find_message(entry: Entry, row: &Row) -> Option<Message> {
    entry.items.into_iter().find_map(|item| match item {
        Item::Part(part @ Part::Message { .. }) if is_row(part.stable_id(), row) => match part {
            Part::Message { message, .. } => Some(message),
            Part::Call { .. } => None,
        },
        Item::Usage { id, .. } if is_row(id.as_bytes(), row) => Some(Message { id, ..Message::default() }),
        _ => None,
    })
}

fn append_block(joined: &mut Message, block: &Message) {
    joined.text.push_str(&block.text);
    joined.tool_calls += block.tool_calls;
}

/// One pass over one file.
struct Walk<'s, 'a, 'l> {
    log: &'l EventLog,
    survey: &'s mut Survey<'a>,
    /// Model and tokens from beside the log.
    usage: (Option<String>, Tokens),
}

impl<'s, 'a, 'l> Walk<'s, 'a, 'l> {
    fn new(log: &'l EventLog, transcript: &Transcript, survey: &'s mut Survey<'a>) -> Walk<'s, 'a, 'l> {
        let mut session = Session::new(log.store.name, &transcript.hint);
        (log.describe)(transcript, &mut session);
        survey.add_session(session);
        survey.copies_keep_ids = true;
        survey.text_is_decoded = true;
        let usage = log.usage.map_or((None, Tokens::ZERO), |read| read(transcript));
        Walk { log, survey, usage }
    }

    fn add_session_facts(&mut self, facts: SessionFacts) {
        if let Some(version) = &facts.version {
            self.survey.set_version(version.as_bytes());
        }
        self.survey.record_time(0, facts.started_at);
        let session = self.survey.session_mut(0);
        if let Some(id) = facts.session_id {
            session.session_id = Arc::from(id);
        }
        if session.parent_session_id.is_none() {
            session.parent_session_id = facts.parent_session_id.map(Arc::from);
        }
        for (slot, value) in [
            (&mut session.cwd, &facts.cwd),
            (&mut session.project, &facts.cwd),
            (&mut session.git_branch, &facts.git_branch),
        ] {
            if let Some(value) = value.as_ref().filter(|_| slot.is_empty()) {
                *slot = Arc::from(value.as_str());
            }
        }
        if let Some((title, origin)) = facts.title {
            self.survey.set_title(0, &title, origin);
        }
    }

    fn add_item(&mut self, item: &Item, place: u64) {
        let flags = row_flags(false, self.survey.session_mut(0).agent_id.is_some());
        match item {
            Item::Part(part @ Part::Message { role, kind, message, tokens, .. }) => {
                let kind = if flags != 0 && *kind == Kind::Prompt { Kind::Task } else { *kind };
                self.survey.add_message(MessageEntry {
                    session: 0,
                    role: *role,
                    kind,
                    id: part.stable_id(),
                    at: message.at.unwrap_or_default(),
                    place,
                    text: message.text.as_bytes(),
                    model: message.model.as_deref().unwrap_or("").as_bytes(),
                    tokens: *tokens,
                    flags,
                });
            }
            Item::Part(part @ Part::Call { call, at, .. }) => {
                self.survey.add_call(0, part.stable_id(), call.tool.as_bytes(), *at, place, flags);
            }
            Item::Result { call, at, outcome } => {
                self.survey.record_time(0, *at);
                self.survey.add_result(call.as_bytes(), outcome.status, *at, place);
            }
            Item::Usage { id, at, model, tokens } => {
                let (beside, total) = &self.usage;
                let (model, tokens) = if tokens.is_zero() { (beside, total) } else { (model, tokens) };
                self.survey.add_message(MessageEntry {
                    session: 0,
                    role: Role::Assistant,
                    kind: Kind::Reply,
                    id: id.as_bytes(),
                    at: *at,
                    place,
                    text: b"",
                    model: model.as_deref().unwrap_or("").as_bytes(),
                    tokens: *tokens,
                    flags: flags | USAGE_ONLY,
                });
            }
        }
    }
}

impl<'a> LineParser<'a> for Walk<'_, 'a, '_> {
    fn survey_mut(&mut self) -> &mut Survey<'a> {
        self.survey
    }

    fn parse_line(&mut self, bytes: &[u8], start: usize, base: u64) -> JsonResult<usize> {
        let end = records::line_end(bytes, start);
        let mut coverage = record::Coverage::default();
        let record = value::parse_entry(&bytes[start..end], &mut coverage).map_err(|_| Malformed)?;
        let entry = parse_record(self.log, &record);
        self.add_session_facts(entry.session);
        let counts = self.survey.coverage_mut();
        counts.lines += 1;
        counts.lossy_utf8 += coverage.lossy_utf8;
        match &entry.class {
            Class::Understood => counts.understood += 1,
            Class::Ignored => counts.ignored += 1,
            Class::Unknown(name) => counts.count_unknown_type(name),
        }
        for item in &entry.items {
            self.add_item(item, base + start as u64);
        }
        if let Some((id, parent)) = &entry.link {
            self.survey.add_entry(id.as_bytes(), parent.as_bytes(), b"");
        }
        Ok(end)
    }

    fn is_record(&self, object: &[u8]) -> bool {
        let entry = parse_line(self.log, object);
        entry.is_some_and(|entry| entry.class == Class::Understood && !entry.items.is_empty())
    }
}
