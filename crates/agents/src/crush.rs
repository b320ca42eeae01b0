//! Crush: one database per project, `<project>/.crush/crush.db`; the projects are listed in
//! `~/.local/share/crush/projects.json`.
//!
//! Unverified: made from public descriptions. Tokens are sums per session and belong to its last reply. Does not know
//! the contents of edited files, which Crush keeps in full.

use record::{Kind, Message, Role, Session, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, call_of, known_stamp, optional_text, text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::{Documents, read_sidecar};
use transcript::walk::TranscriptList;
use transcript::{Environment, Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable = database::SessionTable {
    name: "sessions",
    id: "id",
    updated: "updated_at",
    messages: &[("messages", "session_id")],
};

pub const CRUSH: Documents = Documents {
    store: Store {
        name: "crush",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: find_roots,
        list: list_sessions,
    },
    load: load_session,
};

/// The data folders of all known projects, and the folder with the list of them.
fn find_roots(places: &Environment) -> Vec<PathBuf> {
    let own = places.xdg_dir("XDG_DATA_HOME", ".local/share").join("crush");
    let list = read_sidecar(&own.join("projects.json"));
    let projects = if list["projects"].is_null() { &list } else { &list["projects"] };
    let folder = |project: &Value| {
        let data = optional_text(project, "data_dir").map(PathBuf::from);
        data.or_else(|| Some(PathBuf::from(optional_text(project, "path")?).join(".crush")))
    };
    let mut roots = vec![own];
    roots.extend(as_items(projects).iter().filter_map(folder).filter(|root| root.is_absolute()));
    roots
}

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    let path = root.join("crush.db");
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
}

const SESSION_COLUMNS: [&str; 6] =
    ["parent_session_id", "title", "created_at", "prompt_tokens", "completion_tokens", "cost"];
const MESSAGE_COLUMNS: [&str; 6] = ["id", "role", "parts", "model", "created_at", "is_summary_message"];

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("crush", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    let row = snapshot.session_row("sessions", "id", id, &SESSION_COLUMNS)?;
    conversation.count_understood();
    describe_session(&transcript.group, &row, &mut conversation.session);
    let messages = snapshot.rows("messages", "session_id", id, &MESSAGE_COLUMNS, "created_at, rowid")?;
    let last = messages.iter().rposition(|message| text_field(message, "role") == "assistant");
    for (n, message) in messages.iter().enumerate() {
        let tokens = if Some(n) == last { session_tokens(&row) } else { Tokens::ZERO };
        add_message(message, tokens, &mut conversation);
    }
    Ok(conversation)
}

fn describe_session(data: &Path, row: &Value, session: &mut Session) {
    let project = data.parent().unwrap_or(data);
    session.cwd = Arc::from(project.to_string_lossy().as_ref());
    session.project = session.cwd.clone();
    session.started_at = as_stamp(&row["created_at"]);
    session.title = optional_text(row, "title").map(|title| (Arc::from(title), TitleOrigin::Agent));
    if let Some(parent) = optional_text(row, "parent_session_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
}

fn session_tokens(row: &Value) -> Tokens {
    token_counts(as_token_count(&row["prompt_tokens"]), as_token_count(&row["completion_tokens"]), 0, 0)
}

fn add_message(row: &Value, tokens: Tokens, conversation: &mut Conversation) {
    let parts: Value = serde_json::from_str(text_field(row, "parts")).unwrap_or_default();
    conversation.coverage.bytes += text_field(row, "parts").len() as u64;
    let at = as_stamp(&row["created_at"]);
    let summary = row["is_summary_message"] == "1";
    let author = match text_field(row, "role") {
        "user" if summary => (Role::User, Kind::CompactionSummary),
        "user" if conversation.session.parent_session_id.is_some() => (Role::User, Kind::Task),
        "user" => (Role::User, Kind::Prompt),
        "assistant" if summary => (Role::Assistant, Kind::CompactionSummary),
        "assistant" => (Role::Assistant, Kind::Reply),
        "tool" => (Role::System, Kind::Meta),
        other => return conversation.count_unknown(&format!("message {other}")),
    };
    conversation.count_understood();
    let of = |kind: &'static str| {
        as_items(&parts).iter().filter(move |part| text_field(part, "type") == kind).map(|part| &part["data"])
    };
    let text = of("text").map(|data| text_field(data, "text")).collect::<Vec<_>>().join("\n");
    if !text.is_empty() || author.0 == Role::Assistant {
        let made = Message {
            id: text_field(row, "id").to_string(),
            text,
            model: optional_text(row, "model").filter(|_| author.0 == Role::Assistant),
            tool_calls: of("tool_call").count() as u32,
            at: known_stamp(at),
            ..Message::default()
        };
        conversation.add_message(author.0, author.1, made, tokens);
    }
    for call in of("tool_call") {
        conversation.add_call(call_of(text_field(call, "id"), text_field(call, "name"), &call["input"]), at);
    }
    for result in of("tool_result") {
        let outcome = Outcome::of_flag(result["is_error"] == true, text_field(result, "content"));
        conversation.add_result(text_field(result, "tool_call_id"), at, outcome);
    }
}
