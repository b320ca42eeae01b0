//! Where an agent's calls are answered: a tool's name and parameters in, an envelope out.
//!
//! Does not know the protocol that the call came by, nor the engines that answer it.

use crate::envelope::Envelope;
use crate::{Error, Tool};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// How far a long piece of work has come, and whether it is still wanted. Seen from both sides.
#[derive(Default)]
pub struct Watch {
    pub files: AtomicU64,
    pub of: AtomicU64,
    /// In how many places something could not be read, and in how many files; known before the first record is.
    pub lost: AtomicU64,
    pub lost_files: AtomicU64,
    stop: AtomicBool,
    hear: OnceLock<Hear>,
}

/// Takes a step in words.
type Hear = Box<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Watch {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "Watch({:?} of {:?}, stopped: {:?})", self.files, self.of, self.stop)
    }
}

impl Watch {
    /// Whoever wants to hear of each step says so once.
    pub fn on_step(&self, hear: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.hear.set(Box::new(hear));
    }

    /// Tells a step, if anybody listens; gives whether somebody did.
    pub fn step(&self, told: &str) -> bool {
        self.hear.get().map(|hear| hear(told)).is_some()
    }

    /// Nobody waits for it any more.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Who asks, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// The session that the call is made in; a search leaves it out.
    pub session: Option<String>,
    pub watch: Arc<Watch>,
}

pub trait Desk: Send + Sync {
    fn call(&self, tool: &'static Tool, params: Map<String, Value>, asker: &Asker)
    -> Result<Envelope, Error>;

    /// Ids of conversations that begin so, the latest first.
    fn chat_ids(&self, prefix: &str) -> Vec<String>;
}
