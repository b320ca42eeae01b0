//! Compares everything that the storage should have with what it has, as `restic check` does.
//!
//! Changes nothing in the storage: the next round repairs what is of this device, and the others what is theirs.

use super::{Round, Space};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Head, PackEntry};
use crate::id::{DeviceId, Hash};
use crate::members::MAX_MEMBERS;
use crate::names::{
    HeadName, head_name, heads_prefix, log_prefix, members_name, members_prefix, pack_name, packs_prefix,
};
use crate::storage::StoreError;
use std::collections::BTreeSet;

/// What a check has looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Packs, heads and member lists that should be there.
    pub objects: u64,
    /// Bytes whose content was compared.
    pub bytes: u64,
    pub findings: Vec<Finding>,
}

impl Space {
    /// Looks for every object that the newest heads name, and for the member lists. With `read`, compares the content of each.
    pub fn check(&mut self, read: bool) -> Result<Checked> {
        let _lock = self.lock()?;
        self.reload()?;
        if !self.has_ours()? {
            return Err(Error::NotOurs);
        }
        let mut checked = Checked::default();
        self.check_members(read, &mut checked)?;
        let heads: BTreeSet<String> = self.store.list(&heads_prefix(self.id), None)?.into_iter().collect();
        let own = self.state.get("head")?;
        let others = self.state.chains()?.into_values().filter(|chain| {
            // What a removed member left counts as the member list says.
            self.members.removed(&chain.signer).is_none()
        });
        let logs: Vec<Vec<u8>> = own.into_iter().chain(others.map(|chain| chain.head)).collect();
        for bytes in logs {
            let head = Head::decode(&bytes)?;
            self.check_head(&head, &bytes, (&heads, read), &mut checked);
            self.check_packs(&head, read, &mut checked)?;
        }
        if !checked.findings.is_empty() {
            self.request_check()?;
        }
        Ok(checked)
    }

    fn check_members(&self, read: bool, checked: &mut Checked) -> Result<()> {
        let listed: BTreeSet<String> = self.store.list(&members_prefix(self.id), None)?.into_iter().collect();
        for version in self.history.versions() {
            checked.objects += 1;
            let object = members_name(self.id, &version.at);
            let is_there = listed.contains(&object);
            if !is_there || read && !self.has_content(&object, &version.at.hash, MAX_MEMBERS, checked) {
                checked.findings.push(Finding { device: None, problem: Problem::MissingMembers, object });
            }
        }
        Ok(())
    }

    fn check_head(
        &self,
        head: &Head,
        bytes: &[u8],
        (listed, read): (&BTreeSet<String>, bool),
        checked: &mut Checked,
    ) {
        checked.objects += 1;
        let name = HeadName { device: head.device, number: head.number, hash: Hash::of(bytes) };
        let object = head_name(self.id, &name);
        // Another device may have published since.
        let prefix = log_prefix(self.id, head.device);
        let newest = listed.iter().rfind(|name| name.starts_with(&prefix));
        if newest.is_none_or(|newest| *newest < object) {
            checked.findings.push(Finding::new(head.device, Problem::MissingHead, &object));
        } else if read
            && listed.contains(&object)
            && !self.has_content(&object, &name.hash, bytes.len(), checked)
        {
            checked.findings.push(Finding::new(head.device, Problem::DamagedHead, &object));
        }
    }

    fn check_packs(&mut self, head: &Head, read: bool, checked: &mut Checked) -> Result<()> {
        let prefix = packs_prefix(self.id, head.device);
        let listed: BTreeSet<String> = self.store.list(&prefix, None)?.into_iter().collect();
        for entry in &head.packs {
            checked.objects += 1;
            let object = pack_name(self.id, head.device, entry.number);
            if !listed.contains(&object) {
                checked.findings.push(Finding::new(head.device, Problem::MissingPack, &object));
            } else if read {
                self.read_pack(head.device, entry, checked);
            }
        }
        Ok(())
    }

    /// Opens a pack as a reader would.
    fn read_pack(&mut self, device: DeviceId, entry: &PackEntry, checked: &mut Checked) {
        let mut round = Round::default();
        if self.fetch_pack(device, entry, &mut round).is_some() {
            checked.bytes += entry.length;
        }
        checked.findings.append(&mut round.findings);
    }

    fn has_content(&self, object: &str, expected: &Hash, length: usize, checked: &mut Checked) -> bool {
        match self.store.get(object, length) {
            Ok(bytes) => {
                checked.bytes += bytes.len() as u64;
                Hash::of(&bytes) == *expected
            }
            Err(StoreError::NotFound { .. } | StoreError::TooLarge { .. }) => false,
            // It is there, and does not answer now.
            Err(_) => true,
        }
    }
}
