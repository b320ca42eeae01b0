//! Guards the paths the daemon uses: they belong to this user, are closed to others, and are not symlinks.
//!
//! Does not know what the paths are for.

use crate::Error;
use os::files::{DirBuilderExt, belongs_to_us, is_open_to_others};
use std::fs::DirBuilder;
use std::path::Path;

/// Creates a directory with mode 0700. Removes access for group and others from an existing directory of ours.
pub(crate) fn create_private_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = std::fs::symlink_metadata(dir)?;
    // A link may lead to a folder whose mode is not ours to change; `check_folder` refuses it where that matters.
    if meta.is_dir() && belongs_to_us(&meta) && is_open_to_others(&meta) {
        os::files::set_mode(dir, 0o700)?;
    }
    Ok(())
}

/// Rejects a socket folder that is a symlink or belongs to another user.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Error> {
    let meta = std::fs::symlink_metadata(folder).map_err(Error::at_path(folder))?;
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if !belongs_to_us(&meta) => "owned by another user",
        () => return Ok(()),
    };
    Err(Error::UnsafePath { path: folder.to_path_buf(), what })
}

/// Rejects a socket path unless it is free or contains a socket or file of ours.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Error> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if !belongs_to_us(&meta) => "owned by another user",
        () if meta.is_dir() => "a directory",
        () => return Ok(()),
    };
    Err(Error::UnsafePath { path: path.to_path_buf(), what })
}
