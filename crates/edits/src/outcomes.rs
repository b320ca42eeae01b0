//! Counts what became of the edits of a tree: a line per outcome, summed up when there are many.
//!
//! Does not know which edits they were.

use crate::error::EditError;
use crate::transaction::replace_file;
use os::files::OpenOptionsExt;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A longer log is summed up; what another process adds at that moment is not counted.
const MAX_LOG_BYTES: u64 = 64 << 10;

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
        let _ = file.and_then(|mut file| file.write_all(format!("1 {word}\n").as_bytes()));
        if std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
            let sums = self.counts();
            let lines: Vec<String> = sums.iter().map(|(word, count)| format!("{count} {word}\n")).collect();
            let _ = replace_file(&self.path, lines.concat().as_bytes(), 0o600);
        }
    }

    /// How often each outcome was.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for (count, word) in text.lines().filter_map(|line| line.split_once(' ')) {
            *counts.entry(word.to_owned()).or_default() += count.parse().unwrap_or(0);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_summed_up() {
        let home = tempfile::tempdir().unwrap();
        let log = OutcomeLog::new(home.path());
        for _ in 0..4000 {
            log.record(EditOutcome::Planned);
            log.record_refusal(&EditError::NoChange);
        }
        assert!(std::fs::metadata(&log.path).unwrap().len() <= MAX_LOG_BYTES);
        let expected = [("planned".to_owned(), 4000), ("refused: no-change".to_owned(), 4000)];
        assert_eq!(log.counts(), BTreeMap::from(expected));
    }
}
