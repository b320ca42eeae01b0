//! Parses opencode's messages and their parts: prompts, tasks, replies, calls and errors.
//!
//! Does not include the agent's thoughts: they are not part of the conversation.

use super::{Stored, StoredMessage};
use crate::conversation::value::{
    attachment, between, count, file_of, items, some_stamp, some_text, stamp, text, tokens, whole,
};
use crate::conversation::{Conversation, Part};
use crate::json;
use record::{Call, Kind, Message, Role, Stamp, Status, TitleOrigin, Tokens, key};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn tell(stored: &Stored, conversation: &mut Conversation) {
    describe(&stored.session, conversation);
    let mut order: Vec<&StoredMessage> = stored.messages.iter().collect();
    // IDs rise with time, except those of messages copied by a fork and of imported sessions.
    order.sort_by_key(|of| created(&of.message));
    for of in order {
        account(of, conversation);
        match text(&of.message, "role") {
            "user" => user(of, conversation),
            "assistant" => assistant(of, conversation),
            _ => {}
        }
    }
}

/// The titles opencode gives a session until a model has generated a better one.
const UNNAMED: [&str; 2] = ["New session - ", "Child session - "];

fn describe(from: &Value, conversation: &mut Conversation) {
    if from.is_object() {
        conversation.understood();
    }
    let session = &mut conversation.session;
    if let Some(id) = some_text(from, "id") {
        session.session_id = Arc::from(id);
    }
    if let Some(parent) = some_text(from, "parentID") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
    session.cwd = Arc::from(text(from, "directory"));
    session.project = session.cwd.clone();
    session.version = Arc::from(text(from, "version"));
    session.started_at = stamp(&from["time"]["created"]);
    let title = some_text(from, "title").filter(|t| !UNNAMED.iter().any(|unnamed| t.starts_with(unnamed)));
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
    conversation.made_at = session.started_at;
}

/// Parts with conversation content, and parts without.
const SPOKEN: [&str; 5] = ["text", "tool", "file", "subtask", "retry"];
const SILENT: [&str; 7] =
    ["reasoning", "step-start", "step-finish", "snapshot", "patch", "agent", "compaction"];

/// Known fields of messages and of parts with conversation content; others are reported by `loci sources`.
const OF_MESSAGE: [&str; 20] = [
    "agent",
    "cost",
    "error",
    "finish",
    "id",
    "mode",
    "model",
    "modelID",
    "parentID",
    "path",
    "providerID",
    "role",
    "sessionID",
    "summary",
    "system",
    "time",
    "tokens",
    "tools",
    "variant",
    "format",
];
const OF_PART: [&str; 22] = [
    "agent",
    "attempt",
    "callID",
    "command",
    "description",
    "error",
    "filename",
    "id",
    "ignored",
    "messageID",
    "metadata",
    "mime",
    "prompt",
    "sessionID",
    "source",
    "state",
    "synthetic",
    "text",
    "time",
    "tool",
    "type",
    "url",
];

fn account(of: &StoredMessage, conversation: &mut Conversation) {
    match text(&of.message, "role") {
        role @ ("user" | "assistant") => {
            conversation.understood();
            conversation.fields(role, &of.message, &OF_MESSAGE);
        }
        other => conversation.unknown(&format!("message {other}")),
    }
    for part in &of.parts {
        match text(part, "type") {
            kind if SPOKEN.contains(&kind) => {
                conversation.understood();
                conversation.fields(kind, part, &OF_PART);
            }
            kind if SILENT.contains(&kind) => conversation.ignored(),
            other => conversation.unknown(other),
        }
    }
}

fn created(message: &Value) -> Stamp {
    stamp(&message["time"]["created"])
}

// ---- messages

fn user(of: &StoredMessage, conversation: &mut Conversation) {
    let subagent = conversation.session.parent_session_id.is_some();
    let body = spoken(of, false);
    if !body.is_empty() {
        let kind = if subagent { Kind::Task } else { Kind::Prompt };
        say(of, text(&of.message, "id"), (Role::User, kind), body, conversation);
    }
    for part in &of.parts {
        let (kind, body) = match text(part, "type") {
            "text" if is_synthetic(part) => (Kind::Meta, text(part, "text")),
            "subtask" => (Kind::Command, text(part, "prompt")),
            _ => continue,
        };
        say(of, text(part, "id"), (Role::User, kind), body.to_string(), conversation);
    }
}

/// Text that the client added to the user's message: the content of a mentioned file, reminders.
fn is_synthetic(part: &Value) -> bool {
    part["synthetic"] == true || part["ignored"] == true
}

fn spoken(of: &StoredMessage, synthetic: bool) -> String {
    let one = |part: &Value| match text(part, "type") {
        "text" if synthetic || !is_synthetic(part) => some_text(part, "text"),
        "file" => Some(attachment(text(part, "mime"), text(part, "filename"))),
        _ => None,
    };
    of.parts.iter().filter_map(one).collect::<Vec<_>>().join("\n")
}

fn assistant(of: &StoredMessage, conversation: &mut Conversation) {
    let id = text(&of.message, "id");
    let (body, error) = (spoken(of, true), failure(&of.message["error"]));
    let calls = of.parts.iter().any(|part| text(part, "type") == "tool");
    let kind = if of.message["summary"] == true { Kind::CompactionSummary } else { Kind::Reply };
    match error {
        Some((Kind::ApiError, error)) if body.is_empty() && !calls => {
            say(of, id, (Role::Assistant, Kind::ApiError), error, conversation);
        }
        error => {
            say(of, id, (Role::Assistant, kind), body, conversation);
            if let Some((kind, error)) = error {
                say(of, &format!("{id}/error"), (Role::System, kind), error, conversation);
            }
        }
    }
    for part in &of.parts {
        match text(part, "type") {
            "tool" => conversation.parts.push(called(part, created(&of.message))),
            "retry" => {
                if let Some((kind, error)) = failure(&part["error"]) {
                    say(of, text(part, "id"), (Role::System, kind), error, conversation);
                }
            }
            _ => {}
        }
    }
}

/// What ended a reply: the provider, or the person who stopped it.
fn failure(error: &Value) -> Option<(Kind, String)> {
    if error.is_null() {
        return None;
    }
    let name = text(error, "name");
    let message = some_text(&error["data"], "message").or_else(|| some_text(error, "message"));
    let message =
        message.unwrap_or_else(|| if name.is_empty() { error.to_string() } else { name.to_string() });
    Some((if name == "MessageAbortedError" { Kind::Interruption } else { Kind::ApiError }, message))
}

fn say(of: &StoredMessage, id: &str, author: (Role, Kind), body: String, conversation: &mut Conversation) {
    let from = &of.message;
    let own = author.0 == Role::Assistant;
    let calls = of.parts.iter().filter(|part| text(part, "type") == "tool").count();
    let fallback = || format!("{}#{}", conversation.session.session_id, conversation.parts.len());
    let message = Message {
        id: Some(id).filter(|id| !id.is_empty()).map_or_else(fallback, str::to_string),
        parent_id: some_text(from, "parentID"),
        model: some_text(from, "modelID").filter(|_| own),
        tool_calls: if own { calls as u32 } else { 0 },
        at: some_stamp(created(from)),
        text: body,
    };
    let tokens = if own { counted(&from["tokens"]) } else { Tokens::ZERO };
    let same_as = lasting(of, author, &message.text);
    conversation.parts.push(Part::Said { role: author.0, kind: author.1, message, tokens, same_as });
}

/// The properties that a fork leaves unchanged: both times, the text and the calls. Two concurrent subagents
/// can begin a silent reply in the same millisecond, so the time alone is not enough.
fn lasting(of: &StoredMessage, author: (Role, Kind), body: &str) -> Option<String> {
    let at = some_stamp(created(&of.message))?;
    let completed = stamp(&of.message["time"]["completed"]).0.to_le_bytes();
    let calls: Vec<&[u8]> = of.parts.iter().map(|part| text(part, "callID").as_bytes()).collect();
    let kind = [author.1 as u8];
    let mut hashed = vec![kind.as_slice(), completed.as_slice(), body.as_bytes()];
    hashed.extend(calls.into_iter().filter(|id| !id.is_empty()));
    Some(format!("{:x}-{:016x}", at.0, key(b's', &hashed)))
}

fn counted(from: &Value) -> Tokens {
    let output = count(&from["output"]).saturating_add(count(&from["reasoning"]));
    tokens(count(&from["input"]), output, count(&from["cache"]["read"]), count(&from["cache"]["write"]))
}

// ---- calls

fn called(part: &Value, requested_at: Stamp) -> Part {
    let state = &part["state"];
    let (begun, until) = (stamp(&state["time"]["start"]), stamp(&state["time"]["end"]));
    let id = some_text(part, "callID").unwrap_or_else(|| text(part, "id").to_string());
    let mut call = Call {
        tool: text(part, "tool").to_string(),
        input: state["input"].to_string(),
        file: file_of(&state["input"]),
        ..Call::default()
    };
    ended(state, &mut call);
    if call.output.is_some() {
        call.duration_ms = between(begun, until);
    }
    let same_as = begun.is_some().then(|| format!("{id}@{}", begun.0));
    call.id = id;
    Part::Called { call, at: begun.or(requested_at), until, same_as }
}

/// A command that fails is "completed" with an exit code; a tool that does not exist is the tool `invalid`,
/// which completes too.
fn ended(state: &Value, call: &mut Call) {
    call.exit_code = whole(&state["metadata"]["exit"]);
    let failed = call.exit_code.is_some_and(|code| code != 0) || call.tool == "invalid";
    call.status = match text(state, "status") {
        "error" => Status::Error,
        "completed" if failed => Status::Error,
        "completed" => Status::Success,
        "pending" | "running" => Status::Pending,
        _ if state["output"].is_string() => Status::Unknown,
        _ => Status::Pending,
    };
    if call.status == Status::Pending {
        return;
    }
    let answer = some_text(state, "output").or_else(|| some_text(state, "error")).unwrap_or_default();
    if call.status == Status::Error {
        call.error = Some(some_text(state, "error").unwrap_or_else(|| answer.clone()));
    }
    call.output = Some(json::quoted(&with_pictures(answer, &state["attachments"])));
}

fn with_pictures(mut answer: String, attachments: &Value) -> String {
    for file in items(attachments) {
        answer.push_str(if answer.is_empty() { "" } else { "\n" });
        answer.push_str(&attachment(text(file, "mime"), text(file, "filename")));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Session;
    use serde_json::json;

    fn told(message: Value, parts: Vec<Value>) -> Vec<Part> {
        let mut conversation = Conversation::new(Session::new("opencode", "ses_1"));
        let messages = vec![StoredMessage { message, parts }];
        tell(&Stored { session: json!({"id": "ses_1"}), messages }, &mut conversation);
        conversation.parts
    }

    fn call(part: &Value) -> Call {
        match called(part, Stamp::NONE) {
            Part::Called { call, .. } => call,
            Part::Said { .. } => unreachable!(),
        }
    }

    #[test]
    fn the_outcome_of_a_call_is_derived_from_its_state() {
        for (state, status, code, output) in [
            (json!({"status": "running", "input": {}}), Status::Pending, None, None),
            (json!({"status": "pending"}), Status::Pending, None, None),
            (json!(null), Status::Pending, None, None),
            (json!({"status": "completed", "output": "x"}), Status::Success, None, Some("\"x\"")),
            (
                json!({"status": "completed", "output": "x", "metadata": {"exit": "2"}}),
                Status::Error,
                Some(2),
                Some("\"x\""),
            ),
            (
                json!({"status": "completed", "output": "", "metadata": {"exit": 0}}),
                Status::Success,
                Some(0),
                Some("\"\""),
            ),
            (json!({"status": "error", "error": "gone"}), Status::Error, None, Some("\"gone\"")),
            (json!({"status": "new", "output": "x"}), Status::Unknown, None, Some("\"x\"")),
        ] {
            let made = call(&json!({"type": "tool", "tool": "bash", "callID": "c", "state": state}));
            let found = (made.status, made.exit_code, made.output.as_deref());
            assert_eq!(found, (status, code, output), "{state}");
        }
        let invalid = json!({"tool": "invalid", "state": {"status": "completed", "output": "no such tool"}});
        assert_eq!(call(&invalid).error.as_deref(), Some("no such tool"));
    }

    #[test]
    fn a_reply_cut_short_is_a_reply_and_an_interruption() {
        let stopped = json!({"id": "m", "role": "assistant", "time": {"created": 5},
            "error": {"name": "MessageAbortedError", "data": {"message": "aborted"}}});
        let kinds: Vec<_> = told(stopped, vec![json!({"type": "text", "text": "half"})])
            .iter()
            .filter_map(|p| if let Part::Said { kind, .. } = p { Some(*kind) } else { None })
            .collect();
        assert_eq!(kinds, [Kind::Reply, Kind::Interruption]);
    }

    #[test]
    fn a_call_id_that_is_used_again_is_another_call() {
        let part = |start: i64| {
            json!({"type": "tool", "tool": "bash", "callID": "functions.bash:0",
            "state": {"status": "completed", "output": "", "time": {"start": start, "end": start + 1}}})
        };
        let message = json!({"id": "m", "role": "assistant", "time": {"created": 1_794_699_523_976_i64}});
        let parts = told(message, vec![part(1_794_699_523_976), part(1_794_699_523_999)]);
        let ids: Vec<_> = parts
            .iter()
            .filter_map(|p| {
                if let Part::Called { call, same_as, .. } = p { Some((&call.id, same_as)) } else { None }
            })
            .collect();
        assert_eq!(ids[0].0, ids[1].0);
        assert_ne!(ids[0].1, ids[1].1);
    }
}
