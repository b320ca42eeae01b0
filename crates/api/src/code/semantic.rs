//! What a model wrote about a type, and whether it still holds.
//!
//! Does not write notes, and does not say what one should hold.

use super::{Coverage, ONE, ROOT, SymbolRef, about_one, path_param};
use crate::Error;
use crate::ops::{Operation, Request};
use crate::schema::properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const SEMANTIC: Operation = Operation {
    name: "get_semantic",
    command: "code semantic",
    about: "Show the note about what a type is for, and whether the type has changed since it was written",
    answer: "the note as text, and its state: none, cached, or stale with why",
    example: "loci code semantic NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<GetSemantic>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

about_one! {
    GetSemantic = SEMANTIC;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Semantic {
    pub resolved: SymbolRef,
    /// `none`, `cached` or `stale`.
    pub state: String,
    /// What makes it stale.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it lies, or would lie, from the root of the tree.
    pub path: String,
    /// How a note comes to be, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub coverage: Coverage,
}
