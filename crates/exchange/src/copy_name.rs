//! The name of an archived copy as a key of records: the name of the transcript and the device that wrote it, because two devices can
//! have different transcripts at one path.
//!
//! Does not know what the copy is of.

use sources::archive::{Store, name_of_origin};
use sync::DeviceId;

/// Whose copy of which transcript.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CopyName {
    pub(crate) transcript: u128,
    pub(crate) origin: DeviceId,
}

impl CopyName {
    pub(crate) fn parse(key: &str) -> Option<CopyName> {
        let (name, origin) = key.split_once('@')?;
        let transcript = (name.len() == 32).then(|| u128::from_str_radix(name, 16).ok())??;
        Some(CopyName { transcript, origin: DeviceId::parse(origin)? })
    }

    pub(crate) fn to_key(&self) -> String {
        format!("{:032x}@{}", self.transcript, self.origin)
    }

    /// The name of a copy in the archive of this device. None: it cannot be read.
    pub(crate) fn of_copy(store: &Store, copy: u128, this: DeviceId) -> Option<CopyName> {
        let copy = store.find_by_name(copy).ok()?;
        let origin = copy.origin.map_or(Some(this), |origin| DeviceId::parse(&origin))?;
        Some(CopyName { transcript: copy.transcript_name, origin })
    }

    /// The device as the archive names it. None: this one.
    pub(crate) fn foreign_origin(&self, this: DeviceId) -> Option<String> {
        (self.origin != this).then(|| self.origin.to_string())
    }

    /// What the copy is called in the archive of this device.
    pub(crate) fn in_archive(&self, this: DeviceId) -> u128 {
        name_of_origin(self.transcript, self.foreign_origin(this).as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_transcript_and_device() {
        let (here, there) = (DeviceId([1; 16]), DeviceId([2; 16]));
        let name = CopyName { transcript: 0xabc, origin: there };
        assert_eq!(CopyName::parse(&name.to_key()), Some(name.clone()));
        assert_eq!(CopyName::parse(&format!("{:032x}", 0xabc)), None);
        assert_eq!((name.in_archive(there), name.foreign_origin(there)), (0xabc, None));
        assert_ne!(name.in_archive(here), 0xabc);
    }
}
