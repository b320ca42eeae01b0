//! When each store was last read to its last byte, so that an update of which nothing is new does not read all of them again: a store
//! that is as it was then is checked once a day, and by `loci doctor`.
//!
//! Does not check anything. Damage that leaves size and time of a file as they were is found within a day.

use crate::home::Home;
use os::checked_file;
use record::Stamp;
use sources::FileStamp;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// After this many milliseconds a store is checked again, changed or not.
const RHYTHM: i64 = 86_400_000;

pub struct CheckedStores {
    path: PathBuf,
    now: Stamp,
    /// The state of each store, and when it was checked.
    checked: BTreeMap<PathBuf, (u64, i64)>,
    /// Those that were found as they were, or checked, in this run.
    settled: RefCell<BTreeSet<PathBuf>>,
}

impl CheckedStores {
    /// A damaged or missing list only means that everything is checked.
    pub fn load(home: &Home, now: Stamp) -> CheckedStores {
        let path = home.checked_stores();
        let lines = checked_file::read_lines(&path).map(|read| read.lines).unwrap_or_default();
        let parse = |line: &String| {
            let (numbers, store) = line.split_once('\t')?;
            let (state, at) = numbers.split_once(' ')?;
            Some((PathBuf::from(store), (state.parse().ok()?, at.parse().ok()?)))
        };
        let checked = lines.iter().filter_map(parse).collect();
        CheckedStores { path, now, checked, settled: RefCell::default() }
    }

    /// Whether a store is another one than was checked last, or was not checked for a day.
    pub fn is_due(&self, store: &Path) -> bool {
        let is_due = self.checked.get(store).is_none_or(|(state, at)| {
            // A clock may have been set back.
            *state != read_state(store) || !(0..RHYTHM).contains(&(self.now.0 - at))
        });
        if !is_due {
            self.settled.borrow_mut().insert(store.to_path_buf());
        }
        is_due
    }

    /// The store was checked just now.
    pub fn set_checked(&mut self, store: &Path) {
        self.checked.insert(store.to_path_buf(), (read_state(store), self.now.0));
        self.settled.borrow_mut().insert(store.to_path_buf());
    }

    /// What this process itself has written since it was checked need not be checked by the next one.
    pub fn store(mut self) {
        let before: Vec<String> =
            checked_file::read_lines(&self.path).map(|read| read.lines).unwrap_or_default();
        self.checked.retain(|store, _| store.exists());
        let settled = self.settled.take();
        for (store, (state, _)) in self.checked.iter_mut().filter(|(store, _)| settled.contains(*store)) {
            *state = read_state(store);
        }
        let line =
            |(store, (state, at)): (&PathBuf, &(u64, i64))| format!("{state} {at}\t{}", store.display());
        let lines: Vec<String> = self.checked.iter().map(line).collect();
        if lines != before {
            // Best effort: without it, the next update checks everything.
            let _ = checked_file::replace_lines_lazily(&self.path, lines.iter().map(String::as_str));
        }
    }
}

/// Changes with size, time or identity of the file and its log, or of any file in the folder.
fn read_state(store: &Path) -> u64 {
    let mut stamps = Vec::new();
    let mut add = |path: &Path| {
        if let Ok(meta) = std::fs::metadata(path)
            && meta.is_file()
        {
            let stamp = FileStamp::from_metadata(&meta);
            stamps.push([meta.len(), stamp.inode, stamp.changed as u64]);
        }
    };
    add(store);
    add(&store.with_extension("db-wal"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(store).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in &files {
        add(file);
    }
    let bytes: Vec<u8> = stamps.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    record::event_key(b's', &[&bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sources::Environment;
    use std::fs;

    #[test]
    fn a_store_is_due_when_it_changed_or_a_day_has_passed() {
        let tmp = tempfile::tempdir().unwrap();
        let places = Environment { home: tmp.path().to_path_buf(), ..Environment::default() };
        let home = Home::from_places(&places).expect("an absolute home directory has places");
        home.create_dirs().unwrap();
        let (file, folder) = (tmp.path().join("a.db"), tmp.path().join("index"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "1").unwrap();
        fs::write(folder.join("segment"), "1").unwrap();
        let due = |now: i64| {
            let stores = CheckedStores::load(&home, Stamp(now));
            [stores.is_due(&file), stores.is_due(&folder)]
        };
        assert_eq!(due(5), [true, true]);
        let mut stores = CheckedStores::load(&home, Stamp(5));
        stores.set_checked(&file);
        stores.set_checked(&folder);
        // Written by the process that has checked it.
        fs::write(&file, "22").unwrap();
        stores.store();
        assert_eq!(due(6), [false, false]);
        assert_eq!(due(4), [true, true], "the clock was set back");
        assert_eq!(due(5 + RHYTHM), [true, true]);
        fs::write(&file, "333").unwrap();
        fs::write(folder.join("other"), "1").unwrap();
        assert_eq!(due(6), [true, true]);
    }
}
