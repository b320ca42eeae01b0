//! `resolve_ids`: look up sessions and messages by ID prefix.
//!
//! Does not choose among several matches: reports the ambiguity and lists them.

use crate::operation::{Operation, Request, Response};
use crate::params::check_not_blank;
use crate::search::Status;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// Look up sessions and messages by ID prefix
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "resolve_ids",
    command = "resolve",
    answer = "sessions, then messages, each ordered by ID",
    example = "loci resolve 975e66ab",
    returns = Resolved,
    read_only,
    words(One, "PREFIX", "Prefix of a session or message ID", into("chatIdPrefix", "messageIdPrefix")),
    check,
)]
pub struct ResolveIds {
    /// Prefix of a session ID
    #[param(name = "chatIdPrefix", value = "PREFIX", check = check_not_blank)]
    pub chat_id_prefix: Option<String>,
    /// Prefix of a message ID
    #[param(name = "messageIdPrefix", value = "PREFIX", check = check_not_blank)]
    pub message_id_prefix: Option<String>,
}

impl ResolveIds {
    fn check(&self) -> Result<(), Error> {
        if self.chat_id_prefix.is_none() && self.message_id_prefix.is_none() {
            return Err(Error::new(Code::InvalidArgument, "missing ID prefix").hint(Self::OPERATION.example));
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
