//! What Loci promises of its command line when parameters, files, filters and machines misbehave. Every test
//! runs the real binary over histories that it generates itself.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // clippy.toml allows both in tests, but knows no helpers
#![allow(clippy::needless_pass_by_value, clippy::option_option)] // json!(…) is handed over; no end, no code, a code
#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::needless_for_each,
    clippy::type_complexity
)]

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
