//! Copilot Chat in VS Code: `workspaceStorage/<hash>/chatSessions/<session>.json`, or `.jsonl`, a log of changes to the
//! same document.
//!
//! Unverified: made from public descriptions. Does not know exit codes, nor a tool's output beyond what the chat showed.

use crate::roo::editor_roots;
use record::{Kind, Message, Role, Session, Stamp, Status, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, call_of, display_text, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::document::{Documents, read_document, read_records, read_sidecar};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Environment, Error, Evidence, Store, Transcript};

pub const VSCODE: Documents = Documents {
    store: Store {
        name: "vscode-copilot",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: find_roots,
        list: list_sessions,
    },
    load: load_session,
};

fn find_roots(places: &Environment) -> Vec<PathBuf> {
    let hosts = ["Code", "Code - Insiders", "VSCodium"];
    let below =
        |root: PathBuf| hosts.iter().map(move |host| root.join(host).join("User")).collect::<Vec<_>>();
    let mut roots: Vec<_> = editor_roots(places).into_iter().flat_map(below).collect();
    let first = roots.first().cloned();
    roots.retain(|root| Some(root) == first.as_ref() || root.is_dir());
    roots
}

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    let mut add = |path: &Path, meta: &std::fs::Metadata, found: &mut TranscriptList| {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let chats = folder == "chatSessions" || folder == "emptyWindowChatSessions";
        if chats && path.extension().is_some_and(|e| e == "json" || e == "jsonl") {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    };
    for folder in ["workspaceStorage", "globalStorage/emptyWindowChatSessions"] {
        walk_files(&root.join(folder), found, &mut add);
    }
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("vscode-copilot", &transcript.hint));
    let document = if transcript.path.extension().is_some_and(|e| e == "jsonl") {
        let mut document = Value::Null;
        read_records(&transcript.path, &mut conversation, &mut |change, conversation| {
            apply_change(&change, &mut document, conversation);
        })?;
        document
    } else {
        let document = read_document(&transcript.path, &mut conversation)?.unwrap_or_default();
        if document.is_object() {
            conversation.count_understood();
        }
        document
    };
    describe_session(transcript, &document, &mut conversation.session);
    for request in as_items(&document["requests"]) {
        parse_request(request, &mut conversation);
    }
    Ok(conversation)
}

/// One line of the log: the whole document, a value at a path, items at the end of a list, or a removal.
fn apply_change(change: &Value, document: &mut Value, conversation: &mut Conversation) {
    let path = as_items(&change["k"]);
    match change["kind"].as_u64() {
        Some(0) => *document = change["v"].clone(),
        Some(1) => {
            if let Some(slot) = slot_at(document, path) {
                *slot = change["v"].clone();
            }
        }
        Some(2) => {
            if let Some(Value::Array(list)) = slot_at(document, path) {
                if let Some(from) = change["i"].as_u64() {
                    list.truncate(from as usize);
                }
                list.extend(as_items(&change["v"]).iter().cloned());
            }
        }
        Some(3) => {
            if let Some(slot) = slot_at(document, path) {
                *slot = Value::Null;
            }
        }
        _ => return conversation.count_unknown(&format!("kind {}", change["kind"])),
    }
    conversation.count_understood();
}

/// The value at a path of keys and positions; missing keys are created.
fn slot_at<'d>(document: &'d mut Value, path: &[Value]) -> Option<&'d mut Value> {
    let mut slot = document;
    for step in path {
        slot = match (step, slot) {
            (Value::Number(n), Value::Array(list)) => list.get_mut(n.as_u64()? as usize)?,
            (Value::String(key), Value::Object(fields)) => fields.entry(key.clone()).or_insert(Value::Null),
            _ => return None,
        };
    }
    Some(slot)
}

/// The folder of a window is named by a file two levels above its chats.
fn describe_session(transcript: &Transcript, document: &Value, session: &mut Session) {
    if let Some(id) = optional_text(document, "sessionId") {
        session.session_id = Arc::from(id);
    }
    let workspace =
        transcript.path.ancestors().nth(2).map(|folder| read_sidecar(&folder.join("workspace.json")));
    let folder = workspace
        .and_then(|file| optional_text(&file, "folder").or_else(|| optional_text(&file, "workspace")));
    session.cwd = Arc::from(decode_uri(&folder.unwrap_or_default()));
    session.project = session.cwd.clone();
    session.started_at = as_stamp(&document["creationDate"]);
    session.title =
        optional_text(document, "customTitle").map(|title| (Arc::from(title), TitleOrigin::Agent));
}

/// `file:///a%20b` is `/a b`.
fn decode_uri(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri).as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < path.len() {
        let code = path.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| path[at] == b'%');
        out.push(byte.unwrap_or(path[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn parse_request(request: &Value, conversation: &mut Conversation) {
    conversation.count_understood();
    let at = as_stamp(&request["timestamp"]);
    let id = text_field(request, "requestId");
    let prompt = Message {
        id: id.to_string(),
        text: text_field(&request["message"], "text").to_string(),
        at: known_stamp(at),
        ..Message::default()
    };
    conversation.add_message(Role::User, Kind::Prompt, prompt, Tokens::ZERO);
    let items = as_items(&request["response"]);
    let tools: Vec<&Value> =
        items.iter().filter(|item| text_field(item, "kind") == "toolInvocationSerialized").collect();
    let text: Vec<String> = items.iter().filter(|item| item["kind"].is_null()).map(markdown).collect();
    let metadata = &request["result"]["metadata"];
    let reply = Message {
        id: format!("{id}/reply"),
        text: text.concat(),
        model: optional_text(metadata, "resolvedModel").or_else(|| optional_text(request, "modelId")),
        tool_calls: tools.len() as u32,
        at: known_stamp(at),
        ..Message::default()
    };
    let tokens = token_counts(
        as_token_count(&metadata["promptTokens"]),
        as_token_count(&metadata["outputTokens"]),
        0,
        0,
    );
    conversation.add_message(Role::Assistant, Kind::Reply, reply, tokens);
    for tool in tools {
        add_tool(tool, at, conversation);
    }
    if let Some(error) = optional_text(&request["result"]["errorDetails"], "message") {
        let made = Message { text: error, at: known_stamp(at), ..Message::default() };
        conversation.add_message(Role::Assistant, Kind::ApiError, made, Tokens::ZERO);
    }
}

/// Text is a string, or an object around one.
fn markdown(item: &Value) -> String {
    let value = &item["value"];
    value.as_str().map_or_else(|| text_field(value, "value").to_string(), str::to_string)
}

fn add_tool(tool: &Value, at: Stamp, conversation: &mut Conversation) {
    let id = optional_text(tool, "toolCallId").unwrap_or_else(|| conversation.next_id());
    let data = &tool["toolSpecificData"];
    let command = optional_text(&data["commandLine"], "original");
    let input = match command {
        Some(command) => serde_json::json!({"command": command}),
        None if data["rawInput"].is_null() => {
            serde_json::json!({"message": message_text(&tool["invocationMessage"])})
        }
        None => data["rawInput"].clone(),
    };
    conversation.add_call(call_of(&id, text_field(tool, "toolId"), &input), at);
    if tool["isComplete"] == true || !tool["pastTenseMessage"].is_null() {
        let details = &tool["resultDetails"];
        let failed = details["isError"] == true;
        let text = if details["output"].is_null() {
            message_text(&tool["pastTenseMessage"])
        } else {
            display_text(&details["output"])
        };
        let status = if failed { Status::Error } else { Status::Success };
        conversation.add_result(&id, at, Outcome::new(status, text));
    }
}

fn message_text(message: &Value) -> String {
    message.as_str().map_or_else(|| text_field(message, "value").to_string(), str::to_string)
}
