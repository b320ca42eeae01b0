//! Changes archived copies as if an older version had written them.
//!
//! Does not know the rules of masking.

use sources::archive::Store;
use std::path::Path;

/// Replaces a text of the same length in every archived copy: an older version would not have masked it. Returns in how many.
pub fn replace_in_archive(home: &Path, from: &str, to: &str) -> usize {
    assert_eq!(from.len(), to.len(), "positions must stay the same");
    let store = Store::new(home.join(".local/share/loci/archive"));
    let mut changed = 0;
    for name in store.all_names() {
        let mut copy = store.read_lines(name, u64::MAX).unwrap().unwrap();
        let lines = String::from_utf8(copy.lines).unwrap();
        changed += usize::from(lines.contains(from));
        copy.lines = lines.replace(from, to).into_bytes();
        store.put_lines(name, copy).unwrap();
    }
    changed
}
