//! `read_ref` and `cleanup_temp_files`: read and delete saved results, which were too large for a reply.
//!
//! Does not know where they are stored.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const READ: Operation = Operation {
    name: "read_ref",
    command: "ref",
    about: "Read a saved large result",
    answer: "lines in order, one record each, as many as fit in one response, and the offset of the next line",
    example: "loci ref 975e66ab-20261115T081200-query_tools-0123456789abcdef0123456789abcdef.jsonl --offset 100",
    words: Some(Positional {
        value: "REF",
        about: "`file_ref.path`, or its file name",
        into: &["ref"],
        number: Number::One,
    }),
    params: &[
        param("ref", Shape::Text, "REF", "`file_ref.path`, or its file name"),
        param("offset", Shape::Count, "N", "Skip the first N lines"),
        param(
            "limit",
            Shape::Count,
            "N",
            "Maximum number of lines [default: as many as fit in one response]",
        ),
        param("from_byte", Shape::Count, "N", "Start at this byte of a long line [default: 0]"),
    ],
    required: &["ref"],
    shapes: schema_properties::<ReadRef>,
    handy: &[],
    read_only: true,
    rows: &["lines"],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadRef {
    #[serde(rename = "ref")]
    pub name: String,
    pub offset: u64,
    pub limit: Option<u64>,
    pub from_byte: u64,
}

impl Request for ReadRef {
    const OPERATION: &'static Operation = &READ;
    type Response = RefRead;

    fn check_params(&self) -> Result<(), Error> {
        if self.name.trim().is_empty() {
            return Err(
                Error::new(Code::InvalidArgument, "missing `ref`").hint("pass the `path` of a file_ref")
            );
        }
        Ok(())
    }
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

pub const CLEANUP: Operation = Operation {
    name: "cleanup_temp_files",
    command: "cleanup",
    about: "Delete old saved results",
    answer: "number and size of the deleted files",
    example: "loci cleanup --max-age-days 1",
    words: None,
    params: &[
        param("max_age_days", Shape::Count, "N", "Delete saved results older than N days [default: 7]"),
        param("dry_run", Shape::Flag, "", "Show what would be deleted"),
    ],
    required: &[],
    shapes: schema_properties::<Cleanup>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cleanup {
    pub max_age_days: u64,
    pub dry_run: bool,
}

impl Default for Cleanup {
    fn default() -> Cleanup {
        Cleanup { max_age_days: 7, dry_run: false }
    }
}

impl Request for Cleanup {
    const OPERATION: &'static Operation = &CLEANUP;
    type Response = CleanedUp;
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
