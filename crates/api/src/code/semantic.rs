//! What a model wrote about a type, and whether it still holds; asking for it is asking for it to be written.
//!
//! Does not write notes, and does not say what one should hold.

use super::{Coverage, ONE, ROOT, SymbolRef, TypeRef, about_one, path_param};
use crate::Error;
use crate::operation::{Operation, Request, Response};
use crate::schema::properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const SEMANTIC: Operation = Operation {
    name: "get_semantic",
    command: "code semantic",
    about: "Show the note about what a type is for, and whether it still holds; one that is missing or stale is asked for",
    answer: "the note as text, and its state: none, pending, generating, cached, or stale with why",
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
    GetSemantic = SEMANTIC -> Semantic;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Semantic {
    pub resolved: SymbolRef,
    /// `none`, `pending` (asked for), `generating` (being written), `cached` or `stale`.
    pub state: String,
    /// What makes it stale, or will.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it lies, or would lie, from the root of the tree.
    pub path: String,
    /// The other types that it is about, which hold this one in a circle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<TypeRef>,
    /// Why a model could not write it when it was asked last.
    #[serde(rename = "lastError", skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What happens next: how a note comes to be, or to be true again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub coverage: Coverage,
}

impl Response for Semantic {
    fn is_empty(&self) -> bool {
        self.text.is_none()
    }
}
