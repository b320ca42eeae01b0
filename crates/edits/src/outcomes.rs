//! Counts what became of the edits of a tree, one line per outcome.
//!
//! Does not know which edits they were.

use crate::error::EditError;
use os::files::OpenOptionsExt;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What can become of an edit, apart from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    Planned,
    Applied,
    Undone,
}

/// The outcomes of a tree's edits.
#[derive(Debug)]
pub struct OutcomeLog {
    path: PathBuf,
}

impl OutcomeLog {
    pub(crate) fn new(folder: &Path) -> OutcomeLog {
        OutcomeLog { path: folder.join("outcomes") }
    }

    pub fn record(&self, outcome: EditOutcome) {
        self.append(match outcome {
            EditOutcome::Planned => "planned",
            EditOutcome::Applied => "applied",
            EditOutcome::Undone => "undone",
        });
    }

    pub fn record_refusal(&self, error: &EditError) {
        match error {
            EditError::RolledBack { .. } => self.append("rolled-back"),
            _ => self.append(&format!("refused: {}", error.reason())),
        }
    }

    /// Best effort: an edit does not fail because it cannot be counted.
    fn append(&self, word: &str) {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(format!("{word}\n").as_bytes()));
    }

    /// How often each outcome was.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for word in text.lines().filter(|word| !word.is_empty()) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        counts
    }
}
