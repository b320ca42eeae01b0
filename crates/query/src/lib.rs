//! Questions over records: a jq program, a pattern, sequences of tools, failures by name, files by use.
//!
//! Knows records, in the order they are handed in. Knows nothing of files on disk, agents or sockets.

pub mod child;
pub mod failures;
pub mod idle;
pub mod pattern;
pub mod program;
pub mod sequences;
pub mod stats;
pub mod tally;
pub mod touched;

use record::{Stamp, Status};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the pattern is not a regular expression: {0}")]
    Pattern(String),
    #[error("the jq filter is not valid: {0}")]
    Filter(String),
    #[error("the jq filter failed: {0}")]
    Failed(String),
    #[error("the jq filter was stopped: {0}")]
    Stopped(String),
    #[error("the jq filter could not be run: {0}")]
    Child(String),
}

/// What the questions here need to know of a tool call.
#[derive(Clone, Debug)]
pub struct Used {
    pub session: Arc<str>,
    /// Calls of one session or of one subagent in it share a number.
    pub run: u64,
    pub turn: u32,
    pub at: Stamp,
    pub tool: Arc<str>,
    pub status: Status,
}
