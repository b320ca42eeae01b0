//! The map of a source tree.
//!
//! Does not know how symbols are ranked.

use super::Coverage;
use crate::operation::{Operation, Response};
use crate::params::ROOT;
use serde::{Deserialize, Serialize};

const MAX_BUDGET: u64 = 100_000;

/// Show the most important types and functions of a source tree, within a token budget
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "code_map",
    command = "code map",
    answer = "signatures with line numbers, grouped by file, the most important file first; with packages, the folders with their sizes and what they use",
    example = "loci code map --budget 2000",
    returns = MapDrawn,
    read_only,
    page,
)]
pub struct CodeMap {
    /// Only below this folder of the tree
    #[param(value = "FOLDER", word)]
    pub under: String,
    /// Maximum number of tokens
    #[param(value = "TOKENS", default = 2000, range = 1..=MAX_BUDGET)]
    pub budget: u64,
    /// Add the folders with their sizes and dependencies
    pub packages: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MapDrawn {
    pub map: String,
    /// Counted with the vocabulary of a real model; an estimate for others.
    pub tokens: u64,
    pub budget: u64,
    /// The types and modules shown, and all of the tree or folder.
    pub shown: u64,
    pub total: u64,
    /// By path; empty unless they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<Package>,
    pub coverage: Coverage,
}

/// A folder with source files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Package {
    /// Below the root of the tree; empty for the root itself.
    pub path: String,
    pub files: u64,
    pub lines: u64,
    pub types: u64,
    /// The names of its most important types.
    pub leading: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
    /// 0 if it uses no other package, otherwise one more than the highest that it uses.
    pub layer: u64,
    /// Packages that use each other have the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<PackageUse>,
}

/// A package that another uses, with the number of references.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PackageUse {
    pub path: String,
    pub references: u64,
}

impl Response for MapDrawn {
    fn is_empty(&self) -> bool {
        self.shown == 0
    }
}
