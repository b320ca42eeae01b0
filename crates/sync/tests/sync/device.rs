//! A device for tests: a state folder, an application database made of a map, and rounds that may be killed.
//!
//! Does not know which storage is behind it.

use crate::stores::{Dying, Killed};
use loci_sync::storage::Store;
use loci_sync::{Body, Change, Error, Phrase, Record, Role, Round, Settings, Space};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Makes a connection to the storage, as each process makes its own.
pub(crate) type Connect = Box<dyn Fn() -> Box<dyn Store>>;

pub(crate) struct Device {
    pub(crate) folder: PathBuf,
    pub(crate) connect: Connect,
    pub(crate) settings: Settings,
    /// What the application of this device has stored.
    pub(crate) applied: BTreeMap<(String, String), Vec<u8>>,
    /// How often each record was handed over, by key and clock.
    pub(crate) handed: BTreeMap<(String, u64), u64>,
}

/// Tests keep no grace period unless they ask for one.
pub(crate) const SETTINGS: Settings = Settings { grace_ms: 1_000, fan_in: 4, kept_heads: 2 };

impl Device {
    fn new(folder: &Path, connect: Connect) -> Device {
        std::fs::create_dir_all(folder).unwrap();
        let folder = folder.to_path_buf();
        Device { folder, connect, settings: SETTINGS, applied: BTreeMap::new(), handed: BTreeMap::new() }
    }

    pub(crate) fn create(folder: &Path, connect: Connect) -> (Device, Phrase) {
        let device = Device::new(folder, connect);
        let (_, phrase) = Space::create(folder, (device.connect)(), "first laptop", device.settings).unwrap();
        (device, phrase)
    }

    pub(crate) fn recover(folder: &Path, connect: Connect, phrase: &Phrase) -> Device {
        let device = Device::new(folder, connect);
        Space::recover(folder, (device.connect)(), phrase, "another laptop", device.settings).unwrap();
        device
    }

    pub(crate) fn join(folder: &Path, connect: Connect, host: &Device, role: Role) -> Device {
        let device = Device::new(folder, connect);
        let request = Space::request(folder, "invited laptop").unwrap();
        let invitation = host.open().admit(&request, role).unwrap();
        Space::accept(folder, (device.connect)(), &invitation, device.settings).unwrap();
        device
    }

    pub(crate) fn open(&self) -> Space {
        Space::open(&self.folder, (self.connect)(), self.settings).unwrap()
    }

    pub(crate) fn stage(&mut self, change: Change, now: u64) {
        self.open().stage([change.clone()], now).unwrap();
        let key = (change.collection, change.key);
        match change.body {
            // The engine refuses what was forgotten; the application asks it by staging first.
            Body::Bytes(bytes) => drop(self.applied.insert(key, bytes)),
            Body::Deleted | Body::Forgotten => drop(self.applied.remove(&key)),
        }
    }

    pub(crate) fn put(&mut self, key: &str, text: &str, now: u64) {
        let staged = self.open().stage([Change::put("facts", key, text)], now).unwrap();
        if staged.refused == 0 {
            self.applied.insert(("facts".into(), key.into()), text.into());
        }
    }

    pub(crate) fn forget(&mut self, key: &str, now: u64) {
        self.stage(Change::forget("facts", key), now);
    }

    pub(crate) fn try_sync(&mut self, now: u64) -> Result<Round, Error> {
        self.sync_over((self.connect)(), now, &mut || {})
    }

    pub(crate) fn sync(&mut self, now: u64) -> Round {
        self.try_sync(now).unwrap()
    }

    /// A round that is killed at a step of the storage or of the application. True: it was.
    pub(crate) fn sync_killed(&mut self, now: u64, after: u64) -> bool {
        let store = Box::new(Dying::new((self.connect)(), after));
        let mut applications = 0;
        let mut die = || {
            applications += 1;
            if applications * 3 == after {
                std::panic::panic_any(Killed);
            }
        };
        let done = catch_unwind(AssertUnwindSafe(|| self.sync_over(store, now, &mut die)));
        match done {
            Ok(done) => {
                assert!(done.is_ok(), "{done:?}");
                false
            }
            Err(panic) => {
                assert!(panic.is::<Killed>(), "a panic that is no kill");
                true
            }
        }
    }

    fn sync_over(
        &mut self,
        store: Box<dyn Store>,
        now: u64,
        after: &mut dyn FnMut(),
    ) -> Result<Round, Error> {
        let mut space = Space::open(&self.folder, store, self.settings)?;
        let (applied, handed) = (RefCell::new(&mut self.applied), &mut self.handed);
        let mut apply = |records: &[Record]| {
            records.iter().for_each(|record| apply_record(&mut applied.borrow_mut(), handed, record));
            after();
            Ok(())
        };
        let mut stage_lost = |space: &mut Space| {
            let lost = applied.borrow();
            let lost = lost.iter().filter(|((collection, key), _)| space.is_lost(collection, key).unwrap());
            let lost: Vec<Change> =
                lost.map(|((collection, key), bytes)| Change::put(collection, key, bytes.clone())).collect();
            // A reader may not stage anything, and has lost nothing.
            if lost.is_empty() {
                return Ok(());
            }
            space.stage(lost, now).map(drop).map_err(|error| error.to_string())
        };
        space.sync_staging(now, &mut apply, &mut stage_lost)
    }

    /// What the application would export.
    pub(crate) fn export(&self) -> String {
        let line = |((collection, key), body): (&(String, String), &Vec<u8>)| {
            format!("{collection}\t{key}\t{}\n", String::from_utf8_lossy(body))
        };
        self.applied.iter().map(line).collect()
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let body = self.applied.get(&("facts".to_owned(), key.to_owned()));
        body.map(|body| String::from_utf8_lossy(body).into_owned())
    }
}

fn apply_record(
    applied: &mut BTreeMap<(String, String), Vec<u8>>,
    handed: &mut BTreeMap<(String, u64), u64>,
    record: &Record,
) {
    *handed.entry((record.key.clone(), record.version.clock)).or_default() += 1;
    let key = (record.collection.clone(), record.key.clone());
    match &record.body {
        Body::Bytes(bytes) => drop(applied.insert(key, bytes.clone())),
        Body::Deleted | Body::Forgotten => drop(applied.remove(&key)),
    }
}

/// Silences the message of an expected panic; others are printed.
pub(crate) fn expect_kills() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<Killed>() {
                print(panic);
            }
        }));
    });
}
