//! Wakes one thread, at once when it is nudged and now and then when it is not; nudged for the last time, it says so.
//!
//! Does not know what there is to do.

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

    /// Waits until it is given, at most so long. False: it is over.
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
    fn what_was_given_before_is_heard_and_once() {
        let nudge = Nudge::default();
        let long = Duration::from_mins(1);
        nudge.give();
        nudge.give();
        assert!(nudge.wait(long));
        assert!(nudge.wait(Duration::ZERO), "not given again, and not over");
        nudge.end();
        assert!(!nudge.wait(long));
    }
}
