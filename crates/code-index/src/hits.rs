//! Counts how often this process could answer from the stored index without parsing a file first.
//!
//! Does not know the requests: each reports itself.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct HitCounter {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Requests for outlines. One counter for the process, because the daemon serves each call with a service of its own.
pub static OUTLINES: HitCounter = HitCounter::new();

impl HitCounter {
    pub const fn new() -> HitCounter {
        HitCounter { hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    pub fn record(&self, hit: bool) {
        let count = if hit { &self.hits } else { &self.misses };
        count.fetch_add(1, Relaxed);
    }

    /// The share of hits; `None` before the first request.
    pub fn ratio(&self) -> Option<f64> {
        let (hits, misses) = (self.hits.load(Relaxed), self.misses.load(Relaxed));
        (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_unknown_before_the_first_request() {
        let counter = HitCounter::new();
        assert_eq!(counter.ratio(), None);
        for hit in [true, false, true, true] {
            counter.record(hit);
        }
        assert_eq!(counter.ratio(), Some(0.75));
    }
}
