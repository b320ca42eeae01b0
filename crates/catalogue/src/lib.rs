//! Which rows are copies of each other, which result belongs to which call, and in what order they stand, for
//! histories of any size: rows beyond a few megabytes lie in an unlinked temporary file, never in memory.
//!
//! Knows rows only: no file formats, no text, no queries.

mod copies;
mod sorted;

pub use copies::{Joined, Tally, by_key, join};
pub use sorted::{Order, Sorted, Sorter};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the temporary file for sorting could not be written: {0}")]
    Spill(#[from] std::io::Error),
}
