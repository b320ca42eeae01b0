//! SHA-256 of files, as hexadecimal digits and as the base64 of wheels.
//!
//! Does not know which files.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a string cannot fail to grow
        text
    })
}

/// The URL-safe alphabet without padding, as `RECORD` has it.
pub(crate) fn sha256_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let sum = Sha256::digest(bytes);
    let mut text = String::with_capacity(43);
    for group in sum.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_sha256() {
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256_base64(b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }
}
