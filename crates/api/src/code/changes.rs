//! Changes since a commit: change classes, dependents and tests.
//!
//! Does not depend on earlier requests.

use super::{Coverage, ROOT, TypeAlias, TypeChange, UNDER};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const COMMIT: &str = "Commit, branch or tag to compare the working tree with [default: HEAD]";

pub const CHANGES: Operation = Operation {
    name: "code_changes",
    command: "code changes",
    about: "List types changed since a commit by change class, with their dependents and the tests that reach them",
    answer: "changed types by name, renamed types, types that use what changed, and files of tests",
    example: "loci code changes --since HEAD~3",
    words: Some(Positional { value: "COMMIT", about: COMMIT, into: &["since"], number: Number::One }),
    params: &[param("since", Shape::Text, "COMMIT", COMMIT), UNDER, ROOT],
    required: &[],
    shapes: schema_properties::<CodeChanges>,
    handy: &[],
    read_only: true,
    rows: &["changes"],
    stats: &["changeClass"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeChanges {
    pub since: String,
    pub under: String,
    pub root: Option<String>,
}

impl Default for CodeChanges {
    fn default() -> CodeChanges {
        CodeChanges { since: "HEAD".to_string(), under: String::new(), root: None }
    }
}

impl Request for CodeChanges {
    const OPERATION: &'static Operation = &CHANGES;
    type Response = ChangesFound;

    fn check_params(&self) -> Result<(), Error> {
        if self.since.trim().is_empty() || self.since.starts_with('-') {
            let message = format!("`{}` is not a commit", self.since);
            return Err(Error::new(Code::InvalidArgument, message).hint(CHANGES.example));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangesFound {
    /// The commit, in full.
    pub since: String,
    /// Source files that differ from it, committed or not.
    pub files: Vec<String>,
    pub changes: Vec<TypeChange>,
    /// Renamed types.
    pub aliases: Vec<TypeAlias>,
    /// Types that use something whose structure changed.
    pub dependents: Vec<String>,
    /// Files with tests that reach a changed type.
    pub tests: Vec<String>,
    pub coverage: Coverage,
}

impl Response for ChangesFound {}
