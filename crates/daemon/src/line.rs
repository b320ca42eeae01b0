//! One connection: what it has asked, what of that runs and what waits, and the one place where it is written to.
//!
//! Does not know what is asked, only how much of it at once.

use api::Progress;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A client that does not read what it asked for is cut off then. A person who pages through an answer reads in less.
const WRITING: Duration = Duration::from_mins(1);

/// Calls that run beside the first of their connection, of all connections together. Every connection always has one
/// at work, so nobody is kept from being answered by others; this is what it costs at most.
const BESIDE: u64 = 32;

/// Work that waits for its turn.
type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Turns {
    waiting: VecDeque<Work>,
    /// How many threads work for this connection.
    at_work: u64,
}

#[derive(Clone)]
pub(crate) struct Line {
    to: Arc<Mutex<UnixStream>>,
    /// It does not read, or is gone: nothing more is written, and nobody waits to do so.
    cut: Arc<AtomicBool>,
    calls: Arc<Mutex<BTreeMap<u64, Arc<Progress>>>>,
    turns: Arc<Mutex<Turns>>,
    /// Shared by all connections.
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

    /// False: nobody reads it. What failed once is not tried again: sixteen answers that nobody reads would each wait
    /// out their minute.
    pub(crate) fn send(&self, text: &str) -> bool {
        let mut to = held(&self.to);
        if self.cut.load(Relaxed) {
            return false;
        }
        let sent = to.write_all(text.as_bytes()).is_ok();
        if !sent {
            self.cut.store(true, Relaxed);
            // Whoever reads from it learns of it.
            let _ = to.shutdown(Shutdown::Both);
        }
        sent
    }

    /// False once something could not be written to it.
    pub(crate) fn is_heard(&self) -> bool {
        !self.cut.load(Relaxed)
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Progress>>> {
        held(&self.calls)
    }

    /// Has something done: at once if nothing else of this connection runs or there is room beside it, else when its
    /// turn comes. False: there is no thread for it.
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

    /// One after the other, until nothing waits.
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

    /// The last one to go had the place that every connection has; the others give theirs back.
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
    fn every_connection_has_one_at_work_however_many_wait_elsewhere() {
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
        assert_eq!((running.load(Relaxed), beside.load(Relaxed)), (BESIDE + 1, BESIDE), "the rest waits");
        let (other, _far) = line(&beside);
        let (tell, told) = mpsc::channel();
        assert!(other.give(Box::new(move || {
            let _ = tell.send(());
        })));
        assert!(told.recv_timeout(Duration::from_mins(1)).is_ok());
        drop(open);
        while held(&hog.turns).at_work > 0 {
            std::thread::yield_now();
        }
        assert_eq!((running.load(Relaxed), beside.load(Relaxed)), (BESIDE + 20, 0), "all had their turn");
    }

    #[test]
    fn what_nobody_reads_is_tried_once() {
        let (line, far) = line(&Arc::default());
        held(&line.to).set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)));
        held(&line.to).set_write_timeout(None).unwrap();
        assert!(!line.send(&"x".repeat(8 << 20)), "without waiting");
        drop(far);
    }
}
