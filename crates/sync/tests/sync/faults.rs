//! A storage that fails: each kind of fault alone and all at once. Rounds may fail; data may not.
//!
//! Does not know which call a fault hits.

use crate::device::Device;
use crate::stores::{Fault, Faulty, Memory, Rng};
use loci_sync::storage::{Backoff, Retry, Store, StoreError};
use loci_sync::{Error, Problem};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn connect(store: &Faulty<Memory>) -> Box<dyn Fn() -> Box<dyn Store>> {
    let store = store.clone();
    Box::new(move || Box::new(Retry::new(store.clone(), Backoff::default(), |_| {})))
}

/// Two devices write over a faulty storage; then the faults end.
fn run(faults: &[Fault], percent: u64, seed: u64) {
    let store = Faulty::new(Memory::default(), faults, 0, seed);
    let tmp = tempfile::tempdir().unwrap();
    let (first, phrase) = Device::create(&tmp.path().join("a"), connect(&store));
    let second = Device::recover(&tmp.path().join("b"), connect(&store), &phrase);
    let mut devices = [first, second];
    *store.percent.lock().unwrap() = percent;
    let mut rng = Rng(seed);
    let (mut failed, mut now) = (0, 1_800_000_000_000);
    for at in 0..80 {
        now += 500;
        let which = rng.below(2) as usize;
        devices[which].put(&format!("k{}", rng.below(40)), &format!("text {at}"), now);
        failed += match devices[which].try_sync(now) {
            Ok(_) => 0,
            Err(Error::Store(error)) => u64::from(error.is_temporary()),
            Err(error) => panic!("{error}"),
        };
    }
    assert!(*store.injected.lock().unwrap() > 10, "no faults were injected");
    *store.percent.lock().unwrap() = 0;
    let mut findings = Vec::new();
    for _ in 0..3 {
        now += 2_000;
        for device in &mut devices {
            findings = device.sync(now).findings;
        }
    }
    assert_eq!(findings, [], "after {faults:?}, seed {seed}");
    assert_eq!(devices[0].export(), devices[1].export(), "after {faults:?}, seed {seed}");
    assert!(!devices[0].export().is_empty() && failed < 50, "{failed} rounds failed");
}

#[test]
fn each_fault_alone_does_no_damage() {
    for (at, fault) in Fault::ALL.into_iter().enumerate() {
        run(&[fault], 30, at as u64 + 1);
    }
}

#[test]
fn all_faults_together_do_no_damage() {
    for seed in 10..12 {
        run(&Fault::ALL, 25, seed);
    }
}

#[test]
fn an_outage_ends_after_bounded_retries_and_local_changes_stay() {
    let store = Faulty::new(Memory::default(), &[Fault::Unavailable], 0, 1);
    let tmp = tempfile::tempdir().unwrap();
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let (shared, seen) = (store.clone(), Arc::clone(&pauses));
    let connect: crate::device::Connect = Box::new(move || {
        let seen = Arc::clone(&seen);
        Box::new(Retry::new(shared.clone(), Backoff::default(), move |pause| {
            seen.lock().unwrap().push(pause)
        }))
    });
    let (mut device, _) = Device::create(tmp.path(), connect);
    *store.percent.lock().unwrap() = 100;
    device.put("a", "text", 5);
    assert!(matches!(device.try_sync(6), Err(Error::Store(StoreError::Unavailable { .. }))));
    assert_eq!(*store.injected.lock().unwrap(), 5);
    assert!(pauses.lock().unwrap().iter().sum::<Duration>() < Duration::from_secs(5));
    assert_eq!(device.open().status().unwrap().pending, 1);
    *store.percent.lock().unwrap() = 0;
    assert_eq!(device.sync(7).sent, 1);
    assert_eq!(device.open().status().unwrap().pending, 0);
}

#[test]
fn a_flipped_byte_is_a_finding_until_the_object_is_whole_again() {
    let memory = Memory::default();
    let store = Faulty::new(memory.clone(), &[], 0, 1);
    let tmp = tempfile::tempdir().unwrap();
    let (mut writer, phrase) = Device::create(&tmp.path().join("a"), connect(&store));
    let mut reader = Device::recover(&tmp.path().join("b"), connect(&store), &phrase);
    writer.put("a", "text", 5);
    writer.sync(6);
    let name = memory.names("/packs/").pop().unwrap();
    let whole = memory.get(&name, 1 << 20).unwrap();
    memory.objects.lock().unwrap().get_mut(&name).unwrap()[40] ^= 1;
    for now in 7..9 {
        let round = reader.sync(now);
        assert_eq!(round.findings.iter().map(|f| f.problem).collect::<Vec<_>>(), [Problem::DamagedPack]);
    }
    let (finding, since) = reader.open().status().unwrap().findings.pop().unwrap();
    assert_eq!((finding.object, since), (name.clone(), 7));
    assert_eq!(reader.text("a"), None);
    memory.put(&name, &whole).unwrap();
    assert_eq!(reader.sync(9).findings, []);
    assert_eq!(reader.text("a").as_deref(), Some("text"));
    assert_eq!(reader.open().status().unwrap().findings, []);
}

#[test]
fn an_application_that_fails_gets_the_records_again() {
    let memory = Memory::default();
    let store = Faulty::new(memory, &[], 0, 1);
    let tmp = tempfile::tempdir().unwrap();
    let (mut writer, phrase) = Device::create(&tmp.path().join("a"), connect(&store));
    let mut reader = Device::recover(&tmp.path().join("b"), connect(&store), &phrase);
    writer.put("a", "text", 5);
    writer.sync(6);
    let failed = reader.open().sync(7, &mut |_| Err("disk full".into()));
    assert!(matches!(failed, Err(Error::Apply(reason)) if reason == "disk full"));
    reader.sync(8);
    assert_eq!(reader.text("a").as_deref(), Some("text"));
}
