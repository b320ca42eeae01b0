//! What Loci promises of its command line when parameters, files, filters and machines misbehave. Every test
//! runs the real binary over histories that it generates itself.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // clippy.toml allows both in tests, but knows no helpers

mod builder;
mod run;

mod bytes;
mod conduct;
mod damage;
mod determinism;
mod hostile;
mod jq;
mod params;
mod refusals;
mod sizes;
