//! Encodes numbers in base 32 with an alphabet of characters that are hard to confuse.
//!
//! Does not know what a number identifies.

/// Letters and digits without the easily confused `i`, `l`, `o` and `u`.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Number of characters that encode 64 bits.
pub(crate) const ENCODED_LEN: usize = 13;

/// Encodes 64 bits as 13 characters, most significant bits first.
pub(crate) fn encode_base32(bits: u64) -> String {
    let wide = u128::from(bits) << 1;
    (0..ENCODED_LEN).rev().map(|at| char::from(ALPHABET[(wide >> (at * 5)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_has_no_ambiguous_letters() {
        assert!(ALPHABET.iter().all(|letter| !b"iloILOuU".contains(letter)));
        assert!(ALPHABET.is_sorted());
    }
}
