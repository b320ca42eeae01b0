//! Reads and writes files: atomically, keeping mode and owner, following symbolic links, and reporting the folders that had
//! to be created.
//!
//! Does not know their content.

use os::files::{DirBuilderExt, OpenOptionsExt};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// Settings files are small; a larger file is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Reads a text file. `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>> {
    let meta = match std::fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        other => other?,
    };
    if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
        return Err(Error::other("not a settings file"));
    }
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).map(Some).map_err(|_| Error::other("not valid UTF-8"))
}

/// Replaces or creates a file atomically: a reader, or a crash, sees the old or the new text.
pub(crate) fn write_atomically(path: &Path, text: &str, fresh_mode: u32) -> Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let former = std::fs::metadata(&path).ok();
    let beside = temporary_path(&path);
    let written = (|| {
        remove_if_exists(&beside)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(fresh_mode).open(&beside)?;
        if let Some(former) = &former {
            os::files::copy_ownership(&file, former)?;
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

/// The temporary file. Its name is fixed: the writer holds the lock, and a file left by a crash is found again.
fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.loci-new"))
}

/// Removes a temporary file left by a crash.
pub(crate) fn remove_temporary(path: &Path) {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let _ = std::fs::remove_file(temporary_path(&path));
}

/// Removes a file. A missing file counts as removed.
pub(crate) fn remove_if_exists(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Ok(()) => sync_folder(path),
        failed => failed,
    }
}

/// Makes the new name, or its absence, durable.
fn sync_folder(path: &Path) -> Result<()> {
    os::files::sync_folder(path.parent().unwrap_or(path))
}

/// The missing folders above a file, outermost first.
pub(crate) fn missing_parents(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    let mut missing: Vec<_> = above.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

pub(crate) fn create_folder(path: &Path, mode: u32) -> Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Removes the empty ones of these folders, innermost first.
pub(crate) fn remove_empty_folders(folders: &[PathBuf]) {
    folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
}
