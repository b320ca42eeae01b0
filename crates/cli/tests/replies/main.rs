//! What Loci promises an agent: replies that stay small and lose nothing, files that nobody else can read or plant, hooks
//! that never block, and recalled text that stays data. Every test runs the real binary over histories it generates itself.

// clippy.toml allows unwrapping and printing in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

#[allow(dead_code)] // made for another suite, which uses all of it
#[path = "../faults/builder.rs"]
mod builder;
#[allow(dead_code)] // the same
#[path = "../faults/run.rs"]
mod run;

mod agent;
mod cards;
mod code;
mod hooks;
mod hostile;
mod hybrid;
mod refs;
mod same;
