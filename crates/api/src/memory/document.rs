//! Export and import of the whole memory as one document, for backups and other machines.
//!
//! Contains no transcripts: evidence is referenced, not quoted.

use crate::operation::{Operation, Response};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const FORMAT: &str = "loci-memory";
pub const VERSION: u32 = 1;

/// Print all memory as JSON, for `loci memory import`
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "export_memory",
    command = "memory export",
    answer = "one document: sessions and facts, ordered by ID",
    example = "loci memory export",
    returns = MemoryDocument,
    read_only,
)]
pub struct ExportMemory {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryDocument {
    /// `loci-memory`.
    pub format: String,
    pub version: u32,
    pub sessions: Vec<KeptSession>,
    pub facts: Vec<KeptFact>,
}

impl Response for MemoryDocument {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.facts.is_empty()
    }
}

/// A text with its origin and time in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptWords {
    pub text: String,
    pub by: String,
    pub at: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptTag {
    pub tag: String,
    pub by: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptSession {
    pub source: String,
    pub chat_id: String,
    pub project: String,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub seen_by_model: Option<i64>,
    pub name: KeptWords,
    pub summary: KeptWords,
    pub tags: Vec<KeptTag>,
    pub removed_tags: BTreeSet<String>,
    pub pinned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptEvidence {
    pub source: String,
    pub chat_id: String,
    pub message_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptFact {
    pub id: String,
    pub text: String,
    pub state: String,
    pub origin: String,
    pub evidence: Vec<KeptEvidence>,
    pub symbols: BTreeSet<String>,
    pub project: String,
    pub pinned: bool,
    pub edited: bool,
    /// When a person last changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<i64>,
    pub made_at: Option<i64>,
    /// What it is: decision, rule, preference, constraint, cause or open. Empty in documents of earlier versions.
    #[serde(default)]
    pub kind: String,
    /// The ID of the fact that replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// Import exported memory (local edits and deletions are kept)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "import_memory",
    command = "memory import",
    answer = "numbers of new or changed sessions and facts",
    example = "loci memory import memory.json",
    returns = MemoryImported,
)]
pub struct ImportMemory {
    /// File with the output of `loci memory export`
    #[param(value = "FILE", required = "file name", word)]
    pub file: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryImported {
    pub sessions: u64,
    pub facts: u64,
    pub unchanged: u64,
    /// Skipped because they were forgotten here.
    pub forgotten: u64,
}

impl Response for MemoryImported {}
