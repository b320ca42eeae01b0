//! Reads one line again from the offset where a survey saw it, through a window on its file: consecutive
//! fetches mostly read neighbouring records.
//!
//! Does not know the content of the line; the caller checks that it is still the same record.

use crate::Error;
use crate::lines::{MAX_LINE, grow_buffer};
use memchr::memchr;
use os::files::FileExt;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Opens a regular file for reading, and nothing else: opening a FIFO would block until it has a writer.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    let fail = |error| Error::Io { path: path.to_path_buf(), error };
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        return Err(fail(std::io::Error::other("not a regular file")));
    }
    File::open(path).map_err(fail)
}

/// Opens a regular file and seeks to an offset.
pub fn open_at(path: &Path, offset: u64) -> Result<File, Error> {
    let mut file = open_regular(path)?;
    let moved = file.seek(SeekFrom::Start(offset));
    moved.map_err(|error| Error::Io { path: path.to_path_buf(), error })?;
    Ok(file)
}

/// How much is read at once: a call and its result are seldom further apart.
const WINDOW_SIZE: usize = 64 * 1024;
/// Files a thread keeps open, each with its window: 2 MB.
const MAX_OPEN_FILES: usize = 32;

thread_local! {
    static OPEN: RefCell<Vec<Window>> = const { RefCell::new(Vec::new()) };
}

struct Window {
    path: PathBuf,
    file: File,
    start: u64,
    filled: usize,
    bytes: Vec<u8>,
}

/// Passes the line that starts at `offset`, without its line end, to `use_line`.
pub fn with_line<T>(path: &Path, offset: u64, use_line: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
    OPEN.with_borrow_mut(|open| {
        // Compared as bytes: comparing paths component by component costs a tenth of a whole query.
        let at = open.iter().rposition(|window| window.path.as_os_str() == path.as_os_str());
        let mut window = if let Some(at) = at {
            open.remove(at)
        } else {
            // The least recently used window gives its buffer to the new one.
            let bytes = if open.len() == MAX_OPEN_FILES { open.remove(0).bytes } else { Vec::new() };
            Window { path: path.to_path_buf(), file: self::open_regular(path)?, start: 0, filled: 0, bytes }
        };
        let found = window.line_at(offset).map(use_line);
        if window.bytes.len() > 8 * WINDOW_SIZE {
            window.bytes = Vec::new();
            window.filled = 0;
        }
        open.push(window);
        found
    })
}

/// A copy of the line that starts at `offset`.
pub fn read_line_at(path: &Path, offset: u64) -> Result<Vec<u8>, Error> {
    with_line(path, offset, <[u8]>::to_vec)
}

impl Window {
    fn line_at(&mut self, offset: u64) -> Result<&[u8], Error> {
        let inside = offset >= self.start && offset < self.start + self.filled as u64;
        if !inside {
            (self.start, self.filled) = (offset, 0);
        }
        let mut from = (offset - self.start) as usize;
        let mut searched = from;
        loop {
            if let Some(end) = memchr(b'\n', &self.bytes[searched..self.filled]) {
                return Ok(&self.bytes[from..searched + end]);
            }
            if from > 0 {
                self.bytes.copy_within(from..self.filled, 0);
                self.filled -= from;
                self.start = offset;
                from = 0;
            }
            searched = self.filled;
            if !self.fill_buffer()? {
                return Ok(&self.bytes[..self.filled]);
            }
        }
    }

    /// Reads more bytes into the buffer. False at the end of the file.
    fn fill_buffer(&mut self) -> Result<bool, Error> {
        if self.filled == self.bytes.len() {
            if self.filled > MAX_LINE {
                return Err(Error::Moved { path: self.path.clone(), what: "line end", place: self.start });
            }
            if self.bytes.is_empty() {
                self.bytes.resize(WINDOW_SIZE, 0);
            } else {
                grow_buffer(&mut self.bytes, MAX_LINE + WINDOW_SIZE);
            }
        }
        loop {
            match self.file.read_at(&mut self.bytes[self.filled..], self.start + self.filled as u64) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io { path: self.path.clone(), error }),
                Ok(n) => {
                    self.filled += n;
                    return Ok(n > 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_line_is_found_at_its_offset_in_any_order() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<String> =
            (0..400).map(|n: usize| format!("{n}:{}", "x".repeat(n * n % 3000))).collect();
        let long = "y".repeat(3 * WINDOW_SIZE);
        let mut offsets = Vec::new();
        let mut at = 0;
        for line in lines.iter().chain([&long]) {
            offsets.push(at);
            writeln!(file, "{line}").unwrap();
            at += line.len() as u64 + 1;
        }
        let all: Vec<&String> = lines.iter().chain([&long]).collect();
        for n in (0..all.len()).rev().chain(0..all.len()).chain([400, 3, 400, 0]) {
            assert_eq!(read_line_at(file.path(), offsets[n]).unwrap(), all[n].as_bytes(), "line {n}");
        }
        assert_eq!(read_line_at(file.path(), at + 5).unwrap(), b"");
    }

    #[test]
    fn a_line_that_grew_since_is_read_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "half").unwrap();
        assert_eq!(read_line_at(file.path(), 0).unwrap(), b"half");
        writeln!(file, " a line").unwrap();
        assert_eq!(read_line_at(file.path(), 0).unwrap(), b"half a line");
    }
}
