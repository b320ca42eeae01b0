//! A disk that loses what was not synced: replays recorded operations up to a moment, and writes what a power cut at that
//! moment may leave.
//!
//! The model is stricter than most file systems: syncing a file makes its content and its creation durable, and nothing
//! else. A rename or removal becomes durable when its folder is synced. Does not know what a file contains.

use crate::history::Rng;
use crate::instance::list_files;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use testutil::tracer::Operation;
use testutil::write_file;

/// What reaches the disk of the operations that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsynced {
    Nothing,
    /// All data, but no rename or removal.
    Data,
    /// All renames and removals, but no data.
    Names,
    /// Each with a probability of one half, so that later ones may overtake earlier ones.
    Some,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Clone, Debug)]
enum Entry {
    Add(PathBuf, usize),
    Move(PathBuf, PathBuf),
    Remove(PathBuf),
}

#[derive(Clone, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Default)]
pub(crate) struct Disk {
    root: PathBuf,
    files: Vec<File>,
    /// The files as running processes see them.
    current: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    pending: Vec<Entry>,
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(at, data) => {
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(data);
        }
        Change::Truncate(length) => bytes.resize(*length, 0),
    }
}

fn apply_entry(names: &mut BTreeMap<PathBuf, usize>, entry: &Entry) {
    match entry {
        Entry::Add(path, file) => drop(names.insert(path.clone(), *file)),
        Entry::Move(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Entry::Remove(path) => drop(names.remove(path)),
    }
}

impl Disk {
    /// Everything in the folder is durable.
    pub(crate) fn load(root: &Path) -> Disk {
        let mut disk = Disk { root: root.to_path_buf(), ..Disk::default() };
        for path in list_files(root) {
            let durable = fs::read(&path).unwrap();
            disk.files.push(File { durable, pending: Vec::new() });
            disk.current.insert(path.clone(), disk.files.len() - 1);
        }
        disk.durable = disk.current.clone();
        disk
    }

    pub(crate) fn replay(&mut self, operation: &Operation) {
        match operation {
            Operation::Write { path, at, data } => self.change(path, Change::Write(*at, data.clone())),
            Operation::Truncate { path, length } => self.change(path, Change::Truncate(*length)),
            Operation::Create { path, truncates } => self.create(path, *truncates),
            Operation::Rename { from, to } => self.add_entry(Entry::Move(from.clone(), to.clone())),
            Operation::Unlink { path } => self.add_entry(Entry::Remove(path.clone())),
            Operation::Sync { path } => self.sync(path),
            Operation::MakeFolder { .. } => {}
        }
    }

    fn change(&mut self, path: &Path, change: Change) {
        if let Some(file) = self.current.get(path) {
            self.files[*file].pending.push(change);
        }
    }

    fn create(&mut self, path: &Path, truncates: bool) {
        match self.current.get(path) {
            Some(file) if truncates => self.files[*file].pending.push(Change::Truncate(0)),
            Some(_) => {}
            None => {
                self.files.push(File::default());
                self.add_entry(Entry::Add(path.to_path_buf(), self.files.len() - 1));
            }
        }
    }

    fn add_entry(&mut self, entry: Entry) {
        apply_entry(&mut self.current, &entry);
        self.pending.push(entry);
    }

    fn sync(&mut self, path: &Path) {
        if let Some(number) = self.current.get(path).copied() {
            let file = &mut self.files[number];
            std::mem::take(&mut file.pending).iter().for_each(|change| apply(&mut file.durable, change));
            let is_creation = |entry: &Entry| matches!(entry, Entry::Add(_, file) if *file == number);
            self.make_durable(is_creation);
        } else {
            let is_inside = |entry: &Entry| match entry {
                Entry::Add(inside, _) | Entry::Remove(inside) | Entry::Move(_, inside) => {
                    inside.parent() == Some(path)
                }
            };
            self.make_durable(is_inside);
        }
    }

    fn make_durable(&mut self, is_synced: impl Fn(&Entry) -> bool) {
        let (synced, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|entry| is_synced(entry));
        self.pending = pending;
        let synced: Vec<Entry> = synced;
        synced.iter().for_each(|entry| apply_entry(&mut self.durable, entry));
    }

    /// Replaces the content of the folder by what a power cut leaves.
    pub(crate) fn write_remains(&self, unsynced: Unsynced, rng: &mut Rng) {
        let mut keeps = |is_data: bool| match unsynced {
            Unsynced::Nothing => false,
            Unsynced::Data => is_data,
            Unsynced::Names => !is_data,
            Unsynced::Some => rng.below(2) == 0,
        };
        let mut names = self.durable.clone();
        for entry in &self.pending {
            // A created file without its data is as good as none.
            if keeps(matches!(entry, Entry::Add(..))) {
                apply_entry(&mut names, entry);
            }
        }
        list_files(&self.root).iter().for_each(|path| fs::remove_file(path).unwrap());
        for (path, file) in &names {
            let file = &self.files[*file];
            let mut bytes = file.durable.clone();
            for change in file.pending.iter() {
                if keeps(true) {
                    apply(&mut bytes, change);
                }
            }
            write_file(path, &bytes);
        }
    }
}
