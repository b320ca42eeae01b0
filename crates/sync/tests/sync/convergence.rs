//! Devices that write, are offline and are killed at random end with the same records, byte for byte.
//!
//! Does not know the format of the bucket.

use crate::device::{Device, expect_kills};
use crate::stores::{Hinted, Memory, Rng, fast_folder};
use loci_sync::storage::{Folder, Store};
use std::collections::BTreeSet;
use std::path::Path;

/// Shares a bucket between devices.
enum Bucket {
    Memory(Memory),
    /// With hints, as clouds have.
    Hinted(Memory),
    Folder(std::path::PathBuf),
}

impl Bucket {
    fn connect(&self) -> Box<dyn Fn() -> Box<dyn Store>> {
        match self {
            Bucket::Memory(memory) => {
                let memory = memory.clone();
                Box::new(move || Box::new(memory.clone()))
            }
            Bucket::Hinted(memory) => {
                let memory = memory.clone();
                Box::new(move || Box::new(Hinted(memory.clone())))
            }
            Bucket::Folder(path) => {
                let path = path.clone();
                Box::new(move || Box::new(Folder::new(&path)))
            }
        }
    }
}

struct Plan {
    devices: usize,
    steps: u64,
    seed: u64,
}

struct World {
    devices: Vec<Device>,
    rng: Rng,
    forgotten: BTreeSet<String>,
    written: BTreeSet<String>,
    kills: u64,
    now: u64,
}

fn start(home: &Path, bucket: &Bucket, plan: &Plan) -> World {
    let (first, phrase) = Device::create(&home.join("0"), bucket.connect());
    let mut devices = vec![first];
    for at in 1..plan.devices {
        devices.push(Device::recover(&home.join(at.to_string()), bucket.connect(), &phrase));
    }
    let rng = Rng(plan.seed);
    World {
        devices,
        rng,
        forgotten: BTreeSet::new(),
        written: BTreeSet::new(),
        kills: 0,
        now: 1_800_000_000_000,
    }
}

impl World {
    /// The clock of a device is wrong by up to three days.
    fn time_of(&self, device: usize) -> u64 {
        self.now + (device as u64 * 7919 % 7) * 86_400_000 - 3 * 86_400_000
    }

    fn step(&mut self) {
        self.now += 200;
        let which = self.rng.below(self.devices.len() as u64) as usize;
        let now = self.time_of(which);
        match self.rng.below(10) {
            0..=4 => self.write(which, now),
            5 => self.forget(which, now),
            6..=7 => drop(self.devices[which].sync(now)),
            _ => {
                let after = self.rng.below(24) + 1;
                self.kills += u64::from(self.devices[which].sync_killed(now, after));
            }
        }
    }

    fn write(&mut self, which: usize, now: u64) {
        // Half of the keys are shared by all devices, so that writes collide.
        let key = if self.rng.is_chance(50) {
            format!("shared-{}", self.rng.below(30))
        } else {
            format!("own-{which}-{}", self.rng.below(1000))
        };
        let text = format!("text {} of {which}", self.rng.next());
        self.written.insert(key.clone());
        self.devices[which].put(&key, &text, now);
    }

    /// Only what the device itself sees can be forgotten.
    fn forget(&mut self, which: usize, now: u64) {
        let keys: Vec<String> = self.devices[which].applied.keys().map(|(_, key)| key.clone()).collect();
        if !keys.is_empty() && self.rng.is_chance(30) {
            let key = keys[self.rng.below(keys.len() as u64) as usize].clone();
            self.devices[which].forget(&key, now);
            self.forgotten.insert(key);
        }
    }

    fn settle(&mut self) {
        for _ in 0..3 {
            for which in 0..self.devices.len() {
                let now = self.time_of(which) + 10_000;
                let round = self.devices[which].sync(now);
                assert_eq!(round.findings, [], "device {which}");
            }
        }
    }
}

fn run(bucket: &Bucket, plan: &Plan) -> u64 {
    expect_kills();
    let tmp = fast_folder();
    let mut world = start(tmp.path(), bucket, plan);
    for _ in 0..plan.steps {
        world.step();
    }
    world.settle();
    let export = world.devices[0].export();
    for (which, device) in world.devices.iter().enumerate() {
        assert_eq!(device.export(), export, "device {which} differs");
    }
    // Nothing lost: every key is there, unless it was forgotten. Nothing forgotten is back.
    let present: BTreeSet<String> = world.devices[0].applied.keys().map(|(_, key)| key.clone()).collect();
    let expected: BTreeSet<String> = world.written.difference(&world.forgotten).cloned().collect();
    assert_eq!(present, expected);
    // Nothing twice: without a kill, a version is handed over once; each kill repeats at most one batch.
    let repeated: u64 = world.devices.iter().flat_map(|d| d.handed.values()).map(|count| count - 1).sum();
    assert!(world.kills > 0 || repeated == 0, "{repeated} records were handed over twice");
    world.kills
}

#[test]
fn two_devices_converge_in_memory() {
    for seed in 1..3 {
        run(&Bucket::Memory(Memory::default()), &Plan { devices: 2, steps: 200, seed });
    }
}

#[test]
fn five_devices_converge_in_a_folder() {
    let tmp = tempfile::tempdir().unwrap();
    run(&Bucket::Folder(tmp.path().to_path_buf()), &Plan { devices: 5, steps: 300, seed: 11 });
}

#[test]
fn five_devices_converge_with_hints() {
    for seed in 30..33 {
        run(&Bucket::Hinted(Memory::default()), &Plan { devices: 5, steps: 300, seed });
    }
}

#[test]
fn twenty_devices_converge_in_memory() {
    run(&Bucket::Memory(Memory::default()), &Plan { devices: 20, steps: 300, seed: 21 });
}

#[test]
#[ignore = "takes minutes: 1,000 kills"]
fn a_thousand_kills_lose_nothing() {
    let mut kills = 0;
    let mut seed = 100;
    while kills < 1000 {
        for devices in [2, 5, 20] {
            seed += 1;
            kills += run(&Bucket::Memory(Memory::default()), &Plan { devices, steps: 600, seed });
            let tmp = tempfile::tempdir().unwrap();
            kills += run(&Bucket::Folder(tmp.path().to_path_buf()), &Plan { devices, steps: 300, seed });
        }
    }
    println!("{kills} kills");
}
