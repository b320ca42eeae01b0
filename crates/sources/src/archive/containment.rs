//! Whether the content of an archived copy is completely contained in another: then the other can replace it.
//!
//! Does not know why there are two: a home that was moved, a project's folder that was renamed, or another device.

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
    if one.table.header.source != other.table.header.source
        || !session_ids(&one).is_subset(&session_ids(&other))
    {
        return Ok(false);
    }
    Ok(entry_fingerprints(&one)?.is_subset(&entry_fingerprints(&other)?))
}

/// How two copies of one transcript relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    Same,
    /// The pieces have all of the other, and more.
    HasAll,
    /// The other has all of the pieces, and more.
    HasLess,
    /// Each has something that the other lacks.
    Diverged,
}

/// Compares entries of the pieces of one copy with those of another. Not events: where an agent gives its messages no IDs, two different ones can have the same. What cannot be read of
/// the second copy is left out.
pub(super) fn compare(pieces: &[Archive], other: &Archive) -> Result<Overlap, Error> {
    let (mut first, mut second) = (Content::default(), Content::default());
    pieces.iter().try_for_each(|piece| first.add(piece, false))?;
    second.add(other, true)?;
    // An entry that the other copy has replaced by a later state, as a call by one with its result, is in it too.
    Ok(match (second.living.is_subset(&first.all), first.living.is_subset(&second.all)) {
        (true, true) => Overlap::Same,
        (true, false) => Overlap::HasAll,
        (false, true) => Overlap::HasLess,
        (false, false) => Overlap::Diverged,
    })
}

/// What is in a copy.
#[derive(Default)]
struct Content {
    /// Fingerprints of the entries that count.
    living: FxHashSet<u128>,
    /// Those of replaced entries are among them.
    all: FxHashSet<u128>,
}

impl Content {
    fn add(&mut self, archive: &Archive, skips_damage: bool) -> Result<(), Error> {
        for n in 0..archive.spans.len() {
            match archive.unpack_frame(n) {
                Ok(raw) => self.add_frame(archive, archive.spans[n].raw, &raw),
                Err(Error::Damaged { .. }) if skips_damage => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn add_frame(&mut self, archive: &Archive, start: u64, raw: &[u8]) {
        for (at, head, record) in split_entries(raw) {
            let print = fnv1a_128(&[head, b"\n", record]);
            self.all.insert(print);
            if !archive.is_replaced(start + at) {
                self.living.insert(print);
            }
        }
    }
}

fn session_ids(archive: &Archive) -> FxHashSet<String> {
    archive.table.closing.sessions.iter().map(|session| session.session_id.clone()).collect()
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
