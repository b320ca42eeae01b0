//! One client connection: its running and queued calls, and its serialised writes.
//!
//! Does not know what is called, only how many calls run at once.

use api::Progress;
use os::socket::Stream;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A client that does not read its responses is disconnected after this time. A person paging through output reads
/// sooner.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// Limit on concurrent calls beyond the first of each connection, over all connections. The first call of a connection
/// always runs, so no client can keep another from being served; this bounds the threads that costs.
const MAX_EXTRA_CALLS: u64 = 32;

/// A queued call.
type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct CallQueue {
    waiting: VecDeque<Work>,
    /// Number of threads running calls of this connection.
    workers: u64,
}

#[derive(Clone)]
pub(crate) struct Connection {
    stream: Arc<Mutex<Stream>>,
    /// The client does not read or has disconnected: nothing more is written, and no thread waits to write.
    closed: Arc<AtomicBool>,
    calls: Arc<Mutex<BTreeMap<u64, Arc<Progress>>>>,
    queue: Arc<Mutex<CallQueue>>,
    /// Number of calls beyond the first of each connection; shared by all connections.
    extra_calls: Arc<AtomicU64>,
}

fn lock_unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    pub(crate) fn new(to: Stream, beside: &Arc<AtomicU64>) -> Connection {
        let _ = to.set_write_timeout(Some(WRITE_TIMEOUT));
        Connection {
            stream: Arc::new(Mutex::new(to)),
            closed: Arc::default(),
            calls: Arc::default(),
            queue: Arc::default(),
            extra_calls: Arc::clone(beside),
        }
    }

    /// Writes a message. Returns false if the client does not read it. After one failed write, later ones fail at once:
    /// otherwise sixteen unread responses would each wait for the full timeout.
    pub(crate) fn send(&self, text: &str) -> bool {
        let mut to = lock_unpoisoned(&self.stream);
        if self.closed.load(Relaxed) {
            return false;
        }
        let sent = to.write_all(text.as_bytes()).is_ok();
        if !sent {
            self.closed.store(true, Relaxed);
            // This ends the thread that reads from the stream.
            let _ = to.shutdown(Shutdown::Both);
        }
        sent
    }

    /// Ends the connection, and with it the thread that reads from it.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        // a client that is gone has ended it already
        let _ = lock_unpoisoned(&self.stream).shutdown(Shutdown::Both);
    }

    /// False after a failed write.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Relaxed)
    }

    pub(crate) fn running_calls(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Progress>>> {
        lock_unpoisoned(&self.calls)
    }

    /// Runs a call: at once if it is the connection's only one or the shared limit allows another, else when an earlier
    /// call ends. Returns false if no thread could be started.
    pub(crate) fn submit_call(&self, work: Work) -> bool {
        let mut turns = lock_unpoisoned(&self.queue);
        turns.waiting.push_back(work);
        if turns.workers > 0 && !self.reserve_extra_slot() {
            return true;
        }
        turns.workers += 1;
        let line = self.clone();
        let begun = std::thread::Builder::new().name("call".into()).spawn(move || line.run_queued_calls());
        if begun.is_err() {
            turns.waiting.pop_back();
            self.release_slot(&mut turns);
        }
        begun.is_ok()
    }

    /// Runs queued calls one after the other until the queue is empty.
    fn run_queued_calls(&self) {
        while let Some(work) = self.next_call() {
            work();
        }
    }

    fn next_call(&self) -> Option<Work> {
        let mut turns = lock_unpoisoned(&self.queue);
        let next = turns.waiting.pop_front();
        if next.is_none() {
            self.release_slot(&mut turns);
        }
        next
    }

    fn reserve_extra_slot(&self) -> bool {
        self.extra_calls
            .fetch_update(Relaxed, Relaxed, |taken| (taken < MAX_EXTRA_CALLS).then_some(taken + 1))
            .is_ok()
    }

    /// The last thread held the slot that every connection has; the others return theirs to the shared limit.
    fn release_slot(&self, turns: &mut CallQueue) {
        turns.workers -= 1;
        if turns.workers > 0 {
            self.extra_calls.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn connect_pair(beside: &Arc<AtomicU64>) -> (Connection, Stream) {
        let (ours, theirs) = Stream::pair().unwrap();
        (Connection::new(ours, beside), theirs)
    }

    #[test]
    fn every_connection_runs_one_call_however_many_wait_elsewhere() {
        let beside = Arc::new(AtomicU64::new(0));
        let (hog, _far) = connect_pair(&beside);
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let running = Arc::new(AtomicU64::new(0));
        for _ in 0..MAX_EXTRA_CALLS + 20 {
            let (gate, running) = (Arc::clone(&gate), Arc::clone(&running));
            assert!(hog.submit_call(Box::new(move || {
                running.fetch_add(1, Relaxed);
                let _ = lock_unpoisoned(&gate).recv();
            })));
        }
        while running.load(Relaxed) < MAX_EXTRA_CALLS + 1 {
            std::thread::yield_now();
        }
        assert_eq!(
            (running.load(Relaxed), beside.load(Relaxed)),
            (MAX_EXTRA_CALLS + 1, MAX_EXTRA_CALLS),
            "the rest is queued"
        );
        let (other, _far) = connect_pair(&beside);
        let (finished, wait) = mpsc::channel();
        assert!(other.submit_call(Box::new(move || {
            let _ = finished.send(());
        })));
        assert!(wait.recv_timeout(Duration::from_mins(1)).is_ok());
        drop(open);
        while lock_unpoisoned(&hog.queue).workers > 0 {
            std::thread::yield_now();
        }
        assert_eq!((running.load(Relaxed), beside.load(Relaxed)), (MAX_EXTRA_CALLS + 20, 0), "all calls ran");
    }

    #[test]
    fn an_unread_message_is_written_once() {
        let (line, far) = connect_pair(&Arc::default());
        lock_unpoisoned(&line.stream).set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)));
        lock_unpoisoned(&line.stream).set_write_timeout(None).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)), "without waiting");
        drop(far);
    }
}
