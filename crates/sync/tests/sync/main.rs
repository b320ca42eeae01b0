//! Tests of the engine as its callers see it: devices with a state folder each, and a storage between them.
//!
//! Does not know the format of objects, except where it damages them.

mod convergence;
mod cost;
mod device;
mod faults;
mod forgetting;
mod hostile;
mod membership;
mod servers;
mod stores;
