//! A head: what a device has published, in one small signed object. Each names the one before by its hash.
//!
//! Does not know which heads a reader has seen, nor who may sign.

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::id::{DeviceId, Hash, SpaceId};
use crate::id::{ShortHash, shorten};
use crate::keys::{DeviceKeys, PublicKey, SIGNATURE, verify};
use crate::merge::Link;

const MAGIC: [u8; 4] = *b"LSH1";
const WHAT: &str = "a head";
/// Heads of more bytes are not read: 20,000 packs would fit.
pub(crate) const MAX_HEAD: usize = 1 << 20;
/// How many heads back a head names its predecessors. A reader that was away longer relies on the signature alone.
pub(crate) const ANCESTORS: usize = 32;

pub(crate) type Salt = [u8; 16];

/// The identifier of a device follows from its key, so that no other member can write in its name.
pub(crate) fn derive_device(signer: &PublicKey, salt: &Salt) -> DeviceId {
    let hash = Hash::of(&[b"loci-sync device v1", &signer[..], &salt[..]].concat());
    let mut id = [0; 16];
    id.copy_from_slice(&hash.0[..16]);
    DeviceId(id)
}

/// A pack as a head lists it. The device numbers its writes 1, 2, 3…; a pack contains those from `first` to `last`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackEntry {
    pub(crate) number: u64,
    pub(crate) level: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) length: u64,
    pub(crate) hash: Hash,
}

/// The version of the member list that a device works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MembersRef {
    pub(crate) version: u64,
    pub(crate) hash: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) space: SpaceId,
    pub(crate) device: DeviceId,
    pub(crate) number: u64,
    pub(crate) signer: PublicKey,
    /// With the signer, determines the device: see [`derive_device`].
    pub(crate) salt: Salt,
    /// The head before, then a window of those before it, newest first.
    pub(crate) previous: Hash,
    pub(crate) ancestors: Vec<ShortHash>,
    pub(crate) members: MembersRef,
    /// The device's own time; shown to people, never compared.
    pub(crate) written: u64,
    /// How many records this device has forgotten so far.
    pub(crate) forgotten: u64,
    pub(crate) packs: Vec<PackEntry>,
    /// Of which devices this one has applied how many forgotten records.
    pub(crate) confirmed: Vec<(DeviceId, u64)>,
    /// What this device could not read of others, for its owner to publish again.
    pub(crate) unread: Vec<Unread>,
}

/// The number of a pack that is gone or damaged, or [`NEWEST_HEAD`], and its owner.
pub(crate) type Unread = (DeviceId, u64);

pub(crate) const NEWEST_HEAD: u64 = 0;

impl Head {
    pub(crate) fn encode(&self, keys: &DeviceKeys) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        writer.array(&self.space.0).array(&self.device.0).number(self.number).array(&self.signer);
        writer.array(&self.salt);
        writer.array(&self.previous.0).number(self.ancestors.len() as u64);
        for hash in &self.ancestors {
            writer.array(hash);
        }
        writer.number(self.members.version).array(&self.members.hash.0);
        writer.number(self.written).number(self.forgotten).number(self.packs.len() as u64);
        self.packs.iter().for_each(|pack| pack.encode(&mut writer));
        writer.number(self.confirmed.len() as u64);
        for (device, count) in &self.confirmed {
            writer.array(&device.0).number(*count);
        }
        // Not written if empty, which it nearly always is: a head of before this list existed is read, too.
        if !self.unread.is_empty() {
            writer.number(self.unread.len() as u64);
        }
        for (device, pack) in &self.unread {
            writer.array(&device.0).number(*pack);
        }
        keys.sign(writer)
    }

    /// Decodes a head and checks its signature against the key inside it; the caller decides whether that key may sign.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Head> {
        let content = bytes.split_at_checked(bytes.len().saturating_sub(SIGNATURE));
        let (content, _) = content.ok_or(Error::Damaged { what: WHAT })?;
        let head = Head::decode_content(content)?;
        verify(bytes, &head.signer, WHAT)?;
        Ok(head)
    }

    fn decode_content(content: &[u8]) -> Result<Head> {
        let mut reader = Reader::new(content, WHAT);
        reader.magic(MAGIC)?;
        let mut head = Head {
            space: SpaceId(reader.array()?),
            device: DeviceId(reader.array()?),
            number: reader.number()?,
            signer: reader.array()?,
            salt: reader.array()?,
            previous: Hash(reader.array()?),
            ancestors: read_list(&mut reader, 8, Reader::array)?,
            members: MembersRef { version: reader.number()?, hash: Hash(reader.array()?) },
            written: reader.number()?,
            forgotten: reader.number()?,
            packs: read_list(&mut reader, 37, PackEntry::decode)?,
            confirmed: read_list(&mut reader, 17, |r| Ok((DeviceId(r.array()?), r.number()?)))?,
            unread: Vec::new(),
        };
        if !reader.is_empty() {
            head.unread = read_list(&mut reader, 17, |r| Ok((DeviceId(r.array()?), r.number()?)))?;
        }
        reader.finish()?;
        Ok(head)
    }

    /// Its place among the heads of its device.
    pub(crate) fn link(&self, hash: Hash) -> Link {
        Link { number: self.number, hash, previous: self.previous, ancestors: self.ancestors.clone() }
    }

    /// The window for the head after this one.
    pub(crate) fn next_ancestors(&self) -> Vec<ShortHash> {
        std::iter::once(shorten(&self.previous))
            .chain(self.ancestors.iter().copied())
            .take(ANCESTORS)
            .collect()
    }

    pub(crate) fn last_write(&self) -> u64 {
        self.packs.iter().map(|pack| pack.last).max().unwrap_or(0)
    }
}

fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    least: usize,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = reader.count(least)?;
    (0..count).map(|_| read(reader)).collect()
}

impl PackEntry {
    fn encode(&self, writer: &mut Writer) {
        writer.number(self.number).number(self.level).number(self.first).number(self.last);
        writer.number(self.length).array(&self.hash.0);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<PackEntry> {
        Ok(PackEntry {
            number: reader.number()?,
            level: reader.number()?,
            first: reader.number()?,
            last: reader.number()?,
            length: reader.number()?,
            hash: Hash(reader.array()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_head(keys: &DeviceKeys, number: u64) -> Head {
        let entry = PackEntry { number: 9, level: 1, first: 1, last: 8, length: 500, hash: Hash([4; 32]) };
        Head {
            space: SpaceId([1; 16]),
            device: DeviceId([2; 16]),
            number,
            signer: keys.public(),
            salt: [7; 16],
            previous: Hash([3; 32]),
            ancestors: vec![[7; 8], [8; 8]],
            members: MembersRef { version: 2, hash: Hash([5; 32]) },
            written: 1_800_000_000_000,
            forgotten: 3,
            packs: vec![entry],
            confirmed: vec![(DeviceId([6; 16]), 12)],
            unread: vec![(DeviceId([8; 16]), NEWEST_HEAD)],
        }
    }

    #[test]
    fn a_head_is_read_as_written_and_only_unchanged() {
        let keys = DeviceKeys::generate().unwrap();
        let head = test_head(&keys, 5);
        let bytes = head.encode(&keys);
        assert_eq!(Head::decode(&bytes).unwrap(), head);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Head::decode(&changed).is_err() && Head::decode(&bytes[..at]).is_err(), "byte {at}");
        }
    }

    #[test]
    fn ancestry_is_known_as_far_as_the_window() {
        let head = test_head(&DeviceKeys::generate().unwrap(), 5);
        let link = head.link(Hash([1; 32]));
        assert_eq!(link.descends_from(4, &Hash([3; 32])), Some(true));
        assert_eq!(link.descends_from(4, &Hash([9; 32])), Some(false));
        assert_eq!(link.descends_from(3, &Hash([7; 32])), Some(true));
        assert_eq!(link.descends_from(2, &Hash([7; 32])), Some(false));
        assert_eq!(link.descends_from(1, &Hash([7; 32])), None);
        assert_eq!(link.descends_from(6, &Hash([7; 32])), None);
        assert_eq!(head.next_ancestors(), vec![[3; 8], [7; 8], [8; 8]]);
    }
}
