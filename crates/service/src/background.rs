//! Background jobs of the daemon: lists the folders to watch and updates the indexes when something in them changes. No
//! response depends on these jobs; they make the next one faster.
//!
//! Does not watch folders, and does not schedule the jobs.

mod consolidation;

use crate::Service;
use crate::operations::code::code_query::is_home_folder;
use crate::operations::code::tree::Tree;
use crate::operations::code::tree::edits_folder;
use api::Error;
use code_index::Store;
use history::{catalogue_cache, ingest, transcripts};
use record::Stamp;
use serde_json::{Value, json};
use sources::SOURCES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Source trees to watch: the most recently used, limited to what a person works on at once; and how recent, in seconds.
const TREES: usize = 8;
const LATELY: i64 = 14 * 24 * 3600;
/// A tree with more folders is not watched; it is checked on each request, as without a daemon.
const FOLDERS: usize = 20_000;

impl Service {
    /// The folders that contain transcripts, or may contain them later.
    pub fn history_folders(&self) -> Vec<PathBuf> {
        let mut folders = BTreeSet::new();
        for source in SOURCES {
            folders.extend(
                sources::source_roots(*source, &self.places).into_iter().filter(|root| root.is_dir()),
            );
        }
        let reader = catalogue_cache::open_catalogue(&self.history());
        let found = transcripts::find_transcripts(&self.history(), reader.as_ref(), &[]);
        // Also those without a transcript: the next one may be in them.
        folders.extend(found.folders.into_iter().filter(|folder| folder.is_dir()));
        for transcript in found.transcripts {
            folders.extend(transcript.path.parent().map(Path::to_path_buf));
        }
        folders.into_iter().filter(|path| !self.is_own_folder(path)).collect()
    }

    /// Whether a folder is one that Loci itself writes: watching it, the daemon would wake itself up. Imported histories are read
    /// like those of agents.
    fn is_own_folder(&self, path: &Path) -> bool {
        self.home().is_some_and(|home| {
            let own = [&home.data, &home.cache, &home.state];
            own.iter().any(|own| path.starts_with(own)) && !path.starts_with(home.imports())
        })
    }

    /// The recently used source trees, each with its folders.
    pub fn code_folders(&self) -> Vec<(PathBuf, Vec<PathBuf>)> {
        let Some(home) = self.home() else { return Vec::new() };
        let mut kept: Vec<(i64, PathBuf)> = index_files(&home.code()).filter_map(last_used).collect();
        kept.sort_by(|a, b| b.cmp(a));
        let oldest = self.clock.now().0 / 1000 - LATELY;
        let fresh = kept.into_iter().filter(|(at, _)| *at >= oldest);
        let trees = fresh.filter_map(|(_, path)| folders_of(&path));
        let trees = trees.filter(|(root, _)| !is_home_folder(self, root)).take(TREES);
        let without_own = |(root, mut folders): (PathBuf, Vec<PathBuf>)| {
            folders.retain(|folder| !self.is_own_folder(folder));
            (root, folders)
        };
        trees.map(without_own).collect()
    }

    /// The recently used source tree with the longest queue of notes, and its length.
    pub(crate) fn longest_note_queue(&self) -> Option<(PathBuf, u64)> {
        let home = self.home()?;
        let now = self.clock.now().0;
        let queue_of = |path: PathBuf| {
            let root = Store::tree_of(&path).ok()??;
            let length = Store::open_existing(&path, &root).ok()??.queue_length(now).ok()?;
            root.is_dir().then_some((root, length))
        };
        index_files(&home.code()).filter_map(queue_of).max_by_key(|(_, length)| *length)
    }

    /// Updates catalogue and text index after a change in the transcripts.
    pub fn update_history(&self) -> Result<Value, Error> {
        let caught = ingest::catch_up(&self.history(), false)?;
        let moved = caught.added + caught.changed + caught.gone;
        Ok(if moved == 0 { json!({}) } else { json!({"transcripts": moved, "bytes": caught.bytes}) })
    }

    /// A session's summary in memory, and the time it covers up to.
    pub(crate) fn remembered_summary(&self, session: &str) -> Option<(String, Stamp)> {
        let known = self.session_memory(session)?;
        Some((known.summary.text, known.ended_at))
    }

    /// Whether an edit is being applied to a source tree, or undone.
    pub fn is_code_being_edited(&self, root: &Path) -> bool {
        self.home().is_some_and(|home| edits::Journal::new(root, &edits_folder(&home, root)).is_writing())
    }

    /// Updates the index of a source tree after a change.
    pub fn update_code(&self, root: &Path) -> Result<Value, Error> {
        let tree = Tree::open(self, root)?;
        Ok(json!({"files": tree.done.parsed, "types": tree.done.changes.len()}))
    }
}

fn index_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "db"))
}

/// When a tree's index file was last written: every request that found a change writes it.
fn last_used(path: PathBuf) -> Option<(i64, PathBuf)> {
    let times = ["", "-wal"].map(|ending| {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        std::fs::metadata(name).map(|meta| os::files::stamp(&meta).modified / 1_000_000_000).ok()
    });
    Some((times.into_iter().flatten().max()?, path))
}

fn folders_of(path: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let root = Store::tree_of(path).ok()??;
    let folders = Store::open_existing(path, &root).ok()??.watched_folders().ok()?;
    (root.is_dir() && folders.len() <= FOLDERS).then_some((root, folders))
}
