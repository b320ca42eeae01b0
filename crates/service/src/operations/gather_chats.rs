//! Returns whole sessions: the messages in order, each call with the reply that made it. For several sessions: all messages
//! by time, and the messages they share.
//!
//! Does not know how large a response may be: nothing is truncated here. Messages of subagents are not part of the parent
//! session; their IDs are listed instead.

use super::align;
use super::records::BOTH;
use crate::Service;
use api::gather_chats::{
    Chat, ChatMessage, ChatMeta, GatherChats, Gathered, OneChat, SeveralChats, Told, ToolCall, ToolResult,
    Tools,
};
use api::search::{TimeRange, ms};
use api::{Code, Error, Handle, ViewRequest};
use history::error::read_error;
use history::resolve_session::{Called, own_id};
use history::scan::{Library, by_session, gather_called, is_warm_up};
use history::to_record::role;
use history::{freshness, resolve_session};
use record::row::USAGE_ONLY;
use record::{Call, Kind, Message, Problem, Row, RowKind, Session, Stamp, TitleOrigin};
use serde_json::Value;
use sources::Facts;

impl Handle<GatherChats> for Service {
    fn handle(&self, request: &GatherChats) -> Result<Gathered, Error> {
        gather_chats(self, request)
    }
}

fn gather_chats(service: &Service, request: &GatherChats) -> Result<Gathered, Error> {
    let mut read: Vec<Read> = Vec::new();
    for id in &request.chat_ids {
        let one = read_chat(service, id.trim(), request.include_tools)?;
        if read.iter().all(|other| other.chat.id != one.chat.id) {
            read.push(one);
        }
    }
    Ok(if read.len() == 1 { one(read.remove(0)) } else { several(read) })
}

/// One session as read from its transcripts.
struct Read {
    chat: Chat,
    messages: Vec<ChatMessage>,
    notes: Vec<String>,
    partial: bool,
}

fn one(read: Read) -> Gathered {
    let Read { chat, messages, notes, partial } = read;
    Gathered::One(Box::new(OneChat { chat, messages, partial, notes }))
}

fn several(read: Vec<Read>) -> Gathered {
    let mut all = SeveralChats { partial: read.iter().any(|r| r.partial), ..SeveralChats::default() };
    let mut chats = Vec::new();
    for (chat_idx, Read { chat, messages, notes, .. }) in read.into_iter().enumerate() {
        all.notes.extend(notes.iter().map(|note| format!("{}: {note}", chat.id)));
        all.meta.push(ChatMeta { chat_idx, chat });
        chats.push(messages);
    }
    all.common_alignment = align::common(&chats);
    all.narrative = interleaved(chats);
    Gathered::Several(all)
}

/// Merges messages by time. Messages of one session keep their order even if their timestamps do not.
fn interleaved(chats: Vec<Vec<ChatMessage>>) -> Vec<Told> {
    let mut all = Vec::new();
    for (chat_idx, messages) in chats.into_iter().enumerate() {
        let mut latest = i64::MIN;
        for (index, message) in messages.into_iter().enumerate() {
            latest = latest.max(message.created_at.unwrap_or(latest));
            all.push((latest, Told { chat_idx, index, message }));
        }
    }
    all.sort_by_key(|(at, entry)| (*at, entry.chat_idx, entry.index));
    all.into_iter().map(|(_, entry)| entry).collect()
}

// ---- resolving a session

/// Resolves a prefix to exactly one session ID.
fn meant(library: &Library, prefix: &str) -> Result<String, Error> {
    let called = resolve_session::called(library.facts.iter().flat_map(|facts| &facts.sessions), prefix);
    match called.len() {
        0 => Err(not_found(library, prefix)),
        1 => Ok(called.into_keys().next().unwrap_or_default().to_string()),
        _ => Err(resolve_session::ambiguous(prefix, &called, SHOWN)),
    }
}

/// Command suggested for each candidate of an ambiguous prefix.
const SHOWN: &str = "loci show";

/// Reports an unknown prefix, and the subagents if only their transcripts are left.
fn not_found(library: &Library, prefix: &str) -> Error {
    let message = format!("no session has an ID that starts with `{prefix}`");
    let all = library.facts.iter().flat_map(|facts| &facts.sessions);
    let children: Called<'_> =
        all.filter(|s| s.session_id.starts_with(prefix)).map(|s| (own_id(s), s)).collect();
    if children.is_empty() {
        return Error::new(Code::SessionNotFound, message).hint("list recent sessions with `loci sessions`");
    }
    let error = Error::new(Code::SessionNotFound, format!("{message}; only its subagents are left"));
    resolve_session::named(error, &children, SHOWN)
}

fn titled_so(session: &Session) -> &str {
    session.title.as_ref().map_or("", |(title, _)| title)
}

// ---- one session

fn read_chat(service: &Service, prefix: &str, include_tools: bool) -> Result<Read, Error> {
    let request = ViewRequest { session: Some(prefix.to_string()), ..ViewRequest::default() };
    let (library, rows) =
        gather_called(&service.history(), &request, BOTH, by_session, |_, joined| is_said(&joined.row))?;
    let id = meant(&library, prefix)?;
    let mut timeline =
        Timeline { service, library: &library, include_tools, messages: Vec::new(), lost: Vec::new() };
    let mut first_turn = None;
    for row in rows {
        let row = row.map_err(read_error)?;
        if own_id(library.session(&row)) != id {
            continue;
        }
        first_turn.get_or_insert(row.turn);
        timeline.add(&row);
    }
    let Timeline { messages, lost, .. } = timeline;
    let mut chat = describe(&library, &id, messages.len() as u64);
    let goes_on = first_turn.is_some_and(|turn| turn > 1);
    if !is_named(&library, &id, goes_on) {
        chat.title =
            messages.iter().find(|m| m.role == "user" && m.kind.is_none()).map_or(chat.title, titled);
    }
    let mut notes = Vec::new();
    if !chat.subagents.is_empty() {
        notes.push("what its subagents did is not among these messages; gather their ids for it".to_string());
    }
    if goes_on {
        notes.push("it goes on from another session, which holds what was said before".to_string());
    }
    let damaged = is_damaged(&library, &id);
    if damaged {
        notes.push("a part of it could not be read; `loci sources --problems` says where".to_string());
    }
    notes.extend(lost.iter().map(|problem| format!("could not be read: {}", problem.note)));
    Ok(Read { chat, messages, notes, partial: damaged || !lost.is_empty() })
}

/// Whether the session has its own title. A continuation starts with the first prompt of the session it continues.
fn is_named(library: &Library, id: &str, goes_on: bool) -> bool {
    let all = library.facts.iter().flat_map(|facts| &facts.sessions);
    let mut titles = all.filter(|session| own_id(session) == id).filter_map(|session| session.title.as_ref());
    titles.any(|(_, origin)| !goes_on || *origin != TitleOrigin::FirstPrompt)
}

fn titled(message: &ChatMessage) -> String {
    sources::survey::title_of(&message.content)
}

/// Whether data is missing from the transcripts that contain the session.
fn is_damaged(library: &Library, id: &str) -> bool {
    let holds = |facts: &&Facts| facts.sessions.iter().any(|session| own_id(session) == id);
    let mut problems = library.facts.iter().filter(holds).flat_map(|facts| &facts.problems);
    problems.any(|problem| problem.kind.is_loss())
}

fn is_said(row: &Row) -> bool {
    !is_warm_up(row) && !row.is(USAGE_ONLY)
}

fn describe(library: &Library, id: &str, message_count: u64) -> Chat {
    let all = || library.facts.iter().flat_map(|facts| &facts.sessions);
    let parts: Vec<&Session> = all().filter(|session| own_id(session) == id).collect();
    let named = parts.iter().find(|session| session.title.is_some()).or(parts.first());
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
    let contains = |facts: &Facts| facts.sessions.iter().any(|session| own_id(session) == id);
    let mut holding = library.transcripts.iter().zip(&library.facts).filter(|(_, facts)| contains(facts));
    let archived = holding.all(|(transcript, _)| freshness::is_kept(transcript));
    Chat {
        id: id.to_string(),
        title: named.map_or(String::new(), |session| titled_so(session).to_string()),
        message_count,
        time_range: TimeRange::new(from, to),
        source: source.to_string(),
        project: (!project.is_empty()).then(|| project.to_string()),
        resume: resumed
            .and_then(|session| api::resume(source, project, &session.session_id))
            .filter(|_| !archived),
        archived,
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
    library: &'a Library,
    include_tools: bool,
    messages: Vec<ChatMessage>,
    lost: Vec<Problem>,
}

impl Timeline<'_> {
    fn add(&mut self, row: &Row) {
        match row.row {
            RowKind::Call if self.include_tools => {
                match self.service.history().read_call(self.library, row) {
                    Ok(call) => self.call(row, &call),
                    Err(problem) => self.lost.push(problem),
                }
            }
            RowKind::Message => match self.service.history().read_message(self.library, row) {
                Ok(message) => self.message(row, message),
                Err(problem) => self.lost.push(problem),
            },
            _ => {}
        }
    }

    fn message(&mut self, row: &Row, message: Message) {
        // Without tools, a reply that only called tools is empty.
        if !self.include_tools && row.kind() == Kind::Reply && message.text.is_empty() {
            return;
        }
        self.messages.push(ChatMessage {
            message_id: message.id,
            created_at: ms(row.at),
            role: role(row.kind()).word().to_string(),
            content: message.text,
            kind: unusual(row.kind()).map(String::from),
            tools: None,
        });
    }

    /// Attaches a call to the preceding reply. If the agent recorded none, adds an empty reply for the call.
    fn call(&mut self, row: &Row, call: &Call) {
        if self.messages.last().is_none_or(|last| last.role != "assistant") {
            self.messages.push(ChatMessage {
                message_id: call.id.clone(),
                created_at: ms(row.at),
                role: "assistant".to_string(),
                ..ChatMessage::default()
            });
        }
        let Some(reply) = self.messages.last_mut() else { return };
        let tools = reply.tools.get_or_insert_with(Tools::default);
        tools.results.extend(call.output.as_deref().map(result));
        tools.calls.push(asked(call));
    }
}

/// The kind of a message that is neither a prompt nor a reply.
fn unusual(kind: Kind) -> Option<&'static str> {
    (!matches!(kind, Kind::Prompt | Kind::Task | Kind::Reply)).then(|| kind.word())
}

fn asked(call: &Call) -> ToolCall {
    let server = Call::mcp_server(&call.tool).unwrap_or("");
    let tool =
        if server.is_empty() { &call.tool } else { call.tool.rsplit("__").next().unwrap_or(&call.tool) };
    let ended = if call.output.is_none() { "pending" } else { call.status.word() };
    ToolCall {
        server: server.to_string(),
        tool: tool.to_string(),
        // Input that is not JSON, or nested too deeply to parse, is passed on as text.
        args: serde_json::from_str(&call.input).unwrap_or_else(|_| Value::String(call.input.clone())),
        status: (ended != "success").then(|| ended.to_string()),
    }
}

/// Converts a tool result: text stays text, but an object or array encoded as a string is returned as JSON.
fn result(output: &str) -> ToolResult {
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
            assert_eq!(result(output), expected, "{output}");
        }
    }

    #[test]
    fn a_tool_call_names_its_mcp_server() {
        let call = Call { tool: "mcp__mem__recall".into(), input: "{}".into(), ..Call::default() };
        let tool_call = asked(&call);
        assert_eq!(
            (tool_call.server.as_str(), tool_call.tool.as_str(), tool_call.status.as_deref()),
            ("mem", "recall", Some("pending"))
        );
    }

    #[test]
    fn sessions_are_interleaved_by_time_and_keep_their_own_order() {
        let at = |times: &[Option<i64>]| -> Vec<ChatMessage> {
            times.iter().map(|at| ChatMessage { created_at: *at, ..ChatMessage::default() }).collect()
        };
        let messages =
            interleaved(vec![at(&[Some(1), Some(9), Some(4), None]), at(&[None, Some(5), Some(9)])]);
        let order: Vec<_> = messages.iter().map(|t| (t.chat_idx, t.index)).collect();
        assert_eq!(order, [(1, 0), (0, 0), (1, 1), (0, 1), (0, 2), (0, 3), (1, 2)]);
    }
}
