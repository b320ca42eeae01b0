//! `resolve_ids`: look up sessions and messages by ID prefix.
//!
//! Does not choose among several matches: reports the ambiguity and lists them.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::Status;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OPERATION: Operation = Operation {
    name: "resolve_ids",
    command: "resolve",
    about: "Look up sessions and messages by ID prefix",
    answer: "sessions, then messages, each ordered by ID",
    example: "loci resolve 975e66ab",
    words: Some(Positional {
        value: "PREFIX",
        about: "Prefix of a session or message ID",
        into: &["chatIdPrefix", "messageIdPrefix"],
        number: Number::One,
    }),
    params: &[
        param("chatIdPrefix", Shape::Text, "PREFIX", "Prefix of a session ID"),
        param("messageIdPrefix", Shape::Text, "PREFIX", "Prefix of a message ID"),
    ],
    required: &[],
    shapes: schema_properties::<ResolveIds>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ResolveIds {
    pub chat_id_prefix: Option<String>,
    pub message_id_prefix: Option<String>,
}

impl Request for ResolveIds {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = Resolved;

    fn check_params(&self) -> Result<(), Error> {
        let given = [&self.chat_id_prefix, &self.message_id_prefix].into_iter().flatten();
        if given.clone().count() == 0 || given.clone().any(|prefix| prefix.trim().is_empty()) {
            return Err(
                Error::new(Code::InvalidArgument, "missing or empty ID prefix").hint(OPERATION.example)
            );
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resolved {
    pub status: Status,
    pub chats: Vec<ChatId>,
    pub messages: Vec<MessageId>,
    /// Several sessions or several messages match.
    pub ambiguous: bool,
    /// More match than are listed.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub more: bool,
}

impl Response for Resolved {
    fn is_empty(&self) -> bool {
        self.chats.is_empty() && self.messages.is_empty()
    }
}

impl Resolved {
    pub fn new(chats: Vec<ChatId>, messages: Vec<MessageId>) -> Resolved {
        let ambiguous = chats.len() > 1 || messages.len() > 1;
        Resolved { status: Status::Ok, chats, messages, ambiguous, more: false }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChatId {
    pub chat_id: String,
    pub title: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageId {
    pub message_id: String,
    pub chat_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub created_at: Option<i64>,
}
