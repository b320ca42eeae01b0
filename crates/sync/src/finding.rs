//! What a reader noticed in a bucket that is damaged, hostile or shared with something else. A finding is never an error: the
//! round goes on, and local data stays as it is.
//!
//! Does not know what a person should do about it.

use crate::id::DeviceId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// The newest head of a device is older than one that was read before.
    Rollback,
    /// The heads of a known device are gone, or a listed head cannot be read.
    MissingHead,
    /// Two heads of one device have the same number, or one does not follow the other: a clone, or a restored backup.
    Fork,
    /// The bytes are not those that the name or the signature promises.
    DamagedHead,
    /// Signed by a key that is not on the member list, or not the key of this device.
    UnknownSigner,
    /// Written by a member after its removal.
    RemovedSigner,
    /// A member with role reader published records.
    ReadOnlySigner,
    /// A head names a pack that does not exist.
    MissingPack,
    /// The bytes of a pack are not those that its head names, or they belong to another space, device or number.
    DamagedPack,
    /// The storage refuses a head, or does not answer for it.
    UnreadableHead,
    /// The storage refuses a pack, or does not answer for it.
    UnreadablePack,
    /// A member list that this device accepted is gone.
    MissingMembers,
    /// A head names a member list that is missing, or not signed by an administrator.
    RefusedMembers,
    /// A name that the protocol does not use.
    ForeignObject,
    /// Another copy of this device writes. This one took a new identifier.
    Cloned,
}

impl Problem {
    pub const ALL: [Problem; 15] = [
        Problem::Rollback,
        Problem::MissingHead,
        Problem::Fork,
        Problem::DamagedHead,
        Problem::UnknownSigner,
        Problem::RemovedSigner,
        Problem::ReadOnlySigner,
        Problem::MissingPack,
        Problem::DamagedPack,
        Problem::UnreadableHead,
        Problem::UnreadablePack,
        Problem::MissingMembers,
        Problem::RefusedMembers,
        Problem::ForeignObject,
        Problem::Cloned,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Problem::Rollback => "rollback",
            Problem::MissingHead => "missing-head",
            Problem::Fork => "fork",
            Problem::DamagedHead => "damaged-head",
            Problem::UnknownSigner => "unknown-signer",
            Problem::RemovedSigner => "removed-signer",
            Problem::ReadOnlySigner => "read-only-signer",
            Problem::MissingPack => "missing-pack",
            Problem::DamagedPack => "damaged-pack",
            Problem::UnreadableHead => "unreadable-head",
            Problem::UnreadablePack => "unreadable-pack",
            Problem::MissingMembers => "missing-members",
            Problem::RefusedMembers => "refused-members",
            Problem::ForeignObject => "foreign-object",
            Problem::Cloned => "cloned",
        }
    }

    pub fn from_word(word: &str) -> Option<Problem> {
        Problem::ALL.into_iter().find(|problem| problem.word() == word)
    }
}

/// One problem with one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The device whose log is affected, if the name says it.
    pub device: Option<DeviceId>,
    pub problem: Problem,
    /// The name of the object in the storage.
    pub object: String,
}

impl Finding {
    pub(crate) fn new(device: DeviceId, problem: Problem, object: &str) -> Finding {
        Finding { device: Some(device), problem, object: object.to_owned() }
    }
}
