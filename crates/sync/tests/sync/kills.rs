//! Processes with a state of their own, ended by SIGKILL at random moments, converge.
//!
//! Does not know what the process was doing.

use crate::device::Connect;
use crate::stores::Rng;
use loci_sync::storage::Folder;
use loci_sync::{Settings, Space};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The example `device`, which `cargo test` builds beside the tests.
fn program() -> PathBuf {
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/device");
    assert!(program.exists(), "no {}: build the examples of loci-sync", program.display());
    program
}

/// Devices that are processes, and the storage that they share.
pub(crate) struct World {
    home: PathBuf,
    /// A folder or a URL.
    bucket: String,
    /// The variables of each device.
    pub(crate) variables: Vec<Vec<(String, String)>>,
    pub(crate) rng: Rng,
    now: u64,
}

impl World {
    pub(crate) fn new(home: &Path, bucket: &str, variables: Vec<Vec<(String, String)>>, seed: u64) -> World {
        let (home, bucket) = (home.to_path_buf(), bucket.to_owned());
        World { home, bucket, variables, rng: Rng(seed), now: 1_800_000_000_000 }
    }

    fn command(&mut self, device: usize, seed: u64) -> Command {
        self.now += 1_000;
        let mut command = Command::new(program());
        command.arg(self.home.join(format!("state-{device}"))).arg(self.home.join(format!("data-{device}")));
        command.arg(&self.bucket).arg(seed.to_string()).arg(self.now.to_string());
        command.envs(self.variables[device].iter().cloned());
        command
    }

    /// Starts a process and kills it after some milliseconds. True: it was still running.
    pub(crate) fn run_killed(&mut self, device: usize, most: u64) -> bool {
        let (seed, pause) = (self.rng.next() >> 8, self.rng.below(most));
        let mut process = self.command(device, seed).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(pause));
        process.kill().unwrap();
        let ended: ExitStatus = process.wait().unwrap();
        assert!(ended.success() || ended.code().is_none(), "device {device}, seed {seed}: {ended}");
        ended.code().is_none()
    }

    /// A round without changes of its own.
    pub(crate) fn run_idle(&mut self, device: usize) {
        assert!(self.command(device, 4).status().unwrap().success(), "device {device}");
    }

    /// A round with changes, to its end. Returns what it said if it failed.
    pub(crate) fn run_whole(&mut self, device: usize) -> Result<(), String> {
        let seed = self.rng.next() >> 8;
        let done = self.command(device, seed).output().unwrap();
        let said = || String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok(()) } else { Err(said()) }
    }

    pub(crate) fn assert_converged(&self) {
        let first = self.export(0);
        assert!(first.len() > 5, "{first:?}");
        (1..self.variables.len())
            .for_each(|device| assert_eq!(self.export(device), first, "device {device}"));
    }

    fn export(&self, device: usize) -> BTreeMap<String, String> {
        let keys = std::fs::read_dir(self.home.join(format!("data-{device}/keys"))).unwrap();
        let read = |path: PathBuf| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        };
        keys.map(|entry| read(entry.unwrap().path())).collect()
    }
}

pub(crate) fn create_devices(home: &Path, count: usize, connect: &Connect) {
    let state = |device: usize| {
        let folder = home.join(format!("state-{device}"));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (_, phrase) = Space::create(&state(0), connect(), "device", Settings::default()).unwrap();
    for device in 1..count {
        Space::recover(&state(device), connect(), &phrase, "device", Settings::default()).unwrap();
    }
}

fn run(devices: usize, kills: u64, seed: u64) {
    let tmp = tempfile::tempdir().unwrap();
    let bucket = tmp.path().join("bucket");
    std::fs::create_dir_all(&bucket).unwrap();
    let folder = bucket.clone();
    let connect: Connect = Box::new(move || Box::new(Folder::new(&folder)));
    create_devices(tmp.path(), devices, &connect);
    let mut world = World::new(tmp.path(), bucket.to_str().unwrap(), vec![Vec::new(); devices], seed);
    let mut killed = 0;
    while killed < kills {
        let device = world.rng.below(devices as u64) as usize;
        killed += u64::from(world.run_killed(device, 60_000));
    }
    for _ in 0..3 {
        (0..devices).for_each(|device| world.run_idle(device));
    }
    world.assert_converged();
    assert_eq!(std::fs::read_dir(bucket).unwrap().count(), 1, "a partial file was left");
}

#[test]
fn killed_processes_converge() {
    run(3, 30, 1);
}

#[test]
#[ignore = "takes minutes: 1,000 processes are killed"]
fn a_thousand_killed_processes_converge() {
    run(2, 300, 2);
    run(5, 400, 3);
    run(20, 300, 4);
}
