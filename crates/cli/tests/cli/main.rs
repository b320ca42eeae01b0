//! The operations on the command line: the shapes of their responses, how IDs are resolved, what is refused, and exit codes.
//! Every test runs the real binary over histories that it generates itself.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod code;
mod code_store;
mod commands;
mod doctor;
mod hostile_trees;
mod loci_folder;
mod memory;
mod recommend;
mod search;
mod show;
