//! Keeps the storage whole: makes sure that it is the one of this space before anything is written, and publishes again what it has lost
//! of this device, of the member lists, and of the newest head.
//!
//! Repairs nothing of other devices: only the owner of a log knows what belongs into it.

use super::membership::put_object;
use super::{Round, Space};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Head, NEWEST_HEAD};
use crate::id::{Hash, SpaceId};
use crate::members::Role;
use crate::names::{
    HeadName, alias_name, head_name, members_name, members_prefix, pack_name, packs_prefix, parse_head,
    parse_members, space_prefix,
};
use crate::state::OwnPack;
use crate::storage::StoreError;
use std::collections::BTreeSet;

/// The share of this device is compared with the storage once a day.
const CHECK_EVERY_MS: u64 = 24 * 3600 * 1000;
/// Of its own objects a device reads this many bytes a day, in turn, and compares their content: 1.5 GB a year.
const READ_A_DAY: usize = 4 << 20;

/// Set by a person who knows that the storage is the right one although it contains nothing.
const ACCEPTED: &str = "accepted-storage";
/// When the share of this device was last compared.
const CHECKED: &str = "checked";
/// The object whose content was compared last.
const READ_UP_TO: &str = "read-up-to";

/// Whether the storage has an object with the right content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Same,
    Missing,
    Other,
    /// It does not answer for this object.
    Unreadable,
}

impl Space {
    /// Before the first write of a round: the member list that this device accepted last must be there. An unmounted mount point is an
    /// empty folder, and what is written into it is lost.
    pub(super) fn confirm_storage(&mut self, round: &mut Round) -> Result<()> {
        if self.is_confirmed {
            return Ok(());
        }
        let newest = self.history.newest().ok_or(Error::NoMembers)?;
        let object = members_name(self.id, &newest);
        if !self.store.has(&object)? {
            if !self.is_proven()? {
                return Err(Error::NotOurs);
            }
            self.put_back_members(round)?;
            // One that nobody has kept, or that this device may not write, is for another to put back.
            if !self.store.has(&object)? {
                round.findings.push(Finding { device: None, problem: Problem::MissingMembers, object });
            }
        }
        self.is_confirmed = true;
        Ok(())
    }

    /// Whether anything shows that this is the storage of the space although the newest member list is gone: an object that this device
    /// has written or read, or the word of a person.
    fn is_proven(&self) -> Result<bool> {
        if self.state.get(ACCEPTED)?.is_some() {
            return Ok(true);
        }
        let own: BTreeSet<String> =
            self.state.own_packs()?.iter().map(|own| self.own_pack_name(own)).collect();
        for name in self.store.list(&space_prefix(self.id), None)? {
            let is_known = match (parse_head(self.id, &name), parse_members(self.id, &name)) {
                (Some(head), _) => self.is_known_head(&head)?,
                (_, Some(at)) => self.history.contains(&at),
                _ => own.contains(&name),
            };
            if is_known {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the storage shows anything of this space, without writing.
    pub(super) fn has_ours(&self) -> Result<bool> {
        let newest = self.history.newest().ok_or(Error::NoMembers)?;
        Ok(self.store.has(&members_name(self.id, &newest))? || self.is_proven()?)
    }

    pub(super) fn is_known_head(&self, head: &HeadName) -> Result<bool> {
        if head.device == self.device { self.state.is_own_head(head) } else { self.state.is_seen(head) }
    }

    /// A person says that this is the storage of the space: it was emptied, and the next round fills it again.
    pub fn accept_storage(&mut self) -> Result<()> {
        let _lock = self.lock()?;
        self.state.set(ACCEPTED, b"1")?;
        self.request_check()
    }

    /// The next round compares the share of this device with the storage.
    pub(super) fn request_check(&mut self) -> Result<()> {
        self.state.set(CHECKED, &0u64.to_be_bytes())
    }

    pub(super) fn is_check_due(&self, now: u64) -> Result<bool> {
        let checked = self.state.get_number(CHECKED)?;
        Ok(self.is_head_lost || checked == 0 || now.abs_diff(checked) >= CHECK_EVERY_MS)
    }

    /// Whether another device could not read something of this one that counts now.
    pub(super) fn is_about_own(&self, head: &Head) -> Result<bool> {
        let mut own = head.unread.iter().filter(|(device, _)| *device == self.device).peekable();
        if own.peek().is_none() {
            return Ok(false);
        }
        let packs = self.state.own_packs()?;
        Ok(own.any(|(_, pack)| *pack == NEWEST_HEAD || packs.iter().any(|own| own.entry.number == *pack)))
    }

    /// The own packs that other devices could not read.
    fn doubted_packs(&self) -> Result<BTreeSet<u64>> {
        let chains = self.state.chains()?.into_values();
        let unread =
            chains.flat_map(|chain| Head::decode(&chain.head).map(|head| head.unread).unwrap_or_default());
        Ok(unread.filter(|(device, _)| *device == self.device).map(|(_, pack)| pack).collect())
    }

    /// Publishes again what the storage has lost of this device.
    pub(super) fn repair(&mut self, now: u64, round: &mut Round) -> Result<()> {
        // What is still being sent cannot be missing.
        self.send_outbox(now, round)?;
        self.confirm_storage(round)?;
        self.put_back_members(round)?;
        let listed: BTreeSet<String> =
            self.store.list(&packs_prefix(self.id, self.device), None)?.into_iter().collect();
        let doubted = self.doubted_packs()?;
        for own in self.state.own_packs()? {
            let name = self.own_pack_name(&own);
            // A list may be behind.
            if !listed.contains(&name) && !self.store.has(&name)? {
                self.publish_again(&own, Problem::MissingPack, round)?;
            } else if doubted.contains(&own.entry.number)
                && self.compare(&name, &own.entry.hash, own.entry.length as usize) == Content::Other
            {
                self.publish_again(&own, Problem::DamagedPack, round)?;
            }
        }
        self.read_own_objects(round)?;
        self.state.remove(ACCEPTED)?;
        // Never zero, which means "at once".
        self.state.set(CHECKED, &now.max(1).to_be_bytes())
    }

    fn own_pack_name(&self, own: &OwnPack) -> String {
        pack_name(self.id, self.device, own.entry.number)
    }

    /// Puts a pack back as it was. One that is not kept here is given up: its records are staged again, and the next head does without it.
    fn publish_again(&mut self, own: &OwnPack, problem: Problem, round: &mut Round) -> Result<()> {
        let name = self.own_pack_name(own);
        let cached = self.state.cached_pack(own.entry.number)?;
        if let Some(sealed) = cached.filter(|sealed| Hash::of(sealed) == own.entry.hash) {
            self.replace_object(&name, &sealed)?;
        } else {
            self.state.give_up_pack(own.entry.number)?;
            self.is_head_lost = true;
            self.store.delete(&name)?;
        }
        round.repaired.push(Finding::new(self.device, problem, &name));
        Ok(())
    }

    /// Objects are never overwritten where the storage can refuse that, so what is wrong is deleted first.
    fn replace_object(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.store.delete(name)?;
        put_object(&*self.store, name, bytes)
    }

    /// Puts back the member lists that the storage lacks. They are signed, so it does not matter who does it.
    pub(super) fn put_back_members(&mut self, round: &mut Round) -> Result<()> {
        if !self.may_write() {
            return Ok(());
        }
        let listed: BTreeSet<String> = self.store.list(&members_prefix(self.id), None)?.into_iter().collect();
        for (at, sealed) in self.state.sealed_members()? {
            let object = members_name(self.id, &at);
            if !listed.contains(&object) {
                put_object(&*self.store, &object, &sealed)?;
                let problem = Problem::MissingMembers;
                round.repaired.push(Finding { device: None, problem, object });
            }
        }
        // What leads the phrase to the space is kept by the device that has replaced it.
        if let (Some(of), Some(alias)) = (self.state.get_array("alias-of")?, self.state.get("alias")?) {
            let object = alias_name(SpaceId(of));
            if self.compare(&object, &Hash::of(&alias), alias.len()) != Content::Same {
                self.replace_object(&object, &alias)?;
            }
        }
        Ok(())
    }

    fn may_write(&self) -> bool {
        self.members.find(&self.keys.public()).is_some_and(|member| member.role > Role::Reader)
    }

    /// Compares the content of the newest head, and of some of the other objects, with what was written.
    fn read_own_objects(&mut self, round: &mut Round) -> Result<()> {
        if let Some(bytes) = self.state.get("head")?
            && let Some(head) = self.state.last_head()?
        {
            let name = HeadName { device: self.device, number: head.number, hash: Hash::of(&bytes) };
            let object = head_name(self.id, &name);
            let content = self.compare(&object, &name.hash, bytes.len());
            // One that is missing is replaced by the next: `is_head_lost`.
            if content == Content::Other {
                self.replace_object(&object, &bytes)?;
                round.repaired.push(Finding::new(self.device, Problem::DamagedHead, &object));
            }
        }
        let read_up_to = self.state.get(READ_UP_TO)?.unwrap_or_default();
        let (mut left, mut last) = (READ_A_DAY, None);
        let lists = if self.may_write() { self.state.sealed_members()? } else { Vec::new() };
        let mut objects: Vec<(String, Own)> =
            lists.into_iter().map(|(at, bytes)| (members_name(self.id, &at), Own::Members(bytes))).collect();
        objects.extend(
            self.state.own_packs()?.into_iter().map(|own| (self.own_pack_name(&own), Own::Pack(own))),
        );
        let first = objects.partition_point(|(name, _)| name.as_bytes() <= &read_up_to[..]);
        objects.rotate_left(first);
        for (name, own) in objects {
            let length = own.length();
            if length > left && last.is_some() {
                break;
            }
            left = left.saturating_sub(length);
            let content = self.compare(&name, &own.hash(), length);
            let is_wrong = matches!(content, Content::Other | Content::Missing);
            match own {
                Own::Members(bytes) if is_wrong => {
                    self.replace_object(&name, &bytes)?;
                    let problem = Problem::MissingMembers;
                    round.repaired.push(Finding { device: None, problem, object: name.clone() });
                }
                Own::Pack(own) if is_wrong => self.publish_again(&own, Problem::DamagedPack, round)?,
                _ if content == Content::Unreadable => {
                    round.findings.push(Finding::new(self.device, Problem::UnreadablePack, &name));
                }
                _ => {}
            }
            last = Some(name);
        }
        self.state.set(READ_UP_TO, last.unwrap_or_default().as_bytes())
    }

    fn compare(&self, object: &str, expected: &Hash, length: usize) -> Content {
        match self.store.get(object, length) {
            Ok(bytes) if Hash::of(&bytes) == *expected => Content::Same,
            Ok(_) | Err(StoreError::TooLarge { .. }) => Content::Other,
            Err(StoreError::NotFound { .. }) => Content::Missing,
            Err(_) => Content::Unreadable,
        }
    }

    /// What could not be staged again stays a finding of its owner.
    pub(super) fn report_lost(&self, round: &mut Round) -> Result<()> {
        for pack in self.state.lost_packs()? {
            let object = pack_name(self.id, self.device, pack);
            round.findings.push(Finding::new(self.device, Problem::MissingPack, &object));
        }
        Ok(())
    }
}

/// An object that this device answers for.
enum Own {
    Members(Vec<u8>),
    Pack(OwnPack),
}

impl Own {
    fn length(&self) -> usize {
        match self {
            Own::Members(bytes) => bytes.len(),
            Own::Pack(own) => own.entry.length as usize,
        }
    }

    fn hash(&self) -> Hash {
        match self {
            Own::Members(bytes) => Hash::of(bytes),
            Own::Pack(own) => own.entry.hash,
        }
    }
}
