//! A pack: records, compressed and sealed. The seal binds it to one space, device and number, so that a pack in another place
//! does not open.
//!
//! Does not know which packs a device has.

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::id::{DeviceId, SpaceId};
use crate::keys::SpaceKey;
use crate::record::Record;

const MAGIC: [u8; 4] = *b"LSP1";
const WHAT: &str = "a pack";
/// Level 3 is the library's default; on transcripts, higher levels cost several times the CPU for a few percent.
const COMPRESSION: i32 = 3;
/// Records of more bytes than this go into several packs. A reader needs memory for one pack at a time.
pub(crate) const MAX_CONTENT: usize = 32 << 20;
/// One record, which has a pack of its own if it must.
pub const MAX_RECORD: usize = 64 << 20;
/// Bound of what decompression may yield, against a pack that expands without end.
const MAX_EXPANDED: usize = MAX_RECORD + MAX_CONTENT;

/// The place of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) space: SpaceId,
    pub(crate) device: DeviceId,
    pub(crate) number: u64,
}

impl Place {
    fn bound(&self, epoch: u64) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        writer.array(&self.space.0).array(&self.device.0).number(self.number).number(epoch);
        writer.finish()
    }
}

pub(crate) fn seal_records(records: &[Record], place: Place, epoch: u64, key: &SpaceKey) -> Result<Vec<u8>> {
    let mut content = Writer::default();
    for record in records {
        record.encode(&mut content);
    }
    let compressed = zstd::bulk::compress(content.as_bytes(), COMPRESSION);
    let compressed = compressed.map_err(|_| Error::Damaged { what: WHAT })?;
    let mut pack = Writer::new(MAGIC);
    pack.number(epoch).array(&key.seal(&compressed, &place.bound(epoch))?);
    Ok(pack.finish())
}

/// Opens a pack with the key of its epoch, which `find_key` looks up.
pub(crate) fn open_records<'k>(
    sealed: &[u8],
    place: Place,
    find_key: impl FnOnce(u64) -> Option<&'k SpaceKey>,
) -> Result<Vec<Record>> {
    let mut reader = Reader::new(sealed, WHAT);
    reader.magic(MAGIC)?;
    let epoch = reader.number()?;
    let key = find_key(epoch).ok_or(Error::Forged { what: WHAT })?;
    let compressed = key.open(reader.rest(), &place.bound(epoch), WHAT)?;
    decode_records(&expand(&compressed)?)
}

fn expand(compressed: &[u8]) -> Result<Vec<u8>> {
    let damaged = |_| Error::Damaged { what: WHAT };
    let size = zstd::zstd_safe::get_frame_content_size(compressed);
    let size = size.ok().flatten().ok_or(Error::Damaged { what: WHAT })?;
    zstd::bulk::decompress(compressed, MAX_EXPANDED.min(size as usize)).map_err(damaged)
}

pub(crate) fn decode_records(content: &[u8]) -> Result<Vec<Record>> {
    let mut reader = Reader::new(content, WHAT);
    let mut records = Vec::new();
    while !reader.is_empty() {
        records.push(Record::decode(&mut reader)?);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Body, Version};

    #[test]
    fn a_pack_opens_only_in_its_place() {
        let place = Place { space: SpaceId([1; 16]), device: DeviceId([2; 16]), number: 3 };
        let version = Version { clock: 5, device: place.device };
        let body = Body::Bytes(b"text ".repeat(100));
        let records = vec![Record { collection: "c".into(), key: "k".into(), version, body }];
        let key = SpaceKey::generate().unwrap();
        let sealed = seal_records(&records, place, 7, &key).unwrap();
        assert!(sealed.len() < 140, "{}", sealed.len());
        assert_eq!(open_records(&sealed, place, |_| Some(&key)).unwrap(), records);
        for other in [
            Place { space: SpaceId([9; 16]), ..place },
            Place { device: DeviceId([9; 16]), ..place },
            Place { number: 4, ..place },
        ] {
            assert!(open_records(&sealed, other, |_| Some(&key)).is_err(), "{other:?}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(
                open_records(&changed, place, |epoch| (epoch == 7).then_some(&key)).is_err(),
                "byte {at}"
            );
            assert!(open_records(&sealed[..at], place, |_| Some(&key)).is_err(), "cut at {at}");
        }
    }
}
