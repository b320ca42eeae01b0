//! The decisions of the protocol, without a state: which of two versions counts, what becomes of a change, what a log must keep, and how
//! heads of one device relate. The engine calls them, and so does the model that is checked exhaustively (`tests/sync/model`).
//!
//! Does not know where versions and heads are remembered.

pub use crate::id::ShortHash;
use crate::id::{Hash, shorten};
use crate::record::MAX_HEARD_CLOCK;
use crate::record::{Body, Record, Version};
pub use crate::record::{BodyHash, KeyHash, Rank};
use std::collections::BTreeMap;

/// What is known of a key: the version that counts, and its body, to recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub rank: Rank,
    pub body: BodyHash,
}

impl Known {
    pub fn of(record: &Record) -> Known {
        Known { rank: record.rank(), body: record.body.hash() }
    }
}

/// The clock of a change: above everything that this device has written or heard, and not below its time.
pub fn next_clock(now: u64, clock: u64) -> u64 {
    now.max(clock + 1)
}

/// The clock of a device that has heard another.
pub fn hear_clock(clock: u64, heard: u64) -> u64 {
    clock.max(heard.min(MAX_HEARD_CLOCK))
}

/// What becomes of a change that is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staging {
    /// The key was forgotten, and stays so.
    Refused,
    /// It is what is known already.
    Unchanged,
    /// What is known, which the storage has lost: sent under the version that it had, so that it is not above what others have written since.
    Again(Version),
    New,
}

pub fn decide_staging(known: Option<Known>, record: &Record, is_lost: bool) -> Staging {
    match known {
        Some(known) if known.rank.forgotten && record.body != Body::Forgotten => Staging::Refused,
        Some(known) if known.body == record.body.hash() => match (is_lost, known.rank.version) {
            (false, _) => Staging::Unchanged,
            (true, version) if version.device == record.version.device => Staging::Again(version),
            (true, _) => Staging::New,
        },
        _ => Staging::New,
    }
}

/// The highest version of each key.
fn find_best(records: &[Record]) -> BTreeMap<KeyHash, Rank> {
    let mut best: BTreeMap<KeyHash, Rank> = BTreeMap::new();
    for record in records {
        let rank = best.entry(record.key_hash()).or_insert_with(|| record.rank());
        *rank = (*rank).max(record.rank());
    }
    best
}

/// Of each key the highest version, if it is above what is known. Forgotten records come first.
pub fn select_winners<E>(
    records: Vec<Record>,
    known: impl Fn(&KeyHash) -> Result<Option<Rank>, E>,
) -> Result<Vec<Record>, E> {
    let mut best = find_best(&records);
    let mut winners = Vec::new();
    for record in records {
        let key = record.key_hash();
        let is_best = best.get(&key) == Some(&record.rank());
        if is_best && known(&key)?.is_none_or(|known| record.rank() > known) {
            best.remove(&key);
            winners.push(record);
        }
    }
    winners.sort_by_key(|record| record.body != Body::Forgotten);
    Ok(winners)
}

/// Drops records of a log that a later one of it replaces, and forgotten ones; keeps what says that they are forgotten.
pub fn keep_needed<E>(
    records: Vec<Record>,
    known: impl Fn(&KeyHash) -> Result<Option<Rank>, E>,
) -> Result<Vec<Record>, E> {
    let mut best = find_best(&records);
    let mut kept = Vec::new();
    for record in records {
        let key = record.key_hash();
        let is_best = best.get(&key) == Some(&record.rank());
        let is_forgotten = known(&key)?.is_some_and(|known| known.forgotten);
        if is_best && (!is_forgotten || record.body == Body::Forgotten) {
            best.remove(&key);
            kept.push(record);
        }
    }
    Ok(kept)
}

/// A head in its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub number: u64,
    pub hash: Hash,
    /// The head before, then those before it, newest first, as far as a head names them.
    pub previous: Hash,
    pub ancestors: Vec<ShortHash>,
}

/// How a head relates to what is remembered of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Follows the remembered head, or is the first of this device.
    Follows,
    /// Too far ahead to compare.
    Unknown,
    /// The remembered head itself, some packs of which could not be read.
    Again,
    /// Contradicts it.
    Forks,
}

impl Relation {
    /// Whether the numbers of writes mean the same as before. Elsewhere than in one line of heads only the hashes of packs count.
    pub fn is_in_line(self) -> bool {
        matches!(self, Relation::Follows | Relation::Again)
    }
}

impl Link {
    /// Whether this head was written after another of the same device. None: too far back to tell.
    pub fn descends_from(&self, number: u64, hash: &Hash) -> Option<bool> {
        let back = self.number.checked_sub(number)?;
        match back {
            0 => Some(false),
            1 => Some(self.previous == *hash),
            _ => self.ancestors.get(back as usize - 2).map(|short| *short == shorten(hash)),
        }
    }

    /// How a head that is read relates to this one, which is remembered.
    pub fn relate(&self, read: &Link) -> Relation {
        if (self.number, self.hash) == (read.number, read.hash) {
            return Relation::Again;
        }
        if read.number <= self.number {
            return Relation::Forks;
        }
        match read.descends_from(self.number, &self.hash) {
            Some(true) => Relation::Follows,
            Some(false) => Relation::Forks,
            None => Relation::Unknown,
        }
    }

    /// Whether a head that was not read is known to be part of the log that this one ends.
    pub fn contains(&self, number: u64, hash: &Hash) -> bool {
        // Beyond the window it cannot be compared; the heads of a clone would be newer.
        number < self.number && self.descends_from(number, hash).unwrap_or(true)
    }
}
