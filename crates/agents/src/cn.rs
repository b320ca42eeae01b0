//! Continue: `~/.continue/sessions/<session>.json`, one store for its command line (`cn`) and its editor extensions.
//!
//! A fork copies the history without naming its original: a message is recognised by everything before it. Does not know
//! the time of a message, only that of the session; nothing is written for a run that does not end well.

use record::{Kind, Message, Role, Session, Stamp, Status, TitleOrigin, Tokens, event_key};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, blocks_text, call_of, display_text, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Conversation, Outcome, Part, exit_code_after};
use transcript::document::{Documents, read_document, read_sidecar};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const CN: Documents = Documents {
    store: Store {
        name: "cn",
        variables: &[("CONTINUE_GLOBAL_DIR", "Continue's data directory [default: ~/.continue]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("CONTINUE_GLOBAL_DIR", ".continue"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(id) = name.strip_suffix(".json").filter(|id| *id != "sessions") {
            found.add_file(path.to_path_buf(), meta, id, root);
        }
    });
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("cn", &transcript.hint));
    let Some(document) = read_document(&transcript.path, &mut conversation)? else { return Ok(conversation) };
    conversation.count_understood();
    describe_session(transcript, &document, &mut conversation.session);
    let mut before: u64 = 0;
    for item in as_items(&document["history"]) {
        before = event_key(b'h', &[&before.to_le_bytes(), item["message"].to_string().as_bytes()]);
        parse_item(item, before, &mut conversation);
    }
    Ok(conversation)
}

fn describe_session(transcript: &Transcript, document: &Value, session: &mut Session) {
    let index = read_sidecar(&transcript.path.with_file_name("sessions.json"));
    let listed = as_items(&index).iter().find(|one| text_field(one, "sessionId") == &*transcript.hint);
    session.started_at = listed.map_or(Stamp::NONE, |one| as_stamp(&one["dateCreated"]));
    session.ended_at = session.started_at;
    session.cwd = Arc::from(text_field(document, "workspaceDirectory").trim_start_matches("file://"));
    session.project = session.cwd.clone();
    let title = optional_text(document, "title").filter(|title| title != "Untitled Session");
    session.title = title.map(|title| (Arc::from(title), TitleOrigin::Agent));
}

fn parse_item(item: &Value, before: u64, conversation: &mut Conversation) {
    let message = &item["message"];
    let text = blocks_text(&message["content"]);
    match text_field(message, "role") {
        "user" => {
            conversation.count_understood();
            add_message(message, (Role::User, Kind::Prompt), text, before, conversation);
        }
        "assistant" => {
            conversation.count_understood();
            add_message(message, (Role::Assistant, Kind::Reply), text, before, conversation);
            add_calls(item, conversation);
        }
        "system" | "tool" | "thinking" => conversation.count_ignored(),
        other => conversation.count_unknown(&format!("message {other}")),
    }
}

fn add_message(
    message: &Value,
    author: (Role, Kind),
    text: String,
    before: u64,
    conversation: &mut Conversation,
) {
    let usage = &message["usage"];
    let made = Message {
        id: conversation.next_id(),
        text,
        model: optional_text(usage, "model"),
        tool_calls: as_items(&message["toolCalls"]).len() as u32,
        ..Message::default()
    };
    let same_as = Some(format!("{before:016x}"));
    let tokens = parse_tokens(usage);
    conversation.parts.push(Part::Message { role: author.0, kind: author.1, message: made, tokens, same_as });
}

/// The prompt includes what was read from the cache.
fn parse_tokens(usage: &Value) -> Tokens {
    let cached = as_token_count(&usage["prompt_tokens_details"]["cached_tokens"]);
    let input = as_token_count(&usage["prompt_tokens"]).saturating_sub(cached);
    token_counts(input, as_token_count(&usage["completion_tokens"]), cached, 0)
}

/// Results are beside the calls, in the state of each.
fn add_calls(item: &Value, conversation: &mut Conversation) {
    for call in as_items(&item["message"]["toolCalls"]) {
        let id = text_field(call, "id");
        let function = &call["function"];
        conversation.add_call(call_of(id, text_field(function, "name"), &function["arguments"]), Stamp::NONE);
        let states = as_items(&item["toolCallStates"]);
        if let Some(state) = states.iter().find(|state| text_field(state, "toolCallId") == id)
            && let Some(outcome) = parse_state(state, text_field(function, "name"))
        {
            conversation.add_result(id, Stamp::NONE, outcome);
        }
    }
}

fn parse_state(state: &Value, tool: &str) -> Option<Outcome> {
    let status = match text_field(state, "status") {
        "done" => Status::Success,
        "errored" | "canceled" => Status::Error,
        _ if as_items(&state["output"]).is_empty() => return None,
        _ => Status::Unknown,
    };
    let texts = as_items(&state["output"]).iter().map(|one| display_text(&one["content"]));
    let text = texts.collect::<Vec<_>>().join("\n");
    let failed = status == Status::Error && tool == "Bash";
    let code = ["exit code ", "exited with code "].iter().find_map(|words| exit_code_after(&text, words));
    Some(Outcome::new(status, text).with_exit_code(code.filter(|_| failed)))
}
