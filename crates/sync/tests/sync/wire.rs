//! Faults on the wire between the engine and a server that speaks S3: what the client library makes of them counts as well.
//!
//! Does not know which request a fault hits.

use crate::device::{Connect, Device};
use crate::stores::Rng;
use loci_sync::storage::{Backoff, Cloud, Retry, Store, StoreError};
use loci_sync::{Error, Phrase};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use testutil::{FaultyProxy, SeenRequest, StorageServer, WireFault};

const ATTEMPTS: u32 = 5;

struct Wire {
    proxy: FaultyProxy,
    variables: Vec<(String, String)>,
    _server: StorageServer,
}

fn start() -> Wire {
    let (server, variables) = StorageServer::moto();
    let proxy = FaultyProxy::start(server.port);
    let mut variables = proxy.variables(&variables);
    // Less than a stall takes.
    variables.push(("AWS_TIMEOUT".into(), "1 second".into()));
    Wire { proxy, variables, _server: server }
}

impl Wire {
    /// As in a device, with shorter pauses.
    fn connect(&self, url: &str) -> Connect {
        let (url, variables) = (url.to_owned(), self.variables.clone());
        let backoff =
            Backoff { attempts: ATTEMPTS, first: Duration::from_millis(2), most: Duration::from_millis(20) };
        Box::new(move || {
            let store = Cloud::open(&url, variables.clone()).unwrap();
            Box::new(Retry::new(store, backoff, std::thread::sleep))
        })
    }

    fn pair(&self, home: &Path, url: &str) -> [Device; 2] {
        let (first, phrase): (Device, Phrase) = Device::create(&home.join("a"), self.connect(url));
        let second = Device::recover(&home.join("b"), self.connect(url), &phrase);
        [first, second]
    }
}

/// How often one request was made in a row, at most.
fn longest_run(seen: &[SeenRequest]) -> usize {
    let is_same = |a: &SeenRequest, b: &SeenRequest| (&a.method, &a.target) == (&b.method, &b.target);
    seen.chunk_by(is_same).map(<[SeenRequest]>::len).max().unwrap_or(0)
}

/// Two devices with clocks days apart write while a share of the requests goes wrong; then the faults end.
fn run(wire: &Wire, faults: &[WireFault], percent: u64, seed: u64) {
    let tmp = tempfile::tempdir().unwrap();
    let mut devices = wire.pair(tmp.path(), &format!("s3://loci/wire-{seed}"));
    wire.proxy.take_seen();
    wire.proxy.inject(faults, percent, seed);
    let (mut rng, mut written) = (Rng(seed), BTreeSet::new());
    let (mut now, mut failed) = (1_800_000_000_000, 0);
    let time_of = |which: usize, now: u64| now + which as u64 * 5 * 86_400_000;
    for at in 0..14 {
        now += 500;
        let which = rng.below(2) as usize;
        let key = format!("k{}", rng.below(10));
        devices[which].put(&key, &format!("text {at}"), time_of(which, now));
        written.insert(key);
        failed += match devices[which].try_sync(time_of(which, now)) {
            Ok(_) => 0,
            Err(Error::Store(_)) => 1,
            Err(error) => panic!("{faults:?}, seed {seed}: {error}"),
        };
    }
    let seen = wire.proxy.take_seen();
    let hits = seen.iter().filter(|request| request.fault.is_some()).count();
    assert!(hits > 3, "{faults:?}: {hits} faults in {} requests", seen.len());
    // Two rounds in a row may begin with the request that the one before ended with.
    assert!(longest_run(&seen) <= 2 * ATTEMPTS as usize, "{faults:?}: {}", longest_run(&seen));
    wire.proxy.stop_faults();
    let mut findings = Vec::new();
    for _ in 0..3 {
        // What a list that was behind has hidden is found by the one after a quarter of an hour.
        now += 16 * 60_000;
        for (which, device) in devices.iter_mut().enumerate() {
            findings = device.sync(time_of(which, now)).findings;
        }
    }
    assert_eq!(findings, [], "after {faults:?}, seed {seed}");
    assert_eq!(devices[0].export(), devices[1].export(), "after {faults:?}, seed {seed}");
    let present: BTreeSet<String> = devices[0].applied.keys().map(|(_, key)| key.clone()).collect();
    assert_eq!(present, written, "{failed} rounds failed");
    for device in &devices {
        assert_eq!(device.open().status().unwrap().pending, 0);
    }
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn each_fault_on_the_wire_does_no_damage() {
    let wire = start();
    for (at, fault) in WireFault::ALL.into_iter().enumerate() {
        let percent = if fault == WireFault::Stall { 8 } else { 30 };
        run(&wire, &[fault], percent, at as u64 + 1);
    }
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn all_faults_on_the_wire_together_do_no_damage() {
    let wire = start();
    let fast: Vec<WireFault> =
        WireFault::ALL.into_iter().filter(|fault| *fault != WireFault::Stall).collect();
    for seed in 40..43 {
        run(&wire, &fast, 25, seed);
    }
}

/// What a person reads, and how many requests it took.
#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn an_outage_on_the_wire_is_named_after_bounded_requests() {
    let wire = start();
    let tmp = tempfile::tempdir().unwrap();
    let [mut device, mut other] = wire.pair(tmp.path(), "s3://loci/named");
    let cases = [
        (WireFault::SlowDown, "503", true),
        (WireFault::TooManyRequests, "429", true),
        (WireFault::ServerError, "500", true),
        (WireFault::Stall, "timed out", true),
        (WireFault::LostAnswer, "connection closed", true),
        (WireFault::ClockRefused, "RequestTimeTooSkewed", false),
    ];
    for (at, (fault, said, is_temporary)) in cases.into_iter().enumerate() {
        let now = 1_800_000_000_000 + at as u64 * 1_000;
        device.put(&format!("k{at}"), "text", now);
        wire.proxy.take_seen();
        wire.proxy.inject(&[fault], 100, 1);
        let Err(Error::Store(error)) = device.try_sync(now) else { panic!("{fault:?} was not noticed") };
        assert!(error.to_string().contains(said), "{fault:?}: {error}");
        assert_eq!(error.is_temporary(), is_temporary, "{fault:?}: {error}");
        // One for the hint, and as many as it takes for the list.
        let expected = 1 + if is_temporary { ATTEMPTS as usize } else { 1 };
        assert_eq!(wire.proxy.take_seen().len(), expected, "{fault:?}");
        assert!(matches!(error, StoreError::Unavailable { .. } | StoreError::Refused { .. }));
        wire.proxy.stop_faults();
        assert_eq!(device.open().status().unwrap().pending, 1);
        assert_eq!(device.sync(now + 500).sent, 1, "{fault:?}");
        assert_eq!(other.sync(now + 600).received, 1, "{fault:?}");
    }
}

/// A pack that takes longer than a minute each way, as on a line of one megabit a second. Takes longer than two minutes itself.
#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn a_slow_line_is_no_outage() {
    let (server, variables) = StorageServer::moto();
    let proxy = FaultyProxy::start(server.port);
    let store = Cloud::open("s3://loci/slow", proxy.variables(&variables)).unwrap();
    let mut rng = Rng(3);
    let pack: Vec<u8> = (0..8_000_000).map(|_| rng.next() as u8).collect();
    proxy.limit_speed(125_000);
    store.put("v1/pack", &pack).unwrap();
    assert!(store.get("v1/pack", pack.len()).unwrap() == pack);
    assert_eq!(proxy.take_seen().len(), 2);
}
