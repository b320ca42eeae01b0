//! `status`: how Loci stands, at a glance: what is indexed and how fresh, what is remembered, what waits, what runs.
//!
//! Looks for no trouble: that is `doctor`.

use crate::operation::{Operation, Request, Response};
use crate::schema::properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const OPERATION: Operation = Operation {
    name: "status",
    command: "status",
    about: "How Loci stands: what is indexed and remembered, what waits, whether the daemon runs, what it takes",
    answer: "the figures, counted for this answer",
    example: "loci status --json",
    words: None,
    params: &[],
    required: &[],
    shapes: properties::<StatusRequest>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatusRequest {}

impl Request for StatusRequest {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = Status;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    pub version: String,
    pub history: History,
    pub memory: Remembers,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    pub messages: Waiting,
    pub daemon: DaemonState,
    /// What Loci's own files take, in bytes.
    pub sizes: BTreeMap<String, u64>,
    pub data: String,
    pub cache: String,
}

impl Response for Status {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct History {
    pub indexed: bool,
    pub transcripts: u64,
    pub sessions: u64,
    pub events: u64,
    /// Up to when the history is known, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<i64>,
    /// Source trees of which something is kept.
    pub code_trees: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remembers {
    pub sessions: u64,
    pub facts: u64,
    /// Facts that wait for a person to look at them.
    pub in_review: u64,
    /// When memory was last consolidated, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<i64>,
}

/// The model that improves memory, if one is configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Model {
    pub tokens_today: u64,
    /// Jobs that were given up, to be looked at.
    pub parked: u64,
    /// Providers that are not asked for now, and until when.
    pub closed: Vec<String>,
}

/// Messages between agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Waiting {
    pub agents: u64,
    pub waiting: u64,
    pub running: u64,
    pub answered: u64,
    pub failed: u64,
    /// Left for a daemon that was not there.
    pub spooled: u64,
}

/// The process that stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonState {
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_seconds: Option<u64>,
    pub socket: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    pub watched: u64,
    /// Folders beyond what the kernel watches.
    pub polled: u64,
    /// How often the kernel lost count, and everything was looked at again.
    pub overflows: u64,
    pub connections: u64,
    /// Calls that run or wait.
    pub in_flight: u64,
    pub calls: u64,
    pub failed: u64,
    pub rss_bytes: u64,
    pub threads: u64,
    pub open_files: u64,
    /// How those before it ended, the oldest first; `lost`: nobody wrote it down.
    pub exits: Vec<String>,
    pub log: String,
    /// Of each operation: how often, and how long half and all but one in twenty took at most.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub methods: BTreeMap<String, Took>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    pub calls: u64,
    pub p50_ms: f64,
    pub p95_ms: f64,
}
