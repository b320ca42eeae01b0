//! `OpenHands`: `~/.openhands/conversations/<id>/`, one file per event and the state of the conversation beside them.
//!
//! The answer is the message of the `finish` call. Times have no zone and are read as local. Does not know the branch of
//! the repository.

use record::{Kind, Message, Role, Session, Stamp, Tokens, parse_local_time};
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_integer, as_items, as_token_count, blocks_text, call_of, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::document::{Documents, list_files, read_document};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const OPENHANDS: Documents = Documents {
    store: Store {
        name: "openhands",
        variables: &[(
            "OPENHANDS_CONVERSATIONS_DIR",
            "OpenHands' conversations [default: ~/.openhands/conversations]",
        )],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("OPENHANDS_CONVERSATIONS_DIR", ".openhands/conversations"),
        list: list_conversations,
    },
    load: load_conversation,
};

fn list_conversations(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "base_state.json") {
            let folder = path.parent().unwrap_or(root);
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
            found.add_change(&folder.join("events"));
        }
    });
}

fn event_files(transcript: &Transcript) -> Vec<PathBuf> {
    list_files(&transcript.path.with_file_name("events"), "json")
}

/// Model and tokens of each response, by its ID.
struct Usage {
    model: Option<String>,
    by_response: FxHashMap<String, Tokens>,
    /// If the state has only a sum, it belongs to the last response.
    total: Tokens,
}

fn load_conversation(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("openhands", &transcript.hint));
    let state = read_document(&transcript.path, &mut conversation)?.unwrap_or_default();
    if state.is_object() {
        conversation.count_understood();
    }
    let session = &mut conversation.session;
    session.session_id =
        Arc::from(optional_text(&state, "id").unwrap_or_else(|| transcript.hint.to_string()));
    session.cwd = Arc::from(text_field(&state["workspace"], "working_dir"));
    session.project = session.cwd.clone();
    let mut usage = read_usage(&state);
    for path in event_files(transcript) {
        if let Some(event) = read_document(&path, &mut conversation)? {
            parse_event(&event, &mut usage, &mut conversation);
        }
    }
    if !usage.total.is_zero() {
        conversation.set_reply_tokens(usage.total);
    }
    Ok(conversation)
}

fn tokens_of(usage: &Value) -> Tokens {
    let n = |key: &str| as_token_count(&usage[key]);
    let (cached, written) = (n("cache_read_tokens"), n("cache_write_tokens"));
    let input = n("prompt_tokens").saturating_sub(cached).saturating_sub(written);
    token_counts(input, n("completion_tokens"), cached, written)
}

fn read_usage(state: &Value) -> Usage {
    let metrics = &state["stats"]["usage_to_metrics"]["agent"];
    let one = |usage: &Value| (text_field(usage, "response_id").to_string(), tokens_of(usage));
    let by_response: FxHashMap<_, _> = as_items(&metrics["token_usages"]).iter().map(one).collect();
    let total =
        if by_response.is_empty() { tokens_of(&metrics["accumulated_token_usage"]) } else { Tokens::ZERO };
    let model =
        optional_text(metrics, "model_name").or_else(|| optional_text(&state["agent"]["llm"], "model"));
    Usage { model, by_response, total }
}

fn time_of(event: &Value) -> Stamp {
    parse_local_time(text_field(event, "timestamp"))
}

fn parse_event(event: &Value, usage: &mut Usage, conversation: &mut Conversation) {
    match text_field(event, "kind") {
        "MessageEvent" => parse_message(event, usage, conversation),
        "ActionEvent" => parse_action(event, usage, conversation),
        "ObservationEvent" => parse_observation(event, conversation),
        "AgentErrorEvent" => {
            conversation.count_understood();
            let outcome = Outcome::of_flag(true, text_field(event, "error"));
            if !add_outcome(event, outcome.clone(), conversation) {
                // The call that was refused has no event of its own.
                let id = text_field(event, "tool_call_id");
                let call = call_of(id, text_field(event, "tool_name"), &Value::Null);
                conversation.add_call(call, time_of(event));
                add_outcome(event, outcome, conversation);
            }
        }
        "ConversationErrorEvent" => {
            let text = text_field(event, "detail").to_string();
            add_message(event, (Role::Assistant, Kind::ApiError), text, None, conversation);
        }
        "UserRejectObservation" => {
            conversation.count_understood();
            add_outcome(event, Outcome::of_flag(true, text_field(event, "rejection_reason")), conversation);
        }
        "PauseEvent" => {
            add_message(event, (Role::System, Kind::Interruption), "paused".to_string(), None, conversation);
        }
        "CondensationSummaryEvent" => {
            let text = text_field(event, "summary").to_string();
            add_message(event, (Role::User, Kind::CompactionSummary), text, None, conversation);
        }
        "SystemPromptEvent"
        | "Condensation"
        | "CondensationRequest"
        | "ConversationStateUpdateEvent"
        | "TokenEvent" => conversation.count_ignored(),
        other => conversation.count_unknown(other),
    }
}

fn add_message(
    event: &Value,
    author: (Role, Kind),
    text: String,
    usage: Option<&mut Usage>,
    conversation: &mut Conversation,
) {
    conversation.count_understood();
    let response = text_field(event, "llm_response_id");
    let model = usage.as_ref().and_then(|usage| usage.model.clone());
    let tokens = usage.and_then(|usage| usage.by_response.remove(response)).unwrap_or(Tokens::ZERO);
    let made = Message {
        id: text_field(event, "id").to_string(),
        text,
        model,
        tool_calls: u32::from(event["tool_call"].is_object()),
        at: known_stamp(time_of(event)),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, tokens);
}

fn parse_message(event: &Value, usage: &mut Usage, conversation: &mut Conversation) {
    let text = blocks_text(&event["llm_message"]["content"]);
    match text_field(event, "source") {
        "user" => add_message(event, (Role::User, Kind::Prompt), text, None, conversation),
        "agent" => add_message(event, (Role::Assistant, Kind::Reply), text, Some(usage), conversation),
        _ => add_message(event, (Role::System, Kind::Meta), text, None, conversation),
    }
}

/// A call, with what the agent said before it. Of several calls in one response, the first has the text.
fn parse_action(event: &Value, usage: &mut Usage, conversation: &mut Conversation) {
    let action = &event["action"];
    let answer = Some(text_field(action, "message")).filter(|_| text_field(action, "kind") == "FinishAction");
    let said = [blocks_text(&event["thought"]), answer.unwrap_or("").to_string()];
    let text = said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    add_message(event, (Role::Assistant, Kind::Reply), text, Some(usage), conversation);
    let (id, tool) = (text_field(event, "tool_call_id"), text_field(event, "tool_name"));
    conversation.add_call(call_of(id, tool, &event["tool_call"]["arguments"]), time_of(event));
}

fn parse_observation(event: &Value, conversation: &mut Conversation) {
    conversation.count_understood();
    let observation = &event["observation"];
    let code = as_integer(&observation["exit_code"]);
    let outcome = Outcome::of_flag(observation["is_error"] == true, blocks_text(&observation["content"]));
    add_outcome(event, outcome.with_exit_code(code), conversation);
}

fn add_outcome(event: &Value, outcome: Outcome, conversation: &mut Conversation) -> bool {
    conversation.add_result(text_field(event, "tool_call_id"), time_of(event), outcome)
}
