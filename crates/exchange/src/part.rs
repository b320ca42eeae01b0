//! A part of a copy as a record: what was appended to its lines, in the form of a small copy. The receiver adds it to what it has, in any
//! order.
//!
//! The key is that of the copy and a hash of the body, so no part replaces another. Does not know when parts are sent or applied.

use sync::Hash;

pub(crate) const COLLECTION: &str = "appended";
/// Copies with more bytes of lines are sent as a whole: a part needs all lines in memory.
pub(crate) const MAX_LINES: u64 = 32 << 20;

/// Stands for a state of a copy: its lines, and which entries in them no longer count.
pub(crate) fn hash_state(lines: &[u8], dead: &[u64]) -> Hash {
    let dead: Vec<u8> = dead.iter().flat_map(|at| at.to_le_bytes()).collect();
    Hash::of_pieces([lines, &dead])
}

pub(crate) fn part_key(copy: &str, body: &[u8]) -> String {
    let hash = Hash::of_pieces([body]).to_string();
    format!("{copy}-{}", &hash[..16])
}

/// The key of the copy that a part belongs to.
pub(crate) fn copy_of_part(key: &str) -> Option<&str> {
    key.rsplit_once('-').map(|(copy, _)| copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_part_names_the_copy_and_differs_with_its_content() {
        let key = part_key("abc@1", b"more");
        assert_eq!(copy_of_part(&key), Some("abc@1"));
        assert_ne!(part_key("abc@1", b"other"), key);
        assert_eq!(copy_of_part("abc"), None);
    }

    #[test]
    fn a_state_is_its_lines_and_what_no_longer_counts() {
        let states =
            [hash_state(b"ab", &[]), hash_state(b"ab", &[0]), hash_state(b"a", &[]), hash_state(b"ab", &[1])];
        let distinct: std::collections::BTreeSet<Hash> = states.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
