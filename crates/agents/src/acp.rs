//! Session updates of the Agent Client Protocol: chunks of messages, calls, and what became of them.
//!
//! Does not know where the updates are stored, nor the IDs of messages: the protocol gives them none.

use record::{Kind, Message, Role, Stamp, Status, Tokens};
use serde_json::Value;
use transcript::conversation::Outcome;
use transcript::conversation::value::{
    as_integer, as_items, blocks_text, call_of, display_text, known_stamp, optional_text, text_field,
};
use transcript::event_log::Entry;

/// Updates without conversation content.
const IGNORED: [&str; 6] = [
    "agent_thought_chunk",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
];

/// Parses one update; `id` identifies the message of a chunk.
pub(crate) fn parse_update(update: &Value, id: &str, at: Stamp, entry: &mut Entry) {
    match text_field(update, "sessionUpdate") {
        "user_message_chunk" => add_chunk(update, (Role::User, Kind::Prompt), id, at, entry),
        "agent_message_chunk" => add_chunk(update, (Role::Assistant, Kind::Reply), id, at, entry),
        "tool_call" => {
            let call = call_of(text_field(update, "toolCallId"), tool_name(update), &update["rawInput"]);
            entry.add_call(call, at);
            add_result(update, at, entry);
        }
        "tool_call_update" => {
            add_result(update, at, entry);
            if entry.items.is_empty() {
                entry.ignore();
            }
        }
        kind if IGNORED.contains(&kind) => entry.ignore(),
        other => entry.unknown(other),
    }
}

/// The tool's name where the client adds it; the protocol itself has only a title for people.
fn tool_name(update: &Value) -> &str {
    let named = update["_meta"].as_object().into_iter().flatten().find_map(|(_, meta)| meta["name"].as_str());
    named.unwrap_or_else(|| text_field(update, "title"))
}

fn add_chunk(update: &Value, author: (Role, Kind), id: &str, at: Stamp, entry: &mut Entry) {
    let message = Message {
        id: id.to_string(),
        text: blocks_text(&update["content"]),
        model: optional_text(&update["_meta"], "modelId"),
        at: known_stamp(at),
        ..Message::default()
    };
    entry.add_message(author.0, author.1, message, Tokens::ZERO);
}

/// A call ends as completed or failed; a command that is completed may still have failed.
fn add_result(update: &Value, at: Stamp, entry: &mut Entry) {
    let status = match text_field(update, "status") {
        "completed" => Status::Success,
        "failed" => Status::Error,
        _ => return,
    };
    let raw = &update["rawOutput"];
    let code = ["exit_code", "exitCode"].iter().find_map(|key| as_integer(&raw[*key]));
    let outcome = Outcome::new(status, result_text(update)).with_exit_code(code);
    entry.add_result(text_field(update, "toolCallId"), at, outcome);
}

/// What the model was given, as far as the client records it; otherwise what was shown.
fn result_text(update: &Value) -> String {
    let raw = &update["rawOutput"];
    let prompt = ["output_for_prompt", "tool_output_for_prompt"];
    let nested = raw.as_object().into_iter().flatten().map(|(_, inner)| inner);
    let given = std::iter::once(raw)
        .chain(nested)
        .find_map(|of| prompt.iter().find_map(|key| optional_text(of, key)));
    let shown = || {
        let texts = as_items(&update["content"]).iter().map(|item| blocks_text(&item["content"]));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let text = given.unwrap_or_else(shown);
    if text.is_empty() { display_text(raw) } else { text }
}
