//! The files of a package: paths, modes and bytes, in the order of their paths.
//!
//! Does not know the formats that store them.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) const PLAIN: u32 = 0o644;
pub(crate) const PROGRAM: u32 = 0o755;

#[derive(Clone)]
pub(crate) struct File {
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Default)]
pub(crate) struct Tree(BTreeMap<String, File>);

impl Tree {
    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.insert(path.into(), PLAIN, bytes.into());
    }

    pub(crate) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.insert(path.into(), PROGRAM, bytes.into());
    }

    pub(crate) fn insert(&mut self, path: String, mode: u32, bytes: Vec<u8>) {
        self.0.insert(path, File { mode, bytes });
    }

    /// The files by path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Every folder that contains a file, each before its content.
    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        for path in self.0.keys() {
            found.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        found
    }

    /// The sum of the sizes.
    pub(crate) fn size(&self) -> u64 {
        self.0.values().map(|file| file.bytes.len() as u64).sum()
    }

    /// The same files below a folder.
    pub(crate) fn below(self, folder: &str) -> Tree {
        Tree(self.0.into_iter().map(|(path, file)| (format!("{folder}/{path}"), file)).collect())
    }
}
