//! The built binary against transcripts as agents write them. The `expected.json` files in `crates/testutil/corpus`
//! list the contents of the synthetic corpus. The recorded corpus is compared with the scripts that drove the clients.
//!
//! The recorded corpus is not part of this repository, so its tests are ignored by default. CONTRIBUTING.md says how to
//! run them.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call. The pedantic lints are for
// shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod all_agents;
mod claude;
mod coverage;
mod live_claude;
mod others;
mod raw;
mod script;
mod synthetic;
