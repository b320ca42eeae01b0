//! Counts tokens exactly as the encoding `o200k_base` does: splits a text into pieces, and merges the bytes of each piece pair by pair.
//!
//! Does not know what is counted, and gives no token numbers: nothing here needs them.

mod vocabulary;

use regex::Regex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;
use vocabulary::find_rank;

/// The pieces of a text, in the order of preference. The encoding ends a run of spaces one before a word; [`split_pieces`] does that,
/// since these expressions cannot look ahead.
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+",
    ];
    #[allow(clippy::unwrap_used)] // a constant; every test would fail
    Regex::new(&alternatives.join("|")).unwrap()
});

/// The number of tokens of a text.
pub fn count_tokens(text: &str) -> usize {
    split_pieces(text).map(|piece| count_piece(piece.as_bytes())).sum()
}

fn split_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = PIECE.find_at(text, at)?;
        let mut piece = found.as_str();
        // Spaces before a word: the last of several belongs to the word.
        let is_space = piece.chars().all(char::is_whitespace) && !piece.ends_with(['\r', '\n']);
        if is_space && found.end() < text.len() {
            let last = piece.chars().next_back().map_or(0, char::len_utf8);
            if last < piece.len() {
                piece = &piece[..piece.len() - last];
            }
        }
        at = found.start() + piece.len();
        Some(piece)
    })
}

/// Merges the two neighbours with the lowest rank, the leftmost first, until none are left that form a token. A heap keeps a long
/// piece, such as a page of Chinese without a space, from costing the square of its length.
fn count_piece(piece: &[u8]) -> usize {
    if piece.len() == 1 || find_rank(piece).is_some() {
        return 1;
    }
    let end = piece.len();
    // A part begins at its index and ends where the next begins; parts that were merged into the one before have no length.
    let mut next: Vec<usize> = (1..=end).collect();
    let mut previous: Vec<Option<usize>> = (0..end).map(|at| at.checked_sub(1)).collect();
    let mut is_part = vec![true; end];
    let mut pairs = BinaryHeap::new();
    let pair_at = |left: usize, next: &[usize]| {
        let middle = next[left];
        let right = *next.get(middle)?;
        find_rank(&piece[left..right]).map(|rank| Reverse((rank, left, right)))
    };
    pairs.extend((0..end).filter_map(|left| pair_at(left, &next)));
    let mut parts = end;
    while let Some(Reverse((_, left, right))) = pairs.pop() {
        let middle = next[left];
        if !is_part[left] || middle >= right || next[middle] != right {
            continue; // one of the two has been merged since
        }
        is_part[middle] = false;
        next[left] = right;
        if right < end {
            previous[right] = Some(left);
        }
        parts -= 1;
        pairs.extend(previous[left].and_then(|before| pair_at(before, &next)));
        pairs.extend(pair_at(left, &next));
    }
    parts
}
