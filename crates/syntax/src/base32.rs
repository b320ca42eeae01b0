//! Numbers as letters and digits that are hard to confuse.
//!
//! Does not know what a number stands for.

/// Letters and digits that cannot be taken for each other: without `i`, `l`, `o` and `u`.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// So many spell 64 bits.
pub(crate) const LETTERS: usize = 13;

/// Thirteen letters for 64 bits, the first bits first.
pub(crate) fn spelled(bits: u64) -> String {
    let wide = u128::from(bits) << 1;
    (0..LETTERS).rev().map(|at| char::from(ALPHABET[(wide >> (at * 5)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_looks_like_another() {
        assert!(ALPHABET.iter().all(|letter| !b"iloILOuU".contains(letter)));
        assert!(ALPHABET.is_sorted());
    }
}
