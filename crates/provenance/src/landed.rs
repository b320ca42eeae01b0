//! Which lines of which edits commits have already brought.
//!
//! An edit lands once: if a later commit adds the same line again, somebody else wrote it, or a formatter cut a longer one. Does not know
//! which commits there are.

use crate::line::Line;
use rustc_hash::FxHashSet;

/// Edits and the hashes of their lines.
#[derive(Clone, Debug, Default)]
pub struct LandedLines(FxHashSet<(u32, u64)>);

impl LandedLines {
    pub fn extend(&mut self, lines: impl IntoIterator<Item = (u32, Line)>) {
        self.0.extend(lines.into_iter().map(|(edit, line)| (edit, line.hash)));
    }

    pub fn contains(&self, edit: u32, line: Line) -> bool {
        self.0.contains(&(edit, line.hash))
    }
}
