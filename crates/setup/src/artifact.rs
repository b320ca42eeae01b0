//! What should exist for an agent: files of ours, and entries of ours in a user's files.
//!
//! Does not know how either is written.

use crate::entry::Entry;
use crate::text::SettingsFormat;
use std::path::{Path, PathBuf};

/// A file, or entries in a file, that should exist.
pub(crate) enum Artifact {
    /// A file of ours.
    OwnFile { path: PathBuf, text: String },
    /// Entries in a user's file.
    Entries { path: PathBuf, form: SettingsFormat, entries: Vec<Entry> },
}

impl Artifact {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Artifact::OwnFile { path, .. } | Artifact::Entries { path, .. } => path,
        }
    }
}
