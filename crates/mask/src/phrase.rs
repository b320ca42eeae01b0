//! Finds recovery phrases of `loci sync`: seven groups of five symbols, of which the last three are a checksum. With its prefix a phrase is
//! a rule (`rules`); without, only the checksum tells it from other groups: one in 32,768 passes it by chance.
//!
//! The format is that of `sync`, which this crate may not use.

use sha2::{Digest, Sha256};
use std::ops::Range;

type Secret = (Range<usize>, &'static str);

const KIND: &str = "loci-recovery-phrase";
const SYMBOLS: usize = 35;
const GROUP: usize = 5;
/// The length with a sign between the groups.
const LENGTH: usize = SYMBOLS + SYMBOLS / GROUP - 1;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Bytes after the word `phrase` in which groups with other signs between them are looked for.
const NEAR: usize = 240;

/// Phrases with `-` between the groups, anywhere.
pub(crate) fn find_grouped(text: &str, part: &Range<usize>) -> Vec<Secret> {
    let bytes = &text.as_bytes()[part.clone()];
    let mut found: Vec<Secret> = Vec::new();
    for dash in memchr::memchr_iter(b'-', bytes) {
        let Some(start) = dash.checked_sub(GROUP).filter(|_| bytes.get(dash + GROUP + 1) == Some(&b'-'))
        else {
            continue;
        };
        let end = start + LENGTH;
        let Some(whole) = bytes.get(start..end) else { break };
        let is_free = !bytes[..start].last().is_some_and(u8::is_ascii_alphanumeric)
            && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        let has_signs =
            whole.iter().enumerate().all(|(at, byte)| (at % (GROUP + 1) == GROUP) == (*byte == b'-'));
        if is_free && has_signs && is_phrase(whole.iter().copied().filter(|byte| *byte != b'-')) {
            found.push((part.start + start..part.start + end, KIND));
        }
    }
    found
}

/// Phrases after a word that announces them, with other signs between the groups, or none.
pub(crate) fn find_near(text: &str, word: &Range<usize>) -> Vec<Secret> {
    let to = text.floor_char_boundary((word.end + NEAR).min(text.len()));
    let window = &text.as_bytes()[word.end..to];
    let starts = (0..window.len()).filter(|at| {
        window[*at].is_ascii_alphanumeric() && (*at == 0 || !window[at - 1].is_ascii_alphanumeric())
    });
    let phrase = starts.filter_map(|from| {
        let end = end_of_symbols(&window[from..])? + from;
        let symbols = window[from..end].iter().copied().filter(u8::is_ascii_alphanumeric);
        is_phrase(symbols).then_some((word.end + from..word.end + end, KIND))
    });
    phrase.take(1).collect()
}

/// Where the 35th letter or digit ends, if no more than two signs are between two of them and nothing follows.
fn end_of_symbols(bytes: &[u8]) -> Option<usize> {
    let (mut symbols, mut signs) = (0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_alphanumeric() {
            (symbols, signs) = (symbols + 1, 0);
        } else if byte.is_ascii_punctuation() || *byte == b' ' {
            signs += 1;
        } else {
            return None;
        }
        if signs > 2 {
            return None;
        }
        if symbols == SYMBOLS {
            return (!bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)).then_some(at + 1);
        }
    }
    None
}

/// Whether the checksum holds.
fn is_phrase(symbols: impl Iterator<Item = u8>) -> bool {
    let mut bits = [0_u8; 22];
    let mut count = 0;
    for symbol in symbols {
        let symbol = match symbol.to_ascii_lowercase() {
            b'o' => b'0',
            b'i' | b'l' => b'1',
            other => other,
        };
        let Some(value) = ALPHABET.iter().position(|known| *known == symbol) else { return false };
        for bit in 0..5 {
            let at = count * 5 + bit;
            bits[at / 8] |= ((value >> (4 - bit) & 1) as u8) << (7 - at % 8);
        }
        count += 1;
        if count > SYMBOLS {
            return false;
        }
    }
    let sum = Sha256::digest(&bits[..20]);
    // 15 bits: the last bit of the 22 bytes is not used.
    count == SYMBOLS && bits[20] == sum[0] && bits[21] & 0xfe == sum[1] & 0xfe
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Masker;

    /// A phrase of these 20 bytes.
    pub(crate) fn sample_phrase(secret: [u8; 20]) -> String {
        let sum = Sha256::digest(secret);
        let bytes: Vec<u8> = secret.iter().copied().chain([sum[0], sum[1]]).collect();
        let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
        let symbols: Vec<u8> = (0..SYMBOLS)
            .map(|at| ALPHABET[(0..5).fold(0, |value, bit_at| value << 1 | bit(at * 5 + bit_at))])
            .collect();
        symbols
            .chunks(GROUP)
            .map(|group| String::from_utf8(group.to_vec()).unwrap())
            .collect::<Vec<_>>()
            .join("-")
    }

    #[test]
    fn a_phrase_is_masked_in_every_form() {
        for seed in 0..40_u8 {
            let phrase = sample_phrase(std::array::from_fn(|at| {
                seed.wrapping_mul(37).wrapping_add((at * at) as u8 ^ 0x5b)
            }));
            let bare = phrase.replace('-', "");
            for text in [
                format!("{{\"phrase\":\"{phrase}\"}}"),
                format!("loci sync join ~/Dropbox/loci {phrase}"),
                format!("echo {phrase} | loci sync join ~/Dropbox/loci -"),
                format!("Your recovery phrase is {phrase}. Keep it safe."),
                format!("{phrase}\n"),
                format!("loci1-{phrase}"),
                format!("LOCI1-{}", phrase.to_uppercase()),
                format!("loci1 {}", phrase.replace('-', " ")),
                format!("loci1{bare}"),
                format!("recovery phrase: {}", phrase.replace('-', " ")),
                format!("the phrase: {bare}"),
            ] {
                let masked = Masker::new([1; 32]).mask_text(&text).into_owned();
                let left: String = masked.chars().filter(char::is_ascii_alphanumeric).collect();
                assert!(!left.to_lowercase().contains(&bare[5..20]), "{text} became {masked}");
                let json = format!("{{\"a\":{}}}", serde_json::Value::String(text));
                assert!(!Masker::new([1; 32]).mask_json(&json).contains(&phrase[6..23]), "{json}");
            }
        }
    }

    #[test]
    fn groups_without_the_checksum_are_unchanged() {
        for text in [
            "ph8se-0k3zd-aaaaa-bbbbb-ccccc-ddddd-eeeee",
            "these-seven-fives-spell-words-quite-often",
            "12345-12345-12345-12345-12345-12345-12345",
        ] {
            assert_eq!(Masker::new([1; 32]).mask_text(text), text);
        }
    }
}
