//! Matches the lines of a repository with recorded edits, by their text: which edit wrote a line, which edits explain a commit,
//! and which were undone.
//!
//! [`line`] compares lines so that a formatter does not hide them, [`diff`] finds the lines that an edit added, [`patch`] reads what
//! git prints, [`pool`] claims lines for edits, and [`commit`] counts them. [`note`] and [`checkpoint`] read what other programs wrote into
//! the repository about its sessions. Does not run git, and does not know sessions, transcripts or symbols.

pub mod checkpoint;
pub mod commit;
pub mod diff;
pub mod landed;
pub mod line;
pub mod note;
pub mod patch;
pub mod pool;

pub use commit::{Attribution, attribute_commit};
pub use patch::{Commit, FilePatch, Hunk, parse_log};
pub use pool::{Claim, Edit, Pool, Region};
