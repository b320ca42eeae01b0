//! `loci mcp` as agents use it: the real Claude Code and Codex query a history that they have just created, the
//! official inspector and conformance suite examine the server, and a raw client violates the protocol.
//!
//! The tests with real clients are ignored by default; CONTRIBUTING.md says how to run them. `LOCI_ROUNDS=100` repeats
//! the shutdown tests more often.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod claude;
mod codex;
mod conformance;
mod edits;
mod http;
mod inspector;
mod interrupted_edit;
mod protocol;
mod raw_client;
mod scripted_client;
mod shutdown;
mod tasks;

/// The number of tools that the default toolsets contain.
fn default_tool_count() -> usize {
    api::TOOLS.iter().filter(|tool| tool.sets.iter().any(|set| api::Set::USUAL.contains(set))).count()
}
