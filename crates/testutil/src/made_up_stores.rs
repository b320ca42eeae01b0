//! The made-up stores of agents whose format is known from public descriptions: one folder each in `sources/testdata`.
//!
//! Does not know what they contain.

use crate::copy_folder;
use std::fs;
use std::path::{Path, PathBuf};

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sources/testdata")
}

/// The agents that have one, by name.
pub fn names() -> Vec<String> {
    let entries = fs::read_dir(stores()).unwrap().map(|entry| entry.unwrap());
    let with_home = entries.filter(|entry| entry.path().join("home").is_dir());
    let mut names: Vec<String> =
        with_home.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Adds the store of an agent to a home directory.
pub fn add(agent: &str, home: &Path) {
    let built = tempfile::tempdir().unwrap();
    copy_folder(&stores().join(agent).join("home"), built.path());
    build_files(built.path(), home.to_str().unwrap());
    copy_folder(built.path(), home);
}

/// Creates the database of each `.sql` file and the file of each `.in`, in which `HOME` stands for the home directory.
fn build_files(folder: &Path, home: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let made = path.with_extension("");
        if path.is_dir() {
            build_files(&path, home);
        } else if path.extension().is_some_and(|ending| ending == "sql") {
            let database = db::Connection::open(made).unwrap();
            database.execute_batch(&fs::read_to_string(&path).unwrap()).unwrap();
            fs::remove_file(&path).unwrap();
        } else if path.extension().is_some_and(|ending| ending == "in") {
            fs::write(made, fs::read_to_string(&path).unwrap().replace("HOME", home)).unwrap();
            fs::remove_file(&path).unwrap();
        }
    }
}
