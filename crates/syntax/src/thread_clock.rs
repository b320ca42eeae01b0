//! The CPU time of the current thread: what other programs take, and the time in which this one is stopped, does not count.
//!
//! Does not know what is measured.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Asking the system costs as much as parsing a line.
const LOOK: Duration = Duration::from_millis(50);

/// Measures from its creation on, in one thread.
pub(crate) struct ThreadClock {
    started: Instant,
    /// When the system was asked last, and at first with what answer.
    looked: Cell<Duration>,
    base: Cell<Option<Duration>>,
    used: Cell<Duration>,
}

impl ThreadClock {
    pub(crate) fn start() -> ThreadClock {
        ThreadClock {
            started: Instant::now(),
            looked: Cell::default(),
            base: Cell::default(),
            used: Cell::default(),
        }
    }

    /// The CPU time so far, a little less at most.
    pub(crate) fn used(&self) -> Duration {
        let elapsed = self.started.elapsed();
        if elapsed >= self.looked.get() + LOOK {
            self.looked.set(elapsed);
            let now = cpu_time().unwrap_or(elapsed);
            let base = self.base.get().unwrap_or(now);
            self.base.set(Some(base));
            self.used.set(LOOK + now.saturating_sub(base));
        }
        self.used.get()
    }
}

/// `None` where the system does not say: then all time counts.
fn cpu_time() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // "time on the CPU in nanoseconds, time waiting for it, time slices"
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn time_in_which_a_thread_does_nothing_does_not_count() {
        let clock = ThreadClock::start();
        std::thread::sleep(LOOK * 2);
        clock.used();
        std::thread::sleep(LOOK * 10);
        assert!(clock.used() < LOOK * 3);
    }
}
