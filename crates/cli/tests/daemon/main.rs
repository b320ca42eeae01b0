//! The daemon: one process serves, every request is answered, responses are the same as without it, and nothing is left
//! behind when it ends. Every test runs the real binary in a home of its own.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]
#![allow(clippy::zombie_processes)] // a fixture stops the daemon that serves in it

mod dispatch;
mod election;
mod equivalence;
mod fixture;
mod lifecycle;
mod misuse;
mod soak;
mod watching;
