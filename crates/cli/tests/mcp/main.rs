//! `loci mcp` as agents meet it: the real Claude Code and Codex ask it about a history that they have just made, the
//! official inspector and conformance suite examine it, and its conduct is tried with everything a client may do wrong.
//!
//! Clients that are not installed are skipped with a word. `LOCI_ROUNDS=100` makes the rounds of farewells long.

// clippy.toml allows unwrapping and printing in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

#[allow(dead_code)] // made for another suite, which uses all of it
#[path = "../faults/builder.rs"]
mod builder;
#[path = "../truth/clients.rs"]
mod clients;
#[allow(dead_code)] // the same
#[path = "../truth/home.rs"]
mod home;
#[allow(dead_code)] // the same
#[path = "../faults/run.rs"]
mod run;

mod stage;
mod talk;

mod claude;
mod codex;
mod conduct;
mod conformance;
mod door;
mod farewell;
mod inspector;

/// How many tools an agent gets that asks for nothing in particular.
fn usual() -> usize {
    api::TOOLS.iter().filter(|tool| tool.sets.iter().any(|set| api::Set::USUAL.contains(set))).count()
}
