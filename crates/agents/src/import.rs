//! Histories of agents that Loci does not know, in a form that anybody can write: JSON lines in
//! `~/.local/share/loci/imports`, one record per message and call, or a recorded stream of ACP messages.
//! [docs/concepts/import.md](../../../docs/concepts/import.md) describes both.
//!
//! Does not know which agent wrote them, and never writes to the folder.

use crate::acp;
use record::{Kind, Message, Role, Session, Stamp, Status, TitleOrigin, Tokens, event_key};
use serde_json::Value;
use std::path::Path;
use transcript::conversation::Outcome;
use transcript::conversation::value::{
    as_integer, as_stamp, as_token_count, blocks_text, call_of, display_text, known_stamp, optional_text,
    text_field, token_counts,
};
use transcript::event_log::{Entry, EventLog};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const IMPORT: EventLog = EventLog {
    store: Store {
        name: "import",
        variables: &[],
        evidence: Evidence::OwnFormat,
        roots: |places| vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("loci/imports")],
        list: list_files,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: None,
    parse: parse_record,
};

fn list_files(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        if path.extension().is_some_and(|e| e == "jsonl") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &name, root);
        }
    });
}

/// What one line contains.
pub fn inspect_record(line: &Value) -> Entry {
    let mut entry = Entry::default();
    parse_record(line, &mut entry);
    entry
}

/// Whether the line is a message of the Agent Client Protocol: whole, or only the parameters of an update.
pub fn is_acp(line: &Value) -> bool {
    line["jsonrpc"].is_string() || line["method"].is_string() || line["update"]["sessionUpdate"].is_string()
}

/// The ID of the session that a message of the Agent Client Protocol belongs to. The request for a new session has none;
/// its response does.
pub fn acp_session(line: &Value) -> Option<String> {
    let named = [&line["params"], &line["result"], line];
    named.into_iter().find_map(|of| optional_text(of, "sessionId"))
}

fn parse_record(line: &Value, entry: &mut Entry) {
    if is_acp(line) {
        return parse_acp(line, entry);
    }
    let at = as_stamp(&line["at"]);
    match text_field(line, "type") {
        "session" => describe_session(line, entry),
        "message" => parse_message(line, at, entry),
        "call" => {
            entry.add_call(call_of(text_field(line, "id"), text_field(line, "tool"), &line["input"]), at);
        }
        "result" => parse_result(line, at, entry),
        other => entry.unknown(other),
    }
}

fn describe_session(line: &Value, entry: &mut Entry) {
    entry.session.session_id = optional_text(line, "id");
    entry.session.parent_session_id = optional_text(line, "parent");
    entry.session.cwd = optional_text(line, "cwd");
    entry.session.git_branch = optional_text(line, "branch");
    entry.session.version = optional_text(line, "version");
    entry.session.title = optional_text(line, "title").map(|title| (title, TitleOrigin::Agent));
    entry.session.started_at = as_stamp(&line["at"]);
}

/// A message without an ID gets one from its content, so that it is the same when the file is read again.
fn derived_id(line: &Value) -> String {
    format!("{:016x}", event_key(b'i', &[line.to_string().as_bytes()]))
}

fn parse_message(line: &Value, at: Stamp, entry: &mut Entry) {
    let author = match (text_field(line, "role"), text_field(line, "kind")) {
        ("user", "") => (Role::User, Kind::Prompt),
        ("assistant", "") => (Role::Assistant, Kind::Reply),
        ("system", "") => (Role::System, Kind::Meta),
        (role @ ("user" | "assistant" | "system"), kind) => {
            let Some(kind) = Kind::ALL.iter().find(|known| known.as_str() == kind) else {
                return entry.unknown(&format!("kind {kind}"));
            };
            let role =
                [Role::User, Role::Assistant, Role::System].into_iter().find(|known| known.as_str() == role);
            (role.unwrap_or(Role::System), *kind)
        }
        (role, _) => return entry.unknown(&format!("role {role}")),
    };
    let n = |key: &str| as_token_count(&line["tokens"][key]);
    let tokens = token_counts(n("input"), n("output"), n("cache_read"), n("cache_write"));
    let message = Message {
        id: optional_text(line, "id").unwrap_or_else(|| derived_id(line)),
        text: text_field(line, "text").to_string(),
        model: optional_text(line, "model"),
        at: known_stamp(at),
        ..Message::default()
    };
    entry.add_message(author.0, author.1, message, tokens);
}

fn parse_result(line: &Value, at: Stamp, entry: &mut Entry) {
    let error = optional_text(line, "error");
    let status = match Status::from_name(text_field(line, "status")) {
        Some(status) => status,
        None if error.is_some() => Status::Error,
        None => Status::Success,
    };
    let text = if line["output"].is_null() {
        error.clone().unwrap_or_default()
    } else {
        display_text(&line["output"])
    };
    let outcome = Outcome::new(status, text).with_exit_code(as_integer(&line["exit_code"])).with_error(error);
    entry.add_result(text_field(line, "call"), at, outcome);
}

/// Requests and notifications of the Agent Client Protocol, as a client or proxy records them.
fn parse_acp(line: &Value, entry: &mut Entry) {
    let params = if line["update"].is_object() { line } else { &line["params"] };
    let at = as_stamp(&line["timestamp"]).or(as_stamp(&line["at"]));
    let id = optional_text(&params["update"], "messageId").unwrap_or_else(|| derived_id(line));
    entry.session.session_id = acp_session(line);
    let method = if line["update"].is_object() { "session/update" } else { text_field(line, "method") };
    match method {
        "session/update" => acp::parse_update(&params["update"], &id, at, entry),
        "session/new" | "session/load" => entry.session.cwd = optional_text(params, "cwd"),
        "session/prompt" => {
            let text = blocks_text(&params["prompt"]);
            let message = Message { id, text, at: known_stamp(at), ..Message::default() };
            entry.add_message(Role::User, Kind::Prompt, message, Tokens::ZERO);
        }
        "session/cancel" => {
            let message =
                Message { id, text: "cancelled".to_string(), at: known_stamp(at), ..Message::default() };
            entry.add_message(Role::System, Kind::Interruption, message, Tokens::ZERO);
        }
        _ => entry.ignore(),
    }
}
