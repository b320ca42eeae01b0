//! The listening socket: bound at startup, bound again if its file disappears, removed at the end.
//!
//! Does not know the clients.

use crate::serve::{House, listen};
use crate::{Error, Place, socket};
use rustix::net::{Shutdown, shutdown};
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) struct Door {
    listener: Arc<UnixListener>,
    /// Device and inode of the socket file.
    known: Option<(u64, u64)>,
    /// A failure to bind again was logged; it is logged once.
    said: bool,
}

impl Door {
    pub(crate) fn bind(place: &Place) -> Result<Door, Error> {
        let listener = Arc::new(socket::bind(&place.socket)?);
        Ok(Door { listener, known: socket::identity(&place.socket), said: false })
    }

    pub(crate) fn open(&self, server: &Arc<House>) -> Result<(), Error> {
        listen(server, &self.listener)
    }

    fn stands(&self, place: &Place) -> bool {
        self.known.is_some() && socket::identity(&place.socket) == self.known
    }

    /// Binds again if the socket file was removed: otherwise no client could reach this daemon, and its lock keeps
    /// another from serving.
    pub(crate) fn look_after(&mut self, server: &Arc<House>, place: &Place) {
        if self.stands(place) {
            return;
        }
        let rebound = Door::bind(place).and_then(|new| new.open(server).map(|()| new));
        match rebound {
            Ok(new) => {
                // The old socket is unreachable; this wakes and ends the thread that accepts on it.
                let _ = shutdown(&*self.listener, Shutdown::Both);
                *self = new;
                server.figures.rebound.fetch_add(1, Relaxed);
                server.log.say("socket made again", &json!({}));
            }
            Err(error) if !self.said => {
                self.said = true;
                server.log.say("socket lost", &json!({"error": error.to_string()}));
            }
            Err(_) => {}
        }
    }

    /// Removes the socket file. From here on a command does the work itself or starts the next daemon.
    pub(crate) fn close(&self, place: &Place) {
        if self.stands(place) {
            let _ = std::fs::remove_file(&place.socket);
        }
    }
}
