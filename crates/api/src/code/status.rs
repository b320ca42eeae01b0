//! How much of a code base is known: projects, files, types, edges, and what is out of date.
//!
//! Holds no figure that was not counted for this answer.

use super::{Coverage, ROOT};
use crate::operation::{Operation, Request, Response};
use crate::schema::properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const STATUS: Operation = Operation {
    name: "code_status",
    command: "code status",
    about: "Count what is known of the code base: projects, files, types, edges, gaps, notes that are out of date",
    answer: "the counts, by language as well, and the memory this answer took",
    example: "loci code status",
    words: None,
    params: &[ROOT],
    required: &[],
    shapes: properties::<CodeStatusRequest>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeStatusRequest {
    pub root: Option<String>,
}

impl Request for CodeStatusRequest {
    const OPERATION: &'static Operation = &STATUS;
    type Response = CodeStatus;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CodeStatus {
    pub root: String,
    pub projects: u64,
    pub files: u64,
    pub lines: u64,
    pub types_indexed: u64,
    pub members: u64,
    pub edges: u64,
    /// Places that could not be understood.
    pub gaps: u64,
    /// The most files first.
    pub languages: Vec<InLanguage>,
    pub packs: u64,
    pub pinned: u64,
    pub notes: u64,
    /// Notes that were asked for or are out of date.
    pub semantic_queue_length: u64,
    /// Notes that a model could not write: set aside, or to be asked for again later.
    pub semantic_failures: u64,
    /// What this process holds; left out where the system does not say.
    #[serde(rename = "memoryMB", skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
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
