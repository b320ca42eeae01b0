//! The built binary against what real agents wrote: what it tells must be what their scripts made them do.
//!
//! The corpus and the scripts are not part of this repository; where they are not at hand the tests say so and pass.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // what helps a test is one

mod clients;
mod home;
mod live;
mod raw;
mod script;
mod sources;
mod truth_claude;
mod truth_others;
