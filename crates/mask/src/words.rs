//! Where the words stand that no secret is without: one pass over the text, whatever the number of words.
//!
//! Does not know what a word means, nor its case: `KEY` and `key` are the same to it.

/// Bits of the table's index. 16 KiB stay in the nearest cache; two hundred words fill 1 % of it.
const BITS: u32 = 14;

/// How many places are looked at before asking whether any of them was a hit.
const STRIDE: usize = 8;

/// A table of the first three letters of each word. An Aho-Corasick automaton has to know the state after each byte
/// before it can take the next; here each place is looked up by itself, which is 4 times as fast.
pub(crate) struct Words {
    words: Vec<&'static str>,
    /// For each hash of three letters the list of words that begin so, counted from 1; 0 is none.
    table: Vec<u8>,
    lists: Vec<Vec<usize>>,
}

impl Words {
    /// Each word must have three letters at least.
    pub(crate) fn new(words: Vec<&'static str>) -> Words {
        let mut table = vec![0_u8; 1 << BITS];
        let mut lists: Vec<Vec<usize>> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let [a, b, c, ..] = *word.as_bytes() else { continue };
            let slot = &mut table[hash(a, b, c)];
            if *slot == 0 {
                lists.push(Vec::new());
                *slot = lists.len() as u8;
            }
            lists[usize::from(*slot) - 1].push(at);
        }
        Words { words, table, lists }
    }

    /// Calls `seen` with the place and the number of each word in the text, from front to back.
    pub(crate) fn each(&self, text: &[u8], mut seen: impl FnMut(usize, usize)) {
        let strides = text.len().saturating_sub(2) / STRIDE;
        for stride in 0..strides {
            let from = stride * STRIDE;
            let mut any = 0;
            for place in text[from..from + STRIDE + 2].windows(3) {
                any |= self.slot(place);
            }
            if any != 0 {
                self.closely(text, from..from + STRIDE, &mut seen);
            }
        }
        self.closely(text, strides * STRIDE..text.len().saturating_sub(2), &mut seen);
    }

    fn slot(&self, place: &[u8]) -> u8 {
        // Three bytes are what `windows(3)` gives.
        let [a, b, c] = *place else { return 0 };
        self.table[hash(a, b, c)]
    }

    fn closely(&self, text: &[u8], places: std::ops::Range<usize>, seen: &mut impl FnMut(usize, usize)) {
        for at in places {
            let slot = self.slot(&text[at..at + 3]);
            if slot == 0 {
                continue;
            }
            for &number in &self.lists[usize::from(slot) - 1] {
                let word = self.words[number].as_bytes();
                if text.get(at..at + word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word)) {
                    seen(at, number);
                }
            }
        }
    }
}

/// Of three bytes without their case. Always below the table's length.
fn hash(a: u8, b: u8, c: u8) -> usize {
    let letters = u32::from_le_bytes([a, b, c, 0]) | 0x0020_2020;
    (letters.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(words: &[&'static str], text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        Words::new(words.to_vec()).each(text.as_bytes(), |at, number| all.push((at, number)));
        all
    }

    #[test]
    fn words_are_seen_in_any_case_also_inside_each_other_and_at_the_end() {
        let words = ["key", "keyring", "sk-", "://"];
        assert_eq!(seen(&words, "Keyring sk-KEY"), [(0, 0), (0, 1), (8, 2), (11, 0)]);
        assert_eq!(seen(&words, "key"), [(0, 0)]);
        assert_eq!(seen(&words, "ke"), []);
        assert_eq!(seen(&words, ""), []);
        assert_eq!(seen(&words, "a://b key"), [(1, 3), (6, 0)]);
    }

    #[test]
    fn no_place_is_left_out() {
        for at in 0..40 {
            let text = format!("{}token{}", ".".repeat(at), ".".repeat(40 - at));
            assert_eq!(seen(&["token"], &text), [(at, 0)]);
        }
    }
}
