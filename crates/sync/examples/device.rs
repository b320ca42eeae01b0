//! A small application over the engine, as a process that can be killed: its database is a folder with one file per key. It
//! shows the order of writes that a caller needs. `device STATE DATA BUCKET SEED NOW` makes some random changes and runs a round; the
//! bucket is a folder or a URL.
//!
//! Does not create or join a space.

use loci_sync::storage::{Backoff, Cloud, Folder, Retry, Store, StoreError};
use loci_sync::{Body, Change, Record, Settings, Space};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

type Failed = Box<dyn std::error::Error>;

/// The application's data: `keys/<key>` has the text, `unstaged/<key>` says that a change was not staged yet.
struct Data {
    keys: PathBuf,
    unstaged: PathBuf,
}

/// In `unstaged/<key>`: forget the key, instead of staging its text.
const FORGET: &[u8] = b"forget";

impl Data {
    fn open(folder: &Path) -> Result<Data, Failed> {
        let data = Data { keys: folder.join("keys"), unstaged: folder.join("unstaged") };
        fs::create_dir_all(&data.keys)?;
        fs::create_dir_all(&data.unstaged)?;
        Ok(data)
    }

    /// Replaces a file as a whole, or deletes it.
    fn write(&self, key: &str, text: Option<&[u8]>) -> std::io::Result<()> {
        let Some(text) = text else {
            return fs::remove_file(self.keys.join(key)).or(Ok(()));
        };
        let partial = self.keys.with_extension("partial");
        File::create(&partial)?.write_all(text)?;
        fs::rename(&partial, self.keys.join(key))
    }

    /// A database would set a flag in the row, in the transaction that changes it.
    fn change(&self, key: &str, text: &str) -> std::io::Result<()> {
        File::create(self.unstaged.join(key))?;
        self.write(key, Some(text.as_bytes()))
    }

    fn forget(&self, key: &str) -> std::io::Result<()> {
        fs::write(self.unstaged.join(key), FORGET)?;
        self.write(key, None)
    }

    /// Stages what was changed since the last time, also by a process that was killed.
    fn stage_changes(&self, space: &mut Space, now: u64) -> Result<(), Failed> {
        for entry in fs::read_dir(&self.unstaged)? {
            let path = entry?.path();
            let key = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if fs::read(&path)? == FORGET {
                self.write(&key, None)?;
                space.stage([Change::forget("facts", &key)], now)?;
            } else if let Ok(text) = fs::read(self.keys.join(&key)) {
                let staged = space.stage([Change::put("facts", &key, text)], now)?;
                if staged.refused > 0 {
                    self.write(&key, None)?; // forgotten on another device
                }
            }
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn apply(&self, records: &[Record]) -> Result<(), String> {
        let apply_one = |record: &Record| match &record.body {
            Body::Bytes(text) => self.write(&record.key, Some(text)),
            Body::Deleted | Body::Forgotten => self.write(&record.key, None),
        };
        records.iter().try_for_each(apply_one).map_err(|error| error.to_string())
    }
}

fn open_storage(bucket: &str) -> Result<Box<dyn Store>, StoreError> {
    if !bucket.contains("://") {
        return Ok(Box::new(Folder::new(Path::new(bucket))));
    }
    let cloud = Cloud::open(bucket, std::env::vars())?;
    Ok(Box::new(Retry::new(cloud, Backoff::default(), std::thread::sleep)))
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [state, folder, bucket, seed, now] = arguments.as_slice() else {
        return Err("usage: device STATE DATA BUCKET SEED NOW".into());
    };
    let (seed, now): (u64, u64) = (seed.parse()?, now.parse()?);
    let data = Data::open(Path::new(folder))?;
    let store = open_storage(bucket)?;
    let settings = Settings { grace_ms: 0, fan_in: 4, ..Settings::default() };
    let mut space = Space::open(Path::new(state), store, settings)?;
    data.stage_changes(&mut space, now)?;
    for step in 0..seed % 4 {
        let key = format!("k{}", (seed >> 4).wrapping_mul(step + 7) % 40);
        data.change(&key, &format!("text {seed} {step}"))?;
        data.stage_changes(&mut space, now)?;
    }
    if seed % 11 == 0 {
        data.forget(&format!("k{}", (seed >> 8) % 40))?;
        data.stage_changes(&mut space, now)?;
    }
    space.sync(now, &mut |records| data.apply(records))?;
    Ok(())
}
