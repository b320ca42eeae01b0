//! How a request for records ended: how many were read and printed, and what could not be read.
//!
//! Does not know the records.

use record::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How a question ended, besides its records.
#[derive(Debug, Default)]
pub struct Outcome {
    pub printed: u64,
    /// What could not be read; of one file, the first of many.
    pub problems: Vec<Problem>,
    /// Damaged lines, all of them.
    pub bad_lines: u64,
    /// Files that were read.
    pub files: u64,
    /// Sessions that the files hold, before the question narrowed them.
    pub sessions: u64,
    /// The project the question was about, if it was about one.
    pub project: Option<PathBuf>,
    /// Where histories were looked for: agent, place, whether anything is there.
    pub looked: Vec<(&'static str, PathBuf, bool)>,
}

/// The same as whoever printed the records is told it, from one process to another if need be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    pub printed: u64,
    /// In how many places something was lost, and in how many files.
    pub lost: usize,
    pub lost_files: usize,
    pub files: u64,
    pub sessions: u64,
    pub project: Option<PathBuf>,
    pub looked: Vec<(String, PathBuf, bool)>,
}

impl Outcome {
    pub fn ending(&self) -> Ending {
        let lost: BTreeSet<_> = self.problems.iter().filter(|p| p.kind.is_loss()).map(|p| &p.file).collect();
        let looked =
            self.looked.iter().map(|(name, path, there)| ((*name).to_string(), path.clone(), *there));
        Ending {
            printed: self.printed,
            lost: self.lost(),
            lost_files: lost.len(),
            files: self.files,
            sessions: self.sessions,
            project: self.project.clone(),
            looked: looked.collect(),
        }
    }

    /// In how many places something was lost.
    pub fn lost(&self) -> usize {
        let line = |p: &&Problem| matches!(p.kind, ProblemKind::BadLine | ProblemKind::LineTooLong);
        let others = self.problems.iter().filter(|p| p.kind.is_loss() && !line(p)).count();
        others + self.bad_lines as usize
    }
}
