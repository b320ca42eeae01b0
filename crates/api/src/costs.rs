//! What was asked of a model and what it cost; what waits to be asked, and what was set aside and why.
//!
//! Does not ask anything: that is `memory consolidate`.

use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::{SINCE, is_time, param};
use crate::schema::properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a question to a model was about, where it was no session of an agent.
pub const NOTE: &str = "note";
pub const INVESTIGATION: &str = "investigation";

/// Whether a job is about a session, by where it comes from; else about something in a source tree.
pub fn is_session(source: &str) -> bool {
    ![NOTE, INVESTIGATION].contains(&source)
}

const ONLY: &str = "Only these sessions: their ids, or the beginnings of them";

pub const JOBS: Operation = Operation {
    name: "memory_jobs",
    command: "memory jobs",
    about: "List what a model could not answer: what waits to be asked again, and what was set aside",
    answer: "questions that are not done, the oldest first, and the servers that are left in peace for a while",
    example: "loci memory jobs --retry",
    words: Some(Words { value: "SESSION", about: ONLY, into: &["chat_ids"], number: Number::Several }),
    params: &[
        param("chat_ids", Shape::List, "IDS", ONLY),
        param("retry", Shape::Flag, "", "Let them be asked again in the next run, as if for the first time"),
    ],
    required: &[],
    shapes: properties::<MemoryJobs>,
    handy: &[],
    read_only: false,
    rows: &["jobs"],
    stats: &["state", "class"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryJobs {
    pub chat_ids: Vec<String>,
    pub retry: bool,
}

impl Request for MemoryJobs {
    const OPERATION: &'static Operation = &JOBS;
    type Response = Jobs;

    fn check(&self) -> Result<(), Error> {
        if self.chat_ids.iter().any(|id| id.trim().is_empty()) {
            return Err(
                Error::new(Code::InvalidArgument, "of which session? An id is empty").hint(JOBS.example)
            );
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Jobs {
    pub jobs: Vec<JobLine>,
    /// Servers that are not asked yet.
    pub closed: Vec<ClosedDoor>,
    /// How many may be asked again.
    pub retried: u64,
}

impl Response for Jobs {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.closed.is_empty() && self.retried == 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobLine {
    pub chat_id: String,
    pub source: String,
    /// waiting, answered (and not put away yet) or parked.
    pub state: String,
    pub attempts: u32,
    /// transient, `rate_limited`, quota, auth, refused or poison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Not before, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClosedDoor {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    pub class: String,
    pub message: String,
}

const GROUPS: &[&str] = &["day", "model", "session"];

pub const COSTS: Operation = Operation {
    name: "memory_costs",
    command: "memory costs",
    about: "Add up what the calls of a model took: how many, how many tokens, how much money",
    answer: "one line for each day, model or session: days by their date, others by their tokens, the most first",
    example: "loci memory costs --since 30d --by model",
    words: None,
    params: &[
        SINCE,
        param("by", Shape::Choice(GROUPS), "GROUP", "Group by day, model or session [default: day]"),
    ],
    required: &[],
    shapes: properties::<MemoryCosts>,
    handy: &[],
    read_only: true,
    rows: &["costs"],
    stats: &["group"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryCosts {
    pub since: Option<String>,
    pub by: Option<String>,
}

impl Request for MemoryCosts {
    const OPERATION: &'static Operation = &COSTS;
    type Response = Costs;

    fn check(&self) -> Result<(), Error> {
        if let Some(other) = self.by.as_deref().filter(|by| !GROUPS.contains(by)) {
            return Err(Error::new(Code::InvalidArgument, format!("`by` cannot be `{other}`"))
                .hint(format!("one of: {}", GROUPS.join(", "))));
        }
        is_time("since", self.since.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Costs {
    pub total: CostLine,
    pub costs: Vec<CostLine>,
    /// Tokens of the last 24 hours, and how many they may be where a model is configured.
    pub used_today: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
}

impl Response for Costs {
    fn is_empty(&self) -> bool {
        self.total.calls == 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CostLine {
    /// The day, the model or the session.
    pub group: String,
    pub calls: u64,
    /// Of them those that gave nothing.
    pub failed: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub bytes_sent: u64,
    /// Dollars, as far as they are known.
    pub cost: f64,
    /// Calls whose price is not known.
    pub unpriced: u64,
}

/// What a model was asked in one run of `memory consolidate`; in a dry run, what it would be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelRun {
    pub provider: String,
    pub model: String,
    /// Sessions that it was asked about, with an answer that is remembered now.
    pub answered: u64,
    /// Sessions that it was asked about in vain; `memory jobs` says why.
    pub failed: u64,
    /// Sessions that it has not seen and was not asked about: beyond a limit, not due yet, or set aside.
    pub left: u64,
    /// Sessions of projects that are never sent.
    pub off: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Dollars, where they are known; in a dry run the most it can come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why no more was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether that is a trouble, and not a limit of one's own.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub trouble: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedCall>,
}

impl ModelRun {
    /// Whether something went wrong; that a limit was reached is not.
    pub fn fell_short(&self) -> bool {
        self.failed > 0 || self.trouble
    }
}

/// One question that would be asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlannedCall {
    pub chat_id: String,
    pub source: String,
    /// At most.
    pub tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What would be sent, and to whom, as it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}
