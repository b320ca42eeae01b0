//! An open copy: a file with its table, or a small copy that was read in one piece. Both have frames of lines and an
//! index.
//!
//! Does not know what is in a line.

use super::io_error;
use super::packed::{self, PackedCopy};
use super::packed_form::{self, FormError};
use super::table::{
    IndexEntry, START_LEN, Span, TRAILER_LEN, Table, check_version, decode_trailer, frame_spans, read_array,
    read_packed, unpack_span,
};
use crate::{Error, FileStamp, line_reader};
use std::fs::File;
use std::path::{Path, PathBuf};

/// An open copy whose table is intact.
pub(super) struct Archive {
    pub(super) path: PathBuf,
    content: Content,
    /// Identity and time of the file or row.
    pub(super) stamp: FileStamp,
    pub(super) length: u64,
    pub(super) table: Table,
    pub(super) spans: Vec<Span>,
    index: Span,
}

/// Where the frames are.
enum Content {
    File(File),
    /// A small copy is read in one piece.
    Lines(Vec<u8>),
}

impl Archive {
    /// Opens the copy at a path of the archive: a file or, if there is none, a row of the database. If there are
    /// both, the file is newer: a copy becomes a file before its row is removed.
    pub(super) fn open(path: &Path) -> Result<Archive, Error> {
        match Archive::open_file(path) {
            Err(error) if is_missing(&error) => {
                match packed::find(&super::packed_path(path), super::name_from_path(path))? {
                    Some(copy) => Archive::from_row(path, &copy),
                    None => Err(error),
                }
            }
            opened => opened,
        }
    }

    pub(super) fn open_file(path: &Path) -> Result<Archive, Error> {
        let file = line_reader::open_regular(path)?;
        let meta = file.metadata().map_err(io_error(path))?;
        let (length, stamp) = (meta.len(), FileStamp::from_metadata(&meta));
        let damaged = |what| Error::Damaged { path: path.to_path_buf(), what };
        let start: [u8; START_LEN] = read_array(&file, path, 0)?.ok_or_else(|| damaged("it is truncated"))?;
        check_version(&start).map_err(|version| match version {
            Some(version) => Error::Newer { path: path.to_path_buf(), version, supported: super::VERSION },
            None => damaged("it has no archive header"),
        })?;
        let at = length.saturating_sub(TRAILER_LEN as u64);
        let trailer: [u8; TRAILER_LEN] =
            read_array(&file, path, at)?.ok_or_else(|| damaged("it is truncated"))?;
        let (packed, frame) = decode_trailer(&trailer)
            .filter(|(start, f)| start.checked_add(f.packed) == Some(at))
            .ok_or_else(|| damaged("it has no archive trailer: it was truncated or overwritten"))?;
        let bytes = unpack_span(&file, path, Span { packed, raw: 0, frame })?;
        let table: Table =
            serde_json::from_slice(&bytes).map_err(|_| damaged("its table cannot be parsed"))?;
        let (spans, index) =
            frame_spans(&table, packed).ok_or_else(|| damaged("its table is inconsistent"))?;
        let content = Content::File(file);
        Ok(Archive { path: path.to_path_buf(), content, stamp, length, table, spans, index })
    }

    /// Opens a small copy.
    pub(super) fn from_row(path: &Path, copy: &PackedCopy) -> Result<Archive, Error> {
        let (lines, table) = packed_form::decode(copy.name, &copy.content).map_err(|error| match error {
            FormError::Newer(version) => {
                Error::Newer { path: path.to_path_buf(), version: version.into(), supported: super::VERSION }
            }
            FormError::Damaged(what) => Error::Damaged { path: path.to_path_buf(), what },
        })?;
        let spans = table.frames.iter().map(|frame| Span { packed: 0, raw: 0, frame: *frame }).collect();
        let index = Span { packed: 0, raw: 0, frame: table.index };
        let (content, stamp) = (Content::Lines(lines), copy.version.stamp());
        let length = copy.version.length;
        Ok(Archive { path: path.to_path_buf(), content, stamp, length, table, spans, index })
    }

    /// The lines of a small copy. None: it is a file.
    pub(super) fn lines(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Lines(lines) => Some(lines),
            Content::File(_) => None,
        }
    }

    pub(super) fn unpack_frame(&self, n: usize) -> Result<Vec<u8>, Error> {
        match &self.content {
            Content::File(file) => unpack_span(file, &self.path, self.spans[n]),
            Content::Lines(lines) => Ok(lines.clone()),
        }
    }

    /// The compressed bytes of a frame of a file.
    pub(super) fn read_frame(&self, n: usize) -> Result<Vec<u8>, Error> {
        match &self.content {
            Content::File(file) => read_packed(file, &self.path, self.spans[n]),
            Content::Lines(_) => Err(Error::Damaged { path: self.path.clone(), what: "it has no frames" }),
        }
    }

    /// The frame that contains a position.
    pub(super) fn frame_at(&self, place: u64) -> Option<usize> {
        let n = self.spans.partition_point(|span| span.raw <= place).checked_sub(1)?;
        (place < self.spans[n].raw + self.spans[n].frame.raw).then_some(n)
    }

    pub(super) fn raw_length(&self) -> u64 {
        self.spans.last().map_or(0, |span| span.raw + span.frame.raw)
    }

    pub(super) fn is_replaced(&self, place: u64) -> bool {
        self.table.dead.binary_search(&place).is_ok()
    }

    /// Whether the transcript no longer has the entry.
    pub(super) fn is_kept(&self, place: u64) -> bool {
        self.table.kept.binary_search(&place).is_ok()
    }

    /// How many entries of a frame still count.
    pub(super) fn live_entries(&self, n: usize) -> u32 {
        let Span { raw, frame, .. } = self.spans[n];
        let dead = &self.table.dead;
        let here = dead.partition_point(|p| *p < raw + frame.raw) - dead.partition_point(|p| *p < raw);
        frame.entries.saturating_sub(here as u32)
    }

    /// Every entry in the order of the file, including replaced ones.
    pub(super) fn read_index(&self) -> Result<Vec<IndexEntry>, Error> {
        let marks = self.unpack_index()?;
        let entries: u64 = self.spans.iter().map(|span| u64::from(span.frame.entries)).sum();
        let length: u64 = marks.iter().map(|mark| u64::from(mark.length)).sum();
        if (marks.len() as u64, length) != (entries, self.raw_length()) {
            return Err(Error::Damaged { path: self.path.clone(), what: "its index is inconsistent" });
        }
        Ok(marks)
    }

    fn unpack_index(&self) -> Result<Vec<IndexEntry>, Error> {
        let damaged = || Error::Damaged { path: self.path.clone(), what: "its lines cannot be parsed" };
        match &self.content {
            Content::File(file) => {
                let bytes = unpack_span(file, &self.path, self.index)?;
                Ok(bytes.chunks_exact(IndexEntry::SIZE).map(IndexEntry::decode).collect())
            }
            Content::Lines(lines) => {
                packed_form::index_of(lines, &self.table.dead, &self.table.kept).ok_or_else(damaged)
            }
        }
    }
}

/// Whether there is no such file.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound)
}
