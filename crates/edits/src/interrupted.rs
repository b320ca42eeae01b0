//! What is said of an edit that a crash left half written.
//!
//! Does not know how it is finished or rolled back: the journal does.

use std::path::PathBuf;

/// An edit whose files are neither all as before nor all as after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    pub id: String,
    pub title: String,
    pub root: PathBuf,
    /// It was being undone, not applied.
    pub is_undo: bool,
    /// How many of its files have their new content.
    pub written: usize,
    pub files: usize,
    /// How many temporary files it left.
    pub temporary: usize,
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Interrupted { id, written, files, temporary, .. } = self;
        let (what, done) = if self.is_undo { ("undoing edit", "restored") } else { ("edit", "written") };
        write!(f, "{what} `{id}` was interrupted: {written} of {files} files are {done}")?;
        if *temporary > 0 {
            write!(f, ", {temporary} temporary files are left")?;
        }
        Ok(())
    }
}
