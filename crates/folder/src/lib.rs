//! The folder `.loci/` at the root of a tree: its file names, and how its files are read, listed and written. Writes are atomic
//! (a reader sees the old file or the new one), and unchanged files are not rewritten.
//!
//! Does not know the content of the files, and does not follow symbolic links: their targets belong to someone else.

pub mod access;

use os::directory::Directory;
use std::fs::{File, TryLockError};
use std::io::{Error as IoError, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const FOLDER_NAME: &str = ".loci";
/// Recently requested, pinned and focused types.
pub const ACCESS: &str = "access.json";
pub const PROMPT_WINDOW: &str = "prompt_window.md";
/// The folder of outlines and notes, and the folder of packs.
pub const TYPES: &str = "types";
pub const PACKS: &str = "packs";
/// The folder of notes about dependency cycles, and the folder of investigations.
pub const GROUPS: &str = "semantic";
pub const OPS: &str = "ops";
/// The list of projects, and the folder of type lists, one per source folder.
pub const INDEX: &str = "index.json";
pub const SHARDS: &str = "index";

/// Another process may start writing as soon as the folder exists.
const CREATE_TIMEOUT: Duration = Duration::from_mins(1);

const LOCK: &str = "lock";
const IGNORE: &str = ".gitignore";
/// What one person looked at does not concern others; the window and temporary files can be recreated.
const IGNORE_RULES: &str = "# personal, or made again by whoever asks; the rest is meant to be committed\naccess.json*\nprompt_window.md\nops/\nlock\n.*.new\n";

/// A `.gitignore` written by an older version does not cover investigations.
const OPS_IGNORE: &str = "ops/.gitignore";

/// Larger files are not ours, and reading them would only fill memory.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The path of a type's outline.
pub fn outline_path(id: &str) -> String {
    format!("{TYPES}/{id}.outline.md")
}

/// The path of a type's note.
pub fn note_path(id: &str) -> String {
    format!("{TYPES}/{id}.semantic.md")
}

/// The path of the note about a dependency cycle.
pub fn group_note_path(group: &str) -> String {
    format!("{GROUPS}/{group}.md")
}

/// The path of an investigation.
pub fn investigation_path(id: &str) -> String {
    format!("{OPS}/{id}.json")
}

pub fn pack_path(name: &str) -> String {
    format!("{PACKS}/{name}.md")
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("`{0}` is a symbolic link or not a folder; Loci does not read or write through it")]
    NotAFolder(PathBuf),
    #[error("`{0}` is a symbolic link or not a regular file; Loci leaves it alone")]
    NotAFile(PathBuf),
    #[error("no space left to write `{0}`")]
    Full(PathBuf),
    #[error("cannot write `{0}`: it is read-only or belongs to another user")]
    ReadOnly(PathBuf),
    #[error("`{0}` is too large to be a file written by Loci")]
    TooLarge(PathBuf),
    #[error("another loci process is writing in `{0}`")]
    Busy(PathBuf),
    #[error("`{path}`: {error}")]
    Io { path: PathBuf, error: IoError },
}

fn folder_error(path: &Path, error: impl Into<IoError>) -> FolderError {
    let (path, error) = (path.to_path_buf(), error.into());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FolderError::Full(path)
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => FolderError::ReadOnly(path),
        _ => FolderError::Io { path, error },
    }
}

/// Holds an open directory handle: if the folder is replaced with a symbolic link afterwards, the link is not followed.
pub struct LociFolder {
    path: PathBuf,
    dir: Directory,
}

impl LociFolder {
    /// Opens the folder of a tree, if it exists.
    pub fn open(root: &Path) -> Result<Option<LociFolder>, FolderError> {
        let path = root.join(FOLDER_NAME);
        let above = open_root(root)?;
        Ok(open_subfolder(&above, FOLDER_NAME, &path)?.map(|dir| LociFolder { path, dir }))
    }

    /// Opens the folder of a tree, creating it if necessary.
    pub fn open_or_create(root: &Path) -> Result<LociFolder, FolderError> {
        let path = root.join(FOLDER_NAME);
        let above = open_root(root)?;
        let made = create_subfolder(&above, FOLDER_NAME, &path)?;
        let dir = open_subfolder(&above, FOLDER_NAME, &path)?
            .ok_or_else(|| folder_error(&path, ErrorKind::NotFound))?;
        let folder = LociFolder { path, dir };
        if made || folder.is_incomplete() {
            // acquiring the lock removes temporary files that other processes left behind
            folder.lock_for_writing(CREATE_TIMEOUT)?.write(IGNORE, IGNORE_RULES.as_bytes())?;
        }
        Ok(folder)
    }

    /// Whether the process that created the folder was killed before it wrote anything. If a person deleted the `.gitignore`, the
    /// folder has other content.
    fn is_incomplete(&self) -> bool {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.all(|name| name == LOCK || is_temporary(&name.to_string_lossy())) && !self.path(IGNORE).exists()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the content of a file, if it exists.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.path(name);
        let Some((dir, own)) = self.open_parent(name)? else { return Ok(None) };
        let file = match dir.open_file(own) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(FolderError::NotAFile(path)),
            Err(error) => return Err(folder_error(&path, error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| folder_error(&path, error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(FolderError::TooLarge(path));
        }
        Ok(Some(bytes))
    }

    /// The regular files in a subfolder, by name.
    pub fn list_files(&self, inner: &str) -> Result<Vec<String>, FolderError> {
        let path = self.path(inner);
        let Some(dir) = open_subfolder(&self.dir, inner, &path)? else { return Ok(Vec::new()) };
        dir.list_files().map_err(|error| folder_error(&path, error))
    }

    /// Waits for the write lock. Removes the temporary files of killed writers: while the lock is held, no other process can own
    /// one.
    pub fn lock_for_writing(&self, patience: Duration) -> Result<WriteLock<'_>, FolderError> {
        let path = self.path(LOCK);
        let lock =
            self.dir.open_or_create_file(LOCK, FILE_MODE).map_err(|error| folder_error(&path, error))?;
        let until = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(FolderError::Busy(self.path.clone())),
                Err(TryLockError::Error(error)) => return Err(folder_error(&path, error)),
            }
        }
        for left in self.dir.list_files().unwrap_or_default().iter().filter(|name| is_temporary(name)) {
            let _ = self.dir.remove_file(left);
        }
        Ok(WriteLock { folder: self, _lock: lock })
    }

    /// Opens the directory that contains `name`; returns it with the file name.
    fn open_parent<'n>(&self, name: &'n str) -> Result<Option<(Directory, &'n str)>, FolderError> {
        let Some((inner, own)) = name.split_once('/') else {
            let dir = self.dir.try_clone().map_err(|error| folder_error(&self.path, error))?;
            return Ok(Some((dir, name)));
        };
        Ok(open_subfolder(&self.dir, inner, &self.path(inner))?.map(|dir| (dir, own)))
    }

    /// Writes a temporary file and renames it into place.
    fn replace_file(&self, name: &str, bytes: &[u8], lasting: bool) -> Result<(), FolderError> {
        let path = self.path(name);
        let beside = temporary_name();
        let done = (|| {
            let (dir, own) =
                self.open_parent(name)?.ok_or_else(|| folder_error(&path, ErrorKind::NotFound))?;
            let written = self.dir.create_file(&beside, FILE_MODE).and_then(|mut file| {
                file.write_all(bytes)?;
                if lasting { file.sync_data() } else { Ok(()) }
            });
            written.map_err(|error| folder_error(&path, error))?;
            self.dir.rename(&beside, &dir, own).map_err(|error| folder_error(&path, error))
        })();
        if done.is_err() {
            let _ = self.dir.remove_file(&beside);
        }
        done
    }
}

/// Like any other file of a working tree: the umask decides.
const FILE_MODE: u32 = 0o666;

fn open_root(root: &Path) -> Result<Directory, FolderError> {
    Directory::open(root).map_err(|error| folder_error(root, error))
}

fn open_subfolder(above: &Directory, name: &str, path: &Path) -> Result<Option<Directory>, FolderError> {
    match above.open_subfolder(name) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(FolderError::NotAFolder(path.to_path_buf()))
        }
        Err(error) => Err(folder_error(path, error)),
    }
}

/// Returns false if the folder already exists.
fn create_subfolder(above: &Directory, name: &str, path: &Path) -> Result<bool, FolderError> {
    match above.create_subfolder(name) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(folder_error(path, error)),
    }
}

/// A temporary file name that no other writer uses.
fn temporary_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(".{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn is_temporary(name: &str) -> bool {
    name.strip_prefix('.').is_some_and(|rest| rest.strip_suffix(".new").is_some())
}

/// Exclusive write access to the folder. The kernel releases the lock when the process ends, for any reason. A value that is read
/// under the lock is still current when it is written back.
pub struct WriteLock<'f> {
    folder: &'f LociFolder,
    _lock: File,
}

impl WriteLock<'_> {
    /// Returns false if the file already has this content.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<bool, FolderError> {
        self.write_if_changed(name, bytes, true)
    }

    /// Like `write`, but without syncing to disk, for files that can be recreated: an index has a file for each of thousands of
    /// types.
    pub fn write_unsynced(&self, name: &str, bytes: &[u8]) -> Result<bool, FolderError> {
        self.write_if_changed(name, bytes, false)
    }

    fn write_if_changed(&self, name: &str, bytes: &[u8], lasting: bool) -> Result<bool, FolderError> {
        match self.folder.read(name) {
            Ok(Some(there)) if there == bytes => return Ok(false),
            Ok(_) | Err(FolderError::TooLarge(_)) => {}
            Err(error) => return Err(error),
        }
        if let Some((inner, _)) = name.split_once('/') {
            let made = create_subfolder(&self.folder.dir, inner, &self.folder.path(inner))?;
            if made && inner == OPS {
                self.folder.replace_file(OPS_IGNORE, b"*\n", lasting)?;
            }
        }
        self.folder.replace_file(name, bytes, lasting)?;
        Ok(true)
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let Some((dir, own)) = self.folder.open_parent(name)? else { return Ok(()) };
        match dir.remove_file(own) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Ok(()) => Ok(()),
            Err(error) => Err(folder_error(&self.folder.path(name), error)),
        }
    }

    /// Renames a file, if it exists and the new name is free.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), FolderError> {
        if let Some(bytes) = self.folder.read(from)?
            && self.folder.read(to)?.is_none()
        {
            self.write(to, &bytes)?;
            self.remove(from)?;
        }
        Ok(())
    }

    /// Moves a damaged file aside, so that a person can still inspect it; returns its new path.
    pub fn set_aside(&self, name: &str) -> Result<PathBuf, FolderError> {
        let aside = format!("{name}.damaged");
        let dir = &self.folder.dir;
        dir.rename(name, dir, &aside).map_err(|error| folder_error(&self.folder.path(name), error))?;
        Ok(self.folder.path(&aside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_mins(1);

    fn file_names(dir: &Path) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_created_once_and_ignores_personal_files() {
        let root = tempfile::tempdir().unwrap();
        assert!(LociFolder::open(root.path()).unwrap().is_none());
        LociFolder::open_or_create(root.path()).unwrap();
        let ignore = root.path().join(".loci/.gitignore");
        assert!(
            fs::read_to_string(&ignore).unwrap().contains("\naccess.json*\nprompt_window.md\nops/\nlock\n")
        );
        // A person may choose to commit their access history.
        fs::write(&ignore, "mine").unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "mine");
        // An older `.gitignore` must not publish investigations.
        folder.lock_for_writing(SOON).unwrap().write(&investigation_path("O_x"), b"{}").unwrap();
        assert_eq!(fs::read_to_string(root.path().join(".loci/ops/.gitignore")).unwrap(), "*\n");
        fs::remove_dir_all(root.path().join(".loci/ops")).unwrap();
        // If the process was killed before writing it, the next one writes it; if a person deleted it, it stays deleted.
        fs::remove_file(&ignore).unwrap();
        fs::write(root.path().join(".loci/.4711.new"), "half").unwrap();
        LociFolder::open_or_create(root.path()).unwrap();
        assert!(ignore.exists());
        fs::remove_file(&ignore).unwrap();
        fs::write(root.path().join(".loci/index.json"), "{}").unwrap();
        LociFolder::open_or_create(root.path()).unwrap();
        assert!(!ignore.exists());
        assert!(LociFolder::open(root.path()).unwrap().is_some());
    }

    #[test]
    fn unchanged_files_are_not_rewritten_and_no_temporary_file_remains() {
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        let lock = folder.lock_for_writing(LONG).unwrap();
        let name = pack_path("core");
        assert_eq!(folder.read(&name).unwrap(), None);
        assert!(lock.write(&name, b"one").unwrap());
        let inode = |at: &str| {
            use std::os::unix::fs::MetadataExt;
            fs::metadata(folder.path(at)).unwrap().ino()
        };
        let before = inode(&name);
        assert!(!lock.write(&name, b"one").unwrap());
        assert_eq!(inode(&name), before, "the same bytes are not written again");
        assert!(lock.write(&name, b"two").unwrap());
        assert_eq!(folder.read(&name).unwrap().unwrap(), b"two");
        assert_eq!(folder.list_files(PACKS).unwrap(), ["core.md"]);
        assert_eq!(folder.list_files(TYPES).unwrap(), [""; 0]);
        assert_eq!(file_names(&folder.path), [".gitignore", "lock", "packs"]);
    }

    #[test]
    fn temporary_files_of_a_killed_writer_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        fs::write(folder.path(".77-0.new"), "half").unwrap();
        drop(folder.lock_for_writing(LONG).unwrap());
        assert_eq!(file_names(&folder.path), [".gitignore", "lock"]);
    }

    #[test]
    fn the_lock_is_exclusive_and_no_update_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        let lock = folder.lock_for_writing(LONG).unwrap();
        assert!(matches!(folder.lock_for_writing(SOON), Err(FolderError::Busy(_))));
        drop(lock);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let lock = folder.lock_for_writing(LONG).unwrap();
                        let mut bytes = folder.read("count").unwrap().unwrap_or_default();
                        bytes.push(b'x');
                        assert!(lock.write("count", &bytes).unwrap());
                    }
                });
            }
        });
        assert_eq!(folder.read("count").unwrap().unwrap().len(), 40);
    }

    /// Replaces each kind of file with a link, and checks the error.
    #[test]
    fn nothing_is_read_or_written_through_a_link() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "theirs").unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), root.path().join(FOLDER_NAME)).unwrap();
        assert!(matches!(LociFolder::open(root.path()), Err(FolderError::NotAFolder(_))));
        assert!(matches!(LociFolder::open_or_create(root.path()), Err(FolderError::NotAFolder(_))));
        fs::remove_file(root.path().join(FOLDER_NAME)).unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        symlink(elsewhere.path(), folder.path(PACKS)).unwrap();
        symlink(elsewhere.path().join("file"), folder.path(ACCESS)).unwrap();
        symlink(elsewhere.path().join("new"), folder.path(PROMPT_WINDOW)).unwrap();
        let lock = folder.lock_for_writing(LONG).unwrap();
        assert!(matches!(lock.write(&pack_path("core"), b"x"), Err(FolderError::NotAFolder(_))));
        assert!(matches!(folder.list_files(PACKS), Err(FolderError::NotAFolder(_))));
        assert!(matches!(folder.read(ACCESS), Err(FolderError::NotAFile(_))));
        assert!(matches!(lock.write(ACCESS, b"x"), Err(FolderError::NotAFile(_))));
        assert!(matches!(lock.write(PROMPT_WINDOW, b"x"), Err(FolderError::NotAFile(_))));
        assert_eq!(file_names(elsewhere.path()), ["file"]);
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "theirs");
    }

    #[test]
    fn special_files_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(FOLDER_NAME), "a file").unwrap();
        assert!(matches!(LociFolder::open_or_create(root.path()), Err(FolderError::NotAFolder(_))));
        fs::remove_file(root.path().join(FOLDER_NAME)).unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        fs::create_dir(folder.path(ACCESS)).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            folder.path(PROMPT_WINDOW),
            rustix::fs::Mode::from_raw_mode(0o666),
        )
        .unwrap();
        assert!(matches!(folder.read(ACCESS), Err(FolderError::NotAFile(_))));
        assert!(matches!(folder.read(PROMPT_WINDOW), Err(FolderError::NotAFile(_))));
        assert!(matches!(LociFolder::open(&root.path().join("nowhere")), Err(FolderError::Io { .. })));
    }

    #[test]
    fn a_damaged_file_is_moved_aside() {
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        let lock = folder.lock_for_writing(LONG).unwrap();
        lock.write(ACCESS, b"{").unwrap();
        assert_eq!(lock.set_aside(ACCESS).unwrap(), folder.path("access.json.damaged"));
        assert_eq!(folder.read(ACCESS).unwrap(), None);
    }

    #[test]
    fn errors_of_a_full_or_read_only_disk_are_readable() {
        let path = Path::new("a/.loci/packs/core.md");
        for (kind, words) in [
            (ErrorKind::StorageFull, "no space left to write `a/.loci/packs/core.md`"),
            (ErrorKind::QuotaExceeded, "no space left"),
            (ErrorKind::ReadOnlyFilesystem, "it is read-only"),
            (ErrorKind::PermissionDenied, "cannot write"),
        ] {
            assert!(folder_error(path, kind).to_string().contains(words), "{kind}");
        }
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o500)).unwrap();
        // Nothing is read-only to the superuser.
        if !rustix::process::geteuid().is_root() {
            assert!(matches!(folder.lock_for_writing(SOON), Err(FolderError::ReadOnly(_))));
        }
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
