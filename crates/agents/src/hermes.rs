//! Hermes Agent: sessions in `~/.hermes/state.db`.
//!
//! Tokens are counted per session and belong to its last reply. Results are JSON whose keys depend on the tool. Does not
//! know the questions that Hermes itself asks after an edit: only the answers are stored.

use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, blocks_text, call_of, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::{Documents, list_files, read_sidecar};
use transcript::walk::TranscriptList;
use transcript::{Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable = database::SessionTable {
    name: "sessions",
    id: "id",
    updated: "started_at",
    messages: &[("messages", "session_id")],
};

pub const HERMES: Documents = Documents {
    store: Store {
        name: "hermes",
        variables: &[("HERMES_HOME", "Hermes' data directory [default: ~/.hermes]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("HERMES_HOME", ".hermes"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    let path = root.join("state.db");
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
}

const SESSION_COLUMNS: [&str; 11] = [
    "parent_session_id",
    "model",
    "cwd",
    "git_branch",
    "title",
    "started_at",
    "ended_at",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
];
const MESSAGE_COLUMNS: [&str; 9] = [
    "id",
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "timestamp",
    "finish_reason",
    "active",
    "compacted",
];

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("hermes", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    let row = snapshot.session_row("sessions", "id", id, &SESSION_COLUMNS)?;
    conversation.count_understood();
    describe_session(&row, &mut conversation.session);
    let messages = snapshot.rows("messages", "session_id", id, &MESSAGE_COLUMNS, "id")?;
    let last = messages.iter().rposition(|row| text_field(row, "role") == "assistant");
    for (n, message) in messages.iter().enumerate() {
        let usage = (Some(n) == last).then_some(&row);
        parse_message(message, text_field(&row, "model"), usage, &mut conversation);
    }
    add_failed_requests(transcript, id, &mut conversation);
    Ok(conversation)
}

fn describe_session(row: &Value, session: &mut Session) {
    session.cwd = Arc::from(text_field(row, "cwd"));
    session.project = session.cwd.clone();
    session.git_branch = Arc::from(text_field(row, "git_branch"));
    session.started_at = as_stamp(&row["started_at"]);
    session.ended_at = as_stamp(&row["ended_at"]);
    session.title = optional_text(row, "title").map(|title| (Arc::from(title), TitleOrigin::Agent));
    if let Some(parent) = optional_text(row, "parent_session_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
}

fn parse_message(row: &Value, model: &str, usage: Option<&Value>, conversation: &mut Conversation) {
    conversation.coverage.bytes += text_field(row, "content").len() as u64;
    let at = as_stamp(&row["timestamp"]);
    match text_field(row, "role") {
        "user" => add_message(row, (Role::User, Kind::Prompt), "", Tokens::ZERO, conversation),
        "assistant" => {
            let tokens = usage.map_or(Tokens::ZERO, session_tokens);
            add_message(row, (Role::Assistant, Kind::Reply), model, tokens, conversation);
            for call in as_items(&tool_calls(row)) {
                let id = optional_text(call, "call_id").unwrap_or_else(|| text_field(call, "id").to_string());
                let function = &call["function"];
                conversation.add_call(call_of(&id, text_field(function, "name"), &function["arguments"]), at);
            }
        }
        "tool" => {
            conversation.count_understood();
            let outcome = parse_result(text_field(row, "content"));
            conversation.add_result(text_field(row, "tool_call_id"), at, outcome);
        }
        "system" | "session_meta" => conversation.count_ignored(),
        other => conversation.count_unknown(&format!("message {other}")),
    }
}

fn tool_calls(row: &Value) -> Value {
    serde_json::from_str(text_field(row, "tool_calls")).unwrap_or_default()
}

fn session_tokens(row: &Value) -> Tokens {
    let n = |key: &str| as_token_count(&row[key]);
    token_counts(n("input_tokens"), n("output_tokens"), n("cache_read_tokens"), n("cache_write_tokens"))
}

fn add_message(
    row: &Value,
    author: (Role, Kind),
    model: &str,
    tokens: Tokens,
    conversation: &mut Conversation,
) {
    conversation.count_understood();
    let content = text_field(row, "content");
    // A message with pictures is a list of blocks, as JSON.
    let blocks =
        Some(content).filter(|text| text.starts_with("[{")).and_then(|text| serde_json::from_str(text).ok());
    let made = Message {
        id: format!("{}/{}", conversation.session.session_id, text_field(row, "id")),
        text: blocks.map_or_else(|| content.to_string(), |blocks: Value| blocks_text(&blocks)),
        model: Some(model.to_string()).filter(|model| !model.is_empty()),
        tool_calls: as_items(&tool_calls(row)).len() as u32,
        at: known_stamp(as_stamp(&row["timestamp"])),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, tokens);
}

/// A command has an exit code, other tools an error or a mark.
fn parse_result(content: &str) -> Outcome {
    let result: Value = serde_json::from_str(content).unwrap_or_default();
    let error = optional_text(&result, "error");
    // A tool that does not exist is refused in plain text.
    let refused = content.starts_with("Tool '") && content.contains("' does not exist");
    let failed = refused || error.is_some() || result["success"] == false;
    let text = optional_text(&result, "output").or_else(|| optional_text(&result, "content"));
    let text = text.or_else(|| error.clone()).unwrap_or_else(|| content.to_string());
    Outcome::of_flag(failed, text).with_exit_code(as_integer(&result["exit_code"])).with_error(error)
}

/// A failed request is not in the database: Hermes writes it into a file of its own.
fn add_failed_requests(transcript: &Transcript, id: &str, conversation: &mut Conversation) {
    let name = format!("request_dump_{id}_");
    for path in list_files(&transcript.path.with_file_name("sessions"), "json") {
        if !path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name)) {
            continue;
        }
        let dump = read_sidecar(&path);
        let error = &dump["error"];
        let text = optional_text(error, "message").or_else(|| error.as_str().map(str::to_string));
        let made = Message {
            id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            text: text.unwrap_or_else(|| error.to_string()),
            at: known_stamp(request_time(&dump)),
            ..Message::default()
        };
        conversation.count_understood();
        conversation.add_message(Role::Assistant, Kind::ApiError, made, Tokens::ZERO);
    }
}

fn request_time(dump: &Value) -> Stamp {
    record::parse_local_time(text_field(dump, "timestamp"))
}
