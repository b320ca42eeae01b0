//! Forgetting: what was forgotten on one device is gone on all, also from the bucket, and does not come back.
//!
//! Does not know the format of packs: it decrypts nothing and asks new devices instead.

use crate::device::Device;
use crate::stores::Memory;
use loci_sync::storage::Store;
use loci_sync::{Change, Phrase};
use std::path::Path;

fn connect(memory: &Memory) -> Box<dyn Fn() -> Box<dyn Store>> {
    let memory = memory.clone();
    Box::new(move || Box::new(memory.clone()))
}

fn start(home: &Path, count: usize) -> (Memory, Vec<Device>, Phrase) {
    let memory = Memory::default();
    let (first, phrase) = Device::create(&home.join("0"), connect(&memory));
    let mut devices = vec![first];
    for at in 1..count {
        devices.push(Device::recover(&home.join(at.to_string()), connect(&memory), &phrase));
    }
    (memory, devices, phrase)
}

/// Everything a new device is handed, also what it would drop again in the same round.
fn everything_in_the_bucket(home: &Path, memory: &Memory, phrase: &Phrase) -> Vec<String> {
    let device = Device::recover(home, connect(memory), phrase);
    let mut texts = Vec::new();
    let mut collect = |records: &[loci_sync::Record]| {
        for record in records {
            if let loci_sync::Body::Bytes(bytes) = &record.body {
                texts.push(String::from_utf8_lossy(bytes).into_owned());
            }
        }
        Ok(())
    };
    device.open().sync(1_900_000_000_000, &mut collect).unwrap();
    texts
}

#[test]
fn a_forgotten_record_leaves_the_owners_packs_whoever_forgets_it() {
    let tmp = tempfile::tempdir().unwrap();
    let (memory, mut devices, phrase) = start(tmp.path(), 2);
    for at in 0..10 {
        devices[0].put(&format!("k{at}"), &format!("text {at}"), 100 + at);
        devices[0].sync(200 + at);
    }
    devices[1].sync(300);
    devices[1].forget("k3", 301);
    devices[1].sync(302);
    // The owner learns of it and writes its packs anew; the old ones are deleted without grace.
    devices[0].sync(303);
    assert_eq!(devices[0].text("k3"), None);
    let texts = everything_in_the_bucket(&tmp.path().join("new"), &memory, &phrase);
    assert!(!texts.contains(&"text 3".to_owned()) && texts.len() == 9, "{texts:?}");
    devices[1].sync(304);
    assert_eq!(devices[0].export(), devices[1].export());
}

#[test]
fn a_later_write_does_not_bring_a_forgotten_record_back() {
    let tmp = tempfile::tempdir().unwrap();
    let (_, mut devices, _) = start(tmp.path(), 2);
    devices[0].put("a", "one", 100);
    devices[0].sync(101);
    devices[1].sync(102);
    // Offline, with a clock far ahead, the second device writes the record that the first forgets.
    devices[1].put("a", "two", 9_000_000);
    devices[0].forget("a", 103);
    devices[0].sync(104);
    devices[1].sync(9_000_001);
    devices[0].sync(105);
    assert_eq!((devices[0].text("a"), devices[1].text("a")), (None, None));
    let staged = devices[1].open().stage([Change::put("facts", "a", "three")], 9_000_002).unwrap();
    assert_eq!((staged.accepted, staged.refused), (0, 1));
    let again = devices[1].open().stage([Change::forget("facts", "a")], 9_000_003).unwrap();
    assert_eq!(again.unchanged, 1);
}

#[test]
fn a_deleted_record_may_come_back() {
    let tmp = tempfile::tempdir().unwrap();
    let (_, mut devices, _) = start(tmp.path(), 2);
    devices[0].put("a", "one", 100);
    devices[0].stage(Change::delete("facts", "a"), 101);
    devices[0].sync(102);
    devices[1].sync(103);
    assert_eq!(devices[1].text("a"), None);
    devices[1].put("a", "two", 104);
    devices[1].sync(105);
    devices[0].sync(106);
    assert_eq!(devices[0].text("a").as_deref(), Some("two"));
}

#[test]
fn status_says_which_devices_have_confirmed() {
    let tmp = tempfile::tempdir().unwrap();
    let (_, mut devices, _) = start(tmp.path(), 3);
    for now in [10, 20] {
        devices.iter_mut().for_each(|device| drop(device.sync(now)));
    }
    devices[0].put("a", "one", 100);
    devices[0].sync(101);
    devices[0].forget("a", 102);
    devices[0].sync(103);
    let confirmed = |devices: &[Device]| -> usize {
        devices[0].open().status().unwrap().devices.iter().filter(|device| device.has_confirmed).count()
    };
    assert_eq!(confirmed(&devices), 1);
    devices[1].sync(104);
    devices[0].sync(105);
    assert_eq!(confirmed(&devices), 2);
    devices[2].sync(106);
    devices[0].sync(107);
    assert_eq!(confirmed(&devices), 3);
    // Confirmations end by themselves: nobody answers an answer.
    for device in &mut devices {
        device.sync(108);
    }
    for device in &mut devices {
        assert_eq!(device.sync(109).heads, 0);
    }
}

#[test]
fn a_pending_record_that_was_forgotten_elsewhere_is_not_sent() {
    let tmp = tempfile::tempdir().unwrap();
    let (memory, mut devices, phrase) = start(tmp.path(), 2);
    devices[0].put("a", "one", 100);
    devices[0].sync(101);
    devices[1].sync(102);
    devices[1].put("a", "two", 103);
    devices[0].forget("a", 104);
    devices[0].sync(105);
    assert_eq!(devices[1].sync(106).sent, 0);
    assert_eq!(everything_in_the_bucket(&tmp.path().join("new"), &memory, &phrase), Vec::<String>::new());
}
