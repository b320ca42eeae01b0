//! Updating the code index and the files in `.loci`, which people and git can see.
//!
//! Reports the work done: files read, parsed and written, and types hashed.

use super::Coverage;
use crate::operation::{Operation, Response};
use crate::params::ROOT;
use serde::{Deserialize, Serialize};

/// Update the code index, and write outlines and hashes of types to `.loci`
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "index_code",
    command = "code index",
    answer = "types changed since the last run, each with its change class (Structure, Internal, Docs, …), and the work done",
    example = "loci code index --root .",
    returns = IndexedCode,
    rows("changes"),
    stats("changeClass"),
)]
pub struct IndexCode {
    /// Run the installed SCIP indexers of the tree first (scip-typescript, scip-python, rust-analyzer, …) and use their
    /// references; `loci edit trust` allows it
    pub scip: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IndexedCode {
    pub root: String,
    pub types_indexed: u64,
    /// Types that changed since the tree was last read.
    pub changes: Vec<TypeChange>,
    /// Renamed types.
    pub aliases: Vec<TypeAlias>,
    /// What each indexer did, if any was to be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexers: Vec<IndexerResult>,
    pub work: Work,
    pub coverage: Coverage,
}

/// One run of an indexer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IndexerResult {
    pub indexer: String,
    pub language: String,
    /// Relative to the root; empty for the root.
    pub folder: String,
    pub files: u64,
    /// Definitions and references.
    pub occurrences: u64,
    /// Why there is no new index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Response for IndexedCode {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeChange {
    pub path: String,
    pub type_id: String,
    /// `Structure`, `PublicBehavior`, `Internal`, `Docs`, `Cosmetic`; `Added` or `Removed`; `Structure-Dependency` where only
    /// the structure of something it uses changed.
    pub change_class: String,
    /// Where its name is declared now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "super::is_no_line")]
    pub line: u32,
    /// The changed members; all of them if the type was added since a commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<ChangedMember>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedMember {
    /// Its name with the types of its parameters.
    pub key: String,
    pub change_class: String,
    /// `Added`, `Removed` or `Changed`.
    pub change: String,
    /// Where its name is declared now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "super::is_no_line")]
    pub line: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeAlias {
    pub old: String,
    pub new: String,
    pub reason: String,
}

/// The work done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Work {
    pub files_parsed: u64,
    pub types_hashed: u64,
    pub source_bytes_read: u64,
    pub kept_bytes_read: u64,
    pub kept_bytes_written: u64,
    /// Files in `.loci` whose content changed.
    pub files_written: u64,
    pub file_bytes_written: u64,
}
