//! Repeats calls that failed for a temporary reason, with a growing pause and an upper bound.
//!
//! Does not know the time: the caller passes the function that sleeps.

use super::{Hint, Store, StoreError};
use std::time::Duration;

/// How often and how patiently calls are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    pub attempts: u32,
    pub first: Duration,
    pub most: Duration,
}

impl Default for Backoff {
    /// Five attempts within about four seconds. A longer outage is a matter for the next round.
    fn default() -> Backoff {
        Backoff { attempts: 5, first: Duration::from_millis(250), most: Duration::from_secs(8) }
    }
}

impl Backoff {
    /// The pause after a failed attempt. Between half and all of the doubled one before, so that many devices that
    /// failed together do not come back together.
    fn pause(&self, failed: u32) -> Duration {
        let whole = self.first.saturating_mul(1 << failed.min(16)).min(self.most);
        let share = getrandom::u32().unwrap_or(0);
        whole / 2 + whole.mul_f64(f64::from(share) / f64::from(u32::MAX) / 2.0)
    }
}

pub struct Retry<S> {
    store: S,
    backoff: Backoff,
    sleep: Box<dyn Fn(Duration) + Send>,
}

impl<S: Store> Retry<S> {
    pub fn new(store: S, backoff: Backoff, sleep: impl Fn(Duration) + Send + 'static) -> Retry<S> {
        Retry { store, backoff, sleep: Box::new(sleep) }
    }

    fn repeat<T>(&self, mut call: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut failed = 0;
        loop {
            match call() {
                Err(error) if error.is_temporary() && failed + 1 < self.backoff.attempts => {
                    (self.sleep)(self.backoff.pause(failed));
                    failed += 1;
                }
                done => return done,
            }
        }
    }
}

impl<S: Store> Store for Retry<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.repeat(|| self.store.put(name, bytes))
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        self.repeat(|| self.store.get(name, limit))
    }

    fn has(&self, name: &str) -> Result<bool, StoreError> {
        self.repeat(|| self.store.has(name))
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        self.repeat(|| self.store.list(prefix, after))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.repeat(|| self.store.delete(name))
    }

    fn has_hints(&self) -> bool {
        self.store.has_hints()
    }

    /// Once: if it fails, the list is tried.
    fn poll_hint(&self, name: &str, tag: Option<&str>) -> Result<Hint, StoreError> {
        self.store.poll_hint(name, tag)
    }

    fn put_hint(&self, name: &str, bytes: &[u8], over: Option<&str>) -> Result<Option<String>, StoreError> {
        self.repeat(|| self.store.put_hint(name, bytes, over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Down;

    impl Store for Down {
        fn put(&self, name: &str, _: &[u8]) -> Result<(), StoreError> {
            Err(StoreError::Unavailable { name: name.into(), reason: "503".into() })
        }
        fn get(&self, name: &str, _: usize) -> Result<Vec<u8>, StoreError> {
            Err(StoreError::not_found(name))
        }
        fn list(&self, _: &str, _: Option<&str>) -> Result<Vec<String>, StoreError> {
            Ok(Vec::new())
        }
        fn delete(&self, _: &str) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[test]
    fn retries_are_bounded_and_their_pauses_grow() {
        let pauses = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&pauses);
        let store = Retry::new(Down, Backoff::default(), move |pause| seen.lock().unwrap().push(pause));
        assert!(store.put("a", b"").unwrap_err().is_temporary());
        assert!(matches!(store.get("a", 1), Err(StoreError::NotFound { .. })));
        let pauses = pauses.lock().unwrap();
        assert_eq!(pauses.len(), 4);
        assert!(pauses.is_sorted() && pauses.iter().sum::<Duration>() < Duration::from_secs(5), "{pauses:?}");
    }
}
