//! The sessions of HTTP clients: at most 64, of which the one that was unused for longest ends first, and none beyond ten idle
//! minutes. A client that loses its session starts another, as the protocol asks of it.
//!
//! Does not know what is called in a session.

use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A session takes about 53 kB.
const MAX_SESSIONS: usize = 64;
const MAX_IDLE: Duration = Duration::from_mins(10);

type Id = Arc<str>;

pub(crate) struct Sessions {
    pub(crate) manager: Arc<LocalSessionManager>,
    /// The latest used last.
    order: Mutex<VecDeque<Id>>,
}

impl Sessions {
    pub(crate) fn new() -> Sessions {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(MAX_IDLE);
        Sessions { manager: Arc::new(manager), order: Mutex::default() }
    }

    fn order(&self) -> std::sync::MutexGuard<'_, VecDeque<Id>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a client uses a session.
    pub(crate) fn record_use(&self, id: &str) {
        let mut order = self.order();
        if let Some(at) = order.iter().position(|known| **known == *id) {
            let id = order.remove(at).expect("the position is in the queue");
            order.push_back(id);
        }
    }

    /// Ends the sessions that were unused for longest, so that another one may begin.
    pub(crate) async fn make_room(&self) {
        let alive: HashSet<Id> = self.manager.sessions.read().await.keys().cloned().collect();
        let ended: Vec<Id> = {
            let mut order = self.order();
            order.retain(|id| alive.contains(id));
            let known: HashSet<Id> = order.iter().cloned().collect();
            order.extend(alive.difference(&known).cloned());
            let surplus = (order.len() + 1).saturating_sub(MAX_SESSIONS);
            order.drain(..surplus).collect()
        };
        for id in ended {
            // a session that ends by itself at this moment is what is wanted
            let _ = self.manager.close_session(&id).await;
        }
    }
}
