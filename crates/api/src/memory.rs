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
use crate::operation::{Operation, Response};
use crate::params::{PROJECT, SINCE, check_not_blank};
use crate::{Code, Error, Param};
use serde::{Deserialize, Serialize};

const ID: Param = Param {
    check: Some(check_not_blank),
    ..Param::text("id", "ID", "Session or fact, by ID or ID prefix: 975e66ab, f-3b21")
};

/// Derive names, tags, summaries and facts from sessions
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "consolidate",
    command = "memory consolidate",
    answer = "counts of newly named, changed and unchanged sessions, then the named and changed ones by start time",
    example = "loci memory consolidate --since 7d --dry-run",
    returns = Consolidated,
    local,
    rows("sessions"),
    stats("source", "project"),
    words(Several, "SESSION", "Only these sessions, by ID or ID prefix", into("chat_ids")),
    check,
)]
pub struct Consolidate {
    /// Only these sessions, by ID or ID prefix
    #[param(value = "IDS", check = check_not_blank)]
    pub chat_ids: Vec<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = SINCE)]
    pub since: Option<String>,
    /// Maximum number of sessions, newest first [default: all]
    #[param(range = 1..=u64::MAX)]
    pub limit: Option<u64>,
    /// Do not call a model, even if one is configured
    pub no_model: bool,
    /// Show what would be stored, and which model calls would be made
    pub dry_run: bool,
    /// With --dry-run: show the exact text that would be sent to the model
    pub payload: bool,
}

impl Consolidate {
    fn check(&self) -> Result<(), Error> {
        if self.payload && !self.dry_run {
            return Err(Error::new(Code::InvalidArgument, "`payload` needs --dry-run")
                .hint("loci memory consolidate --dry-run --payload"));
        }
        Ok(())
    }
}

impl Consolidate {
    /// Whether the request covers all sessions.
    pub fn covers_all_sessions(&self) -> bool {
        *self == Consolidate { no_model: self.no_model, ..Consolidate::default() }
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
