//! Returns whole sessions: the messages in order, each call with the reply that made it. For several sessions: all messages
//! by time, and the messages they share.
//!
//! No record is truncated, but a response ends at [`MAX_BYTES`]: memory must not grow with a session. Messages of subagents are not part of the parent
//! session; their IDs are listed instead.

use crate::Service;
use crate::session_names::SessionNames;
use api::gather_chats::{
    Chat, ChatMessage, ChatMeta, GatherChats, Gathered, OneChat, SeveralChats, ToolCall, ToolResult, Tools,
};
use api::search::{TimeRange, stamp_to_ms};
use api::sessions::ListSessions;
use api::{Code, Error, Handle, ViewRequest};
use exchange::Origins;
use history::error::read_error;
use history::projects::Projects;
use history::resolve_session::{SessionsById, own_id};
use history::scan::{ScanResult, by_session, is_warm_up, scan_matching_rows};
use history::shared_messages::{interleave_by_time, shared_messages};
use history::to_record::role_of;
use history::transcripts::copies_with_more;
use history::{History, freshness, resolve_session};
use record::row::USAGE_ONLY;
use record::{Call, Kind, Message, Problem, Row, RowKind, Session, Stamp, TitleOrigin};
use serde_json::Value;
use sources::archive::ArchivedTranscript;
use sources::{SurveyOutcome, Transcript};
use views::BOTH;

/// The text of one response. A session of 1.5 GB took 3.6 GB of memory before there was a limit.
const MAX_BYTES: usize = 32 << 20;

impl Handle<GatherChats> for Service {
    fn handle(&self, request: &GatherChats) -> Result<Gathered, Error> {
        let mut read: Vec<ReadChat> = Vec::new();
        let mut left = MAX_BYTES;
        for typed in &request.chat_ids {
            let id = named_session(self, typed.trim())?;
            let one = read_chat(self, &id, request, &mut left)?;
            if read.iter().all(|other| other.chat.id != one.chat.id) {
                read.push(one);
            }
        }
        Ok(if read.len() == 1 { to_one_chat(read.remove(0)) } else { to_several_chats(read) })
    }
}

/// The ID or prefix that is meant by `last`, by the path of a transcript, or by an ID.
fn named_session(service: &Service, typed: &str) -> Result<String, Error> {
    if typed != resolve_session::LAST {
        return Ok(resolve_session::id_in_path(typed).to_string());
    }
    let newest = ListSessions { limit: 1, ..ListSessions::default() };
    let listed = Handle::<ListSessions>::handle(service, &newest)?;
    let session = listed.sessions.into_iter().next().map(|session| session.chat_id);
    session.ok_or_else(|| Error::new(Code::SessionNotFound, "there are no sessions yet").hint("loci sources"))
}

/// One session as read from its transcripts.
struct ReadChat {
    chat: Chat,
    messages: Vec<ChatMessage>,
    notes: Vec<String>,
    partial: bool,
}

fn to_one_chat(read: ReadChat) -> Gathered {
    let ReadChat { chat, messages, notes, partial } = read;
    Gathered::One(Box::new(OneChat { chat, messages, partial, notes }))
}

fn to_several_chats(read: Vec<ReadChat>) -> Gathered {
    let mut all = SeveralChats { partial: read.iter().any(|r| r.partial), ..SeveralChats::default() };
    let mut chats = Vec::new();
    for (chat_idx, ReadChat { chat, messages, notes, .. }) in read.into_iter().enumerate() {
        all.notes.extend(notes.iter().map(|note| format!("{}: {note}", chat.id)));
        all.meta.push(ChatMeta { chat_idx, chat });
        chats.push(messages);
    }
    all.common_alignment = shared_messages(&chats);
    all.narrative = interleave_by_time(chats);
    Gathered::Several(all)
}

// ---- resolving a session

/// Resolves a prefix to exactly one session ID.
fn resolve_prefix(library: &ScanResult, prefix: &str) -> Result<String, Error> {
    let called =
        resolve_session::match_prefix(library.facts.iter().flat_map(|facts| &facts.sessions), prefix);
    match called.len() {
        0 => Err(unknown_prefix(library, prefix)),
        1 => Ok(called.into_keys().next().unwrap_or_default().to_string()),
        _ => Err(resolve_session::ambiguous_prefix(prefix, &called, SHOW_COMMAND)),
    }
}

/// Command suggested for each candidate of an ambiguous prefix.
const SHOW_COMMAND: &str = "loci show";

/// Reports an unknown prefix, and the subagents if only their transcripts are left.
fn unknown_prefix(library: &ScanResult, prefix: &str) -> Error {
    let message = format!("no session has an ID that starts with `{prefix}`");
    let all = library.facts.iter().flat_map(|facts| &facts.sessions);
    let children: SessionsById<'_> =
        all.filter(|s| s.session_id.starts_with(prefix)).map(|s| (own_id(s), s)).collect();
    if children.is_empty() {
        return Error::new(Code::SessionNotFound, message).hint("list recent sessions with `loci sessions`");
    }
    let error = Error::new(Code::SessionNotFound, format!("{message}; only its subagent sessions are left"));
    resolve_session::with_session_hints(error, &children, SHOW_COMMAND)
}

fn session_title(session: &Session) -> &str {
    session.title.as_ref().map_or("", |(title, _)| title)
}

// ---- one session

fn read_chat(
    service: &Service,
    prefix: &str,
    asked: &GatherChats,
    left: &mut usize,
) -> Result<ReadChat, Error> {
    let request = ViewRequest { session: Some(prefix.to_string()), ..ViewRequest::default() };
    let scan = |history: &History<'_>| {
        scan_matching_rows(history, &request, BOTH, by_session, |_, joined| is_visible(&joined.row))
    };
    let (mut library, mut rows) = scan(&service.history())?;
    let id = resolve_prefix(&library, prefix)?;
    let copies = copies_with_more(&service.history(), &transcripts_of(&library, &id));
    let kept: u32 = copies.iter().map(|copy| kept_of(copy, &id)).sum();
    let also: Vec<Transcript> = copies.iter().filter_map(ArchivedTranscript::to_transcript).collect();
    if asked.all && kept > 0 {
        (library, rows) = scan(&History { also: &also, ..service.history() })?;
    }
    let include_tools = asked.include_tools;
    let mut timeline = Timeline {
        service,
        library: &library,
        include_tools,
        messages: Vec::new(),
        lost: Vec::new(),
        left,
        omitted: 0,
    };
    let mut first_turn = None;
    for row in rows {
        let row = row.map_err(read_error)?;
        if own_id(library.session(&row)) != id {
            continue;
        }
        first_turn.get_or_insert(row.turn);
        timeline.add_row(&row);
    }
    let Timeline { messages, lost, omitted, .. } = timeline;
    let mut chat = describe_chat(&library, &id, messages.len() as u64, &Projects::load(&service.history()));
    chat.device = Origins::load(service.home().as_ref()).session_device(&chat.source, &id);
    chat.archived &= chat.device.is_none();
    let goes_on = first_turn.is_some_and(|turn| turn > 1);
    if !has_own_title(&library, &id, goes_on) {
        chat.title = messages
            .iter()
            .find(|m| m.role == "user" && m.kind.is_none())
            .map_or(chat.title, title_from_message);
    }
    if let Some((name, _)) = main_part(&library, &id).and_then(|part| SessionNames::load(service).name(part))
    {
        chat.title = name;
    }
    let mut notes = Vec::new();
    if !chat.subagents.is_empty() {
        notes.push("messages of its subagents are not included; show each subagent by its ID".to_string());
    }
    if kept > 0 && !asked.all {
        let entries = if kept == 1 { "1 entry is".to_string() } else { format!("{kept} entries are") };
        notes.push(format!(
            "{entries} kept that the transcript no longer has; `loci show {id} --all` shows them"
        ));
    }
    if goes_on {
        notes.push("it continues another session, which contains the earlier messages".to_string());
    }
    let damaged = is_damaged(&library, &id);
    if damaged {
        notes.push("parts of it could not be read; `loci sources --problems` lists them".to_string());
    }
    notes.extend(lost.iter().map(|problem| format!("could not be read: {}", problem.note)));
    if omitted > 0 {
        notes.push(format!(
            "{omitted} further messages and calls are omitted: a response ends at {} MB; \
             `loci query messages --session {id}` lists all messages",
            MAX_BYTES >> 20
        ));
    }
    Ok(ReadChat { chat, messages, notes, partial: damaged || !lost.is_empty() || omitted > 0 })
}

/// The transcripts that contain a session.
fn transcripts_of<'l>(library: &'l ScanResult, id: &str) -> Vec<&'l Transcript> {
    let has = |facts: &SurveyOutcome| facts.sessions.iter().any(|session| own_id(session) == id);
    let all = library.transcripts.iter().zip(&library.facts);
    all.filter(|(_, facts)| has(facts)).map(|(transcript, _)| transcript).collect()
}

/// How many entries of a session only the archived copy has.
fn kept_of(copy: &ArchivedTranscript, id: &str) -> u32 {
    let sessions = copy.sessions.iter().zip(&copy.kept_by_session);
    sessions.filter(|(session, _)| own_id(session) == id).map(|(_, kept)| kept).sum()
}

/// The part of the session that has a title, or any part.
fn main_part<'l>(library: &'l ScanResult, id: &str) -> Option<&'l Session> {
    let all = library.facts.iter().flat_map(|facts| &facts.sessions);
    let parts: Vec<&Session> = all.filter(|session| own_id(session) == id).collect();
    parts.iter().find(|session| session.title.is_some()).or(parts.first()).copied()
}

/// Whether the session has its own title. A continuation starts with the first prompt of the session it continues.
fn has_own_title(library: &ScanResult, id: &str, goes_on: bool) -> bool {
    let all = library.facts.iter().flat_map(|facts| &facts.sessions);
    let mut titles = all.filter(|session| own_id(session) == id).filter_map(|session| session.title.as_ref());
    titles.any(|(_, origin)| !goes_on || *origin != TitleOrigin::FirstPrompt)
}

fn title_from_message(message: &ChatMessage) -> String {
    sources::survey::title_from_prompt(&message.content)
}

/// Whether data is missing from the transcripts that contain the session.
fn is_damaged(library: &ScanResult, id: &str) -> bool {
    let holds = |facts: &&SurveyOutcome| facts.sessions.iter().any(|session| own_id(session) == id);
    let mut problems = library.facts.iter().filter(holds).flat_map(|facts| &facts.problems);
    problems.any(|problem| problem.kind.is_loss())
}

fn is_visible(row: &Row) -> bool {
    !is_warm_up(row) && !row.has_flag(USAGE_ONLY)
}

fn describe_chat(library: &ScanResult, id: &str, message_count: u64, projects: &Projects) -> Chat {
    let all = || library.facts.iter().flat_map(|facts| &facts.sessions);
    let parts: Vec<&Session> = all().filter(|session| own_id(session) == id).collect();
    let named = main_part(library, id);
    let from = parts.iter().map(|s| s.started_at).filter(|at| at.is_some()).min().unwrap_or(Stamp::NONE);
    let to = parts.iter().map(|s| s.ended_at).max().unwrap_or(Stamp::NONE);
    let mut subagents: Vec<String> =
        all().filter(|s| is_child(s, id)).map(|session| own_id(session).to_string()).collect();
    subagents.sort();
    subagents.dedup();
    let project = named.map_or("", |session| &session.project);
    let source = named.map_or("", |session| session.source);
    // A subagent is not resumed: the session that sent it out is.
    let resumed = named.filter(|session| session.agent_id.is_none());
    let contains = |facts: &SurveyOutcome| facts.sessions.iter().any(|session| own_id(session) == id);
    let mut holding = library.transcripts.iter().zip(&library.facts).filter(|(_, facts)| contains(facts));
    let archived = holding.all(|(transcript, _)| freshness::is_archived_copy(transcript));
    Chat {
        id: id.to_string(),
        title: named.map_or(String::new(), |session| session_title(session).to_string()),
        message_count,
        time_range: TimeRange::new(from, to),
        source: source.to_string(),
        project: (!project.is_empty()).then(|| project.to_string()),
        resume: resumed
            .and_then(|session| {
                api::resume_command(source, &projects.present_folder(project), &session.session_id)
            })
            .filter(|_| !archived),
        archived,
        device: None,
        subagents,
    }
}

/// Whether `session` is a subagent started by session `id`.
fn is_child(session: &Session, id: &str) -> bool {
    let sent = session.parent_session_id.as_deref() == Some(id) || *session.session_id == *id;
    session.agent_id.is_some() && sent && own_id(session) != id
}

// ---- messages

/// Collects the messages of one session from its rows.
struct Timeline<'a> {
    service: &'a Service,
    library: &'a ScanResult,
    include_tools: bool,
    messages: Vec<ChatMessage>,
    lost: Vec<Problem>,
    /// Bytes that the response may still take.
    left: &'a mut usize,
    /// Records that were not read because of that.
    omitted: u64,
}

impl Timeline<'_> {
    fn add_row(&mut self, row: &Row) {
        if *self.left == 0 {
            self.omitted += u64::from(row.row == RowKind::Message || self.include_tools);
            return;
        }
        match row.row {
            RowKind::Call if self.include_tools => {
                match self.service.history().read_call(self.library, row) {
                    Ok(call) => {
                        let size = call.input.len() + call.output.as_ref().map_or(0, String::len);
                        *self.left = self.left.saturating_sub(size);
                        self.push_call(row, &call);
                    }
                    Err(problem) => self.lost.push(problem),
                }
            }
            RowKind::Message => match self.service.history().read_message(self.library, row) {
                Ok(message) => {
                    *self.left = self.left.saturating_sub(message.text.len());
                    self.push_message(row, message);
                }
                Err(problem) => self.lost.push(problem),
            },
            _ => {}
        }
    }

    fn push_message(&mut self, row: &Row, message: Message) {
        // Without tools, a reply that only called tools is empty.
        if !self.include_tools && row.kind() == Kind::Reply && message.text.is_empty() {
            return;
        }
        self.messages.push(ChatMessage {
            message_id: message.id,
            created_at: stamp_to_ms(row.at),
            role: role_of(row.kind()).as_str().to_string(),
            content: message.text,
            kind: unusual_kind(row.kind()).map(String::from),
            tools: None,
        });
    }

    /// Attaches a call to the preceding reply. If the agent recorded none, adds an empty reply for the call.
    fn push_call(&mut self, row: &Row, call: &Call) {
        if self.messages.last().is_none_or(|last| last.role != "assistant") {
            self.messages.push(ChatMessage {
                message_id: call.id.clone(),
                created_at: stamp_to_ms(row.at),
                role: "assistant".to_string(),
                ..ChatMessage::default()
            });
        }
        let Some(reply) = self.messages.last_mut() else { return };
        let tools = reply.tools.get_or_insert_with(Tools::default);
        tools.results.extend(call.output.as_deref().map(to_tool_result));
        tools.calls.push(to_tool_call(call));
    }
}

/// The kind of a message that is neither a prompt nor a reply.
fn unusual_kind(kind: Kind) -> Option<&'static str> {
    (!matches!(kind, Kind::Prompt | Kind::Task | Kind::Reply)).then(|| kind.as_str())
}

fn to_tool_call(call: &Call) -> ToolCall {
    let server = Call::mcp_server(&call.tool).unwrap_or("");
    let tool =
        if server.is_empty() { &call.tool } else { call.tool.rsplit("__").next().unwrap_or(&call.tool) };
    let ended = if call.output.is_none() { "pending" } else { call.status.as_str() };
    ToolCall {
        server: server.to_string(),
        tool: tool.to_string(),
        // Input that is not JSON, or nested too deeply to parse, is passed on as text.
        args: serde_json::from_str(&call.input).unwrap_or_else(|_| Value::String(call.input.clone())),
        status: (ended != "success").then(|| ended.to_string()),
    }
}

/// Converts a tool result: text stays text, but an object or array encoded as a string is returned as JSON.
fn to_tool_result(output: &str) -> ToolResult {
    let text = match serde_json::from_str(output) {
        Ok(Value::String(text)) => text,
        Ok(other) => return ToolResult::Json(other),
        Err(_) => output.to_string(),
    };
    match serde_json::from_str(&text) {
        Ok(json @ (Value::Object(_) | Value::Array(_))) => ToolResult::Json(json),
        _ => ToolResult::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_text_or_json() {
        for (output, expected) in [
            (r#""plain""#, ToolResult::Text("plain".into())),
            (r#""{\"a\":1}""#, ToolResult::Json(serde_json::json!({"a": 1}))),
            (r#""12""#, ToolResult::Text("12".into())),
            ("[1]", ToolResult::Json(serde_json::json!([1]))),
            ("not json", ToolResult::Text("not json".into())),
        ] {
            assert_eq!(to_tool_result(output), expected, "{output}");
        }
    }

    #[test]
    fn a_tool_call_names_its_mcp_server() {
        let call = Call { tool: "mcp__mem__recall".into(), input: "{}".into(), ..Call::default() };
        let tool_call = to_tool_call(&call);
        assert_eq!(
            (tool_call.server.as_str(), tool_call.tool.as_str(), tool_call.status.as_deref()),
            ("mem", "recall", Some("pending"))
        );
    }
}
