//! The built binary against transcripts as agents write them. The synthetic corpus in `crates/testutil/corpus` says in its
//! `expected.json` files what it contains; the recorded corpus is checked against the scripts that drove the clients.
//!
//! The recorded corpus is not part of this repository: its tests are ignored unless asked for. CONTRIBUTING.md says how to run them.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod claude;
mod coverage;
mod live_claude;
mod others;
mod raw;
mod script;
mod synthetic;
