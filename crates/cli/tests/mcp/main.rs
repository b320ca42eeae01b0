//! `loci mcp` as agents use it: the real Claude Code and Codex query a history that they have just made, the official inspector and
//! conformance suite examine it, and a raw client breaks every rule of the protocol.
//!
//! The tests with real clients are ignored unless asked for; CONTRIBUTING.md says how to run them. `LOCI_ROUNDS=100` makes the
//! rounds of shutdowns long.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod claude;
mod codex;
mod conformance;
mod http;
mod inspector;
mod protocol;
mod raw_client;
mod scripted_client;
mod shutdown;

/// How many tools an agent gets that asks for nothing in particular.
fn usual() -> usize {
    api::TOOLS.iter().filter(|tool| tool.sets.iter().any(|set| api::Set::USUAL.contains(set))).count()
}
