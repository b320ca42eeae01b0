//! Reads a transcript with one record per line: splits the lines, passes each to the source that understands
//! it, and turns a damaged line into salvaged records and a counted problem.
//!
//! Does not know the content of a record.

use crate::json::JsonResult;
use crate::lines::{Lines, NextPiece};
use crate::salvage::salvage_records;
use crate::{Error, Survey};
use memchr::memchr;
use record::ProblemKind;
use std::io::Read;
use std::path::Path;

/// A source's parser for one transcript.
pub trait LineParser<'a> {
    fn survey_mut(&mut self) -> &mut Survey<'a>;
    /// Parses the record at `start` of `bytes` and counts its line; returns where the line ends. `base` is
    /// the offset of `bytes` in the file. On an error nothing was added or counted.
    fn parse_line(&mut self, bytes: &[u8], start: usize, base: u64) -> JsonResult<usize>;
    /// Whether a complete JSON object, found inside a damaged line, is a record and not an inner value.
    fn is_record(&self, object: &[u8]) -> bool;
}

/// Reads `from` to its end. Records parsed before an I/O error are kept.
pub fn read_lines<'a>(reader: &mut impl LineParser<'a>, from: impl Read, path: &Path) -> Result<(), Error> {
    read_lines_from(reader, from, path, 0)
}

/// Reads `from` to its end; `from` begins at the offset `start` of the file.
pub fn read_lines_from<'a>(
    reader: &mut impl LineParser<'a>,
    from: impl Read,
    path: &Path,
    start: u64,
) -> Result<(), Error> {
    let mut lines = Lines::new(from).starting_at(start);
    loop {
        match lines.next_piece().map_err(|error| Error::Io { path: path.to_path_buf(), error })? {
            NextPiece::End => return Ok(()),
            NextPiece::TooLong(at, length) => {
                reader.survey_mut().coverage_mut().lines += 1;
                reader.survey_mut().coverage_mut().bytes += length;
                reader.survey_mut().report_problem(ProblemKind::LineTooLong, at, &format!("{length} bytes"));
            }
            NextPiece::Piece(piece) => {
                reader.survey_mut().coverage_mut().bytes += piece.bytes.len() as u64;
                read_piece(reader, piece.offset, piece.bytes, piece.open);
            }
        }
    }
}

fn read_piece<'a>(reader: &mut impl LineParser<'a>, base: u64, bytes: &[u8], open: bool) {
    let mut at = if base == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while at < bytes.len() {
        let start = at;
        let end = reader.parse_line(bytes, start, base).unwrap_or_else(|_| {
            let end = line_end(bytes, start);
            read_damaged(reader, base + start as u64, &bytes[start..end], open && end == bytes.len());
            end
        });
        at = end + 1;
    }
}

/// The end of the line that contains `from`.
pub fn line_end(bytes: &[u8], from: usize) -> usize {
    let from = from.min(bytes.len());
    memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |n| from + n)
}

fn read_damaged<'a, R: LineParser<'a>>(reader: &mut R, offset: u64, line: &[u8], unfinished: bool) {
    if line.iter().all(u8::is_ascii_whitespace) {
        reader.survey_mut().coverage_mut().lines += 1;
        reader.survey_mut().coverage_mut().blank += 1;
        return;
    }
    let saved = salvage_records(line, |object| reader.is_record(object));
    let used =
        saved.iter().filter(|(from, to)| reader.parse_line(&line[..*to], *from, offset).is_ok()).count();
    let kind = if unfinished { ProblemKind::Unfinished } else { ProblemKind::BadLine };
    // Counted last and together: a salvaged record may be of another version than the previous line.
    reader.survey_mut().coverage_mut().lines += 1;
    reader.survey_mut().report_problem(
        kind,
        offset,
        &format!("{} bytes, {used} records salvaged", line.len()),
    );
    if used > 0 {
        reader.survey_mut().report_problem(ProblemKind::Salvaged, offset, &format!("{used} records"));
    }
}
