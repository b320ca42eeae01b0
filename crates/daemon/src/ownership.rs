//! Guards the paths the daemon uses: they belong to this user, are closed to others, and are not symlinks.
//!
//! Does not know what the paths are for.

use crate::Error;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

pub(crate) fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Creates a directory with mode 0700. Removes access for group and others from an existing directory of ours.
pub(crate) fn create_private_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = std::fs::symlink_metadata(dir)?;
    // A link may lead to a folder whose mode is not ours to change; `check_folder` refuses it where that matters.
    if meta.is_dir() && meta.uid() == own_uid() && meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Rejects a socket folder that is a symlink or belongs to another user.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Error> {
    let meta = std::fs::symlink_metadata(folder).map_err(Error::at_path(folder))?;
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if meta.uid() != own_uid() => "owned by another user",
        () => return Ok(()),
    };
    Err(Error::UnsafePath { path: folder.to_path_buf(), what })
}

/// Rejects a socket path unless it is free or contains a socket or file of ours.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Error> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if meta.uid() != own_uid() => "owned by another user",
        () if meta.is_dir() => "a directory",
        () => return Ok(()),
    };
    Err(Error::UnsafePath { path: path.to_path_buf(), what })
}
