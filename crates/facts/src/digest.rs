//! A short, stable hash: the same bytes give the same digest on every machine and in every version.
//!
//! Does not know the meaning of the bytes it hashes.

use crate::base32::encode_base32;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The first eight bytes of a SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        let full = Sha256::digest(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&full[..8]);
        Digest(u64::from_be_bytes(first))
    }
}

impl fmt::Display for Digest {
    /// Writes the first eight base-32 characters.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&encode_base32(self.0)[..8])
    }
}
