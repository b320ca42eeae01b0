//! One change to one file: the text before and after, applied only if the file is still as it was read.
//!
//! Does not know why the file changes.

use crate::{diff, disk};
use api::setup::{Change, ChangeKind, SetupProblem};
use std::path::{Path, PathBuf};

/// A file's text before and after; `None` if the file does not exist.
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Whether the diff is displayed: of most files that come with Loci only the name is.
    pub(crate) shows_diff: bool,
}

impl FileChange {
    pub(crate) fn to_change(&self) -> Change {
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        Change {
            path: self.path.to_string_lossy().into_owned(),
            does: match (&self.before, &self.after) {
                (None, _) => ChangeKind::Create,
                (_, None) => ChangeKind::Remove,
                _ => ChangeKind::Edit,
            },
            diff: self.shows_diff.then(|| diff::unified_diff(&text(&self.before), &text(&self.after))),
            bytes: text(&self.after).len() as u64,
            made: false,
        }
    }

    /// Applies the change, unless the file was modified since it was read.
    pub(crate) fn apply(&self, folders: &[PathBuf]) -> std::io::Result<()> {
        if disk::read_text(&self.path)? != self.before {
            return Err(std::io::Error::other("the file changed in the meantime; run the command again"));
        }
        let Some(after) = &self.after else { return disk::remove_if_exists(&self.path) };
        let above = folders.iter().filter(|folder| self.path.starts_with(folder));
        above.into_iter().try_for_each(|folder| disk::create_folder(folder, 0o755))?;
        disk::write_atomically(&self.path, after, 0o644)
    }
}

pub(crate) fn io_problem(path: &Path, error: &std::io::Error) -> SetupProblem {
    SetupProblem { message: format!("{}: {error}", path.display()), by_hand: None }
}
