//! `digest`: what was done, decided, left open and spent within a time, as Markdown.
//!
//! Does not know how facts are found.

use crate::operation::{Operation, Response};
use crate::params::{PROJECT, UNTIL, check_time};
use serde::{Deserialize, Serialize};

/// Sum up a week as Markdown: done, decided, left open, spent
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "digest",
    command = "digest",
    answer = "sessions by project, decisions and open points of memory, tokens and cost; newest first",
    example = "loci digest --since 7d --project shop",
    returns = DigestMade,
    read_only,
    rows("done"),
)]
pub struct DigestRequest {
    /// Earliest time: 7d, today, 2026-11-01
    #[param(value = "TIME", default = "7d", check = check_time)]
    pub since: String,
    #[param(like = UNTIL)]
    pub until: Option<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DigestMade {
    /// Milliseconds; the end is now unless the request says otherwise.
    pub from: i64,
    pub to: i64,
    pub done: Vec<DoneSession>,
    pub decided: Vec<DigestFact>,
    /// Causes that were found.
    pub found_out: Vec<DigestFact>,
    pub left_open: Vec<DigestFact>,
    pub spent: Spent,
}

impl Response for DigestMade {
    fn is_empty(&self) -> bool {
        self.done.is_empty() && self.decided.is_empty() && self.left_open.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DoneSession {
    pub session_id: String,
    pub title: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub ended_at: Option<i64>,
    pub turns: u64,
    pub tool_calls: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DigestFact {
    pub id: String,
    pub text: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub at: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    pub messages: u64,
    pub input: u64,
    pub output: u64,
    pub cost_usd: f64,
    /// Replies of models without a price.
    pub unpriced: u64,
}
