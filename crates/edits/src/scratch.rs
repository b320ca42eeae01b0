//! A copy of a tree for compilers: its sources are copied, installed packages are linked, build folders are its own, so that the
//! user's build neither blocks nor is spoiled.
//!
//! Does not know what is run in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{DirEntry, Metadata};
use std::io::Error as IoError;
use std::path::{Path, PathBuf};

/// Folders with the output of builds, which the copy does not share, unless they have sources of the tree.
const BUILD_FOLDERS: &[&str] =
    &["target", "build", "out", "obj", ".gradle", ".git", ".loci", "__pycache__", ".mypy_cache"];
/// Folders with installed packages, each of which is linked.
const PACKAGE_FOLDERS: &[&str] = &["node_modules", ".venv", "venv"];

/// A copy of a tree.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    folder: PathBuf,
}

impl Scratch {
    /// Copies a tree into `folder`, or brings an earlier copy there up to date. `is_source` tells of a folder named like one with output
    /// whether it has sources.
    pub fn create(root: &Path, folder: &Path, is_source: &dyn Fn(&str) -> bool) -> Result<Scratch, IoError> {
        std::fs::create_dir_all(folder)?;
        let is_build = |path: &Path| {
            let is_named = path.file_name().is_some_and(|name| is_one_of(name, BUILD_FOLDERS));
            let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
            is_named && !is_source(&relative)
        };
        copy_folder(root, folder, &is_build)?;
        Ok(Scratch { root: root.to_path_buf(), folder: folder.to_path_buf() })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `work` with these contents in place, and restores the copy.
    pub fn with_contents<T>(
        &self,
        contents: &BTreeMap<String, Option<Vec<u8>>>,
        work: impl FnOnce() -> T,
    ) -> Result<T, IoError> {
        for (path, bytes) in contents {
            write_or_remove(&self.folder.join(path), bytes.as_deref())?;
        }
        let result = work();
        for path in contents.keys() {
            let original = std::fs::read(self.root.join(path)).ok();
            write_or_remove(&self.folder.join(path), original.as_deref())?;
        }
        Ok(result)
    }
}

fn write_or_remove(path: &Path, bytes: Option<&[u8]>) -> Result<(), IoError> {
    match bytes {
        Some(bytes) => std::fs::write(path, bytes),
        None if path.exists() => std::fs::remove_file(path),
        None => Ok(()),
    }
}

fn is_one_of(name: &OsStr, list: &[&str]) -> bool {
    name.to_str().is_some_and(|name| list.contains(&name))
}

fn copy_folder(from: &Path, to: &Path, is_build: &dyn Fn(&Path) -> bool) -> Result<(), IoError> {
    std::fs::create_dir_all(to)?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let target = to.join(&name);
        if kind.is_dir() && is_build(&entry.path()) {
            copy_restored(&entry.path(), &target)?;
            continue;
        }
        if kind.is_dir() && is_one_of(&name, PACKAGE_FOLDERS) {
            link_packages(&entry.path(), &target)?;
        } else if kind.is_dir() {
            copy_folder(&entry.path(), &target, is_build)?;
        } else if kind.is_file() {
            copy_if_changed(&entry, &target)?;
        } else if kind.is_symlink() {
            link(&std::fs::read_link(entry.path())?, &target)?;
        }
        names.push(name);
    }
    for entry in std::fs::read_dir(to)? {
        let entry = entry?;
        let may_be_output = is_one_of(&entry.file_name(), BUILD_FOLDERS);
        if !names.contains(&entry.file_name()) && !may_be_output {
            remove(&entry)?;
        }
    }
    Ok(())
}

/// Copies what `dotnet restore` left in a folder of builds: which packages there are and where. Without it nothing is compiled.
fn copy_restored(from: &Path, to: &Path) -> Result<(), IoError> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_restored = name.starts_with("project.") || name.contains(".nuget.");
        if is_restored && entry.file_type()?.is_file() {
            std::fs::create_dir_all(to)?;
            copy_if_changed(&entry, &to.join(name))?;
        }
    }
    Ok(())
}

/// Links what is installed in a folder. The folder itself is the copy's own: compilers keep caches there.
fn link_packages(from: &Path, to: &Path) -> Result<(), IoError> {
    if to.is_symlink() {
        std::fs::remove_file(to)?;
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_cache = name.to_str().is_some_and(|name| name.starts_with('.') && name.contains("cache"));
        if !is_cache {
            link(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

fn remove(entry: &DirEntry) -> Result<(), IoError> {
    if entry.file_type()?.is_dir() {
        std::fs::remove_dir_all(entry.path())
    } else {
        std::fs::remove_file(entry.path())
    }
}

fn link(to: &Path, at: &Path) -> Result<(), IoError> {
    if at.read_link().is_ok_and(|known| known == to) {
        return Ok(());
    }
    let _ = std::fs::remove_file(at);
    os::files::link_to(to, at)
}

fn copy_if_changed(from: &DirEntry, to: &Path) -> Result<(), IoError> {
    let is_same = |one: &Metadata, other: &Metadata| one.len() == other.len();
    if let (Ok(one), Ok(other)) = (from.metadata(), to.symlink_metadata())
        && is_same(&one, &other)
        && std::fs::read(from.path())? == std::fs::read(to)?
    {
        return Ok(());
    }
    std::fs::copy(from.path(), to).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_the_tree_and_shares_no_build() {
        let home = tempfile::tempdir().unwrap();
        let (root, copy) = (home.path().join("tree"), home.path().join("copy"));
        for folder in ["src", "target", "node_modules/p", "obj", "src/build"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("src/a.rs"), "one").unwrap();
        std::fs::write(root.join("target/x"), "build").unwrap();
        std::fs::write(root.join("node_modules/p/i.js"), "package").unwrap();
        std::fs::write(root.join("obj/project.assets.json"), "{}").unwrap();
        std::fs::write(root.join("obj/a.dll"), "build").unwrap();
        std::fs::write(root.join("src/build/b.rs"), "source").unwrap();
        let is_source = |path: &str| path == "src/build";
        let scratch = Scratch::create(&root, &copy, &is_source).unwrap();
        assert!(copy.join("src/build/b.rs").exists());
        assert!(!copy.join("target").exists() && copy.join("node_modules/p/i.js").exists());
        assert!(copy.join("obj/project.assets.json").exists() && !copy.join("obj/a.dll").exists());
        let new = BTreeMap::from([
            ("src/a.rs".to_owned(), Some(b"two".to_vec())),
            ("src/b.rs".to_owned(), Some(Vec::new())),
        ]);
        let seen =
            scratch.with_contents(&new, || std::fs::read_to_string(copy.join("src/a.rs")).unwrap()).unwrap();
        assert_eq!(
            (seen.as_str(), std::fs::read_to_string(copy.join("src/a.rs")).unwrap().as_str()),
            ("two", "one")
        );
        assert!(!copy.join("src/b.rs").exists());
        std::fs::remove_file(root.join("src/a.rs")).unwrap();
        std::fs::write(root.join("src/c.rs"), "three").unwrap();
        Scratch::create(&root, &copy, &is_source).unwrap();
        assert!(!copy.join("src/a.rs").exists() && copy.join("src/c.rs").exists());
    }
}
