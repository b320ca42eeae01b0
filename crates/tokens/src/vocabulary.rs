//! The tokens of the vocabulary `o200k_base` and their ranks, in sorted tables that are searched where they lie in the binary.
//!
//! Does not know how a text is split into pieces. Loading a hash table of 200,000 tokens would cost every command that counts once
//! more than the counting.

/// All tokens in byte order, one after the other.
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bytes"));
/// Where each token ends, as little-endian `u32`.
static ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ends"));
/// The rank of each token, likewise.
static RANKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ranks"));
/// The number of tokens that come before each pair of first bytes.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));

fn number_at(table: &[u8], at: usize) -> usize {
    let word = &table[4 * at..4 * at + 4];
    u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as usize
}

fn token_at(at: usize) -> &'static [u8] {
    let start = if at == 0 { 0 } else { number_at(ENDS, at - 1) };
    &BYTES[start..number_at(ENDS, at)]
}

/// The rank of a token: of two possible merges, the one with the lower rank is made first.
pub(crate) fn find_rank(token: &[u8]) -> Option<u32> {
    let pair = usize::from(*token.first()?) << 8 | usize::from(token.get(1).copied().unwrap_or(0));
    let (mut low, mut high) = (number_at(STARTS, pair), number_at(STARTS, pair + 1));
    while low < high {
        let middle = low.midpoint(high);
        match token_at(middle).cmp(token) {
            std::cmp::Ordering::Equal => return Some(number_at(RANKS, middle) as u32),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}
