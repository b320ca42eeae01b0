//! Wakes one worker thread, on demand and otherwise at an interval, and signals it to stop.
//!
//! Does not know what the thread does.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
struct State {
    woken: bool,
    ended: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Waker {
    state: Mutex<State>,
    condvar: Condvar,
}

impl Waker {
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.lock_state().woken = true;
        self.condvar.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.lock_state().ended = true;
        self.condvar.notify_one();
    }

    /// Waits for a wake-up, at most for `longest`. Returns false once the waker has been ended.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let waited =
            self.condvar.wait_timeout_while(self.lock_state(), longest, |state| !state.woken && !state.ended);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.woken = false;
        !state.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_before_the_wait_counts_once() {
        let waker = Waker::default();
        let long = Duration::from_mins(1);
        waker.wake();
        waker.wake();
        assert!(waker.wait(long));
        assert!(waker.wait(Duration::ZERO), "no second wake-up, and not ended");
        waker.stop();
        assert!(!waker.wait(long));
    }
}
