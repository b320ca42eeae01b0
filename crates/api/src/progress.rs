//! Progress and cancellation of a long-running request, shared by the code that does the work and the code that waits for it.
//!
//! Does not know what the work is.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub struct Progress {
    pub files: AtomicU64,
    pub of: AtomicU64,
    /// Places that could not be read, and the number of files they are in; complete before the first record is printed.
    pub lost: AtomicU64,
    pub lost_files: AtomicU64,
    stop: AtomicBool,
    on_step: OnceLock<OnStep>,
}

/// Receives the description of a step.
type OnStep = Box<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "Progress({:?} of {:?}, stopped: {:?})", self.files, self.of, self.stop)
    }
}

impl Progress {
    /// Registers the step callback. Only the first registration counts.
    pub fn on_step(&self, callback: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.on_step.set(Box::new(callback));
    }

    /// Reports a step; returns whether a callback is registered.
    pub fn report_step(&self, step: &str) -> bool {
        self.on_step.get().map(|callback| callback(step)).is_some()
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Set when the work is cancelled.
    pub fn cancel_flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub fn is_cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
