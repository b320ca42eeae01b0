//! Converts the errors of databases that cannot be opened: one of a newer Loci stays as it is.
//!
//! Does not know what a database contains.

use api::{Code, Error};
use db::durable::OpenError;
use history::error::newer_store;

/// `failed` words every other reason.
pub(crate) fn open_error(error: OpenError, failed: fn(&dyn std::fmt::Display) -> Error) -> Error {
    match error {
        OpenError::Newer { .. } => newer_store(error),
        OpenError::Failed { .. } => failed(&error),
    }
}

pub(crate) fn memory_error(error: &memory::Error) -> Error {
    match error {
        memory::Error::Newer(_) => newer_store(error),
        _ => Error::new(Code::ReadError, error.to_string()),
    }
}
