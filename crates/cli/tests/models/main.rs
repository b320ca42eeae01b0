//! The programs and models that Loci calls: none of their processes outlives it, nothing leaves the machine without a
//! request, and every response is validated. Every test runs the real binary; models are scripted, except in the
//! ignored tests, which need a real client or a small real model.
//!
//! `LOCI_KILLS=50` makes the kill loops longer.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod claude;
mod consolidate;
mod faults;
mod fixture;
mod investigate;
mod notes;
mod small_model;
mod subprocess;
