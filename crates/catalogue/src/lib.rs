//! The catalogue of transcripts, sessions, messages and calls: which events are copies of each other, in
//! which order they are listed, and where their bytes are. Works for histories of any size: stored in a
//! database that can be rebuilt at any time or, without one, sorted outside memory.
//!
//! Knows only rows: no file formats, no text, no queries.

mod apply;
mod copies;
mod describe;
mod reader;
mod resolve;
mod rows;
mod shortened;
mod sorter;
mod touched;
mod writer;

pub use apply::{ApplyOutcome, ChangedEvent, NewTitle, Survey, TouchedFile};
pub use copies::{CopyCounts, JoinedEvent, compare_by_key, join_copies};
pub use describe::{FolderUse, ListedKeys, ListedSession, SessionFilter};
pub use reader::{EventFilter, FileState, KnownFile, Reader, Watermark};
pub use resolve::Candidate;
pub use shortened::ShortenedFile;
pub use sorter::{Order, Sorted, Sorter};
pub use writer::{StoredFile, Writer};

use std::path::PathBuf;

/// The layout number: the database is rebuilt if it has a smaller one, and left untouched if it has a larger one.
pub const LAYOUT: i64 = 5;

/// Bits of an event's ID that hold its position in the file; the bits above hold the file's ID. Limits the
/// events of one file.
pub const ORDINAL_BITS: u32 = 24;

/// How many bytes of a message's id are stored; the rest of a longer one is only in its transcript.
pub const ID_HEAD_LEN: usize = 24;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the temporary file for sorting: {0}")]
    Spill(#[from] std::io::Error),
    #[error("{path} is damaged: {error}")]
    Damaged { path: PathBuf, error: db::Error },
    #[error("no space left on the disk to write {path}")]
    Full { path: PathBuf },
    #[error("{path} was created by a newer Loci (layout {found}, this version supports {LAYOUT})")]
    Newer { path: PathBuf, found: i64 },
    #[error("{path}: {error}")]
    Database { path: PathBuf, error: db::Error },
}

impl Error {
    fn from_db(path: &std::path::Path, error: db::Error) -> Error {
        let path = path.to_path_buf();
        if db::derived::is_corruption(&error) {
            Error::Damaged { path, error }
        } else if db::derived::is_disk_full(&error) {
            Error::Full { path }
        } else {
            Error::Database { path, error }
        }
    }
}

/// The ID of the event at a position in a file.
pub fn event_id(file: u32, ordinal: u32) -> u64 {
    (u64::from(file) << ORDINAL_BITS) | u64::from(ordinal)
}

/// The file and the position in it of an event.
pub fn split_event_id(event: u64) -> (u32, u32) {
    ((event >> ORDINAL_BITS) as u32, (event & ((1 << ORDINAL_BITS) - 1)) as u32)
}
