//! The map of a source tree.
//!
//! Does not know how symbols are ranked.

use super::{Coverage, ROOT};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const BUDGET: u64 = 2000;
const MAX_BUDGET: u64 = 100_000;

pub const MAP: Operation = Operation {
    name: "code_map",
    command: "code map",
    about: "Show the most important types and functions of a source tree, within a token budget",
    answer: "signatures with line numbers, grouped by file, the most important file first; with packages, the folders with their sizes and what they use",
    example: "loci code map --budget 2000",
    words: Some(Positional {
        value: "FOLDER",
        about: "Only below this folder of the tree",
        into: &["under"],
        number: Number::One,
    }),
    params: &[
        param("under", Shape::Text, "FOLDER", "Only below this folder of the tree"),
        param("budget", Shape::Count, "TOKENS", "Maximum number of tokens [default: 2000]"),
        param("packages", Shape::Flag, "", "Add the folders with their sizes and dependencies"),
        ROOT,
    ],
    required: &[],
    shapes: schema_properties::<CodeMap>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeMap {
    pub under: String,
    pub budget: u64,
    pub packages: bool,
    pub root: Option<String>,
}

impl Default for CodeMap {
    fn default() -> CodeMap {
        CodeMap { under: String::new(), budget: BUDGET, packages: false, root: None }
    }
}

impl Request for CodeMap {
    const OPERATION: &'static Operation = &MAP;
    type Response = MapDrawn;

    fn check_params(&self) -> Result<(), Error> {
        if (1..=MAX_BUDGET).contains(&self.budget) {
            return Ok(());
        }
        Err(Error::new(Code::InvalidArgument, format!("`budget` must be from 1 to {MAX_BUDGET}"))
            .hint(MAP.example))
    }
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
