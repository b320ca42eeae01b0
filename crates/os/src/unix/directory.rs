//! An open folder whose entries are reached through its handle: if the folder is replaced with a link afterwards, the link is
//! not followed. Does not know absolute paths after it was opened.

use super::files::{identity, open_identity};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::Path;

/// `NONBLOCK`: opening a FIFO in place of a file must not wait for a writer.
const FILE_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const FOLDER_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
}

impl Directory {
    /// Opens a folder; a link to one is followed.
    pub fn open(path: &Path) -> Result<Directory> {
        Directory::open_at(CWD, path, FOLDER_FLAGS)
    }

    /// Opens a folder that is no link. Fails with `NotADirectory` for anything else.
    pub fn open_no_follow(path: &Path) -> Result<Directory> {
        Directory::open_at(CWD, path, FOLDER_FLAGS | OFlags::NOFOLLOW)
    }

    /// Opens a folder below this one. Fails with `NotADirectory` for anything else.
    pub fn open_subfolder(&self, name: &str) -> Result<Directory> {
        Directory::open_at(&self.handle, name, FOLDER_FLAGS | OFlags::NOFOLLOW)
    }

    fn open_at(
        above: impl std::os::fd::AsFd,
        name: impl rustix::path::Arg,
        flags: OFlags,
    ) -> Result<Directory> {
        match openat(above, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Directory { handle }),
            Err(Errno::LOOP) => Err(Error::from(ErrorKind::NotADirectory)),
            Err(error) => Err(error.into()),
        }
    }

    pub fn try_clone(&self) -> Result<Directory> {
        Ok(Directory { handle: self.handle.try_clone()? })
    }

    /// Makes a folder below this one; the umask decides who may use it.
    pub fn create_subfolder(&self, name: &str) -> Result<()> {
        mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)).map_err(Error::from)
    }

    /// Opens a regular file for reading. Fails with `InvalidInput` for a link, a folder or a FIFO.
    pub fn open_file(&self, name: &str) -> Result<File> {
        let file = match openat(&self.handle, name, FILE_FLAGS | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::NXIO) => return Err(Error::from(ErrorKind::InvalidInput)),
            Err(error) => return Err(error.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(Error::from(ErrorKind::InvalidInput)) }
    }

    /// Opens a file for reading and writing, made if it does not exist.
    pub fn open_or_create_file(&self, name: &str, mode: u32) -> Result<File> {
        self.open_for_writing(name, OFlags::RDWR | OFlags::CREATE, mode)
    }

    /// Makes a file that does not exist yet.
    pub fn create_file(&self, name: &str, mode: u32) -> Result<File> {
        self.open_for_writing(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)
    }

    fn open_for_writing(&self, name: &str, flags: OFlags, mode: u32) -> Result<File> {
        let opened = openat(&self.handle, name, FILE_FLAGS | flags, Mode::from_raw_mode(mode as _));
        opened.map(File::from).map_err(Error::from)
    }

    /// Renames an entry of this folder into `to`, over what is there.
    pub fn rename(&self, name: &str, to: &Directory, new_name: &str) -> Result<()> {
        renameat(&self.handle, name, &to.handle, new_name).map_err(Error::from)
    }

    pub fn remove_file(&self, name: &str) -> Result<()> {
        unlinkat(&self.handle, name, AtFlags::empty()).map_err(Error::from)
    }

    /// The names of the regular files, sorted; names that are not UTF-8 are left out.
    pub fn list_files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            if entry.file_type() == FileType::RegularFile {
                names.extend(entry.file_name().to_str().ok().map(str::to_owned));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Refuses a folder of another user, who could read and plant files, and closes it to everybody else.
    pub fn make_private(&self) -> Result<()> {
        let meta = rustix::fs::fstat(&self.handle)?;
        if meta.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Error::new(ErrorKind::PermissionDenied, "the folder belongs to another user"));
        }
        if meta.st_mode & 0o077 != 0 {
            rustix::fs::fchmod(&self.handle, Mode::RWXU)?;
        }
        Ok(())
    }
}

/// Exclusive use of a folder among the processes that ask for it. The kernel releases it however the process ends.
#[derive(Debug)]
pub struct FolderLock {
    _folder: File,
}

impl FolderLock {
    /// `None`: another process holds it, or the folder was replaced meanwhile.
    pub fn try_acquire(path: &Path) -> Result<Option<FolderLock>> {
        let folder = File::open(path)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let held = open_identity(&folder)?;
        let found = std::fs::metadata(path).and_then(|meta| identity(path, &meta));
        Ok((found.ok() == Some(held)).then_some(FolderLock { _folder: folder }))
    }
}
