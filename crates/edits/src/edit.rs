//! What an edit consists of: ranges of text to replace, by file, and places to tell about.
//!
//! Does not know how they were found or how they are written.

use serde::{Deserialize, Serialize};

/// Replaces a range of the decoded text of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TextEdit {
    pub from: u32,
    pub to: u32,
    pub text: String,
}

/// The edits of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// Relative to the root of the tree.
    pub path: String,
    /// The digest of its content when the edit was planned.
    pub digest: u64,
    /// Sorted, without overlap.
    pub edits: Vec<TextEdit>,
    /// The new path, if the file is renamed.
    pub moved_to: Option<String>,
    /// Whether the edit creates the file.
    #[serde(default)]
    pub is_new: bool,
}

/// A place in a file, and what is said about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub text: String,
    pub reason: String,
}
