//! The same random steps through the model and through the engine, over a storage in memory: after each step the applications of all devices
//! have the same, and in the end all agree.
//!
//! Names of devices are random in the engine and decide between equal clocks. So the devices are put in the order of their names; and once one
//! has a new name, only whether there is a text is compared.

use super::device::name_key;
use super::world::{Action, KEY, NOTE, World};
use super::{ALL, device};
use crate::device::{Device, expect_kills};
use crate::stores::{Killed, Lying, Memory, Rng, fast_folder};
use loci_sync::Settings;
use loci_sync::storage::{Store, StoreError};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const DAY: u64 = 24 * 3600 * 1000;

/// A kill before the first head is sent.
struct DiesAtHead(Lying);

impl Store for DiesAtHead {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if name.contains("/heads/") {
            std::panic::panic_any(Killed);
        }
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
}

/// What is kept of a device.
struct Copy {
    files: Vec<(std::ffi::OsString, Vec<u8>)>,
    applied: BTreeMap<(String, String), Vec<u8>>,
    listed: Vec<String>,
}

struct Engine {
    store: Lying,
    devices: Vec<Device>,
    /// The heads that each device has seen in a list, or written.
    listed: Vec<Vec<String>>,
    texts: u8,
    rounds: u64,
    backup: Option<Copy>,
    saved: Option<BTreeMap<String, Vec<u8>>>,
}

fn files(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
}

impl Engine {
    fn start(home: &Path) -> Engine {
        let store = Lying::new(Memory::default());
        let connect = || -> crate::device::Connect {
            let store = store.clone();
            Box::new(move || Box::new(store.clone()))
        };
        let (first, phrase) = Device::create(&home.join("0"), connect());
        let mut devices = vec![first];
        for at in 1..3 {
            devices.push(Device::recover(&home.join(at.to_string()), connect(), &phrase));
        }
        devices.sort_by_key(|device| device.open().device());
        for device in &mut devices {
            device.settings = Settings { grace_ms: 0, fan_in: 2, kept_heads: 2 };
        }
        // So that all know the member list.
        for _ in 0..2 {
            devices.iter_mut().for_each(|device| drop(device.sync(1)));
        }
        let heads = store.store.names("/heads/");
        Engine { store, devices, listed: vec![heads; 3], texts: 0, rounds: 1, backup: None, saved: None }
    }

    fn copy(&self, at: usize) -> Copy {
        let device = &self.devices[at];
        Copy {
            files: files(&device.folder),
            applied: device.applied.clone(),
            listed: self.listed[at].clone(),
        }
    }

    fn become_copy(&mut self, at: usize, copy: Copy) {
        let device = &mut self.devices[at];
        for (name, _) in files(&device.folder) {
            std::fs::remove_file(device.folder.join(name)).unwrap();
        }
        for (name, bytes) in &copy.files {
            std::fs::write(device.folder.join(name), bytes).unwrap();
        }
        (device.applied, self.listed[at]) = (copy.applied, copy.listed);
    }

    /// More than is kept of a pack, or less: as the model has it.
    fn write(&mut self, at: usize, key: u8, clock: u64) {
        self.texts += 1;
        let length = if clock.is_multiple_of(2) { 1 } else { 80_000 };
        let mut rng = Rng(u64::from(self.texts) + 7);
        let filler: String = (0..length / 16).map(|_| format!("{:016x}", rng.next())).collect();
        let now = if at == 1 { 5 } else { 0 };
        self.devices[at].put(&name_key(key), &format!("{} {filler}", self.texts), now);
    }

    fn round(&mut self, at: usize, is_killed: bool) {
        // A day passes, so that what is lost is looked for.
        self.rounds += 1;
        let (now, store) = (self.rounds * DAY, self.store.clone());
        let before = self.store.store.names("/heads/");
        let device = &mut self.devices[at];
        let connect = is_killed.then(|| {
            std::mem::replace(&mut device.connect, Box::new(move || Box::new(DiesAtHead(store.clone()))))
        });
        let done = catch_unwind(AssertUnwindSafe(|| device.try_sync(now)));
        if let Some(connect) = connect {
            device.connect = connect;
        }
        match done {
            Ok(round) => drop(round.unwrap()),
            Err(panic) => assert!(is_killed && panic.is::<Killed>(), "a panic that is no kill"),
        }
        let names = self.store.store.names("/heads/");
        self.listed[at].extend(names.into_iter().filter(|name| !before.contains(name)));
    }

    fn step(&mut self, action: Action, clock: u64) {
        match action {
            Action::Put(at) => self.write(at, KEY, clock),
            Action::Note => self.write(0, NOTE, clock),
            Action::Forget(at) => {
                let now = if at == 1 { 5 } else { 0 };
                self.devices[at].forget(&name_key(KEY), now);
            }
            Action::Round(at) => {
                self.listed[at] = self.store.store.names("/heads/");
                self.round(at, false);
            }
            Action::RoundKilled(at) => {
                self.listed[at] = self.store.store.names("/heads/");
                self.round(at, true);
            }
            Action::RoundBehind(at) => {
                self.store.lies.lock().unwrap().list = Some(self.listed[at].clone());
                self.round(at, false);
            }
            Action::Clone => {
                let copy = self.copy(0);
                self.become_copy(2, copy);
            }
            Action::BackUp(at) => self.backup = Some(self.copy(at)),
            Action::GoBack(at) => {
                let copy = self.backup.take().unwrap();
                self.become_copy(at, copy);
            }
            Action::SaveStorage => self.saved = Some(self.store.store.snapshot()),
            Action::RestoreStorage => self.store.store.restore(self.saved.take().unwrap()),
            Action::Lose(at) => {
                let packs = self.store.store.names(&format!("/packs/{}", self.devices[at].open().device()));
                packs.last().iter().for_each(|name| self.store.store.delete(name).unwrap());
            }
        }
    }

    fn text(&self, at: usize, key: u8) -> Option<u8> {
        let text = self.devices[at].text(&name_key(key))?;
        Some(text.split(' ').next().unwrap().parse().unwrap())
    }
}

/// Compares what the applications have. Once a device has a new name, equal clocks are decided by chance.
fn compare(engine: &Engine, world: &World, is_named_anew: bool, what: &dyn Fn() -> String) {
    for (at, device) in world.devices.iter().enumerate() {
        for key in [KEY, NOTE] {
            let (real, modelled) = (engine.text(at, key), device.text(key));
            if is_named_anew {
                assert_eq!(real.is_some(), modelled.is_some(), "device {at}: {}", what());
            } else {
                assert_eq!(real, modelled, "device {at}: {}", what());
            }
        }
    }
}

fn run(seed: u64, steps: u64) {
    let home = fast_folder();
    let (mut engine, mut world, mut rng) = (Engine::start(home.path()), World::new(3), Rng(seed * 2 + 1));
    let mut actions = Vec::new();
    for _ in 0..steps {
        let offered = world.list_actions(ALL);
        let action = offered[rng.below(offered.len() as u64) as usize];
        actions.push(action);
        world.step(action, None);
        let clock_of = |at: usize, key| world.devices[at].known.get(key).map_or(0, |item| item.clock);
        let written = match action {
            Action::Put(at) => clock_of(at, &KEY),
            Action::Note => clock_of(0, &NOTE),
            _ => 0,
        };
        engine.step(action, written);
        let is_named_anew =
            world.devices.iter().any(|device| device.log > 3) || actions.contains(&Action::Clone);
        compare(&engine, &world, is_named_anew, &|| format!("seed {seed}: {actions:?}"));
    }
    assert_eq!(world.settles(None), Ok(()), "seed {seed}: {actions:?}");
    for _ in 0..3 {
        for at in 0..3 {
            engine.step(Action::Round(at), 0);
        }
    }
    for key in [KEY, NOTE] {
        let texts: Vec<Option<u8>> = (0..3).map(|at| engine.text(at, key)).collect();
        assert!(texts.iter().all(|text| *text == texts[0]), "seed {seed}: {actions:?}: {texts:?}");
    }
}

#[test]
fn the_engine_does_what_the_model_does() {
    expect_kills();
    let seeds = testutil::needs::number_variable("LOCI_MODEL_SEEDS", 40);
    for seed in 1..=seeds {
        run(seed, 10);
    }
}

#[test]
fn an_item_of_the_model_is_a_record_of_the_engine() {
    let item = device::Item { key: KEY, clock: 7, log: 2, said: device::Said::Text(3) };
    let record = item.to_record();
    assert_eq!((record.rank().version.clock, record.rank().forgotten), (7, false));
}
