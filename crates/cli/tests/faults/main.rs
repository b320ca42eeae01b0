//! Invalid parameters, damaged transcripts, hostile filters and full or read-only disks. Every test runs the real
//! binary over a history that it generates.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::pedantic,
    clippy::type_complexity,
    clippy::redundant_closure
)]

mod bytes;
mod damage;
mod determinism;
mod environment;
mod hostile;
mod jq;
mod limits;
mod params;
mod refusals;
mod settings;
mod sizes;
mod stores;
