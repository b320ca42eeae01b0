//! Threads that answer requests: one for those that an index answers, one for those that may read the whole history. The newest
//! request of a kind replaces those that wait; a change is never dropped.
//!
//! Does not know what is done with an answer.

use crate::backend::Backend;
use crate::request::{Answer, Query};
use api::{Code, Error};
use crossterm::event::Event;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Something that happened outside of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Transcripts have changed.
    HistoryChanged,
    /// The process must end.
    Terminate,
}

/// Everything that the event loop waits for.
#[derive(Debug)]
pub(crate) enum Message {
    Terminal(Event),
    Answered(Box<(Query, Result<Answer, Error>)>),
    Notice(Notice),
    /// The terminal can no longer be read.
    Closed,
}

/// Tells the browser of something that happened outside of it.
#[derive(Clone, Debug)]
pub struct Notifier(pub(crate) Sender<Message>);

impl Notifier {
    /// Returns false if the browser has ended.
    pub fn send(&self, notice: Notice) -> bool {
        self.0.send(Message::Notice(notice)).is_ok()
    }
}

/// The requests that wait for a thread.
#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<Query>>,
    added: Condvar,
}

impl Queue {
    fn add(&self, query: Query) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|earlier| !earlier.is_replaced_by(&query));
        waiting.push_back(query);
        self.added.notify_one();
    }

    fn take(&self) -> Query {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(query) = waiting.pop_front() {
                return query;
            }
            waiting = self.added.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(crate) struct Worker {
    quick: Arc<Queue>,
    slow: Arc<Queue>,
}

impl Worker {
    pub(crate) fn start(backend: &Arc<dyn Backend>, answers: &Sender<Message>) -> std::io::Result<Worker> {
        let worker = Worker { quick: Arc::default(), slow: Arc::default() };
        for (name, queue) in [("quick", &worker.quick), ("slow", &worker.slow)] {
            let (backend, queue, answers) = (Arc::clone(backend), Arc::clone(queue), answers.clone());
            thread::Builder::new()
                .name(name.to_string())
                .spawn(move || answer_all(&*backend, &queue, &answers))?;
        }
        Ok(worker)
    }

    pub(crate) fn ask(&self, query: Query) {
        if query.is_slow() { self.slow.add(query) } else { self.quick.add(query) }
    }
}

/// Ends with the browser, which no longer receives.
fn answer_all(backend: &dyn Backend, queue: &Queue, answers: &Sender<Message>) {
    loop {
        let query = queue.take();
        let answer = catch_unwind(AssertUnwindSafe(|| query.answer(backend)));
        let answer = answer.unwrap_or_else(|_| Err(Error::new(Code::InternalError, "the request panicked")));
        if answers.send(Message::Answered(Box::new((query, answer)))).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Change;

    #[test]
    fn the_newest_request_wins_and_changes_stay() {
        let queue = Queue::default();
        let why = |target: &str| Query::Why { target: target.to_string() };
        let accept = |id: &str| Query::Change(Change::Accept(id.to_string()));
        for query in [why("a"), accept("1"), why("b"), accept("2")] {
            queue.add(query);
        }
        assert_eq!([queue.take(), queue.take(), queue.take()], [accept("1"), why("b"), accept("2")]);
    }
}
