//! `digest`: what was done, decided, left open and spent within a time, as Markdown.
//!
//! Does not know how facts are found.

use crate::operation::{Operation, Request, Response};
use crate::params::{PROJECT, UNTIL, check_time, param};
use crate::schema::schema_properties;
use crate::{Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OPERATION: Operation = Operation {
    name: "digest",
    command: "digest",
    about: "Sum up a week as Markdown: done, decided, left open, spent",
    answer: "sessions by project, decisions and open points of memory, tokens and cost; newest first",
    example: "loci digest --since 7d --project shop",
    words: None,
    params: &[
        param("since", Shape::Text, "TIME", "Earliest time: 7d, today, 2026-11-01 [default: 7d]"),
        UNTIL,
        PROJECT,
    ],
    required: &[],
    shapes: schema_properties::<DigestRequest>,
    handy: &[],
    read_only: true,
    rows: &["done"],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DigestRequest {
    pub since: String,
    pub until: Option<String>,
    pub project: Option<String>,
}

impl Default for DigestRequest {
    fn default() -> DigestRequest {
        DigestRequest { since: "7d".to_string(), until: None, project: None }
    }
}

impl Request for DigestRequest {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = DigestMade;

    fn check_params(&self) -> Result<(), Error> {
        check_time("since", Some(&self.since))?;
        check_time("until", self.until.as_deref())
    }
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
