//! Where an agent's calls are answered: a tool's name and parameters in, an envelope out.
//!
//! Does not know the protocol that the call came by, nor the engines that answer it.

use crate::envelope::Envelope;
use crate::{Error, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How far a long piece of work has come, and whether it is still wanted. Seen from both sides.
#[derive(Debug, Default)]
pub struct Watch {
    pub files: AtomicU64,
    pub of: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
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
