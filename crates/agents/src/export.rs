//! Conversations as claude.ai and `ChatGPT` export them, turned into the records of [`crate::import`].
//!
//! Does not know the file around a conversation. Of a `ChatGPT` conversation with several branches it reads the one that
//! was shown last.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use transcript::conversation::value::{as_items, attachment_label, blocks_text, optional_text, text_field};

/// One conversation as records, the first of which describes the session.
pub struct Exported {
    /// Who exported it.
    pub origin: &'static str,
    pub session_id: String,
    pub records: Vec<Value>,
}

/// None if the value is not a conversation of either.
pub fn read_conversation(conversation: &Value) -> Option<Exported> {
    if conversation["chat_messages"].is_array() {
        return Some(read_claude(conversation));
    }
    conversation["mapping"].is_object().then(|| read_chatgpt(conversation))
}

/// A record without the keys that have no value.
fn record(fields: Value) -> Value {
    let Value::Object(fields) = fields else { return fields };
    let known = fields.into_iter().filter(|(_, value)| !value.is_null() && value != "");
    Value::Object(known.collect::<Map<_, _>>())
}

// ---- claude.ai

fn read_claude(conversation: &Value) -> Exported {
    let session_id = text_field(conversation, "uuid").to_string();
    let mut records = vec![record(json!({
        "type": "session", "id": session_id, "title": conversation["name"], "version": "claude.ai",
        "at": conversation["created_at"],
    }))];
    for message in as_items(&conversation["chat_messages"]) {
        read_claude_message(message, &mut records);
    }
    Exported { origin: "claude.ai", session_id, records }
}

fn read_claude_message(message: &Value, records: &mut Vec<Value>) {
    let role = if text_field(message, "sender") == "human" { "user" } else { "assistant" };
    let mut text = blocks_text(&message["content"]);
    if text.is_empty() {
        text = text_field(message, "text").to_string();
    }
    let files = as_items(&message["attachments"]).iter().chain(as_items(&message["files"]));
    for file in files {
        let label = attachment_label(text_field(file, "file_type"), text_field(file, "file_name"));
        text = if text.is_empty() { label } else { format!("{text}\n{label}") };
    }
    let at = &message["created_at"];
    if !text.is_empty() {
        records.push(record(
            json!({"type": "message", "id": message["uuid"], "role": role, "text": text, "at": at}),
        ));
    }
    let mut calls = 0;
    for block in as_items(&message["content"]) {
        // Exports of some versions have no IDs of calls: then calls and results alternate.
        let own = |key: &str, n: usize| {
            optional_text(block, key).unwrap_or_else(|| format!("{}-{n}", text_field(message, "uuid")))
        };
        match text_field(block, "type") {
            "tool_use" => {
                calls += 1;
                let at = if block["start_timestamp"].is_null() { at } else { &block["start_timestamp"] };
                records.push(record(json!({
                    "type": "call", "id": own("id", calls), "tool": block["name"], "input": block["input"], "at": at,
                })));
            }
            "tool_result" => {
                let failed = block["is_error"].as_bool().unwrap_or(false);
                let at = if block["stop_timestamp"].is_null() { at } else { &block["stop_timestamp"] };
                records.push(record(json!({
                    "type": "result", "call": own("tool_use_id", calls), "output": blocks_text(&block["content"]),
                    "status": if failed { "error" } else { "success" }, "at": at,
                })));
            }
            _ => {}
        }
    }
}

// ---- ChatGPT

fn read_chatgpt(conversation: &Value) -> Exported {
    let session_id =
        optional_text(conversation, "conversation_id").or_else(|| optional_text(conversation, "id"));
    let session_id = session_id.unwrap_or_default();
    let mut records = vec![record(json!({
        "type": "session", "id": session_id, "title": conversation["title"], "version": "ChatGPT",
        "at": conversation["create_time"],
    }))];
    let mut open_call: Option<String> = None;
    for message in current_branch(conversation) {
        read_chatgpt_message(message, &mut open_call, &mut records);
    }
    Exported { origin: "ChatGPT", session_id, records }
}

/// The messages from the first to the one that was shown last.
fn current_branch(conversation: &Value) -> Vec<&Value> {
    let mapping = &conversation["mapping"];
    let (mut branch, mut seen) = (Vec::new(), BTreeSet::new());
    let mut at = conversation["current_node"].as_str().or_else(|| last_leaf(mapping));
    while let Some(id) = at.filter(|id| seen.insert(*id)) {
        branch.push(&mapping[id]["message"]);
        at = mapping[id]["parent"].as_str();
    }
    branch.reverse();
    branch.retain(|message| message.is_object());
    branch
}

/// The newest message without an answer.
fn last_leaf(mapping: &Value) -> Option<&str> {
    let nodes = mapping.as_object()?.iter();
    let leaves = nodes.filter(|(_, node)| as_items(&node["children"]).is_empty());
    let time = |node: &Value| node["message"]["create_time"].as_f64().unwrap_or(0.0);
    leaves.max_by(|a, b| time(a.1).total_cmp(&time(b.1))).map(|(id, _)| id.as_str())
}

fn read_chatgpt_message(message: &Value, open_call: &mut Option<String>, records: &mut Vec<Value>) {
    let (id, at, content) = (&message["id"], &message["create_time"], &message["content"]);
    let hidden = message["metadata"]["is_visually_hidden_from_conversation"].as_bool().unwrap_or(false);
    let text = content_text(content);
    let recipient = optional_text(message, "recipient").filter(|to| to != "all");
    match (text_field(&message["author"], "role"), recipient) {
        ("assistant", Some(tool)) => {
            *open_call = id.as_str().map(str::to_string);
            records.push(record(
                json!({"type": "call", "id": id, "tool": tool, "input": {"text": text}, "at": at}),
            ));
        }
        ("tool", _) => {
            let Some(call) = open_call.take() else { return };
            let status = message["metadata"]["aggregate_result"]["status"].as_str().unwrap_or_default();
            let failed = status.contains("error") || status.contains("fail");
            let status = if failed { "error" } else { "success" };
            records.push(record(
                json!({"type": "result", "call": call, "output": text, "status": status, "at": at}),
            ));
        }
        (role @ ("user" | "assistant"), _) if !hidden && !text.is_empty() && !is_thought(content) => {
            let model = if role == "assistant" { &message["metadata"]["model_slug"] } else { &Value::Null };
            records.push(record(json!({
                "type": "message", "id": id, "role": role, "text": text, "model": model, "at": at,
            })));
        }
        _ => {}
    }
}

fn is_thought(content: &Value) -> bool {
    ["thoughts", "reasoning_recap"].contains(&text_field(content, "content_type"))
}

fn content_text(content: &Value) -> String {
    let part = |part: &Value| match part.as_str() {
        Some(text) => text.to_string(),
        None if part["asset_pointer"].is_string() => attachment_label("image/*", ""),
        None => text_field(part, "text").to_string(),
    };
    let parts: Vec<String> =
        as_items(&content["parts"]).iter().map(part).filter(|text| !text.is_empty()).collect();
    if parts.is_empty() { text_field(content, "text").to_string() } else { parts.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::inspect_record;
    use transcript::event_log::Class;

    /// `type role-or-tool text-or-input` of each record behind the first, all of which must be understood.
    fn lines(conversation: &Value) -> Vec<String> {
        let exported = read_conversation(conversation).unwrap();
        assert!(exported.records.iter().all(|one| inspect_record(one).class == Class::Understood));
        let one = |record: &Value| {
            let keys = ["type", "role", "tool", "call", "text", "input", "output", "status", "model"];
            let texts = keys.iter().filter(|key| !record[**key].is_null());
            texts
                .map(|key| record[*key].as_str().map_or_else(|| record[*key].to_string(), str::to_string))
                .collect::<Vec<_>>()
        };
        exported.records[1..].iter().map(|record| one(record).join(" ")).collect()
    }

    #[test]
    fn a_conversation_of_claude_ai_has_messages_files_calls_and_results() {
        let conversation = json!({"uuid": "u1", "name": "Colours", "created_at": "2026-11-16T01:00:00Z", "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "Which?", "content": [{"type": "text", "text": "Which?"}],
             "attachments": [{"file_name": "a.txt", "file_type": "txt"}], "files": [], "created_at": "2026-11-16T01:00:01Z"},
            {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2026-11-16T01:00:02Z", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "web_search", "input": {"query": "x"}},
                {"type": "tool_result", "content": [{"type": "text", "text": "gone"}], "is_error": true}]},
            {"uuid": "m3", "sender": "assistant", "text": "Blue.", "created_at": "2026-11-16T01:00:03Z"}]});
        assert_eq!(
            lines(&conversation),
            [
                "message user Which?\n[file: a.txt]",
                "message assistant I look.",
                "call web_search {\"query\":\"x\"}",
                "result m2-1 gone error",
                "message assistant Blue.",
            ]
        );
    }

    #[test]
    fn a_conversation_of_chatgpt_is_the_branch_that_was_shown_last() {
        let node = |id: &str, parent: &str, role: &str, to: &str, content: Value| {
            json!({"id": id, "parent": parent, "children": [], "message": {"id": id, "author": {"role": role},
                "create_time": 1_794_790_800.5, "content": content, "recipient": to, "metadata": {"model_slug": "gpt-x"}}})
        };
        let text = |text: &str| json!({"content_type": "text", "parts": [text]});
        let conversation = json!({"conversation_id": "c1", "title": "Sum", "create_time": 1_794_790_800.0, "current_node": "e",
        "mapping": {
            "root": {"id": "root", "message": null, "parent": null, "children": ["a"]},
            "a": node("a", "root", "user", "all", text("Add them.")),
            "x": node("x", "a", "assistant", "all", text("An answer that was replaced.")),
            "b": node("b", "a", "assistant", "python", json!({"content_type": "code", "text": "1+1"})),
            "c": node("c", "b", "tool", "all", json!({"content_type": "execution_output", "text": "2"})),
            "d": node("d", "c", "assistant", "all", json!({"content_type": "thoughts", "parts": ["hm"]})),
            "e": node("e", "d", "assistant", "all", json!({"content_type": "multimodal_text",
                "parts": ["Two.", {"asset_pointer": "file-service://x"}]})),
        }});
        assert_eq!(
            lines(&conversation),
            [
                "message user Add them.",
                "call python {\"text\":\"1+1\"}",
                "result b 2 success",
                "message assistant Two.\n[image: image/*] gpt-x",
            ]
        );
    }

    #[test]
    fn a_circle_of_parents_ends_and_other_values_are_no_conversation() {
        let circle =
            json!({"id": "c", "current_node": "a", "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}});
        assert_eq!(lines(&circle), [""; 0]);
        assert!(read_conversation(&json!({"messages": []})).is_none());
    }
}
