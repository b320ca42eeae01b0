//! Listing memories, and showing one with its evidence.
//!
//! Does not list facts that await review unless `state` requests them.

use super::{NAMED, ONE, check_id};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::{PROJECT, SINCE, check_time, param};
use crate::schema::schema_properties;
use crate::search::TimeRange;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const KINDS: &[&str] = &["sessions", "facts"];
pub const STATES: &[&str] = &["fresh", "stale", "superseded", "retired", "review"];

pub const LIST: Operation = Operation {
    name: "list_memory",
    command: "memory list",
    about: "List session names and facts",
    answer: "memories, pinned ones first, then newest first; retired and pending facts only with --state",
    example: "loci memory list pager --kind facts",
    words: Some(Positional {
        value: "WORDS",
        about: "Only memories with all of these words in their name, text, summary or tags",
        into: &["query"],
        number: Number::Sentence,
    }),
    params: &[
        param(
            "query",
            Shape::Text,
            "WORDS",
            "Only memories with all of these words; in their name, text, summary or tags",
        ),
        param("kind", Shape::Choice(KINDS), "KIND", "Only sessions, or only facts"),
        param(
            "state",
            Shape::Choice(STATES),
            "STATE",
            "Only facts in this state; review: pending until you accept them",
        ),
        param("tag", Shape::List, "TAGS", "Only with all of these tags; the tag of a fact is its kind"),
        PROJECT,
        SINCE,
        param("limit", Shape::Count, "N", "Maximum number of memories [default: 20]"),
        param("offset", Shape::Count, "N", "Skip the first N"),
    ],
    required: &[],
    shapes: schema_properties::<ListMemory>,
    handy: &[],
    read_only: true,
    rows: &["memories"],
    stats: &["kind", "state", "project"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListMemory {
    pub query: Option<String>,
    pub kind: Option<String>,
    pub state: Option<String>,
    pub tag: Vec<String>,
    pub project: Option<String>,
    pub since: Option<String>,
    pub limit: u64,
    pub offset: u64,
}

impl Default for ListMemory {
    fn default() -> ListMemory {
        let (query, kind, state, project, since) = (None, None, None, None, None);
        ListMemory { query, kind, state, tag: Vec::new(), project, since, limit: 20, offset: 0 }
    }
}

impl Request for ListMemory {
    const OPERATION: &'static Operation = &LIST;
    type Response = Memories;

    fn check_params(&self) -> Result<(), Error> {
        check_choice("kind", self.kind.as_deref(), KINDS)?;
        check_choice("state", self.state.as_deref(), STATES)?;
        if self.state.is_some() && self.kind.as_deref() == Some("sessions") {
            return Err(Error::new(Code::InvalidArgument, "only facts have a `state`").hint(LIST.example));
        }
        check_time("since", self.since.as_deref())
    }
}

fn check_choice(name: &str, word: Option<&str>, words: &[&str]) -> Result<(), Error> {
    match word {
        Some(word) if !words.contains(&word) => {
            Err(Error::new(Code::InvalidArgument, format!("invalid `{name}`: `{word}`"))
                .hint(format!("one of: {}", words.join(", "))))
        }
        _ => Ok(()),
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

pub const SHOW: Operation = Operation {
    name: "show_memory",
    command: "memory show",
    about: "Show the memory of a session, or a fact with its evidence",
    answer: "the memory, the origin and time of each part, and its evidence",
    example: "loci memory show 975e66ab",
    words: ONE,
    params: &[param("id", Shape::Text, "ID", NAMED)],
    required: &["id"],
    shapes: schema_properties::<ShowMemory>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShowMemory {
    pub id: String,
}

impl Request for ShowMemory {
    const OPERATION: &'static Operation = &SHOW;
    type Response = MemoryShown;

    fn check_params(&self) -> Result<(), Error> {
        check_id(&self.id, &SHOW)
    }
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
