//! One client connection: its running and queued calls, and its serialised writes.
//!
//! Does not know what is called, only how many calls run at once.

use api::Progress;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A client that does not read its responses is disconnected after this time. A person paging through output reads
/// sooner.
const WRITING: Duration = Duration::from_mins(1);

/// Limit on concurrent calls beyond the first of each connection, over all connections. The first call of a connection
/// always runs, so no client can keep another from being served; this bounds the threads that costs.
const BESIDE: u64 = 32;

/// A queued call.
type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Turns {
    waiting: VecDeque<Work>,
    /// Number of threads running calls of this connection.
    at_work: u64,
}

#[derive(Clone)]
pub(crate) struct Line {
    to: Arc<Mutex<UnixStream>>,
    /// The client does not read or has disconnected: nothing more is written, and no thread waits to write.
    cut: Arc<AtomicBool>,
    calls: Arc<Mutex<BTreeMap<u64, Arc<Progress>>>>,
    turns: Arc<Mutex<Turns>>,
    /// Number of calls beyond the first of each connection; shared by all connections.
    beside: Arc<AtomicU64>,
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    pub(crate) fn new(to: UnixStream, beside: &Arc<AtomicU64>) -> Line {
        let _ = to.set_write_timeout(Some(WRITING));
        Line {
            to: Arc::new(Mutex::new(to)),
            cut: Arc::default(),
            calls: Arc::default(),
            turns: Arc::default(),
            beside: Arc::clone(beside),
        }
    }

    /// Writes a message. Returns false if the client does not read it. After one failed write, later ones fail at once:
    /// otherwise sixteen unread responses would each wait for the full timeout.
    pub(crate) fn send(&self, text: &str) -> bool {
        let mut to = held(&self.to);
        if self.cut.load(Relaxed) {
            return false;
        }
        let sent = to.write_all(text.as_bytes()).is_ok();
        if !sent {
            self.cut.store(true, Relaxed);
            // This ends the thread that reads from the stream.
            let _ = to.shutdown(Shutdown::Both);
        }
        sent
    }

    /// False after a failed write.
    pub(crate) fn is_heard(&self) -> bool {
        !self.cut.load(Relaxed)
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Progress>>> {
        held(&self.calls)
    }

    /// Runs a call: at once if it is the connection's only one or the shared limit allows another, else when an earlier
    /// call ends. Returns false if no thread could be started.
    pub(crate) fn give(&self, work: Work) -> bool {
        let mut turns = held(&self.turns);
        turns.waiting.push_back(work);
        if turns.at_work > 0 && !self.take_room() {
            return true;
        }
        turns.at_work += 1;
        let line = self.clone();
        let begun = std::thread::Builder::new().name("call".into()).spawn(move || line.work_off());
        if begun.is_err() {
            turns.waiting.pop_back();
            self.leave(&mut turns);
        }
        begun.is_ok()
    }

    /// Runs queued calls one after the other until the queue is empty.
    fn work_off(&self) {
        while let Some(work) = self.next() {
            work();
        }
    }

    fn next(&self) -> Option<Work> {
        let mut turns = held(&self.turns);
        let next = turns.waiting.pop_front();
        if next.is_none() {
            self.leave(&mut turns);
        }
        next
    }

    fn take_room(&self) -> bool {
        self.beside.fetch_update(Relaxed, Relaxed, |taken| (taken < BESIDE).then_some(taken + 1)).is_ok()
    }

    /// The last thread held the slot that every connection has; the others return theirs to the shared limit.
    fn leave(&self, turns: &mut Turns) {
        turns.at_work -= 1;
        if turns.at_work > 0 {
            self.beside.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn line(beside: &Arc<AtomicU64>) -> (Line, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Line::new(ours, beside), theirs)
    }

    #[test]
    fn every_connection_runs_one_call_however_many_wait_elsewhere() {
        let beside = Arc::new(AtomicU64::new(0));
        let (hog, _far) = line(&beside);
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let running = Arc::new(AtomicU64::new(0));
        for _ in 0..BESIDE + 20 {
            let (gate, running) = (Arc::clone(&gate), Arc::clone(&running));
            assert!(hog.give(Box::new(move || {
                running.fetch_add(1, Relaxed);
                let _ = held(&gate).recv();
            })));
        }
        while running.load(Relaxed) < BESIDE + 1 {
            std::thread::yield_now();
        }
        assert_eq!((running.load(Relaxed), beside.load(Relaxed)), (BESIDE + 1, BESIDE), "the rest is queued");
        let (other, _far) = line(&beside);
        let (finished, wait) = mpsc::channel();
        assert!(other.give(Box::new(move || {
            let _ = finished.send(());
        })));
        assert!(wait.recv_timeout(Duration::from_mins(1)).is_ok());
        drop(open);
        while held(&hog.turns).at_work > 0 {
            std::thread::yield_now();
        }
        assert_eq!((running.load(Relaxed), beside.load(Relaxed)), (BESIDE + 20, 0), "all calls ran");
    }

    #[test]
    fn an_unread_message_is_written_once() {
        let (line, far) = line(&Arc::default());
        held(&line.to).set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)));
        held(&line.to).set_write_timeout(None).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)), "without waiting");
        drop(far);
    }
}
