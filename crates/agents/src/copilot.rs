//! Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`. The database beside it repeats prompts and replies
//! and lacks some sessions; it is not read.
//!
//! Tokens come before the message they belong to and share its request, so both are one reply. Does not know the
//! premium requests or credits that a session cost.

use record::{Kind, Message, Role, Session, Tokens};
use serde_json::Value;
use std::path::Path;
use transcript::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, call_of, display_text, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::conversation::{Outcome, Part};
use transcript::event_log::{Entry, EventLog, Item};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const COPILOT: EventLog = EventLog {
    store: Store {
        name: "copilot",
        variables: &[("COPILOT_HOME", "Copilot CLI's data directory [default: ~/.copilot]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("COPILOT_HOME", ".copilot"),
        list: list_logs,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: None,
    parse: parse_event,
};

fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("session-state"), found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "events.jsonl") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &folder, root);
        }
    });
}

/// Events without conversation content.
const IGNORED: [&str; 13] = [
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.intent",
    "assistant.reasoning",
    "system.message",
    "session.resume",
    "session.shutdown",
    "session.info",
    "session.model_change",
    "session.truncation",
    "session.compaction_start",
    "hook.start",
    "hook.end",
];

fn parse_event(line: &Value, entry: &mut Entry) {
    let data = &line["data"];
    entry.link = Some((text_field(line, "id").to_string(), text_field(line, "parentId").to_string()));
    match text_field(line, "type") {
        "session.start" => describe_session(line, entry),
        "user.message" => add_message(line, (Role::User, Kind::Prompt), text_field(data, "content"), entry),
        "assistant.message" => parse_reply(line, entry),
        "session.usage_record" => parse_usage(line, entry),
        "tool.execution_start" => {
            let id = text_field(data, "toolCallId");
            let call = call_of(id, text_field(data, "toolName"), &data["arguments"]);
            entry.add_call(call, as_stamp(&line["timestamp"]));
        }
        "tool.execution_complete" => parse_result(line, entry),
        "session.error" => {
            add_message(line, (Role::Assistant, Kind::ApiError), text_field(data, "message"), entry);
        }
        "abort" => add_message(line, (Role::System, Kind::Interruption), text_field(data, "reason"), entry),
        "session.compaction_complete" => {
            let summary = text_field(data, "summaryContent");
            add_message(line, (Role::User, Kind::CompactionSummary), summary, entry);
        }
        kind if IGNORED.contains(&kind) => entry.ignore(),
        other => entry.unknown(other),
    }
}

fn describe_session(line: &Value, entry: &mut Entry) {
    let (data, context) = (&line["data"], &line["data"]["context"]);
    entry.session.session_id = optional_text(data, "sessionId");
    entry.session.version = optional_text(data, "copilotVersion");
    entry.session.started_at = as_stamp(&data["startTime"]);
    entry.session.cwd = optional_text(context, "cwd");
    entry.session.git_branch = optional_text(context, "branch");
}

fn add_message(line: &Value, author: (Role, Kind), text: &str, entry: &mut Entry) {
    let message = Message {
        id: text_field(line, "id").to_string(),
        parent_id: optional_text(line, "parentId"),
        text: text.to_string(),
        at: known_stamp(as_stamp(&line["timestamp"])),
        ..Message::default()
    };
    entry.add_message(author.0, author.1, message, Tokens::ZERO);
}

/// One reply is identified by its request to the model.
fn add_reply(line: &Value, request: Option<String>, reply: Message, tokens: Tokens, entry: &mut Entry) {
    let id = request.unwrap_or_else(|| text_field(line, "id").to_string());
    let at = known_stamp(as_stamp(&line["timestamp"]));
    let message = Message { id, at, ..reply };
    entry.items.push(Item::Part(Part::message(Role::Assistant, Kind::Reply, message, tokens)));
}

fn parse_reply(line: &Value, entry: &mut Entry) {
    let data = &line["data"];
    let requests = as_items(&data["toolRequests"]);
    let reply = Message {
        text: text_field(data, "content").to_string(),
        model: optional_text(data, "model"),
        tool_calls: requests.len() as u32,
        ..Message::default()
    };
    add_reply(line, optional_text(data, "apiCallId"), reply, Tokens::ZERO, entry);
    for request in requests {
        let id = text_field(request, "toolCallId");
        let call = call_of(id, text_field(request, "name"), &request["arguments"]);
        entry.add_call(call, as_stamp(&line["timestamp"]));
    }
}

/// The input includes what was read from the cache.
fn parse_usage(line: &Value, entry: &mut Entry) {
    let usage = &line["data"]["usage"];
    let n = |key: &str| as_token_count(&usage[key]);
    let cached = n("cacheReadTokens");
    let input = n("inputTokens").saturating_sub(cached).saturating_sub(n("cacheWriteTokens"));
    let tokens = token_counts(input, n("outputTokens"), cached, n("cacheWriteTokens"));
    let reply = Message { model: optional_text(usage, "model"), ..Message::default() };
    add_reply(line, optional_text(usage, "apiCallId"), reply, tokens, entry);
}

fn parse_result(line: &Value, entry: &mut Entry) {
    let data = &line["data"];
    let error = optional_text(&data["error"], "message");
    let text = error.clone().unwrap_or_else(|| display_text(&data["result"]["content"]));
    let outcome = Outcome::of_flag(data["success"] == false || error.is_some(), text)
        .with_exit_code(as_integer(&data["shellExecution"]["exitCode"]))
        .with_error(error);
    entry.add_result(text_field(data, "toolCallId"), as_stamp(&line["timestamp"]), outcome);
}
