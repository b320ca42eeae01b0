//! Placeholders: `⟦secret:kind:3f9a⟧`, with the same four digits for the same secret wherever it occurs.
//!
//! Does not know what a secret is; it receives the bytes and the kind.

use crate::rules;
use memchr::memmem;
use std::ops::Range;
use std::sync::LazyLock;

const OPEN: &str = "⟦secret:";
const CLOSE: &str = "⟧";

/// The placeholder of a secret. Sixteen bits of a keyed hash are enough to recognise the same key again and far too few
/// to recover it; without the installation's key not even a guess can be verified.
pub(crate) fn format_placeholder(key: &[u8; 32], kind: &str, secret: &[u8]) -> String {
    format!("{OPEN}{kind}:{:04x}{CLOSE}", keyed_hash(key, secret) & 0xffff)
}

/// The positions of existing placeholders, in order.
pub(crate) fn find_placeholders(text: &str) -> Vec<Range<usize>> {
    static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(OPEN));
    FINDER
        .find_iter(text.as_bytes())
        .filter_map(|at| Some(at..at + placeholder_length(&text[at..])?))
        .collect()
}

/// The length in bytes of the placeholder at the start of the text.
fn placeholder_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix(OPEN)?;
    let end =
        inside.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == ':'))?;
    let (kind, digits) = inside[..end].rsplit_once(':')?;
    // Only kinds in the table count: a secret written between the marks must not survive there.
    let whole = rules::secret_kinds().any(|(known, _)| known == kind) && digits.len() == 4;
    let hex = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (whole && hex && inside[end..].starts_with(CLOSE)).then_some(OPEN.len() + end + CLOSE.len())
}

/// SipHash-2-4 twice, the inner hash under the first half of the key and the outer under the second. Written out,
/// because stored hashes must not change with a library, and HMAC-SHA-256 would add a tree of crates.
fn keyed_hash(key: &[u8; 32], bytes: &[u8]) -> u64 {
    let word =
        |at: usize| key[at..at + 8].iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let inner = siphash(word(0), word(8), bytes);
    siphash(word(16), word(24), &inner.to_le_bytes())
}

/// SipHash-2-4 (Aumasson, Bernstein 2012).
fn siphash(k0: u64, k1: u64, bytes: &[u8]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let chunks = bytes.chunks_exact(8);
    let mut last = [0_u8; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = bytes.len() as u8;
    let whole = chunks.map(|chunk| chunk.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte)));
    for word in whole.chain([u64::from_le_bytes(last)]) {
        v[3] ^= word;
        sip_round(&mut v);
        sip_round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for _ in 0..4 {
        sip_round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siphash_matches_the_published_vectors() {
        let (k0, k1) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(k0, k1, &bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(k0, k1, &[]), 0x726f_db47_dd0e_0e31);
    }

    #[test]
    fn only_placeholders_are_recognised() {
        let made = format_placeholder(&[7; 32], "github-pat", b"x");
        assert_eq!(find_placeholders(&format!("a {made} b")).first(), Some(&(2..2 + made.len())));
        for other in [
            "⟦secret:⟧",
            "⟦secret:a:12⟧",
            "⟦secret:a:b:1234⟧",
            "⟦secret:a:12G4⟧",
            "⟦secret::1234⟧",
            "⟦secret:a:1234",
        ] {
            assert!(find_placeholders(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn another_key_gives_other_digits() {
        assert_ne!(format_placeholder(&[1; 32], "k", b"same"), format_placeholder(&[2; 32], "k", b"same"));
        let mut half = [1; 32];
        half[31] = 9;
        assert_ne!(format_placeholder(&[1; 32], "k", b"same"), format_placeholder(&half, "k", b"same"));
    }
}
