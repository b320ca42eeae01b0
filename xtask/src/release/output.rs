//! The folder that receives the files of a release, and their checksums.
//!
//! Does not know what the files are.

use super::digest::sha256_hex;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Output {
    folder: PathBuf,
    /// Sizes and sums by path.
    written: BTreeMap<String, (u64, String)>,
}

impl Output {
    /// The folder must be new or empty: a file of another run would be published with these.
    pub(crate) fn create(folder: &Path) -> Result<Output, String> {
        let failed = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        if fs::read_dir(folder).map_err(failed)?.next().is_some() {
            return Err(format!("{}: not empty", folder.display()));
        }
        Ok(Output { folder: folder.to_path_buf(), written: BTreeMap::new() })
    }

    /// A release has no folders: two files of one name would be one.
    pub(crate) fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(same) = self.written.keys().find(|other| name(other) == name(path)) {
            return Err(format!("{path}: has the name of {same}"));
        }
        let to = self.path(path);
        let folder = to.parent().unwrap_or(&self.folder);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&to, bytes));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
        self.written.insert(path.to_owned(), (bytes.len() as u64, sha256_hex(bytes)));
        Ok(())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The sum of a file that was written before.
    pub(crate) fn sum(&self, path: &str) -> Option<&str> {
        self.written.get(path).map(|(_, sum)| sum.as_str())
    }

    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, u64, &str)> {
        self.written.iter().map(|(path, (size, sum))| (path.as_str(), *size, sum.as_str()))
    }

    /// `SHA256SUMS` in the form of `sha256sum --check`.
    pub(crate) fn write_sums(&mut self) -> Result<(), String> {
        let lines: Vec<String> = self.written().map(|(path, _, sum)| format!("{sum}  {path}\n")).collect();
        self.write("SHA256SUMS", lines.concat().as_bytes())
    }
}
