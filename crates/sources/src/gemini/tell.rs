//! What Gemini's messages mean: who said them, to whom, and which of those in the user's name a person typed.
//!
//! What the agent thought is left out: it is not part of what was said.

use super::call::{self, Answers};
use super::log::{Entry, Log};
use crate::conversation::value::{attachment, count, items, some_stamp, some_text, stamp, text, tokens};
use crate::conversation::{Conversation, Part};
use record::{Kind, Message, Role, Stamp, Tokens};
use serde_json::Value;

pub(super) fn tell(log: &Log, conversation: &mut Conversation) {
    let answers = call::answers(log);
    for at in 0..log.entries.len() {
        let entry = &log.entries[at];
        match text(&entry.message, "type") {
            "user" => user(log, at, conversation),
            "gemini" => reply(entry, at, &answers, conversation),
            "error" => note(entry, at, Kind::ApiError, conversation),
            "info" | "warning" => note(entry, at, Kind::Meta, conversation),
            _ => {}
        }
    }
}

fn user(log: &Log, at: usize, conversation: &mut Conversation) {
    let entry = &log.entries[at];
    let content = &entry.message["content"];
    let said = said_by_user(&entry.message);
    let only_results = items(content).iter().any(|part| part.get("functionResponse").is_some());
    if said.is_empty() && only_results {
        return; // what the tools answered stands with their calls
    }
    let subagent = conversation.session.parent_session_id.is_some();
    let kind = match kind_of(&said) {
        Kind::Prompt if subagent => kind_in_subagent(conversation),
        Kind::Prompt if is_task(log, at, &said) => Kind::Task,
        kind => kind,
    };
    say(entry, at, (Role::User, kind), said, conversation);
}

/// A subagent is told its task once; what comes in the user's name later is the client urging it on.
fn kind_in_subagent(conversation: &Conversation) -> Kind {
    let told = conversation.parts.iter().any(|part| matches!(part, Part::Said { kind: Kind::Task, .. }));
    if told { Kind::Meta } else { Kind::Task }
}

fn kind_of(said: &str) -> Kind {
    let said = said.trim_start();
    let context = ["<session_context>", "This is the Gemini CLI. We are setting up the context"];
    if context.iter().any(|head| said.starts_with(head)) {
        Kind::Context
    } else if said.starts_with("<state_snapshot>") {
        Kind::CompactionSummary
    } else if said.starts_with("System: Please continue") {
        Kind::Meta
    } else if is_command(said) {
        Kind::Command
    } else {
        Kind::Prompt
    }
}

/// `/compress` is a command, `/home/x is full` is not.
fn is_command(said: &str) -> bool {
    let word = said.split_whitespace().next().unwrap_or("");
    let name = word.strip_prefix('/').unwrap_or("");
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b))
}

/// 0.30 writes a subagent's task into the main session as if the person had said it: between a prompt and the
/// reply that holds the call, whose argument is inside it.
fn is_task(log: &Log, at: usize, said: &str) -> bool {
    let kind = |entry: Option<&Entry>| entry.map_or("", |e| text(&e.message, "type")) == "user";
    let before = at.checked_sub(1).and_then(|before| log.entries.get(before));
    let reply = log.entries.get(at + 1).map_or(&Value::Null, |next| &next.message);
    kind(before)
        && items(&reply["toolCalls"]).iter().any(|call| {
            ["objective", "prompt", "request", "query", "task"]
                .iter()
                .any(|key| some_text(&call["args"], key).is_some_and(|asked| said.contains(&asked)))
        })
}

fn reply(entry: &Entry, at: usize, answers: &Answers<'_>, conversation: &mut Conversation) {
    let message = &entry.message;
    say(entry, at, (Role::Assistant, Kind::Reply), content(&message["content"]), conversation);
    let session = conversation.session.session_id.clone();
    for (n, made) in items(&message["toolCalls"]).iter().enumerate() {
        let fallback = format!("{session}#{at}.{n}");
        conversation.parts.push(call::called(made, &fallback, stamp(&message["timestamp"]), answers));
    }
}

fn note(entry: &Entry, at: usize, kind: Kind, conversation: &mut Conversation) {
    say(entry, at, (Role::System, kind), content(&entry.message["content"]), conversation);
}

fn say(entry: &Entry, at: usize, who: (Role, Kind), said: String, conversation: &mut Conversation) {
    let from = &entry.message;
    let fallback = || format!("{}#{at}", conversation.session.session_id);
    let at: Stamp = stamp(&from["timestamp"]);
    let message = Message {
        id: some_text(from, "id").unwrap_or_else(fallback),
        parent_id: entry.parent.clone(),
        text: said,
        model: some_text(from, "model"),
        tool_calls: items(&from["toolCalls"]).len() as u32,
        at: some_stamp(at),
    };
    let tokens = counted(&from["tokens"]);
    conversation.parts.push(Part::Said { role: who.0, kind: who.1, message, tokens, same_as: None });
}

/// Gemini counts what came from the cache as part of the input, and thoughts apart from the output.
fn counted(from: &Value) -> Tokens {
    let cached = count(&from["cached"]);
    let output = count(&from["output"]).saturating_add(count(&from["thoughts"]));
    tokens(count(&from["input"]).saturating_sub(cached), output, cached, 0)
}

/// What the person typed, where the client keeps it apart from the files it pasted in; and the pictures.
fn said_by_user(message: &Value) -> String {
    let mut said = content(&message["displayContent"]);
    if said.is_empty() {
        return content(&message["content"]);
    }
    for part in items(&message["content"]) {
        if let Some(named) = named(part) {
            push_named(&named, &mut said);
        }
    }
    said
}

/// The text of a message: a string, or parts of which some are text and some are pictures.
fn content(content: &Value) -> String {
    let mut said = String::new();
    for part in items(content) {
        if let Some(plain) = part.as_str() {
            said.push_str(plain);
        } else if part["thought"] != true {
            said.push_str(text(part, "text"));
        }
        if let Some(named) = named(part) {
            push_named(&named, &mut said);
        }
    }
    said
}

fn push_named(named: &str, said: &mut String) {
    if !said.is_empty() && !said.ends_with('\n') {
        said.push('\n');
    }
    said.push_str(named);
}

pub(super) fn named(part: &Value) -> Option<String> {
    let data = part.get("inlineData").or_else(|| part.get("fileData"))?;
    Some(attachment(text(data, "mimeType"), text(data, "fileUri")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_stands_in_the_users_name() {
        for (said, kind) in [
            ("<session_context>\nThis is", Kind::Context),
            ("<state_snapshot>\n<overall_goal>", Kind::CompactionSummary),
            ("/compress now", Kind::Command),
            ("/git:commit", Kind::Command),
            ("/home/x is full", Kind::Prompt),
            ("/", Kind::Prompt),
            ("Please continue.", Kind::Prompt),
            ("System: Please continue.", Kind::Meta),
        ] {
            assert_eq!(kind_of(said), kind, "{said}");
        }
    }

    #[test]
    fn content_in_any_shape() {
        let picture = json!([{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]);
        for (from, said) in [
            (json!("plain"), "plain"),
            (json!([{"text": "a"}, {"text": "b"}, {"text": "hm", "thought": true}]), "ab"),
            (json!({"text": "one"}), "one"),
            (json!(["x", null, 7, {"text": null}]), "x"),
            (picture, "look\n[image: image/png]"),
            (Value::Null, ""),
        ] {
            assert_eq!(content(&from), said, "{from}");
        }
    }
}
