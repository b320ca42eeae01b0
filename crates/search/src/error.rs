//! Errors of the index, in terms the user understands.
//!
//! Does not know the remedy: the caller rebuilds, because it has the texts.

use std::path::{Path, PathBuf};
use tantivy::TantivyError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files are missing, truncated or corrupt: rebuild the index.
    #[error("the text index in `{path}` is damaged: {why}")]
    Damaged { path: PathBuf, why: String },
    /// Written by an older version: rebuild the index.
    #[error("the text index in `{path}` was written by an older version of Loci")]
    Version { path: PathBuf },
    /// Written by a newer version: leave it untouched.
    #[error(
        "the text index in `{path}` was created by a newer Loci (layout {found}, this version supports {known})"
    )]
    Newer { path: PathBuf, found: u64, known: u32 },
    /// Another process is writing to the index.
    #[error("another process is writing to the text index in `{path}`")]
    Busy { path: PathBuf },
    /// The disk is full, the folder is not writable, or another I/O error.
    #[error("the text index in `{path}`: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// The engine failed for a reason that says nothing about the files.
    #[error("the text index in `{path}`: {why}")]
    Engine { path: PathBuf, why: String },
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Error {
        Error::Damaged { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn from_engine(path: &Path, error: &TantivyError) -> Error {
        use tantivy::directory::error::{LockError, OpenReadError};
        let path = path.to_owned();
        let why = error.to_string();
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => Error::Busy { path },
            TantivyError::IncompatibleIndex(_)
            | TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_))
            | TantivyError::SchemaError(_)
            | TantivyError::FieldNotFound(_) => Error::Version { path },
            TantivyError::DataCorruption(_) | TantivyError::OpenReadError(_) => Error::Damaged { path, why },
            TantivyError::IoError(source) if is_damage(source.kind()) => Error::Damaged { path, why },
            TantivyError::IoError(source) => {
                Error::Io { path, source: std::io::Error::new(source.kind(), source.to_string()) }
            }
            _ => Error::Engine { path, why },
        }
    }
}

/// Whether the file is truncated or corrupt, as opposed to a failing disk.
fn is_damage(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    matches!(kind, InvalidData | NotFound | UnexpectedEof)
}
