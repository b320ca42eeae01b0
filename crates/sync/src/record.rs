//! A record, its version, and the merge rule: which of two versions of a record wins on every device.
//!
//! Does not know what a collection or a body means.

use crate::codec::{Reader, Writer};
use crate::error::Result;
use crate::id::DeviceId;
use sha2::{Digest, Sha256};

/// Position in the total order of all writes: a hybrid clock, then the device that wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Milliseconds since 1970, or more: a device always writes above everything it has read.
    pub clock: u64,
    pub device: DeviceId,
}

/// Clocks above this are refused. A record at the maximum could never be overwritten.
pub(crate) const MAX_CLOCK: u64 = 1 << 56;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Bytes(Vec<u8>),
    /// Deleted; a later write brings the key back.
    Deleted,
    /// Forgotten: wins over every other version, also over later ones, and removes older ones from the bucket.
    Forgotten,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub collection: String,
    pub key: String,
    pub version: Version,
    pub body: Body,
}

/// Identifies a key in the local state without storing it twice.
pub type KeyHash = [u8; 16];

/// Recognises a body without storing it twice.
pub type BodyHash = [u8; 16];

pub(crate) fn hash_key(collection: &str, key: &str) -> KeyHash {
    let mut writer = Writer::default();
    writer.string(collection.as_bytes()).string(key.as_bytes());
    shorten(&Sha256::digest(writer.as_bytes()))
}

fn shorten(hash: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&hash[..16]);
    short
}

/// What decides between two versions of one key: forgotten first, then the later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub forgotten: bool,
    pub version: Version,
}

/// A device counts on from the clocks it hears, but not to the end of the range: otherwise one record with the last clock would leave
/// no clock for what the others write.
pub(crate) const MAX_HEARD_CLOCK: u64 = MAX_CLOCK / 2;

impl Record {
    pub fn key_hash(&self) -> KeyHash {
        hash_key(&self.collection, &self.key)
    }

    pub fn rank(&self) -> Rank {
        Rank { forgotten: self.body == Body::Forgotten, version: self.version }
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.string(self.collection.as_bytes()).string(self.key.as_bytes());
        writer.number(self.version.clock).array(&self.version.device.0);
        self.body.encode(writer);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Record> {
        let (collection, key) = (reader.text()?, reader.text()?);
        let clock = reader.number()?;
        if clock > MAX_CLOCK {
            return Err(reader.damaged());
        }
        let version = Version { clock, device: DeviceId(reader.array()?) };
        Ok(Record { collection, key, version, body: Body::decode(reader)? })
    }

    /// Bytes that the record takes in a pack, to within a few.
    pub(crate) fn size(&self) -> usize {
        self.collection.len() + self.key.len() + self.body.len() + 32
    }
}

impl Body {
    pub(crate) fn encode(&self, writer: &mut Writer) {
        match self {
            Body::Bytes(bytes) => writer.number(0).string(bytes),
            Body::Deleted => writer.number(1),
            Body::Forgotten => writer.number(2),
        };
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Body> {
        match reader.number()? {
            0 => Ok(Body::Bytes(reader.string()?.to_vec())),
            1 => Ok(Body::Deleted),
            2 => Ok(Body::Forgotten),
            _ => Err(reader.damaged()),
        }
    }

    fn len(&self) -> usize {
        if let Body::Bytes(bytes) = self { bytes.len() } else { 0 }
    }

    /// Recognises a body that was staged before.
    pub(crate) fn hash(&self) -> BodyHash {
        let mut writer = Writer::default();
        self.encode(&mut writer);
        shorten(&Sha256::digest(writer.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(forgotten: bool, clock: u64, device: u8) -> Rank {
        Rank { forgotten, version: Version { clock, device: DeviceId([device; 16]) } }
    }

    #[test]
    fn the_later_version_wins_and_a_forgotten_one_always() {
        let ordered = [
            rank(false, 1, 9),
            rank(false, 2, 1),
            rank(false, 2, 2),
            rank(false, 900, 1),
            rank(true, 1, 1),
            rank(true, 1, 2),
        ];
        assert!(ordered.is_sorted());
    }

    #[test]
    fn a_record_is_read_as_written() {
        for body in [Body::Bytes(b"text".to_vec()), Body::Bytes(Vec::new()), Body::Deleted, Body::Forgotten] {
            let version = Version { clock: 1_800_000_000_000, device: DeviceId([7; 16]) };
            let record = Record { collection: "facts".into(), key: "é".into(), version, body };
            let mut writer = Writer::default();
            record.encode(&mut writer);
            let mut reader = Reader::new(writer.as_bytes(), "record");
            assert_eq!(Record::decode(&mut reader).unwrap(), record);
            reader.finish().unwrap();
        }
    }
}
