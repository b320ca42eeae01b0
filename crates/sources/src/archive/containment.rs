//! Whether the content of an archived copy is completely contained in another: then the other can replace it.
//!
//! Does not know why there are two: a home that was moved, or a project's folder that was renamed.

use super::copy::Archive;
use super::entry::split_entries;
use super::table::fnv1a_128;
use crate::Error;
use rustc_hash::FxHashSet;
use std::path::Path;

/// Every session and every entry of the first copy is in the other, byte for byte. An unreadable entry is in
/// none.
pub(super) fn is_contained(one: &Path, other: &Path) -> Result<bool, Error> {
    let (one, other) = (Archive::open(one)?, Archive::open(other)?);
    let sessions = |archive: &Archive| -> FxHashSet<String> {
        archive.table.closing.sessions.iter().map(|session| session.session_id.clone()).collect()
    };
    if one.table.header.source != other.table.header.source || !sessions(&one).is_subset(&sessions(&other)) {
        return Ok(false);
    }
    Ok(entry_fingerprints(&one)?.is_subset(&entry_fingerprints(&other)?))
}

fn entry_fingerprints(archive: &Archive) -> Result<FxHashSet<u128>, Error> {
    let mut prints = FxHashSet::default();
    for n in (0..archive.spans.len()).filter(|n| archive.live_entries(*n) > 0) {
        let raw = archive.unpack_frame(n)?;
        let living = split_entries(&raw).filter(|(at, ..)| !archive.is_replaced(archive.spans[n].raw + at));
        prints.extend(living.map(|(_, head, record)| fnv1a_128(&[head, b"\n", record])));
    }
    Ok(prints)
}
