//! Finds files below a directory safely: no directory is entered twice, and a FIFO, socket, device or kernel
//! file is never opened.
//!
//! Does not know the content of the files.

use crate::{FileStamp, Transcript};
use os::FileIdentity;
use os::files::{device, identity};
use record::{Problem, ProblemKind};
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of a search for transcripts.
#[derive(Clone, Default)]
pub struct TranscriptList {
    pub source: usize,
    pub transcripts: Vec<Transcript>,
    pub problems: Vec<Problem>,
    /// Entries skipped because they are not regular files (FIFO, socket, device, loop of links, /proc).
    pub skipped: u64,
    /// The group of the last file, which the next one usually shares.
    pub last_group: Option<Arc<Path>>,
    /// The folders that were read: whoever watches them learns of every change of this list, unless there are links.
    pub folders: Vec<PathBuf>,
    /// Whether a link to a file was followed, which may change without a change in these folders.
    pub has_links: bool,
}

impl TranscriptList {
    pub fn add_file(&mut self, path: PathBuf, meta: &fs::Metadata, hint: &str, group: &Path) {
        let (source, size, file_stamp) = (self.source, meta.len(), FileStamp::from_metadata(meta));
        let (hint, group) = (Arc::from(hint), self.share_group(group));
        let mut path = path;
        // Joining paths leaves half of the buffer unused, which counts for a million transcripts.
        path.shrink_to_fit();
        self.transcripts.push(Transcript { source, path, part: None, size, file_stamp, hint, group });
    }

    /// The last transcript also changes when this file or folder, or a file in it, does.
    pub fn add_change(&mut self, path: &Path) {
        self.folders.push(path.to_path_buf());
        let changed =
            |path: &Path| fs::metadata(path).map_or(0, |meta| FileStamp::from_metadata(&meta).changed);
        let inside =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| changed(&entry.path())).max();
        let newest = changed(path).max(inside.unwrap_or(0));
        if let Some(last) = self.transcripts.last_mut() {
            last.file_stamp.changed = last.file_stamp.changed.max(newest);
        }
    }

    fn share_group(&mut self, group: &Path) -> Arc<Path> {
        // Compared as bytes, because comparing paths component by component is slow.
        let last = self.last_group.as_ref().filter(|last| last.as_os_str() == group.as_os_str());
        let shared = last.cloned().unwrap_or_else(|| Arc::from(group));
        self.last_group = Some(shared.clone());
        shared
    }

    pub fn add_problem(&mut self, path: &Path, note: &impl ToString) {
        let (file, note) = (path.to_path_buf(), note.to_string());
        self.problems.push(Problem { kind: ProblemKind::Unreadable, file, offset: 0, note });
    }
}

/// Deeper than any agent's store; a bind mount of a parent into itself ends here.
const MAX_DEPTH: usize = 12;
/// Kernel file systems: files of size zero that may be endless or block forever.
const KERNEL_DIRS: &[&str] = &["/proc", "/sys"];

type OnFile<'a> = &'a mut dyn FnMut(PathBuf, &fs::Metadata, &mut TranscriptList);

/// Calls `each` for every regular file below `root`, links to files included. A missing root is not a
/// problem.
///
/// Enters each directory once, however many paths lead to it: first the real directories, then the targets of
/// links in their order. A link to a directory above the root is not followed.
pub fn walk_files(
    root: &Path,
    found: &mut TranscriptList,
    each: &mut dyn FnMut(&Path, &fs::Metadata, &mut TranscriptList),
) {
    walk_files_with_suffix(root, b"", found, &mut |path, meta, found| each(&path, meta, found));
}

/// Calls `each` for the files whose names end with `suffix`; others are not even examined. They come in the
/// byte order of their paths, so that callers need not sort ten thousand paths with common prefixes; targets
/// of links come last.
pub fn walk_files_with_suffix(
    root: &Path,
    ending: &'static [u8],
    found: &mut TranscriptList,
    each: OnFile<'_>,
) {
    let Ok(real) = fs::canonicalize(root) else {
        // The metadata distinguishes a missing root from an unreadable one.
        let unreadable = fs::metadata(root).err().filter(|e| e.kind() != io::ErrorKind::NotFound);
        return unreadable.into_iter().for_each(|error| found.add_problem(root, &error));
    };
    let kernel =
        KERNEL_DIRS.iter().filter_map(|dir| fs::metadata(dir).ok()).map(|meta| device(&meta)).collect();
    let mut walk = Walk { kernel, suffix: ending, seen: BTreeSet::new(), links: Vec::new(), found, each };
    let above = real.ancestors().skip(1);
    walk.seen.extend(above.filter_map(|dir| identity(dir, &fs::metadata(dir).ok()?).ok()));
    walk.walk_directory(root, fs::metadata(root), 0);
    while !walk.links.is_empty() {
        let mut links = std::mem::take(&mut walk.links);
        links.sort();
        for (link, depth) in &links {
            walk.walk_directory(link, fs::metadata(link), *depth);
        }
    }
}

struct Walk<'a> {
    kernel: Vec<u64>,
    suffix: &'static [u8],
    seen: BTreeSet<FileIdentity>,
    /// Links to directories that are still to be followed, with their depth.
    links: Vec<(PathBuf, usize)>,
    found: &'a mut TranscriptList,
    each: OnFile<'a>,
}

/// An entry by its name; a directory's name includes the `/` that follows it in a path.
type DirItem = (Vec<u8>, FileType, fs::DirEntry);

impl Walk<'_> {
    fn walk_directory(&mut self, dir: &Path, meta: io::Result<fs::Metadata>, depth: usize) {
        let meta = match meta {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => return self.found.add_problem(dir, &e),
        };
        let made_up = self.kernel.contains(&device(&meta));
        if depth > MAX_DEPTH || made_up || !identity(dir, &meta).is_ok_and(|known| self.seen.insert(known)) {
            self.found.skipped += 1;
            return;
        }
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) => return self.found.add_problem(dir, &e),
        };
        self.found.folders.push(dir.to_path_buf());
        let mut wanted: Vec<DirItem> = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => wanted.extend(self.filter_entry(entry)),
                Err(e) => self.found.add_problem(dir, &e),
            }
        }
        wanted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (_, kind, entry) in wanted {
            self.walk_entry(kind, &entry, depth);
        }
    }

    /// None: neither a wanted file nor a directory or link that may lead to one.
    fn filter_entry(&self, entry: fs::DirEntry) -> Option<DirItem> {
        let kind = entry.file_type().ok()?;
        let mut name = entry.file_name().into_encoded_bytes();
        if kind.is_dir() {
            name.push(b'/');
        } else if !kind.is_symlink() && !name.ends_with(self.suffix) {
            return None;
        }
        Some((name, kind, entry))
    }

    fn walk_entry(&mut self, kind: FileType, entry: &fs::DirEntry, depth: usize) {
        let path = entry.path();
        if kind.is_dir() {
            return self.walk_directory(&path, entry.metadata(), depth + 1);
        }
        // Following a link costs one stat; a dangling link is skipped like any other odd entry.
        let meta = if kind.is_symlink() { fs::metadata(&path) } else { entry.metadata() };
        self.found.has_links |= kind.is_symlink();
        match meta {
            Ok(meta) if meta.is_dir() => self.links.push((path, depth + 1)),
            Ok(meta) if meta.is_file() && !self.kernel.contains(&device(&meta)) => {
                if path.as_os_str().as_encoded_bytes().ends_with(self.suffix) {
                    (self.each)(path, &meta, self.found);
                }
            }
            _ => self.found.skipped += 1,
        }
    }
}
