//! Kiro's command line: conversations in `data.sqlite3`, one JSON value each.
//!
//! Unverified: made from public descriptions. Does not know tokens, nor the sessions of the editor.

use record::{Kind, Message, Role, Session, Tokens};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, blocks_text, call_of, display_text, known_stamp, optional_text, text_field,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::Documents;
use transcript::walk::TranscriptList;
use transcript::{Error, Evidence, Store, Transcript};

const SESSIONS: database::SessionTable =
    database::SessionTable { name: TABLE, id: "conversation_id", updated: "updated_at", messages: &[] };

pub const KIRO: Documents = Documents {
    store: Store {
        name: "kiro",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| {
            let mut roots: Vec<PathBuf> =
                vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("kiro-cli")];
            roots.extend(places.below_home("Library/Application Support/kiro-cli"));
            roots
        },
        list: list_conversations,
    },
    load: load_conversation,
};

const TABLE: &str = "conversations_v2";

fn list_conversations(root: &Path, found: &mut TranscriptList) {
    let path = root.join("data.sqlite3");
    if path.is_file() {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
}

fn load_conversation(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("kiro", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    let row = snapshot.session_row(TABLE, "conversation_id", id, &["key", "value", "created_at"])?;
    conversation.coverage.bytes += text_field(&row, "value").len() as u64;
    conversation.session.cwd = Arc::from(text_field(&row, "key"));
    conversation.session.project = conversation.session.cwd.clone();
    conversation.session.started_at = as_stamp(&row["created_at"]);
    match serde_json::from_str::<Value>(text_field(&row, "value")) {
        Ok(value) => {
            conversation.count_understood();
            for (n, exchange) in as_items(&value["history"]).iter().enumerate() {
                parse_exchange(exchange, &format!("{id}/{n}"), &mut conversation);
            }
        }
        Err(error) => {
            conversation.add_problem(record::ProblemKind::BadLine, format!("conversation {id}: {error}"));
        }
    }
    Ok(conversation)
}

/// A prompt or the results of the calls before it, and what the model did next.
fn parse_exchange(exchange: &Value, id: &str, conversation: &mut Conversation) {
    conversation.count_understood();
    let (user, content) = (&exchange["user"], &exchange["user"]["content"]);
    let begun = as_stamp(&user["timestamp"]);
    let ended = as_stamp(&exchange["request_metadata"]["stream_end_timestamp_ms"]).or(begun);
    for result in as_items(&content["ToolUseResults"]["tool_use_results"]) {
        let failed = text_field(result, "status").eq_ignore_ascii_case("error");
        let texts = as_items(&result["content"]).iter().map(|item| {
            optional_text(item, "Text").unwrap_or_else(|| {
                let text = blocks_text(item);
                if text.is_empty() { display_text(&item["Json"]) } else { text }
            })
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        conversation.add_result(text_field(result, "tool_use_id"), begun, Outcome::of_flag(failed, text));
    }
    if let Some(prompt) = optional_text(&content["Prompt"], "prompt") {
        let made =
            Message { id: format!("{id}/user"), text: prompt, at: known_stamp(begun), ..Message::default() };
        conversation.add_message(Role::User, Kind::Prompt, made, Tokens::ZERO);
    }
    let assistant = &exchange["assistant"];
    let reply = if assistant["ToolUse"].is_object() { &assistant["ToolUse"] } else { &assistant["Response"] };
    let calls = as_items(&reply["tool_uses"]);
    if reply.is_object() {
        let made = Message {
            id: id.to_string(),
            text: text_field(reply, "content").to_string(),
            model: optional_text(&exchange["request_metadata"], "model_id"),
            tool_calls: calls.len() as u32,
            at: known_stamp(ended),
            ..Message::default()
        };
        conversation.add_message(Role::Assistant, Kind::Reply, made, Tokens::ZERO);
    }
    for call in calls {
        conversation
            .add_call(call_of(text_field(call, "id"), text_field(call, "name"), &call["args"]), ended);
    }
}
