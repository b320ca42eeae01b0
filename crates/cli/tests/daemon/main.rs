//! The daemon: one process serves, every request gets a response, responses are the same as without it, and nothing is
//! left behind when it exits. Every test runs the real binary in its own home.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call. The pedantic lints are for
// shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]
#![allow(clippy::zombie_processes)] // the fixture stops its daemon

mod at_rest;
mod dispatch;
mod election;
mod equivalence;
mod fixture;
mod interfaces;
mod kept_snapshot;
mod lifecycle;
mod misuse;
mod soak;
mod suspend;
mod sync;
mod watching;
