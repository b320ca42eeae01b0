//! Cline 3: `~/.cline/data/sessions/<id>/<id>.messages.json`, rewritten with every turn, and a manifest beside it. The
//! database of sessions repeats the manifests and is not read.
//!
//! A result has no mark: each command or file in it says whether it succeeded. Does not know tasks of Cline before 3.

use record::{Kind, Message, Role, Session, Status, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, blocks_text, call_of, display_text, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome, exit_code_after};
use transcript::document::{Documents, read_document, read_sidecar};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const CLINE: Documents = Documents {
    store: Store {
        name: "cline",
        variables: &[("CLINE_DATA_DIR", "Cline's data directory [default: ~/.cline/data]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("CLINE_DATA_DIR", ".cline/data"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(id) = name.strip_suffix(".messages.json") {
            found.add_file(path.to_path_buf(), meta, id, root);
        }
    });
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("cline", &transcript.hint));
    let Some(document) = read_document(&transcript.path, &mut conversation)? else { return Ok(conversation) };
    conversation.count_understood();
    let manifest = read_sidecar(&transcript.path.with_file_name(format!("{}.json", transcript.hint)));
    describe_session(&document, &manifest, &mut conversation.session);
    for message in as_items(&document["messages"]) {
        parse_message(message, &mut conversation);
    }
    Ok(conversation)
}

fn describe_session(document: &Value, manifest: &Value, session: &mut Session) {
    let cwd = optional_text(manifest, "cwd").or_else(|| optional_text(manifest, "workspace_root"));
    session.cwd = Arc::from(cwd.unwrap_or_default());
    session.project = session.cwd.clone();
    session.version = Arc::from(text_field(&document["origin"], "version"));
    session.started_at = as_stamp(&manifest["started_at"]);
    session.git_branch = Arc::from(text_field(&manifest["metadata"]["git"], "branch"));
    if let Some(parent) = optional_text(manifest, "parent_session_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
    // Until a model has found a better one, the title is the prompt.
    let title = optional_text(&manifest["metadata"], "title");
    let title = title.filter(|title| Some(title.as_str()) != manifest["prompt"].as_str());
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
}

fn parse_message(message: &Value, conversation: &mut Conversation) {
    let (content, at) = (&message["content"], as_stamp(&message["ts"]));
    match text_field(message, "role") {
        "user" => {
            conversation.count_understood();
            for block in as_items(content).iter().filter(|block| text_field(block, "type") == "tool_result") {
                conversation.add_result(
                    text_field(block, "tool_use_id"),
                    at,
                    parse_result(&block["content"]),
                );
            }
            let text = blocks_text(content);
            if !text.is_empty() {
                add_message(message, (Role::User, Kind::Prompt), unwrap_prompt(&text), conversation);
            }
        }
        "assistant" => {
            conversation.count_understood();
            let failed = text_field(&message["metadata"], "displayRole") == "error";
            let kind = if failed { Kind::ApiError } else { Kind::Reply };
            add_message(message, (Role::Assistant, kind), blocks_text(content), conversation);
            for block in tool_uses(content) {
                let call = call_of(text_field(block, "id"), text_field(block, "name"), &block["input"]);
                conversation.add_call(call, at);
            }
        }
        other => conversation.count_unknown(&format!("message {other}")),
    }
}

fn tool_uses(content: &Value) -> impl Iterator<Item = &Value> {
    as_items(content).iter().filter(|block| text_field(block, "type") == "tool_use")
}

/// The text inside `<user_input mode="act">…</user_input>`.
fn unwrap_prompt(text: &str) -> String {
    let inner =
        text.strip_prefix("<user_input").and_then(|rest| rest.split_once('>')).map(|(_, inner)| inner);
    let inner = inner.and_then(|inner| inner.rsplit_once("</user_input>")).map(|(inner, _)| inner);
    inner.unwrap_or(text).to_string()
}

fn add_message(message: &Value, author: (Role, Kind), text: String, conversation: &mut Conversation) {
    let own = author.0 == Role::Assistant;
    let made = Message {
        id: text_field(message, "id").to_string(),
        text,
        model: optional_text(&message["modelInfo"], "id").filter(|_| own),
        tool_calls: tool_uses(&message["content"]).count() as u32,
        at: known_stamp(as_stamp(&message["ts"])),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, parse_tokens(message));
}

/// Except with Anthropic's API, the input includes what was read from the cache.
fn parse_tokens(message: &Value) -> Tokens {
    let n = |key: &str| as_token_count(&message["metrics"][key]);
    let (cached, written) = (n("cacheReadTokens"), n("cacheWriteTokens"));
    let apart = ["anthropic", "bedrock", "vertex"]
        .iter()
        .any(|provider| text_field(&message["modelInfo"], "provider").starts_with(provider));
    let input = if apart { n("inputTokens") } else { n("inputTokens").saturating_sub(cached) };
    token_counts(input, n("outputTokens"), cached, written)
}

/// A list of results, one per command or file; one of them as JSON in a string; or plain text.
fn parse_result(content: &Value) -> Outcome {
    let unpacked = content.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let results = unpacked.as_ref().unwrap_or(content);
    let items: Vec<&Value> = as_items(results).iter().filter(|item| item.is_object()).collect();
    if items.is_empty() {
        return Outcome::new(Status::Unknown, blocks_text(content));
    }
    let failed = items.iter().any(|item| item["success"] == false || optional_text(item, "error").is_some());
    let errors: Vec<String> = items.iter().filter_map(|item| optional_text(item, "error")).collect();
    let text = |item: &&Value| match optional_text(item, "result") {
        Some(result) => result,
        None => optional_text(item, "error").unwrap_or_else(|| blocks_or_json(item)),
    };
    let text = items.iter().map(text).collect::<Vec<_>>().join("\n");
    let code = errors.iter().find_map(|error| exit_code_after(error, "exited with code "));
    Outcome::of_flag(failed, text).with_exit_code(code).with_error(Some(errors.join("\n")))
}

fn blocks_or_json(item: &Value) -> String {
    let text = blocks_text(item);
    if text.is_empty() { display_text(item) } else { text }
}
