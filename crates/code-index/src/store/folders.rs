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
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(is_test_word) || name.split(['.', '_', '-']).any(is_test_word)
}

/// `tests`, `__tests__`, `unittests`, `StoreTest`, `commonTest`; not `latest`.
fn is_test_word(word: &str) -> bool {
    let ends_in_test = ["Test", "Tests", "Spec"].iter().any(|end| word.ends_with(end));
    let word = word.to_lowercase();
    ends_in_test || matches!(&*word, "test" | "spec" | "__tests__") || word.ends_with("tests")
}

/// Whether a symbol of a file is a test: by the path, and in Rust also by a module `tests` beside what it tests.
pub(super) fn is_test_symbol(file: &str, full_name: &str) -> bool {
    let is_rust = file.rsplit('.').next() == Some("rs");
    is_test_path(file)
        || is_rust && full_name.split(['.', ':', ' ']).any(|word| matches!(word, "test" | "tests"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_the_words_of_a_path() {
        for path in [
            "tests/a.py",
            "src/StoreTest.java",
            "StoreTests.cs",
            "src/commonTest/A.kt",
            "a.spec.ts",
            "a_test.go",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/latest.rs", "src/contest.py", "src/attestation.go", "src/Inspector.ts"] {
            assert!(!is_test_path(path), "{path}");
        }
        assert!(
            is_test_symbol("src/store.rs", "store.tests.keeps")
                && !is_test_symbol("src/store.rs", "store.keeps")
        );
        assert!(!is_test_symbol("src/store.py", "store.tests.keeps"));
    }
}
