//! Packs: the outlines of several types in one file, to be handed over together.
//!
//! Does not know where the folder of a tree is.

use super::{Coverage, ROOT, TypeRef, is_named};
use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::search::is_false;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME_OF: &str = "What the pack is called: letters, digits and - _ .";

pub(super) const FILTER: Param = param(
    "filter",
    Shape::Text,
    "FILTER",
    "Which types: namespace: type: access: tag: depends:, joined by AND, OR, ! and brackets",
);

/// What a pack or a window may cost unless it is said: a sixteenth of the 128,000 tokens that a model commonly takes.
pub(super) const BUDGET: u64 = 8000;

pub const BUILD: Operation = Operation {
    name: "build_pack",
    command: "code pack",
    about: "Put the outlines of several types and of what they use into one file, within a budget of tokens",
    answer: "where the pack lies, its types so that what is used stands first, its tokens, and what did not fit",
    example: "loci code pack core --filter 'namespace:Memo.Core' --budget 4000",
    words: Some(Words { value: "NAME", about: NAME_OF, into: &["name"], number: Number::One }),
    params: &[
        param("name", Shape::Text, "NAME", NAME_OF),
        FILTER,
        param("budget", Shape::Count, "TOKENS", "At most so many tokens [default: 8000]"),
        ROOT,
    ],
    required: &["name", "filter"],
    shapes: properties::<BuildPack>,
    handy: &[],
    read_only: false,
    rows: &["types"],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BuildPack {
    pub name: String,
    pub filter: String,
    pub budget: u64,
    pub root: Option<String>,
}

impl Default for BuildPack {
    fn default() -> BuildPack {
        BuildPack { name: String::new(), filter: String::new(), budget: BUDGET, root: None }
    }
}

impl Request for BuildPack {
    const OPERATION: &'static Operation = &BUILD;
    type Response = PackBuilt;

    fn check(&self) -> Result<(), Error> {
        is_pack(&self.name)?;
        if self.filter.trim().is_empty() {
            return Err(Error::new(Code::InvalidArgument, "which types? `filter` is missing")
                .hint("--filter 'namespace:Memo.Core'"));
        }
        is_budget(self.budget)
    }
}

/// Whether a pack may be called so: its name is that of a file, and must not lead out of its folder.
pub fn is_pack(name: &str) -> Result<(), Error> {
    is_named(name, &BUILD)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.chars().all(plain) && !name.starts_with('.') && name.len() <= 100 {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("a pack cannot be called `{name}`"))
        .hint("letters, digits and - _ . make a name, at most 100 of them, the first no dot"))
}

pub(super) fn is_budget(budget: u64) -> Result<(), Error> {
    if budget > 0 {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, "a budget of no tokens holds nothing").hint("--budget 4000"))
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackBuilt {
    pub name: String,
    /// From the root of the tree.
    pub path: String,
    /// What is used stands before what uses it.
    pub types: Vec<TypeRef>,
    pub tokens: u64,
    pub budget: u64,
    /// Named by the filter or used by what is, and over budget.
    pub left_out: Vec<TypeRef>,
    /// The file held just that already.
    #[serde(skip_serializing_if = "is_false")]
    pub reused: bool,
    pub coverage: Coverage,
}

impl Response for PackBuilt {
    fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

pub const LIST: Operation = Operation {
    name: "list_packs",
    command: "code packs",
    about: "List the packs that were built",
    answer: "packs by name, with the filter each was built by and what it costs in tokens",
    example: "loci code packs",
    words: None,
    params: &[ROOT],
    required: &[],
    shapes: properties::<ListPacks>,
    handy: &[],
    read_only: true,
    rows: &["packs"],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListPacks {
    pub root: Option<String>,
}

impl Request for ListPacks {
    const OPERATION: &'static Operation = &LIST;
    type Response = Packs;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Packs {
    pub packs: Vec<PackInfo>,
}

impl Response for Packs {
    fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }
}

/// What a pack says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PackInfo {
    pub name: String,
    pub path: String,
    pub filter: String,
    pub types: u64,
    pub tokens: u64,
}
