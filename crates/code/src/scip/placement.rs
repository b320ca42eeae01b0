//! Where the indexes of a tree are: at its root, in its project folders, and in Loci's own cache folder of the tree, which has the
//! same folders inside.
//!
//! Does not read indexes, and does not know which indexer wrote one.

use super::modified_time;
use project::Project;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file name of an index in a source tree.
const INDEX_FILE: &str = "index.scip";
/// The ending of an index in the cache folder, which is named after its indexer.
const INDEX_ENDING: &str = "scip";

/// Where indexes of a tree may be.
#[derive(Clone, Copy, Debug)]
pub struct IndexPlaces<'a> {
    /// The tree itself.
    pub root: &'a Path,
    /// Loci's own folder for indexes of the tree.
    pub cache: Option<&'a Path>,
}

/// The file of an index.
pub(super) struct PlacedIndex {
    pub(super) path: PathBuf,
    /// The indexed folder, relative to the root of the tree; empty, or with a trailing `/`.
    pub(super) folder: String,
    /// When the index was written, if the file system knows.
    pub(super) written: Option<SystemTime>,
}

/// Whether a tree has an index, in itself or in its cache folder.
pub fn has_index(places: IndexPlaces<'_>, projects: &[Project]) -> bool {
    !find_indexes(places, projects).is_empty()
}

/// The indexes of a tree, in the order in which they override each other: from the root downwards, in one folder from the oldest.
pub(super) fn find_indexes(places: IndexPlaces<'_>, projects: &[Project]) -> Vec<PlacedIndex> {
    let folder = |manifest: &str| manifest.rfind('/').map_or("", |at| &manifest[..=at]).to_owned();
    let folders: BTreeSet<String> =
        projects.iter().map(|project| folder(&project.path)).chain([String::new()]).collect();
    let cache = places.cache.filter(|cache| cache.is_dir());
    let mut found = Vec::new();
    for folder in folders {
        let cached = cache.map(|cache| list_cached(&cache.join(&folder))).unwrap_or_default();
        let paths = [places.root.join(&folder).join(INDEX_FILE)].into_iter().chain(cached);
        let placed = paths.filter(|path| path.is_file()).map(|path| {
            let written = modified_time(&path);
            PlacedIndex { path, folder: folder.clone(), written }
        });
        found.extend(placed);
    }
    found.sort_by(|one, other| (&one.folder, one.written).cmp(&(&other.folder, other.written)));
    found
}

fn list_cached(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == INDEX_ENDING)).collect();
    paths.sort();
    paths
}
