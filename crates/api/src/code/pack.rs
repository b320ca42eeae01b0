//! Packs: the outlines of several types in one file.
//!
//! Does not know where the `.loci` directory of a tree is.

use super::{Coverage, ROOT, TypeRef, check_name};
use crate::operation::{Number, Operation, Positional, Request, Response, shell_quote};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME_OF: &str = "Name of the pack: letters, digits and - _ .";

pub(super) const FILTER: Param = param(
    "filter",
    Shape::Text,
    "FILTER",
    "Type filter: namespace:, type:, access:, tag: or depends: with * and ?, combined with AND, OR, ! and parentheses",
);

/// The default budget of a pack or window: a sixteenth of the 128,000 tokens of a common context window.
pub(super) const BUDGET: u64 = 8000;

pub const BUILD: Operation = Operation {
    name: "build_pack",
    command: "code pack",
    about: "Write outlines of matching types and their dependencies to one file, within a token budget",
    answer: "the path of the pack, its types (dependencies first), its token count, and the types that did not fit",
    example: "loci code pack core --filter 'namespace:Memo.Core' --budget 4000",
    words: Some(Positional { value: "NAME", about: NAME_OF, into: &["name"], number: Number::One }),
    params: &[
        param("name", Shape::Text, "NAME", NAME_OF),
        FILTER,
        param("budget", Shape::Count, "TOKENS", "Maximum number of tokens [default: 8000]"),
        ROOT,
    ],
    required: &["name", "filter"],
    shapes: schema_properties::<BuildPack>,
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

    fn check_params(&self) -> Result<(), Error> {
        check_pack_name(&self.name)?;
        if self.filter.trim().is_empty() {
            let line = format!("loci code pack {0} --filter type:{0}", shell_quote(&self.name));
            return Err(Error::new(Code::InvalidArgument, "missing `filter`: which types to pack").hint(line));
        }
        check_budget(self.budget)
    }
}

/// Validates the name of a pack: it is a file name and must not lead out of its directory.
pub fn check_pack_name(name: &str) -> Result<(), Error> {
    check_name(name, &BUILD)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.chars().all(plain) && !name.starts_with('.') && name.len() <= 100 {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("invalid pack name `{name}`"))
        .hint("use at most 100 letters, digits and - _ . without a leading dot"))
}

pub(super) fn check_budget(budget: u64) -> Result<(), Error> {
    if budget > 0 {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, "`budget` must be at least 1").hint("--budget 4000"))
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackBuilt {
    pub name: String,
    /// Relative to the root of the tree.
    pub path: String,
    /// Dependencies before the types that use them.
    pub types: Vec<TypeRef>,
    pub tokens: u64,
    pub budget: u64,
    /// Selected by the filter or used by a selected type, but over budget.
    pub left_out: Vec<TypeRef>,
    /// The file already had this content.
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
    about: "List the packs of a source tree",
    answer: "packs by name, with filter, token count, types and the time of the last build",
    example: "loci code packs",
    words: None,
    params: &[ROOT],
    required: &[],
    shapes: schema_properties::<ListPacks>,
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

/// The metadata of a pack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackInfo {
    pub name: String,
    pub path: String,
    pub filter: String,
    pub types: u64,
    pub tokens: u64,
    /// When its content last changed; packs of earlier versions do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_build: Option<String>,
    /// The types of the pack that still exist.
    pub type_ids: Vec<String>,
}
