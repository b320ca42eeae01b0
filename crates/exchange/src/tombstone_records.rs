//! Forgotten sessions as records: what one device forgets, all forget.
//!
//! Does not know what the sessions contained.

use crate::known::Known;
use crate::memory_records;
use crate::settings::sync_error;
use api::Error;
use history::home::{Home, Lock};
use history::tombstones::Tombstones;
use history::{History, home, import, ingest};
use std::collections::BTreeSet;
use sync::{Body, Change, Record, Space};

pub(crate) const COLLECTION: &str = "forgotten";
const SEPARATOR: char = '\t';

/// The list of this device and what was exchanged are one set: entries that the list has lost are put back, so that what was forgotten
/// does not come back with the next update.
pub(crate) fn unite_tombstones(known: &Known, home: &Home) -> Result<(), Error> {
    let mut tombstones = Tombstones::read(Some(home))?;
    let exchanged = known.tombstones()?;
    if exchanged.iter().any(|(source, id)| !tombstones.contains(source, id)) {
        let _lock = Lock::acquire(home)?;
        tombstones = Tombstones::read(Some(home))?;
        let added = tombstones.add(home, exchanged.into_iter());
        added.map_err(|error| home::unwritable(&home.tombstones(), &error))?;
    }
    known.add_tombstones(tombstones.iter())
}

/// Stages the forgotten sessions, and removes what memory had of them from the storage.
pub(crate) fn stage_tombstones(space: &mut Space, home: &Home, now: u64) -> Result<u64, Error> {
    let tombstones = Tombstones::read(Some(home))?;
    memory_records::block_sessions(home, tombstones.iter())?;
    let key = |(source, id): &(String, String)| format!("{source}{SEPARATOR}{id}");
    let changes = tombstones.iter().map(key).flat_map(|key| {
        [Change::put(COLLECTION, &key, Vec::new()), Change::forget(memory_records::SESSIONS, &key)]
    });
    Ok(space.stage(changes, now).map_err(sync_error)?.accepted)
}

/// Forgets what other devices have forgotten, as `loci forget` does. The caller holds the writer lock. Returns how many sessions.
pub(crate) fn apply_tombstones(
    history: &History<'_>,
    (home, known): (&Home, &Known),
    lock: &Lock,
    records: &[&Record],
) -> Result<u64, Error> {
    let mut tombstones = Tombstones::read(Some(home))?;
    let parse = |record: &&Record| {
        let (source, id) = record.key.split_once(SEPARATOR)?;
        matches!(record.body, Body::Bytes(_)).then(|| (source.to_string(), id.to_string()))
    };
    let wanted: BTreeSet<(String, String)> =
        records.iter().filter_map(parse).filter(|(source, id)| !tombstones.contains(source, id)).collect();
    if wanted.is_empty() {
        return Ok(0);
    }
    let added = tombstones.add(home, wanted.iter().cloned());
    added.map_err(|error| home::unwritable(&home.tombstones(), &error))?;
    known.add_tombstones(wanted.iter())?;
    ingest::forget_sessions(history, home, lock, &|source, id| {
        wanted.contains(&(source.to_string(), id.to_string()))
    })?;
    memory_records::block_sessions(home, wanted.iter())?;
    import::forget_imported(home, wanted.iter().map(|(source, id)| (source.as_str(), id.as_str())));
    Ok(wanted.len() as u64)
}
