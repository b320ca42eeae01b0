//! Finds symbols by name, part of a name or several words.
//!
//! Does not know how names are compared.

use super::{ROOT, SymbolMatches, UNDER, WITHOUT_TESTS, check_name};
use crate::operation::{Number, Operation, Positional, Request};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kinds of symbols: `type` is every type except modules, `function` includes methods.
pub const KINDS: &[&str] = &[
    "type",
    "class",
    "struct",
    "interface",
    "enum",
    "trait",
    "module",
    "function",
    "method",
    "field",
    "property",
    "constant",
    "macro",
];

pub const FIND: Operation = Operation {
    name: "find_symbols",
    command: "code find",
    about: "Find types and members by name, pattern, part of a name or several words",
    answer: "the symbol if the text names one, and all candidates, best match first",
    example: "loci code find bind json --kind function",
    words: Some(Positional {
        value: "TEXT",
        about: "A name, part of one, several words of it, or several names; also `*pattern*`, `file:line` and IDs",
        into: &["query"],
        number: Number::Sentence,
    }),
    params: &[
        param(
            "query",
            Shape::Text,
            "TEXT",
            "A name, part of one, several words of it, or several names; also `*pattern*`, `file:line` and IDs",
        ),
        param("kind", Shape::Choice(KINDS), "KIND", "Only symbols of this kind (function includes methods)"),
        UNDER,
        WITHOUT_TESTS,
        param("limit", Shape::Count, "N", "Maximum number of symbols [default: 20]"),
        ROOT,
    ],
    required: &["query"],
    shapes: schema_properties::<FindSymbols>,
    handy: &[],
    read_only: true,
    rows: &["candidates"],
    stats: &["kind"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FindSymbols {
    pub query: String,
    pub kind: Option<String>,
    pub under: String,
    pub without_tests: bool,
    pub limit: u64,
    pub root: Option<String>,
}

impl Default for FindSymbols {
    fn default() -> FindSymbols {
        FindSymbols {
            query: String::new(),
            kind: None,
            under: String::new(),
            without_tests: false,
            limit: 20,
            root: None,
        }
    }
}

impl Request for FindSymbols {
    const OPERATION: &'static Operation = &FIND;
    type Response = SymbolMatches;

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.query, &FIND)?;
        match self.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            Some(kind) => Err(Error::new(Code::InvalidArgument, format!("invalid `kind`: `{kind}`"))
                .hint(format!("one of: {}", KINDS.join(", ")))),
            None => Ok(()),
        }
    }
}
