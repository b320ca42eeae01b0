//! Finds files below a directory without being led astray: links are not followed into directories already
//! seen, and a FIFO, socket or device is never opened.
//!
//! Does not know what the files hold.

use crate::Transcript;
use record::{Problem, ProblemKind};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a look for transcripts turned up.
#[derive(Default)]
pub struct Found {
    pub source: usize,
    pub transcripts: Vec<Transcript>,
    pub problems: Vec<Problem>,
    /// Entries passed over because they are no regular files (FIFO, socket, device, loop of links).
    pub odd: u64,
}

impl Found {
    pub fn add(&mut self, path: PathBuf, size: u64, hint: &str, group: &Path) {
        let source = self.source;
        let (hint, group) = (hint.to_string(), group.to_path_buf());
        self.transcripts.push(Transcript { source, path, part: None, size, hint, group });
    }

    pub fn problem(&mut self, path: &Path, note: &impl ToString) {
        let (file, note) = (path.to_path_buf(), note.to_string());
        self.problems.push(Problem { kind: ProblemKind::Unreadable, file, offset: 0, note });
    }
}

/// Deeper than any agent's store; a bind mount of a parent into itself ends here.
const DEEPEST: usize = 12;

/// Calls `each` for every regular file below `root`, links to files included. A missing root is no problem.
pub fn files(root: &Path, found: &mut Found, each: &mut dyn FnMut(&Path, u64, &mut Found)) {
    let mut seen = Vec::new();
    go(root, 0, &mut seen, found, each);
}

fn go(
    dir: &Path,
    depth: usize,
    seen: &mut Vec<(u64, u64)>,
    found: &mut Found,
    each: &mut dyn FnMut(&Path, u64, &mut Found),
) {
    let identity = match fs::metadata(dir) {
        Ok(meta) => (meta.dev(), meta.ino()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
        Err(e) => return found.problem(dir, &e),
    };
    if depth > DEEPEST || seen.contains(&identity) {
        found.odd += 1;
        return;
    }
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) => return found.problem(dir, &e),
    };
    seen.push(identity);
    for entry in entries {
        match entry {
            Ok(entry) => one(&entry, depth, seen, found, each),
            Err(e) => found.problem(dir, &e),
        }
    }
    seen.pop();
}

fn one(
    entry: &fs::DirEntry,
    depth: usize,
    seen: &mut Vec<(u64, u64)>,
    found: &mut Found,
    each: &mut dyn FnMut(&Path, u64, &mut Found),
) {
    let path = entry.path();
    let Ok(kind) = entry.file_type() else { return };
    if kind.is_dir() {
        return go(&path, depth + 1, seen, found, each);
    }
    // A link is followed by one stat; a link to nothing is passed over like any other odd entry.
    let meta = if kind.is_symlink() { fs::metadata(&path) } else { entry.metadata() };
    match meta {
        Ok(meta) if meta.is_dir() => go(&path, depth + 1, seen, found, each),
        Ok(meta) if meta.is_file() => each(&path, meta.len(), found),
        Ok(meta) => {
            let kind = meta.file_type();
            found.odd += u64::from(
                kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device(),
            );
        }
        Err(_) => found.odd += 1,
    }
}
