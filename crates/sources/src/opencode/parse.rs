//! Parses opencode's messages and their parts: prompts, tasks, replies, calls and errors.
//!
//! Does not include the agent's thoughts: they are not part of the conversation.

use super::{StoredMessage, StoredSession};
use crate::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, attachment_label, duration_between, file_argument,
    known_stamp, optional_text, text_field, token_counts,
};
use crate::conversation::{Conversation, Part};
use crate::json;
use record::{Call, Kind, Message, Role, Stamp, Status, TitleOrigin, Tokens, event_key};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn parse_session(stored: &StoredSession, conversation: &mut Conversation) {
    describe_session(&stored.session, conversation);
    let mut order: Vec<&StoredMessage> = stored.messages.iter().collect();
    // IDs rise with time, except those of messages copied by a fork and of imported sessions.
    order.sort_by_key(|of| created_at(&of.message));
    for of in order {
        count_message(of, conversation);
        match text_field(&of.message, "role") {
            "user" => add_user(of, conversation),
            "assistant" => add_assistant(of, conversation),
            _ => {}
        }
    }
}

/// The titles opencode gives a session until a model has generated a better one.
const DEFAULT_TITLES: [&str; 2] = ["New session - ", "Child session - "];

fn describe_session(from: &Value, conversation: &mut Conversation) {
    if from.is_object() {
        conversation.count_understood();
    }
    let session = &mut conversation.session;
    if let Some(id) = optional_text(from, "id") {
        session.session_id = Arc::from(id);
    }
    if let Some(parent) = optional_text(from, "parentID") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
    session.cwd = Arc::from(text_field(from, "directory"));
    session.project = session.cwd.clone();
    session.version = Arc::from(text_field(from, "version"));
    session.started_at = as_stamp(&from["time"]["created"]);
    let title =
        optional_text(from, "title").filter(|t| !DEFAULT_TITLES.iter().any(|unnamed| t.starts_with(unnamed)));
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
    conversation.created_at = session.started_at;
}

/// Parts with conversation content, and parts without.
const UNDERSTOOD_PARTS: [&str; 5] = ["text", "tool", "file", "subtask", "retry"];
const IGNORED_PARTS: [&str; 7] =
    ["reasoning", "step-start", "step-finish", "snapshot", "patch", "agent", "compaction"];

/// Known fields of messages and of parts with conversation content; others are reported by `loci sources`.
const MESSAGE_FIELDS: [&str; 20] = [
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
const PART_FIELDS: [&str; 22] = [
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

fn count_message(of: &StoredMessage, conversation: &mut Conversation) {
    match text_field(&of.message, "role") {
        role @ ("user" | "assistant") => {
            conversation.count_understood();
            conversation.count_unknown_fields(role, &of.message, &MESSAGE_FIELDS);
        }
        other => conversation.count_unknown(&format!("message {other}")),
    }
    for part in &of.parts {
        match text_field(part, "type") {
            kind if UNDERSTOOD_PARTS.contains(&kind) => {
                conversation.count_understood();
                conversation.count_unknown_fields(kind, part, &PART_FIELDS);
            }
            kind if IGNORED_PARTS.contains(&kind) => conversation.count_ignored(),
            other => conversation.count_unknown(other),
        }
    }
}

fn created_at(message: &Value) -> Stamp {
    as_stamp(&message["time"]["created"])
}

// ---- messages

fn add_user(of: &StoredMessage, conversation: &mut Conversation) {
    let subagent = conversation.session.parent_session_id.is_some();
    let body = visible_text(of, false);
    if !body.is_empty() {
        let kind = if subagent { Kind::Task } else { Kind::Prompt };
        add_message(of, text_field(&of.message, "id"), (Role::User, kind), body, conversation);
    }
    for part in &of.parts {
        let (kind, body) = match text_field(part, "type") {
            "text" if is_synthetic(part) => (Kind::Meta, text_field(part, "text")),
            "subtask" => (Kind::Command, text_field(part, "prompt")),
            _ => continue,
        };
        add_message(of, text_field(part, "id"), (Role::User, kind), body.to_string(), conversation);
    }
}

/// Text that the client added to the user's message: the content of a mentioned file, reminders.
fn is_synthetic(part: &Value) -> bool {
    part["synthetic"] == true || part["ignored"] == true
}

fn visible_text(of: &StoredMessage, synthetic: bool) -> String {
    let one = |part: &Value| match text_field(part, "type") {
        "text" if synthetic || !is_synthetic(part) => optional_text(part, "text"),
        "file" => Some(attachment_label(text_field(part, "mime"), text_field(part, "filename"))),
        _ => None,
    };
    of.parts.iter().filter_map(one).collect::<Vec<_>>().join("\n")
}

fn add_assistant(of: &StoredMessage, conversation: &mut Conversation) {
    let id = text_field(&of.message, "id");
    let (body, error) = (visible_text(of, true), parse_error(&of.message["error"]));
    let calls = of.parts.iter().any(|part| text_field(part, "type") == "tool");
    let kind = if of.message["summary"] == true { Kind::CompactionSummary } else { Kind::Reply };
    match error {
        Some((Kind::ApiError, error)) if body.is_empty() && !calls => {
            add_message(of, id, (Role::Assistant, Kind::ApiError), error, conversation);
        }
        error => {
            add_message(of, id, (Role::Assistant, kind), body, conversation);
            if let Some((kind, error)) = error {
                add_message(of, &format!("{id}/error"), (Role::System, kind), error, conversation);
            }
        }
    }
    for part in &of.parts {
        match text_field(part, "type") {
            "tool" => conversation.parts.push(parse_call(part, created_at(&of.message))),
            "retry" => {
                if let Some((kind, error)) = parse_error(&part["error"]) {
                    add_message(of, text_field(part, "id"), (Role::System, kind), error, conversation);
                }
            }
            _ => {}
        }
    }
}

/// What ended a reply: the provider, or the person who stopped it.
fn parse_error(error: &Value) -> Option<(Kind, String)> {
    if error.is_null() {
        return None;
    }
    let name = text_field(error, "name");
    let message = optional_text(&error["data"], "message").or_else(|| optional_text(error, "message"));
    let message =
        message.unwrap_or_else(|| if name.is_empty() { error.to_string() } else { name.to_string() });
    Some((if name == "MessageAbortedError" { Kind::Interruption } else { Kind::ApiError }, message))
}

fn add_message(
    of: &StoredMessage,
    id: &str,
    author: (Role, Kind),
    body: String,
    conversation: &mut Conversation,
) {
    let from = &of.message;
    let own = author.0 == Role::Assistant;
    let calls = of.parts.iter().filter(|part| text_field(part, "type") == "tool").count();
    let fallback = || format!("{}#{}", conversation.session.session_id, conversation.parts.len());
    let message = Message {
        id: Some(id).filter(|id| !id.is_empty()).map_or_else(fallback, str::to_string),
        parent_id: optional_text(from, "parentID"),
        model: optional_text(from, "modelID").filter(|_| own),
        tool_calls: if own { calls as u32 } else { 0 },
        at: known_stamp(created_at(from)),
        text: body,
    };
    let tokens = if own { parse_tokens(&from["tokens"]) } else { Tokens::ZERO };
    let same_as = stable_id(of, author, &message.text);
    conversation.parts.push(Part::Message { role: author.0, kind: author.1, message, tokens, same_as });
}

/// The properties that a fork leaves unchanged: both times, the text and the calls. Two concurrent subagents
/// can begin a silent reply in the same millisecond, so the time alone is not enough.
fn stable_id(of: &StoredMessage, author: (Role, Kind), body: &str) -> Option<String> {
    let at = known_stamp(created_at(&of.message))?;
    let completed = as_stamp(&of.message["time"]["completed"]).0.to_le_bytes();
    let calls: Vec<&[u8]> = of.parts.iter().map(|part| text_field(part, "callID").as_bytes()).collect();
    let kind = [author.1 as u8];
    let mut hashed = vec![kind.as_slice(), completed.as_slice(), body.as_bytes()];
    hashed.extend(calls.into_iter().filter(|id| !id.is_empty()));
    Some(format!("{:x}-{:016x}", at.0, event_key(b's', &hashed)))
}

fn parse_tokens(from: &Value) -> Tokens {
    let output = as_token_count(&from["output"]).saturating_add(as_token_count(&from["reasoning"]));
    token_counts(
        as_token_count(&from["input"]),
        output,
        as_token_count(&from["cache"]["read"]),
        as_token_count(&from["cache"]["write"]),
    )
}

// ---- calls

fn parse_call(part: &Value, requested_at: Stamp) -> Part {
    let state = &part["state"];
    let (begun, until) = (as_stamp(&state["time"]["start"]), as_stamp(&state["time"]["end"]));
    let id = optional_text(part, "callID").unwrap_or_else(|| text_field(part, "id").to_string());
    let mut call = Call {
        tool: text_field(part, "tool").to_string(),
        input: state["input"].to_string(),
        file: file_argument(&state["input"]),
        ..Call::default()
    };
    set_outcome(state, &mut call);
    if call.output.is_some() {
        call.duration_ms = duration_between(begun, until);
    }
    let same_as = begun.is_some().then(|| format!("{id}@{}", begun.0));
    call.id = id;
    Part::Call { call, at: begun.or(requested_at), until, same_as }
}

/// A command that fails is "completed" with an exit code; a tool that does not exist is the tool `invalid`,
/// which completes too.
fn set_outcome(state: &Value, call: &mut Call) {
    call.exit_code = as_integer(&state["metadata"]["exit"]);
    let failed = call.exit_code.is_some_and(|code| code != 0) || call.tool == "invalid";
    call.status = match text_field(state, "status") {
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
    let answer = optional_text(state, "output").or_else(|| optional_text(state, "error")).unwrap_or_default();
    if call.status == Status::Error {
        call.error = Some(optional_text(state, "error").unwrap_or_else(|| answer.clone()));
    }
    call.output = Some(json::to_json_string(&with_attachments(answer, &state["attachments"])));
}

fn with_attachments(mut answer: String, attachments: &Value) -> String {
    for file in as_items(attachments) {
        answer.push_str(if answer.is_empty() { "" } else { "\n" });
        answer.push_str(&attachment_label(text_field(file, "mime"), text_field(file, "filename")));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Session;
    use serde_json::json;

    fn parse_message(message: Value, parts: Vec<Value>) -> Vec<Part> {
        let mut conversation = Conversation::new(Session::new("opencode", "ses_1"));
        let messages = vec![StoredMessage { message, parts }];
        parse_session(&StoredSession { session: json!({"id": "ses_1"}), messages }, &mut conversation);
        conversation.parts
    }

    fn parse_test_call(part: &Value) -> Call {
        match parse_call(part, Stamp::NONE) {
            Part::Call { call, .. } => call,
            Part::Message { .. } => unreachable!(),
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
            let made =
                parse_test_call(&json!({"type": "tool", "tool": "bash", "callID": "c", "state": state}));
            let found = (made.status, made.exit_code, made.output.as_deref());
            assert_eq!(found, (status, code, output), "{state}");
        }
        let invalid = json!({"tool": "invalid", "state": {"status": "completed", "output": "no such tool"}});
        assert_eq!(parse_test_call(&invalid).error.as_deref(), Some("no such tool"));
    }

    #[test]
    fn a_reply_cut_short_is_a_reply_and_an_interruption() {
        let stopped = json!({"id": "m", "role": "assistant", "time": {"created": 5},
            "error": {"name": "MessageAbortedError", "data": {"message": "aborted"}}});
        let kinds: Vec<_> = parse_message(stopped, vec![json!({"type": "text", "text": "half"})])
            .iter()
            .filter_map(|p| if let Part::Message { kind, .. } = p { Some(*kind) } else { None })
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
        let parts = parse_message(message, vec![part(1_794_699_523_976), part(1_794_699_523_999)]);
        let ids: Vec<_> = parts
            .iter()
            .filter_map(|p| {
                if let Part::Call { call, same_as, .. } = p { Some((&call.id, same_as)) } else { None }
            })
            .collect();
        assert_eq!(ids[0].0, ids[1].0);
        assert_ne!(ids[0].1, ids[1].1);
    }
}
