//! Analyses over records: a jq program, a pattern, sequences of tools, failures by signature, files by use.
//!
//! Receives records in order. Does not know files on disk, agents or sockets.

pub mod child;
pub mod failures;
pub mod file_usage;
pub mod idle;
pub mod pattern;
pub mod program;
pub mod sequences;
pub mod stats;
pub mod summary;
pub mod tally;

use record::{Stamp, Status};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("invalid regular expression: {0}")]
    Pattern(String),
    #[error("invalid jq filter: {0}")]
    Filter(String),
    #[error("jq filter failed: {0}")]
    Failed(String),
    #[error("jq filter stopped: {0}")]
    Stopped(String),
    #[error("cannot run the jq filter: {0}")]
    Child(String),
}

/// The parts of a tool call that the analyses here use.
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub session: Arc<str>,
    /// Calls of one session or of one subagent in it share a number.
    pub run: u64,
    pub turn: u32,
    pub at: Stamp,
    pub tool: Arc<str>,
    pub status: Status,
}
