//! Messages in Anthropic's blocks, as many agents store them: text, calls in replies, results in the user's name.
//!
//! Does not know where a message is stored, nor what its client wraps around a prompt.

use record::{Kind, Message, Role, Stamp, Tokens};
use serde_json::Value;
use transcript::conversation::value::{as_items, blocks_text, call_of, known_stamp, text_field};
use transcript::conversation::{Conversation, Outcome};

/// What a store knows of a message besides its blocks.
#[derive(Default)]
pub(crate) struct Stored<'m> {
    pub(crate) id: &'m str,
    pub(crate) at: Stamp,
    pub(crate) model: Option<String>,
    pub(crate) tokens: Tokens,
}

/// Adds the text, calls and results of a message, and counts it. `typed` gives the kind of a text in the user's name and
/// removes what the client wrapped around it.
pub(crate) fn add_blocks(
    role: &str,
    content: &Value,
    stored: Stored<'_>,
    typed: fn(&str) -> (Kind, String),
    conversation: &mut Conversation,
) {
    match role {
        "user" | "human" => {
            conversation.count_understood();
            for block in of_type(content, "tool_result") {
                let outcome = Outcome::of_flag(block["is_error"] == true, blocks_text(&block["content"]));
                conversation.add_result(text_field(block, "tool_use_id"), stored.at, outcome);
            }
            let (kind, text) = typed(&blocks_text(content));
            if !text.is_empty() {
                add_message((Role::User, kind), text, 0, stored, conversation);
            }
        }
        "assistant" => {
            conversation.count_understood();
            let at = stored.at;
            let calls: Vec<&Value> = of_type(content, "tool_use").collect();
            add_message(
                (Role::Assistant, Kind::Reply),
                blocks_text(content),
                calls.len(),
                stored,
                conversation,
            );
            for call in calls {
                conversation
                    .add_call(call_of(text_field(call, "id"), text_field(call, "name"), &call["input"]), at);
            }
        }
        "system" => conversation.count_ignored(),
        other => conversation.count_unknown(&format!("message {other}")),
    }
}

fn of_type<'v>(content: &'v Value, kind: &'static str) -> impl Iterator<Item = &'v Value> {
    as_items(content).iter().filter(move |block| text_field(block, "type") == kind)
}

fn add_message(
    author: (Role, Kind),
    text: String,
    calls: usize,
    stored: Stored<'_>,
    conversation: &mut Conversation,
) {
    let made = Message {
        id: stored.id.to_string(),
        text,
        model: stored.model.filter(|_| author.0 == Role::Assistant),
        tool_calls: calls as u32,
        at: known_stamp(stored.at),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, stored.tokens);
}

/// The text between two tags, if it has them.
pub(crate) fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inner, _)| inner).trim())
}
