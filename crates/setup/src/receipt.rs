//! The receipt: what was installed where, so that it can be removed. Written before the first change, and again afterwards.
//!
//! Contains only our own data: of a user's files their paths, and the text that was inserted.

use crate::disk;
use crate::entry::Location;
use crate::text::{EditRecord, SettingsFormat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    version: u32,
    pub(crate) agents: BTreeMap<String, Installation>,
    /// Folders created for Loci's own files, outermost first.
    pub(crate) folders: Vec<PathBuf>,
}

/// What one agent was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installation {
    pub(crate) files: Vec<FileRecord>,
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) path: PathBuf,
    pub(crate) what: FileContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileContent {
    /// A file of ours: the fingerprints it may have. Several while it is being replaced.
    Whole(Vec<String>),
    /// Entries in a user's file.
    Entries(InsertedEntries),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InsertedEntries {
    pub(crate) form: SettingsFormat,
    /// The file did not exist before.
    pub(crate) created: bool,
    pub(crate) spots: Vec<Location>,
    /// Parent keys that had to be created.
    pub(crate) made: Vec<Vec<String>>,
    /// The edits that inserted them. Several while they are being replaced.
    pub(crate) stitches: Vec<EditRecord>,
}

impl Default for Receipt {
    fn default() -> Receipt {
        Receipt { version: VERSION, agents: BTreeMap::new(), folders: Vec::new() }
    }
}

/// Why a receipt cannot be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(Error),
    /// Written by a newer Loci, with this version.
    Newer {
        found: u64,
        known: u32,
    },
}

impl From<Error> for ReadError {
    fn from(error: Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl Receipt {
    pub(crate) fn path(data: &Path) -> PathBuf {
        data.join("setup.json")
    }

    pub(crate) fn read(data: &Path) -> std::result::Result<Receipt, ReadError> {
        let Some(text) = disk::read_text(&Receipt::path(data))? else { return Ok(Receipt::default()) };
        // First the number: a newer version may have other fields.
        let value: serde_json::Value = serde_json::from_str(&text).map_err(Error::other)?;
        if let Some(found) = value["version"].as_u64().filter(|found| *found > u64::from(VERSION)) {
            return Err(ReadError::Newer { found, known: VERSION });
        }
        Ok(serde_json::from_value(value).map_err(Error::other)?)
    }

    /// Writes the receipt with mode 0600, or removes it if it is empty.
    pub(crate) fn write(&self, data: &Path) -> Result<()> {
        if self.agents.is_empty() {
            return disk::remove_if_exists(&Receipt::path(data));
        }
        let text = serde_json::to_string_pretty(self).map_err(Error::other)? + "\n";
        disk::write_atomically(&Receipt::path(data), &text, 0o600)
    }

    pub(crate) fn find_record(&self, agent: &str, path: &Path) -> Option<&FileRecord> {
        self.agents.get(agent)?.files.iter().find(|record| record.path == path)
    }
}

/// Fingerprint of a file of ours: FNV-1a and the length.
pub(crate) fn fingerprint(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}-{}", text.len())
}
