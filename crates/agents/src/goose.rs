//! Goose: sessions in `sessions.db` (from 1.10), and the JSON lines that preceded it. The old files stay after the
//! migration: those whose session is in the database are skipped.
//!
//! Unverified: made from public descriptions. Tokens are sums per session and belong to its last reply.

use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, blocks_text, call_of, display_text, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::{Documents, list_files, read_records};
use transcript::walk::TranscriptList;
use transcript::{Environment, Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable = database::SessionTable {
    name: "sessions",
    id: "id",
    updated: "updated_at",
    messages: &[("messages", "session_id")],
};

pub const GOOSE: Documents = Documents {
    store: Store {
        name: "goose",
        variables: &[("GOOSE_PATH_ROOT", "Goose's root directory; its sessions are in data/sessions")],
        evidence: Evidence::PublicSchema,
        roots: find_roots,
        list: list_sessions,
    },
    load: load_session,
};

fn find_roots(places: &Environment) -> Vec<PathBuf> {
    if places.vars.get("GOOSE_PATH_ROOT").is_some_and(|value| !value.is_empty()) {
        let roots = places.roots_from_var("GOOSE_PATH_ROOT", "");
        return roots.into_iter().map(|root| root.join("data/sessions")).collect();
    }
    vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("goose/sessions")]
}

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    let path = root.join("sessions.db");
    let first = found.transcripts.len();
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
    let migrated: Vec<Arc<str>> = found.transcripts[first..].iter().map(|one| one.hint.clone()).collect();
    for path in list_files(root, "jsonl") {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(meta) = path.metadata()
            && !migrated.iter().any(|known| **known == *id)
        {
            found.add_file(path, &meta, &id, root);
        }
    }
}

const SESSION_COLUMNS: [&str; 9] = [
    "name",
    "description",
    "working_dir",
    "created_at",
    "updated_at",
    "parent_session_id",
    "model_config_json",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
];

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("goose", &transcript.hint));
    let Some(id) = &transcript.part else { return load_log(transcript, conversation) };
    let snapshot = Snapshot::open(&transcript.path)?;
    let row = snapshot.session_row("sessions", "id", id, &SESSION_COLUMNS)?;
    conversation.count_understood();
    describe_session(&row, &mut conversation.session);
    let config: Value = serde_json::from_str(text_field(&row, "model_config_json")).unwrap_or_default();
    let model = optional_text(&config, "model_name");
    let columns = ["id", "message_id", "role", "content_json", "created_timestamp"];
    for message in snapshot.rows("messages", "session_id", id, &columns, "id")? {
        let content = text_field(&message, "content_json");
        conversation.coverage.bytes += content.len() as u64;
        let content: Value = serde_json::from_str(content).unwrap_or_default();
        let own = optional_text(&message, "message_id");
        let id = own.unwrap_or_else(|| format!("{id}/{}", text_field(&message, "id")));
        let at = as_stamp(&message["created_timestamp"]);
        add_message(text_field(&message, "role"), &content, id, at, model.clone(), &mut conversation);
    }
    add_tokens(&row, &mut conversation);
    Ok(conversation)
}

fn describe_session(row: &Value, session: &mut Session) {
    session.cwd = Arc::from(text_field(row, "working_dir"));
    session.project = session.cwd.clone();
    session.started_at = database::sql_time(text_field(row, "created_at"));
    let title = optional_text(row, "name").or_else(|| optional_text(row, "description"));
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
    if let Some(parent) = optional_text(row, "parent_session_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
}

/// The older form: a line about the session, then one per message.
fn load_log(transcript: &Transcript, mut conversation: Conversation) -> Result<Conversation, Error> {
    read_records(&transcript.path, &mut conversation, &mut |line, conversation| {
        if line["role"].is_string() {
            let (id, at) = (conversation.next_id(), as_stamp(&line["created"]));
            add_message(text_field(&line, "role"), &line["content"], id, at, None, conversation);
        } else if line["working_dir"].is_string() || line["description"].is_string() {
            conversation.count_understood();
            describe_session(&line, &mut conversation.session);
        } else {
            conversation.count_unknown("line");
        }
    })?;
    Ok(conversation)
}

fn add_message(
    role: &str,
    content: &Value,
    id: String,
    at: Stamp,
    model: Option<String>,
    conversation: &mut Conversation,
) {
    let of = |kinds: &'static [&'static str]| {
        as_items(content).iter().filter(move |item| kinds.contains(&text_field(item, "type")))
    };
    let author = match role {
        "user" => (Role::User, Kind::Prompt),
        "assistant" => (Role::Assistant, Kind::Reply),
        other => return conversation.count_unknown(&format!("message {other}")),
    };
    conversation.count_understood();
    for item in of(&["toolResponse"]) {
        conversation.add_result(text_field(item, "id"), at, parse_result(&item["toolResult"]));
    }
    let text = blocks_text(content);
    let requests: Vec<&Value> = of(&["toolRequest", "frontendToolRequest"]).collect();
    if author.0 == Role::Assistant || !text.is_empty() {
        let model = model.filter(|_| author.0 == Role::Assistant);
        let tool_calls = requests.len() as u32;
        let made = Message { id, text, model, tool_calls, at: known_stamp(at), ..Message::default() };
        conversation.add_message(author.0, author.1, made, Tokens::ZERO);
    }
    for request in requests {
        let call = &request["toolCall"]["value"];
        conversation
            .add_call(call_of(text_field(request, "id"), text_field(call, "name"), &call["arguments"]), at);
    }
}

/// Any status but `success` is a failure; a list of contents is what the tool said.
fn parse_result(result: &Value) -> Outcome {
    let value = &result["value"];
    let content = if value["content"].is_array() { &value["content"] } else { value };
    let failed = text_field(result, "status") != "success" || value["isError"] == true;
    let text = blocks_text(content);
    let text =
        if text.is_empty() { display_text(if failed { &result["error"] } else { value }) } else { text };
    Outcome::of_flag(failed, text)
}

fn add_tokens(row: &Value, conversation: &mut Conversation) {
    let n = |key: &str| as_token_count(&row[key]);
    let total = token_counts(n("accumulated_input_tokens"), n("accumulated_output_tokens"), 0, 0);
    conversation.set_reply_tokens(total);
}
