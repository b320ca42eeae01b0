//! The folder `.loci/` at the root of a tree: what its files are called, and how one is read, listed and written. A reader sees the
//! old file or the new one, never half of it, and nothing is written that is there already.
//!
//! Does not know what the files hold, and follows no link: what lies behind one is somebody else's.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat};
use std::fs::{File, TryLockError};
use std::io::{Error as IoError, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const NAME: &str = ".loci";
/// What was asked for lately, what is pinned and what the work is about.
pub const ACCESS: &str = "access.json";
pub const PROMPT_WINDOW: &str = "prompt_window.md";
/// The folder of outlines and notes, and that of packs.
pub const TYPES: &str = "types";
pub const PACKS: &str = "packs";
/// The folder of notes about several types that hold each other, and that of investigations.
pub const GROUPS: &str = "semantic";
pub const OPS: &str = "ops";
/// The projects; and the folder of lists of types, one for each folder of the source.
pub const INDEX: &str = "index.json";
pub const SHARDS: &str = "index";

/// Another may be writing there as soon as the folder is made.
const MAKING: Duration = Duration::from_mins(1);

const LOCK: &str = "lock";
const IGNORE: &str = ".gitignore";
/// What one person looked at is no business of the others; the window and half-written files are made again.
const IGNORED: &str = "# personal, or made again by whoever asks; the rest is meant to be committed\naccess.json*\nprompt_window.md\nops/\nlock\n.*.new\n";

/// Trees whose `.gitignore` is older do not know of investigations.
const OPS_IGNORE: &str = "ops/.gitignore";

/// What is larger than this is not ours, and would only be held in memory.
const MOST: u64 = 256 << 20;

/// Where the outline of a type is kept.
pub fn outline_of(id: &str) -> String {
    format!("{TYPES}/{id}.outline.md")
}

/// Where the note about a type is kept.
pub fn note_of(id: &str) -> String {
    format!("{TYPES}/{id}.semantic.md")
}

/// Where the note about types that hold each other is kept.
pub fn group_note_of(group: &str) -> String {
    format!("{GROUPS}/{group}.md")
}

/// Where an investigation is kept.
pub fn op_of(id: &str) -> String {
    format!("{OPS}/{id}.json")
}

pub fn pack_of(name: &str) -> String {
    format!("{PACKS}/{name}.md")
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("`{0}` is a link or no folder, and nothing is read or written through it")]
    NotAFolder(PathBuf),
    #[error("`{0}` is a link or no plain file, and is left alone")]
    NotAFile(PathBuf),
    #[error("there is no room left to write `{0}`")]
    Full(PathBuf),
    #[error("`{0}` may not be written: it is read-only, or belongs to somebody else")]
    ReadOnly(PathBuf),
    #[error("`{0}` is larger than anything Loci writes")]
    TooLarge(PathBuf),
    #[error("another loci is writing in `{0}`")]
    Busy(PathBuf),
    #[error("`{path}`: {error}")]
    Io { path: PathBuf, error: IoError },
}

fn told(path: &Path, error: impl Into<IoError>) -> FolderError {
    let (path, error) = (path.to_path_buf(), error.into());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FolderError::Full(path)
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => FolderError::ReadOnly(path),
        _ => FolderError::Io { path, error },
    }
}

/// Held by its handle: a folder that is exchanged for a link afterwards is not followed.
pub struct Folder {
    path: PathBuf,
    dir: OwnedFd,
}

const INTO: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);
/// A FIFO in a file's place must not make anybody wait for its writer.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Folder {
    /// The folder of a tree, if it has one.
    pub fn at(root: &Path) -> Result<Option<Folder>, FolderError> {
        let path = root.join(NAME);
        let above = open_root(root)?;
        Ok(enter(&above, NAME, &path)?.map(|dir| Folder { path, dir }))
    }

    /// The folder of a tree, made if there is none.
    pub fn make(root: &Path) -> Result<Folder, FolderError> {
        let path = root.join(NAME);
        let above = open_root(root)?;
        let made = make_inside(&above, NAME, &path)?;
        let dir = enter(&above, NAME, &path)?.ok_or_else(|| told(&path, ErrorKind::NotFound))?;
        let folder = Folder { path, dir };
        if made || folder.is_begun() {
            // whoever holds the pen clears away what others have written half
            folder.pen(MAKING)?.write(IGNORE, IGNORED.as_bytes())?;
        }
        Ok(folder)
    }

    /// Whoever made it was killed before it had put anything in; a person who wants no `.gitignore` has something else in it.
    fn is_begun(&self) -> bool {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.all(|name| name == LOCK || is_half(&name.to_string_lossy())) && !self.path(IGNORE).exists()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What a file holds, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.path(name);
        let Some((dir, own)) = self.place(name)? else { return Ok(None) };
        let file = match openat(&dir, own, PLAIN | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => {
                return Err(FolderError::NotAFile(path));
            }
            Err(error) => return Err(told(&path, error)),
        };
        let kind = fstat(&file).map_err(|error| told(&path, error))?.st_mode;
        if FileType::from_raw_mode(kind) != FileType::RegularFile {
            return Err(FolderError::NotAFile(path));
        }
        let mut bytes = Vec::new();
        file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| told(&path, error))?;
        if bytes.len() as u64 > MOST {
            return Err(FolderError::TooLarge(path));
        }
        Ok(Some(bytes))
    }

    /// The plain files in one of its folders, by name.
    pub fn list(&self, inner: &str) -> Result<Vec<String>, FolderError> {
        let path = self.path(inner);
        let Some(dir) = enter(&self.dir, inner, &path)? else { return Ok(Vec::new()) };
        plain_files(&dir).map_err(|error| told(&path, error))
    }

    /// Waits for whoever writes, and keeps others from it. What a writer that was killed left behind is cleared away: while the
    /// pen is held, nobody else's half-written file can be.
    pub fn pen(&self, patience: Duration) -> Result<Pen<'_>, FolderError> {
        let path = self.path(LOCK);
        let flags = PLAIN | OFlags::RDWR | OFlags::CREATE;
        let lock = File::from(openat(&self.dir, LOCK, flags, MODE).map_err(|error| told(&path, error))?);
        let until = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(FolderError::Busy(self.path.clone())),
                Err(TryLockError::Error(error)) => return Err(told(&path, error)),
            }
        }
        for left in plain_files(&self.dir).unwrap_or_default().iter().filter(|name| is_half(name)) {
            let _ = unlinkat(&self.dir, left.as_str(), AtFlags::empty());
        }
        Ok(Pen { folder: self, _lock: lock })
    }

    /// The folder that a name lies in, and what it is called there.
    fn place<'n>(&self, name: &'n str) -> Result<Option<(OwnedFd, &'n str)>, FolderError> {
        let Some((inner, own)) = name.split_once('/') else {
            let dir = self.dir.try_clone().map_err(|error| told(&self.path, error))?;
            return Ok(Some((dir, name)));
        };
        Ok(enter(&self.dir, inner, &self.path(inner))?.map(|dir| (dir, own)))
    }

    /// Writes beside everything else and gives it its name in one step.
    fn replace(&self, name: &str, bytes: &[u8], lasting: bool) -> Result<(), FolderError> {
        let path = self.path(name);
        let beside = half();
        let done = (|| {
            let (dir, own) = self.place(name)?.ok_or_else(|| told(&path, ErrorKind::NotFound))?;
            let flags = PLAIN | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let written = openat(&self.dir, &beside, flags, MODE).map(File::from).map_err(IoError::from);
            let written = written.and_then(|mut file| {
                file.write_all(bytes)?;
                if lasting { file.sync_data() } else { Ok(()) }
            });
            written.map_err(|error| told(&path, error))?;
            renameat(&self.dir, &beside, &dir, own).map_err(|error| told(&path, error))
        })();
        if done.is_err() {
            let _ = unlinkat(&self.dir, &beside, AtFlags::empty());
        }
        done
    }
}

/// As any other file of a working tree: the owner's umask decides.
const MODE: Mode = Mode::from_raw_mode(0o666);

fn open_root(root: &Path) -> Result<OwnedFd, FolderError> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, root, flags, Mode::empty()).map_err(|error| told(root, error))
}

fn enter(above: &OwnedFd, name: &str, path: &Path) -> Result<Option<OwnedFd>, FolderError> {
    match openat(above, name, INTO, Mode::empty()) {
        Ok(dir) => Ok(Some(dir)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            Err(FolderError::NotAFolder(path.to_path_buf()))
        }
        Err(error) => Err(told(path, error)),
    }
}

/// False: it was there already.
fn make_inside(above: &OwnedFd, name: &str, path: &Path) -> Result<bool, FolderError> {
    match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::EXIST) => Ok(false),
        Err(error) => Err(told(path, error)),
    }
}

fn plain_files(dir: &OwnedFd) -> Result<Vec<String>, IoError> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if entry.file_type() == FileType::RegularFile {
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// A name for what is being written that no other writer has.
fn half() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(".{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn is_half(name: &str) -> bool {
    name.strip_prefix('.').is_some_and(|rest| rest.strip_suffix(".new").is_some())
}

/// Whoever holds it is the only one who writes; the kernel takes it back however the process ends. What is read while it is held
/// is still so when it is written.
pub struct Pen<'f> {
    folder: &'f Folder,
    _lock: File,
}

impl Pen<'_> {
    /// False: the file holds just that already.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<bool, FolderError> {
        self.put(name, bytes, true)
    }

    /// The same for what can be made again, without waiting for the disk: an index has a file for each of thousands of types.
    pub fn jot(&self, name: &str, bytes: &[u8]) -> Result<bool, FolderError> {
        self.put(name, bytes, false)
    }

    fn put(&self, name: &str, bytes: &[u8], lasting: bool) -> Result<bool, FolderError> {
        match self.folder.read(name) {
            Ok(Some(there)) if there == bytes => return Ok(false),
            Ok(_) | Err(FolderError::TooLarge(_)) => {}
            Err(error) => return Err(error),
        }
        if let Some((inner, _)) = name.split_once('/') {
            let made = make_inside(&self.folder.dir, inner, &self.folder.path(inner))?;
            if made && inner == OPS {
                self.folder.replace(OPS_IGNORE, b"*\n", lasting)?;
            }
        }
        self.folder.replace(name, bytes, lasting)?;
        Ok(true)
    }

    /// Takes a file away, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let Some((dir, own)) = self.folder.place(name)? else { return Ok(()) };
        match unlinkat(&dir, own, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(told(&self.folder.path(name), error)),
        }
    }

    /// Gives a file another name, if it is there and nothing has that name yet.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), FolderError> {
        if let Some(bytes) = self.folder.read(from)?
            && self.folder.read(to)?.is_none()
        {
            self.write(to, &bytes)?;
            self.remove(from)?;
        }
        Ok(())
    }

    /// Puts a file that cannot be understood out of the way, where a person can still look at it, and says where.
    pub fn set_aside(&self, name: &str) -> Result<PathBuf, FolderError> {
        let aside = format!("{name}.damaged");
        renameat(&self.folder.dir, name, &self.folder.dir, &aside)
            .map_err(|error| told(&self.folder.path(name), error))?;
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

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_made_once_and_says_what_is_personal() {
        let root = tempfile::tempdir().unwrap();
        assert!(Folder::at(root.path()).unwrap().is_none());
        Folder::make(root.path()).unwrap();
        let ignore = root.path().join(".loci/.gitignore");
        assert!(
            fs::read_to_string(&ignore).unwrap().contains("\naccess.json*\nprompt_window.md\nops/\nlock\n")
        );
        // Whoever wants to commit what they looked at may.
        fs::write(&ignore, "mine").unwrap();
        let folder = Folder::make(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "mine");
        // One that knows nothing of investigations does not make them everybody's.
        folder.pen(SOON).unwrap().write(&op_of("O_x"), b"{}").unwrap();
        assert_eq!(fs::read_to_string(root.path().join(".loci/ops/.gitignore")).unwrap(), "*\n");
        fs::remove_dir_all(root.path().join(".loci/ops")).unwrap();
        // Killed before it was written, it is written the next time; taken away by a person, it is not.
        fs::remove_file(&ignore).unwrap();
        fs::write(root.path().join(".loci/.4711.new"), "half").unwrap();
        Folder::make(root.path()).unwrap();
        assert!(ignore.exists());
        fs::remove_file(&ignore).unwrap();
        fs::write(root.path().join(".loci/index.json"), "{}").unwrap();
        Folder::make(root.path()).unwrap();
        assert!(!ignore.exists());
        assert!(Folder::at(root.path()).unwrap().is_some());
    }

    #[test]
    fn a_file_is_written_only_when_it_changes_and_leaves_nothing_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        let pen = folder.pen(LONG).unwrap();
        let name = pack_of("core");
        assert_eq!(folder.read(&name).unwrap(), None);
        assert!(pen.write(&name, b"one").unwrap());
        let inode = |at: &str| {
            use std::os::unix::fs::MetadataExt;
            fs::metadata(folder.path(at)).unwrap().ino()
        };
        let before = inode(&name);
        assert!(!pen.write(&name, b"one").unwrap());
        assert_eq!(inode(&name), before, "the same bytes are not written again");
        assert!(pen.write(&name, b"two").unwrap());
        assert_eq!(folder.read(&name).unwrap().unwrap(), b"two");
        assert_eq!(folder.list(PACKS).unwrap(), ["core.md"]);
        assert_eq!(folder.list(TYPES).unwrap(), [""; 0]);
        assert_eq!(names(&folder.path), [".gitignore", "lock", "packs"]);
    }

    #[test]
    fn what_a_killed_writer_left_is_cleared_away_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        fs::write(folder.path(".77-0.new"), "half").unwrap();
        drop(folder.pen(LONG).unwrap());
        assert_eq!(names(&folder.path), [".gitignore", "lock"]);
    }

    #[test]
    fn one_writes_at_a_time_and_no_update_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        let pen = folder.pen(LONG).unwrap();
        assert!(matches!(folder.pen(SOON), Err(FolderError::Busy(_))));
        drop(pen);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let pen = folder.pen(LONG).unwrap();
                        let mut bytes = folder.read("count").unwrap().unwrap_or_default();
                        bytes.push(b'x');
                        assert!(pen.write("count", &bytes).unwrap());
                    }
                });
            }
        });
        assert_eq!(folder.read("count").unwrap().unwrap().len(), 40);
    }

    /// Each in place of something of ours, and what is told of it.
    #[test]
    fn nothing_is_read_or_written_through_a_link() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "theirs").unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), root.path().join(NAME)).unwrap();
        assert!(matches!(Folder::at(root.path()), Err(FolderError::NotAFolder(_))));
        assert!(matches!(Folder::make(root.path()), Err(FolderError::NotAFolder(_))));
        fs::remove_file(root.path().join(NAME)).unwrap();
        let folder = Folder::make(root.path()).unwrap();
        symlink(elsewhere.path(), folder.path(PACKS)).unwrap();
        symlink(elsewhere.path().join("file"), folder.path(ACCESS)).unwrap();
        symlink(elsewhere.path().join("new"), folder.path(PROMPT_WINDOW)).unwrap();
        let pen = folder.pen(LONG).unwrap();
        assert!(matches!(pen.write(&pack_of("core"), b"x"), Err(FolderError::NotAFolder(_))));
        assert!(matches!(folder.list(PACKS), Err(FolderError::NotAFolder(_))));
        assert!(matches!(folder.read(ACCESS), Err(FolderError::NotAFile(_))));
        assert!(matches!(pen.write(ACCESS, b"x"), Err(FolderError::NotAFile(_))));
        assert!(matches!(pen.write(PROMPT_WINDOW, b"x"), Err(FolderError::NotAFile(_))));
        assert_eq!(names(elsewhere.path()), ["file"]);
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "theirs");
    }

    #[test]
    fn what_is_no_plain_file_or_no_folder_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(NAME), "a file").unwrap();
        assert!(matches!(Folder::make(root.path()), Err(FolderError::NotAFolder(_))));
        fs::remove_file(root.path().join(NAME)).unwrap();
        let folder = Folder::make(root.path()).unwrap();
        fs::create_dir(folder.path(ACCESS)).unwrap();
        rustix::fs::mkfifoat(&folder.dir, PROMPT_WINDOW, MODE).unwrap();
        assert!(matches!(folder.read(ACCESS), Err(FolderError::NotAFile(_))));
        assert!(matches!(folder.read(PROMPT_WINDOW), Err(FolderError::NotAFile(_))));
        assert!(matches!(Folder::at(&root.path().join("nowhere")), Err(FolderError::Io { .. })));
    }

    #[test]
    fn damage_is_set_aside() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        let pen = folder.pen(LONG).unwrap();
        pen.write(ACCESS, b"{").unwrap();
        assert_eq!(pen.set_aside(ACCESS).unwrap(), folder.path("access.json.damaged"));
        assert_eq!(folder.read(ACCESS).unwrap(), None);
    }

    #[test]
    fn a_full_or_read_only_disk_is_told_in_plain_words() {
        let path = Path::new("a/.loci/packs/core.md");
        for (kind, words) in [
            (ErrorKind::StorageFull, "no room left to write `a/.loci/packs/core.md`"),
            (ErrorKind::QuotaExceeded, "no room left"),
            (ErrorKind::ReadOnlyFilesystem, "may not be written: it is read-only"),
            (ErrorKind::PermissionDenied, "may not be written"),
        ] {
            assert!(told(path, kind).to_string().contains(words), "{kind}");
        }
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o500)).unwrap();
        // To its superuser nothing is read-only.
        if !rustix::process::geteuid().is_root() {
            assert!(matches!(folder.pen(SOON), Err(FolderError::ReadOnly(_))));
        }
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
