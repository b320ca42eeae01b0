//! Opens the index of a source tree and brings it up to date. The index is stored between requests if possible, and built in
//! memory otherwise.
//!
//! Does not know the operations that use it.

use crate::Service;
use api::{Code, Error};
use code::{Digest, RefreshOptions};
use code_index::{
    ExportCost, ExportError, ExportOptions, NoteHead, Refreshed, Store, StoreError, scip_folder,
};
use folder::{INDEX, LociFolder};
use history::error::newer_store;
use history::home::{self, Home};
use notes::NoteHeader;
use os::files::OpenOptionsExt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub(crate) struct Tree {
    pub(crate) store: Store,
    /// The result of the refresh.
    pub(crate) done: Refreshed,
    /// The checked-out commit, if the tree is a repository.
    pub(crate) head: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) kept: ExportCost,
    /// Whether the changes of the refresh have been written to `.loci`.
    changes_written: bool,
}

impl Tree {
    pub(crate) fn open(service: &Service, root: &Path) -> Result<Tree, Error> {
        match store_path(service, root) {
            None => Tree::index_in_memory(service, root, "HOME is not set"),
            Some(place) => match open_stored(service, root, &place) {
                Ok((store, done)) => Ok(Tree::from_store(service, root, store, done, Vec::new())),
                Err(OpenError::Store(StoreError::Damaged(_))) => Tree::rebuild_store(service, root),
                Err(OpenError::Store(error @ (StoreError::Layout(_) | StoreError::Cancelled))) => {
                    Err(store_error(&error))
                }
                Err(OpenError::Store(error)) => Tree::index_in_memory(service, root, &error.to_string()),
                Err(OpenError::Io(error)) => Tree::index_in_memory(service, root, &error.to_string()),
            },
        }
    }

    /// Deletes a damaged store and rebuilds it.
    pub(crate) fn rebuild_store(service: &Service, root: &Path) -> Result<Tree, Error> {
        if let Some(place) = store_path(service, root) {
            Store::delete_files(&place);
            if let Ok((store, done)) = open_stored(service, root, &place) {
                return Ok(Tree::from_store(service, root, store, done, Vec::new()));
            }
        }
        Tree::index_in_memory(service, root, "the stored index is damaged")
    }

    /// Indexes the tree in memory: same result, but slower.
    fn index_in_memory(service: &Service, root: &Path, why: &str) -> Result<Tree, Error> {
        let mut store = Store::in_memory(root).map_err(|error| store_error(&error))?;
        let done = store
            .refresh(refresh_params(service, &progress_callback(service)))
            .map_err(|error| store_error(&error))?;
        let note = format!("the code index was built in memory and is not stored: {why}");
        Ok(Tree::from_store(service, root, store, done, vec![note]))
    }

    fn from_store(service: &Service, root: &Path, store: Store, done: Refreshed, notes: Vec<String>) -> Tree {
        let mut tree = Tree {
            store,
            done,
            head: code::head_commit(root),
            notes,
            kept: ExportCost::default(),
            changes_written: false,
        };
        tree.update_files(service, root);
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.store.root()
    }

    /// Updates the index in `.loci`, if the tree has one.
    fn update_files(&mut self, service: &Service, root: &Path) {
        let has_index = |folder: &LociFolder| folder.path(INDEX).is_file();
        let Some(folder) = LociFolder::open(root).ok().flatten().filter(has_index) else { return };
        if self.store.is_exported(&folder, &self.done).unwrap_or(false) {
            return;
        }
        // On a timeout, the current writer or the next request writes these changes.
        if let Err(error) = self.write_files(service, &folder, Duration::from_secs(1)) {
            self.notes.push(format!("the files in `.loci` are not up to date: {error}"));
        }
    }

    pub(crate) fn write_files(
        &mut self,
        service: &Service,
        folder: &LociFolder,
        patience: Duration,
    ) -> Result<(), ExportError> {
        let pen = folder.lock_for_writing(patience)?;
        // changes are written only once
        let nothing = Refreshed::default();
        let changes = if std::mem::replace(&mut self.changes_written, true) { &nothing } else { &self.done };
        let store = &mut self.store;
        let kept =
            with_export_options(service, |options| store.export_files(folder, &pen, changes, options))?;
        self.kept.files += kept.files;
        self.kept.bytes += kept.bytes;
        Ok(())
    }
}

/// Passes `write` what an export needs to know about texts.
pub(crate) fn with_export_options<T>(service: &Service, write: impl FnOnce(&ExportOptions<'_>) -> T) -> T {
    let mask = |text: &str| service.history().mask_text(text);
    let parse_note = |text: &str| {
        let head = notes::parse_note(text).0;
        let NoteHeader { types, structure, implementation, date, .. } = head;
        NoteHead { types, structure, implementation, date }
    };
    write(&ExportOptions { mask: &mask, parse_note: &parse_note })
}

enum OpenError {
    Store(StoreError),
    Io(std::io::Error),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Store(error)
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

/// The store file of a tree. It is named after the path, because two checkouts of one repository differ.
pub(super) fn store_path(service: &Service, root: &Path) -> Option<PathBuf> {
    Some(Home::from_places(&service.places)?.code().join(format!("{}.db", tree_name(root))))
}

/// A short name for a tree: the hash of its path.
pub(crate) fn tree_name(root: &Path) -> Digest {
    Digest::of_bytes(root.as_os_str().as_encoded_bytes())
}

/// The folder of the plans and applied edits of a tree.
pub(crate) fn edits_folder(home: &Home, root: &Path) -> PathBuf {
    home.edits().join(tree_name(root).to_string())
}

fn open_stored(service: &Service, root: &Path, place: &Path) -> Result<(Store, Refreshed), OpenError> {
    let tell = progress_callback(service);
    let moment = refresh_params(service, &tell);
    if let Some(store) = Store::open_existing(place, root)? {
        let look = store.check_freshness(moment)?;
        if look.is_current {
            return Ok((store, Refreshed { read_bytes: look.read_bytes, ..Refreshed::default() }));
        }
    }
    if let Some(folder) = place.parent() {
        home::create_private_dir(folder)?;
    }
    let _lock = wait_for_lock(service, &place.with_extension("lock"))?;
    let first = !place.is_file();
    let mut store = Store::open(place, root)?;
    let done = store.refresh(moment)?;
    if first {
        remove_orphans(place);
    }
    Ok((store, done))
}

/// Deletes the stores of trees that no longer exist: the store of a large tree takes more space than its source.
fn remove_orphans(ours: &Path) {
    let listed = ours.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for path in listed.into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_other = path != ours && path.extension().is_some_and(|ending| ending == "db");
        let tree = if is_other { Store::tree_of(&path).ok().flatten() } else { None };
        if tree.is_some_and(|tree| {
            tree.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        }) {
            Store::delete_files(&path);
            let _ = std::fs::remove_file(path.with_extension("lock"));
            let _ = std::fs::remove_dir_all(scip_folder(&path));
        }
    }
}

/// Waits for the lock of a store: one process indexes, the others use its result. The kernel releases the lock however that
/// process ends.
fn wait_for_lock(service: &Service, path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if service.progress.is_cancelled() => {
                return Err(OpenError::Store(StoreError::Cancelled));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::Error(error)) => return Err(OpenError::Io(error)),
        }
    }
}

fn progress_callback(service: &Service) -> impl Fn(u64, u64) -> bool + Sync {
    let progress = service.progress.clone();
    move |files, of| {
        progress.of.store(of, Relaxed);
        progress.files.store(files, Relaxed);
        !progress.is_cancelled()
    }
}

fn refresh_params<'a>(service: &Service, tell: &'a (dyn Fn(u64, u64) -> bool + Sync)) -> RefreshOptions<'a> {
    RefreshOptions { now: service.clock.now().0, threads: service.threads, progress: tell }
}

pub(crate) fn store_error(error: &StoreError) -> Error {
    let message = error.to_string();
    match error {
        StoreError::Layout(_) => Error::new(Code::NotFound, message).hint("--root selects the source tree"),
        StoreError::Cancelled => Error::new(Code::Cancelled, message),
        StoreError::Full => Error::new(Code::DiskFull, message).hint("free disk space and run this again"),
        StoreError::Newer(_) => newer_store(message),
        StoreError::Damaged(_) | StoreError::Database(_) => Error::new(Code::ReadError, message),
    }
}
