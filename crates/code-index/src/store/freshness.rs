//! Detects changes on disk since the last refresh: compares the metadata of every known folder and file, without opening any.
//!
//! Does not know the content of a file. A file may be written in the same clock tick in which it was read without its metadata
//! changing; such files are marked as unsure and read again.

use project::{Layout, is_layout_file};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::Path;
use syntax::language_of;

/// The metadata of a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    size: u64,
    modified: i64,
    changed: i64,
    inode: u64,
}

/// Kernel timestamps may be this many nanoseconds too coarse.
const CLOCK_TICK_NANOS: i64 = 20_000_000;

impl FileStamp {
    fn from_metadata(meta: &Metadata) -> FileStamp {
        let stamp = os::files::stamp(meta);
        FileStamp { size: meta.len(), modified: stamp.modified, changed: stamp.changed, inode: stamp.inode }
    }

    pub(crate) fn read_from(path: &Path) -> Option<FileStamp> {
        path.symlink_metadata().ok().map(|meta| FileStamp::from_metadata(&meta))
    }
}

/// The recorded state of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FolderSnapshot {
    pub(crate) stamp: FileStamp,
    /// The indexed files.
    pub(crate) entries: BTreeMap<String, FileEntry>,
    /// Folders, and source files that git ignores.
    pub(crate) others: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) stamp: FileStamp,
    /// The file may have been written after it was read without a change of metadata.
    pub(crate) unsure: bool,
}

/// The result of a comparison.
#[derive(Default, Debug)]
pub(crate) struct TreeChanges {
    /// Files were added or removed, or manifests changed.
    pub(crate) tree_changed: bool,
    /// Folders with changes, by path; recorded once the changes are processed.
    pub(crate) folders: BTreeMap<String, FolderSnapshot>,
    /// Files whose content may have changed.
    pub(crate) files: Vec<String>,
}

pub(crate) fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

pub(crate) fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Compares the known folders with the disk. `now` is when the comparison began, in nanoseconds.
pub(crate) fn compare_folders(
    root: &Path,
    known: impl Iterator<Item = (String, FolderSnapshot)>,
    now: i64,
) -> TreeChanges {
    let mut seen = TreeChanges::default();
    for (path, mut folder) in known {
        let place = root.join(&path);
        let Some(stamp) = FileStamp::read_from(&place) else {
            seen.tree_changed = true;
            continue;
        };
        let mut differs = false;
        // other files above the tree do not matter
        if stamp != folder.stamp && !path.starts_with("..") {
            differs = true;
            seen.tree_changed |= has_new_entry(&place, &folder);
            folder.stamp = stamp;
        }
        for (name, entry) in &mut folder.entries {
            match FileStamp::read_from(&place.join(name)) {
                Some(stamp) if stamp == entry.stamp && !entry.unsure => {}
                Some(stamp) => {
                    differs = true;
                    *entry = FileEntry { stamp, unsure: stamp.changed + CLOCK_TICK_NANOS >= now };
                    seen.tree_changed |= is_layout_file(name);
                    seen.files.push(join_path(&path, name));
                }
                None => seen.tree_changed = true,
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
fn has_new_entry(place: &Path, folder: &FolderSnapshot) -> bool {
    let Ok(listed) = std::fs::read_dir(place) else { return true };
    listed.flatten().any(|entry| {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { return false };
        let known = folder.entries.contains_key(name) || folder.others.contains(name);
        !known && is_relevant(name, entry.file_type().is_ok_and(|kind| kind.is_dir()))
    })
}

fn is_relevant(name: &str, is_folder: bool) -> bool {
    if is_folder {
        return !matches!(name, ".git" | ".loci");
    }
    is_layout_file(name) || language_of(Path::new(name)).is_some()
}

/// Records the current state of all folders of a tree.
pub(crate) fn snapshot_folders(root: &Path, layout: &Layout, now: i64) -> BTreeMap<String, FolderSnapshot> {
    let mut folders: BTreeMap<String, FolderSnapshot> = BTreeMap::new();
    for path in &layout.folders {
        let place = root.join(path);
        folders.insert(
            path.clone(),
            FolderSnapshot {
                stamp: FileStamp::read_from(&place).unwrap_or_default(),
                ..FolderSnapshot::default()
            },
        );
    }
    for path in layout.files.iter().map(|(path, _)| path).chain(&layout.layout_files) {
        let (folder, name) = split_path(path);
        let stamp = FileStamp::read_from(&root.join(path)).unwrap_or_default();
        let entry = FileEntry { stamp, unsure: stamp.changed + CLOCK_TICK_NANOS >= now };
        folders.entry(folder.to_owned()).or_default().entries.insert(name.to_owned(), entry);
    }
    for (path, folder) in folders.iter_mut().filter(|(path, _)| !path.starts_with("..")) {
        for entry in std::fs::read_dir(root.join(path)).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let Ok(name) = entry.file_name().into_string()
                && is_relevant(&name, is_folder)
                && !folder.entries.contains_key(&name)
            {
                folder.others.insert(name);
            }
        }
    }
    folders
}
