//! The socket itself: made beside its name and moved onto it, so that at no moment there is none, in a folder for its owner
//! alone, and never through what somebody else put there.
//!
//! Does not know what is said over it.

use crate::{Error, place};
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Makes the socket, in place of one that a dead process left.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, Error> {
    let folder = path.parent().unwrap_or(path);
    make_private(folder).map_err(Error::path(folder))?;
    check_folder(folder)?;
    check(path)?;
    let beside = beside(path);
    let _ = std::fs::remove_file(&beside);
    let made = UnixListener::bind(&beside).and_then(|listener| {
        std::fs::set_permissions(&beside, Permissions::from_mode(0o600))?;
        std::fs::rename(&beside, path)?;
        Ok(listener)
    });
    made.map_err(Error::path(path))
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension(format!("{}", std::process::id()))
}

/// A directory for its owner alone. One that others may enter is closed to them.
pub(crate) fn make_private(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = std::fs::metadata(dir)?;
    if meta.uid() == place::own_uid() && meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn check_folder(folder: &Path) -> Result<(), Error> {
    let meta = std::fs::symlink_metadata(folder).map_err(Error::path(folder))?;
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if meta.uid() != place::own_uid() => "somebody else's",
        () => return Ok(()),
    };
    Err(Error::Foreign { path: folder.to_path_buf(), what })
}

/// What may be replaced: nothing, a socket or a file of our own.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let what = match () {
        () if meta.is_symlink() => "a link",
        () if meta.uid() != place::own_uid() => "somebody else's",
        () if meta.is_dir() => "a directory",
        () => return Ok(()),
    };
    Err(Error::Foreign { path: path.to_path_buf(), what })
}

/// The file that the listener stands at, to notice when it is another or gone.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    meta.file_type().is_socket().then(|| (meta.dev(), meta.ino()))
}

/// Whether the other end is a process of the same user. The folder keeps others out before; this does where it was
/// opened to them.
#[cfg(target_os = "linux")]
pub(crate) fn is_own(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid.as_raw() == place::own_uid())
}

/// Elsewhere the folder alone keeps others out.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_own(_: &UnixStream) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_at_the_name_is_replaced_only_if_it_is_ours_to_replace() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("run/d.sock");
        let first = bind(&path).unwrap();
        let known = identity(&path).unwrap();
        // A dead one's socket, then a file of ours: both make way.
        drop(first);
        let second = bind(&path).unwrap();
        assert_ne!(identity(&path), Some(known));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"a file").unwrap();
        drop(second);
        drop(bind(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(tmp.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(bind(&path), Err(Error::Foreign { what: "a link", .. })));
        assert!(!tmp.path().join("elsewhere").exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(bind(&path), Err(Error::Foreign { what: "a directory", .. })));
    }

    #[test]
    fn the_folder_is_its_owners_alone_and_no_link() {
        let tmp = tempfile::tempdir().unwrap();
        let open = tmp.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        drop(bind(&open.join("d.sock")).unwrap());
        assert_eq!(std::fs::metadata(&open).unwrap().permissions().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(&open, tmp.path().join("link")).unwrap();
        assert!(matches!(bind(&tmp.path().join("link/d.sock")), Err(Error::Foreign { what: "a link", .. })));
    }
}
