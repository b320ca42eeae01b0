//! Zed: threads in `threads.db`, each one JSON value, compressed or not, in two generations of the format.
//!
//! Unverified: made from public descriptions. Messages have no times, so they have that of the thread. Does not know
//! external agents that run in Zed: they keep stores of their own.

use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, call_of, display_text, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::Documents;
use transcript::walk::TranscriptList;
use transcript::{Environment, Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable =
    database::SessionTable { name: "threads", id: "id", updated: "updated_at", messages: &[] };

pub const ZED: Documents = Documents {
    store: Store {
        name: "zed",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places: &Environment| {
            let mut roots: Vec<PathBuf> =
                vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("zed/threads")];
            roots.extend(places.below_home("Library/Application Support/Zed/threads"));
            roots.extend(places.below_home("AppData/Local/Zed/threads"));
            roots
        },
        list: list_threads,
    },
    load: load_thread,
};

fn list_threads(root: &Path, found: &mut TranscriptList) {
    let path = root.join("threads.db");
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
}

/// No thread is larger, decompressed.
const MAX_THREAD: usize = 256 << 20;

fn load_thread(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("zed", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    let columns = ["summary", "updated_at", "created_at", "data_type", "parent_id", "folder_paths"];
    let row = snapshot.session_row("threads", "id", id, &columns)?;
    let data = snapshot.blob("threads", "id", id, "data")?;
    let data = if text_field(&row, "data_type") == "zstd" {
        zstd::bulk::decompress(&data, MAX_THREAD).unwrap_or_default()
    } else {
        data
    };
    conversation.coverage.bytes += data.len() as u64;
    let at = as_stamp(&row["created_at"]).or(as_stamp(&row["updated_at"]));
    describe_thread(&row, at, &mut conversation.session);
    match serde_json::from_slice::<Value>(&data) {
        Ok(thread) => parse_thread(&thread, at, &mut conversation),
        Err(error) => conversation.add_problem(record::ProblemKind::BadLine, format!("thread {id}: {error}")),
    }
    Ok(conversation)
}

fn describe_thread(row: &Value, at: Stamp, session: &mut Session) {
    session.started_at = at;
    session.ended_at = as_stamp(&row["updated_at"]);
    let folder = text_field(row, "folder_paths").lines().next().unwrap_or("");
    session.cwd = Arc::from(folder);
    session.project = session.cwd.clone();
    session.title = optional_text(row, "summary").map(|title| (Arc::from(title), TitleOrigin::Agent));
    if let Some(parent) = optional_text(row, "parent_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
}

fn parse_thread(thread: &Value, at: Stamp, conversation: &mut Conversation) {
    conversation.count_understood();
    let model = optional_text(&thread["model"], "model");
    for message in as_items(&thread["messages"]) {
        if message["User"].is_object() {
            conversation.count_understood();
            let text = content_text(&message["User"]["content"]);
            let id = text_field(&message["User"], "id").to_string();
            add_message((Role::User, Kind::Prompt), (id, text), None, (at, 0), Tokens::ZERO, conversation);
        } else if message["Agent"].is_object() {
            add_agent(&message["Agent"], model.as_deref(), at, conversation);
        } else if message["segments"].is_array() {
            add_old_message(message, model.as_deref(), at, conversation);
        } else if message == "Resume" {
            conversation.count_ignored();
        } else {
            let name =
                message.as_object().and_then(|fields| fields.keys().next().cloned()).unwrap_or_default();
            conversation.count_unknown(&format!("message {name}"));
        }
    }
    add_tokens(thread, conversation);
}

fn content_text(content: &Value) -> String {
    let one = |item: &Value| {
        let mention = &item["Mention"];
        optional_text(item, "Text").or_else(|| optional_text(mention, "content"))
    };
    as_items(content).iter().filter_map(one).collect::<Vec<_>>().join("\n")
}

fn add_message(
    author: (Role, Kind),
    (id, text): (String, String),
    model: Option<String>,
    (at, calls): (Stamp, usize),
    tokens: Tokens,
    conversation: &mut Conversation,
) {
    let made =
        Message { id, text, model, at: known_stamp(at), tool_calls: calls as u32, ..Message::default() };
    conversation.add_message(author.0, author.1, made, tokens);
}

fn add_agent(agent: &Value, model: Option<&str>, at: Stamp, conversation: &mut Conversation) {
    conversation.count_understood();
    let calls: Vec<&Value> = as_items(&agent["content"])
        .iter()
        .map(|item| &item["ToolUse"])
        .filter(|call| call.is_object())
        .collect();
    let text = content_text(&agent["content"]);
    let author = (Role::Assistant, Kind::Reply);
    add_message(
        author,
        (String::new(), text),
        model.map(str::to_string),
        (at, calls.len()),
        Tokens::ZERO,
        conversation,
    );
    for call in calls {
        let id = text_field(call, "id");
        conversation.add_call(call_of(id, text_field(call, "name"), &call["input"]), at);
        let result = &agent["tool_results"][id];
        if result.is_object() {
            let output = if result["output"].is_null() { &result["content"] } else { &result["output"] };
            let text = optional_text(&result["content"], "Text").unwrap_or_else(|| display_text(output));
            conversation.add_result(id, at, Outcome::of_flag(result["is_error"] == true, text));
        }
    }
}

/// The first generation: a role, and segments of text.
fn add_old_message(message: &Value, model: Option<&str>, at: Stamp, conversation: &mut Conversation) {
    let texts = as_items(&message["segments"]).iter().filter(|part| text_field(part, "type") == "text");
    let text = texts.map(|part| text_field(part, "text")).collect::<Vec<_>>().join("\n");
    let id = display_text(&message["id"]);
    let (author, model) = match text_field(message, "role") {
        "user" => ((Role::User, Kind::Prompt), None),
        "assistant" => ((Role::Assistant, Kind::Reply), model.map(str::to_string)),
        _ => return conversation.count_ignored(),
    };
    conversation.count_understood();
    let id = if id.is_empty() { id } else { format!("{}/{id}", conversation.session.session_id) };
    add_message(author, (id, text), model, (at, 0), Tokens::ZERO, conversation);
}

/// The tokens of all requests belong to the last reply: requests are listed by prompt, not by reply.
fn add_tokens(thread: &Value, conversation: &mut Conversation) {
    let requests = thread["request_token_usage"].as_object().into_iter().flatten().map(|(_, usage)| usage);
    let mut total = Tokens::ZERO;
    for usage in requests {
        let n = |key: &str| as_token_count(&usage[key]);
        let one = token_counts(
            n("input_tokens"),
            n("output_tokens"),
            n("cache_read_input_tokens"),
            n("cache_creation_input_tokens"),
        );
        total = token_counts(
            total.input.saturating_add(one.input),
            total.output.saturating_add(one.output),
            total.cache_read.saturating_add(one.cache_read),
            total.cache_write.saturating_add(one.cache_write),
        );
    }
    conversation.set_reply_tokens(total);
}
