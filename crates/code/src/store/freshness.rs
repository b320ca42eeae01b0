//! Detects changes on disk since the last refresh: compares the metadata of every known folder and file, without opening any.
//!
//! Does not know the content of a file. A file may be written in the same clock tick in which it was read without its metadata
//! changing; such files are marked as unsure and read again.

use project::{Layout, is_rule};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use syntax::language_of;

/// The metadata of a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    modified: i64,
    changed: i64,
    inode: u64,
}

/// Kernel timestamps may be this many nanoseconds too coarse.
const TICK: i64 = 20_000_000;

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Stamp {
            size: meta.len(),
            modified: nanos(meta.mtime(), meta.mtime_nsec()),
            changed: nanos(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }

    pub(crate) fn at(path: &Path) -> Option<Stamp> {
        path.symlink_metadata().ok().map(|meta| Stamp::of(&meta))
    }
}

/// The recorded state of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) stamp: Stamp,
    /// The indexed files.
    pub(crate) entries: BTreeMap<String, Entry>,
    /// Folders, and source files that git ignores.
    pub(crate) others: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) stamp: Stamp,
    /// The file may have been written after it was read without a change of metadata.
    pub(crate) unsure: bool,
}

/// The result of a comparison.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    /// Files were added or removed, or manifests changed.
    pub(crate) moved: bool,
    /// Folders with changes, by path; recorded once the changes are processed.
    pub(crate) folders: BTreeMap<String, Folder>,
    /// Files whose content may have changed.
    pub(crate) files: Vec<String>,
}

pub(crate) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

pub(crate) fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Compares the known folders with the disk. `now` is when the comparison began, in nanoseconds.
pub(crate) fn look(root: &Path, known: impl Iterator<Item = (String, Folder)>, now: i64) -> Seen {
    let mut seen = Seen::default();
    for (path, mut folder) in known {
        let place = root.join(&path);
        let Some(stamp) = Stamp::at(&place) else {
            seen.moved = true;
            continue;
        };
        let mut differs = false;
        // other files above the tree do not matter
        if stamp != folder.stamp && !path.starts_with("..") {
            differs = true;
            seen.moved |= has_news(&place, &folder);
            folder.stamp = stamp;
        }
        for (name, entry) in &mut folder.entries {
            match Stamp::at(&place.join(name)) {
                Some(stamp) if stamp == entry.stamp && !entry.unsure => {}
                Some(stamp) => {
                    differs = true;
                    *entry = Entry { stamp, unsure: stamp.changed + TICK >= now };
                    seen.moved |= is_rule(name);
                    seen.files.push(joined(&path, name));
                }
                None => seen.moved = true,
            }
        }
        if differs {
            seen.folders.insert(path, folder);
        }
    }
    seen
}

/// Whether a folder contains a new entry that would be indexed, or may contain such. Editors create and remove temporary files at
/// every save.
fn has_news(place: &Path, folder: &Folder) -> bool {
    let Ok(listed) = std::fs::read_dir(place) else { return true };
    listed.flatten().any(|entry| {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { return false };
        let known = folder.entries.contains_key(name) || folder.others.contains(name);
        !known && counts(name, entry.file_type().is_ok_and(|kind| kind.is_dir()))
    })
}

fn counts(name: &str, is_folder: bool) -> bool {
    if is_folder {
        return !matches!(name, ".git" | ".loci");
    }
    is_rule(name) || language_of(Path::new(name)).is_some()
}

/// Records the current state of all folders of a tree.
pub(crate) fn survey(root: &Path, layout: &Layout, now: i64) -> BTreeMap<String, Folder> {
    let mut folders: BTreeMap<String, Folder> = BTreeMap::new();
    for path in &layout.folders {
        let place = root.join(path);
        folders.insert(
            path.clone(),
            Folder { stamp: Stamp::at(&place).unwrap_or_default(), ..Folder::default() },
        );
    }
    for path in layout.files.iter().map(|(path, _)| path).chain(&layout.rules) {
        let (folder, name) = parted(path);
        let stamp = Stamp::at(&root.join(path)).unwrap_or_default();
        let entry = Entry { stamp, unsure: stamp.changed + TICK >= now };
        folders.entry(folder.to_owned()).or_default().entries.insert(name.to_owned(), entry);
    }
    for (path, folder) in folders.iter_mut().filter(|(path, _)| !path.starts_with("..")) {
        for entry in std::fs::read_dir(root.join(path)).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let Ok(name) = entry.file_name().into_string()
                && counts(&name, is_folder)
                && !folder.entries.contains_key(&name)
            {
                folder.others.insert(name);
            }
        }
    }
    folders
}
