//! Identifiers that appear in object names: random or hashes, so that a name reveals nothing.
//!
//! Does not know the storage.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::fmt;

/// One log in a space. A device that was cloned takes a new one and keeps its keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub [u8; 16]);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpaceId(pub [u8; 16]);

/// SHA-256 of an object's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    pub(crate) const ZERO: Hash = Hash([0; 32]);

    pub(crate) fn of(bytes: &[u8]) -> Hash {
        Hash::of_pieces([bytes])
    }

    /// The hash of several pieces, one after the other.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Hash {
        let mut digest = Sha256::new();
        pieces.into_iter().for_each(|piece| digest.update(piece));
        Hash(digest.finalize().into())
    }
}

macro_rules! hexadecimal {
    ($type:ident, $size:literal) => {
        impl $type {
            pub fn parse(text: &str) -> Option<$type> {
                parse_hex::<$size>(text).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}
hexadecimal!(DeviceId, 16);
hexadecimal!(SpaceId, 16);
hexadecimal!(Hash, 32);

/// Lower case only: a second spelling of a name would be a second object.
pub(crate) fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::Random(error.to_string()))?;
    Ok(bytes)
}

/// The first bytes of a head's hash: enough to recognise it among those that one device signed.
pub type ShortHash = [u8; 8];

pub(crate) fn shorten(hash: &Hash) -> ShortHash {
    let mut short = [0; 8];
    short.copy_from_slice(&hash.0[..8]);
    short
}
