//! Which transcripts, sessions, messages and calls there are, which are copies of each other, in what order they
//! stand and where their bytes lie, for histories of any size: kept in a database that can be made again at any
//! time, or, without one, sorted outside memory.
//!
//! Knows rows only: no file formats, no text, no queries.

mod apply;
mod copies;
mod describe;
mod reader;
mod resolve;
mod rows;
mod sorted;
mod writer;

pub use apply::{Applied, Fresh, Survey, Touch};
pub use copies::{Joined, Tally, by_key, join};
pub use describe::{Chat, Listed};
pub use reader::{Facts, Known, Mark, Pick, Reader};
pub use resolve::Candidate;
pub use sorted::{Order, Sorted, Sorter};
pub use writer::{Stored, Writer};

use std::path::PathBuf;

/// The number of the layout: another number, and the database is made again.
pub const LAYOUT: i64 = 3;

/// How many events one file may have: an event's number is its file's and its place in it.
pub const ORDINALS: u32 = 24;

/// How many bytes of a message's id are known; the rest of a longer one stands in its transcript.
pub const HEAD: usize = 24;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the temporary file for sorting could not be written: {0}")]
    Spill(#[from] std::io::Error),
    #[error("{path} is damaged: {error}")]
    Damaged { path: PathBuf, error: db::Error },
    #[error("there is no room left to write {path}")]
    Full { path: PathBuf },
    #[error("{path}: {error}")]
    Database { path: PathBuf, error: db::Error },
}

impl Error {
    fn of(path: &std::path::Path, error: db::Error) -> Error {
        let path = path.to_path_buf();
        if db::derived::is_damage(&error) {
            Error::Damaged { path, error }
        } else if db::derived::is_full(&error) {
            Error::Full { path }
        } else {
            Error::Database { path, error }
        }
    }
}

/// An event's number.
pub fn event_id(file: u32, ordinal: u32) -> u64 {
    (u64::from(file) << ORDINALS) | u64::from(ordinal)
}

/// The file and the place in it of an event.
pub fn event_place(event: u64) -> (u32, u32) {
    ((event >> ORDINALS) as u32, (event & ((1 << ORDINALS) - 1)) as u32)
}
