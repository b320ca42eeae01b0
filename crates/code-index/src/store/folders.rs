//! The files below a folder of a tree, and the folders that a misspelt one may mean.
//!
//! Knows only indexed files: a folder without source files counts as missing.

use super::table::Table;
use super::{Store, StoreError};
use code::edit_distance;
use std::collections::BTreeSet;

/// How many folders are suggested for one that does not exist.
const MAX_SUGGESTED: usize = 5;

/// Which files are asked for.
#[derive(Clone, Copy, Default)]
pub struct FileFilter<'a> {
    /// A folder or a file; empty for the whole tree.
    pub under: &'a str,
    pub without_tests: bool,
}

impl FileFilter<'_> {
    pub fn accepts(&self, file: &str) -> bool {
        is_below(file, self.under) && !(self.without_tests && is_test_path(file))
    }
}

/// Whether a file contains tests, judging by its path.
pub fn is_test_path(path: &str) -> bool {
    let is_test = |word: &str| {
        let word = word.to_lowercase();
        word == "test" || word == "tests" || word == "spec" || word.ends_with("tests") || word == "__tests__"
    };
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(is_test) || name.split(['.', '_', '-']).any(is_test)
}

/// Whether a file is in a folder of the tree; every file is in the root, which is empty.
pub fn is_below(file: &str, folder: &str) -> bool {
    let folder = plain_folder(folder);
    folder.is_empty()
        || file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn plain_folder(folder: &str) -> &str {
    let folder = folder.trim_start_matches("./").trim_matches('/');
    if folder == "." { "" } else { folder }
}

impl Store {
    /// The folders that may be meant by one that has no source files; `None` if it has some.
    pub fn missing_folder(&self, folder: &str) -> Result<Option<Vec<String>>, StoreError> {
        let files: Vec<String> = Table::new(&self.db).files()?.into_keys().collect();
        Ok((!files.iter().any(|file| is_below(file, folder))).then(|| nearest(&files, plain_folder(folder))))
    }
}

/// Folders and files with the same or a similar last name, then those next to where the path leaves the tree.
fn nearest(files: &[String], wanted: &str) -> Vec<String> {
    let folders: BTreeSet<&str> = files.iter().flat_map(|file| folders_of(file)).collect();
    let places = || folders.iter().copied().chain(files.iter().map(String::as_str));
    let name = last_name(wanted).to_lowercase();
    let distance = |place: &str| edit_distance(&last_name(place).to_lowercase(), &name);
    let mut similar: Vec<&str> = places().filter(|place| distance(place).is_some()).collect();
    similar.sort_by_key(|place| (distance(place), place.len()));
    if similar.is_empty() {
        let mut around = wanted;
        while !around.is_empty() && !folders.contains(around) {
            around = parent(around);
        }
        similar = folders.iter().copied().filter(|folder| parent(folder) == around).collect();
    }
    similar.truncate(MAX_SUGGESTED);
    similar.into_iter().map(str::to_owned).collect()
}

fn folders_of(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[..at])
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
