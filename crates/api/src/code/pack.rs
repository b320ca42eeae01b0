//! Packs: the outlines of several types in one file.
//!
//! Does not know where the `.loci` directory of a tree is.

use super::{Coverage, FILTER, TypeRef};
use crate::operation::{Operation, Response, shell_quote};
use crate::params::ROOT;
use crate::search::is_false;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// The default budget of a pack or window: a sixteenth of the 128,000 tokens of a common context window.
pub(super) const BUDGET: u64 = 8000;

/// Write outlines of matching types and their dependencies to one file, within a token budget
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "build_pack",
    command = "code pack",
    answer = "the path of the pack, its types (dependencies first), its token count, and the types that did not fit",
    example = "loci code pack core --filter 'namespace:Memo.Core' --budget 4000",
    returns = PackBuilt,
    rows("types"),
    check,
)]
pub struct BuildPack {
    /// Name of the pack: letters, digits and - _ .
    #[param(value = "NAME", required = "name", word, check = check_pack_name)]
    pub name: String,
    #[param(like = FILTER, required = "")]
    pub filter: String,
    /// Maximum number of tokens
    #[param(value = "TOKENS", default = 8000, range = 1..=u64::MAX)]
    pub budget: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl BuildPack {
    fn check(&self) -> Result<(), Error> {
        if !self.filter.trim().is_empty() {
            return Ok(());
        }
        let line = format!("loci code pack {0} --filter type:{0}", shell_quote(&self.name));
        Err(Error::new(Code::InvalidArgument, "missing `filter`: which types to pack").hint(line))
    }
}

/// Validates the name of a pack: it is a file name and must not lead out of its directory.
pub fn check_pack_name(_: &str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with('.') && name.len() <= 100 {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("invalid pack name `{name}`"))
        .hint("use at most 100 letters, digits and - _ . without a leading dot"))
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

/// List the packs of a source tree
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_packs",
    command = "code packs",
    answer = "packs by name, with filter, token count, types and the time of the last build",
    example = "loci code packs",
    returns = Packs,
    read_only,
    rows("packs"),
)]
pub struct ListPacks {
    #[param(like = ROOT)]
    pub root: Option<String>,
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
