//! The form of a small copy: its lines and its table as one compressed piece, without the markers, the index and the
//! frames of an archive file, which would be larger than its content.
//!
//! ```text
//! head      16 bytes: a word, the form's version, the decompressed length, a checksum that includes the name
//! body      Zstandard with `dictionary.txt`: the length of the lines, the lines, the table
//! ```
//!
//! Positions are the same as in an archive file, so that a copy that outgrows this form keeps them. Does not know
//! where the bytes are stored.

use super::entry::{RowLine, split_entries};
use super::table::{self, Frame, IndexEntry, KEPT, MAX_FRAME, REPLACED, Table};
use std::sync::LazyLock;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// The form this version writes, and the newest it reads.
pub(super) const VERSION: u8 = 1;
const MAGIC: &[u8; 3] = b"lcp";
const HEAD_LEN: usize = 16;
/// What most copies contain. Part of the form: another dictionary needs another version.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");
/// As in archive files. Level 9 saves a tenth of the smallest copies, and made archiving three times as expensive where
/// copies have a hundred kilobytes.
const COMPRESSION_LEVEL: i32 = 3;

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, COMPRESSION_LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

/// Why stored bytes are not a copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormError {
    Newer(u8),
    Damaged(&'static str),
}

/// Encodes a copy whose lines have not been written anywhere else.
pub(super) fn encode(name: u128, lines: &[u8], table: &Table) -> std::io::Result<Vec<u8>> {
    let mut raw = (lines.len() as u32).to_le_bytes().to_vec();
    raw.extend_from_slice(lines);
    serde_json::to_writer(&mut raw, table)?;
    let body = Compressor::with_prepared_dictionary(&ENCODER)?.compress(&raw)?;
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&body);
    let check = checksum(name, &bytes).to_le_bytes();
    bytes[8..HEAD_LEN].copy_from_slice(&check);
    Ok(bytes)
}

/// The same copy under another name.
pub(super) fn rename(name: u128, mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= HEAD_LEN {
        let check = checksum(name, &bytes).to_le_bytes();
        bytes[8..HEAD_LEN].copy_from_slice(&check);
    }
    bytes
}

/// Covers everything but itself, and the name: bytes under another name are not this copy.
fn checksum(name: u128, bytes: &[u8]) -> u64 {
    let name = name.to_le_bytes();
    table::fnv1a_64_of([&name, &bytes[..8], &bytes[HEAD_LEN..]])
}

/// Whether the bytes are what was written; decompresses nothing.
pub(super) fn verify(name: u128, bytes: &[u8]) -> Result<(), FormError> {
    if bytes.len() < HEAD_LEN || !bytes.starts_with(MAGIC) {
        return Err(FormError::Damaged("it has no header"));
    }
    if checksum(name, bytes) != table::read_u64(&bytes[8..]) {
        return Err(FormError::Damaged("its checksum does not match"));
    }
    if bytes[3] > VERSION { Err(FormError::Newer(bytes[3])) } else { Ok(()) }
}

/// The lines and the table of a copy.
pub(super) fn decode(name: u128, bytes: &[u8]) -> Result<(Vec<u8>, Table), FormError> {
    verify(name, bytes)?;
    let length = table::read_u64(bytes) >> 32;
    if length > MAX_FRAME {
        return Err(FormError::Damaged("it is too large"));
    }
    let unpack = |mut reader: Decompressor<'_>| reader.decompress(&bytes[HEAD_LEN..], length as usize);
    let raw = Decompressor::with_prepared_dictionary(&DECODER).and_then(unpack);
    let mut lines = raw.map_err(|_| FormError::Damaged("it cannot be decompressed"))?;
    let table = split_table(&mut lines).ok_or(FormError::Damaged("its table cannot be parsed"))?;
    Ok((lines, table))
}

/// Cuts the table off the end and the length off the beginning.
fn split_table(raw: &mut Vec<u8>) -> Option<Table> {
    let length = raw.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)?;
    let table: Table = serde_json::from_slice(raw.get(4 + length..)?).ok()?;
    raw.truncate(4 + length);
    raw.drain(..4);
    let frames: u64 = table.frames.iter().map(|frame| frame.raw).sum();
    (frames == length as u64 && table.frames.len() <= 1).then_some(table)
}

/// The frames of a table in this form: all lines are one.
pub(super) fn frames_of(lines: &[u8], entries: u32) -> Vec<Frame> {
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Frame { packed: 0, raw: lines.len() as u64, entries, check: 0 }]
}

/// The index, which an archive file stores and this form derives from its lines. None: a line cannot be parsed.
pub(super) fn index_of(lines: &[u8], dead: &[u64], kept: &[u64]) -> Option<Vec<IndexEntry>> {
    let entry = |(at, head, record): (u64, &[u8], &[u8])| {
        let row: RowLine<'_> = serde_json::from_slice(head).ok()?;
        let ordinal = match () {
            () if dead.binary_search(&at).is_ok() => REPLACED,
            () if kept.binary_search(&at).is_ok() => KEPT,
            () => row.ordinal,
        };
        let length = (head.len() + record.len() + 2) as u32;
        Some(IndexEntry { ordinal, length, fingerprint: table::fnv1a_64_of([head, b"\n"]) })
    };
    split_entries(lines).map(entry).collect()
}
