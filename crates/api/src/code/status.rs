//! Statistics of the code index: projects, files, types, edges and stale notes.
//!
//! Does not store figures: the tree is counted for this response, and the daemon's own figures are those of its current run.

use super::Coverage;
use crate::alerts::Alert;
use crate::operation::{Operation, Response};
use crate::params::ROOT;
use serde::{Deserialize, Serialize};

/// Show code index statistics: projects, files, types, dependencies, unparsed places, queued notes, alerts
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "code_status",
    command = "code status",
    answer = "counts in total and by language, the memory used by this process, what the daemon measured, and alerts",
    example = "loci code status",
    returns = CodeStatus,
    read_only,
)]
pub struct CodeStatusRequest {
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CodeStatus {
    pub root: String,
    pub projects: u64,
    pub files: u64,
    pub lines: u64,
    pub types_indexed: u64,
    pub members: u64,
    pub edges: u64,
    /// Places that could not be parsed.
    pub gaps: u64,
    /// Most files first.
    pub languages: Vec<InLanguage>,
    pub packs: u64,
    pub pinned: u64,
    pub notes: u64,
    /// Notes that were requested or are stale.
    pub semantic_queue_length: u64,
    /// Notes that a model failed to write: parked, or waiting for a retry.
    pub semantic_failures: u64,
    /// Memory of this process; omitted if the system does not report it.
    #[serde(rename = "memoryMB", skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Time since the daemon started, in seconds; omitted if none is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_sec: Option<u64>,
    /// The 95th percentile of resolving a name; omitted until the daemon has resolved one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_resolve_ms: Option<f64>,
    /// The share of outline requests to this process that needed no file parsed; omitted before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline_hit_ratio: Option<f64>,
    /// The tokens of the stored prompt window as a share of the default budget; omitted if there is no window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_budget_ratio: Option<f64>,
    /// Figures above their thresholds.
    pub alerts: Vec<Alert>,
    pub coverage: Coverage,
}

impl Response for CodeStatus {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InLanguage {
    pub name: String,
    pub files: u64,
    pub lines: u64,
}
