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
    answer: "signatures with line numbers, grouped by file, the most important file first",
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
    pub root: Option<String>,
}

impl Default for CodeMap {
    fn default() -> CodeMap {
        CodeMap { under: String::new(), budget: BUDGET, root: None }
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
    pub coverage: Coverage,
}

impl Response for MapDrawn {
    fn is_empty(&self) -> bool {
        self.shown == 0
    }
}
