//! Memory of sessions: names, tags, summaries and facts, and the operations that list and change them.
//!
//! Does not know how a name is derived, or where it is stored.

mod change;
mod document;
mod list;

pub use change::*;
pub use document::*;
pub use list::*;

use crate::costs::ModelRun;
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::{PROJECT, SINCE, check_time, param};
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAMED: &str = "Session or fact, by ID or ID prefix: 975e66ab, f-3b21";

const ONE: Option<Positional> =
    Some(Positional { value: "ID", about: NAMED, into: &["id"], number: Number::One });

fn check_id(id: &str, operation: &Operation) -> Result<(), Error> {
    if id.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "missing ID").hint(operation.example));
    }
    Ok(())
}

pub const CONSOLIDATE: Operation = Operation {
    name: "consolidate",
    command: "memory consolidate",
    about: "Derive names, tags, summaries and facts from sessions",
    answer: "counts of newly named, changed and unchanged sessions, then the named and changed ones by start time",
    example: "loci memory consolidate --since 7d --dry-run",
    words: Some(Positional {
        value: "SESSION",
        about: "Only these sessions, by ID or ID prefix",
        into: &["chat_ids"],
        number: Number::Several,
    }),
    params: &[
        param("chat_ids", Shape::List, "IDS", "Only these sessions, by ID or ID prefix"),
        PROJECT,
        SINCE,
        param("limit", Shape::Count, "N", "Maximum number of sessions, newest first [default: all]"),
        param("no_model", Shape::Flag, "", "Do not call a model, even if one is configured"),
        param("dry_run", Shape::Flag, "", "Show what would be stored, and which model calls would be made"),
        param(
            "payload",
            Shape::Flag,
            "",
            "With --dry-run: show the exact text that would be sent to the model",
        ),
    ],
    required: &[],
    shapes: schema_properties::<Consolidate>,
    handy: &[],
    read_only: false,
    rows: &["sessions"],
    stats: &["source", "project"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Consolidate {
    pub chat_ids: Vec<String>,
    pub project: Option<String>,
    pub since: Option<String>,
    pub limit: Option<u64>,
    pub no_model: bool,
    pub dry_run: bool,
    pub payload: bool,
}

impl Consolidate {
    /// Whether the request covers all sessions.
    pub fn covers_all_sessions(&self) -> bool {
        *self == Consolidate { no_model: self.no_model, ..Consolidate::default() }
    }
}

impl Request for Consolidate {
    const OPERATION: &'static Operation = &CONSOLIDATE;
    type Response = Consolidated;

    fn check_params(&self) -> Result<(), Error> {
        self.chat_ids.iter().try_for_each(|id| check_id(id, &CONSOLIDATE))?;
        if self.limit == Some(0) {
            return Err(
                Error::new(Code::InvalidArgument, "`limit` must be at least 1").hint(CONSOLIDATE.example)
            );
        }
        if self.payload && !self.dry_run {
            return Err(Error::new(Code::InvalidArgument, "`payload` needs --dry-run")
                .hint("loci memory consolidate --dry-run --payload"));
        }
        check_time("since", self.since.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Consolidated {
    /// Sessions without memory before this run.
    pub named: u64,
    /// Sessions whose memory changed.
    pub changed: u64,
    /// Sessions whose memory is unchanged.
    pub unchanged: u64,
    /// Sessions whose memory a person has forgotten.
    pub forgotten: u64,
    /// New facts.
    pub facts: u64,
    /// New facts that await review by a person.
    pub in_review: u64,
    /// Messages and calls that could not be read.
    pub unread: u64,
    /// The named or changed sessions, by start time.
    pub sessions: Vec<SessionNamed>,
    /// The calls to the configured model; none if no model is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRun>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for Consolidated {
    /// No session to derive memory from.
    fn is_empty(&self) -> bool {
        self.named + self.changed + self.unchanged + self.forgotten + self.facts == 0
    }

    fn is_incomplete(&self) -> bool {
        self.unread > 0 || self.model.as_ref().is_some_and(ModelRun::has_failed)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionNamed {
    pub chat_id: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub name: String,
    /// The origin of the name: derived, host, model, renamed or person.
    pub named_by: String,
    pub tags: Vec<String>,
    pub facts: u64,
}
