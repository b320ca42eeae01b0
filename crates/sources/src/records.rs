//! Walks a transcript of one record per line: cuts the lines, hands each to the source that understands it, and
//! turns a damaged one into what can be saved of it and a problem that is counted.
//!
//! Does not know what a record says.

use crate::json::Look;
use crate::lines::{Lines, Next};
use crate::salvage::salvage;
use crate::{Error, Survey};
use memchr::memchr;
use record::ProblemKind;
use std::io::Read;
use std::path::Path;

/// A source in the middle of one transcript.
pub(crate) trait Reader<'a> {
    fn survey(&mut self) -> &mut Survey<'a>;
    /// Takes in the record at `start` of `bytes` and counts its line; gives back where the line ends. `base` is
    /// the offset of `bytes` in the file. Broken: nothing was taken in or counted.
    fn take(&mut self, bytes: &[u8], start: usize, base: u64) -> Look<usize>;
    /// Whether a whole JSON object, found inside a damaged line, is a record and not some inner value.
    fn is_record(object: &[u8]) -> bool;
}

/// Reads everything `from` holds. What the reader was told before an error of the disk stays told.
pub(crate) fn read<'a>(reader: &mut impl Reader<'a>, from: impl Read, path: &Path) -> Result<(), Error> {
    read_on(reader, from, path, 0)
}

/// The same from the middle: `from` begins at the offset `start`.
pub(crate) fn read_on<'a>(
    reader: &mut impl Reader<'a>,
    from: impl Read,
    path: &Path,
    start: u64,
) -> Result<(), Error> {
    let mut lines = Lines::new(from).starting(start);
    loop {
        match lines.read_on().map_err(|error| Error::Io { path: path.to_path_buf(), error })? {
            Next::End => return Ok(()),
            Next::TooLong(at, length) => {
                reader.survey().coverage().lines += 1;
                reader.survey().coverage().bytes += length;
                reader.survey().problem(ProblemKind::LineTooLong, at, &format!("{length} bytes"));
            }
            Next::Piece(piece) => {
                reader.survey().coverage().bytes += piece.bytes.len() as u64;
                read_piece(reader, piece.offset, piece.bytes, piece.open);
            }
        }
    }
}

fn read_piece<'a>(reader: &mut impl Reader<'a>, base: u64, bytes: &[u8], open: bool) {
    let mut at = if base == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while at < bytes.len() {
        let start = at;
        let end = reader.take(bytes, start, base).unwrap_or_else(|_| {
            let end = line_end(bytes, start);
            read_damaged(reader, base + start as u64, &bytes[start..end], open && end == bytes.len());
            end
        });
        at = end + 1;
    }
}

/// Where the line ends that `from` lies in.
pub(crate) fn line_end(bytes: &[u8], from: usize) -> usize {
    let from = from.min(bytes.len());
    memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |n| from + n)
}

fn read_damaged<'a, R: Reader<'a>>(reader: &mut R, offset: u64, line: &[u8], unfinished: bool) {
    if line.iter().all(u8::is_ascii_whitespace) {
        reader.survey().coverage().lines += 1;
        reader.survey().coverage().blank += 1;
        return;
    }
    let saved = salvage(line, R::is_record);
    let used = saved.iter().filter(|(from, to)| reader.take(&line[..*to], *from, offset).is_ok()).count();
    let kind = if unfinished { ProblemKind::Unfinished } else { ProblemKind::BadLine };
    // Counted last and together: a record that was saved may be of another version than the one before it.
    reader.survey().coverage().lines += 1;
    reader.survey().problem(kind, offset, &format!("{} bytes, {used} records saved", line.len()));
    if used > 0 {
        reader.survey().problem(ProblemKind::Salvaged, offset, &format!("{used} records"));
    }
}
