//! What sync needs of a storage: put, get, list and delete of small named objects.
//!
//! Does not know what the objects contain, and relies on no condition that a storage may ignore.

mod aws_process;
mod aws_profile;
mod cloud;
mod folder;
mod retry;

pub use cloud::Cloud;
pub use folder::Folder;
pub use retry::{Backoff, Retry};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("no object `{name}`")]
    NotFound { name: String },
    #[error("object `{name}` exists already")]
    Exists { name: String },
    #[error("object `{name}` is larger than {limit} bytes")]
    TooLarge { name: String, limit: usize },
    /// Worth another attempt: a timeout, throttling, an error of the server.
    #[error("`{name}` is unavailable: {reason}")]
    Unavailable { name: String, reason: String },
    /// Another attempt would fail as well: credentials, permissions, a wrong address.
    #[error("`{name}` was refused: {reason}")]
    Refused { name: String, reason: String },
}

impl StoreError {
    pub fn is_temporary(&self) -> bool {
        matches!(self, StoreError::Unavailable { .. })
    }

    pub(crate) fn not_found(name: &str) -> StoreError {
        StoreError::NotFound { name: name.to_owned() }
    }
}

/// A storage. Calls block. Names are `/`-separated and contain only `a-z`, `0-9`, `-`, `.` and `/`.
pub trait Store: Send {
    /// Writes an object as a whole: readers see all of it or nothing. May fail with [`StoreError::Exists`] if there is one with
    /// this name; a storage that cannot check that overwrites it.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Reads an object of at most `limit` bytes.
    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError>;

    /// Whether there is an object with this name.
    fn has(&self, name: &str) -> Result<bool, StoreError> {
        match self.get(name, 0) {
            Ok(_) | Err(StoreError::TooLarge { .. }) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names that start with a prefix, sorted; only those after `after`, if given. The prefix ends in `/`.
    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError>;

    /// Deletes an object; one that does not exist is success.
    fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Whether a request for one object costs less than a list, and what was written is there at once. A folder has no hints: a list costs
    /// nothing, and what synchronises folders changes the order of writes and multiplies files that several devices overwrite.
    fn has_hints(&self) -> bool {
        false
    }

    /// Whether the hint is still the one with this tag.
    fn poll_hint(&self, _name: &str, _tag: Option<&str>) -> Result<Hint, StoreError> {
        Ok(Hint::Missing)
    }

    /// Overwrites the hint. Returns its tag, if nobody has written it since it had the tag `over`, as far as the storage can tell.
    fn put_hint(
        &self,
        _name: &str,
        _bytes: &[u8],
        _over: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}

/// What became of a hint since it was read last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    Same,
    /// Its tag, which differs for each content.
    New(String),
    Missing,
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        (**self).put(name, bytes)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        (**self).get(name, limit)
    }

    fn has(&self, name: &str) -> Result<bool, StoreError> {
        (**self).has(name)
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        (**self).list(prefix, after)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        (**self).delete(name)
    }

    fn has_hints(&self) -> bool {
        (**self).has_hints()
    }

    fn poll_hint(&self, name: &str, tag: Option<&str>) -> Result<Hint, StoreError> {
        (**self).poll_hint(name, tag)
    }

    fn put_hint(&self, name: &str, bytes: &[u8], over: Option<&str>) -> Result<Option<String>, StoreError> {
        (**self).put_hint(name, bytes, over)
    }
}
