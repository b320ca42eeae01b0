//! Counts.

use std::fmt::Display;

/// Counts things.
#[derive(Debug)]
pub struct Counter {
    /// How many.
    pub total: u32,
    step: u32,
}

impl Counter {
    /// Adds one.
    pub fn add(&mut self, by: u32) -> u32 {
        let sum = self.total + by;
        self.grow(sum, &["a", "b"]);
        sum
    }

    // grows
    fn grow(&mut self, to: u32, names: &[&str]) {
        let goal = to;
        match goal {
            0 => self.total = 1,
            _ => self.total = to,
        }
    }
}

pub const LIMIT: u32 = 10;

/// Makes one.
pub fn make(step: u32) -> Counter {
    Counter { total: 0, step }
}
