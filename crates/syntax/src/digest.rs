//! A short hash of some bytes, the same on every machine and for good.
//!
//! Does not know what is hashed.

use crate::base32::spelled;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The first eight bytes of a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        let full = Sha256::digest(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&full[..8]);
        Digest(u64::from_be_bytes(first))
    }
}

impl fmt::Display for Digest {
    /// Eight letters of it.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&spelled(self.0)[..8])
    }
}
