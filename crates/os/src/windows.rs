//! Windows. What it lacks is said at each function: permission bits, a resident daemon, limits of a process.
//!
//! Does not know the Unix family.

pub mod directory;
pub mod files;
pub mod processes;
pub mod socket;
