//! The daemon synchronises by itself.

use crate::fixture::{Fixture, TIMEOUT};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testutil::Home;

#[test]
fn a_session_reaches_the_other_device_without_a_command() {
    let (bucket, work, laptop) = (Home::new(), Fixture::new(), Fixture::new());
    let url = bucket.path().to_str().unwrap();
    let started =
        work.loci_without_daemon(&["sync", "init", "--show-phrase", url, "--label", "work"]).expect(0);
    let phrase = started.records()[0]["phrase"].as_str().unwrap().to_string();
    laptop.loci_without_daemon(&["sync", "join", url, &phrase, "--label", "laptop"]).expect(0);
    let serve = |device: &Fixture| {
        device.serve_with(|daemon| {
            daemon.env("LOCI_SYNC_SECONDS", "1").stderr(Stdio::null());
        })
    };
    let mut daemons = [serve(&work), serve(&laptop)];
    work.add_session(1, "Count the walruses");
    // Nothing leaves before a person has run the first round: projects can still be excluded.
    std::thread::sleep(Duration::from_secs(3));
    let has_packs = || find_folder(bucket.path(), "packs");
    assert!(!has_packs());
    work.loci_without_daemon(&["sync", "now"]).expect(0);
    laptop.loci_without_daemon(&["sync", "now"]).expect(0);
    assert!(has_packs());
    work.add_session(2, "Count the penguins");
    let until = Instant::now() + 3 * TIMEOUT;
    let found = || laptop.loci_without_daemon(&["search", "penguins"]).code == Some(0);
    let arrived = std::iter::repeat_with(found).find(|found| *found || Instant::now() > until);
    for daemon in &mut daemons {
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
    assert_eq!(arrived, Some(true), "the session did not arrive");
}

fn find_folder(below: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).any(|path| path.ends_with(name) || find_folder(&path, name))
}
