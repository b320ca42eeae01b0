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
        other => Error::new(Code::ReadError, other.to_string()).hint(REBUILD),
    }
}

const REBUILD: &str =
    "`loci index --rebuild` rebuilds catalogue and index from the transcripts; no data is lost";

/// The end of the operating system's message for `ENOSPC`.
const NO_SPACE: &str = "(os error 28)";

pub fn index_error(error: &search::Error) -> Error {
    // An error in one of the engine's threads arrives as text only, in either variant.
    if let search::Error::Io { path, .. } | search::Error::Engine { path, .. } = error
        && error.to_string().contains(NO_SPACE)
    {
        return home::disk_full(path);
    }
    Error::new(Code::ReadError, error.to_string()).hint(REBUILD)
}
