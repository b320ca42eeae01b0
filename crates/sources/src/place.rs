//! Reads one line again from the place where a survey saw it.
//!
//! Does not know what the line says; the caller checks that it is still the one it was.

use crate::{Error, lines::LONGEST};
use memchr::memchr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Opens a regular file for reading, and nothing else: opening a FIFO would wait for its writer.
pub fn open(path: &Path) -> Result<File, Error> {
    let fail = |error| Error::Io { path: path.to_path_buf(), error };
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        return Err(fail(std::io::Error::other("not a regular file")));
    }
    File::open(path).map_err(fail)
}

/// The line that starts at `offset`, without its end.
pub fn line_at(file: &File, path: &Path, offset: u64) -> Result<Vec<u8>, Error> {
    let mut line = vec![0; 16 * 1024];
    let mut filled = 0;
    loop {
        let n = match file.read_at(&mut line[filled..], offset + filled as u64) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.map_err(|error| Error::Io { path: path.to_path_buf(), error })?,
        };
        let end = memchr(b'\n', &line[filled..filled + n]).map(|end| filled + end);
        filled += n;
        if let Some(end) = end {
            line.truncate(end);
            return Ok(line);
        }
        if n == 0 {
            line.truncate(filled);
            return Ok(line);
        }
        if filled == line.len() {
            if filled >= LONGEST {
                return Err(Error::Moved { path: path.to_path_buf(), what: "line end", place: offset });
            }
            line.resize(filled * 4, 0);
        }
    }
}

thread_local! {
    /// Consecutive records mostly come from the same few files.
    static OPEN: std::cell::RefCell<Vec<(std::path::PathBuf, Arc<File>)>> = const { std::cell::RefCell::new(Vec::new()) };
}

const KEPT_OPEN: usize = 16;

/// The file at `path`, opened once for many reads by this thread.
pub fn kept(path: &Path) -> Result<Arc<File>, Error> {
    OPEN.with_borrow_mut(|open| {
        if let Some(at) = open.iter().position(|(p, _)| p == path) {
            let entry = open.remove(at);
            let file = entry.1.clone();
            open.push(entry);
            return Ok(file);
        }
        let file = Arc::new(self::open(path)?);
        if open.len() == KEPT_OPEN {
            open.remove(0);
        }
        open.push((path.to_path_buf(), file.clone()));
        Ok(file)
    })
}
