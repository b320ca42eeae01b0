//! Pi: `~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl`, a tree of entries: after a rewind, the next prompt is a
//! sibling of the one it replaces. A fork copies entries with their IDs.
//!
//! Does not know the version of the client or the branch of the repository: neither is recorded.

use record::{Call, Kind, Message, Role, Session, Status};
use serde_json::Value;
use std::path::Path;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, blocks_text, call_of, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Outcome, Part, exit_code_after};
use transcript::event_log::{Entry, EventLog, Item};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const PI: EventLog = EventLog {
    store: Store {
        name: "pi",
        variables: &[("PI_CODING_AGENT_DIR", "Pi's data directory [default: ~/.pi/agent]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("PI_CODING_AGENT_DIR", ".pi/agent"),
        list: list_logs,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: None,
    parse: parse_entry,
};

fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        if path.extension().is_some_and(|e| e == "jsonl") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let id = stem.rsplit('_').next().unwrap_or("");
            found.add_file(path.to_path_buf(), meta, id, root);
        }
    });
}

/// Entries without conversation content.
const IGNORED: [&str; 6] =
    ["model_change", "thinking_level_change", "label", "custom", "session_info", "custom_message"];

fn parse_entry(line: &Value, entry: &mut Entry) {
    let kind = text_field(line, "type");
    if kind == "session" {
        entry.session.session_id = optional_text(line, "id");
        entry.session.cwd = optional_text(line, "cwd");
        entry.session.started_at = as_stamp(&line["timestamp"]);
        return;
    }
    entry.link = Some((text_field(line, "id").to_string(), text_field(line, "parentId").to_string()));
    match kind {
        "message" => parse_message(line, entry),
        "compaction" | "branch_summary" => {
            add_message(
                line,
                Role::User,
                Kind::CompactionSummary,
                text_field(line, "summary").to_string(),
                entry,
            );
        }
        kind if IGNORED.contains(&kind) => entry.ignore(),
        other => entry.unknown(other),
    }
}

fn parse_message(line: &Value, entry: &mut Entry) {
    let message = &line["message"];
    match text_field(message, "role") {
        "user" => add_message(line, Role::User, Kind::Prompt, blocks_text(&message["content"]), entry),
        "assistant" => parse_reply(line, entry),
        "toolResult" => parse_result(line, entry),
        "bashExecution" => parse_shell(line, entry),
        "system" | "custom" => entry.ignore(),
        other => entry.unknown(&format!("message {other}")),
    }
}

/// IDs have eight digits, which is too few for a whole history: the time completes them.
fn stable_id(line: &Value, id: &str) -> String {
    format!("{id}@{}", as_stamp(&line["timestamp"]).0)
}

fn add_message(line: &Value, role: Role, kind: Kind, text: String, entry: &mut Entry) {
    let from = &line["message"];
    let (id, own) = (text_field(line, "id"), role == Role::Assistant);
    let calls =
        as_items(&from["content"]).iter().filter(|block| text_field(block, "type") == "toolCall").count();
    let message = Message {
        id: id.to_string(),
        parent_id: optional_text(line, "parentId"),
        text,
        model: optional_text(from, "model").filter(|_| own),
        tool_calls: calls as u32,
        at: known_stamp(as_stamp(&line["timestamp"])),
    };
    let usage = &from["usage"];
    let tokens = token_counts(
        as_token_count(&usage["input"]),
        as_token_count(&usage["output"]),
        as_token_count(&usage["cacheRead"]),
        as_token_count(&usage["cacheWrite"]),
    );
    let same_as = Some(stable_id(line, id));
    entry.items.push(Item::Part(Part::Message { role, kind, message, tokens, same_as }));
}

/// A failed request is a reply without content and with an error; an aborted one keeps what it had.
fn parse_reply(line: &Value, entry: &mut Entry) {
    let message = &line["message"];
    let text = blocks_text(&message["content"]);
    let error = optional_text(message, "errorMessage");
    match (text_field(message, "stopReason"), error) {
        ("error", error) if text.is_empty() && as_items(&message["content"]).is_empty() => {
            let error = error.unwrap_or_else(|| "error".to_string());
            return add_message(line, Role::Assistant, Kind::ApiError, error, entry);
        }
        ("aborted", _) if text.is_empty() => {
            add_message(line, Role::System, Kind::Interruption, "aborted".to_string(), entry);
        }
        _ => add_message(line, Role::Assistant, Kind::Reply, text, entry),
    }
    for block in as_items(&message["content"]).iter().filter(|block| text_field(block, "type") == "toolCall")
    {
        let call = call_of(text_field(block, "id"), text_field(block, "name"), &block["arguments"]);
        entry.add_call(call, as_stamp(&line["timestamp"]));
    }
}

fn parse_result(line: &Value, entry: &mut Entry) {
    let message = &line["message"];
    let text = blocks_text(&message["content"]);
    let code = Some(text_field(message, "toolName"))
        .filter(|tool| *tool == "bash")
        .and_then(|_| exit_code_after(&text, "Command exited with code "));
    let outcome = Outcome::of_flag(message["isError"] == true, text).with_exit_code(code);
    entry.add_result(text_field(message, "toolCallId"), as_stamp(&line["timestamp"]), outcome);
}

/// A command that the person ran with `!`.
fn parse_shell(line: &Value, entry: &mut Entry) {
    let from = &line["message"];
    let at = as_stamp(&line["timestamp"]);
    let id = stable_id(line, text_field(line, "id"));
    let input = serde_json::json!({"command": from["command"]});
    let call = Call { id: id.clone(), tool: "bash".to_string(), input: input.to_string(), ..Call::default() };
    entry.add_call(call, at);
    let outcome = Outcome::new(Status::Success, text_field(from, "output"))
        .with_exit_code(transcript::conversation::value::as_integer(&from["exitCode"]));
    entry.add_result(&id, at, outcome);
}
