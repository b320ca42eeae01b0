//! What the storage has lost of this device is sent again from archive and memory.
//!
//! Does not know packs: `sync` says which records are gone.

use crate::copies;
use crate::known::Known;
use crate::part;
use crate::settings::sync_error;
use api::Error;
use sync::Space;

/// Whether anything of this device is lost. Copies that are, or a part of them, are going to be sent as a whole,
/// which deletes their parts.
pub(crate) fn find_lost(space: &Space, known: &Known) -> Result<bool, Error> {
    if !space.has_lost().map_err(sync_error)? {
        return Ok(false);
    }
    let is_lost = |collection: &str, key: &str| space.is_lost(collection, key).map_err(sync_error);
    for name in known.copy_names()? {
        let mut is_any = is_lost(copies::COLLECTION, &name)?;
        for key in known.own_part_keys(&name)? {
            is_any = is_any || is_lost(part::COLLECTION, &key)?;
        }
        if is_any {
            known.forget_version(&name)?;
            known.set_sent(&name, None)?;
        }
    }
    Ok(true)
}
