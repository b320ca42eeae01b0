//! Reads the histories of the agents that need no parser of their own kind: a module per agent turns what it stores into
//! messages, calls and results, through the readers of `transcript`.
//!
//! Nothing here writes to, locks or renames an agent's files. Does not know which agents there are: `sources` has the
//! table.

mod acp;
pub mod aider;
pub mod amp;
pub mod antigravity;
pub mod auggie;
mod blocks;
pub mod cline;
pub mod cn;
pub mod copilot;
pub mod crush;
pub mod cursor;
pub mod droid;
mod encrypted;
pub mod export;
pub mod goose;
pub mod gptme;
pub mod grok;
pub mod hermes;
pub mod import;
pub mod junie;
pub mod kimi;
pub mod kiro;
pub mod openhands;
pub mod pi;
pub mod qwen;
pub mod roo;
pub mod vibe;
pub mod vscode;
pub mod warp;

pub use encrypted::find_encrypted;
