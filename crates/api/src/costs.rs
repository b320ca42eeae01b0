//! Model calls: their cost, and the jobs that wait for a retry or were parked, with the reason.
//!
//! Does not call a model: that is `memory consolidate`.

use crate::operation::{Operation, Response};
use crate::params::{SINCE, check_not_blank};
use serde::{Deserialize, Serialize};

/// The source of a model job that is not about a session.
pub const NOTE: &str = "note";
pub const INVESTIGATION: &str = "investigation";

/// Whether a job is about a session, by its source; otherwise it is about a source tree.
pub fn is_session(source: &str) -> bool {
    ![NOTE, INVESTIGATION].contains(&source)
}

/// List unfinished model jobs: waiting for a retry, or parked after repeated failures
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "memory_jobs",
    command = "memory jobs",
    answer = "unfinished jobs, oldest first, and the model providers in backoff",
    example = "loci memory jobs --retry",
    returns = Jobs,
    rows("jobs"),
    stats("state", "class"),
    words(Several, "SESSION", "Only jobs for these sessions, by ID or ID prefix", into("chat_ids")),
)]
pub struct MemoryJobs {
    /// Only jobs for these sessions, by ID or ID prefix
    #[param(value = "IDS", check = check_not_blank)]
    pub chat_ids: Vec<String>,
    /// Reset the jobs so that the next run retries them
    pub retry: bool,
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

/// Show Loci's own model calls, with tokens and cost
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "memory_costs",
    command = "memory costs",
    answer = "one line per day, model or session: days by date, others by tokens, highest first",
    example = "loci memory costs --since 30d --by model",
    returns = Costs,
    read_only,
    rows("costs"),
    stats("group"),
)]
pub struct MemoryCosts {
    #[param(like = SINCE)]
    pub since: Option<String>,
    /// Group by day, model or session [default: day]
    #[param(value = "GROUP", choice = GROUPS)]
    pub by: Option<String>,
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
