//! The engine over a real distributed store: three nodes of Garage, one of which is killed in the middle. Garage accepts conditional
//! writes and ignores their condition.
//!
//! Does not install it.

use crate::device::Device;
use crate::kills::{World, create_devices};
use crate::servers::{check_calls, connect};
use loci_sync::Problem;
use loci_sync::storage::{Cloud, Store, StoreError};
use std::collections::BTreeSet;
use testutil::GarageCluster;

const URL: &str = "s3://loci/devices";
const DEVICES: usize = 5;
/// The node that is killed. One device has no other.
const GONE: usize = 2;

/// A device that talks to the killed node cannot reach the storage; all others can.
fn node_of(device: usize) -> usize {
    if device == DEVICES - 1 { GONE } else { device % 2 }
}

/// Rounds of random devices, a part of which is killed. Devices that are not drawn are offline. Returns the devices whose last round
/// failed, and the number of kills.
fn run_rounds(world: &mut World, rounds: usize, mut failed: BTreeSet<usize>) -> (BTreeSet<usize>, u64) {
    let mut kills = 0;
    for _ in 0..rounds {
        let device = world.rng.below(DEVICES as u64) as usize;
        if world.rng.is_chance(50) && node_of(device) != GONE {
            kills += u64::from(world.run_killed(device, 150_000));
            continue;
        }
        match world.run_whole(device) {
            Ok(()) => drop(failed.remove(&device)),
            Err(said) => {
                assert!(said.contains("Unavailable"), "{said}");
                failed.insert(device);
            }
        }
    }
    (failed, kills)
}

#[test]
#[ignore = "needs garage: see CONTRIBUTING.md"]
fn killed_devices_converge_while_a_node_is_killed_and_comes_back() {
    let mut cluster = GarageCluster::start();
    let tmp = tempfile::tempdir().unwrap();
    create_devices(tmp.path(), DEVICES, &connect(URL, &cluster.variables(0)));
    let variables = (0..DEVICES).map(|device| cluster.variables(node_of(device))).collect();
    let mut world = World::new(tmp.path(), URL, variables, 31);
    let (failed, before) = run_rounds(&mut world, 60, BTreeSet::new());
    assert_eq!(failed, BTreeSet::new(), "rounds failed with all nodes up");
    cluster.kill(GONE);
    // At least one round of the device that cannot reach another node.
    let cut_off = BTreeSet::from([DEVICES - 1]);
    assert!(world.run_whole(DEVICES - 1).unwrap_err().contains("Unavailable"));
    let (failed, during) = run_rounds(&mut world, 60, cut_off.clone());
    assert_eq!(failed, cut_off, "with two of three nodes up, only the device without one of them fails");
    cluster.restart(GONE);
    let (failed, after) = run_rounds(&mut world, 60, failed);
    assert!(before > 0 && during > 0 && after > 0, "{before}, {during} and {after} kills");
    for _ in 0..3 {
        (0..DEVICES).for_each(|device| world.run_idle(device));
    }
    world.assert_converged();
    println!("{} kills; devices to be retried at the end: {failed:?}", before + during + after);
}

/// A list that is as old as a moment, as of a cache.
struct Stale {
    store: Box<dyn Store>,
    listed: Vec<String>,
}

impl Store for Stale {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.put(name, bytes)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        self.store.get(name, limit)
    }

    fn list(&self, prefix: &str, _: Option<&str>) -> Result<Vec<String>, StoreError> {
        Ok(self.listed.iter().filter(|name| name.starts_with(prefix)).cloned().collect())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.store.delete(name)
    }
}

/// Two copies of one device write at the same moment, with the same number. No condition keeps them apart: their names do.
#[test]
#[ignore = "needs garage: see CONTRIBUTING.md"]
fn clones_lose_nothing_where_conditions_are_ignored() {
    let cluster = GarageCluster::start();
    let variables = cluster.variables(1);
    let store = Cloud::open("s3://loci/contract", variables.clone()).unwrap();
    check_calls(&store);
    store.put("v1/c", b"one").unwrap();
    assert_eq!(store.put("v1/c", b"other"), Ok(()), "Garage enforces conditions now: say so in the protocol");
    let tmp = tempfile::tempdir().unwrap();
    let url = "s3://loci/clones";
    let (mut first, phrase) = Device::create(&tmp.path().join("first"), connect(url, &variables));
    first.put("a", "before", 1);
    first.sync(2);
    let folder = tmp.path().join("clone");
    testutil::copy_folder(&first.folder, &folder);
    let listed = connect(url, &variables)().list("v1/", None).unwrap();
    let fresh = connect(url, &variables);
    let stale = move || Box::new(Stale { store: fresh(), listed: listed.clone() }) as Box<dyn Store>;
    let (applied, handed) = (first.applied.clone(), first.handed.clone());
    let mut clone = Device { folder, connect: Box::new(stale), settings: first.settings, applied, handed };
    first.put("b", "of the first", 3);
    first.sync(4);
    clone.put("c", "of the clone", 3);
    assert_eq!(clone.sync(5).findings, []);
    clone.connect = connect(url, &variables);
    let mut reader = Device::recover(&tmp.path().join("reader"), connect(url, &variables), &phrase);
    assert!(reader.sync(6).findings.iter().any(|finding| finding.problem == Problem::Fork));
    for now in 7..10 {
        [&mut first, &mut clone, &mut reader].into_iter().for_each(|device| drop(device.sync(now)));
    }
    assert_eq!(reader.applied.len(), 3, "{}", reader.export());
    assert!([&first, &clone].iter().all(|device| device.export() == reader.export()));
    assert_ne!(first.open().device(), clone.open().device());
}
