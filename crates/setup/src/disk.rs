//! How files are read and written: whole or not at all, with the mode and owner they had, through a symbolic link to
//! where it leads, and every folder that had to be made remembered.
//!
//! Does not know what stands in them.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Settings are small; what is larger is not settings.
const LARGEST: u64 = 16 << 20;

/// None: there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    let meta = match std::fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        other => other?,
    };
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(Error::other("it is not a file of settings"));
    }
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).map(Some).map_err(|_| Error::other("it is not UTF-8"))
}

/// Puts a text in place of a file, or makes it: a reader sees the old or the new one, and a kill leaves one of them.
pub(crate) fn write(path: &Path, text: &str, fresh_mode: u32) -> Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let former = std::fs::metadata(&path).ok();
    let beside = beside(&path);
    let written = (|| {
        remove(&beside)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(fresh_mode).open(&beside)?;
        if let Some(former) = &former {
            let ours = file.metadata()?;
            if (ours.uid(), ours.gid()) != (former.uid(), former.gid()) {
                fchown(&file, Some(former.uid()), Some(former.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(former.mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &path)?;
        sync_folder(&path)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Where a text waits to be put in place. One name for all: whoever writes holds the lock, and what a kill leaves there
/// is found again.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.loci-new"))
}

/// Removes what a kill may have left beside a file.
pub(crate) fn sweep(path: &Path) {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let _ = std::fs::remove_file(beside(&path));
}

/// A file that has gone already is as good as removed.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Ok(()) => sync_folder(path),
        failed => failed,
    }
}

/// The new name, or its absence, is on the disk with its folder.
fn sync_folder(path: &Path) -> Result<()> {
    File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// The folders that are missing above a file, the outermost first.
pub(crate) fn missing_above(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    let mut missing: Vec<_> = above.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Removes those that nobody else has put anything into, the innermost first.
pub(crate) fn remove_empty(folders: &[PathBuf]) {
    folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
}
