//! Reads rollouts compressed with Zstandard as if they were plain: offsets refer to the decompressed text.
//!
//! A compressed file cannot be entered in the middle, so a reader moves forward, keeps the last stretch, and
//! restarts only for an earlier offset. Does not know the content of a line.

use crate::lines::MAX_LINE;
use crate::{Error, Transcript, line_reader};
use memchr::memchr;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

pub(super) type Decoder = zstd::stream::read::Decoder<'static, BufReader<File>>;

const READ_SIZE: usize = 256 * 1024;
/// A call and its result are mostly closer to each other than this.
const WINDOW_SIZE: usize = 8 * 1024 * 1024;
/// How many files one thread keeps open.
const MAX_OPEN_FILES: usize = 2;

pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zst")
}

pub(super) fn open_decoder(path: &Path) -> Result<Decoder, Error> {
    let file = line_reader::open_regular(path)?;
    Decoder::new(file).map_err(|error| Error::Io { path: path.to_path_buf(), error })
}

/// The last decompressed stretch of a file.
struct Window {
    path: PathBuf,
    size: u64,
    from: Decoder,
    start: u64,
    bytes: Vec<u8>,
}

thread_local! {
    static OPEN: RefCell<Vec<Window>> = const { RefCell::new(Vec::new()) };
}

/// The line that starts at `offset` of the decompressed text, without its end.
pub(super) fn read_line_at(transcript: &Transcript, offset: u64) -> Result<Vec<u8>, Error> {
    OPEN.with_borrow_mut(|open| {
        let known = open.iter().position(|w| w.path == transcript.path && w.size == transcript.size);
        let window = known.map(|at| open.remove(at)).filter(|w| w.start <= offset);
        let mut window = match window {
            Some(window) => window,
            None => Window::open(transcript)?,
        };
        let line = window.read_line(offset);
        if line.is_ok() {
            open.truncate(MAX_OPEN_FILES - 1);
            open.insert(0, window);
        }
        let path = transcript.path.clone();
        line.map_err(|error| Error::Io { path: path.clone(), error })?.ok_or(Error::Moved {
            path,
            what: "line",
            place: offset,
        })
    })
}

impl Window {
    fn open(transcript: &Transcript) -> Result<Window, Error> {
        let from = open_decoder(&transcript.path)?;
        Ok(Window { path: transcript.path.clone(), size: transcript.size, from, start: 0, bytes: Vec::new() })
    }

    /// None if the file ends before `offset` or the line is too long.
    fn read_line(&mut self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            self.discard_before(offset);
            let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
            if let Some(rest) = self.bytes.get(at..) {
                if let Some(end) = memchr(b'\n', &rest[searched..]) {
                    return Ok(Some(rest[..searched + end].to_vec()));
                }
                searched = rest.len();
            }
            let ended = self.decompress_more()? == 0;
            if ended || searched > MAX_LINE {
                return Ok(self.bytes.get(at..).filter(|r| ended && !r.is_empty()).map(<[u8]>::to_vec));
            }
        }
    }

    fn decompress_more(&mut self) -> io::Result<usize> {
        let filled = self.bytes.len();
        self.bytes.resize(filled + READ_SIZE, 0);
        let read = self.from.read(&mut self.bytes[filled..]);
        self.bytes.truncate(filled + *read.as_ref().unwrap_or(&0));
        read
    }

    /// Drops bytes far enough before `offset`.
    fn discard_before(&mut self, offset: u64) {
        let spare = self.bytes.len().saturating_sub(WINDOW_SIZE + READ_SIZE);
        let before = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let cut = spare.min(before);
        if cut > READ_SIZE {
            self.bytes.drain(..cut);
            self.start += cut as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_forward_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout-x.jsonl.zst");
        let mut text = Vec::new();
        let mut places = Vec::new();
        for n in 0..3000 {
            places.push(text.len() as u64);
            text.extend_from_slice(format!("{n} {}\n", "x".repeat(n * 7 % 20_000)).as_bytes());
        }
        std::fs::write(&path, zstd::encode_all(&text[..], 1).unwrap()).unwrap();
        let (part, hint, group) = (None, String::new(), PathBuf::new());
        let transcript = Transcript {
            source: 0,
            path,
            part,
            size: 1,
            file_stamp: crate::FileStamp::default(),
            hint: hint.into(),
            group: group.into(),
        };
        for n in (0..3000).step_by(97).chain([2999, 5, 0, 1500, 1499]) {
            let line = read_line_at(&transcript, places[n]).unwrap();
            assert_eq!(line, format!("{n} {}", "x".repeat(n * 7 % 20_000)).into_bytes());
        }
        assert!(matches!(read_line_at(&transcript, text.len() as u64 + 9), Err(Error::Moved { .. })));
    }
}
