//! A transcript small enough to be loaded whole: the common form for sources that store one JSON file or some
//! database rows per conversation. Survey and fetch are the same for all of them.
//!
//! Does not know any agent's format. Positions are ordinals, not byte offsets.

mod outcome;
pub mod value;

pub use outcome::{Outcome, exit_code_after};

use crate::survey::MessageEntry;
use crate::{Error, Survey, Transcript};
use record::{Call, Coverage, Kind, Message, ProblemKind, Role, Row, Session, Stamp, Tokens};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// One conversation, in order.
pub struct Conversation {
    pub session: Session,
    pub parts: Vec<Part>,
    /// Lines are entries here. Bad and unfinished entries are in `problems` and counted there.
    pub coverage: Coverage,
    pub problems: Vec<(ProblemKind, String)>,
    /// When the session was created, if the store records it: anything older was copied into it.
    pub created_at: Stamp,
}

pub enum Part {
    Message {
        role: Role,
        kind: Kind,
        message: Message,
        tokens: Tokens,
        /// An ID that survives when the agent copies the message under a new one.
        same_as: Option<String>,
    },
    Call {
        call: Call,
        at: Stamp,
        until: Stamp,
        /// The same for a call, if its own ID is not unique: some providers count from zero in every reply.
        same_as: Option<String>,
    },
}

impl Part {
    pub fn message(role: Role, kind: Kind, message: Message, tokens: Tokens) -> Part {
        Part::Message { role, kind, message, tokens, same_as: None }
    }

    /// A call without its result.
    pub fn call(call: Call, at: Stamp) -> Part {
        Part::Call { call, at, until: Stamp::NONE, same_as: None }
    }

    /// The ID under which copies of the same part are recognised.
    pub fn stable_id(&self) -> &[u8] {
        let (id, same_as) = match self {
            Part::Message { message, same_as, .. } => (&message.id, same_as),
            Part::Call { call, same_as, .. } => (&call.id, same_as),
        };
        same_as.as_ref().unwrap_or(id).as_bytes()
    }
}

impl Conversation {
    pub fn new(session: Session) -> Conversation {
        Conversation {
            session,
            parts: Vec::new(),
            coverage: Coverage::default(),
            problems: Vec::new(),
            created_at: Stamp::NONE,
        }
    }

    /// An ID for a message or call to which the agent gives none: stable as long as history is only appended.
    pub fn next_id(&self) -> String {
        format!("{}#{}", self.session.session_id, self.parts.len())
    }

    pub fn add_message(&mut self, role: Role, kind: Kind, message: Message, tokens: Tokens) {
        if !message.id.is_empty() {
            return self.parts.push(Part::message(role, kind, message, tokens));
        }
        let id = self.next_id();
        // Two machines can have different messages at one position of one path.
        let text = record::event_key(b't', &[message.text.as_bytes()]) as u32;
        let same_as = Some(format!("{id}:{text:08x}"));
        self.parts.push(Part::Message { role, kind, message: Message { id, ..message }, tokens, same_as });
    }

    pub fn add_call(&mut self, call: Call, at: Stamp) {
        let id = if call.id.is_empty() { self.next_id() } else { call.id.clone() };
        self.parts.push(Part::call(Call { id, ..call }, at));
    }

    /// Adds a result to the latest call with this ID that has none. False: there is no such call.
    pub fn add_result(&mut self, id: &str, until: Stamp, outcome: Outcome) -> bool {
        let open = self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call { call, at, until, .. } if call.id == id && call.output.is_none() => {
                Some((call, *at, until))
            }
            _ => None,
        });
        let Some((call, begun, end)) = open else { return false };
        *end = until;
        outcome.apply(call);
        call.duration_ms = call.duration_ms.or_else(|| value::duration_between(begun, until));
        true
    }

    /// Gives the tokens to the last reply: some agents record them per session or after the message.
    pub fn set_reply_tokens(&mut self, sum: Tokens) {
        let last = self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Message { kind: Kind::Reply, tokens, .. } => Some(tokens),
            _ => None,
        });
        if let Some(tokens) = last {
            *tokens = sum;
        }
    }

    pub fn count_understood(&mut self) {
        self.coverage.lines += 1;
        self.coverage.understood += 1;
    }

    pub fn count_ignored(&mut self) {
        self.coverage.lines += 1;
        self.coverage.ignored += 1;
    }

    pub fn count_unknown(&mut self, name: &str) {
        self.coverage.lines += 1;
        self.coverage.count_unknown_type(if name.is_empty() { "(no type)" } else { name });
    }

    /// Records an entry that cannot be used. One that could not even be opened is a problem, but not a line.
    pub fn add_problem(&mut self, kind: ProblemKind, note: String) {
        let line = matches!(kind, ProblemKind::BadLine | ProblemKind::LineTooLong | ProblemKind::Unfinished);
        self.coverage.lines += u64::from(line);
        self.problems.push((kind, note));
    }

    /// Counts the keys of an entry that are not known.
    pub fn count_unknown_fields(&mut self, kind: &str, entry: &serde_json::Value, known: &[&str]) {
        let keys = entry.as_object().into_iter().flat_map(serde_json::Map::keys);
        for key in keys.filter(|key| !known.contains(&key.as_str())) {
            *self.coverage.unknown_fields.entry(format!("{kind}.{key}")).or_default() += 1;
        }
    }
}

/// Adds a conversation to a survey.
pub fn survey_conversation(conversation: &Conversation, survey: &mut Survey<'_>) {
    survey.text_is_decoded = true;
    let session = survey.add_session(conversation.session.clone());
    survey.set_version(conversation.session.version.as_bytes());
    survey.coverage_mut().merge(&conversation.coverage);
    for (kind, note) in &conversation.problems {
        survey.report_problem(*kind, 0, note);
    }
    survey.record_time(session, conversation.session.started_at);
    for (ordinal, part) in conversation.parts.iter().enumerate() {
        survey_part(conversation, part, session, ordinal as u64, survey);
    }
    if conversation.created_at.is_some() {
        // Copied history is older than the session that contains it.
        survey.session_mut(session).started_at = conversation.created_at;
    }
}

fn survey_part(conversation: &Conversation, part: &Part, session: u32, place: u64, survey: &mut Survey<'_>) {
    let id = part.stable_id();
    let flags = |at: Stamp| {
        let copied = at.is_some() && at < conversation.created_at;
        crate::survey::row_flags(copied, conversation.session.parent_session_id.is_some())
    };
    match part {
        Part::Message { role, kind, message, tokens, .. } => {
            let at = message.at.unwrap_or_default();
            survey.add_message(MessageEntry {
                session,
                role: *role,
                kind: *kind,
                id,
                at,
                place,
                text: message.text.as_bytes(),
                model: message.model.as_deref().unwrap_or("").as_bytes(),
                tokens: *tokens,
                flags: flags(at),
            });
            survey.add_entry(
                message.id.as_bytes(),
                message.parent_id.as_deref().unwrap_or("").as_bytes(),
                b"",
            );
        }
        Part::Call { call, at, until, .. } => {
            survey.add_call(session, id, call.tool.as_bytes(), *at, place, flags(*at));
            if call.output.is_some() || call.error.is_some() {
                survey.add_result(id, call.status, *until, place);
            }
        }
    }
}

type Loader = fn(&Transcript) -> Result<Conversation, Error>;

struct CachedConversation {
    path: PathBuf,
    part: Option<String>,
    stamp: CacheStamp,
    conversation: Rc<Conversation>,
}

thread_local! {
    /// Records are fetched in order, so the same few conversations are needed again and again.
    static LOADED: RefCell<Vec<CachedConversation>> = const { RefCell::new(Vec::new()) };
}

const CACHE_SIZE: usize = 4;

/// Length and modification time, of the file and of a database's log.
type CacheStamp = [Option<(u64, SystemTime)>; 2];

fn cache_stamp(path: &Path) -> CacheStamp {
    let of = |path: &Path| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    };
    [of(path), of(&db::sibling_path(path, "-wal"))]
}

/// The conversation as it is now: a cached one is used only while its file has not changed.
fn load_cached(transcript: &Transcript, load: Loader) -> Result<Rc<Conversation>, Error> {
    let age = cache_stamp(&transcript.path);
    LOADED.with_borrow_mut(|cache| {
        let same = |k: &CachedConversation| k.path == transcript.path && k.part == transcript.part;
        if let Some(found) = cache.iter().find(|k| same(k) && k.stamp == age) {
            return Ok(found.conversation.clone());
        }
        cache.retain(|k| !same(k));
        let conversation = Rc::new(load(transcript)?);
        if cache.len() == CACHE_SIZE {
            cache.remove(0);
        }
        let (path, part) = (transcript.path.clone(), transcript.part.clone());
        cache.push(CachedConversation { path, part, stamp: age, conversation: conversation.clone() });
        Ok(conversation)
    })
}

/// The part that a row was made from, if it has not changed.
fn find_part<'c>(conversation: &'c Conversation, row: &Row) -> Option<&'c Part> {
    let part = conversation.parts.get(row.start as usize)?;
    (Row::id_head(part.stable_id()) == row.id).then_some(part)
}

pub fn fetch_call(transcript: &Transcript, row: &Row, load: Loader) -> Result<Call, Error> {
    match find_part(&*load_cached(transcript, load)?, row) {
        Some(Part::Call { call, .. }) => Ok(call.clone()),
        _ => Err(moved_error(transcript, "tool call", row)),
    }
}

pub fn fetch_message(transcript: &Transcript, row: &Row, load: Loader) -> Result<Message, Error> {
    match find_part(&*load_cached(transcript, load)?, row) {
        Some(Part::Message { message, .. }) => Ok(message.clone()),
        _ => Err(moved_error(transcript, "message", row)),
    }
}

fn moved_error(transcript: &Transcript, what: &'static str, row: &Row) -> Error {
    Error::Moved { path: transcript.path.clone(), what, place: row.start }
}
