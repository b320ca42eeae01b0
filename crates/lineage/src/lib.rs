//! Joins the edits of sessions with a git repository.
//!
//! [`session_edits`] reads the edits of a repository's sessions, [`code_history`] asks git how a piece of code came about and [`kept_git`] keeps what it said, `provenance` matches
//! the two, and [`session_context`] finds the prompt, the reasoning and the outcome around an edit. [`why`] puts the answer together, and [`agent_trace`] writes it for other programs; [`edit_records`] lists edits one by one; [`rework`] finds what was done twice; [`handoff`] sums up a session; [`remarks`] quotes what people said about a place;
//! [`attempts`] finds what was tried at a symbol and did not stay; [`attestation`] reads what the repository itself says about its sessions; [`fact_check`] finds what changed under a fact, and [`stale_facts`] does so for many; [`former_names`] follows a symbol through renames.
//!
//! Does not know symbols: its caller resolves them to lines.

pub mod agent_trace;
pub mod attempts;
pub mod attestation;
pub mod code_history;
pub mod edit_records;
pub mod fact_check;
pub mod former_names;
pub mod handoff;
pub mod kept_git;
mod named_session;
pub mod remarks;
pub mod rework;
pub mod session_context;
pub mod session_edits;
pub mod stale_facts;
pub mod why;

pub use why::{Place, Target, explain};

/// Runs git on the repository with these arguments and this input; the error is what git said.
pub type RunGit<'a> = &'a dyn Fn(&[&str], Vec<u8>) -> Result<Vec<u8>, String>;
