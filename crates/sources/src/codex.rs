//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, compressed or not, archived or not, in
//! the formats of 0.21 to 0.166.
//!
//! A prompt and a reply arrive in two streams, one for the model and one for the screen: each is counted
//! once. The databases beside the rollouts repeat them and are not read, so a name stored only there is not
//! known.

mod compressed;
mod entry;
mod fetch;
mod kind;
mod outcome;
mod thread;
mod usage;

use crate::json::{self, Cursor, JsonResult};
use crate::records::{self, LineParser};
use crate::survey::{MessageEntry, row_flags};
use crate::walk::{TranscriptList, walk_files};
use crate::{Environment, Error, Source, Survey, Transcript, line_reader};
use entry::{Class, Entry, Item};
use kind::Wrapper;
use outcome::Outcome;
use record::row::USAGE_ONLY;
use record::{
    Call, Kind, Message, ProblemKind, Role, Row, Session, Stamp, Status, TitleOrigin, Tokens, event_key,
};
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

    fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("CODEX_HOME", "Codex's data directories, separated by `:` [default: ~/.codex]")]
    }

    fn default_roots(&self, places: &Environment) -> Vec<PathBuf> {
        places.roots_from_var("CODEX_HOME", ".codex")
    }

    fn list_transcripts(&self, root: &Path, found: &mut TranscriptList) {
        for folder in ["sessions", "archived_sessions"] {
            walk_files(&root.join(folder), found, &mut |path, meta, found| {
                if let Some(id) = session_id_of_path(path) {
                    found.add_file(path.to_path_buf(), meta, &id, root);
                }
            });
        }
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        let mut walk = Walk::new(transcript, survey);
        let read = if compressed::is_compressed(&transcript.path) {
            records::read_lines(&mut walk, compressed::open_decoder(&transcript.path)?, &transcript.path)
        } else {
            records::read_lines(&mut walk, line_reader::open_regular(&transcript.path)?, &transcript.path)
        };
        walk.finish();
        match read {
            // A truncated compressed file still contains the data before the cut.
            Err(error @ Error::Io { .. })
                if compressed::is_compressed(&transcript.path) && !error.is_transient() =>
            {
                survey.report_problem(ProblemKind::Unreadable, 0, &error.to_string());
                Ok(())
            }
            other => other,
        }
    }

    fn survey_from(
        &self,
        transcript: &Transcript,
        from: u64,
        survey: &mut Survey<'_>,
    ) -> Result<bool, Error> {
        if compressed::is_compressed(&transcript.path) {
            return Ok(false);
        }
        let mut walk = Walk::new(transcript, survey);
        records::read_lines_from(
            &mut walk,
            line_reader::open_at(&transcript.path, from)?,
            &transcript.path,
            from,
        )?;
        walk.finish();
        Ok(true)
    }

    fn fetch_call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
        fetch::fetch_call(transcript, result, row)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        fetch::fetch_message(transcript, row)
    }
}

/// The ID at the end of a rollout's name. A compressed file beside its plain one is a copy and ignored.
fn session_id_of_path(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    if compressed::is_compressed(path) && path.with_extension("").is_file() {
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
struct HeldPrompt {
    id: Vec<u8>,
    at: Stamp,
    place: u64,
    text: Vec<u8>,
}

/// Tokens that were reported before the reply they belong to.
struct UnassignedTokens {
    id: Vec<u8>,
    at: Stamp,
    place: u64,
    tokens: Tokens,
}

/// How many calls may have a known status before their result is read: far more than ever run at once.
const MAX_KNOWN_STATUSES: usize = 4096;

/// One pass over one file.
struct Walk<'s, 'a> {
    survey: &'s mut Survey<'a>,
    has_header: bool,
    is_subagent: bool,
    /// The session's own time, for lines without one.
    started: Stamp,
    model: Vec<u8>,
    thread: Thread,
    usage: Usage,
    prompt_stream: Stream,
    held_prompts: Vec<HeldPrompt>,
    /// Replies shown on the screen that have not yet appeared in the model's stream.
    announced_replies: u32,
    last_reply: Option<(Vec<u8>, bool)>,
    reply_without_tokens: Option<Vec<u8>>,
    unassigned_tokens: Option<UnassignedTokens>,
    call_statuses: FxHashMap<u64, Status>,
    /// The prompts that the next one continues.
    active_prompts: Vec<Vec<u8>>,
}

impl<'a> LineParser<'a> for Walk<'_, 'a> {
    fn survey_mut(&mut self) -> &mut Survey<'a> {
        self.survey
    }

    fn parse_line(&mut self, bytes: &[u8], start: usize, base: u64) -> JsonResult<usize> {
        let (entry, parsed) = Entry::parse(bytes, start, self.survey.options)?;
        let end = records::line_end(bytes, parsed);
        self.survey.coverage_mut().lines += 1;
        if self.survey.options.fields {
            self.count_unknown_fields(&entry, &bytes[start..end]);
        }
        self.handle_entry(&entry, base + start as u64);
        Ok(end)
    }

    fn is_record(&self, object: &[u8]) -> bool {
        entry::is_record(object)
    }
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(transcript: &Transcript, survey: &'s mut Survey<'a>) -> Walk<'s, 'a> {
        survey.add_session(Session::new("codex", &transcript.hint));
        survey.add_entry(b"root", b"", b"");
        let mut thread = Thread::default();
        thread.start_session(transcript.hint.as_bytes(), b"");
        Walk {
            survey,
            has_header: false,
            is_subagent: false,
            started: Stamp::NONE,
            model: Vec::new(),
            thread,
            usage: Usage::default(),
            prompt_stream: Stream::Items,
            held_prompts: Vec::new(),
            announced_replies: 0,
            last_reply: None,
            reply_without_tokens: None,
            unassigned_tokens: None,
            call_statuses: FxHashMap::default(),
            active_prompts: Vec::new(),
        }
    }

    fn count_unknown_fields(&mut self, entry: &Entry<'_>, line: &[u8]) {
        if std::str::from_utf8(line).is_err() {
            self.survey.coverage_mut().lossy_utf8 += 1;
        }
        for field in &entry.unknown_fields {
            let name = format!("{}.{}", entry.type_name(), json::decode_string(field));
            *self.survey.coverage_mut().unknown_fields.entry(name).or_default() += 1;
        }
    }

    fn handle_entry(&mut self, entry: &Entry<'_>, place: u64) {
        match entry.classify() {
            Class::Understood => self.survey.coverage_mut().understood += 1,
            Class::Ignored => {
                self.survey.coverage_mut().ignored += 1;
                return;
            }
            Class::Unknown => {
                let name = entry.type_name();
                self.survey.coverage_mut().count_unknown_type(&name);
                return;
            }
        }
        let item = &entry.item;
        match entry.kind {
            b"session_meta" => self.handle_header(item),
            b"turn_context" => self.handle_turn_context(item),
            b"compacted" => self.handle_compaction(entry, place),
            b"token_usage_record" => self.handle_usage_record(entry, place),
            b"event_msg" if item.kind == b"item_completed" => self.handle_completed_item(entry, place),
            b"event_msg" => self.handle_event(entry, place),
            _ if entry.is_bare_head() => self.handle_header(item),
            _ => self.handle_item(entry, place),
        }
    }

    // ---- the session

    fn handle_header(&mut self, item: &Item<'_>) {
        if self.has_header {
            self.thread.start_replay(item.id);
            return;
        }
        self.has_header = true;
        self.started = Stamp::parse(item.timestamp);
        self.thread.start_session(item.id, item.forked_from);
        self.survey.set_version(item.version);
        self.survey.record_time(0, self.started);
        let spawn = subagent_origin(item);
        let session = self.survey.session_mut(0);
        if !item.id.is_empty() {
            session.session_id = Arc::from(json::decode_string(item.id).as_str());
        }
        Survey::set_if_empty(&mut session.cwd, item.cwd);
        Survey::set_if_empty(&mut session.project, item.cwd);
        Survey::set_if_empty(
            &mut session.git_branch,
            json::get_value(item.git, b"branch").map_or(b"", json::strip_quotes),
        );
        if let Some((parent, agent)) = spawn {
            self.is_subagent = true;
            session.parent_session_id = parent.map(|p| Arc::from(p.as_str()));
            session.agent_id =
                Some(agent.map_or_else(|| session.session_id.clone(), |a| Arc::from(a.as_str())));
        }
    }

    fn handle_turn_context(&mut self, item: &Item<'_>) {
        self.thread.start_turn(item.turn_id);
        if !item.model.is_empty() && item.model != self.model {
            self.model = item.model.to_vec();
        }
        let session = self.survey.session_mut(0);
        Survey::set_if_empty(&mut session.cwd, item.cwd);
        Survey::set_if_empty(&mut session.project, item.cwd);
    }

    fn entry_time(&self, entry: &Entry<'_>) -> Stamp {
        entry.at.or(self.started)
    }

    fn current_flags(&self) -> u8 {
        row_flags(self.thread.copied, self.is_subagent)
    }

    /// Codex's own ID of the line, or one derived so that a copy of it has the same.
    fn entry_id(&self, entry: &Entry<'_>, prefix: char) -> Vec<u8> {
        let own = entry.own_id();
        if own.is_empty() { self.thread.derive_id(prefix) } else { own.to_vec() }
    }

    // ---- the model's stream

    fn handle_item(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        match (item.kind, item.role) {
            (b"message", b"assistant") => self.add_assistant(entry, place),
            (b"message", b"user") => self.add_user(entry, place),
            (b"message", _) => {}
            (kind, _) if kind.ends_with(b"_output") => self.add_result(entry, place),
            _ => self.add_call(entry, place),
        }
    }

    fn add_assistant(&mut self, entry: &Entry<'_>, place: u64) {
        self.release_held_prompts();
        self.thread.add_text(if entry.item.id.is_empty() { entry.item.content } else { entry.item.id });
        let id = self.entry_id(entry, 'm');
        let tokens = self.unassigned_tokens.take().map_or(Tokens::ZERO, |owed| owed.tokens);
        self.add_reply(&id, self.entry_time(entry), place, tokens, 0);
        self.reply_without_tokens = tokens.is_zero().then(|| id.clone());
        self.last_reply = Some((id, self.announced_replies > 0));
        self.announced_replies = self.announced_replies.saturating_sub(1);
    }

    fn add_reply(&mut self, id: &[u8], at: Stamp, place: u64, tokens: Tokens, flag: u8) {
        let flags = self.current_flags() | flag;
        let (role, kind) = (Role::Assistant, Kind::Reply);
        let model = std::mem::take(&mut self.model);
        let message =
            MessageEntry { session: 0, role, kind, id, at, place, text: b"", model: &model, tokens, flags };
        self.survey.add_message(message);
        self.model = model;
    }

    fn add_user(&mut self, entry: &Entry<'_>, place: u64) {
        let text = first_text(entry.item.content);
        let wrapper = kind::find_wrapper(text);
        if let Some(Wrapper::Message(kind)) = wrapper {
            return self.add_notice(entry, place, Role::User, kind, text);
        }
        self.thread.add_text(text);
        match wrapper {
            None if self.prompt_stream == Stream::Items => self.held_prompts.push(HeldPrompt {
                id: self.entry_id(entry, 'p'),
                at: self.entry_time(entry),
                place,
                text: text.to_vec(),
            }),
            _ => {}
        }
    }

    /// The model replies and no other stream has contained the prompt: then it was this one.
    fn release_held_prompts(&mut self) {
        for held in std::mem::take(&mut self.held_prompts) {
            self.add_prompt(&held.id, held.at, held.place, &held.text);
        }
    }

    fn add_call(&mut self, entry: &Entry<'_>, place: u64) {
        self.release_held_prompts();
        let (item, at) = (&entry.item, self.entry_time(entry));
        self.thread.add_text(entry.own_id());
        let id = self.entry_id(entry, 'c');
        self.survey.add_call(0, &id, &item.tool_name(), at, place, self.current_flags());
        // The provider ran these itself; no result follows.
        if matches!(item.kind, b"web_search_call" | b"image_generation_call") && item.status != b"in_progress"
        {
            let status = if item.status == b"failed" { Status::Error } else { Status::Success };
            self.survey.add_result(&id, status, at, place);
        }
    }

    fn add_result(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        let judged = self.call_statuses.remove(&event_key(b'v', &[item.call_id]));
        let status = judged.unwrap_or_else(|| Outcome::from_output(item.output).status());
        self.survey.record_time(0, entry.at);
        self.survey.add_result(item.call_id, status, entry.at, place);
    }

    /// The screen's stream reports how a call ended, before its result is written or long after.
    fn set_call_status(&mut self, id: &[u8], good: bool) {
        let status = if good { Status::Success } else { Status::Error };
        self.survey.set_call_status(id, status);
        if self.call_statuses.len() >= MAX_KNOWN_STATUSES {
            self.call_statuses.clear();
        }
        self.call_statuses.insert(event_key(b'v', &[id]), status);
    }

    // ---- the screen's stream

    fn handle_event(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        match item.kind {
            b"user_message" => self.handle_user_message(entry, place),
            b"agent_message" => self.announced_replies += 1,
            b"token_count" => self.handle_token_count(entry, place),
            b"task_started" | b"turn_started" => self.thread.start_turn(item.turn_id),
            b"turn_aborted" => self.add_notice(entry, place, Role::User, Kind::Interruption, item.reason),
            b"error" | b"stream_error" => {
                self.add_notice(entry, place, Role::System, Kind::ApiError, item.message);
            }
            b"task_complete" | b"turn_complete" if !item.error.is_empty() => {
                self.add_notice(entry, place, Role::System, Kind::ApiError, item.error);
            }
            b"patch_apply_end" => self.set_call_status(item.call_id, item.success == b"true"),
            b"exec_command_end" => self.set_call_status(item.call_id, item.exit_code == b"0"),
            b"mcp_tool_call_end" => self.set_call_status(item.call_id, is_mcp_success(item.result)),
            b"thread_name_updated" => {
                self.survey.set_title(0, &json::decode_string(item.thread_name), TitleOrigin::Custom);
            }
            b"thread_rolled_back" => self.roll_back_turns(item.num_turns),
            _ => self.survey.record_time(0, entry.at),
        }
    }

    fn handle_user_message(&mut self, entry: &Entry<'_>, place: u64) {
        let item = &entry.item;
        let wrapped =
            !matches!(item.message_kind, b"" | b"plain") || kind::find_wrapper(item.message).is_some();
        if self.prompt_stream == Stream::Completed || wrapped {
            return;
        }
        self.prompt_stream = Stream::Events;
        self.held_prompts.clear();
        let text = if item.message.is_empty() { item.images } else { item.message };
        self.thread.add_text(text);
        let id = self.thread.derive_id('p');
        self.add_prompt(&id, self.entry_time(entry), place, text);
    }

    fn handle_completed_item(&mut self, entry: &Entry<'_>, place: u64) {
        let Ok(item) = Item::parse(entry.item.completed) else { return };
        match item.kind {
            b"UserMessage" if self.prompt_stream != Stream::Events => {
                self.prompt_stream = Stream::Completed;
                self.held_prompts.clear();
                self.thread.add_text(item.id);
                let id = self.entry_id(entry, 'p');
                self.add_prompt(&id, self.entry_time(entry), place, first_text(item.content));
            }
            b"AgentMessage" => self.announced_replies += 1,
            b"McpToolCall" => {
                self.set_call_status(item.id, item.status == b"completed" && is_mcp_success(item.result));
            }
            b"CommandExecution" | b"FileChange" | b"DynamicToolCall" | b"CollabAgentToolCall" => {
                self.set_call_status(item.id, item.status == b"completed");
            }
            _ => {}
        }
    }

    fn add_prompt(&mut self, id: &[u8], at: Stamp, place: u64, text: &[u8]) {
        self.flush_unassigned_tokens();
        (self.announced_replies, self.reply_without_tokens, self.last_reply) = (0, None, None);
        let kind = if self.is_subagent { Kind::Task } else { Kind::Prompt };
        self.add_message(id, at, place, Role::User, kind, text);
        let parent = self.active_prompts.last().map_or(b"root".as_slice(), Vec::as_slice);
        self.survey.add_entry(id, parent, b"");
        self.active_prompts.push(id.to_vec());
    }

    fn add_notice(&mut self, entry: &Entry<'_>, place: u64, role: Role, kind: Kind, text: &[u8]) {
        self.thread.add_text(text);
        let id = self.entry_id(entry, 'n');
        self.add_message(&id, self.entry_time(entry), place, role, kind, text);
    }

    fn add_message(&mut self, id: &[u8], at: Stamp, place: u64, role: Role, kind: Kind, text: &[u8]) {
        let (flags, tokens) = (self.current_flags(), Tokens::ZERO);
        self.survey.add_message(MessageEntry {
            session: 0,
            role,
            kind,
            id,
            at,
            place,
            text,
            model: b"",
            tokens,
            flags,
        });
    }

    fn roll_back_turns(&mut self, turns: &[u8]) {
        let turns = Cursor::new(turns, 0).read_number().unwrap_or(0.0) as usize;
        self.active_prompts.truncate(self.active_prompts.len().saturating_sub(turns));
    }

    fn handle_compaction(&mut self, entry: &Entry<'_>, place: u64) {
        // The model wrote the summary for Codex, not for the person, who sees no such reply.
        if let Some((id, false)) = self.last_reply.take() {
            self.survey.flag_reply(&id, USAGE_ONLY);
        }
        self.add_notice(entry, place, Role::User, Kind::CompactionSummary, entry.item.message);
    }

    // ---- tokens

    fn handle_token_count(&mut self, entry: &Entry<'_>, place: u64) {
        let Some((tokens, total)) = self.usage.read_token_count(entry.item.info) else { return };
        self.thread.add_text(&total);
        let id = self.thread.derive_id('u');
        self.assign_tokens(UnassignedTokens { id, at: self.entry_time(entry), place, tokens });
    }

    fn handle_usage_record(&mut self, entry: &Entry<'_>, place: u64) {
        if let Some(tokens) = self.usage.read_usage_record(entry.item.usage) {
            let id = self.entry_id(entry, 'u');
            self.assign_tokens(UnassignedTokens { id, at: self.entry_time(entry), place, tokens });
        }
    }

    /// Tokens belong to the reply before them, to the announced one, or to calls without text.
    fn assign_tokens(&mut self, owed: UnassignedTokens) {
        self.flush_unassigned_tokens();
        if let Some(reply) = self.reply_without_tokens.take() {
            self.add_reply(&reply, owed.at, owed.place, owed.tokens, 0);
        } else {
            self.unassigned_tokens = Some(owed);
            if self.announced_replies == 0 {
                self.flush_unassigned_tokens();
            }
        }
    }

    fn flush_unassigned_tokens(&mut self) {
        if let Some(owed) = self.unassigned_tokens.take() {
            self.add_reply(&owed.id, owed.at, owed.place, owed.tokens, USAGE_ONLY);
        }
    }

    fn finish(&mut self) {
        self.release_held_prompts();
        self.flush_unassigned_tokens();
    }
}

/// The parent and the nickname, if the session is a subagent's.
fn subagent_origin(item: &Item<'_>) -> Option<(Option<String>, Option<String>)> {
    let subagent = json::get_value(item.source, b"subagent")?;
    let spawn = json::get_value(subagent, b"thread_spawn").unwrap_or(b"{}");
    let given = |raw: &[u8]| Some(json::decode_string(raw)).filter(|text| !text.is_empty());
    let parent = json::get_text(spawn, b"parent_thread_id").or_else(|| given(item.parent));
    let agent = json::get_text(spawn, b"agent_nickname").or_else(|| given(item.nickname));
    Some((parent, agent))
}

/// `{"Ok":{…}}`, `{"Err":…}`, or since 0.166 the content itself.
fn is_mcp_success(result: &[u8]) -> bool {
    let inner = json::get_value(result, b"Ok").unwrap_or(result);
    let is_error =
        [b"isError".as_slice(), b"is_error"].iter().any(|k| json::get_value(inner, k) == Some(b"true"));
    !is_error && json::get_value(result, b"Err").is_none()
}

/// The first text of a message, still escaped; Codex's own tags around a picture do not count.
fn first_text(content: &[u8]) -> &[u8] {
    let mut cursor = Cursor::new(content, 0);
    if !cursor.enter_array() {
        return json::strip_quotes(content);
    }
    while let Ok(true) = cursor.next_item() {
        let Ok(item) = cursor.skip_value() else { break };
        let text = json::get_value(item, b"text").map_or(b"".as_slice(), json::strip_quotes);
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
            assert_eq!(session_id_of_path(Path::new(&name)).as_deref(), found, "{name}");
        }
    }
}
