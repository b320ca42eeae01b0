//! The hint: a device finds out with one request whether any has published, and is never misled for long.
//!
//! Does not know what the hint contains.

use crate::device::{Connect, Device};
use crate::stores::{Counting, Hinted, Memory, fast_folder};
use loci_sync::storage::{Backoff, Cloud, Retry, Store};
use std::path::Path;
use testutil::{FaultyProxy, StorageServer};

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;

fn connect(store: &Counting<Memory>) -> Connect {
    let store = store.clone();
    Box::new(move || Box::new(Hinted(store.clone())))
}

/// Devices that have read all, and the time then.
fn start(home: &Path, count: usize, connect: impl Fn() -> Connect) -> (Vec<Device>, u64) {
    let (first, phrase) = Device::create(&home.join("0"), connect());
    let mut devices = vec![first];
    for at in 1..count {
        devices.push(Device::recover(&home.join(at.to_string()), connect(), &phrase));
    }
    let mut now = NOW;
    for (at, device) in devices.iter_mut().enumerate() {
        device.put(&format!("k{at}"), "text", now);
    }
    // Until nobody has anything to confirm.
    for _ in 0..6 {
        for device in &mut devices {
            now += 1_000;
            assert_eq!(device.sync(now).findings, []);
        }
    }
    (devices, now)
}

#[test]
fn an_idle_round_is_one_request_and_a_publication_is_found_by_the_next() {
    let (home, store) = (fast_folder(), Counting::new(Memory::default()));
    let (mut devices, mut now) = start(home.path(), 5, || connect(&store));
    let before = *store.counts.lock().unwrap();
    for device in &mut devices {
        now += MINUTE;
        assert_eq!(device.sync(now).lists, 1);
    }
    let idle = *store.counts.lock().unwrap();
    assert_eq!((idle.requests() - before.requests(), idle.lists - before.lists), (5, 0));
    // A publication asks for nothing but what has changed: no list, and no proof that the storage is ours.
    for at in 0..3 {
        let before = *store.counts.lock().unwrap();
        devices[0].put("k0", &format!("text {at}"), now);
        now += MINUTE;
        assert_eq!(devices[0].sync(now).sent, 1);
        let after = *store.counts.lock().unwrap();
        assert_eq!((after.puts - before.puts, after.lists - before.lists), (3, 0));
    }
    for device in &mut devices[1..] {
        now += 1_000;
        assert_eq!(device.sync(now).received, 3);
    }
}

#[test]
fn a_hint_that_never_came_delays_a_publication_by_a_quarter_of_an_hour_at_most() {
    let (home, store) = (fast_folder(), Counting::new(Memory::default()));
    let (mut devices, now) = start(home.path(), 2, || connect(&store));
    let hint = store.store.names("/hint").remove(0);
    let before = store.store.snapshot()[&hint].clone();
    devices[0].put("late", "text", now);
    devices[0].sync(now + 1_000);
    // As if its device had been killed for good before it.
    store.store.put(&hint, &before).unwrap();
    assert_eq!(devices[1].sync(now + 2_000).received, 0);
    assert_eq!(devices[1].sync(now + 16 * MINUTE).received, 1);
}

#[test]
fn two_publications_at_once_are_both_found() {
    let (home, store) = (fast_folder(), Counting::new(Memory::default()));
    let (mut devices, now) = start(home.path(), 3, || connect(&store));
    let publish = |device: &mut Device, key: &str, now| {
        device.put(key, "text", now);
        assert_eq!(device.sync(now).sent, 1);
    };
    let hint = store.store.names("/hint").remove(0);
    let before = store.store.snapshot()[&hint].clone();
    publish(&mut devices[0], "first", now);
    // The second device has polled before that, and overwrites the hint after it.
    let first = store.store.snapshot()[&hint].clone();
    store.store.put(&hint, &before).unwrap();
    devices[1].put("second", "text", now + 500);
    assert_eq!(devices[1].sync(now + 500).sent, 1);
    assert_ne!(store.store.snapshot()[&hint], first);
    for device in &mut devices {
        device.sync(now + 16 * MINUTE);
    }
    assert!(
        devices.iter().all(|device| device.export() == devices[0].export() && device.text("first").is_some())
    );
}

#[test]
fn a_hint_in_another_storage_is_no_proof() {
    let (home, store) = (fast_folder(), Counting::new(Memory::default()));
    let (mut devices, now) = start(home.path(), 2, || connect(&store));
    let hint = store.store.names("/hint").remove(0);
    let stale: std::collections::BTreeMap<String, Vec<u8>> = [(hint, vec![1; 32])].into();
    store.store.restore(stale);
    devices[0].put("k", "text", now);
    assert!(matches!(devices[0].try_sync(now + 1_000), Err(loci_sync::Error::NotOurs)));
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn an_idle_round_of_each_device_is_one_conditional_get_over_s3() {
    let (server, variables) = StorageServer::moto();
    let proxy = FaultyProxy::start(server.port);
    let variables = proxy.variables(&variables);
    let connect = || -> Connect {
        let variables = variables.clone();
        Box::new(move || {
            let store = Cloud::open("s3://loci/idle", variables.clone()).unwrap();
            Box::new(Retry::new(store, Backoff::default(), std::thread::sleep))
        })
    };
    let home = fast_folder();
    let (mut devices, mut now) = start(home.path(), 6, connect);
    proxy.take_seen();
    for device in &mut devices {
        now += MINUTE;
        device.sync(now);
    }
    let seen = proxy.take_seen();
    let is_poll =
        |request: &testutil::SeenRequest| request.method == "GET" && request.target.ends_with("/hint");
    assert!(seen.len() == 6 && seen.iter().all(is_poll), "{seen:?}");
    devices[0].put("k", "text", now);
    devices[0].sync(now + MINUTE);
    let methods: Vec<String> = proxy.take_seen().into_iter().map(|request| request.method).collect();
    assert_eq!(methods, ["GET", "PUT", "PUT", "PUT"]);
    assert_eq!(devices[1].sync(now + 2 * MINUTE).received, 1);
    let methods: Vec<String> = proxy.take_seen().into_iter().map(|request| request.method).collect();
    // The hint, the list, a head and a pack.
    assert_eq!(methods, ["GET"; 4]);
}
