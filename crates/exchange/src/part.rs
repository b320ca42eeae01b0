//! A part of a copy as a record: what was appended to its lines, and what must be before it.
//!
//! ```text
//! hash of the lines before it, and of the positions in them that no longer count   32 bytes
//! where it begins in the lines                                                      8 bytes
//! what was appended, in the form of a small copy
//! ```
//!
//! The key is the name of the copy and a hash of the body, so no part replaces another. Does not know when parts are sent or applied.

use crate::copy_name::{hex, parse_name};
use sync::Hash;

pub(crate) const COLLECTION: &str = "appended";
const PREFIX: usize = 40;
/// Copies with more bytes of lines are sent as a whole: a part needs all lines in memory, on both sides.
pub(crate) const MAX_LINES: u64 = 32 << 20;

/// Stands for a state of a copy: its lines, and which entries in them no longer count.
pub(crate) fn hash_state(lines: &[u8], dead: &[u64]) -> Hash {
    let dead: Vec<u8> = dead.iter().flat_map(|at| at.to_le_bytes()).collect();
    Hash::of_pieces([lines, &dead])
}

/// A part, as it is in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'p> {
    pub(crate) before: Hash,
    pub(crate) start: u64,
    pub(crate) content: &'p [u8],
}

impl<'p> Part<'p> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&self.before.0[..], &self.start.to_le_bytes(), self.content].concat()
    }

    pub(crate) fn parse(body: &'p [u8]) -> Option<Part<'p>> {
        let (prefix, content) = body.split_at_checked(PREFIX)?;
        let (before, start) = prefix.split_at(32);
        Some(Part {
            before: Hash(before.try_into().ok()?),
            start: u64::from_le_bytes(start.try_into().ok()?),
            content,
        })
    }
}

pub(crate) fn part_key(name: u128, body: &[u8]) -> String {
    let hash = Hash::of_pieces([body]).to_string();
    format!("{}-{}", hex(name), &hash[..16])
}

/// The copy that a part belongs to.
pub(crate) fn copy_of_part(key: &str) -> Option<u128> {
    let (name, _) = key.split_once('-')?;
    parse_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_written_and_its_key_names_the_copy() {
        let part = Part { before: hash_state(b"lines", &[3]), start: 1 << 40, content: b"more" };
        let body = part.encode();
        assert_eq!(Part::parse(&body), Some(part));
        assert_eq!(Part::parse(&body[..PREFIX - 1]), None);
        let key = part_key(0xabc, &body);
        assert_eq!(copy_of_part(&key), Some(0xabc));
        assert_ne!(part_key(0xabc, &body[..50.min(body.len() - 1)]), key);
        assert_eq!((copy_of_part("abc"), copy_of_part("abc-def")), (None, None));
    }

    #[test]
    fn a_state_is_its_lines_and_what_no_longer_counts() {
        let states =
            [hash_state(b"ab", &[]), hash_state(b"ab", &[0]), hash_state(b"a", &[]), hash_state(b"ab", &[1])];
        let distinct: std::collections::BTreeSet<Hash> = states.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
