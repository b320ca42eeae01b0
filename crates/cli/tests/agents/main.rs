//! Loci inside the agents: what `loci setup` changes in their files, and what the real clients load, list and run after it.
//!
//! The tests with real clients are ignored unless asked for; CONTRIBUTING.md says how to run them.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod cards;
mod clients;
mod dispatch;
mod fixture;
mod setup;
