//! Finds keywords in a text: one pass, independent of the number of words.
//!
//! Does not know what a word means, and ignores case: `KEY` and `key` are equal.

/// Bits of the table index. 32 KiB stay in the L1 cache; three hundred prefixes fill 2 % of it.
const BITS: u32 = 14;

/// The number of positions examined before testing whether any of them was a hit.
const STRIDE: usize = 8;

/// A table of the first three letters of each word, and a set of possible fourth letters. An Aho-Corasick automaton
/// needs the state after one byte before it can process the next; here each position is looked up independently, in
/// 0.56 of the time.
pub(crate) struct KeywordTable {
    known: Vec<&'static str>,
    /// For each hash of three letters the possible fourth letters, by their lowest three bits: 16 KiB that answer for
    /// nearly every position whether it is worth a look.
    filter: Box<[u8; 1 << BITS]>,
    /// For each hash of three letters the 1-based index of the list of words with that prefix; 0 is none.
    table: Box<[u16; 1 << BITS]>,
    groups: Vec<PrefixGroup>,
}

/// Words with the same prefix.
#[derive(Default)]
struct PrefixGroup {
    words: Vec<Word>,
    /// A bit for each fourth letter, ignoring case.
    fourth: u128,
}

/// A word by its index, and its first eight letters as a number: one comparison rejects almost every other text, where
/// comparing letter by letter took a quarter of the whole search.
struct Word {
    number: usize,
    begin: u64,
    mask: u64,
}

impl Word {
    fn new(number: usize, word: &str) -> Word {
        let mut letters = [0; 8];
        let length = word.len().min(8);
        letters[..length].copy_from_slice(&word.as_bytes()[..length]);
        let mask = u64::MAX >> (64 - 8 * length as u32);
        Word { number, begin: fold_case(u64::from_le_bytes(letters)) & mask, mask }
    }
}

impl KeywordTable {
    /// Each word must have at least three letters.
    pub(crate) fn new(words: Vec<&'static str>) -> KeywordTable {
        #[allow(clippy::large_stack_arrays)] // 32 KiB, once
        let mut table = Box::new([0_u16; 1 << BITS]);
        #[allow(clippy::large_stack_arrays)] // 16 KiB, once
        let mut filter = Box::new([0_u8; 1 << BITS]);
        let mut lists: Vec<PrefixGroup> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let [a, b, c, rest @ ..] = word.as_bytes() else { continue };
            let hash = hash_prefix(u32::from_le_bytes([*a, *b, *c, 0]));
            filter[hash] |= rest.first().map_or(u8::MAX, |letter| 1 << (letter & 7));
            let slot = &mut table[hash];
            if *slot == 0 {
                lists.push(PrefixGroup::default());
                *slot = lists.len() as u16;
            }
            let list = &mut lists[usize::from(*slot) - 1];
            list.words.push(Word::new(at, word));
            list.fourth |= rest.first().map_or(u128::MAX, |letter| letter_bit(*letter));
        }
        KeywordTable { known: words, filter, table, groups: lists }
    }

    /// Calls the closure with the position and index of each word in the text, in text order.
    pub(crate) fn find_each(&self, text: &[u8], mut seen: impl FnMut(usize, usize)) {
        let mut from = 0;
        while let Some(part) = text[from..].first_chunk::<{ STRIDE + 3 }>() {
            let mut hits = 0_u32;
            for at in 0..STRIDE {
                let four = u32::from_le_bytes([part[at], part[at + 1], part[at + 2], part[at + 3]]);
                let fourth = (four >> 24) & 7;
                hits |= u32::from(self.filter[hash_prefix(four)] >> fourth & 1) << at;
            }
            while hits != 0 {
                self.check_position(text, from + hits.trailing_zeros() as usize, &mut seen);
                hits &= hits - 1;
            }
            from += STRIDE;
        }
        for at in from..text.len() {
            self.check_position(text, at, &mut seen);
        }
    }

    /// Whether one of the words is in the text.
    pub(crate) fn any(&self, text: &[u8]) -> bool {
        let mut found = false;
        self.find_each(text, |_, _| found = true);
        found
    }

    fn check_position(&self, text: &[u8], at: usize, seen: &mut impl FnMut(usize, usize)) {
        let [a, b, c, rest @ ..] = &text[at..] else { return };
        let slot = self.table[hash_prefix(u32::from_le_bytes([*a, *b, *c, 0]))];
        let Some(list) = usize::from(slot).checked_sub(1).map(|slot| &self.groups[slot]) else { return };
        if rest.first().is_some_and(|letter| list.fourth & letter_bit(*letter) == 0) {
            return;
        }
        let begin = fold_case(first_eight(&text[at..]));
        for word in list.words.iter().filter(|word| begin & word.mask == word.begin) {
            let known = self.known[word.number].as_bytes();
            if text.get(at..at + known.len()).is_some_and(|there| there.eq_ignore_ascii_case(known)) {
                seen(at, word.number);
            }
        }
    }
}

/// Hashes the first three of four bytes, ignoring case. Always less than the length of the table.
fn hash_prefix(four: u32) -> usize {
    let letters = four & 0x00ff_ffff | 0x0020_2020;
    (letters.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}

/// The same number for letters that differ in case only, and for some other bytes.
fn fold_case(letters: u64) -> u64 {
    letters | 0x2020_2020_2020_2020
}

/// The first eight bytes, followed by zeros at the end of the text.
fn first_eight(text: &[u8]) -> u64 {
    let short = || {
        let mut letters = [0; 8];
        letters[..text.len()].copy_from_slice(text);
        letters
    };
    u64::from_le_bytes(text.first_chunk().copied().unwrap_or_else(short))
}

fn letter_bit(letter: u8) -> u128 {
    1 << ((letter | 0x20) & 127)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen_words(words: &[&'static str], text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        KeywordTable::new(words.to_vec()).find_each(text.as_bytes(), |at, number| all.push((at, number)));
        all
    }

    #[test]
    fn words_are_found_in_any_case_inside_each_other_and_at_the_end() {
        let words = ["key", "keyring", "sk-", "://"];
        assert_eq!(seen_words(&words, "Keyring sk-KEY"), [(0, 0), (0, 1), (8, 2), (11, 0)]);
        assert_eq!(seen_words(&words, "key"), [(0, 0)]);
        assert_eq!(seen_words(&words, "ke"), []);
        assert_eq!(seen_words(&words, ""), []);
        assert_eq!(seen_words(&words, "a://b key"), [(1, 3), (6, 0)]);
    }

    #[test]
    fn no_position_is_skipped() {
        for at in 0..40 {
            let text = format!("{}token{}", ".".repeat(at), ".".repeat(40 - at));
            assert_eq!(seen_words(&["token"], &text), [(at, 0)]);
        }
    }
}
