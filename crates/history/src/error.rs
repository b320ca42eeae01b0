//! Errors of the stores below, in the words of `api`: what failed, on what, and what to type next.
//!
//! Does not know which operation failed.

use crate::home;
use api::{Code, Error};

pub fn read_error(error: impl std::fmt::Display) -> Error {
    Error::new(Code::ReadError, error.to_string())
}

pub fn homeless() -> Error {
    Error::new(Code::ReadError, "there is nowhere to keep an index: HOME is not set")
        .hint("set HOME, or XDG_DATA_HOME and XDG_CACHE_HOME")
}

pub fn store_error(error: catalogue::Error) -> Error {
    match error {
        catalogue::Error::Full { path } => home::full(&path),
        catalogue::Error::Spill(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            home::full(std::path::Path::new("the temporary directory"))
        }
        other => Error::new(Code::ReadError, other.to_string())
            .hint("`loci index --rebuild` makes catalogue and index again; nothing is lost but time"),
    }
}

/// How the system ends its words about a full disk.
const NO_ROOM: &str = "(os error 28)";

pub fn index_error(error: &search::Error) -> Error {
    // What fails in one of its threads the engine tells in words alone, of one kind or another.
    if let search::Error::Io { path, .. } | search::Error::Engine { path, .. } = error
        && error.to_string().contains(NO_ROOM)
    {
        return home::full(path);
    }
    let told = Error::new(Code::ReadError, error.to_string());
    told.hint("`loci index --rebuild` makes catalogue and index again; nothing is lost but time")
}
