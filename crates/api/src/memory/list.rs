//! Listing memories, and showing one with its evidence.
//!
//! Does not list facts that await review unless `state` requests them.

use super::ID;
use crate::operation::{Operation, Request, Response};
use crate::params::{OFFSET, PROJECT, SINCE};
use crate::search::TimeRange;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

const KINDS: &[&str] = &["sessions", "facts"];
pub const STATES: &[&str] = &["fresh", "stale", "superseded", "retired", "review"];

/// List session names and facts
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_memory",
    command = "memory list",
    answer = "memories, pinned ones first, then newest first; retired and pending facts only with --state",
    example = "loci memory list pager --kind facts",
    returns = Memories,
    read_only,
    rows("memories"),
    stats("kind", "state", "project"),
    words(Sentence, "WORDS", "Only memories with all of these words in their name, text, summary or tags", into("query")),
    check,
)]
pub struct ListMemory {
    /// Only memories with all of these words; in their name, text, summary or tags
    #[param(value = "WORDS")]
    pub query: Option<String>,
    /// Only sessions, or only facts
    #[param(value = "KIND", choice = KINDS)]
    pub kind: Option<String>,
    /// Only facts in this state; review: pending until you accept them
    #[param(value = "STATE", choice = STATES)]
    pub state: Option<String>,
    /// Only with all of these tags; the tag of a fact is its kind
    #[param(value = "TAGS")]
    pub tag: Vec<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = SINCE)]
    pub since: Option<String>,
    /// Maximum number of memories
    #[param(default = 20)]
    pub limit: u64,
    #[param(like = OFFSET)]
    pub offset: u64,
}

impl ListMemory {
    fn check(&self) -> Result<(), Error> {
        if self.state.is_some() && self.kind.as_deref() == Some("sessions") {
            return Err(
                Error::new(Code::InvalidArgument, "only facts have a `state`").hint(Self::OPERATION.example)
            );
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memories {
    pub memories: Vec<MemoryLine>,
    /// The total number, including those not listed.
    pub total: u64,
    /// Facts that await review by a person.
    pub in_review: u64,
}

impl Response for Memories {
    fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }
}

/// One line for a session's memory or a fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryLine {
    pub id: String,
    /// `session` or `fact`.
    pub kind: String,
    /// The session's name, or the text of the fact.
    pub text: String,
    /// The origin of the name (derived, host, model, renamed, person), or the author of the fact's source text (user, model).
    pub by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Symbols and files that a fact refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The other device that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// When the session ended or the fact was stated, in milliseconds.
    pub at: Option<i64>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub pinned: bool,
    /// A person has changed it.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub edited: bool,
}

/// Show the memory of a session, or a fact with its evidence
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "show_memory",
    command = "memory show",
    answer = "the memory, the origin and time of each part, and its evidence",
    example = "loci memory show 975e66ab",
    returns = MemoryShown,
    read_only,
)]
pub struct ShowMemory {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryShown {
    /// Tells the reader that this is history, not a task.
    pub note: String,
    pub memory: MemoryLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_range: Option<TimeRange>,
    /// The command that resumes the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Facts derived from the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<MemoryLine>,
    /// The messages that support a fact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Quote>,
}

impl Response for MemoryShown {}

/// A message that supports a fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quote {
    pub chat_id: String,
    pub source: String,
    pub message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// None if it can no longer be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
