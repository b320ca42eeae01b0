//! Model calls: their cost, and the jobs that wait for a retry or were parked, with the reason.
//!
//! Does not call a model: that is `memory consolidate`.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::{SINCE, check_time, param};
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a model job that is not about a session.
pub const NOTE: &str = "note";
pub const INVESTIGATION: &str = "investigation";

/// Whether a job is about a session, by its source; otherwise it is about a source tree.
pub fn is_session(source: &str) -> bool {
    ![NOTE, INVESTIGATION].contains(&source)
}

const ONLY: &str = "Only jobs for these sessions, by ID or ID prefix";

pub const JOBS: Operation = Operation {
    name: "memory_jobs",
    command: "memory jobs",
    about: "List unfinished model jobs: waiting for a retry, or parked after repeated failures",
    answer: "unfinished jobs, oldest first, and the model providers in backoff",
    example: "loci memory jobs --retry",
    words: Some(Positional { value: "SESSION", about: ONLY, into: &["chat_ids"], number: Number::Several }),
    params: &[
        param("chat_ids", Shape::List, "IDS", ONLY),
        param("retry", Shape::Flag, "", "Reset the jobs so that the next run retries them"),
    ],
    required: &[],
    shapes: schema_properties::<MemoryJobs>,
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

    fn check_params(&self) -> Result<(), Error> {
        if self.chat_ids.iter().any(|id| id.trim().is_empty()) {
            return Err(Error::new(Code::InvalidArgument, "empty session ID").hint(JOBS.example));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Jobs {
    pub jobs: Vec<JobLine>,
    /// Providers in backoff.
    pub closed: Vec<ProviderBackoff>,
    /// The number of jobs reset for a retry.
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
    /// waiting, answered (and not stored yet) or parked.
    pub state: String,
    pub attempts: u32,
    /// transient, `rate_limited`, quota, auth, refused or poison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Earliest time of the next attempt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderBackoff {
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
    about: "Show Loci's own model calls, with tokens and cost",
    answer: "one line per day, model or session: days by date, others by tokens, highest first",
    example: "loci memory costs --since 30d --by model",
    words: None,
    params: &[
        SINCE,
        param("by", Shape::Choice(GROUPS), "GROUP", "Group by day, model or session [default: day]"),
    ],
    required: &[],
    shapes: schema_properties::<MemoryCosts>,
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

    fn check_params(&self) -> Result<(), Error> {
        if let Some(other) = self.by.as_deref().filter(|by| !GROUPS.contains(by)) {
            return Err(Error::new(Code::InvalidArgument, format!("`by` cannot be `{other}`"))
                .hint(format!("one of: {}", GROUPS.join(", "))));
        }
        check_time("since", self.since.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Costs {
    pub total: CostLine,
    pub costs: Vec<CostLine>,
    /// Tokens of the last 24 hours, and the daily limit if a model is configured.
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
    /// The failed calls among them.
    pub failed: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub bytes_sent: u64,
    /// Dollars, as far as prices are known.
    pub cost: f64,
    /// Calls with unknown price.
    pub unpriced: u64,
}

/// The model calls of one run of `memory consolidate`; in a dry run, the planned calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelRun {
    pub provider: String,
    pub model: String,
    /// Sessions with an answer that is stored now.
    pub answered: u64,
    /// Sessions for which the call failed; `memory jobs` says why.
    pub failed: u64,
    /// Sessions for which no call was made: over a limit, not due yet, or parked.
    pub left: u64,
    /// Sessions of projects that are excluded from sending.
    pub off: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Dollars, if the price is known; in a dry run the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why no more calls were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the reason is a failure rather than a configured limit.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub trouble: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedCall>,
}

impl ModelRun {
    /// Whether a call failed; reaching a limit does not count.
    pub fn has_failed(&self) -> bool {
        self.failed > 0 || self.trouble
    }
}

/// One call that would be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlannedCall {
    pub chat_id: String,
    pub source: String,
    /// The maximum.
    pub tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The exact request that would be sent, with its destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}
