//! Further agents, held against what their real clients sent: recorded stores, and stores that the clients write during
//! the test.

// clippy.toml allows unwrapping in tests, but not in functions they call.
#![allow(clippy::unwrap_used)]

mod check;
mod live;
mod recorded;
mod table;
