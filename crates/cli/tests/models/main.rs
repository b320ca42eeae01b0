//! What Loci promises of the programs and models that it calls: nothing of them outlives it, nothing leaves the machine that was
//! not asked for, and nothing they say is believed unread. Every test runs the real binary; models are scripted, except where
//! a real client or a small real model is installed.
//!
//! `LOCI_KILLS=50` makes the kill loop long.

// clippy.toml allows unwrapping and printing in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

#[allow(dead_code)]
#[path = "../replies/agent.rs"]
mod agent;
#[allow(dead_code)] // shared with the other binaries, which use more of it
#[path = "../faults/builder.rs"]
mod builder;
#[allow(dead_code)]
#[path = "../faults/run.rs"]
mod run;
#[allow(dead_code)]
#[path = "../../../llm/tests/faults/script.rs"]
mod script;

mod claude;
mod consolidate;
mod desk;
mod faults;
mod investigate;
mod notes;
mod real;
mod subprocess;
