//! The files of the repository: its root, its text files, its Rust sources.
//!
//! Does not know the checks.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the workspace.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every Rust source file, as its path relative to the root and its full path.
pub(crate) fn sources(root: &Path) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let is_rust = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "rs");
    let named = |file: PathBuf| (file.strip_prefix(root).unwrap_or(&file).to_path_buf(), file);
    Ok(files(root)?.into_iter().filter(is_rust).map(named).collect())
}

/// Every file below the root, without build output and git data.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
