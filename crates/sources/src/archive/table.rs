//! The layout of an archive file: a start marker, frames of compressed lines, an index, a table and a trailer
//! of fixed size with the position of the table. Each has a checksum, so that damage can be located.
//!
//! ```text
//! start     24 bytes: a word, the format's version, their checksum
//! frames    Zstandard, each with about 256 KB of lines: a row, its record, a row, its record, …
//! index     Zstandard: ordinal, length and fingerprint of every entry, read only to continue the file
//! table     Zstandard: JSON, what `Table` holds
//! trailer   48 bytes
//! ```
//!
//! A position is an offset in the decompressed lines of all frames: it stays valid when the file is
//! continued. Does not know the content of an entry.

use super::entry::{CoverageLine, SessionLine};
use super::io_error;
use crate::{Error, SurveyOutcome, Transcript};
use os::files::FileExt;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The format this version writes, and the newest it reads.
pub const VERSION: u32 = 1;
pub(super) const START_LEN: usize = 24;
pub(super) const TRAILER_LEN: usize = 48;
pub(super) const START_MAGIC: &[u8; 12] = b"loci-archive";
const END_MAGIC: &[u8; 8] = b"loci.end";
/// No frame is larger decompressed: two of the longest lines, with a margin for what escaping adds.
pub(super) const MAX_FRAME: u64 = 1 << 30;

/// Where a transcript was when it was archived.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) source: String,
    pub(super) path: Bytes,
    #[serde(default)]
    pub(super) part: Option<String>,
    pub(super) hint: String,
    pub(super) group: Bytes,
    pub(super) size: u64,
    /// With the size: the state of the transcript that was archived. A reader that finds something else in the same bytes
    /// replaces entries; in other bytes, the transcript has lost them.
    #[serde(default)]
    changed: [i64; 3],
    /// The device that wrote the transcript. None: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    /// The key hash of a fixed word. If today's hash of it differs, no key of a row read today can equal an
    /// archived one.
    keys: u64,
}

/// A path: text if it is valid UTF-8, bytes otherwise.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Bytes {
        match path.to_str() {
            Some(text) => Bytes::Text(text.to_string()),
            None => Bytes::Raw(path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }
}

impl From<Bytes> for PathBuf {
    fn from(bytes: Bytes) -> PathBuf {
        match bytes {
            Bytes::Text(text) => PathBuf::from(text),
            Bytes::Raw(bytes) => os::files::path_from_bytes(bytes),
        }
    }
}

fn current_key_probe() -> u64 {
    record::event_key(b'k', &[b"loci", b"archive"])
}

impl Header {
    pub(super) fn original(&self) -> PathBuf {
        match &self.path {
            Bytes::Text(text) => PathBuf::from(text),
            Bytes::Raw(bytes) => os::files::path_from_bytes(bytes.clone()),
        }
    }

    /// The name of the transcript, whichever device has it.
    pub(super) fn transcript_name(&self) -> u128 {
        let part = self.part.as_ref().map_or(&b"\0"[..], |part| part.as_bytes());
        let original = self.original();
        fnv1a_128(&[self.source.as_bytes(), b"\0", original.as_os_str().as_encoded_bytes(), b"\0", part])
    }

    pub(super) fn new(source: &str, of: &Transcript) -> Header {
        Header {
            source: source.to_string(),
            path: Bytes::from(of.path.as_path()),
            part: of.part.clone(),
            hint: of.hint.to_string(),
            group: Bytes::from(&*of.group),
            size: of.size,
            changed: [of.file_stamp.changed, of.file_stamp.inode_changed, of.file_stamp.inode as i64],
            origin: None,
            keys: current_key_probe(),
        }
    }

    /// Whether both describe the same bytes of the transcript.
    pub(super) fn has_bytes_of(&self, other: &Header) -> bool {
        (self.size, self.changed) == (other.size, other.changed) && self.changed != [0; 3]
    }

    pub(super) fn keys_match(&self) -> bool {
        self.keys == current_key_probe()
    }
}

/// The result of a survey besides its rows.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredOutcome {
    pub(super) sessions: Vec<SessionLine>,
    #[serde(default)]
    pub(super) birth: Option<i64>,
    #[serde(default)]
    pub(super) abandoned: Vec<u32>,
    #[serde(default)]
    pub(super) coverage: Vec<CoverageLine>,
}

impl From<&SurveyOutcome> for StoredOutcome {
    fn from(facts: &SurveyOutcome) -> StoredOutcome {
        StoredOutcome {
            sessions: facts.sessions.iter().map(SessionLine::from).collect(),
            birth: facts.birth.map(|at| at.0),
            abandoned: facts.abandoned.clone(),
            coverage: facts.coverage.iter().map(|(v, c)| CoverageLine::new(v, c)).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Table {
    #[serde(flatten)]
    pub(super) header: Header,
    #[serde(flatten)]
    pub(super) closing: StoredOutcome,
    /// Entries that count: replaced ones are excluded.
    pub(super) entries: u32,
    /// Positions of entries that were replaced or removed, ascending.
    #[serde(default)]
    pub(super) dead: Vec<u64>,
    /// Positions of entries that the transcript no longer has, ascending. They count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kept: Vec<u64>,
    /// In what was appended: the content of entries before it that no longer count, see [`super::unite::Content`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) dropped: Vec<u64>,
    pub(super) frames: Vec<Frame>,
    pub(super) index: Frame,
}

/// Frames are contiguous, so their lengths determine their positions.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) packed: u64,
    pub(super) raw: u64,
    pub(super) entries: u32,
    /// FNV-1a of the compressed bytes.
    pub(super) check: u64,
}

/// Where a frame begins, compressed and decompressed.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) packed: u64,
    pub(super) raw: u64,
    pub(super) frame: Frame,
}

/// The index entry of one archived entry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct IndexEntry {
    /// `REPLACED` if it was replaced or removed, `KEPT` if the transcript no longer has it.
    pub(super) ordinal: u32,
    pub(super) length: u32,
    /// FNV-1a of its row's line.
    pub(super) fingerprint: u64,
}

pub(super) const REPLACED: u32 = u32::MAX;
pub(super) const KEPT: u32 = u32::MAX - 1;

impl IndexEntry {
    pub(super) const SIZE: usize = 16;

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ordinal.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.fingerprint.to_le_bytes());
    }

    pub(super) fn decode(bytes: &[u8]) -> IndexEntry {
        IndexEntry {
            ordinal: read_u64(bytes) as u32,
            length: (read_u64(bytes) >> 32) as u32,
            fingerprint: read_u64(&bytes[8..]),
        }
    }
}

/// Exactly `N` bytes; None if the file is shorter.
pub(super) fn read_array<const N: usize>(
    file: &File,
    path: &Path,
    at: u64,
) -> Result<Option<[u8; N]>, Error> {
    let mut bytes = [0; N];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(io_error(path)(e)),
    }
}

/// Where each frame and the index begin, if together they reach exactly to the table.
pub(super) fn frame_spans(table: &Table, end: u64) -> Option<(Vec<Span>, Span)> {
    let (mut packed, mut raw, mut spans) =
        (START_LEN as u64, 0u64, Vec::with_capacity(table.frames.len() + 1));
    for frame in table.frames.iter().chain([&table.index]) {
        spans.push(Span { packed, raw, frame: *frame });
        packed = packed.checked_add(frame.packed)?;
        raw = raw.checked_add(frame.raw)?;
    }
    let index = spans.pop()?;
    (packed == end).then_some((spans, index))
}

pub(super) fn read_packed(file: &File, path: &Path, span: Span) -> Result<Vec<u8>, Error> {
    let damaged = |what| Error::Damaged { path: path.to_path_buf(), what };
    if span.frame.packed > MAX_FRAME || span.frame.raw > MAX_FRAME {
        return Err(damaged("a frame is too large"));
    }
    let mut bytes = vec![0; span.frame.packed as usize];
    file.read_exact_at(&mut bytes, span.packed).map_err(io_error(path))?;
    if fnv1a_64(&bytes) != span.frame.check {
        return Err(damaged("the checksum of a frame does not match"));
    }
    Ok(bytes)
}

pub(super) fn unpack_span(file: &File, path: &Path, span: Span) -> Result<Vec<u8>, Error> {
    let bytes = read_packed(file, path, span)?;
    // The checksum is intact: whoever wrote it has written no frame. Not an error of the disk, which would pass.
    let damaged = |_| Error::Damaged { path: path.to_path_buf(), what: "a frame cannot be decompressed" };
    let raw = zstd::bulk::decompress(&bytes, span.frame.raw as usize).map_err(damaged)?;
    if raw.len() as u64 != span.frame.raw {
        return Err(Error::Damaged {
            path: path.to_path_buf(),
            what: "the length of a frame does not match",
        });
    }
    Ok(raw)
}

// ---- start and trailer

pub(super) fn encode_start() -> Vec<u8> {
    let mut bytes = START_MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&fnv1a_64(&bytes).to_le_bytes());
    bytes
}

/// Checks that this version can read a file that begins so; if not, returns the version that can.
pub(super) fn check_version(start: &[u8; START_LEN]) -> Result<(), Option<u32>> {
    let version = read_u64(&start[12..]) as u32;
    if !start.starts_with(START_MAGIC) || fnv1a_64(&start[..16]) != read_u64(&start[16..]) || version == 0 {
        return Err(None);
    }
    if version > VERSION { Err(Some(version)) } else { Ok(()) }
}

/// `at` is the position of the table.
pub(super) fn encode_trailer(at: u64, table: &Frame) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TRAILER_LEN);
    for n in [at, table.packed, table.raw, table.check] {
        bytes.extend_from_slice(&n.to_le_bytes());
    }
    bytes.extend_from_slice(END_MAGIC);
    bytes.extend_from_slice(&fnv1a_64(&bytes).to_le_bytes());
    bytes
}

pub(super) fn decode_trailer(trailer: &[u8; TRAILER_LEN]) -> Option<(u64, Frame)> {
    let whole = fnv1a_64(&trailer[..40]) == read_u64(&trailer[40..]) && &trailer[32..40] == END_MAGIC;
    let frame = Frame {
        packed: read_u64(&trailer[8..]),
        raw: read_u64(&trailer[16..]),
        entries: 0,
        check: read_u64(&trailer[24..]),
    };
    whole.then_some((read_u64(trailer), frame))
}

pub(super) fn read_u64(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(eight)
}

// ---- hashes that never change

/// FNV-1a. Each byte changes the state reversibly, so one wrong byte is always detected.
pub(super) fn fnv1a_64(bytes: &[u8]) -> u64 {
    fnv1a_64_of([bytes])
}

/// The same over several pieces.
pub(super) fn fnv1a_64_of<const N: usize>(pieces: [&[u8]; N]) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    pieces.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The same with 128 bits, over several pieces: for names that must not collide by accident.
pub(super) fn fnv1a_128(pieces: &[&[u8]]) -> u128 {
    let start = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let step = |h: u128, b: &u8| (h ^ u128::from(*b)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    pieces.iter().flat_map(|piece| piece.iter()).fold(start, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        // The test values of the FNV authors for "" and "a".
        assert_eq!((fnv1a_64(b""), fnv1a_64(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
        assert_eq!(fnv1a_128(&[b"a"]), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv1a_128(&[b"ab", b"c"]), fnv1a_128(&[b"abc"]));
    }

    #[test]
    fn start_and_trailer_are_read_back_and_any_wrong_byte_is_detected() {
        let start: [u8; START_LEN] = encode_start().try_into().unwrap();
        assert_eq!(check_version(&start), Ok(()));
        let frame = Frame { packed: 7, raw: 9, entries: 0, check: 11 };
        let trailer: [u8; TRAILER_LEN] = encode_trailer(5, &frame).try_into().unwrap();
        let found = decode_trailer(&trailer).unwrap();
        assert_eq!((found.0, found.1.packed, found.1.raw, found.1.check), (5, 7, 9, 11));
        for at in 0..START_LEN {
            let mut other = start;
            other[at] ^= 1;
            assert_eq!(check_version(&other), Err(None));
        }
        for at in 0..TRAILER_LEN {
            let mut other = trailer;
            other[at] ^= 0x80;
            assert!(decode_trailer(&other).is_none());
        }
    }

    #[test]
    fn a_newer_format_is_recognised_by_its_number() {
        let mut start = encode_start();
        start[12] = 9;
        let check = fnv1a_64(&start[..16]).to_le_bytes();
        start[16..].copy_from_slice(&check);
        assert_eq!(check_version(&start.try_into().unwrap()), Err(Some(9)));
    }
}
