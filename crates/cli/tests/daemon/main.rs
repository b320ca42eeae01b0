//! What Loci promises of the process that stays: one serves, everybody is answered, nothing is said otherwise than without
//! it, and it goes without leaving anything behind. Every test runs the real binary in a home of its own.

// clippy.toml allows unwrapping in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]
#![allow(clippy::zombie_processes)] // a house stops who serves in it

#[allow(dead_code)] // made for another suite, which uses all of it
#[path = "../faults/builder.rs"]
mod builder;
#[allow(dead_code)] // the same
#[path = "../faults/run.rs"]
mod run;

mod conduct;
mod dispatch;
mod election;
mod house;
mod life;
mod same;
mod soak;
mod watching;
