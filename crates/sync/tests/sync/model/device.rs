//! A device of the model: what it remembers, and how it reads and publishes. What decides is `loci_sync::merge`.
//!
//! Does not know the other devices.

use super::Defect;
use super::world::{HeadObject, Pack, Storage};
use loci_sync::merge::{
    KeyHash, Known, Link, Rank, Relation, Staging, decide_staging, hear_clock, keep_needed, next_clock,
    select_winners,
};
use loci_sync::{Body, DeviceId, Hash, Record, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::sync::OnceLock;

/// A log has this many packs before they are merged.
const FAN_IN: usize = 2;
/// Heads of a log that stay.
const KEPT_HEADS: u64 = 2;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Said {
    Text(u8),
    Forgotten,
}

/// A version of the record of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Item {
    pub(crate) key: u8,
    pub(crate) clock: u64,
    pub(crate) log: u8,
    pub(crate) said: Said,
}

pub(crate) fn name_key(key: u8) -> String {
    format!("k{key}")
}

impl Item {
    pub(crate) fn to_record(self) -> Record {
        let body = match self.said {
            Said::Text(text) => Body::Bytes(vec![text]),
            Said::Forgotten => Body::Forgotten,
        };
        let version = Version { clock: self.clock, device: DeviceId([self.log; 16]) };
        Record { collection: "facts".into(), key: name_key(self.key), version, body }
    }

    fn of(record: &Record) -> Item {
        let said = match &record.body {
            Body::Bytes(bytes) => Said::Text(bytes[0]),
            _ => Said::Forgotten,
        };
        let key = record.key[1..].parse().expect("keys of the model are numbers");
        Item { key, clock: record.version.clock, log: record.version.device.0[0], said }
    }

    fn known(self) -> Known {
        Known::of(&self.to_record())
    }
}

/// Hashing takes most of the time of the model, and there are few keys.
fn hash_key(key: u8) -> KeyHash {
    static HASHES: OnceLock<[KeyHash; 3]> = OnceLock::new();
    let hash = |key| Item { key, clock: 0, log: 0, said: Said::Forgotten }.to_record().key_hash();
    HASHES.get_or_init(|| [0, 1, 2].map(hash))[usize::from(key)]
}

fn certain<T>(done: Result<T, Infallible>) -> T {
    done.unwrap_or_else(|never| match never {})
}

/// How far the log of another device was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Chain {
    head: HeadObject,
    last_write: u64,
}

fn full_hash(short: u64) -> Hash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&short.to_be_bytes());
    Hash(hash)
}

fn link(head: &HeadObject) -> Link {
    Link {
        number: head.number,
        hash: full_hash(head.hash),
        previous: full_hash(head.previous),
        ancestors: head.ancestors.iter().map(|hash| hash.to_be_bytes()).collect(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Device {
    pub(crate) log: u8,
    /// Its time, which may be wrong.
    now: u64,
    clock: u64,
    /// What counts of each key. The application has the same.
    pub(crate) known: BTreeMap<u8, Item>,
    pub(crate) pending: BTreeSet<Item>,
    /// Of the publication that was saved.
    packed: BTreeSet<Item>,
    /// The last head, and the packs that it names.
    head: Option<HeadObject>,
    own_heads: BTreeMap<u64, u64>,
    last_write: u64,
    dirty: BTreeSet<u64>,
    /// Packs that the newest head no longer names. There is no grace period.
    garbage: BTreeSet<u64>,
    lost: BTreeSet<u8>,
    /// A publication that was saved and not sent.
    pub(crate) outbox: Option<(Vec<Pack>, HeadObject)>,
    chains: BTreeMap<u8, Chain>,
    seen: BTreeSet<(u8, u64)>,
    applied: BTreeSet<u64>,
}

impl Device {
    pub(crate) fn new(log: u8, now: u64) -> Device {
        Device {
            log,
            now,
            clock: 0,
            known: BTreeMap::new(),
            pending: BTreeSet::new(),
            packed: BTreeSet::new(),
            head: None,
            own_heads: BTreeMap::new(),
            last_write: 0,
            dirty: BTreeSet::new(),
            garbage: BTreeSet::new(),
            lost: BTreeSet::new(),
            outbox: None,
            chains: BTreeMap::new(),
            seen: BTreeSet::new(),
            applied: BTreeSet::new(),
        }
    }

    /// The own packs that the newest head names.
    pub(crate) fn own_packs(&self) -> impl Iterator<Item = &Pack> {
        self.head.iter().flat_map(|head| &head.packs)
    }

    /// What is staged and not sent.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Item> {
        self.pending.iter().chain(&self.packed)
    }

    pub(crate) fn text(&self, key: u8) -> Option<u8> {
        self.known.get(&key).and_then(|item| match item.said {
            Said::Text(text) => Some(text),
            Said::Forgotten => None,
        })
    }

    pub(crate) fn stage(&mut self, key: u8, said: Said, defect: Option<Defect>) {
        let clock = next_clock(self.now, self.clock);
        let mut item = Item { key, clock, log: self.log, said };
        let known = self.known.get(&key).map(|known| known.known());
        match decide_staging(known, &item.to_record(), self.lost.contains(&key)) {
            Staging::Refused | Staging::Unchanged => return,
            Staging::Again(version) if defect != Some(Defect::NewVersion) => {
                item = Item { clock: version.clock, ..item };
            }
            Staging::Again(_) | Staging::New => self.clock = clock,
        }
        self.lost.remove(&key);
        self.known.insert(key, item);
        self.pending.retain(|pending| pending.key != key);
        self.pending.insert(item);
        if said == Said::Forgotten {
            self.mark_dirty(key);
        }
    }

    fn mark_dirty(&mut self, key: u8) {
        let packs = self.head.iter().flat_map(|head| &head.packs);
        let dirty = packs.filter(|pack| pack.items.iter().any(|item| item.key == key));
        self.dirty.extend(dirty.map(|pack| pack.hash));
    }

    // ---- reading

    /// Reads what the others wrote, and publishes again what the storage has lost.
    pub(crate) fn pull(&mut self, storage: &mut Storage, defect: Option<Defect>) {
        self.check_own_log(storage, defect);
        if defect != Some(Defect::NoRepair) {
            self.repair(storage);
        }
        let logs: Vec<u8> = storage.logs.keys().copied().filter(|log| *log != self.log).collect();
        for log in logs {
            self.read_log(log, storage, defect);
        }
        // The application is asked for what is lost.
        for key in self.lost.clone() {
            if let Some(item) = self.known.get(&key).copied() {
                self.stage(key, item.said, defect);
            }
        }
    }

    fn check_own_log(&mut self, storage: &mut Storage, defect: Option<Defect>) {
        if defect == Some(Defect::KeepName) {
            return;
        }
        let heads = storage.logs.get(&self.log).cloned().unwrap_or_default();
        let Some(other) = heads.iter().rev().find(|head| !self.own_heads.contains_key(&head.hash)) else {
            return;
        };
        let is_continued = self
            .head
            .as_ref()
            .is_none_or(|own| link(other).descends_from(own.number, &full_hash(own.hash)) == Some(true));
        let unshared: Vec<Item> = self
            .own_packs()
            .filter(|pack| !is_continued && other.packs.iter().all(|shared| shared.hash != pack.hash))
            .flat_map(|pack| pack.items.clone())
            .collect();
        let log = storage.name_log();
        if defect != Some(Defect::ForgetUnshared) {
            for item in unshared {
                if self.known.get(&item.key) == Some(&item) {
                    self.pending.insert(item);
                }
            }
        }
        let packed = std::mem::take(&mut self.packed);
        for item in std::mem::take(&mut self.pending).into_iter().chain(packed) {
            let renamed = Item { log, ..item };
            if self.known.get(&item.key) == Some(&item) {
                self.known.insert(item.key, renamed);
            }
            self.pending.insert(renamed);
        }
        (self.log, self.head, self.outbox) = (log, None, None);
        self.own_heads.clear();
        self.dirty.clear();
        self.garbage.clear();
    }

    /// Packs that are kept are put back; of others, the records are lost until they are staged again.
    fn repair(&mut self, storage: &mut Storage) {
        self.send(storage);
        let Some(head) = self.head.clone() else { return };
        for pack in &head.packs {
            if storage.packs.contains_key(&pack.hash) {
                continue;
            }
            if pack.is_kept {
                storage.packs.insert(pack.hash, pack.clone());
                continue;
            }
            for item in &pack.items {
                let is_elsewhere = self
                    .own_packs()
                    .any(|other| other.last > pack.last && other.items.iter().any(|one| one.key == item.key));
                let is_current = self.known.get(&item.key).is_some_and(|known| known.log == self.log);
                let is_pending = self.waiting().any(|pending| pending.key == item.key);
                if !is_elsewhere && is_current && !is_pending {
                    // What has no content is kept, and pending at once.
                    if item.said == Said::Forgotten && self.known.get(&item.key) == Some(item) {
                        self.pending.insert(*item);
                    } else {
                        self.lost.insert(item.key);
                    }
                }
            }
            let own = self.head.as_mut().expect("it was there a line ago");
            own.packs.retain(|kept| kept.hash != pack.hash);
            own.is_lost = true;
        }
        let is_there = storage
            .logs
            .get(&self.log)
            .is_some_and(|heads| heads.iter().any(|there| there.number >= head.number));
        if !is_there {
            self.head.as_mut().expect("it was there a line ago").is_lost = true;
        }
    }

    fn read_log(&mut self, log: u8, storage: &Storage, defect: Option<Defect>) {
        // In the order of their numbers.
        for head in storage.logs[&log].iter().rev() {
            if self.seen.contains(&(log, head.hash)) {
                continue;
            }
            let known = self.chains.get(&log).map(|chain| link(&chain.head));
            if known.is_some_and(|known| known.contains(head.number, &full_hash(head.hash))) {
                self.seen.insert((log, head.hash));
                continue;
            }
            self.read_head(log, head, storage, defect);
        }
    }

    fn read_head(&mut self, log: u8, head: &HeadObject, storage: &Storage, defect: Option<Defect>) {
        let chain = self.chains.get(&log).cloned();
        let relation =
            chain.as_ref().map_or(Relation::Follows, |chain| link(&chain.head).relate(&link(head)));
        let is_in_line = relation.is_in_line() || defect == Some(Defect::TrustNumbers);
        let before = chain.as_ref().filter(|_| is_in_line).map_or(0, |chain| chain.last_write);
        let mut is_complete = true;
        for pack in head.packs.iter().filter(|pack| pack.last > before) {
            match storage.packs.get(&pack.hash) {
                _ if self.applied.contains(&pack.hash) => {}
                Some(pack) => self.apply(pack, defect),
                None => is_complete = false,
            }
        }
        if is_complete {
            self.seen.insert((log, head.hash));
        }
        if chain.is_some_and(|chain| chain.head.number > head.number) {
            return;
        }
        let last = head.packs.iter().map(|pack| pack.last).max().unwrap_or(0);
        let last_write = if is_complete { last.max(before) } else { before };
        self.chains.insert(log, Chain { head: head.clone(), last_write });
    }

    fn apply(&mut self, pack: &Pack, defect: Option<Defect>) {
        let records: Vec<Record> = pack.items.iter().map(|item| item.to_record()).collect();
        let ranks: BTreeMap<KeyHash, Rank> =
            self.known.values().map(|item| (hash_key(item.key), item.to_record().rank())).collect();
        let known = |key: &_| {
            Ok::<_, Infallible>(ranks.get(key).copied().filter(|_| defect != Some(Defect::LastRead)))
        };
        for record in certain(select_winners(records, known)) {
            let item = Item::of(&record);
            self.clock = hear_clock(self.clock, item.clock);
            self.known.insert(item.key, item);
            self.lost.remove(&item.key);
            self.pending.retain(|pending| pending.key != item.key);
            if item.said == Said::Forgotten {
                self.mark_dirty(item.key);
            }
        }
        self.applied.insert(pack.hash);
    }

    // ---- publishing

    pub(crate) fn push(&mut self, storage: &mut Storage, defect: Option<Defect>) {
        self.send(storage);
        self.plan(defect);
        self.send(storage);
    }

    /// A round that is killed before it sends a head: the packs are in the storage, the publication is saved.
    pub(crate) fn run_killed(&mut self, storage: &mut Storage, defect: Option<Defect>) {
        self.check_own_log(storage, defect);
        if self.outbox.is_none() {
            self.pull(storage, defect);
            self.plan(defect);
        }
        if let Some((packs, _)) = &self.outbox {
            packs.iter().for_each(|pack| drop(storage.packs.insert(pack.hash, pack.clone())));
        }
    }

    fn plan(&mut self, defect: Option<Defect>) {
        let is_lost = self.head.as_ref().is_some_and(|head| head.is_lost);
        if self.pending.is_empty() && self.dirty.is_empty() && !is_lost {
            return;
        }
        let ranks: BTreeMap<KeyHash, Rank> =
            self.known.values().map(|item| (hash_key(item.key), item.to_record().rank())).collect();
        let needed = |items: Vec<Item>| -> Vec<Item> {
            let records = items.into_iter().map(Item::to_record).collect();
            let kept = certain(keep_needed(records, |key| Ok(ranks.get(key).copied())));
            let kept = kept.iter().map(Item::of);
            kept.filter(|item| defect != Some(Defect::DropTombstones) || item.said != Said::Forgotten)
                .collect()
        };
        let mut planned: Vec<(u64, u64, Vec<Item>, Option<Pack>)> = Vec::new();
        for pack in self.own_packs() {
            if self.dirty.contains(&pack.hash) {
                planned.push((pack.first, pack.last, needed(pack.items.clone()), None));
            } else {
                planned.push((pack.first, pack.last, pack.items.clone(), Some(pack.clone())));
            }
        }
        if planned.len() >= FAN_IN {
            let (first, last) = (planned[0].0, planned[planned.len() - 1].1);
            let all = planned.drain(..).flat_map(|(_, _, items, _)| items).collect();
            planned.push((first, last, needed(all), None));
        }
        if !self.pending.is_empty() {
            self.last_write += 1;
            self.packed = std::mem::take(&mut self.pending);
            let items: Vec<Item> = self.packed.iter().copied().collect();
            planned.push((self.last_write, self.last_write, items, None));
        }
        let packs: Vec<Pack> = planned
            .into_iter()
            .filter(|(_, _, items, _)| !items.is_empty())
            .map(|(first, last, items, existing)| {
                existing.unwrap_or_else(|| Pack::seal(self.log, first, last, items))
            })
            .collect();
        let before = self.head.as_ref();
        let mut ancestors: Vec<u64> = before.map_or(Vec::new(), |head| head.ancestors.clone());
        if let Some(before) = before {
            ancestors.insert(0, before.previous);
        }
        let mut head = HeadObject {
            number: before.map_or(1, |head| head.number + 1),
            hash: 0,
            previous: before.map_or(0, |head| head.hash),
            ancestors,
            packs,
            is_lost: false,
        };
        let mut hasher = DefaultHasher::new();
        (self.log, &head).hash(&mut hasher);
        head.hash = hasher.finish();
        self.own_heads.insert(head.hash, head.number);
        let gone = self.own_packs().filter(|pack| !head.packs.contains(pack)).map(|pack| pack.hash);
        self.garbage.extend(gone.collect::<Vec<_>>());
        self.head = Some(head.clone());
        self.dirty.clear();
        self.outbox = Some((head.packs.clone(), head));
    }

    fn send(&mut self, storage: &mut Storage) {
        let Some((packs, head)) = self.outbox.take() else { return };
        let newest = head.number;
        storage.publish(self.log, packs, head);
        self.packed.clear();
        for hash in std::mem::take(&mut self.garbage) {
            storage.packs.remove(&hash);
        }
        let old = self.own_heads.iter().filter(|(_, number)| **number + KEPT_HEADS <= newest);
        storage.delete_heads(self.log, &old.map(|(hash, _)| *hash).collect::<Vec<_>>());
    }
}
