//! Changes since a commit: change classes, dependents and tests.
//!
//! Does not depend on earlier requests.

use super::{Coverage, TypeAlias, TypeChange, UNDER};
use crate::operation::{Operation, Request, Response};
use crate::params::ROOT;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// List types changed since a commit by change class, with their dependents and the tests that reach them
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "code_changes",
    command = "code changes",
    answer = "changed types by name, renamed types, types that use what changed, and files of tests",
    example = "loci code changes --since HEAD~3",
    returns = ChangesFound,
    read_only,
    rows("changes"),
    stats("changeClass"),
    check,
)]
pub struct CodeChanges {
    /// Commit, branch or tag to compare the working tree with
    #[param(value = "COMMIT", default = "HEAD", word)]
    pub since: String,
    #[param(like = UNDER)]
    pub under: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl CodeChanges {
    fn check(&self) -> Result<(), Error> {
        if self.since.trim().is_empty() || self.since.starts_with('-') {
            let message = format!("`{}` is not a commit", self.since);
            return Err(Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example));
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
