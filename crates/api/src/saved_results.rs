//! `read_ref` and `cleanup_temp_files`: read and delete saved results, which were too large for a reply.
//!
//! Does not know where they are stored.

use crate::operation::{Operation, Response};
use crate::search::is_false;
use serde::{Deserialize, Serialize};

/// Read a saved large result
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "read_ref",
    command = "ref",
    answer = "lines in order, one record each, as many as fit in one response, and the offset of the next line",
    example = "loci ref 975e66ab-20261115T081200-query_tools-0123456789abcdef0123456789abcdef.jsonl --offset 100",
    returns = RefRead,
    read_only,
    rows("lines"),
)]
pub struct ReadRef {
    /// `file_ref.path`, or its file name
    #[param(name = "ref", value = "REF", required = "`ref`", word)]
    pub name: String,
    /// Skip the first N lines
    pub offset: u64,
    /// Maximum number of lines [default: as many as fit in one response]
    pub limit: Option<u64>,
    /// Start at this byte of a long line [default: 0]
    pub from_byte: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefRead {
    pub lines: Vec<serde_json::Value>,
    pub total_lines: u64,
    /// The `offset` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Part of the text of the line at `offset`, which is too long for a reply; not valid JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

impl Response for RefRead {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.part.is_none()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    pub text: String,
    pub line_bytes: u64,
    /// The `from_byte` of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_byte: Option<u64>,
}

/// Delete old saved results
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "cleanup_temp_files",
    command = "cleanup",
    answer = "number and size of the deleted files",
    example = "loci cleanup --max-age-days 1",
    returns = CleanedUp,
)]
pub struct Cleanup {
    /// Delete saved results older than N days
    #[param(default = 7)]
    pub max_age_days: u64,
    /// Show what would be deleted
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CleanedUp {
    pub removed: u64,
    pub bytes: u64,
    /// The number of remaining files.
    pub kept: u64,
    pub kept_bytes: u64,
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

impl Response for CleanedUp {}
