//! Does nothing: what starting a process costs, for `cargo xtask bench` to compare start-up with.

fn main() {}
