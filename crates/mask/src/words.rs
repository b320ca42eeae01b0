//! A set of short words that is asked about every word of a line.
//!
//! Does not know what the words mean: the caller keeps its own table, in the same order.

const SLOTS: usize = 1024;

/// The longest word that can be known.
pub(crate) const MAX_WORD: usize = 16;

/// Positions in a list of words by a hash of their first letters and length. A binary search over 150 words costs eight
/// comparisons, this one.
pub(crate) struct WordTable {
    words: Vec<&'static str>,
    /// The position in the list, plus one.
    slots: Vec<u16>,
}

impl WordTable {
    pub(crate) fn new(words: impl Iterator<Item = &'static str>) -> WordTable {
        let mut table = WordTable { words: words.collect(), slots: vec![0; SLOTS] };
        for (at, word) in table.words.iter().enumerate() {
            let mut slot = hash_word(word.as_bytes());
            while table.slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            table.slots[slot] = at as u16 + 1;
        }
        table
    }

    /// The position of a word, given in lower case.
    pub(crate) fn find(&self, word: &[u8]) -> Option<usize> {
        let mut slot = hash_word(word);
        loop {
            let at = usize::from(self.slots[slot]).checked_sub(1)?;
            if self.words[at].as_bytes() == word {
                return Some(at);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

fn hash_word(word: &[u8]) -> usize {
    let letters = word.iter().take(4).fold(0_u32, |all, letter| all << 8 | u32::from(*letter));
    let mixed = (letters ^ (word.len() as u32) << 13).wrapping_mul(0x9e37_79b1);
    (mixed >> 22) as usize % SLOTS
}

/// Calls the closure with each run of letters and digits in lower case, split at capitals if `camel`. Of a word longer
/// than any that is known, the beginning.
pub(crate) fn for_each_word(text: &str, camel: bool, mut each: impl FnMut(&[u8])) {
    let (mut word, mut length, mut before) = ([0_u8; MAX_WORD + 1], 0, b'_');
    for byte in text.bytes() {
        let part = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let rises = camel && byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        if length > 0 && (!part || rises) {
            each(&word[..length]);
            length = 0;
        }
        if part && length < word.len() {
            word[length] = byte.to_ascii_lowercase();
            length += 1;
        }
        before = byte;
    }
    if length > 0 {
        each(&word[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_and_others_are_not() {
        let words = ["key", "keys", "password", "passphrase", "id", "a"];
        let table = WordTable::new(words.into_iter());
        for (at, word) in words.iter().enumerate() {
            assert_eq!(table.find(word.as_bytes()), Some(at));
        }
        for other in ["ke", "passwords", "passphrases", "", "b"] {
            assert_eq!(table.find(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn names_are_split_at_signs_and_capitals() {
        let split = |text: &str, camel| {
            let mut words = Vec::new();
            for_each_word(text, camel, |word| words.push(String::from_utf8_lossy(word).into_owned()));
            words
        };
        assert_eq!(split("resetPassword_2 a", true), ["reset", "password", "2", "a"]);
        assert_eq!(split("resetPassword_2 a", false), ["resetpassword", "2", "a"]);
    }
}
