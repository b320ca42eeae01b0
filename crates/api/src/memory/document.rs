//! Export and import of the whole memory as one document, for backups and other machines.
//!
//! Contains no transcripts: evidence is referenced, not quoted.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const FORMAT: &str = "loci-memory";
pub const VERSION: u32 = 1;

pub const EXPORT: Operation = Operation {
    name: "export_memory",
    command: "memory export",
    about: "Print all memory as JSON, for `loci memory import`",
    answer: "one document: sessions and facts, ordered by ID",
    example: "loci memory export",
    words: None,
    params: &[],
    required: &[],
    shapes: schema_properties::<ExportMemory>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExportMemory {}

impl Request for ExportMemory {
    const OPERATION: &'static Operation = &EXPORT;
    type Response = MemoryDocument;
}

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

pub const IMPORT: Operation = Operation {
    name: "import_memory",
    command: "memory import",
    about: "Import exported memory (local edits and deletions are kept)",
    answer: "numbers of new or changed sessions and facts",
    example: "loci memory import memory.json",
    words: Some(Positional {
        value: "FILE",
        about: "File with the output of `loci memory export`",
        into: &["file"],
        number: Number::One,
    }),
    params: &[param("file", Shape::Text, "FILE", "File with the output of `loci memory export`")],
    required: &["file"],
    shapes: schema_properties::<ImportMemory>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportMemory {
    pub file: String,
}

impl Request for ImportMemory {
    const OPERATION: &'static Operation = &IMPORT;
    type Response = MemoryImported;

    fn check_params(&self) -> Result<(), Error> {
        if self.file.trim().is_empty() {
            return Err(Error::new(Code::InvalidArgument, "missing file name").hint(IMPORT.example));
        }
        Ok(())
    }
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
