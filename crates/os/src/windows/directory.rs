//! A folder by its path. A folder that is replaced with a link while a command runs is not noticed, unlike on other systems;
//! making a link needs the developer mode of Windows, or an administrator.
//!
//! Does not know permission bits.

use super::files;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens a folder; a link to one is followed.
    pub fn open(path: &Path) -> Result<Directory> {
        let is_folder = std::fs::metadata(path)?.is_dir();
        let found = is_folder.then(|| Directory { path: path.to_path_buf() });
        found.ok_or_else(|| Error::from(ErrorKind::NotADirectory))
    }

    /// Opens a folder that is no link. Fails with `NotADirectory` for anything else.
    pub fn open_no_follow(path: &Path) -> Result<Directory> {
        files::check_real_folder(path)?;
        Ok(Directory { path: path.to_path_buf() })
    }

    /// Opens a folder below this one. Fails with `NotADirectory` for anything else.
    pub fn open_subfolder(&self, name: &str) -> Result<Directory> {
        Directory::open_no_follow(&self.path.join(name))
    }

    pub fn try_clone(&self) -> Result<Directory> {
        Ok(self.clone())
    }

    pub fn create_subfolder(&self, name: &str) -> Result<()> {
        std::fs::create_dir(self.path.join(name))
    }

    /// Opens a regular file for reading. Fails with `InvalidInput` for a link or a folder.
    pub fn open_file(&self, name: &str) -> Result<File> {
        let path = self.path.join(name);
        if !std::fs::symlink_metadata(&path)?.is_file() {
            return Err(Error::from(ErrorKind::InvalidInput));
        }
        File::open(path)
    }

    /// Opens a file for reading and writing, made if it does not exist.
    pub fn open_or_create_file(&self, name: &str, _mode: u32) -> Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.path.join(name))
    }

    /// Makes a file that does not exist yet.
    pub fn create_file(&self, name: &str, _mode: u32) -> Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    /// Renames an entry of this folder into `to`, over what is there.
    pub fn rename(&self, name: &str, to: &Directory, new_name: &str) -> Result<()> {
        std::fs::rename(self.path.join(name), to.path.join(new_name))
    }

    pub fn remove_file(&self, name: &str) -> Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// The names of the regular files, sorted; names that are not Unicode are left out.
    pub fn list_files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Nothing to do: the access list comes from the folder above.
    pub fn make_private(&self) -> Result<()> {
        Ok(())
    }
}

/// Exclusive use of a folder among the processes that ask for it: a file in it that nobody else can open, and that is gone with
/// its handle, however the process ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

const LOCK_NAME: &str = ".loci-lock";
const DELETE_ON_CLOSE: u32 = 0x0400_0000;
const SHARING_VIOLATION: i32 = 32;

impl FolderLock {
    /// `None`: another process holds it.
    pub fn try_acquire(path: &Path) -> Result<Option<FolderLock>> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .share_mode(0)
            .custom_flags(DELETE_ON_CLOSE);
        match options.open(path.join(LOCK_NAME)) {
            Ok(file) => Ok(Some(FolderLock { _file: file })),
            // The second also stands for a file that its former holder is removing.
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(error),
        }
    }
}
