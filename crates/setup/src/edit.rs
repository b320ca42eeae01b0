//! One edit of a settings text: the inserted text with its position, and why an edit is refused.
//!
//! Does not know the formats.

use serde::{Deserialize, Serialize};

/// Text of ours at a byte offset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Insertion {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// Why a text is left unchanged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("syntax error: {0}")]
    Syntax(String),
    #[error("`{0}` has an unexpected type")]
    Shape(String),
    #[error("it is written in a way that cannot be edited safely")]
    Unsafe,
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// The line ending the text uses.
pub(crate) fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
