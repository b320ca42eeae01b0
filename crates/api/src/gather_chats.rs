//! `gather_chats`: a whole session, or several merged by time with the messages they share.
//!
//! Does not know how messages are read or compared.

use crate::operation::{Operation, Response};
use crate::params::check_not_blank;
use crate::search::{TimeRange, is_false};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Show whole sessions: prompts, tool calls and replies
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "gather_chats",
    command = "show",
    answer = "for one session, its messages in order; for several, all messages by time and the messages they share. Subagents have their own sessions, whose IDs are listed",
    example = "loci show last --no-tools",
    returns = Gathered,
    read_only,
    unmaskable,
    rows("messages", "narrative"),
    stats("role"),
    words(Several, "ID", "Sessions to show, by ID or ID prefix", into("chatIds")),
)]
pub struct GatherChats {
    /// Sessions to show, by ID or ID prefix
    #[param(name = "chatIds", value = "IDS", required = "session ID", check = check_not_blank)]
    pub chat_ids: Vec<String>,
    /// Include tool calls and their results
    #[param(
        name = "includeTools",
        default = true,
        flag(
            "no-tools",
            Is("false"),
            "",
            "Hide tool calls and their results (same as --include-tools=false)"
        )
    )]
    pub include_tools: bool,
    /// Include what the transcripts no longer have and the archive keeps
    pub all: bool,
}

/// One session, or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Gathered {
    One(Box<OneChat>),
    Several(SeveralChats),
}

impl Response for Gathered {
    fn is_empty(&self) -> bool {
        match self {
            Gathered::One(one) => one.messages.is_empty(),
            Gathered::Several(several) => several.narrative.is_empty(),
        }
    }

    fn is_incomplete(&self) -> bool {
        match self {
            Gathered::One(one) => one.partial,
            Gathered::Several(several) => several.partial,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneChat {
    pub chat: Chat,
    pub messages: Vec<ChatMessage>,
    /// Part of it could not be read; the notes say what.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    pub id: String,
    pub title: String,
    pub message_count: u64,
    pub time_range: TimeRange,
    #[serde(default)]
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The agent has deleted the transcript: the session comes from the archive and cannot be resumed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub archived: bool,
    /// The other device that the session came from. It cannot be resumed here; `loci handoff` continues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Sessions of its subagents. Their messages are not included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    pub message_id: String,
    pub created_at: Option<i64>,
    /// `user`, `assistant` or `system`.
    pub role: String,
    pub content: String,
    /// The kind of message, if it is neither a person's prompt nor the agent's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
}

/// The tool calls of a reply. Results are in the order of the calls; a call that is `pending` has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolResult>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Empty for a built-in tool of the agent.
    pub server: String,
    pub tool: String,
    pub args: Value,
    /// The status, unless the call succeeded: `error`, `pending` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolResult {
    Text(String),
    Json(Value),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeveralChats {
    pub meta: Vec<ChatMeta>,
    pub narrative: Vec<NarrativeEntry>,
    pub common_alignment: Vec<SharedMessage>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatMeta {
    pub chat_idx: usize,
    #[serde(flatten)]
    pub chat: Chat,
}

/// A message and its position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NarrativeEntry {
    pub chat_idx: usize,
    /// Its position among the messages of its session, from 0.
    pub index: usize,
    #[serde(flatten)]
    pub message: ChatMessage,
}

/// A message that several sessions contain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedMessage {
    pub role: String,
    pub content: String,
    pub refs: Vec<Reference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    pub chat_idx: usize,
    pub index: usize,
    pub message_id_prefix: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The documented JSON survives reading and writing, key by key.
    #[test]
    fn both_forms_keep_their_documented_keys() {
        let chat = json!({
            "chat": {"id": "a", "title": "t", "messageCount": 1, "timeRange": {"from": 1, "to": 2}, "source": "codex"},
            "messages": [{
                "messageId": "m", "createdAt": 1, "role": "user", "content": "c",
                "tools": {
                    "calls": [{"server": "s", "tool": "t", "args": {"x": [1]}}],
                    "results": [{"text": "r"}, {"json": {"y": 2}}],
                },
            }],
        });
        let several = json!({
            "meta": [{"chatIdx": 0, "id": "a", "title": "t", "messageCount": 1, "timeRange": {"from": 1, "to": 2}, "source": "codex"}],
            "narrative": [{"chatIdx": 0, "index": 0, "messageId": "m", "createdAt": null, "role": "user", "content": "c"}],
            "commonAlignment": [
                {"role": "user", "content": "c", "refs": [{"chatIdx": 0, "index": 0, "messageIdPrefix": "m"}]},
            ],
        });
        for promised in [chat, several] {
            let read: Gathered = serde_json::from_value(promised.clone()).unwrap();
            assert_eq!(matches!(read, Gathered::One(_)), promised.get("chat").is_some());
            assert_eq!(serde_json::to_value(&read).unwrap(), promised);
        }
    }
}
