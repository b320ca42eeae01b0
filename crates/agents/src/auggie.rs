//! Auggie: `~/.augment/sessions/<session>.json`, one exchange per request, its parts as plain fields or as nodes.
//!
//! Unverified: made from public descriptions. An exchange has one time. Does not know tokens.

use record::{Kind, Message, Role, Session, Stamp, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{as_items, as_stamp, call_of, known_stamp, optional_text, text_field};
use transcript::conversation::{Conversation, Outcome};
use transcript::document::{Documents, read_document};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const AUGGIE: Documents = Documents {
    store: Store {
        name: "auggie",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| places.below_home(".augment/sessions"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        if path.extension().is_some_and(|e| e == "json") {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

/// A value under its name in either spelling.
fn either<'v>(value: &'v Value, snake: &str, camel: &str) -> &'v Value {
    if value[snake].is_null() { &value[camel] } else { &value[snake] }
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("auggie", &transcript.hint));
    let Some(document) = read_document(&transcript.path, &mut conversation)? else { return Ok(conversation) };
    conversation.count_understood();
    let session = &mut conversation.session;
    session.cwd = Arc::from(text_field(&document, "workspaceRoot"));
    session.project = session.cwd.clone();
    session.started_at = as_stamp(&document["created"]);
    let begun = session.started_at;
    for entry in as_items(&document["chatHistory"]) {
        let at = as_stamp(&entry["finishedAt"]).or(begun);
        parse_exchange(entry, at, &mut conversation);
    }
    Ok(conversation)
}

fn parse_exchange(entry: &Value, at: Stamp, conversation: &mut Conversation) {
    conversation.count_understood();
    let exchange = &entry["exchange"];
    let request = as_items(either(exchange, "request_nodes", "requestNodes"));
    let response = as_items(either(exchange, "response_nodes", "responseNodes"));
    for node in request {
        let result = either(node, "tool_result_node", "toolResultNode");
        if result.is_object() {
            let failed = *either(result, "is_error", "isError") == true;
            let id = either(result, "tool_use_id", "toolUseId").as_str().unwrap_or("");
            conversation.add_result(id, at, Outcome::of_flag(failed, text_field(result, "content")));
        }
    }
    let id = either(exchange, "request_id", "requestId").as_str().unwrap_or("");
    let prompt = either(exchange, "request_message", "requestMessage");
    let prompt = join_text(prompt, request);
    if !prompt.is_empty() {
        let kind = if entry["isHistorySummary"] == true { Kind::CompactionSummary } else { Kind::Prompt };
        add_message((Role::User, kind), format!("{id}/user"), prompt, at, 0, conversation);
    }
    let calls: Vec<&Value> = response
        .iter()
        .map(|node| either(node, "tool_use", "toolUse"))
        .filter(|call| call.is_object())
        .collect();
    let reply = join_text(either(exchange, "response_text", "responseText"), response);
    add_message((Role::Assistant, Kind::Reply), id.to_string(), reply, at, calls.len(), conversation);
    for call in calls {
        let id = either(call, "tool_use_id", "toolUseId").as_str().unwrap_or("");
        let tool = either(call, "tool_name", "toolName").as_str().unwrap_or("");
        conversation.add_call(call_of(id, tool, either(call, "input_json", "inputJson")), at);
    }
}

/// The plain field, or the text nodes if it is empty.
fn join_text(plain: &Value, nodes: &[Value]) -> String {
    if let Some(text) = plain.as_str().filter(|text| !text.is_empty()) {
        return text.to_string();
    }
    let texts = nodes.iter().filter_map(|node| {
        optional_text(either(node, "text_node", "textNode"), "content")
            .or_else(|| optional_text(node, "content"))
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn add_message(
    author: (Role, Kind),
    id: String,
    text: String,
    at: Stamp,
    calls: usize,
    conversation: &mut Conversation,
) {
    let made = Message { id, text, at: known_stamp(at), tool_calls: calls as u32, ..Message::default() };
    conversation.add_message(author.0, author.1, made, Tokens::ZERO);
}
