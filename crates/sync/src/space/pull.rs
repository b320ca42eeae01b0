//! Reads what other devices wrote: lists the heads, verifies new ones against what is remembered of each log, fetches the packs
//! they name, and hands the records that win to the caller.
//!
//! Does not write to the storage.

use super::hint::Polled;
use super::{Apply, Round, Space};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Head, MAX_HEAD, PackEntry, derive_device};
use crate::id::{DeviceId, Hash};
use crate::members::Role;
use crate::merge::{Relation, select_winners};
use crate::names::{HeadName, device_of, head_name, heads_prefix, log_prefix, pack_name, parse_head};
use crate::pack::{Place, open_records};
use crate::record::Record;
use crate::state::Chain;
use crate::storage::StoreError;
use std::collections::BTreeMap;

/// Larger packs are not read: the content limit of a pack, its largest record, and what sealing adds.
const MAX_PACK: u64 = 128 << 20;

/// Names on a page of a list: 1,000 on S3, 5,000 on Azure.
const PAGE: usize = 1_000;

/// After so many objects in a row that the storage does not answer for, the others wait for the next round.
const MOST_FAILURES: u32 = 3;

impl Space {
    pub(super) fn pull(&mut self, now: u64, apply: Apply<'_>, round: &mut Round) -> Result<()> {
        let hint = match self.poll(now)? {
            Polled::Quiet => {
                round.lists = 1;
                return Ok(());
            }
            Polled::List(hint) => hint,
        };
        let listed = self.store.list(&heads_prefix(self.id), None)?;
        round.lists = listed.len().div_ceil(PAGE).max(1) as u64;
        let mut logs: BTreeMap<DeviceId, Vec<HeadName>> = BTreeMap::new();
        for name in listed {
            match parse_head(self.id, &name) {
                Some(head) => logs.entry(head.device).or_default().push(head),
                None => round.findings.push(foreign_object(name)),
            }
        }
        self.check_storage(&logs, round)?;
        let own = logs.get(&self.device).cloned().unwrap_or_default();
        self.check_own_log(&own, round)?;
        // A clone has another name now: its former log is one of the others.
        logs.remove(&self.device);
        if self.is_check_due(now)? {
            self.try_repair(now, round)?;
        }
        self.read_removed_logs(now, apply, round)?;
        let chains = self.state.chains()?;
        for chain in chains.values().filter(|chain| self.members.removed(&chain.signer).is_none()) {
            if !logs.contains_key(&chain.device) {
                let object = log_prefix(self.id, chain.device);
                round.findings.push(Finding::new(chain.device, Problem::MissingHead, &object));
            }
        }
        // What cannot be stored of one log must not hide what another has forgotten.
        let mut not_stored = None;
        for (device, heads) in logs {
            if self.failures >= MOST_FAILURES {
                break;
            }
            match self.read_log(device, heads, now, apply, round) {
                Err(error @ Error::Apply(_)) => drop(not_stored.get_or_insert(error)),
                read => read?,
            }
        }
        if self.is_doubted {
            self.try_repair(now, round)?;
        }
        match not_stored {
            Some(error) => Err(error),
            None if round.findings.is_empty() => self.save_listed(hint, now),
            None => Ok(()),
        }
    }

    /// What fails now is tried again in the next round; what the others wrote does not wait for it.
    fn try_repair(&mut self, now: u64, round: &mut Round) -> Result<()> {
        match self.repair(now, round) {
            Err(Error::Store(_)) => Ok(()),
            repaired => repaired,
        }
    }

    /// A storage without any head that this device knows may be another one.
    fn check_storage(&mut self, logs: &BTreeMap<DeviceId, Vec<HeadName>>, round: &mut Round) -> Result<()> {
        for head in logs.values().flatten() {
            if self.is_known_head(head)? {
                return Ok(());
            }
        }
        let has_known_any = self.state.last_head()?.is_some() || !self.state.chains()?.is_empty();
        if has_known_any { self.confirm_storage(round) } else { Ok(()) }
    }

    /// A head in the own log that this device did not write comes from a clone, or from before a backup was restored.
    fn check_own_log(&mut self, heads: &[HeadName], round: &mut Round) -> Result<()> {
        let last = self.state.last_head()?.map_or(0, |head| head.number);
        // Own heads are remembered for a while; a list cannot be stale by that much.
        let oldest = last.saturating_sub(500);
        for head in heads.iter().rev().filter(|head| head.number >= oldest) {
            if self.state.is_own_head(head)? {
                continue;
            }
            if let Some(other) = self.fetch_clone_head(head, round)? {
                let republished = self.find_unshared(&other, round)?;
                return self.become_new_device(round, &head_name(self.id, head), &republished);
            }
        }
        if last > 0 && heads.iter().all(|head| head.number < last) && self.state.next_outgoing()?.is_none() {
            let object = log_prefix(self.id, self.device);
            round.repaired.push(Finding::new(self.device, Problem::Rollback, &object));
            self.is_head_lost = true;
        }
        Ok(())
    }

    /// Only a copy of this device can sign for it. Anything else was planted.
    fn fetch_clone_head(&mut self, name: &HeadName, round: &mut Round) -> Result<Option<Head>> {
        let found = self.fetch_head(name, round)?;
        Ok(found.map(|(head, _)| head).filter(|head| head.signer == self.keys.public()))
    }

    /// Records that this device published and the log of its clone may not contain. They go into the new log: heads of a
    /// branch that ended are hard to find once the other one has grown.
    fn find_unshared(&mut self, other: &Head, round: &mut Round) -> Result<Vec<Record>> {
        let Some(last) = self.state.get("head")? else { return Ok(Vec::new()) };
        let number = Head::decode(&last)?.number;
        // What the other one is called does not matter for where it comes from.
        if other.link(Hash::ZERO).descends_from(number, &Hash::of(&last)) == Some(true) {
            return Ok(Vec::new());
        }
        let mut unshared = Vec::new();
        for own in self.state.own_packs()? {
            if other.packs.iter().all(|pack| pack.hash != own.entry.hash) {
                unshared.extend(self.load_own_pack(&own.entry, round)?.unwrap_or_default());
            }
        }
        Ok(unshared)
    }

    /// Reads the log of one device. Its owner may have published and tidied up since the heads were listed: what is missing counts only
    /// if a second list shows the same newest head.
    fn read_log(
        &mut self,
        device: DeviceId,
        heads: Vec<HeadName>,
        now: u64,
        apply: Apply<'_>,
        round: &mut Round,
    ) -> Result<()> {
        let (before, newest) = (round.findings.len(), heads.iter().max().copied());
        let chain = self.state.chain(&device)?;
        self.read_heads(chain, heads, now, apply, round)?;
        let is_missing = |one: &Finding| matches!(one.problem, Problem::MissingHead | Problem::MissingPack);
        if !round.findings[before..].iter().any(is_missing) {
            return Ok(());
        }
        let Ok(names) = self.store.list(&log_prefix(self.id, device), None) else { return Ok(()) };
        let heads: Vec<HeadName> = names.iter().filter_map(|name| parse_head(self.id, name)).collect();
        if heads.iter().max() > newest.as_ref() {
            round.findings.truncate(before);
            let chain = self.state.chain(&device)?;
            self.read_heads(chain, heads, now, apply, round)?;
        }
        Ok(())
    }

    /// Reads the newest head, which contains everything; the ones before it are only compared.
    fn read_heads(
        &mut self,
        mut chain: Option<Chain>,
        mut heads: Vec<HeadName>,
        now: u64,
        apply: Apply<'_>,
        round: &mut Round,
    ) -> Result<()> {
        heads.sort_unstable();
        let newest = heads.last().map_or(0, |head| head.number);
        if let Some(known) = chain.as_ref().filter(|known| newest < known.number) {
            let object = log_prefix(self.id, known.device);
            round.findings.push(Finding::new(known.device, Problem::Rollback, &object));
        }
        for name in heads.iter().rev() {
            if self.state.is_seen(name)? {
                continue;
            }
            if chain.as_ref().is_some_and(|known| known.link().contains(name.number, &name.hash)) {
                self.state.mark_seen(name)?;
                continue;
            }
            if let Some((head, bytes)) = self.fetch_head(name, round)? {
                chain = Some(self.read_head(chain.as_ref(), name, (&head, &bytes), now, apply, round)?);
            }
        }
        Ok(())
    }

    /// Reads what removed members wrote before their removal, from the heads that the member list contains.
    fn read_removed_logs(&mut self, now: u64, apply: Apply<'_>, round: &mut Round) -> Result<()> {
        let cutoffs: Vec<(DeviceId, Vec<u8>)> =
            self.members.cutoffs().map(|(device, cutoff)| (*device, cutoff.head.clone())).collect();
        let chains = self.state.chains()?;
        for (device, bytes) in cutoffs {
            let Ok(head) = Head::decode(&bytes) else { continue };
            let name = HeadName { device, number: head.number, hash: Hash::of(&bytes) };
            let chain = chains.get(&device);
            let is_newer =
                chain.is_none_or(|known| known.number < head.number) || !self.state.is_seen(&name)?;
            let is_past = chain.is_some_and(|known| known.number > head.number);
            if device != self.device && is_newer && !is_past && self.check_signer(&head).is_none() {
                self.read_head(chain, &name, (&head, &bytes), now, apply, round)?;
            }
        }
        Ok(())
    }

    /// Fetches and verifies a head. None: there is a finding about it.
    fn fetch_head(&mut self, name: &HeadName, round: &mut Round) -> Result<Option<(Head, Vec<u8>)>> {
        let object = head_name(self.id, name);
        let bytes = match self.store.get(&object, MAX_HEAD) {
            Ok(bytes) => bytes,
            Err(error) => {
                let problem = match error {
                    StoreError::NotFound { .. } => Problem::MissingHead,
                    StoreError::TooLarge { .. } => Problem::DamagedHead,
                    _ => Problem::UnreadableHead,
                };
                self.count_failure(&error);
                return Ok(report(round, name.device, problem, &object));
            }
        };
        self.failures = 0;
        let head = (Hash::of(&bytes) == name.hash).then(|| Head::decode(&bytes).ok()).flatten();
        let is_named =
            |head: &Head| (head.space, head.device, head.number) == (self.id, name.device, name.number);
        let Some(head) = head.filter(is_named) else {
            return Ok(report(round, name.device, Problem::DamagedHead, &object));
        };
        let history = &self.history;
        let is_known = history.contains(&head.members) || history.is_followed(&head.members);
        if !is_known && !history.is_too_old(&head.members) {
            self.learn_members(head.members, round)?;
        }
        let problem = self.check_signer(&head);
        if problem == Some(Problem::RemovedSigner) {
            // It will never count, so there is no reason to fetch it again.
            self.state.mark_seen(name)?;
        }
        match problem {
            Some(problem) => Ok(report(round, name.device, problem, &object)),
            None => Ok(Some((head, bytes))),
        }
    }

    /// Each object that a storage does not answer for takes seconds: see [`MOST_FAILURES`].
    fn count_failure(&mut self, error: &StoreError) {
        if error.is_temporary() {
            self.failures += 1;
        }
    }

    fn check_signer(&self, head: &Head) -> Option<Problem> {
        if derive_device(&head.signer, &head.salt) != head.device {
            return Some(Problem::UnknownSigner);
        }
        if let Some(cutoffs) = self.members.removed(&head.signer) {
            let counts = cutoffs.get(&head.device).is_some_and(|last| head.number <= last.number);
            return (!counts).then_some(Problem::RemovedSigner);
        }
        match self.members.find(&head.signer) {
            None => Some(Problem::UnknownSigner),
            Some(member) if member.role == Role::Reader && !head.packs.is_empty() => {
                Some(Problem::ReadOnlySigner)
            }
            Some(_) => None,
        }
    }

    /// Applies the packs of a verified head and returns what is remembered of the log afterwards.
    fn read_head(
        &mut self,
        chain: Option<&Chain>,
        name: &HeadName,
        (head, bytes): (&Head, &[u8]),
        now: u64,
        apply: Apply<'_>,
        round: &mut Round,
    ) -> Result<Chain> {
        round.heads += 1;
        let relation = chain.map_or(Relation::Follows, |known| known.link().relate(&head.link(name.hash)));
        if relation == Relation::Forks {
            let object = head_name(self.id, name);
            round.findings.push(Finding::new(name.device, Problem::Fork, &object));
        }
        let is_in_line = relation.is_in_line();
        let applied = chain.filter(|_| is_in_line).map_or(0, |known| known.last_write);
        let is_complete = self.read_packs(head, applied, apply, round)?;
        if let Some(known) = chain.filter(|known| known.number > head.number) {
            // The shorter branch of a fork.
            if is_complete {
                self.state.mark_seen(name)?;
            }
            return Ok(known.clone());
        }
        let mut next = next_chain(name, head, bytes, now);
        let before = chain.filter(|_| is_in_line).map_or((0, 0), |known| (known.last_write, known.forgotten));
        if self.is_about_own(head)? {
            // Before the head counts as read, so that a kill does not hide it.
            self.request_check()?;
            self.is_doubted = true;
        }
        next.last_write = if is_complete { next.last_write.max(before.0) } else { before.0 };
        next.forgotten = if is_complete { next.forgotten } else { before.1 };
        self.state.save_chain(&next, head, is_complete)?;
        Ok(next)
    }

    /// Whether all packs of a head were applied, now or before.
    fn read_packs(&mut self, head: &Head, applied: u64, apply: Apply<'_>, round: &mut Round) -> Result<bool> {
        let mut is_complete = true;
        for entry in head.packs.iter().filter(|entry| entry.last > applied) {
            if self.failures >= MOST_FAILURES {
                return Ok(false);
            }
            if self.state.is_applied(head.device, &entry.hash)? {
                continue;
            }
            match self.fetch_pack(head.device, entry, round) {
                Some(records) => self.apply_records(head.device, &entry.hash, records, apply, round)?,
                None => is_complete = false,
            }
        }
        Ok(is_complete)
    }

    /// Fetches and opens a pack. None: there is a finding about it.
    pub(super) fn fetch_pack(
        &mut self,
        device: DeviceId,
        entry: &PackEntry,
        round: &mut Round,
    ) -> Option<Vec<Record>> {
        let object = pack_name(self.id, device, entry.number);
        if entry.length > MAX_PACK {
            return report(round, device, Problem::DamagedPack, &object);
        }
        let sealed = match self.store.get(&object, entry.length as usize) {
            Ok(sealed) => sealed,
            Err(error) => {
                let problem = match error {
                    StoreError::NotFound { .. } => Problem::MissingPack,
                    StoreError::TooLarge { .. } => Problem::DamagedPack,
                    _ => Problem::UnreadablePack,
                };
                self.count_failure(&error);
                return report(round, device, problem, &object);
            }
        };
        self.failures = 0;
        match self.open_pack(device, entry, &sealed) {
            Some(records) => Some(records),
            None => report(round, device, Problem::DamagedPack, &object),
        }
    }

    pub(super) fn open_pack(
        &self,
        device: DeviceId,
        entry: &PackEntry,
        sealed: &[u8],
    ) -> Option<Vec<Record>> {
        if Hash::of(sealed) != entry.hash {
            return None;
        }
        let place = Place { space: self.id, device, number: entry.number };
        let records = open_records(sealed, place, |epoch| self.members.key(epoch)).ok()?;
        // A device speaks only for itself, so that the author of a record is the signer of its log.
        records.iter().all(|record| record.version.device == device).then_some(records)
    }

    /// Hands the records that win to the caller, then remembers them. A kill in between repeats the batch.
    fn apply_records(
        &mut self,
        device: DeviceId,
        pack: &Hash,
        records: Vec<Record>,
        apply: Apply<'_>,
        round: &mut Round,
    ) -> Result<()> {
        let winners = select_winners(records, |key| self.state.rank(key))?;
        if !winners.is_empty() {
            apply(&winners).map_err(Error::Apply)?;
        }
        round.received += winners.len() as u64;
        self.state.commit_applied(device, pack, &winners)
    }
}

fn report<T>(round: &mut Round, device: DeviceId, problem: Problem, object: &str) -> Option<T> {
    round.findings.push(Finding::new(device, problem, object));
    None
}

fn foreign_object(object: String) -> Finding {
    Finding { device: device_of(&object), problem: Problem::ForeignObject, object }
}

/// What is remembered of a log once a head was read completely.
fn next_chain(name: &HeadName, head: &Head, bytes: &[u8], now: u64) -> Chain {
    Chain {
        device: name.device,
        number: name.number,
        hash: name.hash,
        previous: head.previous,
        ancestors: head.ancestors.clone(),
        signer: head.signer,
        last_write: head.last_write(),
        written: head.written,
        forgotten: head.forgotten,
        heard: now,
        head: bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::seal_records;
    use crate::record::{Body, Version};
    use crate::space::{Change, Settings};
    use crate::storage::{Folder, Store};
    use tempfile::TempDir;

    /// An honest reader of the bucket, and a member with a program of its own.
    struct Scene {
        tmp: TempDir,
        reader: Space,
        member: Space,
    }

    fn open(tmp: &TempDir) -> Box<dyn Store> {
        Box::new(Folder::new(&tmp.path().join("bucket")))
    }

    fn start(role: Role) -> Scene {
        let tmp = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| tmp.path().join(name));
        for folder in [&a, &b, &tmp.path().join("bucket")] {
            std::fs::create_dir(folder).unwrap();
        }
        let (mut reader, _) = Space::create(&a, open(&tmp), "a", Settings::default()).unwrap();
        let request = Space::request(&b, "b").unwrap();
        let invitation = reader.admit(&request, role).unwrap();
        let member = Space::accept(&b, open(&tmp), &invitation, Settings::default()).unwrap();
        Scene { tmp, reader, member }
    }

    impl Scene {
        /// Publishes a record of any author in the log of any device, signed by the member.
        fn forge(&self, device: DeviceId, salt: [u8; 16], author: DeviceId) {
            self.forge_version(device, salt, Version { clock: 5, device: author });
        }

        fn forge_version(&self, device: DeviceId, salt: [u8; 16], version: Version) {
            let (space, number) = (self.member.id, 7);
            let body = Body::Bytes(b"forged".to_vec());
            let record = Record { collection: "c".into(), key: "k".into(), version, body };
            let (epoch, key) = self.member.members.current_key().unwrap();
            let sealed = seal_records(&[record], Place { space, device, number }, epoch, key).unwrap();
            let entry = PackEntry {
                number,
                level: 0,
                first: 1,
                last: 1,
                length: sealed.len() as u64,
                hash: Hash::of(&sealed),
            };
            let head = Head {
                space,
                device,
                number: 1,
                signer: self.member.keys.public(),
                salt,
                previous: Hash::ZERO,
                ancestors: Vec::new(),
                members: self.member.history.newest().unwrap(),
                written: 1,
                forgotten: 0,
                packs: vec![entry],
                confirmed: Vec::new(),
                unread: Vec::new(),
            };
            let bytes = head.encode(&self.member.keys);
            let name = HeadName { device, number: 1, hash: Hash::of(&bytes) };
            open(&self.tmp).put(&pack_name(space, device, number), &sealed).unwrap();
            open(&self.tmp).put(&head_name(space, &name), &bytes).unwrap();
        }

        fn read(&mut self) -> (Vec<Problem>, u64) {
            let round = self.reader.sync(10, &mut |_| Ok(())).unwrap();
            (round.findings.iter().map(|finding| finding.problem).collect(), round.received)
        }
    }

    #[test]
    fn a_member_that_follows_the_rules_is_read() {
        let mut scene = start(Role::Writer);
        let (device, salt) = (scene.member.device, scene.member.salt);
        scene.forge(device, salt, device);
        assert_eq!(scene.read(), (Vec::new(), 1));
    }

    #[test]
    fn a_member_cannot_write_in_the_log_of_another() {
        let mut scene = start(Role::Writer);
        let (victim, salt) = (DeviceId([9; 16]), scene.member.salt);
        scene.forge(victim, salt, victim);
        assert_eq!(scene.read(), (vec![Problem::UnknownSigner], 0));
    }

    #[test]
    fn a_member_cannot_write_in_the_name_of_another() {
        let mut scene = start(Role::Writer);
        let (device, salt, victim) = (scene.member.device, scene.member.salt, scene.reader.device);
        scene.forge(device, salt, victim);
        assert_eq!(scene.read(), (vec![Problem::DamagedPack], 0));
    }

    #[test]
    fn a_reader_cannot_publish_records() {
        let mut scene = start(Role::Reader);
        let (device, salt) = (scene.member.device, scene.member.salt);
        scene.forge(device, salt, device);
        assert_eq!(scene.read(), (vec![Problem::ReadOnlySigner], 0));
    }

    #[test]
    fn a_record_with_the_last_clock_leaves_clocks_for_the_others() {
        let mut scene = start(Role::Writer);
        let (device, salt) = (scene.member.device, scene.member.salt);
        scene.forge_version(device, salt, Version { clock: crate::record::MAX_CLOCK, device });
        assert_eq!(scene.read(), (Vec::new(), 1));
        scene.reader.stage([Change::put("c", "l", "text")], 10).unwrap();
        scene.read();
        let mut keys = Vec::new();
        let mut collect = |records: &[Record]| {
            keys.extend(records.iter().map(|record| record.key.clone()));
            Ok(())
        };
        scene.member.sync(11, &mut collect).unwrap();
        assert!(keys.contains(&"l".to_owned()), "{keys:?}");
    }

    #[test]
    fn what_cannot_be_stored_comes_again_and_does_not_stop_what_is_sent() {
        let mut scene = start(Role::Writer);
        scene.member.stage([Change::put("c", "k", "text")], 1).unwrap();
        scene.member.sync(1, &mut |_| Ok(())).unwrap();
        scene.reader.stage([Change::put("c", "l", "mine")], 2).unwrap();
        let refused = scene.reader.sync(2, &mut |_| Err("from a newer version".into()));
        assert!(matches!(refused, Err(Error::Apply(_))), "{refused:?}");
        assert_eq!(scene.member.sync(3, &mut |_| Ok(())).unwrap().received, 1);
        assert_eq!(scene.reader.sync(4, &mut |_| Ok(())).unwrap().received, 1);
    }

    #[test]
    fn pending_records_can_be_staged_again_before_they_leave() {
        let mut scene = start(Role::Writer);
        scene.member.stage([Change::put("c", "k", "secret"), Change::put("c", "l", "text")], 1).unwrap();
        assert_eq!(scene.member.pending(1 << 20).unwrap().len(), 2);
        scene.member.stage([Change::put("c", "k", "[masked]")], 2).unwrap();
        let bodies: Vec<Body> = scene.member.pending(1 << 20).unwrap().into_iter().map(|r| r.body).collect();
        assert_eq!(bodies, [Body::Bytes(b"text".to_vec()), Body::Bytes(b"[masked]".to_vec())]);
    }
}
