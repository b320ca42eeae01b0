//! Decides whether a copy from another device takes the place of the one that is here.
//!
//! The latest version of a record counts in every space, but the latest is not always the fullest: a device that joins again sends what
//! it had when it left. Does not know how copies are sent.

use crate::copy_name::hex;
use crate::known::{Known, list_sessions, parse_sessions};
use crate::origins::OriginWriter;
use api::Error;
use history::error::read_error;
use sources::archive::{Overlap, Store};
use sync::{Body, DeviceId, Record};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Take,
    /// It is the same, or each has something that the other lacks and this one was written here.
    Keep,
    /// The one that is here has more: the others need it.
    KeepAndSend,
}

/// The device that wrote a copy last may also shorten it. Any other only replaces what its own copy contains or, where each has
/// something else, what was not written here: so nothing is lost where it was written, and the others agree.
pub(crate) fn choose_copy(
    store: &Store,
    (known, origins): (&Known, &OriginWriter),
    name: u128,
    record: &Record,
) -> Result<Choice, Error> {
    let Body::Bytes(bytes) = &record.body else { return Ok(Choice::Take) };
    if known.last_writer(&record.key)? == Some(record.version.device) {
        return Ok(Choice::Take);
    }
    match store.compare_raw(name, bytes) {
        Ok(Some(Overlap::Same)) if known.stamp(&record.key)?.is_some() => Ok(Choice::Keep),
        Ok(Some(Overlap::HasLess)) => Ok(Choice::KeepAndSend),
        Ok(Some(Overlap::Diverged)) if find_writer(store, (known, origins), name)?.is_none() => {
            Ok(Choice::Keep)
        }
        // A damaged one that arrives is refused when it is stored.
        Ok(_) | Err(sources::Error::Damaged { .. }) => Ok(Choice::Take),
        // Not acknowledged: it comes again when the copies can be read, or for a newer Loci.
        Err(error) => Err(read_error(error)),
    }
}

/// The device that a copy is of. None: it was written here. A device that joins again has only the origins of its sessions.
pub(crate) fn find_writer(
    store: &Store,
    (known, origins): (&Known, &OriginWriter),
    name: u128,
) -> Result<Option<DeviceId>, Error> {
    let key = hex(name);
    if known.stamp(&key)?.is_some() {
        return known.last_writer(&key);
    }
    for (source, id) in parse_sessions(&list_sessions(store, name)) {
        if let Some(device) = origins.device_of(&source, &id)? {
            return Ok(Some(device));
        }
    }
    Ok(None)
}
