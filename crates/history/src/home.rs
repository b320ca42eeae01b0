//! Loci's own directories: permanent files (`data`), rebuildable files (`cache`), short-lived files (`state`), and the
//! writer lock.
//!
//! Does not know the contents of the files.

use crate::file_system::network_file_system;
use api::{Code, Error};
use os::files::{DirBuilderExt, OpenOptionsExt};
use sources::Environment;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct Home {
    pub data: PathBuf,
    pub cache: PathBuf,
    pub state: PathBuf,
    /// The folder of catalogue and text index. A rebuild creates another one and then switches to it.
    stores: PathBuf,
}

impl Home {
    /// None without a home directory: nothing is ever stored below the working directory.
    pub fn from_places(places: &Environment) -> Option<Home> {
        let dir = |var, default| {
            let dir = places.xdg_dir(var, default);
            dir.is_absolute().then(|| dir.join("loci"))
        };
        let cache = dir("XDG_CACHE_HOME", ".cache")?;
        Some(Home {
            data: dir("XDG_DATA_HOME", ".local/share")?,
            state: dir("XDG_STATE_HOME", ".local/state")?,
            stores: current_stores(&cache),
            cache,
        })
    }

    /// A warning if data or cache are on a network file system, where databases get damaged.
    pub fn network_warning(&self) -> Option<String> {
        let found = |folder: &PathBuf| Some((folder.clone(), network_file_system(folder)?));
        let (folder, name) = [&self.data, &self.cache].into_iter().find_map(found)?;
        Some(format!("{} is on {name}: databases on network file systems can get damaged", folder.display()))
    }

    pub fn catalogue(&self) -> PathBuf {
        self.stores.join("catalogue.db")
    }

    pub fn index(&self) -> PathBuf {
        self.stores.join("search")
    }

    // ---- generations of catalogue and index

    /// The same directories with the stores that are current now: another process may have finished a rebuild.
    pub(crate) fn reload(&self) -> Home {
        Home { stores: current_stores(&self.cache), ..self.clone() }
    }

    /// The same directories with the stores that a rebuild writes.
    pub(crate) fn next_generation(&self) -> Home {
        let number = generation_number(&self.stores).map_or(1, |number| number + 1);
        Home { stores: self.cache.join(format!("{GENERATION}{number}")), ..self.clone() }
    }

    pub(crate) fn stores(&self) -> &Path {
        &self.stores
    }

    /// Makes these stores the current ones, atomically.
    pub(crate) fn publish_stores(&self) -> std::io::Result<()> {
        let (link, beside) = (self.cache.join(CURRENT), self.cache.join("current.new"));
        let _ = std::fs::remove_file(&beside);
        os::files::write_pointer(Path::new(self.stores.file_name().unwrap_or_default()), &beside)?;
        std::fs::rename(&beside, &link)?;
        os::files::sync_folder(&self.cache)
    }

    /// Stores that are not current: of earlier generations, or of a rebuild that was killed.
    pub(crate) fn stale_stores(&self) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(&self.cache).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_flat = |path: &Path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name == "search" || name.starts_with("catalogue.db")
        };
        let is_stale = |path: &PathBuf| match generation_number(path) {
            Some(_) => *path != self.stores,
            None => self.stores != self.cache && is_flat(path),
        };
        entries.filter(is_stale).collect()
    }

    /// Code indexes, one file per source tree.
    pub fn code(&self) -> PathBuf {
        self.cache.join("code")
    }

    /// Which facts were stale when they were last compared with the code.
    pub fn fact_checks(&self) -> PathBuf {
        self.cache.join("fact_checks.json")
    }

    /// When each store was last read to its last byte.
    pub(crate) fn checked_stores(&self) -> PathBuf {
        self.cache.join("checked")
    }

    /// What git said about the history of lines.
    pub fn git_answers(&self) -> PathBuf {
        self.cache.join("why")
    }

    /// Plans and journals of edits, one folder per source tree.
    pub fn edits(&self) -> PathBuf {
        self.state.join("edits")
    }

    /// Saved results: responses too large to inline.
    pub fn saved_results(&self) -> PathBuf {
        self.state.join("refs")
    }

    /// Suggestion cards that sessions were shown.
    pub fn cards(&self) -> PathBuf {
        self.state.join("cards")
    }

    /// The state of synchronisation with other devices: keys, what was exchanged, and where the storage is.
    pub fn sync(&self) -> PathBuf {
        self.data.join("sync")
    }

    /// The same for each team that this device belongs to.
    pub fn teams(&self) -> PathBuf {
        self.data.join("teams")
    }

    /// Which device sessions and facts came from.
    pub fn origins(&self) -> PathBuf {
        self.data.join("origins.db")
    }

    pub fn archive(&self) -> PathBuf {
        self.data.join("archive")
    }

    /// Histories that a person imported: the source `import` reads them.
    /// The database of small archived copies.
    pub fn packed_copies(&self) -> PathBuf {
        self.archive().join(sources::archive::PACKED_FILE)
    }

    pub fn imports(&self) -> PathBuf {
        self.data.join("imports")
    }

    /// The memory database.
    pub fn memory(&self) -> PathBuf {
        self.data.join("memory.db")
    }

    pub fn key(&self) -> PathBuf {
        self.data.join("mask.key")
    }

    /// The repositories of folders, and names of projects.
    pub fn projects(&self) -> PathBuf {
        self.data.join("projects.json")
    }

    pub fn tombstones(&self) -> PathBuf {
        self.data.join("forgotten")
    }

    /// Both copies of the tombstones: one with the archive, so that whoever restores or carries it away has them.
    pub(crate) fn tombstone_copies(&self) -> [PathBuf; 2] {
        [self.archive().join("forgotten"), self.tombstones()]
    }

    /// What was lost or damaged and not mended yet. Every home that has indexed anything has this list, if only an empty one.
    pub(crate) fn standing_problems(&self) -> PathBuf {
        self.data.join("problems")
    }

    /// Held while memory is consolidated.
    pub fn memory_lock(&self) -> PathBuf {
        self.data.join("memory.lock")
    }

    /// The ledger of model calls and their costs.
    pub fn ledger(&self) -> PathBuf {
        self.data.join("ledger.db")
    }

    /// The working directory of a model that is a command: empty, and not a project.
    pub fn empty_dir(&self) -> PathBuf {
        self.cache.join("nowhere")
    }

    /// Held while an operation such as an investigation is running.
    pub fn op_lock(&self, name: &str) -> PathBuf {
        self.ops().join(format!("{name}.lock"))
    }

    pub fn ops(&self) -> PathBuf {
        self.cache.join("ops")
    }

    /// Held during model calls: two concurrent runs would pay twice.
    pub fn model_lock(&self) -> PathBuf {
        self.data.join("model.lock")
    }

    /// The mailbox database: messages between agents.
    pub fn mailbox(&self) -> PathBuf {
        self.data.join("post.db")
    }

    /// Messages dispatched while no daemon was running.
    pub fn spool(&self) -> PathBuf {
        self.data.join("pending.jsonl")
    }

    fn lock(&self) -> PathBuf {
        self.data.join("writer.lock")
    }

    /// Creates both directories, accessible only to their owner, as is that of state if it exists.
    pub fn create_dirs(&self) -> Result<(), Error> {
        let state = self.state.is_dir().then_some(&self.state);
        [&self.data, &self.cache]
            .into_iter()
            .chain(state)
            .try_for_each(|dir| create_private_dir(dir).map_err(|e| unwritable(dir, &e)))
    }
}

/// The link to the current stores. Without it they are in the cache directory itself, as a first build leaves them.
const CURRENT: &str = "current";
const GENERATION: &str = "stores-";

fn current_stores(cache: &Path) -> PathBuf {
    let target = os::files::read_pointer(&cache.join(CURRENT));
    let known = target.filter(|name| generation_number(name).is_some() && name.components().count() == 1);
    known.map_or_else(|| cache.to_path_buf(), |name| cache.join(name))
}

fn generation_number(stores: &Path) -> Option<u64> {
    stores.file_name()?.to_str()?.strip_prefix(GENERATION)?.parse().ok()
}

/// Creates a directory with mode 0700; tightens the mode of an existing one.
pub fn create_private_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if os::files::is_open_to_others(&std::fs::metadata(dir)?) {
        os::files::set_mode(dir, 0o700)?;
    }
    Ok(())
}

/// Takes the access of others away from the files in a directory.
pub(crate) fn make_files_private(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(meta) if meta.is_file() && os::files::is_open_to_others(&meta) => {
                os::files::set_mode(&entry.path(), 0o600)?;
            }
            // a file that was merged meanwhile is gone
            _ => {}
        }
    }
    Ok(())
}

pub fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return disk_full(path);
    }
    Error::new(Code::ReadError, format!("{}: {error}", path.display()))
        .hint("Loci stores its files below XDG_DATA_HOME and XDG_CACHE_HOME; both must be writable")
}

pub fn disk_full(path: &Path) -> Error {
    Error::new(Code::DiskFull, format!("no space left to write {}", path.display()))
        .hint("free some space and run it again; stored data is intact, and `loci archive` shows the size of the archive")
}

/// Free space on the file system of a directory.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    os::files::free_bytes(dir)
}

/// Replaces a file atomically, with mode 0600.
pub fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        // Sync the folder so that the rename survives a power failure: a tombstone must not be lost.
        os::files::sync_folder(path.parent().unwrap_or(path))
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// An exclusive file lock; the kernel releases it however the process ends.
pub struct Lock {
    _file: File,
}

/// How long a second writer waits for the first.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);
/// After this time it says for whom it waits.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// Says for whom a writer waits. Set by an interface that a person sees.
static ON_WAIT: OnceLock<fn(&str)> = OnceLock::new();

/// Sets what says for whom a writer waits; the first call counts.
pub fn report_waiting(report: fn(&str)) {
    let _ = ON_WAIT.set(report);
}

impl Lock {
    /// Acquires the writer lock, waiting for the current writer.
    pub fn acquire(home: &Home) -> Result<Lock, Error> {
        loop {
            if let Some(lock) = Lock::acquire_unless(home, || false)? {
                return Ok(lock);
            }
        }
    }

    /// Acquires the writer lock. None: `will_do` reported that the current writer has committed enough.
    pub(crate) fn acquire_unless(home: &Home, will_do: impl Fn() -> bool) -> Result<Option<Lock>, Error> {
        Lock::wait_for(home, &home.lock(), will_do)
    }

    /// Acquires the lock at `path`, waiting for its holder.
    pub fn acquire_at(home: &Home, path: &Path) -> Result<Lock, Error> {
        loop {
            if let Some(lock) = Lock::wait_for(home, path, || false)? {
                return Ok(lock);
            }
        }
    }

    fn wait_for(home: &Home, path: &Path, will_do: impl Fn() -> bool) -> Result<Option<Lock>, Error> {
        Lock::wait_at_most(LOCK_TIMEOUT, home, path, will_do)
    }

    fn wait_at_most(
        patience: Duration,
        home: &Home,
        path: &Path,
        will_do: impl Fn() -> bool,
    ) -> Result<Option<Lock>, Error> {
        let (began, mut is_reported) = (Instant::now(), false);
        loop {
            if let Some(lock) = Lock::try_acquire_at(home, path)? {
                return Ok(Some(lock));
            }
            if will_do() {
                return Ok(None);
            }
            if began.elapsed() > patience {
                return Err(busy_error(path, patience));
            }
            if !is_reported && began.elapsed() > SILENT_WAIT.min(patience) {
                is_reported = true;
                if let Some(report) = ON_WAIT.get() {
                    report(&format!(
                        "waiting for another loci process that is writing{}",
                        holder_suffix(path)
                    ));
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Acquires the lock at `path` without waiting. None: another process holds it.
    pub fn try_acquire_at(home: &Home, path: &Path) -> Result<Option<Lock>, Error> {
        home.create_dirs()?;
        let fail = |error| unwritable(path, &error);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        // The previous holder may have deleted the file between open and lock: then this lock protects nothing.
        let own = os::files::open_identity(&file).map_err(fail)?;
        let there = std::fs::metadata(path).and_then(|there| os::files::identity(path, &there));
        if there.ok() != Some(own) {
            return Ok(None);
        }
        // The PID is only for the message to a waiting process; on a full disk the lock works without it.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = write!(file, "{}", std::process::id());
        Ok(Some(Lock { _file: file }))
    }
}

impl Lock {
    /// Whether a process holds this lock.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

fn busy_error(lock: &Path, waited: Duration) -> Error {
    let message = format!(
        "another loci process is writing{}; it did not end within {} s",
        holder_suffix(lock),
        waited.as_secs()
    );
    let error = Error::new(Code::WriterBusy, message);
    match read_holder(lock) {
        Some(pid) => error.hint(format!("if it is stopped, `kill -CONT {pid}` lets it go on; then retry")),
        None => error.hint("wait for it or stop it, then retry"),
    }
}

/// The process that holds a lock, for messages; it could not write its number on a full disk.
fn read_holder(lock: &Path) -> Option<u32> {
    std::fs::read_to_string(lock).ok()?.trim().parse().ok()
}

fn holder_suffix(lock: &Path) -> String {
    read_holder(lock).map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// A random token of 32 hexadecimal digits.
pub fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    os::fill_random(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The key for placeholders of secrets, created at the first secret. All zeros if it cannot be stored, so that the same
/// request still returns the same bytes.
pub fn mask_key(home: Option<&Home>) -> [u8; 32] {
    home.and_then(own_key).unwrap_or([0; 32])
}

/// The same key without the all-zero fallback: None if it cannot be stored.
pub fn own_key(home: &Home) -> Option<[u8; 32]> {
    read_key(&home.key()).or_else(|| make_key(home))
}

fn read_key(path: &Path) -> Option<[u8; 32]> {
    std::fs::read(path).ok()?.try_into().ok()
}

fn make_key(home: &Home) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    os::fill_random(&mut key).ok()?;
    create_private_dir(&home.data).ok()?;
    // Linked, not renamed: two processes that create a key at once both use the first.
    let beside = home.data.join(format!("mask.key.{}", std::process::id()));
    replace_file(&beside, &key).ok()?;
    let _ = std::fs::hard_link(&beside, home.key());
    let _ = std::fs::remove_file(&beside);
    read_key(&home.key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_waits_too_long_says_for_whom_and_what_helps() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = |name: &str| tmp.path().join(name);
        let (data, cache, state) = (dir("data"), dir("cache"), dir("state"));
        let home = Home { data, state, stores: cache.clone(), cache };
        let held = Lock::acquire(&home).unwrap();
        let refused = Lock::wait_at_most(Duration::from_millis(100), &home, &home.lock(), || false);
        let Err(error) = refused else { panic!("the lock is held") };
        let pid = std::process::id();
        assert_eq!(error.code, Code::WriterBusy);
        assert!(error.message.contains(&format!("(process {pid})")), "{}", error.message);
        assert!(
            error.hints.iter().any(|hint| hint.contains(&format!("kill -CONT {pid}"))),
            "{:?}",
            error.hints
        );
        drop(held);
        assert!(Lock::wait_at_most(Duration::ZERO, &home, &home.lock(), || false).unwrap().is_some());
    }
}
