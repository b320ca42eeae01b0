//! Mistral Vibe 3: `~/.vibe/logs/session/unified/<session>/`: chunks with the model's history, chunks with what the
//! screen showed, and a journal of what came after both.
//!
//! The model's history has the calls and results, without times; the screen's has the times, under other names. A run
//! that was killed is only in the journal. Does not know the sessions of Vibe 1 and 2.

use record::{Kind, Message, Role, Session, Stamp, Status, TitleOrigin, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, blocks_text, call_of, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome, Part};
use transcript::document::{Documents, read_document, read_records, read_sidecar};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const VIBE: Documents = Documents {
    store: Store {
        name: "vibe",
        variables: &[("VIBE_HOME", "Mistral Vibe's data directory [default: ~/.vibe]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("VIBE_HOME", ".vibe"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("logs/session/unified"), found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "CURRENT") {
            let folder = path.parent().unwrap_or(root);
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
            found.add_change(&folder.join("journal"));
        }
    });
}

/// What the store has of one session.
#[derive(Default)]
struct Stored {
    /// `{message, …}` as sent to the model.
    history: Vec<Value>,
    /// What the screen showed, in order; the last version of each entry.
    shown: Vec<Value>,
    /// How many of those the history covers.
    settled: usize,
    /// The state around the entries: the latest turn and the tokens.
    state: Value,
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("vibe", &transcript.hint));
    let folder = transcript.path.parent().unwrap_or(Path::new(""));
    let current = read_document(&transcript.path, &mut conversation)?.unwrap_or_default();
    if current.is_object() {
        conversation.count_understood();
    }
    let model = describe_session(folder, &mut conversation.session);
    let stored = read_stored(folder, &current, &mut conversation)?;
    let mut times = Times { shown: &stored.shown, next: 0 };
    for entry in &stored.history {
        parse_history(&entry["message"], model.as_deref(), &mut times, &mut conversation);
    }
    for entry in &stored.shown[stored.settled..] {
        parse_shown(entry, model.as_deref(), &mut conversation);
    }
    add_turn_error(&stored.state, &mut conversation);
    add_tokens(&stored.state, &mut conversation);
    Ok(conversation)
}

fn describe_session(folder: &Path, session: &mut Session) -> Option<String> {
    let meta = read_sidecar(&folder.join("meta.json"));
    session.cwd = Arc::from(text_field(&meta["environment"], "working_directory"));
    session.project = session.cwd.clone();
    session.git_branch = Arc::from(text_field(&meta, "git_branch"));
    session.started_at = as_stamp(&meta["start_time"]);
    session.title = optional_text(&meta, "title").map(|title| (Arc::from(title), TitleOrigin::Agent));
    if let Some(parent) = optional_text(&meta, "parent_session_id") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
    optional_text(&meta["config"], "model_name")
}

fn read_stored(folder: &Path, current: &Value, conversation: &mut Conversation) -> Result<Stored, Error> {
    let generation = folder.join("generations").join(text_field(current, "generation"));
    let manifest = read_sidecar(&generation.join("manifest.json"));
    let mut stored = Stored {
        history: read_chunks(folder, &manifest["checkpoint"]["chunks"], conversation)?,
        shown: read_chunks(folder, &manifest["projection_state"]["chunks"], conversation)?,
        state: read_sidecar(&generation.join("projection-state.json"))["snapshot"].take(),
        ..Stored::default()
    };
    stored.shown.extend(as_items(&stored.state["history"]["entries"]).iter().cloned());
    stored.settled = stored.shown.len();
    let journal = folder.join(text_field(&manifest["recovery_journal_segment"], "path"));
    if journal.is_file() {
        read_records(&journal, conversation, &mut |record, conversation| {
            replay(&record, &mut stored, conversation);
        })?;
    }
    Ok(stored)
}

/// Chunks are lists; each item is one entry.
fn read_chunks(folder: &Path, names: &Value, conversation: &mut Conversation) -> Result<Vec<Value>, Error> {
    let mut entries = Vec::new();
    for name in as_items(names).iter().filter_map(Value::as_str) {
        let path = folder.join("chunks").join(format!("{name}.json"));
        if let Some(Value::Array(items)) = read_document(&path, conversation)? {
            for _ in &items {
                conversation.count_understood();
            }
            entries.extend(items);
        }
    }
    Ok(entries)
}

/// Applies one line of the journal.
fn replay(record: &Value, stored: &mut Stored, conversation: &mut Conversation) {
    match text_field(record, "type") {
        "projection_delta" => conversation.count_understood(),
        "command_reserved" | "core_input" | "action_intent" | "action_result" | "receipt_succeeded"
        | "receipt_failed" => return conversation.count_ignored(),
        other => return conversation.count_unknown(other),
    }
    for delta in as_items(&record["payload"]["delta"]) {
        let entry = &delta["entry"];
        match text_field(delta, "op") {
            "set_envelope" => stored.state = delta["state"].clone(),
            "append_entry" | "replace_entry" => {
                let known = stored.shown.iter_mut().find(|known| known["id"] == entry["id"]);
                match known {
                    Some(known) => *known = entry.clone(),
                    None => stored.shown.push(entry.clone()),
                }
            }
            _ => {}
        }
    }
}

/// Finds the times of the history's messages and calls among what was shown, which is in the same order.
struct Times<'s> {
    shown: &'s [Value],
    next: usize,
}

impl Times<'_> {
    fn find(&mut self, is_same: impl Fn(&Value) -> bool) -> Option<&Value> {
        let found = self.next + self.shown[self.next..].iter().position(is_same)?;
        self.next = found + 1;
        Some(&self.shown[found])
    }

    fn of_message(&mut self, text: &str) -> Stamp {
        let found = self
            .find(|entry| text_field(entry, "type") == "message" && blocks_text(&entry["content"]) == text);
        found.map_or(Stamp::NONE, |entry| as_stamp(&entry["createdAt"]))
    }

    /// Begin and end of the next call that was shown. Calls are not told apart by ID: the store has none in common.
    fn of_call(&mut self) -> (Stamp, Stamp) {
        let found = self.find(|entry| entry["detail"].is_object());
        found.map_or((Stamp::NONE, Stamp::NONE), |entry| {
            (as_stamp(&entry["createdAt"]), as_stamp(&entry["updatedAt"]))
        })
    }
}

/// The time of the latest part, for what was not shown.
fn latest(conversation: &Conversation) -> Stamp {
    let last = conversation.parts.iter().rev().find_map(|part| match part {
        Part::Message { message, .. } => message.at,
        Part::Call { at, until, .. } => known_stamp(until.or(*at)),
    });
    last.unwrap_or(conversation.session.started_at)
}

fn parse_history(
    message: &Value,
    model: Option<&str>,
    times: &mut Times<'_>,
    conversation: &mut Conversation,
) {
    let text = blocks_text(&message["content"]);
    match text_field(message, "role") {
        "user" => {
            let at = times.of_message(&text);
            add_message((Role::User, Kind::Prompt), text, None, at, 0, conversation);
        }
        "assistant" => {
            let calls: Vec<&Value> = as_items(&message["content"])
                .iter()
                .filter(|part| text_field(part, "type") == "tool_call")
                .collect();
            let at = if text.is_empty() { Stamp::NONE } else { times.of_message(&text) };
            add_message(
                (Role::Assistant, Kind::Reply),
                text,
                model.map(str::to_string),
                at,
                calls.len(),
                conversation,
            );
            for call in calls {
                let arguments = &call["arguments"];
                let input =
                    if arguments["value"].is_null() { &arguments["raw"] } else { &arguments["value"] };
                let at = latest(conversation);
                conversation.add_call(call_of(text_field(call, "id"), text_field(call, "name"), input), at);
            }
        }
        "tool" => add_result(message, &text, times, conversation),
        _ => {}
    }
}

fn add_message(
    author: (Role, Kind),
    text: String,
    model: Option<String>,
    at: Stamp,
    calls: usize,
    conversation: &mut Conversation,
) {
    let at = known_stamp(at.or(latest(conversation)));
    let made = Message { text, model, at, tool_calls: calls as u32, ..Message::default() };
    conversation.add_message(author.0, author.1, made, Tokens::ZERO);
}

fn add_result(message: &Value, text: &str, times: &mut Times<'_>, conversation: &mut Conversation) {
    let result: Value = serde_json::from_str(text).unwrap_or_default();
    let error = optional_text(&result["result"]["error"], "message");
    let shown = text_field(&result["result"]["error"], "name") != "InvalidToolCall";
    let (begun, until) = if shown { times.of_call() } else { (Stamp::NONE, Stamp::NONE) };
    let id = text_field(message, "tool_call_id");
    if let Some(Part::Call { at, .. }) =
        conversation.parts.iter_mut().rev().find(|part| part.stable_id() == id.as_bytes())
    {
        *at = begun.or(*at);
    }
    let until = until.or(latest(conversation));
    conversation.add_result(id, until, parse_result(&result, text, message, error));
}

/// A command has its streams and a code, whatever the outcome says; other tools have a content or an error.
fn parse_result(result: &Value, text: &str, message: &Value, error: Option<String>) -> Outcome {
    let streams = [text_field(result, "stdout"), text_field(result, "stderr")];
    let output = match &error {
        Some(error) => error.clone(),
        None if result["returncode"].is_number() => streams.concat(),
        None => optional_text(result, "content").unwrap_or_else(|| text.to_string()),
    };
    let failed = text_field(message, "outcome") == "failure" || error.is_some();
    Outcome::of_flag(failed, output).with_exit_code(as_integer(&result["returncode"])).with_error(error)
}

/// An entry of the journal that the history does not have yet: the client was killed.
fn parse_shown(entry: &Value, model: Option<&str>, conversation: &mut Conversation) {
    let at = as_stamp(&entry["createdAt"]);
    let detail = &entry["detail"];
    if detail.is_object() {
        let tool = text_field(detail, "toolName");
        let tool = tool.rsplit_once('.').map_or(tool, |(_, name)| name);
        conversation.add_call(call_of(text_field(entry, "id"), tool, &detail["input"]), at);
        let output = &entry["state"]["output"];
        if output.is_object() {
            let text = blocks_text(&output["content"]);
            conversation.add_result(
                text_field(entry, "id"),
                as_stamp(&entry["updatedAt"]),
                Outcome::new(Status::Unknown, text),
            );
        }
        return;
    }
    let text = blocks_text(&entry["content"]);
    match text_field(entry, "role") {
        "user" => add_message((Role::User, Kind::Prompt), text, None, at, 0, conversation),
        "assistant" => {
            add_message((Role::Assistant, Kind::Reply), text, model.map(str::to_string), at, 0, conversation);
        }
        _ => {}
    }
}

/// Only the latest turn's failure is stored.
fn add_turn_error(state: &Value, conversation: &mut Conversation) {
    let turn = &state["latestTurn"];
    if let Some(text) = optional_text(&turn["error"], "message") {
        let at = as_stamp(&turn["completedAt"]);
        add_message((Role::Assistant, Kind::ApiError), text, None, at, 0, conversation);
    }
}

/// The tokens of the whole session belong to its last reply. The input includes what was read from the cache.
fn add_tokens(state: &Value, conversation: &mut Conversation) {
    let usage = &state["session"]["tokenUsage"];
    let n = |key: &str| as_token_count(&usage[key]);
    let cached = n("cachedInputTokens");
    let total = token_counts(n("inputTokens").saturating_sub(cached), n("outputTokens"), cached, 0);
    conversation.set_reply_tokens(total);
}
