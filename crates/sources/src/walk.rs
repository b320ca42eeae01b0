//! Finds files below a directory safely: no directory is entered twice, and a FIFO, socket, device or kernel
//! file is never opened.
//!
//! Does not know the content of the files.

use crate::{Age, Transcript};
use record::{Problem, ProblemKind};
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The result of a search for transcripts.
#[derive(Default)]
pub struct Found {
    pub source: usize,
    pub transcripts: Vec<Transcript>,
    pub problems: Vec<Problem>,
    /// Entries skipped because they are not regular files (FIFO, socket, device, loop of links, /proc).
    pub odd: u64,
}

impl Found {
    pub fn add(&mut self, path: PathBuf, meta: &fs::Metadata, hint: &str, group: &Path) {
        self.add_own(path, meta, hint.to_string(), group.to_path_buf());
    }

    pub(crate) fn add_own(&mut self, path: PathBuf, meta: &fs::Metadata, hint: String, group: PathBuf) {
        let (source, size, age) = (self.source, meta.len(), Age::of(meta));
        self.transcripts.push(Transcript { source, path, part: None, size, age, hint, group });
    }

    pub fn problem(&mut self, path: &Path, note: &impl ToString) {
        let (file, note) = (path.to_path_buf(), note.to_string());
        self.problems.push(Problem { kind: ProblemKind::Unreadable, file, offset: 0, note });
    }
}

/// Deeper than any agent's store; a bind mount of a parent into itself ends here.
const DEEPEST: usize = 12;
/// Kernel file systems: files of size zero that may be endless or block forever.
const KERNEL: &[&str] = &["/proc", "/sys"];

type Each<'a> = &'a mut dyn FnMut(PathBuf, &fs::Metadata, &mut Found);

/// Calls `each` for every regular file below `root`, links to files included. A missing root is not a
/// problem.
///
/// Enters each directory once, however many paths lead to it: first the real directories, then the targets of
/// links in their order. A link to a directory above the root is not followed.
pub fn files(root: &Path, found: &mut Found, each: &mut dyn FnMut(&Path, &fs::Metadata, &mut Found)) {
    files_named(root, b"", found, &mut |path, meta, found| each(&path, meta, found));
}

/// Calls `each` for the files whose names end with `ending`; others are not even examined. They come in the
/// byte order of their paths, so that callers need not sort ten thousand paths with common prefixes; targets
/// of links come last.
pub fn files_named(root: &Path, ending: &'static [u8], found: &mut Found, each: Each<'_>) {
    let Ok(real) = fs::canonicalize(root) else {
        // The metadata distinguishes a missing root from an unreadable one.
        let unreadable = fs::metadata(root).err().filter(|e| e.kind() != io::ErrorKind::NotFound);
        return unreadable.into_iter().for_each(|error| found.problem(root, &error));
    };
    let kernel = KERNEL.iter().filter_map(|dir| fs::metadata(dir).ok()).map(|meta| meta.dev()).collect();
    let mut walk = Walk { kernel, ending, seen: BTreeSet::new(), links: Vec::new(), found, each };
    let above = real.ancestors().skip(1).filter_map(|dir| fs::metadata(dir).ok());
    walk.seen.extend(above.map(|meta| (meta.dev(), meta.ino())));
    walk.directory(root, fs::metadata(root), 0);
    while !walk.links.is_empty() {
        let mut links = std::mem::take(&mut walk.links);
        links.sort();
        for (link, depth) in &links {
            walk.directory(link, fs::metadata(link), *depth);
        }
    }
}

struct Walk<'a> {
    kernel: Vec<u64>,
    ending: &'static [u8],
    seen: BTreeSet<(u64, u64)>,
    /// Links to directories that are still to be followed, with their depth.
    links: Vec<(PathBuf, usize)>,
    found: &'a mut Found,
    each: Each<'a>,
}

/// An entry by its name; a directory's name includes the `/` that follows it in a path.
type Entry = (Vec<u8>, FileType, fs::DirEntry);

impl Walk<'_> {
    fn directory(&mut self, dir: &Path, meta: io::Result<fs::Metadata>, depth: usize) {
        let meta = match meta {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => return self.found.problem(dir, &e),
        };
        let made_up = self.kernel.contains(&meta.dev());
        if depth > DEEPEST || made_up || !self.seen.insert((meta.dev(), meta.ino())) {
            self.found.odd += 1;
            return;
        }
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) => return self.found.problem(dir, &e),
        };
        let mut wanted: Vec<Entry> = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => wanted.extend(self.wanted(entry)),
                Err(e) => self.found.problem(dir, &e),
            }
        }
        wanted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (_, kind, entry) in wanted {
            self.entry(kind, &entry, depth);
        }
    }

    /// None: neither a wanted file nor a directory or link that may lead to one.
    fn wanted(&self, entry: fs::DirEntry) -> Option<Entry> {
        let kind = entry.file_type().ok()?;
        let mut name = entry.file_name().into_encoded_bytes();
        if kind.is_dir() {
            name.push(b'/');
        } else if !kind.is_symlink() && !name.ends_with(self.ending) {
            return None;
        }
        Some((name, kind, entry))
    }

    fn entry(&mut self, kind: FileType, entry: &fs::DirEntry, depth: usize) {
        let path = entry.path();
        if kind.is_dir() {
            return self.directory(&path, entry.metadata(), depth + 1);
        }
        // Following a link costs one stat; a dangling link is skipped like any other odd entry.
        let meta = if kind.is_symlink() { fs::metadata(&path) } else { entry.metadata() };
        match meta {
            Ok(meta) if meta.is_dir() => self.links.push((path, depth + 1)),
            Ok(meta) if meta.is_file() && !self.kernel.contains(&meta.dev()) => {
                if path.as_os_str().as_encoded_bytes().ends_with(self.ending) {
                    (self.each)(path, &meta, self.found);
                }
            }
            _ => self.found.odd += 1,
        }
    }
}
