//! The errors of the crate. What a hostile or damaged bucket contains is no error: see [`crate::Finding`].
//!
//! Does not know how an error is shown to a person.

use crate::storage::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Open(#[from] db::durable::OpenError),
    #[error("cannot read or write the sync state: {0}")]
    State(#[from] db::Error),
    #[error("storage: {0}")]
    Store(#[from] StoreError),
    #[error("{what} is damaged or was not written by this version of the protocol")]
    Damaged { what: &'static str },
    #[error("{what} was changed: it does not match its signature or key")]
    Forged { what: &'static str },
    #[error("this device already belongs to a space")]
    AlreadyJoined,
    #[error("this device belongs to no space yet")]
    NotJoined,
    #[error("the space has no member list that this device can read")]
    NoMembers,
    #[error("the storage does not contain this space: it is not mounted, was emptied, or is another one")]
    NotOurs,
    #[error("another process is syncing this space")]
    Busy,
    #[error("this device was removed from the space")]
    Removed,
    #[error("only an administrator of the space can change its members")]
    NotAdministrator,
    #[error("no member `{0}`")]
    UnknownMember(String),
    #[error("a member with role reader cannot write records")]
    ReadOnly,
    #[error("the last administrator cannot be removed")]
    LastAdministrator,
    #[error("record of {bytes} bytes is larger than the limit of {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("a label of a device cannot be used: {0}")]
    Label(&'static str),
    #[error("the recovery phrase is mistyped: {0}")]
    Phrase(&'static str),
    #[error("no space in this storage accepts the recovery phrase")]
    PhraseUnknown,
    #[error("the operating system returned no random bytes: {0}")]
    Random(String),
    #[error("records could not be applied: {0}")]
    Apply(String),
}

pub type Result<T> = std::result::Result<T, Error>;
