//! x
use sha2::{Digest as _, Sha256};

/// The first eight bytes of a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Digest(pub u64);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        let full = Sha256::digest(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&full[..8]);
        Digest(u64::from_be_bytes(first))
    }
}
