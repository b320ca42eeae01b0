//! Parses Gemini's messages: who wrote them, to whom, and which of those in the user's name a person typed.
//!
//! Does not include the agent's thoughts: they are not part of the conversation.

use super::attachment::attachment_name;
use super::call::{self, ToolResults};
use super::log::{Entry, Log};
use crate::conversation::value::{
    as_items, as_stamp, as_token_count, known_stamp, optional_text, text_field, token_counts,
};
use crate::conversation::{Conversation, Part};
use record::{Kind, Message, Role, Stamp, Tokens};
use serde_json::Value;

pub(super) fn parse_log(log: &Log, conversation: &mut Conversation) {
    let answers = call::collect_results(log);
    for at in 0..log.entries.len() {
        let entry = &log.entries[at];
        match text_field(&entry.message, "type") {
            "user" => add_user(log, at, conversation),
            "gemini" => add_reply(entry, at, &answers, conversation),
            "error" => add_notice(entry, at, Kind::ApiError, conversation),
            "info" | "warning" => add_notice(entry, at, Kind::Meta, conversation),
            _ => {}
        }
    }
}

fn add_user(log: &Log, at: usize, conversation: &mut Conversation) {
    let entry = &log.entries[at];
    let content = &entry.message["content"];
    let typed = user_text(&entry.message);
    let only_results = as_items(content).iter().any(|part| part.get("functionResponse").is_some());
    if typed.is_empty() && only_results {
        return; // tool results are part of their calls
    }
    let subagent = conversation.session.parent_session_id.is_some();
    let kind = match kind_of_text(&typed) {
        Kind::Prompt if subagent => kind_in_subagent(conversation),
        Kind::Prompt if is_task(log, at, &typed) => Kind::Task,
        kind => kind,
    };
    add_message(entry, at, (Role::User, kind), typed, conversation);
}

/// A subagent gets its task once; later messages in the user's name are the client urging it on.
fn kind_in_subagent(conversation: &Conversation) -> Kind {
    let has_task =
        conversation.parts.iter().any(|part| matches!(part, Part::Message { kind: Kind::Task, .. }));
    if has_task { Kind::Meta } else { Kind::Task }
}

fn kind_of_text(typed: &str) -> Kind {
    let typed = typed.trim_start();
    let context = ["<session_context>", "This is the Gemini CLI. We are setting up the context"];
    if context.iter().any(|head| typed.starts_with(head)) {
        Kind::Context
    } else if typed.starts_with("<state_snapshot>") {
        Kind::CompactionSummary
    } else if typed.starts_with("System: Please continue") {
        Kind::Meta
    } else if is_command(typed) {
        Kind::Command
    } else {
        Kind::Prompt
    }
}

/// `/compress` is a command, `/home/x is full` is not.
fn is_command(typed: &str) -> bool {
    let word = typed.split_whitespace().next().unwrap_or("");
    let name = word.strip_prefix('/').unwrap_or("");
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b))
}

/// 0.30 writes a subagent's task into the main session as if the person had typed it: between a prompt and
/// the reply with the call, whose argument is contained in it.
fn is_task(log: &Log, at: usize, typed: &str) -> bool {
    let kind = |entry: Option<&Entry>| entry.map_or("", |e| text_field(&e.message, "type")) == "user";
    let before = at.checked_sub(1).and_then(|before| log.entries.get(before));
    let reply = log.entries.get(at + 1).map_or(&Value::Null, |next| &next.message);
    kind(before)
        && as_items(&reply["toolCalls"]).iter().any(|call| {
            ["objective", "prompt", "request", "query", "task"].iter().any(|key| {
                optional_text(&call["args"], key).is_some_and(|argument| typed.contains(&argument))
            })
        })
}

fn add_reply(entry: &Entry, at: usize, answers: &ToolResults<'_>, conversation: &mut Conversation) {
    let message = &entry.message;
    add_message(entry, at, (Role::Assistant, Kind::Reply), content_text(&message["content"]), conversation);
    let session = conversation.session.session_id.clone();
    for (n, made) in as_items(&message["toolCalls"]).iter().enumerate() {
        let fallback = format!("{session}#{at}.{n}");
        conversation.parts.push(call::parse_call(made, &fallback, as_stamp(&message["timestamp"]), answers));
    }
}

fn add_notice(entry: &Entry, at: usize, kind: Kind, conversation: &mut Conversation) {
    add_message(entry, at, (Role::System, kind), content_text(&entry.message["content"]), conversation);
}

fn add_message(
    entry: &Entry,
    at: usize,
    author: (Role, Kind),
    body: String,
    conversation: &mut Conversation,
) {
    let from = &entry.message;
    let fallback = || format!("{}#{at}", conversation.session.session_id);
    let at: Stamp = as_stamp(&from["timestamp"]);
    let message = Message {
        id: optional_text(from, "id").unwrap_or_else(fallback),
        parent_id: entry.parent.clone(),
        text: body,
        model: optional_text(from, "model"),
        tool_calls: as_items(&from["toolCalls"]).len() as u32,
        at: known_stamp(at),
    };
    let tokens = parse_tokens(&from["tokens"]);
    conversation.parts.push(Part::Message { role: author.0, kind: author.1, message, tokens, same_as: None });
}

/// Gemini counts cache reads as part of the input, and thoughts separately from the output.
fn parse_tokens(from: &Value) -> Tokens {
    let cached = as_token_count(&from["cached"]);
    let output = as_token_count(&from["output"]).saturating_add(as_token_count(&from["thoughts"]));
    token_counts(as_token_count(&from["input"]).saturating_sub(cached), output, cached, 0)
}

/// The text the person typed, if the client stores it separately from the files it pasted in; and the
/// pictures.
fn user_text(message: &Value) -> String {
    let mut typed = content_text(&message["displayContent"]);
    if typed.is_empty() {
        return content_text(&message["content"]);
    }
    for part in as_items(&message["content"]) {
        if let Some(name) = attachment_name(part) {
            push_label(&name, &mut typed);
        }
    }
    typed
}

/// The text of a message: a string, or parts of which some are text and some are pictures.
fn content_text(content: &Value) -> String {
    let mut joined = String::new();
    for part in as_items(content) {
        if let Some(plain) = part.as_str() {
            joined.push_str(plain);
        } else if part["thought"] != true {
            joined.push_str(text_field(part, "text"));
        }
        if let Some(name) = attachment_name(part) {
            push_label(&name, &mut joined);
        }
    }
    joined
}

fn push_label(name: &str, out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_in_the_users_name_are_classified() {
        for (typed, kind) in [
            ("<session_context>\nThis is", Kind::Context),
            ("<state_snapshot>\n<overall_goal>", Kind::CompactionSummary),
            ("/compress now", Kind::Command),
            ("/git:commit", Kind::Command),
            ("/home/x is full", Kind::Prompt),
            ("/", Kind::Prompt),
            ("Please continue.", Kind::Prompt),
            ("System: Please continue.", Kind::Meta),
        ] {
            assert_eq!(kind_of_text(typed), kind, "{typed}");
        }
    }

    #[test]
    fn content_of_any_shape_is_joined() {
        let picture = json!([{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]);
        for (from, typed) in [
            (json!("plain"), "plain"),
            (json!([{"text": "a"}, {"text": "b"}, {"text": "hm", "thought": true}]), "ab"),
            (json!({"text": "one"}), "one"),
            (json!(["x", null, 7, {"text": null}]), "x"),
            (picture, "look\n[image: image/png]"),
            (Value::Null, ""),
        ] {
            assert_eq!(content_text(&from), typed, "{from}");
        }
    }
}
