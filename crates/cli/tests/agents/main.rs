//! Loci inside the agents: what `loci setup` does to their files, and what the real clients make of it.

// clippy.toml allows unwrapping in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod cards;
mod clients;
mod desk;
mod dispatch;
mod setup;
