//! `status`: index, memory, queues, daemon and disk usage at a glance.
//!
//! Does not look for problems: that is `doctor`.

use crate::edits::InterruptedEdit;
use crate::operation::{Operation, Response};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Show index, memory, queue and daemon status
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "status",
    command = "status",
    answer = "counts, sizes and state of the index, memory, message queue and daemon",
    example = "loci status --json",
    returns = Status,
    read_only,
    local,
)]
pub struct StatusRequest {}

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
    /// The sizes of Loci's own files, in bytes.
    pub sizes: BTreeMap<String, u64>,
    /// Edits of source trees that a crash left half written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupted_edits: Vec<InterruptedEdit>,
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
    /// The time up to which the history is indexed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<i64>,
    /// Source trees with a code index.
    pub code_trees: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remembers {
    pub sessions: u64,
    pub facts: u64,
    /// Facts that await review by a person.
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
    /// Jobs that were parked after repeated failures.
    pub parked: u64,
    /// Providers in backoff, and until when.
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
    /// Spooled while no daemon was running.
    pub spooled: u64,
}

/// The background daemon.
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
    /// Directories over the kernel's watch limit.
    pub polled: u64,
    /// The number of event queue overflows, each followed by a full rescan.
    pub overflows: u64,
    pub connections: u64,
    /// Running and waiting calls.
    pub in_flight: u64,
    pub calls: u64,
    pub failed: u64,
    pub rss_bytes: u64,
    pub threads: u64,
    pub open_files: u64,
    /// How earlier daemons ended, oldest first; `lost` if no end was recorded.
    pub exits: Vec<String>,
    pub log: String,
    /// Per operation: the number of calls, and the median and 95th percentile of their duration.
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
