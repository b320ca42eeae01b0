//! Finds files below a directory without being led astray: no directory is entered twice, and a FIFO, socket,
//! device or file of the kernel's is never opened.
//!
//! Does not know what the files hold.

use crate::{Age, Transcript};
use record::{Problem, ProblemKind};
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a look for transcripts turned up.
#[derive(Default)]
pub struct Found {
    pub source: usize,
    pub transcripts: Vec<Transcript>,
    pub problems: Vec<Problem>,
    /// Entries passed over because they are no regular files (FIFO, socket, device, loop of links, /proc).
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
/// What the kernel makes up: files of no size that may be endless or wait for ever.
const KERNEL: &[&str] = &["/proc", "/sys"];

type Each<'a> = &'a mut dyn FnMut(PathBuf, &fs::Metadata, &mut Found);

/// Calls `each` for every regular file below `root`, links to files included. A missing root is no problem.
///
/// A directory is entered once, however many ways lead to it: first what is really there, then, in their order,
/// what links lead to. A link to a directory above the root leads nowhere.
pub fn files(root: &Path, found: &mut Found, each: &mut dyn FnMut(&Path, &fs::Metadata, &mut Found)) {
    files_named(root, b"", found, &mut |path, meta, found| each(&path, meta, found));
}

/// The same for files whose names end so: no other is looked at. They come in the order of their paths' bytes, so that
/// nobody has to sort ten thousand paths that begin alike; what links lead to comes behind.
pub fn files_named(root: &Path, ending: &'static [u8], found: &mut Found, each: Each<'_>) {
    let Ok(real) = fs::canonicalize(root) else {
        // Missing, or not to be entered: one look says which.
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
    /// Links to directories, with their depth, that wait for their turn.
    links: Vec<(PathBuf, usize)>,
    found: &'a mut Found,
    each: Each<'a>,
}

/// An entry by its name, that of a directory with the `/` that follows it in a path.
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

    /// None: neither one of the files wanted nor a way to some.
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
        // A link is followed by one stat; a link to nothing is passed over like any other odd entry.
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
