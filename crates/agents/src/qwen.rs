//! Qwen Code: `~/.qwen/projects/<folder>/chats/<session>.jsonl`, a chain of entries in Gemini's shape.
//!
//! What the client counts for itself repeats calls and tokens and is not read, except a failed request: it is recorded
//! nowhere else. Does not know requests that a prompt made on the side.

use record::{Kind, Message, Role, Session, Stamp, Tokens};
use serde_json::Value;
use std::path::Path;
use transcript::conversation::Outcome;
use transcript::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, attachment_label, call_of, display_text, known_stamp,
    optional_text, text_field, token_counts,
};
use transcript::event_log::{Entry, EventLog};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const QWEN: EventLog = EventLog {
    store: Store {
        name: "qwen",
        variables: &[("QWEN_HOME", "Qwen Code's data directory [default: ~/.qwen]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("QWEN_HOME", ".qwen"),
        list: list_logs,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: None,
    parse: parse_entry,
};

fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("projects"), found, &mut |path, meta, found| {
        let in_chats = path.parent().is_some_and(|folder| folder.ends_with("chats"));
        if in_chats && path.extension().is_some_and(|e| e == "jsonl") {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

fn parse_entry(line: &Value, entry: &mut Entry) {
    entry.session.session_id = optional_text(line, "sessionId");
    entry.session.cwd = optional_text(line, "cwd");
    entry.session.git_branch = optional_text(line, "gitBranch");
    entry.session.version = optional_text(line, "version");
    entry.link = Some((text_field(line, "uuid").to_string(), text_field(line, "parentUuid").to_string()));
    match text_field(line, "type") {
        "user" => {
            let typed = ["", "real_user"].contains(&text_field(line, "provenance"));
            let kind = if typed { Kind::Prompt } else { Kind::Meta };
            add_message(line, (Role::User, kind), parts_text(line), Tokens::ZERO, entry);
        }
        "assistant" => parse_reply(line, entry),
        "tool_result" => parse_result(line, entry),
        "system" => parse_system(line, entry),
        other => entry.unknown(other),
    }
}

fn time_of(line: &Value) -> Stamp {
    as_stamp(&line["timestamp"])
}

/// The text of a message without the agent's thoughts; attachments are named.
fn parts_text(line: &Value) -> String {
    let one = |part: &Value| {
        let file = if part["inlineData"].is_object() { &part["inlineData"] } else { &part["fileData"] };
        match optional_text(part, "text") {
            Some(text) if part["thought"] != true => Some(text),
            _ if file.is_object() => Some(attachment_label(text_field(file, "mimeType"), "")),
            _ => None,
        }
    };
    as_items(&line["message"]["parts"]).iter().filter_map(one).collect::<Vec<_>>().join("\n")
}

fn calls_of(line: &Value) -> impl Iterator<Item = &Value> {
    as_items(&line["message"]["parts"])
        .iter()
        .map(|part| &part["functionCall"])
        .filter(|call| call.is_object())
}

fn add_message(line: &Value, author: (Role, Kind), text: String, tokens: Tokens, entry: &mut Entry) {
    let message = Message {
        id: text_field(line, "uuid").to_string(),
        parent_id: optional_text(line, "parentUuid"),
        text,
        model: optional_text(line, "model"),
        tool_calls: calls_of(line).count() as u32,
        at: known_stamp(time_of(line)),
    };
    entry.add_message(author.0, author.1, message, tokens);
}

fn parse_reply(line: &Value, entry: &mut Entry) {
    let tokens = parse_tokens(&line["usageMetadata"]);
    add_message(line, (Role::Assistant, Kind::Reply), parts_text(line), tokens, entry);
    for call in calls_of(line) {
        entry.add_call(
            call_of(text_field(call, "id"), text_field(call, "name"), &call["args"]),
            time_of(line),
        );
    }
}

/// The prompt includes what was read from the cache; the thoughts are part of the candidates unless the total says
/// otherwise.
fn parse_tokens(from: &Value) -> Tokens {
    let n = |key: &str| as_token_count(&from[key]);
    let (prompt, cached) = (n("promptTokenCount"), n("cachedContentTokenCount"));
    let (output, thoughts) = (n("candidatesTokenCount"), n("thoughtsTokenCount"));
    let apart = n("totalTokenCount") == prompt.saturating_add(output).saturating_add(thoughts);
    let output = if apart { output.saturating_add(thoughts) } else { output };
    token_counts(prompt.saturating_sub(cached), output, cached, 0)
}

fn parse_result(line: &Value, entry: &mut Entry) {
    let result = &line["toolCallResult"];
    for part in as_items(&line["message"]["parts"]).iter().map(|part| &part["functionResponse"]) {
        let response = &part["response"];
        let error = optional_text(response, "error");
        let text = error.clone().unwrap_or_else(|| display_text(&response["output"]));
        let failed = error.is_some() || ["error", "cancelled"].contains(&text_field(result, "status"));
        let code = as_integer(&result["resultDisplay"]["exitCode"]);
        let outcome = Outcome::of_flag(failed, text).with_exit_code(code).with_error(error);
        entry.add_result(text_field(part, "id"), time_of(line), outcome);
    }
}

/// System entries without conversation content.
const IGNORED: [&str; 7] = [
    "attribution_snapshot",
    "ui_telemetry",
    "slash_command",
    "at_command",
    "file_history_snapshot",
    "session_title",
    "notification",
];

fn parse_system(line: &Value, entry: &mut Entry) {
    let (subtype, payload) = (text_field(line, "subtype"), &line["systemPayload"]);
    let event = &payload["uiEvent"];
    match subtype {
        "ui_telemetry" if text_field(event, "event.name") == "qwen-code.api_error" => {
            let text = ["error_message", "error"].iter().find_map(|key| optional_text(event, key));
            let author = (Role::Assistant, Kind::ApiError);
            add_message(line, author, text.unwrap_or_else(|| event.to_string()), Tokens::ZERO, entry);
        }
        "chat_compression" => {
            let text = optional_text(payload, "summary").unwrap_or_else(|| display_text(&payload["info"]));
            add_message(line, (Role::User, Kind::CompactionSummary), text, Tokens::ZERO, entry);
        }
        subtype if IGNORED.contains(&subtype) => entry.ignore(),
        other => entry.unknown(&format!("system/{other}")),
    }
}
