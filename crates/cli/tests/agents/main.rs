//! Integration with agents: which files `loci setup` changes, and what the real clients then load, list and run.
//!
//! Tests that need a real client are ignored by default; CONTRIBUTING.md says how to run them.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call. The pedantic lints are for
// shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod cards;
mod clients;
mod dispatch;
mod fixture;
mod living_memory;
mod more_clients;
mod setup;
mod talk;
