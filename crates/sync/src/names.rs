//! The names of objects in the bucket.
//!
//! Does not know the prefix that a storage puts in front of them.

use crate::head::MembersRef;
use crate::id::{DeviceId, Hash, SpaceId};

/// A head, as its name describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeadName {
    pub(crate) device: DeviceId,
    pub(crate) number: u64,
    pub(crate) hash: Hash,
}

pub(crate) fn heads_prefix(space: SpaceId) -> String {
    format!("v1/{space}/heads/")
}

/// Everything of a space.
pub(crate) fn space_prefix(space: SpaceId) -> String {
    format!("v1/{space}/")
}

pub(crate) fn log_prefix(space: SpaceId, device: DeviceId) -> String {
    format!("{}{device}/", heads_prefix(space))
}

pub(crate) fn packs_prefix(space: SpaceId, device: DeviceId) -> String {
    format!("v1/{space}/packs/{device}/")
}

/// Where a phrase that replaced the first one finds the space: `alias` follows from the phrase.
pub(crate) fn alias_name(alias: SpaceId) -> String {
    format!("v1/{alias}/space.age")
}

/// What each publication overwrites: see `space/hint.rs`.
pub(crate) fn hint_name(space: SpaceId) -> String {
    format!("v1/{space}/hint")
}

pub(crate) fn members_prefix(space: SpaceId) -> String {
    format!("v1/{space}/members/")
}

/// Numbers have a fixed width, so that names sort as numbers do.
pub(crate) fn head_name(space: SpaceId, name: &HeadName) -> String {
    format!("{}{}/{:010}-{}", heads_prefix(space), name.device, name.number, name.hash)
}

pub(crate) fn pack_name(space: SpaceId, device: DeviceId, number: u64) -> String {
    format!("{}{number:020}", packs_prefix(space, device))
}

pub(crate) fn members_name(space: SpaceId, at: &MembersRef) -> String {
    format!("{}{:010}-{}.age", members_prefix(space), at.version, at.hash)
}

pub(crate) fn parse_head(space: SpaceId, name: &str) -> Option<HeadName> {
    let (device, rest) = name.strip_prefix(&heads_prefix(space))?.split_once('/')?;
    let (number, hash) = parse_numbered(rest)?;
    let parsed = HeadName { device: DeviceId::parse(device)?, number, hash };
    (head_name(space, &parsed) == name).then_some(parsed)
}

pub(crate) fn parse_members(space: SpaceId, name: &str) -> Option<MembersRef> {
    let rest = name.strip_prefix(&members_prefix(space))?.strip_suffix(".age")?;
    let (version, hash) = parse_numbered(rest)?;
    Some(MembersRef { version, hash })
}

fn parse_numbered(text: &str) -> Option<(u64, Hash)> {
    let (number, hash) = text.split_once('-')?;
    let is_number = number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(())?;
    // The state stores numbers as signed integers.
    let number = number.parse().ok().filter(|number| i64::try_from(*number).is_ok())?;
    Some((number, Hash::parse(hash)?))
}

/// The number of a pack, by its name.
pub(crate) fn parse_pack(name: &str) -> Option<u64> {
    name.split('/').nth(2).filter(|kind| *kind == "packs")?;
    name.rsplit('/').next()?.parse().ok()
}

/// The device that a name under `heads/` or `packs/` belongs to, if it says so.
pub(crate) fn device_of(name: &str) -> Option<DeviceId> {
    name.split('/').nth(3).and_then(DeviceId::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written_and_sort_by_number() {
        let space = SpaceId([1; 16]);
        let head = |number| HeadName { device: DeviceId([2; 16]), number, hash: Hash([3; 32]) };
        let names = [1, 9, 10, 1_000_000].map(|number| head_name(space, &head(number)));
        assert!(names.is_sorted());
        assert_eq!(parse_head(space, &names[2]), Some(head(10)));
        assert_eq!(device_of(&names[0]), Some(DeviceId([2; 16])));
        for foreign in
            [names[0].to_uppercase(), format!("{}x", names[0]), names[0].replace("0000000001", "1")]
        {
            assert_eq!(parse_head(space, &foreign), None, "{foreign}");
        }
        assert_eq!(parse_pack(&pack_name(space, DeviceId([2; 16]), 77)), Some(77));
        assert_eq!(parse_pack(&names[2]), None);
        let at = MembersRef { version: 7, hash: Hash([4; 32]) };
        assert_eq!(parse_members(space, &members_name(space, &at)), Some(at));
    }
}
