//! Converts errors of the catalogue and the text index to API errors: what failed, on what, and a hint.
//!
//! Does not know which operation failed.

use crate::home;
use api::{Code, Error};

pub fn read_error(error: impl std::fmt::Display) -> Error {
    Error::new(Code::ReadError, error.to_string())
}

pub fn no_home() -> Error {
    Error::new(Code::ReadError, "no directory for the index: HOME is not set")
        .hint("set HOME, or XDG_DATA_HOME and XDG_CACHE_HOME")
}

pub fn store_error(error: catalogue::Error) -> Error {
    match error {
        catalogue::Error::Full { path } => home::disk_full(&path),
        catalogue::Error::Spill(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            home::disk_full(std::path::Path::new("the temporary directory"))
        }
        newer @ catalogue::Error::Newer { .. } => newer_store(newer).hint(REPLACE),
        other => Error::new(Code::ReadError, other.to_string()).hint(REBUILD),
    }
}

const REBUILD: &str =
    "`loci index --rebuild` rebuilds catalogue and index from the transcripts; no data is lost";

/// For the same, if a newer Loci has written them.
const REPLACE: &str =
    "or `loci index --rebuild`, which replaces catalogue and index by those of this version; no data is lost";

/// An error for a store that a newer Loci has written: it stays unchanged.
pub fn newer_store(error: impl std::fmt::Display) -> Error {
    Error::new(Code::NewerStore, error.to_string()).hint("update Loci: `loci update --check` says how")
}

/// The same for text that a newer Loci has masked.
pub(crate) fn newer_masking(path: &std::path::Path, found: i64, known: i64) -> Error {
    let path = path.display();
    newer_store(format!(
        "{path} was created by a newer Loci (rules of masking {found}, this version supports {known})"
    ))
    .hint(REPLACE)
}

/// The end of the operating system's message for `ENOSPC`.
const NO_SPACE: &str = "(os error 28)";

/// What tantivy says of a worker that ended with an error.
const WRITER_ENDED: &str = "index writer was killed";
/// With less free space than this, a segment could not be written.
const ROOM_FOR_SEGMENT: u64 = 16 << 20;

pub fn index_error(error: &search::Error) -> Error {
    // An error in one of the engine's threads arrives as text only, in either variant.
    if let search::Error::Io { path, .. } | search::Error::Engine { path, .. } = error
        && error.to_string().contains(NO_SPACE)
    {
        return home::disk_full(path);
    }
    // of a worker that could not write, only this is passed on
    if let search::Error::Engine { path, why } = error
        && why.contains(WRITER_ENDED)
        && home::free_bytes(path.parent().unwrap_or(path)).is_some_and(|free| free < ROOM_FOR_SEGMENT)
    {
        return home::disk_full(path);
    }
    if let search::Error::Newer { .. } = error {
        return newer_store(error).hint(REPLACE);
    }
    Error::new(Code::ReadError, error.to_string()).hint(REBUILD)
}
