//! Copies that a device received before their names had the device in them: each gets the name that it has now, so that it does not
//! count as one of this device.
//!
//! Does not change what the copies contain. A process that is killed leaves the same to the next round.

use crate::copy_name::CopyName;
use crate::known::{Known, KnownCopy, stamp_text};
use api::Error;
use history::error::read_error;
use history::home::{Home, Lock};
use sources::archive::Store;
use sync::DeviceId;

/// Those of this device are sent under their new names like new ones.
pub(crate) fn rename_copies(home: &Home, known: &Known) -> Result<(), Error> {
    let earlier: Vec<String> =
        known.copy_names()?.into_iter().filter(|key| CopyName::parse(key).is_none()).collect();
    if earlier.is_empty() {
        return Ok(());
    }
    let (_lock, store) = (Lock::acquire(home)?, Store::new(home.archive()));
    for key in earlier {
        let device = known.device_of(&key)?.and_then(|device| DeviceId::parse(&device));
        if let (Some(origin), Ok(transcript)) = (device, u128::from_str_radix(&key, 16)) {
            rename_copy(&store, known, &key, &CopyName { transcript, origin })?;
        }
        known.remove_copy(&key)?;
    }
    store.sync_to_disk().map_err(read_error)
}

fn rename_copy(store: &Store, known: &Known, key: &str, name: &CopyName) -> Result<(), Error> {
    let origin = name.origin.to_string();
    let renamed = sources::archive::name_of_origin(name.transcript, Some(&origin));
    if let Some(bytes) = store.read_raw(name.transcript, name.transcript).map_err(read_error)? {
        match store.unite_copies(name.transcript, Some(&origin), &[&bytes]) {
            Ok(_) => store.remove_copy(&store.path_by_name(name.transcript)).map_err(read_error)?,
            // It stays where it is, and is reported where it is read.
            Err(sources::Error::Damaged { .. }) => return Ok(()),
            Err(error) => return Err(read_error(error)),
        };
    }
    let stamp = store.stat_copy(renamed).map(stamp_text).unwrap_or_default();
    let sessions: String =
        known.sessions_of(key)?.iter().flat_map(|(source, id)| [source, "\t", id, "\n"]).collect();
    let copy = KnownCopy { stamp: &stamp, device: Some(&origin), sessions: &sessions, kept: None };
    known.set_copy(&name.to_key(), &copy)
}
