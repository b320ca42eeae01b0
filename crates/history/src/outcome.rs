//! The outcome of a request for records: how many were read and printed, and what could not be read.
//!
//! Does not know the records.

use record::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The outcome of a request, without its records.
#[derive(Debug, Default)]
pub struct Outcome {
    pub printed: u64,
    /// The number of matching records, if it is known without reading them all.
    pub total: Option<u64>,
    /// What could not be read; only the first of many problems in one file.
    pub problems: Vec<Problem>,
    /// The number of all damaged lines.
    pub bad_lines: u64,
    /// Files that were read.
    pub files: u64,
    /// Sessions in those files, before filters.
    pub sessions: u64,
    /// The project the request was limited to.
    pub project: Option<PathBuf>,
    /// Where transcripts were searched for: source, path, whether the path exists.
    pub looked: Vec<(&'static str, PathBuf, bool)>,
}

/// A summary of an [`Outcome`] for the process that prints the records; can be sent from the daemon to a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeSummary {
    pub printed: u64,
    pub total: Option<u64>,
    /// Unreadable places, and the number of files they are in.
    pub lost: usize,
    pub lost_files: usize,
    pub files: u64,
    pub sessions: u64,
    pub project: Option<PathBuf>,
    pub looked: Vec<(String, PathBuf, bool)>,
}

impl Outcome {
    pub fn summarize(&self) -> OutcomeSummary {
        let lost: BTreeSet<_> = self.problems.iter().filter(|p| p.kind.is_loss()).map(|p| &p.file).collect();
        let looked =
            self.looked.iter().map(|(name, path, there)| ((*name).to_string(), path.clone(), *there));
        OutcomeSummary {
            printed: self.printed,
            total: self.total,
            lost: self.count_lost(),
            lost_files: lost.len(),
            files: self.files,
            sessions: self.sessions,
            project: self.project.clone(),
            looked: looked.collect(),
        }
    }

    /// The number of places that could not be read.
    pub fn count_lost(&self) -> usize {
        let line = |p: &&Problem| matches!(p.kind, ProblemKind::BadLine | ProblemKind::LineTooLong);
        let others = self.problems.iter().filter(|p| p.kind.is_loss() && !line(p)).count();
        others + self.bad_lines as usize
    }
}
