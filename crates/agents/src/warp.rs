//! Warp's agent: the prompts in `warp.sqlite`. Its answers and single calls are in a form that no public description
//! covers; only their prompts, folders and models are read.
//!
//! Unverified: made from public descriptions.

use record::{Kind, Message, Role, Session, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::Conversation;
use transcript::conversation::value::{as_items, known_stamp, optional_text, text_field};
use transcript::database::{self, Snapshot, sql_time};
use transcript::document::Documents;
use transcript::walk::TranscriptList;
use transcript::{Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable = database::SessionTable {
    name: "agent_conversations",
    id: "conversation_id",
    updated: "last_modified_at",
    messages: &[("ai_queries", "conversation_id")],
};

pub const WARP: Documents = Documents {
    store: Store {
        name: "warp",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| {
            let mac = "Library/Group Containers/2BBY89MBSN.dev.warp/Library/Application Support/dev.warp.Warp-Stable";
            let mut roots: Vec<PathBuf> =
                vec![places.xdg_dir("XDG_STATE_HOME", ".local/state").join("warp-terminal")];
            roots.extend(places.below_home(mac));
            roots
        },
        list: list_conversations,
    },
    load: load_conversation,
};

fn list_conversations(root: &Path, found: &mut TranscriptList) {
    let path = root.join("warp.sqlite");
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
}

fn load_conversation(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("warp", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    snapshot.session_row("agent_conversations", "conversation_id", id, &["conversation_id"])?;
    conversation.count_understood();
    let columns = ["exchange_id", "start_ts", "input", "working_directory", "model_id"];
    for row in snapshot.rows("ai_queries", "conversation_id", id, &columns, "start_ts")? {
        add_query(&row, &mut conversation);
    }
    Ok(conversation)
}

fn add_query(row: &Value, conversation: &mut Conversation) {
    conversation.coverage.bytes += text_field(row, "input").len() as u64;
    let input: Value = serde_json::from_str(text_field(row, "input")).unwrap_or_default();
    let session = &mut conversation.session;
    if let Some(folder) = optional_text(row, "working_directory").filter(|_| session.cwd.is_empty()) {
        session.cwd = Arc::from(folder);
        session.project = session.cwd.clone();
    }
    let texts = as_items(&input).iter().filter_map(|item| {
        let query = if item["Query"].is_null() { &item["query"] } else { &item["Query"] };
        optional_text(query, "text").or_else(|| query.as_str().map(str::to_string))
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        return conversation.count_ignored(); // a call's result, or something the terminal said
    }
    conversation.count_understood();
    let made = Message {
        id: text_field(row, "exchange_id").to_string(),
        text,
        at: known_stamp(sql_time(text_field(row, "start_ts"))),
        ..Message::default()
    };
    conversation.add_message(Role::User, Kind::Prompt, made, Tokens::ZERO);
}
