//! Factory Droid: `~/.factory/sessions/<folder>/<session>.jsonl`, messages in Anthropic's blocks. A fork repeats the
//! messages of its original with their IDs.
//!
//! Tokens are recorded per session, in the settings beside the log. Does not know the branch of the repository or the
//! version of the client.

use record::{Kind, Message, Role, Session, Stamp, Tokens};
use serde_json::Value;
use std::path::Path;
use transcript::conversation::Outcome;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, blocks_text, call_of, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::document::read_sidecar;
use transcript::event_log::{Entry, EventLog, Item};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const DROID: EventLog = EventLog {
    store: Store {
        name: "droid",
        variables: &[],
        evidence: Evidence::RealClient,
        roots: |places| places.below_home(".factory"),
        list: list_logs,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: Some(read_usage),
    parse: parse_entry,
};

fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        if path.extension().is_some_and(|e| e == "jsonl") {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

/// The tokens of the whole session; what was read from the cache is not part of the input.
fn read_usage(transcript: &Transcript) -> (Option<String>, Tokens) {
    let settings = read_sidecar(&transcript.path.with_extension("settings.json"));
    let n = |key: &str| as_token_count(&settings["tokenUsage"][key]);
    let tokens =
        token_counts(n("inputTokens"), n("outputTokens"), n("cacheReadTokens"), n("cacheCreationTokens"));
    (optional_text(&settings, "model"), tokens)
}

fn parse_entry(line: &Value, entry: &mut Entry) {
    match text_field(line, "type") {
        "session_start" => describe_session(line, entry),
        "message" => {
            entry.link = Some((text_field(line, "id").to_string(), text_field(line, "parentId").to_string()));
            parse_message(line, entry);
        }
        "compaction_state" => {
            let summary = optional_text(line, "summaryText").unwrap_or_default();
            add_message(line, (Role::User, Kind::CompactionSummary), summary, entry);
        }
        "agent_turn_outcome" | "todo_state" | "session_end" => entry.ignore(),
        other => entry.unknown(other),
    }
}

/// The titles Droid gives a session are its first prompt, so they are left to the survey unless a person chose one.
fn describe_session(line: &Value, entry: &mut Entry) {
    entry.session.session_id = optional_text(line, "id");
    entry.session.cwd = optional_text(line, "cwd");
    if line["isSessionTitleManuallySet"] == true {
        let title = optional_text(line, "title");
        entry.session.title = title.map(|title| (title, record::TitleOrigin::Custom));
    }
    let id = format!("{}/usage", text_field(line, "id"));
    entry.items.push(Item::Usage { id, at: Stamp::NONE, model: None, tokens: Tokens::ZERO });
}

fn parse_message(line: &Value, entry: &mut Entry) {
    let message = &line["message"];
    let content = &message["content"];
    match text_field(message, "role") {
        "user" => {
            add_results(line, entry);
            let text = blocks_text(content);
            if !text.is_empty() {
                add_message(line, (Role::User, user_kind(line, &text)), text, entry);
            }
        }
        "assistant" => {
            add_message(line, (Role::Assistant, Kind::Reply), blocks_text(content), entry);
            for block in tool_uses(content) {
                let call = call_of(text_field(block, "id"), text_field(block, "name"), &block["input"]);
                entry.add_call(call, as_stamp(&line["timestamp"]));
            }
        }
        other => entry.unknown(&format!("message {other}")),
    }
}

/// Who wrote a text in the user's name: the client adds reminders before a prompt and shows errors after it.
fn user_kind(line: &Value, text: &str) -> Kind {
    let hidden = optional_text(line, "visibility").or_else(|| optional_text(&line["message"], "visibility"));
    if text_field(line, "id").starts_with("context-") || text.starts_with("<system-reminder>") {
        Kind::Context
    } else if hidden.as_deref() == Some("user_only") {
        Kind::ApiError
    } else if hidden.is_some() {
        Kind::Meta
    } else {
        Kind::Prompt
    }
}

fn tool_uses(content: &Value) -> impl Iterator<Item = &Value> {
    as_items(content).iter().filter(|block| text_field(block, "type") == "tool_use")
}

fn add_message(line: &Value, author: (Role, Kind), text: String, entry: &mut Entry) {
    let message = Message {
        id: text_field(line, "id").to_string(),
        parent_id: optional_text(line, "parentId"),
        text,
        model: optional_text(&line["message"], "modelId"),
        tool_calls: tool_uses(&line["message"]["content"]).count() as u32,
        at: known_stamp(as_stamp(&line["timestamp"])),
    };
    entry.add_message(author.0, author.1, message, Tokens::ZERO);
}

fn add_results(line: &Value, entry: &mut Entry) {
    let content = &line["message"]["content"];
    for block in as_items(content).iter().filter(|block| text_field(block, "type") == "tool_result") {
        let text = blocks_text(&block["content"]);
        let code = exit_code(&text);
        let outcome = Outcome::of_flag(block["is_error"] == true, text).with_exit_code(code);
        entry.add_result(text_field(block, "tool_use_id"), as_stamp(&line["timestamp"]), outcome);
    }
}

/// The line that the client puts behind the output of a command.
fn exit_code(text: &str) -> Option<i64> {
    text.lines().next_back()?.strip_prefix("[Process exited with code ")?.strip_suffix(']')?.parse().ok()
}
