//! What an agent gets: responses that stay small and lose nothing, files that no other user can read or plant, hooks
//! that never block, and recalled text that stays data. Every test runs the real binary over a history that it
//! generates.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod before_edit;
mod cards;
mod code;
mod equivalence;
mod framing;
mod hooks;
mod hostile;
mod hybrid;
mod payloads;
mod saved_results;
mod written_files;
