//! Storages for tests: in memory, with counted requests, with injected faults, and killed at a chosen call.
//!
//! Does not know what the objects contain.

use loci_sync::storage::{Hint, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// A small deterministic generator (xorshift64*), so that a failing seed can be run again.
#[derive(Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    pub(crate) fn is_chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A folder for the states of devices: in memory where the machine has such a folder, because `SQLite` waits for the disk at each step of
/// the devices, which takes ten times as long as all they do.
pub(crate) fn fast_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Objects in memory. Clones share them, as devices share a bucket.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    pub(crate) objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Memory {
    pub(crate) fn names(&self, part: &str) -> Vec<String> {
        self.objects.lock().unwrap().keys().filter(|name| name.contains(part)).cloned().collect()
    }

    pub(crate) fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().unwrap().clone()
    }

    pub(crate) fn restore(&self, objects: BTreeMap<String, Vec<u8>>) {
        *self.objects.lock().unwrap() = objects;
    }
}

impl Store for Memory {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        match self.objects.lock().unwrap().get(name) {
            None => Err(StoreError::NotFound { name: name.to_owned() }),
            Some(bytes) if bytes.len() > limit => Err(StoreError::TooLarge { name: name.to_owned(), limit }),
            Some(bytes) => Ok(bytes.clone()),
        }
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let objects = self.objects.lock().unwrap();
        let names = objects.keys().filter(|name| name.starts_with(prefix));
        Ok(names.filter(|name| after.is_none_or(|after| name.as_str() > after)).cloned().collect())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.objects.lock().unwrap().remove(name);
        Ok(())
    }
}

/// A storage with hints, as clouds have. Tags are the content.
#[derive(Clone)]
pub(crate) struct Hinted<S>(pub(crate) S);

impl<S: Store> Store for Hinted<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.put(name, bytes)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        self.0.get(name, limit)
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        self.0.list(prefix, after)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name)
    }

    fn has_hints(&self) -> bool {
        true
    }

    fn poll_hint(&self, name: &str, tag: Option<&str>) -> Result<Hint, StoreError> {
        match self.0.get(name, 1 << 10) {
            Err(StoreError::NotFound { .. }) => Ok(Hint::Missing),
            hint => {
                let now = tag_of(&hint?);
                Ok(if tag == Some(now.as_str()) { Hint::Same } else { Hint::New(now) })
            }
        }
    }

    fn put_hint(&self, name: &str, bytes: &[u8], over: Option<&str>) -> Result<Option<String>, StoreError> {
        let is_over =
            over.is_some() && self.0.get(name, 1 << 10).is_ok_and(|now| Some(tag_of(&now).as_str()) == over);
        self.0.put(name, bytes)?;
        Ok(is_over.then(|| tag_of(bytes)))
    }
}

fn tag_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) puts: u64,
    pub(crate) gets: u64,
    pub(crate) lists: u64,
    pub(crate) deletes: u64,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
}

impl Counts {
    pub(crate) fn requests(&self) -> u64 {
        self.puts + self.gets + self.lists + self.deletes
    }
}

/// Counts requests and bytes; names that are listed count as bytes in.
#[derive(Clone)]
pub(crate) struct Counting<S> {
    pub(crate) store: S,
    pub(crate) counts: Arc<Mutex<Counts>>,
}

impl<S: Store> Counting<S> {
    pub(crate) fn new(store: S) -> Counting<S> {
        Counting { store, counts: Arc::default() }
    }
}

impl<S: Store> Store for Counting<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut counts = self.counts.lock().unwrap();
        counts.puts += 1;
        counts.bytes_out += bytes.len() as u64;
        self.store.put(name, bytes)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        let got = self.store.get(name, limit);
        let mut counts = self.counts.lock().unwrap();
        counts.gets += 1;
        counts.bytes_in += got.as_ref().map_or(0, Vec::len) as u64;
        got
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let names = self.store.list(prefix, after);
        let mut counts = self.counts.lock().unwrap();
        // A page of S3 and of Azure has up to 1,000 or 5,000 names.
        counts.lists += names.as_ref().map_or(1, |names| names.len().div_ceil(1000).max(1)) as u64;
        counts.bytes_in +=
            names.as_ref().map_or(0, |names| names.iter().map(String::len).sum::<usize>()) as u64;
        names
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.counts.lock().unwrap().deletes += 1;
        self.store.delete(name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error of the server or a timeout: nothing happened.
    Unavailable,
    /// The write happened, and its acknowledgement was lost.
    LostAcknowledgement,
    /// The content ends early.
    Truncated,
    /// One bit differs.
    Flipped,
    /// A list without its newest names.
    StaleList,
}

impl Fault {
    pub(crate) const ALL: [Fault; 5] =
        [Fault::Unavailable, Fault::LostAcknowledgement, Fault::Truncated, Fault::Flipped, Fault::StaleList];
}

/// Injects faults into a share of the calls.
#[derive(Clone)]
pub(crate) struct Faulty<S> {
    pub(crate) store: S,
    pub(crate) faults: Vec<Fault>,
    pub(crate) percent: Arc<Mutex<u64>>,
    pub(crate) rng: Arc<Mutex<Rng>>,
    pub(crate) injected: Arc<Mutex<u64>>,
}

impl<S: Store> Faulty<S> {
    pub(crate) fn new(store: S, faults: &[Fault], percent: u64, seed: u64) -> Faulty<S> {
        let rng = Arc::new(Mutex::new(Rng(seed * 2 + 1)));
        Faulty {
            store,
            faults: faults.to_vec(),
            percent: Arc::new(Mutex::new(percent)),
            rng,
            injected: Arc::default(),
        }
    }

    fn draw(&self) -> Option<Fault> {
        let mut rng = self.rng.lock().unwrap();
        if !rng.is_chance(*self.percent.lock().unwrap()) {
            return None;
        }
        *self.injected.lock().unwrap() += 1;
        let which = rng.below(self.faults.len() as u64);
        self.faults.get(which as usize).copied()
    }

    fn position(&self, length: usize) -> usize {
        self.rng.lock().unwrap().below(length.max(1) as u64) as usize
    }
}

fn unavailable(name: &str) -> StoreError {
    StoreError::Unavailable { name: name.to_owned(), reason: "503 slow down".into() }
}

impl<S: Store> Store for Faulty<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.draw() {
            Some(Fault::Unavailable) => Err(unavailable(name)),
            Some(Fault::LostAcknowledgement) => self.store.put(name, bytes).and(Err(unavailable(name))),
            _ => self.store.put(name, bytes),
        }
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        let fault = self.draw();
        if fault == Some(Fault::Unavailable) {
            return Err(unavailable(name));
        }
        let mut bytes = self.store.get(name, limit)?;
        let at = self.position(bytes.len());
        match fault {
            Some(Fault::Truncated) => bytes.truncate(at),
            Some(Fault::Flipped) => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x10),
            _ => {}
        }
        Ok(bytes)
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let fault = self.draw();
        if fault == Some(Fault::Unavailable) {
            return Err(unavailable(prefix));
        }
        let mut names = self.store.list(prefix, after)?;
        if fault == Some(Fault::StaleList) {
            names.retain(|name| self.rng.lock().unwrap().is_chance(50) || name.is_empty());
        }
        Ok(names)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.draw() {
            Some(Fault::Unavailable) => Err(unavailable(name)),
            _ => self.store.delete(name),
        }
    }
}

/// What a killed process panics with.
pub(crate) struct Killed;

/// Panics at the n-th call, before or after it takes effect, as a kill would.
pub(crate) struct Dying<S> {
    pub(crate) store: S,
    pub(crate) left: Mutex<u64>,
}

impl<S: Store> Dying<S> {
    pub(crate) fn new(store: S, left: u64) -> Dying<S> {
        Dying { store, left: Mutex::new(left) }
    }

    /// Counts a step; every call has two, one before and one after.
    fn step(&self) {
        let mut left = self.left.lock().unwrap();
        *left = left.saturating_sub(1);
        let is_over = *left == 0;
        drop(left);
        if is_over {
            std::panic::panic_any(Killed);
        }
    }

    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        self.step();
        let done = call();
        self.step();
        done
    }
}

impl<S: Store> Store for Dying<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.around(|| self.store.put(name, bytes))
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        self.around(|| self.store.get(name, limit))
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        self.around(|| self.store.list(prefix, after))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.around(|| self.store.delete(name))
    }

    fn has_hints(&self) -> bool {
        self.store.has_hints()
    }

    fn poll_hint(&self, name: &str, tag: Option<&str>) -> Result<Hint, StoreError> {
        self.around(|| self.store.poll_hint(name, tag))
    }

    fn put_hint(&self, name: &str, bytes: &[u8], over: Option<&str>) -> Result<Option<String>, StoreError> {
        self.around(|| self.store.put_hint(name, bytes, over))
    }
}

/// A storage that lies. Clones lie alike.
#[derive(Clone)]
pub(crate) struct Lying {
    pub(crate) store: Memory,
    pub(crate) lies: Arc<Mutex<Lies>>,
}

#[derive(Default)]
pub(crate) struct Lies {
    /// What is there instead: the folder below a mount point that is not mounted, or the bucket of somebody else.
    pub(crate) instead: Option<Memory>,
    /// Objects that it does not give out: EIO, or a placeholder that is not downloaded.
    pub(crate) unreadable: BTreeSet<String>,
    /// Lists do not have these yet, or still have them.
    pub(crate) list: Option<Vec<String>>,
}

impl Lying {
    pub(crate) fn new(store: Memory) -> Lying {
        Lying { store, lies: Arc::default() }
    }

    fn there(&self) -> Memory {
        self.lies.lock().unwrap().instead.clone().unwrap_or_else(|| self.store.clone())
    }
}

impl Store for Lying {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.there().put(name, bytes)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        if self.lies.lock().unwrap().unreadable.contains(name) {
            return Err(StoreError::Unavailable { name: name.to_owned(), reason: "EIO".into() });
        }
        self.there().get(name, limit)
    }

    /// Only the first list after a lie is behind.
    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        if let Some(names) = self.lies.lock().unwrap().list.take() {
            return Ok(names.into_iter().filter(|name| name.starts_with(prefix)).collect());
        }
        self.there().list(prefix, after)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.there().delete(name)
    }
}
