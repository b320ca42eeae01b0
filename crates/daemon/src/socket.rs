//! Creates the Unix socket: bound under a temporary name and renamed into place, so that the path never disappears, in a
//! folder only its owner can enter, and never through a path that belongs to another user.
//!
//! Does not know the protocol.

use crate::{Error, ownership};
use os::socket::Listener;
use std::path::{Path, PathBuf};

/// Binds the socket and replaces one left behind by a dead process.
pub(crate) fn bind_socket(path: &Path) -> Result<Listener, Error> {
    let folder = path.parent().unwrap_or(path);
    ownership::create_private_dir(folder).map_err(Error::at_path(folder))?;
    ownership::check_folder(folder)?;
    ownership::check_replaceable(path)?;
    let beside = temporary_path(path);
    let _ = std::fs::remove_file(&beside);
    let made = Listener::bind(&beside).and_then(|listener| {
        os::files::set_mode(&beside, 0o600)?;
        std::fs::rename(&beside, path)?;
        Ok(listener)
    });
    made.map_err(Error::at_path(path))
}

fn temporary_path(path: &Path) -> PathBuf {
    path.with_extension(format!("{}", std::process::id()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_a_socket_or_file_of_ours_is_replaced() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("run/d.sock");
        let first = bind_socket(&path).unwrap();
        let known = os::socket::identity(&path).unwrap();
        // The socket of a dead process, then a file of ours: both are replaced.
        drop(first);
        let second = bind_socket(&path).unwrap();
        assert_ne!(os::socket::identity(&path), Some(known));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"a file").unwrap();
        drop(second);
        drop(bind_socket(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(tmp.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(bind_socket(&path), Err(Error::UnsafePath { what: "a link", .. })));
        assert!(!tmp.path().join("elsewhere").exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(bind_socket(&path), Err(Error::UnsafePath { what: "a directory", .. })));
    }

    #[test]
    fn the_folder_is_private_and_not_a_link() {
        let tmp = tempfile::tempdir().unwrap();
        let open = tmp.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        drop(bind_socket(&open.join("d.sock")).unwrap());
        assert_eq!(std::fs::metadata(&open).unwrap().permissions().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(&open, tmp.path().join("link")).unwrap();
        assert!(matches!(
            bind_socket(&tmp.path().join("link/d.sock")),
            Err(Error::UnsafePath { what: "a link", .. })
        ));
    }
}
