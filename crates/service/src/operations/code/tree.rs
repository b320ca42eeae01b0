//! Opens the index of a source tree and brings it up to date. The index is stored between requests if possible, and built in
//! memory otherwise.
//!
//! Does not know the operations that use it.

use crate::Service;
use api::{Code, Error};
use code::folder::{Folder, INDEX};
use code::{Digest, KeepError, Kept, Moment, Refreshed, Store, StoreError};
use history::home::{self, Home};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
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
    pub(crate) kept: Kept,
    /// Whether the changes of the refresh have been written to `.loci`.
    told: bool,
}

impl Tree {
    pub(crate) fn open(service: &Service, root: &Path) -> Result<Tree, Error> {
        match place(service, root) {
            None => Tree::read(service, root, "there is no home to keep it in"),
            Some(place) => match known(service, root, &place) {
                Ok((store, done)) => Ok(Tree::with(service, root, store, done, Vec::new())),
                Err(Trouble::Store(StoreError::Damaged(_))) => Tree::anew(service, root),
                Err(Trouble::Store(error @ (StoreError::Layout(_) | StoreError::Stopped))) => {
                    Err(store_error(&error))
                }
                Err(Trouble::Store(error)) => Tree::read(service, root, &error.to_string()),
                Err(Trouble::Io(error)) => Tree::read(service, root, &error.to_string()),
            },
        }
    }

    /// Deletes a damaged store and rebuilds it.
    pub(crate) fn anew(service: &Service, root: &Path) -> Result<Tree, Error> {
        if let Some(place) = place(service, root) {
            Store::discard(&place);
            if let Ok((store, done)) = known(service, root, &place) {
                return Ok(Tree::with(service, root, store, done, Vec::new()));
            }
        }
        Tree::read(service, root, "what was kept is damaged")
    }

    /// Indexes the tree in memory: same result, but slower.
    fn read(service: &Service, root: &Path, why: &str) -> Result<Tree, Error> {
        let mut store = Store::in_memory(root).map_err(|error| store_error(&error))?;
        let done = store.refresh(moment(service, &tell(service))).map_err(|error| store_error(&error))?;
        let note = format!("the tree was read whole, and nothing of it kept for the next question: {why}");
        Ok(Tree::with(service, root, store, done, vec![note]))
    }

    fn with(service: &Service, root: &Path, store: Store, done: Refreshed, notes: Vec<String>) -> Tree {
        let mut tree = Tree { store, done, head: head(root), notes, kept: Kept::default(), told: false };
        tree.keep_files(service, root);
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.store.root()
    }

    /// Updates the index in `.loci`, if the tree has one.
    fn keep_files(&mut self, service: &Service, root: &Path) {
        let has_index = |folder: &Folder| folder.path(INDEX).is_file();
        let Some(folder) = Folder::at(root).ok().flatten().filter(has_index) else { return };
        if self.store.is_kept(&folder, &self.done).unwrap_or(false) {
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
        folder: &Folder,
        patience: Duration,
    ) -> Result<(), KeepError> {
        let pen = folder.pen(patience)?;
        let mask = |text: &str| service.history().veiled(text);
        // changes are written only once
        let nothing = Refreshed::default();
        let changes = if std::mem::replace(&mut self.told, true) { &nothing } else { &self.done };
        let kept = self.store.keep(folder, &pen, changes, &mask)?;
        self.kept.files += kept.files;
        self.kept.bytes += kept.bytes;
        Ok(())
    }
}

enum Trouble {
    Store(StoreError),
    Io(std::io::Error),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Store(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// The store file of a tree. It is named after the path, because two checkouts of one repository differ.
fn place(service: &Service, root: &Path) -> Option<PathBuf> {
    Some(Home::of(&service.places)?.code().join(format!("{}.db", name_of(root))))
}

/// A short name for a tree: the hash of its path.
pub(crate) fn name_of(root: &Path) -> Digest {
    Digest::of(root.as_os_str().as_bytes())
}

fn known(service: &Service, root: &Path, place: &Path) -> Result<(Store, Refreshed), Trouble> {
    let tell = tell(service);
    let moment = moment(service, &tell);
    if let Some(store) = Store::existing(place, root)? {
        let look = store.look(moment)?;
        if look.current {
            return Ok((store, Refreshed { read_bytes: look.read, ..Refreshed::default() }));
        }
    }
    if let Some(folder) = place.parent() {
        home::make(folder)?;
    }
    let _lock = wait(service, &place.with_extension("lock"))?;
    let first = !place.is_file();
    let mut store = Store::open(place, root)?;
    let done = store.refresh(moment)?;
    if first {
        clear(place);
    }
    Ok((store, done))
}

/// Deletes the stores of trees that no longer exist: the store of a large tree takes more space than its source.
fn clear(ours: &Path) {
    let listed = ours.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for path in listed.into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_other = path != ours && path.extension().is_some_and(|ending| ending == "db");
        let tree = if is_other { Store::tree_of(&path).ok().flatten() } else { None };
        if tree.is_some_and(|tree| {
            tree.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        }) {
            Store::discard(&path);
            let _ = std::fs::remove_file(path.with_extension("lock"));
        }
    }
}

/// Waits for the lock of a store: one process indexes, the others use its result. The kernel releases the lock however that
/// process ends.
fn wait(service: &Service, path: &Path) -> Result<File, Trouble> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if service.progress.stopped() => {
                return Err(Trouble::Store(StoreError::Stopped));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::Error(error)) => return Err(Trouble::Io(error)),
        }
    }
}

fn tell(service: &Service) -> impl Fn(u64, u64) -> bool + Sync {
    let progress = service.progress.clone();
    move |files, of| {
        progress.of.store(of, Relaxed);
        progress.files.store(files, Relaxed);
        !progress.stopped()
    }
}

fn moment<'a>(service: &Service, tell: &'a (dyn Fn(u64, u64) -> bool + Sync)) -> Moment<'a> {
    Moment { now: service.clock.now().0, threads: service.threads, tell }
}

/// The git directory. In a worktree, `.git` is a file that points to it.
fn repository(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let pointer =
        if git.is_file() { std::fs::read_to_string(&git).unwrap_or_default() } else { String::new() };
    pointer.trim().strip_prefix("gitdir: ").map_or(git, |to| root.join(to))
}

/// The abbreviated hash of the checked-out commit, read from the git directory.
fn head(root: &Path) -> Option<String> {
    let git = repository(root);
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let short = |hash: &str| {
        let hash = hash.trim();
        (hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| hash[..12].to_string())
    };
    let Some(name) = head.trim().strip_prefix("ref: ") else { return short(&head) };
    if name.contains("..") || name.starts_with('/') {
        return None;
    }
    // branches are stored in the directory that worktrees share
    let shared = std::fs::read_to_string(git.join("commondir")).map_or(git.clone(), |to| git.join(to.trim()));
    let loose = std::fs::read_to_string(shared.join(name)).ok().and_then(|hash| short(&hash));
    loose.or_else(|| {
        let packed = std::fs::read_to_string(shared.join("packed-refs")).ok()?;
        packed.lines().find_map(|line| short(line.strip_suffix(name)?))
    })
}

pub(crate) fn store_error(error: &StoreError) -> Error {
    let message = error.to_string();
    match error {
        StoreError::Layout(_) => Error::new(Code::NotFound, message).hint("--root selects the source tree"),
        StoreError::Stopped => Error::new(Code::Cancelled, message),
        StoreError::Full => Error::new(Code::DiskFull, message).hint("free disk space and run this again"),
        StoreError::Damaged(_) | StoreError::Database(_) => Error::new(Code::ReadError, message),
    }
}
