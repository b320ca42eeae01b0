//! Bringing what is known of a code base up to date, and writing it down where people and git see it.
//!
//! Says what that has cost: what was read, parsed, taken hashes of and written.

use super::{Coverage, ROOT};
use crate::operation::{Operation, Request, Response};
use crate::schema::properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const INDEX: Operation = Operation {
    name: "index_code",
    command: "code index",
    about: "Bring what is known of the code base up to date, and keep it in `.loci`: an outline and hashes for each type",
    answer: "what changed since anybody last asked about the tree and how deep, and what bringing it up to date has cost",
    example: "loci code index",
    words: None,
    params: &[ROOT],
    required: &[],
    shapes: properties::<IndexCode>,
    handy: &[],
    read_only: false,
    rows: &["changes"],
    stats: &["changeClass"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IndexCode {
    pub root: Option<String>,
}

impl Request for IndexCode {
    const OPERATION: &'static Operation = &INDEX;
    type Response = IndexedCode;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IndexedCode {
    pub root: String,
    pub types_indexed: u64,
    /// Types that are not what they were when the tree was read last.
    pub changes: Vec<TypeChange>,
    /// Types that have another name now.
    pub aliases: Vec<TypeAlias>,
    pub work: Work,
    pub coverage: Coverage,
}

impl Response for IndexedCode {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeChange {
    pub path: String,
    pub type_id: String,
    /// `Structure`, `PublicBehavior`, `Internal`, `Docs`, `Cosmetic`; `Added` or `Removed`; `Structure-Dependency` where only
    /// something it uses has another structure.
    pub change_class: String,
    /// The members that differ, each with what its change means.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeAlias {
    pub old: String,
    pub new: String,
    pub reason: String,
}

/// What it has cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Work {
    pub files_parsed: u64,
    pub types_hashed: u64,
    pub source_bytes_read: u64,
    pub kept_bytes_read: u64,
    pub kept_bytes_written: u64,
    /// Files in `.loci` that have other bytes now.
    pub files_written: u64,
    pub file_bytes_written: u64,
}
