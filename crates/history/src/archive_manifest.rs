//! The list of archived copies outside of the archive: what is listed and not there was lost.
//!
//! Does not know what was in a copy.

use crate::error::read_error;
use crate::home::Home;
use api::Error;
use sources::archive::Store;

pub use sources::archive::LostCopy;

/// The copies that are listed and not there. Opens none of them.
pub fn missing_copies(home: &Home) -> Result<Vec<LostCopy>, Error> {
    Store::new(home.archive()).lost_copies().map_err(read_error)
}

/// The same, with the copies that have fewer entries than is listed. Opens all of them.
pub fn missing_entries(home: &Home) -> Result<Vec<LostCopy>, Error> {
    Store::new(home.archive()).lost_entries().map_err(read_error)
}

/// A person knows of a lost copy: it is no longer listed.
pub fn dismiss_copy(home: &Home, name: u128) -> Result<(), Error> {
    Store::new(home.archive()).dismiss_lost(name).map_err(read_error)
}
