//! Publishes what was staged: packs, merged in levels, and a head that names them. A publication is saved before its first byte
//! is sent, so that an interrupted one is continued and never made twice.
//!
//! Does not read the logs of other devices.

use super::membership::put_object;
use super::{Round, Space};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Head, MembersRef, NEWEST_HEAD, PackEntry, Unread};
use crate::id::{DeviceId, Hash, random};
use crate::members::Role;
use crate::merge;
use crate::names::{HeadName, head_name, hint_name, pack_name, parse_pack};
use crate::pack::{MAX_CONTENT, Place, seal_records};
use crate::record::{Body, Record};
use crate::state::{Garbage, NewPack, OwnPack, Publication};
use std::collections::BTreeSet;

/// Deletions are batched: fewer than this many wait, unless they are urgent.
const DELETIONS: usize = 8;

/// Packs of this level are not merged. Large packs move up to it without being written again.
const MAX_LEVEL: u64 = 20;

/// A pack of the next head: one that exists, or one to be written.
struct Planned {
    level: u64,
    first: u64,
    last: u64,
    size: usize,
    source: Source,
}

enum Source {
    Existing(OwnPack),
    Records(Vec<Record>),
}

/// More objects of others that cannot be read are not named in one head.
const MAX_UNREAD: usize = 64;

/// What a head says besides packs.
struct Said {
    members: MembersRef,
    confirmed: Vec<(DeviceId, u64)>,
    unread: Vec<Unread>,
}

impl Space {
    pub(super) fn push(&mut self, now: u64, round: &mut Round) -> Result<()> {
        self.send_outbox(now, round)?;
        while let Some(publication) = self.plan_publication(now, round)? {
            round.sent += publication.packed.len() as u64;
            self.state.save_publication(&publication)?;
            self.send_outbox(now, round)?;
            self.is_head_lost = false;
        }
        self.delete_garbage(now, round)
    }

    pub(super) fn send_outbox(&mut self, now: u64, round: &mut Round) -> Result<()> {
        while let Some((id, name, bytes)) = self.state.next_outgoing()? {
            self.confirm_storage(round)?;
            if name == hint_name(self.id) {
                self.put_hint(&name, &bytes)?;
            } else {
                put_object(&*self.store, &name, &bytes)?;
            }
            self.state.finish_outgoing(id, now)?;
        }
        Ok(())
    }

    /// None: the newest head says everything already.
    fn plan_publication(&mut self, now: u64, round: &mut Round) -> Result<Option<Publication>> {
        let (packed, records) = self.state.load_pending(MAX_CONTENT)?;
        let before = self.state.own_packs()?;
        let last = self.state.last_head()?;
        let confirmed = self.confirmed_devices()?;
        let members = self.history.newest().ok_or(Error::NoMembers)?;
        let unread = self.list_unread(last.as_ref(), round);
        let is_said = last.as_ref().is_some_and(|head| head.confirmed == confirmed)
            && self.is_announced(last.as_ref(), members)?
            && self.is_unread_said(last.as_ref(), &unread)?
            && !self.is_head_lost;
        let is_dirty = before.iter().any(|pack| pack.is_dirty);
        let has_role = self.members.find(&self.keys.public()).is_some();
        if !has_role || (records.is_empty() && is_said && !is_dirty) {
            return Ok(None);
        }
        let forgotten = records.iter().filter(|record| record.body == Body::Forgotten).count() as u64;
        let planned = self.plan_packs(&before, records, round)?;
        let Some((live, packs)) = self.seal_planned(planned)? else { return Ok(None) };
        if packed.is_empty() && is_said && packs.is_empty() {
            // A pack that had to be written anew could not be read.
            return Ok(None);
        }
        let said = Said { members, confirmed, unread };
        let head = self.build_head(last.as_ref(), &live, said, forgotten, now)?;
        let garbage = self.superseded(&before, &live);
        Ok(Some(self.finish_plan(&head, live, packs, garbage, packed)))
    }

    /// Whether a head in the storage names the member list, of this or another device. If every device published one because of it,
    /// each would have to read those of all others.
    fn is_announced(&self, last: Option<&Head>, members: MembersRef) -> Result<bool> {
        if last.is_some_and(|head| head.members == members) {
            return Ok(true);
        }
        let chains = self.state.chains()?;
        Ok(chains.values().any(|chain| Head::decode(&chain.head).is_ok_and(|head| head.members == members)))
    }

    /// What this device could not read of others, for them to publish again. What a storage does not answer for now may be there.
    fn list_unread(&self, last: Option<&Head>, round: &Round) -> Vec<Unread> {
        if self.failures > 0 {
            // Not everything was looked at.
            return last.map_or(Vec::new(), |head| head.unread.clone());
        }
        let unread = |one: &Finding| match (one.device, one.problem) {
            (Some(device), Problem::MissingPack | Problem::DamagedPack) if device != self.device => {
                Some((device, parse_pack(&one.object)?))
            }
            (Some(device), Problem::DamagedHead) if device != self.device => Some((device, NEWEST_HEAD)),
            _ => None,
        };
        let unread: BTreeSet<Unread> = round.findings.iter().filter_map(unread).take(MAX_UNREAD).collect();
        unread.into_iter().collect()
    }

    /// Whether the storage says all of it, by this or another device, and by this one nothing else: see [`Space::is_announced`].
    fn is_unread_said(&self, last: Option<&Head>, unread: &[Unread]) -> Result<bool> {
        let before = last.map_or(&[][..], |head| &head.unread);
        if before == unread {
            return Ok(true);
        }
        if unread.is_empty() || before.iter().any(|one| !unread.contains(one)) {
            return Ok(false);
        }
        let heads = self.state.chains()?.into_values().filter_map(|chain| Head::decode(&chain.head).ok());
        let said: BTreeSet<Unread> =
            heads.flat_map(|head| head.unread).chain(before.iter().copied()).collect();
        Ok(unread.iter().all(|one| said.contains(one)))
    }

    fn finish_plan(
        &self,
        head: &Head,
        live: Vec<OwnPack>,
        packs: Vec<NewPack>,
        garbage: Vec<Garbage>,
        packed: Vec<i64>,
    ) -> Publication {
        let head_bytes = head.encode(&self.keys);
        let name = HeadName { device: self.device, number: head.number, hash: Hash::of(&head_bytes) };
        let head_object = head_name(self.id, &name);
        let hint = self.store.has_hints().then(|| hint_name(self.id));
        Publication { packs, live, garbage, packed, head: name, head_object, head_bytes, hint }
    }

    /// Of which devices everything that they have forgotten was applied here.
    fn confirmed_devices(&self) -> Result<Vec<(DeviceId, u64)>> {
        let chains = self.state.chains()?;
        let counts = chains.into_values().map(|chain| (chain.device, chain.forgotten));
        Ok(counts.filter(|(_, count)| *count > 0).collect())
    }

    fn build_head(
        &self,
        last: Option<&Head>,
        live: &[OwnPack],
        said: Said,
        forgotten: u64,
        now: u64,
    ) -> Result<Head> {
        let Said { members, confirmed, unread } = said;
        let previous = self.state.get("head")?.map_or(Hash::ZERO, |bytes| Hash::of(&bytes));
        Ok(Head {
            space: self.id,
            device: self.device,
            number: last.map_or(1, |head| head.number + 1),
            signer: self.keys.public(),
            salt: self.salt,
            previous,
            ancestors: last.map_or(Vec::new(), Head::next_ancestors),
            members,
            written: now,
            forgotten: last.map_or(0, |head| head.forgotten) + forgotten,
            packs: live.iter().map(|pack| pack.entry.clone()).collect(),
            confirmed,
            unread,
        })
    }

    /// The packs of the next head: the existing ones, merged where a level is full, and one for the new records. These are never part of
    /// a merge at once: a reader that is up to date then has what is in the merged pack, and leaves it.
    fn plan_packs(
        &mut self,
        before: &[OwnPack],
        records: Vec<Record>,
        round: &mut Round,
    ) -> Result<Vec<Planned>> {
        let last = before.iter().map(|pack| pack.entry.last).max().unwrap_or(0);
        let next_write = last.max(self.state.get_number("last-write")?) + 1;
        let mut planned: Vec<Planned> = before.iter().map(Planned::existing).collect();
        self.rewrite_dirty(&mut planned, round)?;
        while let Some(from) = find_full_level(&planned, self.settings.fan_in) {
            self.merge_level(&mut planned, from, round)?;
        }
        if !records.is_empty() {
            self.state.set("last-write", &next_write.to_be_bytes())?;
            let size = records.iter().map(Record::size).sum();
            let source = Source::Records(records);
            planned.push(Planned { level: 0, first: next_write, last: next_write, size, source });
        }
        Ok(planned)
    }

    /// Replaces packs that contain a forgotten record. One that cannot be read stays dirty, for the next round.
    fn rewrite_dirty(&mut self, planned: &mut [Planned], round: &mut Round) -> Result<()> {
        for pack in planned.iter_mut() {
            let Source::Existing(own) = &pack.source else { continue };
            if !own.is_dirty {
                continue;
            }
            let own = own.clone();
            if let Some(records) = self.load_own_pack(&own.entry, round)? {
                let records = self.keep_needed(records)?;
                pack.size = records.iter().map(Record::size).sum();
                pack.source = Source::Records(records);
            }
        }
        Ok(())
    }

    /// Merges the packs from a position on, which all have one level. Packs too large to merge only move up a level.
    fn merge_level(&mut self, planned: &mut Vec<Planned>, from: usize, round: &mut Round) -> Result<()> {
        let level = planned[from].level + 1;
        let mut merged: Vec<Planned> = Vec::new();
        for pack in planned.split_off(from) {
            let open = merged.last_mut().filter(|open| open.size + pack.size <= MAX_CONTENT);
            let is_merged = match open {
                Some(open) => self.merge_pair(open, &pack, round)?,
                None => false,
            };
            if !is_merged {
                merged.push(pack);
            }
        }
        for pack in &mut merged {
            pack.level = level;
        }
        planned.extend(merged);
        Ok(())
    }

    /// Whether both could be read and were merged.
    fn merge_pair(&mut self, open: &mut Planned, pack: &Planned, round: &mut Round) -> Result<bool> {
        let Some(more) = self.load_planned(pack, round)? else { return Ok(false) };
        let Some(mut records) = self.load_planned(open, round)? else { return Ok(false) };
        records.extend(more);
        let records = self.keep_needed(records)?;
        open.last = pack.last;
        open.size = records.iter().map(Record::size).sum();
        open.source = Source::Records(records);
        Ok(true)
    }

    fn load_planned(&mut self, pack: &Planned, round: &mut Round) -> Result<Option<Vec<Record>>> {
        match &pack.source {
            Source::Records(records) => Ok(Some(records.clone())),
            Source::Existing(own) => self.load_own_pack(&own.entry.clone(), round),
        }
    }

    /// An own pack from the local cache or the storage. None: the storage has lost or changed it.
    pub(super) fn load_own_pack(
        &mut self,
        entry: &PackEntry,
        round: &mut Round,
    ) -> Result<Option<Vec<Record>>> {
        let cached = self.state.cached_pack(entry.number)?;
        if let Some(records) = cached.and_then(|sealed| self.open_pack(self.device, entry, &sealed)) {
            return Ok(Some(records));
        }
        let fetched = self.fetch_pack(self.device, entry, round);
        if fetched.is_none() {
            self.request_check()?;
        }
        Ok(fetched)
    }

    fn keep_needed(&self, records: Vec<Record>) -> Result<Vec<Record>> {
        merge::keep_needed(records, |key| self.state.rank(key))
    }

    fn seal_planned(&self, planned: Vec<Planned>) -> Result<Option<(Vec<OwnPack>, Vec<NewPack>)>> {
        let can_write =
            self.members.find(&self.keys.public()).is_some_and(|member| member.role > Role::Reader);
        let (mut live, mut new) = (Vec::new(), Vec::new());
        for pack in planned {
            match pack.source {
                Source::Existing(mut own) => {
                    own.entry.level = pack.level;
                    live.push(own);
                }
                Source::Records(ref records) if records.is_empty() => {}
                Source::Records(_) if !can_write => return Ok(None),
                Source::Records(_) => {
                    let sealed = self.seal_pack(&pack)?;
                    live.push(sealed.pack.clone());
                    new.push(sealed);
                }
            }
        }
        Ok(Some((live, new)))
    }

    fn seal_pack(&self, planned: &Planned) -> Result<NewPack> {
        let Source::Records(records) = &planned.source else {
            return Err(Error::Damaged { what: "a planned pack" });
        };
        let number = new_pack_number(planned.last)?;
        let place = Place { space: self.id, device: self.device, number };
        let (epoch, key) = self.members.current_key().ok_or(Error::NoMembers)?;
        let sealed = seal_records(records, place, epoch, key)?;
        let entry = PackEntry {
            number,
            level: planned.level,
            first: planned.first,
            last: planned.last,
            length: sealed.len() as u64,
            hash: Hash::of(&sealed),
        };
        let keys = records.iter().map(Record::key_hash).collect();
        let has_content = |record: &&Record| matches!(record.body, Body::Bytes(_));
        let marks = records.iter().filter(|record| !has_content(record)).cloned().collect();
        let name = pack_name(self.id, self.device, number);
        let pack = OwnPack { entry, size: planned.size, is_dirty: false };
        Ok(NewPack { pack, name, sealed, keys, marks })
    }

    fn superseded(&self, before: &[OwnPack], live: &[OwnPack]) -> Vec<Garbage> {
        let is_gone = |pack: &&OwnPack| live.iter().all(|kept| kept.entry.number != pack.entry.number);
        let gone = before.iter().filter(is_gone);
        gone.map(|pack| Garbage {
            name: pack_name(self.id, self.device, pack.entry.number),
            is_urgent: pack.is_dirty,
        })
        .collect()
    }

    /// Deletes superseded packs whose grace period is over, and old heads. Failures wait for the next round.
    fn delete_garbage(&mut self, now: u64, round: &mut Round) -> Result<()> {
        let due = self.state.due_garbage(now.saturating_sub(self.settings.grace_ms))?;
        let urgent = self.state.due_garbage(0)?;
        for name in if due.len() >= DELETIONS { due } else { urgent } {
            self.confirm_storage(round)?;
            if self.store.delete(&name).is_err() {
                return Ok(());
            }
            self.state.forget_garbage(&name)?;
        }
        self.delete_old_heads()
    }

    fn delete_old_heads(&mut self) -> Result<()> {
        let last = self.state.last_head()?.map_or(0, |head| head.number);
        let first_kept = (last + 1).saturating_sub(self.settings.kept_heads);
        let old = self.state.own_heads_below(first_kept)?;
        if (old.len() as u64) < self.settings.kept_heads {
            return Ok(());
        }
        for (number, hash) in old {
            let name = head_name(self.id, &HeadName { device: self.device, number, hash });
            if self.store.delete(&name).is_err() {
                return Ok(());
            }
        }
        self.state.set_first_kept_head(first_kept)
    }
}

impl Planned {
    fn existing(pack: &OwnPack) -> Planned {
        let PackEntry { level, first, last, .. } = pack.entry;
        Planned { level, first, last, size: pack.size, source: Source::Existing(pack.clone()) }
    }
}

/// Where the packs of one level begin, if they are the newest and there are enough to merge.
fn find_full_level(planned: &[Planned], fan_in: usize) -> Option<usize> {
    let level = planned.last()?.level;
    let from = planned.iter().rposition(|pack| pack.level != level).map_or(0, |at| at + 1);
    (planned.len() - from >= fan_in && level < MAX_LEVEL).then_some(from)
}

/// Grows with the writes. The low bits are random: a clone that continues from the same state writes other objects.
fn new_pack_number(write: u64) -> Result<u64> {
    let [a, b, c] = random()?;
    Ok(write << 24 | u64::from(a) << 16 | u64::from(b) << 8 | u64::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(levels: &[u64]) -> Vec<Planned> {
        let source = || Source::Records(Vec::new());
        levels
            .iter()
            .map(|level| Planned { level: *level, first: 1, last: 1, size: 1, source: source() })
            .collect()
    }

    #[test]
    fn a_level_is_full_when_its_newest_packs_are_enough() {
        let cases: [(&[u64], Option<usize>); 5] = [
            (&[], None),
            (&[0, 0], None),
            (&[0, 0, 0], Some(0)),
            (&[2, 1, 0, 0, 0], Some(2)),
            (&[1, 1, 1, 0], None),
        ];
        for (levels, expected) in cases {
            assert_eq!(find_full_level(&planned(levels), 3), expected, "{levels:?}");
        }
    }

    #[test]
    fn pack_numbers_grow_and_differ_between_clones() {
        let [a, b, next] = [5, 5, 6].map(|write| new_pack_number(write).unwrap());
        assert!(a < next && b < next && a != b);
    }
}
