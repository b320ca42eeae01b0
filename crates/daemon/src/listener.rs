//! The listening socket: bound at startup, bound again if its file disappears, removed at the end.
//!
//! Does not know the clients.

use crate::server::{Server, spawn_accept_loop};
use crate::{Error, RuntimePaths, socket};
use os::FileIdentity;
use os::socket::Listener;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) struct SocketListener {
    listener: Arc<Listener>,
    /// The socket file.
    identity: Option<FileIdentity>,
    /// A failure to bind again was logged; it is logged once.
    failure_logged: bool,
}

impl SocketListener {
    pub(crate) fn bind(place: &RuntimePaths) -> Result<SocketListener, Error> {
        let listener = Arc::new(socket::bind_socket(&place.socket)?);
        Ok(SocketListener { listener, identity: os::socket::identity(&place.socket), failure_logged: false })
    }

    pub(crate) fn start_accepting(&self, server: &Arc<Server>) -> Result<(), Error> {
        spawn_accept_loop(server, &self.listener)
    }

    fn is_bound(&self, place: &RuntimePaths) -> bool {
        self.identity.is_some() && os::socket::identity(&place.socket) == self.identity
    }

    /// Binds again if the socket file was removed: otherwise no client could reach this daemon, and its lock keeps
    /// another from serving.
    pub(crate) fn rebind_if_lost(&mut self, server: &Arc<Server>, place: &RuntimePaths) {
        if self.is_bound(place) {
            return;
        }
        let rebound = SocketListener::bind(place).and_then(|new| new.start_accepting(server).map(|()| new));
        match rebound {
            Ok(new) => {
                // The old socket is unreachable; this wakes and ends the thread that accepts on it.
                os::socket::stop_accepting(&self.listener);
                *self = new;
                server.counters.rebound.fetch_add(1, Relaxed);
                server.log.write_entry("socket made again", &json!({}));
            }
            Err(error) if !self.failure_logged => {
                self.failure_logged = true;
                server.log.write_entry("socket lost", &json!({"error": error.to_string()}));
            }
            Err(_) => {}
        }
    }

    /// Removes the socket file. From here on a command does the work itself or starts the next daemon.
    pub(crate) fn remove_socket(&self, place: &RuntimePaths) {
        if self.is_bound(place) {
            let _ = std::fs::remove_file(&place.socket);
        }
    }
}
