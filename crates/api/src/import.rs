//! Importing histories of agents that Loci does not read by itself.
//!
//! Does not know the forms that can be imported: [docs/concepts/import.md](../../../docs/concepts/import.md) describes them.

use crate::operation::{Operation, Response};
use serde::{Deserialize, Serialize};

/// Import the history of an agent that Loci does not read by itself
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "import",
    command = "import",
    answer = "the form of the file, its sessions with the number of messages and calls, and what could not be read",
    example = "loci import conversations.json --dry-run",
    returns = HistoryImported,
    rows("sessions"),
    stats("change"),
)]
pub struct ImportRequest {
    /// JSON lines, a recorded stream of ACP messages, or conversations.json of claude.ai or ChatGPT
    #[param(value = "FILE", required = "file name", word)]
    pub file: String,
    /// Show what would be imported
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryImported {
    /// `records`, `ACP`, `claude.ai` or `ChatGPT`, joined by commas if the file has several.
    pub form: String,
    /// In the order in which they begin in the file.
    pub sessions: Vec<ImportedSession>,
    /// Lines without conversation content.
    pub ignored: u64,
    /// Lines of a type that Loci does not know; they are imported and skipped by every reader.
    pub unknown: u64,
    /// What could not be read and was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Sessions that were forgotten here and stay forgotten.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten: u64,
    /// Where they are now.
    pub folder: String,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde requires
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Response for HistoryImported {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    fn is_incomplete(&self) -> bool {
        !self.problems.is_empty() || self.unknown > 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportedSession {
    pub chat_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub messages: u64,
    pub calls: u64,
    pub change: ImportChange,
}

/// Compared with what was imported before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportChange {
    #[default]
    New,
    Changed,
    Unchanged,
}
