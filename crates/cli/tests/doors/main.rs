//! What Loci promises of its operations on the command line: the shapes of their answers, how ids are understood, what
//! is refused and with what code it ends. Every test runs the real binary over histories that it generates itself.

// clippy.toml allows unwrapping in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

#[allow(dead_code)] // made for another suite, which uses all of it
#[path = "../faults/builder.rs"]
mod builder;
#[allow(dead_code)] // the same
#[path = "../faults/run.rs"]
mod run;

mod code;
mod conduct;
mod doctor;
mod folder;
mod kept;
mod memory;
mod recommend;
mod search;
mod show;
mod trees;
