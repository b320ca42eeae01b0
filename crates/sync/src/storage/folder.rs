//! A folder as storage: NFS, Syncthing, Dropbox, a USB stick. An object is a file, and a file is complete when it has its name.
//!
//! Does not know how the folder reaches other machines.

use super::{Store, StoreError};
use os::files::OpenOptionsExt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

pub struct Folder {
    root: PathBuf,
}

/// Marks a file that is still being written.
const PARTIAL: &str = ".partial-";

impl Folder {
    /// A folder that exists. A missing one is an error of each call: it may be a drive that is not mounted.
    pub fn new(root: &Path) -> Folder {
        Folder { root: root.to_path_buf() }
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        if !self.root.is_dir() {
            return Err(unavailable(name, &"the folder does not exist or is not mounted"));
        }
        let is_plain = |part: &str| !part.is_empty() && is_object_name(part);
        if !name.trim_end_matches('/').split('/').all(is_plain) {
            return Err(StoreError::Refused { name: name.to_owned(), reason: "not an object name".into() });
        }
        self.refuse_links(name)?;
        Ok(self.root.join(name))
    }

    /// A link below the root leads to what is not the storage: nothing is written or deleted there.
    fn refuse_links(&self, name: &str) -> Result<(), StoreError> {
        let mut folder = self.root.clone();
        let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
        // An object that is a link itself is no object: see `get`.
        let folders = if name.ends_with('/') { &parts[..] } else { &parts[..parts.len() - 1] };
        for part in folders {
            folder.push(part);
            if std::fs::symlink_metadata(&folder).is_ok_and(|data| data.is_symlink()) {
                let reason = format!("{} is a link", folder.display());
                return Err(StoreError::Refused { name: name.to_owned(), reason });
            }
        }
        Ok(())
    }

    /// Objects are encrypted, so who may use the folder may use what is in it: all take its group and its bits for group and others.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let root = std::fs::metadata(&self.root)?;
        let mode = os::files::mode(&root);
        let folder = path.parent().unwrap_or(Path::new("."));
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
        std::fs::create_dir_all(folder)?;
        for made in missing {
            share(made, mode & 0o7777 | 0o700, &root);
        }
        let suffix = getrandom::u64().map_err(std::io::Error::other)?;
        let partial = folder.join(format!("{PARTIAL}{suffix:016x}"));
        let written = write_synced(&partial, bytes).and_then(|()| {
            share(&partial, mode & 0o066 | 0o600, &root);
            std::fs::rename(&partial, path)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        written?;
        // The rename is durable when the folder is; some network file systems cannot sync one.
        let _ = os::files::sync_folder(folder);
        Ok(())
    }
}

/// Best effort: another device may have made the folder a moment ago, and some file systems have no modes. `init --team` says what is
/// missing.
fn share(path: &Path, mode: u32, root: &std::fs::Metadata) {
    // The group first: changing it clears the bits that make new files inherit it.
    let _ = os::files::take_group(path, root);
    let _ = os::files::set_mode(path, mode);
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Names that this crate writes. Anything else is a partial file, a conflict copy of a sync tool, or foreign.
fn is_object_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !name.starts_with('.') && !name.contains(".sync-conflict") && name.bytes().all(is_plain)
}

fn unavailable(name: &str, reason: &dyn ToString) -> StoreError {
    StoreError::Unavailable { name: name.to_owned(), reason: reason.to_string() }
}

fn store_error(name: &str, error: &std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::NotFound => StoreError::not_found(name),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StoreError::Refused { name: name.to_owned(), reason: error.to_string() }
        }
        _ => unavailable(name, &error),
    }
}

impl Store for Folder {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(name)?;
        if path.exists() {
            return Err(StoreError::Exists { name: name.to_owned() });
        }
        self.write_file(&path, bytes).map_err(|error| store_error(name, &error))
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        let path = self.path(name)?;
        // A pipe would never end, and a link may lead anywhere.
        if std::fs::symlink_metadata(&path).is_ok_and(|data| !data.is_file()) {
            return Err(StoreError::not_found(name));
        }
        let file = File::open(path).map_err(|error| store_error(name, &error))?;
        let mut bytes = Vec::new();
        file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| store_error(name, &error))?;
        if bytes.len() > limit {
            return Err(StoreError::TooLarge { name: name.to_owned(), limit });
        }
        Ok(bytes)
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let folder = self.path(prefix)?;
        list_files(&folder, prefix, &mut names).map_err(|error| store_error(prefix, &error))?;
        names.retain(|name| after.is_none_or(|after| name.as_str() > after));
        names.sort_unstable();
        Ok(names)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        match std::fs::remove_file(self.path(name)?) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(store_error(name, &error)),
            _ => Ok(()),
        }
    }
}

fn list_files(folder: &Path, prefix: &str, names: &mut Vec<String>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().filter(|name| is_object_name(name)).map(str::to_owned)
        else {
            continue;
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list_files(&entry.path(), &format!("{prefix}{name}/"), names)?;
        } else if kind.is_file() {
            names.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_and_conflict_files_are_not_listed() {
        let tmp = tempfile::tempdir().unwrap();
        let store = Folder::new(tmp.path());
        store.put("v1/a/2", b"two").unwrap();
        store.put("v1/a/1", b"one").unwrap();
        for name in [".partial-00", "1.sync-conflict-20260101-1", "1 (conflicted copy)", "~1.tmp"] {
            std::fs::write(tmp.path().join("v1/a").join(name), b"x").unwrap();
        }
        assert_eq!(store.list("v1/", None).unwrap(), ["v1/a/1", "v1/a/2"]);
        assert_eq!(store.list("v1/", Some("v1/a/1")).unwrap(), ["v1/a/2"]);
        assert_eq!(store.list("v1/b/", None).unwrap(), Vec::<String>::new());
        assert!(matches!(store.put("v1/a/1", b"other"), Err(StoreError::Exists { .. })));
        assert_eq!(store.get("v1/a/1", 3).unwrap(), b"one");
        assert!(matches!(store.get("v1/a/1", 2), Err(StoreError::TooLarge { .. })));
        store.delete("v1/a/1").unwrap();
        store.delete("v1/a/1").unwrap();
        assert!(matches!(store.get("v1/a/1", 9), Err(StoreError::NotFound { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn objects_take_the_modes_of_the_folder() {
        use std::os::unix::fs::PermissionsExt as _;
        for (folder, file) in [(0o700, 0o600), (0o755, 0o644), (0o2770, 0o660)] {
            let tmp = tempfile::tempdir().unwrap();
            std::fs::set_permissions(tmp.path(), std::fs::Permissions::from_mode(folder)).unwrap();
            Folder::new(tmp.path()).put("v1/a/1", b"one").unwrap();
            let mode = |name| std::fs::metadata(tmp.path().join(name)).unwrap().permissions().mode() & 0o7777;
            assert_eq!((mode("v1"), mode("v1/a"), mode("v1/a/1")), (folder, folder, file));
        }
    }

    #[test]
    fn a_missing_folder_is_unavailable_and_not_empty() {
        let tmp = tempfile::tempdir().unwrap();
        let store = Folder::new(&tmp.path().join("unmounted"));
        assert!(store.list("v1/", None).unwrap_err().is_temporary());
        assert!(store.put("v1/a", b"x").unwrap_err().is_temporary());
        assert!(!tmp.path().join("unmounted").exists());
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let tmp = tempfile::tempdir().unwrap();
        let store = Folder::new(tmp.path());
        for name in ["../x", "a/../../x", "/etc/passwd", "a//b", "A"] {
            assert!(matches!(store.get(name, 9), Err(StoreError::Refused { .. })), "{name}");
        }
    }
}
