//! The rows of `.loci/index`, compared without what depends on how a type came to be as it is.
//!
//! Does not know where a tree is.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files of `.loci`, with rows that do not tell what kind of change a type had last.
pub fn without_last_change(mut files: BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_list = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    for (_, bytes) in files.iter_mut().filter(|(path, _)| is_list(path)) {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        *bytes = lines.map(strip_row).collect::<String>().into_bytes();
    }
    files
}

fn strip_row(line: &[u8]) -> String {
    let mut row: Value = serde_json::from_slice(line).unwrap();
    row.as_object_mut().unwrap().remove("changeClass").unwrap();
    format!("{row}\n")
}
