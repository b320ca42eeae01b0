//! The note that a model wrote about a type and its freshness. Requesting a missing or stale note queues it.
//!
//! Does not write notes, and does not define their content.

use super::{Coverage, PATH, SymbolRef, TypeRef};
use crate::operation::{Operation, Response};
use crate::params::ROOT;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Semantic {
    pub resolved: SymbolRef,
    /// `none`, `pending` (queued), `generating` (being written), `cached` or `stale`.
    pub state: String,
    /// Why it is stale, or will be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its path, existing or not, relative to the root of the tree.
    pub path: String,
    /// The other types of the note, which form a dependency cycle with this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<TypeRef>,
    /// Why the last attempt to write it failed.
    #[serde(rename = "lastError", skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The next step: how the note is written or refreshed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub coverage: Coverage,
}

impl Response for Semantic {
    fn is_empty(&self) -> bool {
        self.text.is_none()
    }
}

/// Show the model-written note about a type (requests one if it is missing or stale)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "get_semantic",
    command = "code semantic",
    answer = "the note as text, and its state: none, pending, generating, cached, or stale with the reasons",
    example = "loci code semantic NodeStore",
    returns = Semantic,
    read_only,
)]
pub struct GetSemantic {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}
