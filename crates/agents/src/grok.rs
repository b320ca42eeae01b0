//! Grok Build: `~/.grok/sessions/<folder>/<session>/updates.jsonl`, a stream of ACP session updates. The chat history
//! beside it has what was sent to the model, without times, and is not read.
//!
//! A fork repeats the updates of its original with their event IDs. Does not know the version of the client.

use crate::acp;
use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_stamp, as_token_count, known_stamp, optional_text, text_field, token_counts,
};
use transcript::document::read_sidecar;
use transcript::event_log::{Entry, EventLog, Item};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const GROK: EventLog = EventLog {
    store: Store {
        name: "grok",
        variables: &[("GROK_HOME", "Grok Build's data directory [default: ~/.grok]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("GROK_HOME", ".grok"),
        list: list_logs,
    },
    describe: describe_session,
    usage: None,
    parse: parse_update,
};

fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "updates.jsonl") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &folder, root);
        }
    });
}

fn describe_session(transcript: &Transcript, session: &mut Session) {
    let summary = read_sidecar(&transcript.path.with_file_name("summary.json"));
    session.cwd = Arc::from(text_field(&summary["info"], "cwd"));
    session.project = session.cwd.clone();
    session.git_branch = Arc::from(text_field(&summary, "head_branch"));
    session.started_at = as_stamp(&summary["created_at"]);
    let title = optional_text(&summary, "session_summary");
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
}

fn parse_update(line: &Value, entry: &mut Entry) {
    let (update, meta) = (&line["params"]["update"], &line["params"]["_meta"]);
    let at = as_stamp(&meta["agentTimestampMs"]).or(as_stamp(&line["timestamp"]));
    let event = text_field(meta, "eventId").to_string();
    match text_field(update, "sessionUpdate") {
        "turn_completed" => parse_turn_end(update, event, at, entry),
        "background_tasks" | "retry_state" => entry.ignore(),
        // The chunks of one reply share the request that streamed them.
        "agent_message_chunk" if meta["streamStartMs"].is_number() => {
            let id = format!("{}/{}", text_field(meta, "promptId"), meta["streamStartMs"]);
            acp::parse_update(update, &id, at, entry);
        }
        _ => acp::parse_update(update, &event, at, entry),
    }
}

/// The tokens of a prompt with all its requests; the input includes what was read from the cache.
fn parse_turn_end(update: &Value, event: String, at: Stamp, entry: &mut Entry) {
    if text_field(update, "stop_reason") == "error" {
        let text = text_field(update, "agent_result").to_string();
        let message = Message { id: event, text, at: known_stamp(at), ..Message::default() };
        return entry.add_message(Role::Assistant, Kind::ApiError, message, Tokens::ZERO);
    }
    let models = update["usage"]["modelUsage"].as_object().into_iter().flatten();
    for (model, usage) in models {
        let n = |key: &str| as_token_count(&usage[key]);
        let (cached, written) = (n("cachedReadTokens"), n("cacheCreationTokens"));
        let input = n("inputTokens").saturating_sub(cached).saturating_sub(written);
        let tokens = token_counts(input, n("outputTokens"), cached, written);
        let (id, model) = (format!("{event}/{model}"), Some(model.clone()));
        entry.items.push(Item::Usage { id, at, model, tokens });
    }
}
