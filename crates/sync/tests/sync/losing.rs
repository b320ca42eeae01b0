//! Lose any object: each object of the storage is deleted or replaced by an older one, member lists included. After one round of its owner
//! and one of each reader, all devices are equal, no finding is left, and the phrase still opens a space with everything in it.
//!
//! The short form takes 9 seeds, and 2 over moto. `LOCI_LOSING_SEEDS=1000 cargo nextest run -p loci-sync losing` is the long form. A day passes between a
//! loss and the round: what was replaced in place is found by the daily comparison, what is missing from a list of heads at once.

use crate::device::{Connect, Device};
use crate::stores::{Memory, Rng, fast_folder};
use loci_sync::storage::{Folder, Store};
use loci_sync::{Change, Error, Phrase, Settings};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testutil::StorageServer;
use testutil::needs::number_variable;

const DAY: u64 = 24 * 3600 * 1000;

type Objects = BTreeMap<String, Vec<u8>>;

enum Bucket {
    Memory(Memory),
    Folder(PathBuf),
    /// An S3 storage, and its credentials.
    Cloud(String, Vec<(String, String)>),
}

impl Bucket {
    fn connect(&self) -> Connect {
        match self {
            Bucket::Memory(memory) => {
                let memory = memory.clone();
                Box::new(move || Box::new(memory.clone()))
            }
            Bucket::Folder(path) => {
                let path = path.clone();
                Box::new(move || Box::new(Folder::new(&path)))
            }
            Bucket::Cloud(url, variables) => crate::servers::connect(url, variables),
        }
    }

    fn snapshot(&self) -> Objects {
        let store = (self.connect())();
        let names = store.list("v1/", None).unwrap();
        names.into_iter().map(|name| (name.clone(), store.get(&name, 1 << 30).unwrap())).collect()
    }

    fn write(&self, name: &str, bytes: Option<&Vec<u8>>) {
        let store = (self.connect())();
        store.delete(name).unwrap();
        if let Some(bytes) = bytes {
            store.put(name, bytes).unwrap();
        }
    }

    fn restore(&self, objects: &Objects) {
        for name in self.snapshot().keys().filter(|name| !objects.contains_key(*name)) {
            self.write(name, None);
        }
        objects.iter().for_each(|(name, bytes)| self.write(name, Some(bytes)));
    }
}

struct World {
    bucket: Bucket,
    devices: Vec<Device>,
    phrase: Phrase,
    rng: Rng,
    now: u64,
    snapshots: Vec<Objects>,
    late: usize,
    home: PathBuf,
}

impl World {
    fn start(home: &Path, bucket: Bucket, seed: u64) -> World {
        let mut rng = Rng(seed * 2 + 1);
        let (first, phrase) = Device::create(&home.join("0"), bucket.connect());
        let mut devices = vec![first];
        for at in 1..3 + rng.below(3) {
            devices.push(Device::recover(&home.join(at.to_string()), bucket.connect(), &phrase));
        }
        for device in &mut devices {
            device.settings = Settings { grace_ms: 1_000, fan_in: 3, kept_heads: 2 };
        }
        let (now, home) = (1_800_000_000_000, home.to_path_buf());
        World { bucket, devices, phrase, rng, now, snapshots: Vec::new(), late: 0, home }
    }

    fn work(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now += 1_000;
            let which = self.rng.below(self.devices.len() as u64) as usize;
            let key = format!("k{}", self.rng.below(12));
            match self.rng.below(12) {
                0..=4 => self.devices[which].put(&key, &format!("text {}", self.rng.next()), self.now),
                // More than is kept of a pack.
                5 => {
                    let text: String = (0..4_000).map(|_| format!("{:020}", self.rng.next())).collect();
                    self.devices[which].put(&key, &text, self.now);
                }
                6 => self.devices[which].stage(Change::delete("facts", &key), self.now),
                7 => self.devices[which].forget(&key, self.now),
                8 if self.snapshots.len() < 4 => self.snapshots.push(self.bucket.snapshot()),
                _ => drop(self.devices[which].sync(self.now)),
            }
        }
    }

    /// Rounds until all have read all.
    fn settle(&mut self) {
        for _ in 0..2 {
            for at in 0..self.devices.len() {
                self.now += 1_000;
                self.devices[at].sync(self.now);
            }
        }
        self.check("before a loss");
    }

    fn check(&mut self, what: &str) {
        let expected = self.devices[0].export();
        for (at, device) in self.devices.iter().enumerate() {
            assert_eq!(device.export(), expected, "{what}: device {at} differs");
            assert_eq!(device.open().status().unwrap().findings, [], "{what}: device {at}");
        }
    }

    /// Deletes or replaces some objects, each in its turn. Every one of them was hit when this is empty.
    fn lose(&mut self, left: &mut Vec<String>) {
        let count = 1 + self.rng.below(left.len() as u64) as usize;
        let count = if self.rng.is_chance(40) { left.len() } else { count };
        let now: Objects = self.bucket.snapshot();
        for _ in 0..count {
            let at = self.rng.below(left.len() as u64) as usize;
            let name = left.swap_remove(at);
            let kind = |name: &str| name.split('/').nth(2).map(str::to_owned);
            let older: Vec<&Vec<u8>> = now
                .iter()
                .filter(|(other, _)| **other < name && kind(other) == kind(&name))
                .map(|(_, bytes)| bytes)
                .collect();
            let older = match older.len() as u64 {
                0 => None,
                count => Some(older[self.rng.below(count) as usize]).filter(|_| self.rng.is_chance(50)),
            };
            self.bucket.write(&name, older);
        }
    }

    /// One round of each as owner, and one of each as reader.
    fn mend(&mut self, what: &str) {
        self.now += DAY;
        for pass in 0..2 {
            for at in 0..self.devices.len() {
                self.now += 1_000;
                let now = self.now;
                match self.devices[at].try_sync(now) {
                    // Nothing is there at all: a person says that it is the right storage.
                    Err(Error::NotOurs) => {
                        self.devices[at].open().accept_storage().unwrap();
                        self.devices[at].sync(now);
                    }
                    round => drop(round.unwrap_or_else(|error| panic!("{what}, pass {pass}: {error}"))),
                }
            }
        }
        self.check(what);
        let copy = Memory::default();
        copy.restore(self.bucket.snapshot());
        self.late += 1;
        let home = self.home.join(format!("late{}", self.late));
        let mut late = Device::recover(&home, Box::new(move || Box::new(copy.clone())), &self.phrase);
        assert_eq!(late.sync(self.now).findings, [], "{what}: a new device");
        assert_eq!(late.export(), self.devices[0].export(), "{what}: a new device");
    }
}

fn run(bucket: Bucket, seed: u64) {
    let tmp = fast_folder();
    let mut world = World::start(tmp.path(), bucket, seed);
    world.work(60);
    world.settle();
    let mut left: Vec<String> = world.bucket.snapshot().into_keys().collect();
    while !left.is_empty() {
        world.lose(&mut left);
        world.mend(&format!("seed {seed}, {} left", left.len()));
        let there = world.bucket.snapshot();
        left.retain(|name| there.contains_key(name));
    }
    world.work(10);
    world.settle();
    for snapshot in std::mem::take(&mut world.snapshots) {
        world.bucket.restore(&snapshot);
        world.mend(&format!("seed {seed}, restored"));
    }
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn each_object_of_an_s3_storage_may_be_lost() {
    let (_server, variables) = StorageServer::moto();
    for seed in 1..=number_variable("LOCI_LOSING_SEEDS", 2) {
        run(Bucket::Cloud(format!("s3://loci/losing-{seed}"), variables.clone()), seed);
    }
}

#[test]
fn each_object_of_the_storage_may_be_lost() {
    let seeds = number_variable("LOCI_LOSING_SEEDS", 9);
    for seed in 1..=seeds {
        if seed % 3 == 0 {
            let tmp = fast_folder();
            run(Bucket::Folder(tmp.path().to_path_buf()), seed);
        } else {
            run(Bucket::Memory(Memory::default()), seed);
        }
    }
}
