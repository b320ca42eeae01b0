//! The recovery phrase: 160 random bits and a checksum, written as groups of letters and digits after a prefix that tells what it is.
//!
//! Does not know what is derived from it.

use crate::error::{Error, Result};
use crate::id::random;
use sha2::{Digest, Sha256};
use std::fmt;

const SECRET: usize = 20;
/// 160 bits of secret and 15 bits of checksum make 35 symbols of five bits.
const SYMBOLS: usize = 35;
const GROUP: usize = 5;
/// So that people, and programs that look for secrets, recognise it.
const PREFIX: &str = "loci1";
/// Crockford's alphabet: no `i`, `l`, `o` or `u`, which people misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Restores a space when every device is lost. Whoever has it can read and administrate the space.
#[derive(Clone, PartialEq, Eq)]
pub struct Phrase([u8; SECRET]);

impl Phrase {
    pub(crate) fn generate() -> Result<Phrase> {
        random().map(Phrase)
    }

    /// Accepts upper case, other separators, a missing prefix, and `o`, `i`, `l` for `0`, `1`, `1`.
    pub fn parse(text: &str) -> Result<Phrase> {
        let typed: String =
            text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        let is_whole = typed.chars().count() == PREFIX.len() + SYMBOLS;
        let typed = typed.strip_prefix(PREFIX).filter(|_| is_whole).unwrap_or(&typed);
        let symbols: Vec<u8> = typed.chars().map(read_symbol).collect::<Result<_>>()?;
        if symbols.len() != SYMBOLS {
            return Err(Error::Phrase("it has `loci1` and 35 letters and digits in 7 groups"));
        }
        let bit = |at: usize| symbols[at / 5] >> (4 - at % 5) & 1;
        let mut secret = [0; SECRET];
        (0..SECRET * 8).for_each(|at| secret[at / 8] |= bit(at) << (7 - at % 8));
        let phrase = Phrase(secret);
        if phrase.symbols() == symbols { Ok(phrase) } else { Err(Error::Phrase("the checksum differs")) }
    }

    fn symbols(&self) -> Vec<u8> {
        let checksum: [u8; 32] = Sha256::digest(self.0).into();
        let bytes: Vec<u8> = self.0.iter().chain(&checksum[..2]).copied().collect();
        let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
        (0..SYMBOLS).map(|symbol| (0..5).fold(0, |value, at| value << 1 | bit(symbol * 5 + at))).collect()
    }

    /// A 32-byte seed for one purpose. The secret is uniformly random, so a hash is enough.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update(b"loci-sync phrase v1 ")
            .chain_update(purpose)
            .chain_update(self.0)
            .finalize()
            .into()
    }
}

fn read_symbol(c: char) -> Result<u8> {
    let c = match c {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    let at = ALPHABET.iter().position(|symbol| char::from(*symbol) == c);
    at.map(|at| at as u8).ok_or(Error::Phrase("it contains a character that phrases do not use"))
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (at, symbol) in self.symbols().into_iter().enumerate() {
            let separator = if at % GROUP == 0 { "-" } else { "" };
            write!(f, "{separator}{}", char::from(ALPHABET[usize::from(symbol)]))?;
        }
        Ok(())
    }
}

/// A phrase must not reach a log by accident.
impl fmt::Debug for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phrase(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_read_as_printed_and_a_typing_error_is_noticed() {
        let phrase = Phrase([0x5a; SECRET]);
        let text = phrase.to_string();
        assert_eq!((text.len(), Phrase::parse(&text).unwrap()), (47, phrase.clone()));
        assert_eq!(Phrase::parse(&text[6..]).unwrap(), phrase);
        assert_eq!(Phrase::parse(&text.to_uppercase().replace('-', " ")).unwrap(), phrase);
        let changed = if text.ends_with('a') { "b" } else { "a" };
        let wrong = format!("{}{changed}", &text[..46]);
        assert!(Phrase::parse(&wrong).is_err() && Phrase::parse(&text[1..]).is_err());
        assert_eq!(format!("{phrase:?}"), "Phrase(…)");
    }
}
