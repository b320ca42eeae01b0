//! Tests of the engine as its callers see it: devices with a state folder each, and a storage between them.
//!
//! Does not know the format of objects, except where it damages them.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

mod convergence;
mod cost;
mod device;
mod faults;
mod forgetting;
mod garage;
mod hints;
mod hostile;
mod kills;
mod losing;
mod membership;
mod model;
mod repair;
mod servers;
mod stores;
mod wire;
