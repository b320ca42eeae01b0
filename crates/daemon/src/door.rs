//! The open door: the socket that is listened at, looked after for as long as the daemon serves, and closed behind it.
//!
//! Does not know who comes in.

use crate::serve::{House, listen};
use crate::{Error, Place, socket};
use rustix::net::{Shutdown, shutdown};
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) struct Door {
    listener: Arc<UnixListener>,
    /// The file that it stands at.
    known: Option<(u64, u64)>,
    /// That it cannot be opened again was said.
    said: bool,
}

impl Door {
    pub(crate) fn bind(place: &Place) -> Result<Door, Error> {
        let listener = Arc::new(socket::bind(&place.socket)?);
        Ok(Door { listener, known: socket::identity(&place.socket), said: false })
    }

    pub(crate) fn open(&self, house: &Arc<House>) -> Result<(), Error> {
        listen(house, &self.listener)
    }

    fn stands(&self, place: &Place) -> bool {
        self.known.is_some() && socket::identity(&place.socket) == self.known
    }

    /// A socket that was taken away is made again: nobody could reach us, and nobody else may serve.
    pub(crate) fn look_after(&mut self, house: &Arc<House>, place: &Place) {
        if self.stands(place) {
            return;
        }
        let again = Door::bind(place).and_then(|door| door.open(house).map(|()| door));
        match again {
            Ok(door) => {
                // Nobody can knock at the old one any more; who waits there is woken, and goes.
                let _ = shutdown(&*self.listener, Shutdown::Both);
                *self = door;
                house.figures.rebound.fetch_add(1, Relaxed);
                house.log.say("socket made again", &json!({}));
            }
            Err(error) if !self.said => {
                self.said = true;
                house.log.say("socket lost", &json!({"error": error.to_string()}));
            }
            Err(_) => {}
        }
    }

    /// From here on a command does it alone, or starts the next one.
    pub(crate) fn close(&self, place: &Place) {
        if self.stands(place) {
            let _ = std::fs::remove_file(&place.socket);
        }
    }
}
