//! What an archive contains, whatever shows it.
//!
//! Does not know sessions.

use sources::archive::Store;
use std::path::Path;

/// The entries of all copies that count, those that their transcripts no longer have among them: a text for each, row and record.
pub fn archived_entries(home: &Path) -> Vec<String> {
    let store = Store::new(home.join(".local/share/loci/archive"));
    let mut entries = Vec::new();
    for name in store.read_all_names().unwrap() {
        let copy = store.read_lines(name, u64::MAX).unwrap().unwrap();
        let text = String::from_utf8(copy.lines).unwrap();
        let (mut at, mut lines) = (0, text.split_inclusive('\n'));
        while let (Some(row), Some(record)) = (lines.next(), lines.next()) {
            if copy.dead.binary_search(&at).is_err() {
                entries.push([row, record].concat());
            }
            at += (row.len() + record.len()) as u64;
        }
    }
    entries
}
