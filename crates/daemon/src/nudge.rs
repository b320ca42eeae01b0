//! Wakes one worker thread, on demand and otherwise at an interval, and signals it to stop.
//!
//! Does not know what the thread does.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
struct State {
    given: bool,
    over: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Nudge {
    state: Mutex<State>,
    heard: Condvar,
}

impl Nudge {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn give(&self) {
        self.state().given = true;
        self.heard.notify_one();
    }

    pub(crate) fn end(&self) {
        self.state().over = true;
        self.heard.notify_one();
    }

    /// Waits for a wake-up, at most for `longest`. Returns false once the waker has been ended.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let waited =
            self.heard.wait_timeout_while(self.state(), longest, |state| !state.given && !state.over);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.given = false;
        !state.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_before_the_wait_counts_once() {
        let waker = Nudge::default();
        let long = Duration::from_mins(1);
        waker.give();
        waker.give();
        assert!(waker.wait(long));
        assert!(waker.wait(Duration::ZERO), "no second wake-up, and not ended");
        waker.end();
        assert!(!waker.wait(long));
    }
}
