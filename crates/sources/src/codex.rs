//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, compressed or not, archived or not, in
//! the formats of 0.21 to 0.166.
//!
//! A prompt and a reply arrive in two streams, one for the model and one for the screen: each is counted
//! once. The databases beside the rollouts repeat them and are not read, so a name stored only there is not
//! known.

mod entry;
mod fetch;
mod kind;
mod outcome;
mod packed;
mod thread;
mod usage;

use crate::json::{self, Cursor, Look};
use crate::records::{self, Reader};
use crate::survey::{Said, flags};
use crate::walk::{Found, files};
use crate::{Error, Places, Source, Survey, Transcript, place};
use entry::{Class, Entry, Item};
use kind::Wrapper;
use outcome::Outcome;
use record::row::USAGE_ONLY;
use record::{Call, Kind, Message, ProblemKind, Role, Row, Session, Stamp, Status, TitleOrigin, Tokens, key};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thread::Thread;
use usage::Usage;

pub struct Codex;

impl Source for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[(
            "CODEX_HOME",
            "where Codex keeps its history, instead of ~/.codex; several, with `:` between them",
        )]
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        places.roots("CODEX_HOME", ".codex")
    }

    fn list(&self, root: &Path, found: &mut Found) {
        for folder in ["sessions", "archived_sessions"] {
            files(&root.join(folder), found, &mut |path, meta, found| {
                if let Some(id) = session_of(path) {
                    found.add(path.to_path_buf(), meta, &id, root);
                }
            });
        }
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        let mut walk = Walk::new(transcript, survey);
        let read = if packed::is_packed(&transcript.path) {
            records::read(&mut walk, packed::open(&transcript.path)?, &transcript.path)
        } else {
            records::read(&mut walk, place::open(&transcript.path)?, &transcript.path)
        };
        walk.close();
        match read {
            // A truncated compressed file still contains the data before the cut.
            Err(Error::Io { error, .. }) if packed::is_packed(&transcript.path) => {
                survey.problem(ProblemKind::Unreadable, 0, &error.to_string());
                Ok(())
            }
            other => other,
        }
    }

    fn survey_on(&self, transcript: &Transcript, from: u64, survey: &mut Survey<'_>) -> Result<bool, Error> {
        if packed::is_packed(&transcript.path) {
            return Ok(false);
        }
        let mut walk = Walk::new(transcript, survey);
        records::read_on(&mut walk, place::open_at(&transcript.path, from)?, &transcript.path, from)?;
        walk.close();
        Ok(true)
    }

    fn call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
        fetch::call(transcript, result, row)
    }

    fn message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        fetch::message(transcript, row)
    }
}

/// The ID at the end of a rollout's name. A compressed file beside its plain one is a copy and ignored.
fn session_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    if packed::is_packed(path) && path.with_extension("").is_file() {
        return None;
    }
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?;
    let id = stem.get(stem.len().saturating_sub(36)..).unwrap_or(stem);
    Some(id.to_string())
}

/// The stream prompts are read from: the first one that contains any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Items,
    Events,
    Completed,
}

/// A user message of the model's stream that becomes a prompt if the screen's stream turns out to be missing.
struct Held {
    id: Vec<u8>,
    at: Stamp,
    place: u64,
    text: Vec<u8>,
}

/// Tokens that were reported before the reply they belong to.
struct Owed {
    id: Vec<u8>,
    at: Stamp,
    place: u64,
    tokens: Tokens,
}

/// How many calls may have a known status before their result is read: far more than ever run at once.
const JUDGED: usize = 4096;

/// One pass over one file.
struct Walk<'s, 'a> {
    survey: &'s mut Survey<'a>,
    headed: bool,
    subagent: bool,
    /// The session's own time, for lines without one.
    started: Stamp,
    model: Vec<u8>,
    thread: Thread,
    usage: Usage,
    prompts: Stream,
    held: Vec<Held>,
    /// Replies shown on the screen that have not yet appeared in the model's stream.
    announced: u32,
    last_reply: Option<(Vec<u8>, bool)>,
    unpaid: Option<Vec<u8>>,
    owed: Option<Owed>,
    verdicts: FxHashMap<u64, Status>,
    /// The prompts that the next one continues.
    alive: Vec<Vec<u8>>,
}

impl<'a> Reader<'a> for Walk<'_, 'a> {
    fn survey(&mut self) -> &mut Survey<'a> {
        self.survey
    }

    fn take(&mut self, bytes: &[u8], start: usize, base: u64) -> Look<usize> {
        let (entry, parsed) = Entry::read(bytes, start, self.survey.want)?;
        let end = records::line_end(bytes, parsed);
        self.survey.coverage().lines += 1;
        if self.survey.want.fields {
            self.account_fields(&entry, &bytes[start..end]);
        }
        self.entry(&entry, base + start as u64);
        Ok(end)
    }

    fn is_record(object: &[u8]) -> bool {
        entry::is_record(object)
    }
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(transcript: &Transcript, survey: &'s mut Survey<'a>) -> Walk<'s, 'a> {
        survey.add_session(Session::new("codex", &transcript.hint));
        survey.entry(b"root", b"", b"");
        let mut thread = Thread::default();
        thread.begin(transcript.hint.as_bytes(), b"");
        Walk {
            survey,
            headed: false,
            subagent: false,
            started: Stamp::NONE,
            model: Vec::new(),
            thread,
            usage: Usage::default(),
            prompts: Stream::Items,
            held: Vec::new(),
            announced: 0,
            last_reply: None,
            unpaid: None,
            owed: None,
            verdicts: FxHashMap::default(),
            alive: Vec::new(),
        }
    }

    fn account_fields(&mut self, entry: &Entry<'_>, line: &[u8]) {
        if std::str::from_utf8(line).is_err() {
            self.survey.coverage().lossy_utf8 += 1;
        }
        for field in &entry.unknown_fields {
            let name = format!("{}.{}", entry.name(), json::text(field));
            *self.survey.coverage().unknown_fields.entry(name).or_default() += 1;
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, place: u64) {
        match entry.class() {
            Class::Understood => self.survey.coverage().understood += 1,
            Class::Ignored => {
                self.survey.coverage().ignored += 1;
                return;
            }
            Class::Unknown => {
                let name = entry.name();
                self.survey.coverage().unknown_type(&name);
                return;
            }
        }
        let item = &entry.item;
        match entry.kind {
            b"session_meta" => self.head(item),
            b"turn_context" => self.context(item),
            b"compacted" => self.compacted(entry, place),
            b"token_usage_record" => self.usage_record(entry, place),
            b"event_msg" if item.kind == b"item_completed" => self.completed(entry, place),
            b"event_msg" => self.event(entry, place),
            _ if entry.is_bare_head() => self.head(item),
            _ => self.item(entry, place),
        }
    }

    // ---- the session

    fn head(&mut self, item: &Item<'_>) {
        if self.headed {
            self.thread.replay(item.id);
            return;
        }
        self.headed = true;
        self.started = Stamp::parse(item.timestamp);
        self.thread.begin(item.id, item.forked_from);
        self.survey.version(item.version);
        self.survey.moment(0, self.started);
        let spawn = subagent(item);
        let session = self.survey.session(0);
        if !item.id.is_empty() {
            session.session_id = Arc::from(json::text(item.id).as_str());
        }
        Survey::set(&mut session.cwd, item.cwd);
        Survey::set(&mut session.project, item.cwd);
        Survey::set(&mut session.git_branch, json::get(item.git, b"branch").map_or(b"", json::inside));
        if let Some((parent, agent)) = spawn {
            self.subagent = true;
            session.parent_session_id = parent.map(|p| Arc::from(p.as_str()));
            session.agent_id =
                Some(agent.map_or_else(|| session.session_id.clone(), |a| Arc::from(a.as_str())));
        }
    }

    fn context(&mut self, item: &Item<'_>) {
        self.thread.turn(item.turn_id);
        if !item.model.is_empty() && item.model != self.model {
            self.model = item.model.to_vec();
        }
        let session = self.survey.session(0);
        Survey::set(&mut session.cwd, item.cwd);
        Survey::set(&mut session.project, item.cwd);
    }

    fn time(&self, entry: &Entry<'_>) -> Stamp {
        entry.at.or(self.started)
    }

    fn flags(&self) -> u8 {
        flags(self.thread.copied, self.subagent)
    }

    /// Codex's own ID of the line, or one derived so that a copy of it has the same.
    fn id(&self, entry: &Entry<'_>, prefix: char) -> Vec<u8> {
        let own = entry.own_id();
        if own.is_empty() { self.thread.name(prefix) } else { own.to_vec() }
    }

    // ---- the model's stream

    fn item(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        match (item.kind, item.role) {
            (b"message", b"assistant") => self.assistant(entry, place),
            (b"message", b"user") => self.user(entry, place),
            (b"message", _) => {}
            (kind, _) if kind.ends_with(b"_output") => self.result(entry, place),
            _ => self.call(entry, place),
        }
    }

    fn assistant(&mut self, entry: &Entry<'_>, place: u64) {
        self.release();
        self.thread.add(if entry.item.id.is_empty() { entry.item.content } else { entry.item.id });
        let id = self.id(entry, 'm');
        let tokens = self.owed.take().map_or(Tokens::ZERO, |owed| owed.tokens);
        self.reply(&id, self.time(entry), place, tokens, 0);
        self.unpaid = tokens.is_zero().then(|| id.clone());
        self.last_reply = Some((id, self.announced > 0));
        self.announced = self.announced.saturating_sub(1);
    }

    fn reply(&mut self, id: &[u8], at: Stamp, place: u64, tokens: Tokens, flag: u8) {
        let flags = self.flags() | flag;
        let (role, kind) = (Role::Assistant, Kind::Reply);
        let model = std::mem::take(&mut self.model);
        let message = Said { session: 0, role, kind, id, at, place, text: b"", model: &model, tokens, flags };
        self.survey.said(message);
        self.model = model;
    }

    fn user(&mut self, entry: &Entry<'_>, place: u64) {
        let text = first_text(entry.item.content);
        let wrapper = kind::of_wrapper(text);
        if let Some(Wrapper::Tells(kind)) = wrapper {
            return self.say(entry, place, Role::User, kind, text);
        }
        self.thread.add(text);
        match wrapper {
            None if self.prompts == Stream::Items => self.held.push(Held {
                id: self.id(entry, 'p'),
                at: self.time(entry),
                place,
                text: text.to_vec(),
            }),
            _ => {}
        }
    }

    /// The model replies and no other stream has contained the prompt: then it was this one.
    fn release(&mut self) {
        for held in std::mem::take(&mut self.held) {
            self.prompt(&held.id, held.at, held.place, &held.text);
        }
    }

    fn call(&mut self, entry: &Entry<'_>, place: u64) {
        self.release();
        let (item, at) = (&entry.item, self.time(entry));
        self.thread.add(entry.own_id());
        let id = self.id(entry, 'c');
        self.survey.call(0, &id, &item.tool(), at, place, self.flags());
        // The provider ran these itself; no result follows.
        if matches!(item.kind, b"web_search_call" | b"image_generation_call") && item.status != b"in_progress"
        {
            let status = if item.status == b"failed" { Status::Error } else { Status::Success };
            self.survey.result(&id, status, at, place);
        }
    }

    fn result(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        let judged = self.verdicts.remove(&key(b'v', &[item.call_id]));
        let status = judged.unwrap_or_else(|| Outcome::of(item.output).status());
        self.survey.moment(0, entry.at);
        self.survey.result(item.call_id, status, entry.at, place);
    }

    /// The screen's stream reports how a call ended, before its result is written or long after.
    fn verdict(&mut self, id: &[u8], good: bool) {
        let status = if good { Status::Success } else { Status::Error };
        self.survey.verdict(id, status);
        if self.verdicts.len() >= JUDGED {
            self.verdicts.clear();
        }
        self.verdicts.insert(key(b'v', &[id]), status);
    }

    // ---- the screen's stream

    fn event(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        match item.kind {
            b"user_message" => self.user_message(entry, place),
            b"agent_message" => self.announced += 1,
            b"token_count" => self.token_count(entry, place),
            b"task_started" | b"turn_started" => self.thread.turn(item.turn_id),
            b"turn_aborted" => self.say(entry, place, Role::User, Kind::Interruption, item.reason),
            b"error" | b"stream_error" => {
                self.say(entry, place, Role::System, Kind::ApiError, item.message);
            }
            b"task_complete" | b"turn_complete" if !item.error.is_empty() => {
                self.say(entry, place, Role::System, Kind::ApiError, item.error);
            }
            b"patch_apply_end" => self.verdict(item.call_id, item.success == b"true"),
            b"exec_command_end" => self.verdict(item.call_id, item.exit_code == b"0"),
            b"mcp_tool_call_end" => self.verdict(item.call_id, is_mcp_success(item.result)),
            b"thread_name_updated" => {
                self.survey.title(0, &json::text(item.thread_name), TitleOrigin::Custom);
            }
            b"thread_rolled_back" => self.roll_back(item.num_turns),
            _ => self.survey.moment(0, entry.at),
        }
    }

    fn user_message(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        let wrapped =
            !matches!(item.message_kind, b"" | b"plain") || kind::of_wrapper(item.message).is_some();
        if self.prompts == Stream::Completed || wrapped {
            return;
        }
        self.prompts = Stream::Events;
        self.held.clear();
        let text = if item.message.is_empty() { item.images } else { item.message };
        self.thread.add(text);
        let id = self.thread.name('p');
        self.prompt(&id, self.time(entry), place, text);
    }

    fn completed(&mut self, entry: &Entry<'_>, place: u64) {
        let Ok(item) = Item::read(entry.item.completed) else { return };
        match item.kind {
            b"UserMessage" if self.prompts != Stream::Events => {
                self.prompts = Stream::Completed;
                self.held.clear();
                self.thread.add(item.id);
                let id = self.id(entry, 'p');
                self.prompt(&id, self.time(entry), place, first_text(item.content));
            }
            b"AgentMessage" => self.announced += 1,
            b"McpToolCall" => {
                self.verdict(item.id, item.status == b"completed" && is_mcp_success(item.result));
            }
            b"CommandExecution" | b"FileChange" | b"DynamicToolCall" | b"CollabAgentToolCall" => {
                self.verdict(item.id, item.status == b"completed");
            }
            _ => {}
        }
    }

    fn prompt(&mut self, id: &[u8], at: Stamp, place: u64, text: &[u8]) {
        self.settle();
        (self.announced, self.unpaid, self.last_reply) = (0, None, None);
        let kind = if self.subagent { Kind::Task } else { Kind::Prompt };
        self.hear(id, at, place, Role::User, kind, text);
        let parent = self.alive.last().map_or(b"root".as_slice(), Vec::as_slice);
        self.survey.entry(id, parent, b"");
        self.alive.push(id.to_vec());
    }

    fn say(&mut self, entry: &Entry<'_>, place: u64, role: Role, kind: Kind, text: &[u8]) {
        self.thread.add(text);
        let id = self.id(entry, 'n');
        self.hear(&id, self.time(entry), place, role, kind, text);
    }

    fn hear(&mut self, id: &[u8], at: Stamp, place: u64, role: Role, kind: Kind, text: &[u8]) {
        let (flags, tokens) = (self.flags(), Tokens::ZERO);
        self.survey.said(Said { session: 0, role, kind, id, at, place, text, model: b"", tokens, flags });
    }

    fn roll_back(&mut self, turns: &[u8]) {
        let turns = Cursor::new(turns, 0).number().unwrap_or(0.0) as usize;
        self.alive.truncate(self.alive.len().saturating_sub(turns));
    }

    fn compacted(&mut self, entry: &Entry<'_>, place: u64) {
        // The model wrote the summary for Codex, not for the person, who sees no such reply.
        if let Some((id, false)) = self.last_reply.take() {
            self.survey.mark_reply(&id, USAGE_ONLY);
        }
        self.say(entry, place, Role::User, Kind::CompactionSummary, entry.item.message);
    }

    // ---- tokens

    fn token_count(&mut self, entry: &Entry<'_>, place: u64) {
        let Some((tokens, total)) = self.usage.count(entry.item.info) else { return };
        self.thread.add(&total);
        let id = self.thread.name('u');
        self.spend(Owed { id, at: self.time(entry), place, tokens });
    }

    fn usage_record(&mut self, entry: &Entry<'_>, place: u64) {
        if let Some(tokens) = self.usage.record(entry.item.usage) {
            let id = self.id(entry, 'u');
            self.spend(Owed { id, at: self.time(entry), place, tokens });
        }
    }

    /// Tokens belong to the reply before them, to the announced one, or to calls without text.
    fn spend(&mut self, owed: Owed) {
        self.settle();
        if let Some(reply) = self.unpaid.take() {
            self.reply(&reply, owed.at, owed.place, owed.tokens, 0);
        } else {
            self.owed = Some(owed);
            if self.announced == 0 {
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        if let Some(owed) = self.owed.take() {
            self.reply(&owed.id, owed.at, owed.place, owed.tokens, USAGE_ONLY);
        }
    }

    fn close(&mut self) {
        self.release();
        self.settle();
    }
}

/// The parent and the nickname, if the session is a subagent's.
fn subagent(item: &Item<'_>) -> Option<(Option<String>, Option<String>)> {
    let subagent = json::get(item.source, b"subagent")?;
    let spawn = json::get(subagent, b"thread_spawn").unwrap_or(b"{}");
    let given = |raw: &[u8]| Some(json::text(raw)).filter(|text| !text.is_empty());
    let parent = json::get_text(spawn, b"parent_thread_id").or_else(|| given(item.parent));
    let agent = json::get_text(spawn, b"agent_nickname").or_else(|| given(item.nickname));
    Some((parent, agent))
}

/// `{"Ok":{…}}`, `{"Err":…}`, or since 0.166 the content itself.
fn is_mcp_success(result: &[u8]) -> bool {
    let inner = json::get(result, b"Ok").unwrap_or(result);
    let is_error = [b"isError".as_slice(), b"is_error"].iter().any(|k| json::get(inner, k) == Some(b"true"));
    !is_error && json::get(result, b"Err").is_none()
}

/// The first text of a message, still escaped; Codex's own tags around a picture do not count.
fn first_text(content: &[u8]) -> &[u8] {
    let mut cursor = Cursor::new(content, 0);
    if !cursor.array() {
        return json::inside(content);
    }
    while let Ok(true) = cursor.item() {
        let Ok(item) = cursor.skip() else { break };
        let text = json::get(item, b"text").map_or(b"".as_slice(), json::inside);
        if !text.is_empty() && !text.starts_with(b"<image name=") && text != b"</image>" {
            return text;
        }
    }
    b""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollouts_are_identified_by_their_names() {
        let id = "01a1dc65-4c23-77c1-8d39-5f45af100de4";
        for (name, found) in [
            (format!("rollout-2026-11-14T23-29-48-{id}.jsonl"), Some(id)),
            (format!("rollout-2026-11-14T23-29-48-{id}.jsonl.zst"), Some(id)),
            (format!("rollout-2026-11-14T23-29-48-{id}.json"), None),
            ("history.jsonl".to_string(), None),
            ("rollout-é.jsonl".to_string(), Some("é")),
        ] {
            assert_eq!(session_of(Path::new(&name)).as_deref(), found, "{name}");
        }
    }
}
