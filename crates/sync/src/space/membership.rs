//! Creating, joining and recovering a space; admitting and removing members; learning of changes that others made.
//!
//! Does not read records.

use super::{Round, Settings, Space, new_device, open_state};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::MembersRef;
use crate::id::{Hash, SpaceId};
use crate::keys::{DeviceKeys, PublicKey};
use crate::members::{
    Cutoff, Cutoffs, Envelope, Invitation, JoinRequest, MAX_MEMBERS, MemberHistory, MemberList,
    MembersVersion, Offer, Role, open_alias, open_recovery, open_version, seal_alias, seal_recovery,
    space_of, write_version,
};
use crate::names::{alias_name, device_of, members_name, members_prefix, parse_members};
use crate::phrase::Phrase;
use crate::state::State;
use crate::storage::{Store, StoreError};
use std::path::Path;

/// A list refers to the one before it. A longer way back to one that is known is a made-up history.
const MAX_MISSED_VERSIONS: usize = 10_000;
/// Of the object that leads a phrase to its space.
const MAX_ALIAS: usize = 1 << 10;
/// Bytes of lists that are held while the ones before them are fetched; larger ones are fetched twice. Whoever can write to the storage
/// could otherwise plant as many large lists as fit into no memory.
const MAX_HELD: usize = 64 << 20;

impl Space {
    /// Creates a space with this device as its only member. Show the phrase to the person once: it is not stored.
    pub fn create(
        folder: &Path,
        store: Box<dyn Store>,
        label: &str,
        settings: Settings,
    ) -> Result<(Space, Phrase)> {
        let state = open_state(folder)?;
        refuse_joined(&state)?;
        let (phrase, keys, recovery) =
            (Phrase::generate()?, DeviceKeys::generate()?, DeviceKeys::generate()?);
        let space = space_of(&phrase);
        let mut list = MemberList::default();
        list.add_recovery(&recovery);
        list.add(&JoinRequest::new(&keys, label)?, Role::Administrator);
        list.start_epoch()?;
        let sealed = seal_recovery(&recovery, &phrase, space)?;
        let (version, bytes) = write_version(space, &list, Vec::new(), sealed.clone(), &recovery)?;
        put_object(&*store, &members_name(space, &version.at), &bytes)?;
        finish_joining(state, space, &keys, &sealed, &[version])?;
        Ok((Space::open(folder, store, settings)?, phrase))
    }

    /// The first step of joining: makes the keys of this device. Send the request to an administrator; it contains no secret.
    pub fn request(folder: &Path, label: &str) -> Result<JoinRequest> {
        let state = open_state(folder)?;
        refuse_joined(&state)?;
        let keys = match state.get("keys")? {
            Some(bytes) => DeviceKeys::decode(&bytes)?,
            None => DeviceKeys::generate()?,
        };
        state.set("keys", &keys.encode())?;
        JoinRequest::new(&keys, label)
    }

    /// The last step of joining, with what the administrator sent back.
    pub fn accept(
        folder: &Path,
        store: Box<dyn Store>,
        invitation: &Invitation,
        settings: Settings,
    ) -> Result<Space> {
        let state = open_state(folder)?;
        refuse_joined(&state)?;
        let keys = DeviceKeys::decode(&state.get("keys")?.ok_or(Error::NotJoined)?)?;
        let envelope = load_envelope(&*store, invitation.space, &invitation.members)?;
        let Offer::Accepted(version) = open_version(invitation.members, &envelope, &keys) else {
            return Err(Error::NoMembers);
        };
        finish_joining(state, invitation.space, &keys, &envelope.recovery, &[version])?;
        Space::open(folder, store, settings)
    }

    /// Joins with the recovery phrase alone, as an administrator.
    pub fn recover(
        folder: &Path,
        store: Box<dyn Store>,
        phrase: &Phrase,
        label: &str,
        settings: Settings,
    ) -> Result<Space> {
        let state = open_state(folder)?;
        refuse_joined(&state)?;
        let (space, (recovery, sealed, mut history)) = find_space(&*store, phrase)?;
        let keys = DeviceKeys::generate()?;
        let mut list = history.current();
        list.add(&JoinRequest::new(&keys, label)?, Role::Administrator);
        let parents = history.leaves().iter().map(|version| version.at).collect();
        let (version, bytes) = write_version(space, &list, parents, sealed.clone(), &recovery)?;
        put_object(&*store, &members_name(space, &version.at), &bytes)?;
        history.insert(version);
        let versions: Vec<MembersVersion> = history.versions().cloned().collect();
        finish_joining(state, space, &keys, &sealed, &versions)?;
        Space::open(folder, store, settings)
    }

    /// Replaces the recovery phrase. The former one opens nothing that is written from now on, and no device joins with it any more.
    pub fn replace_phrase(&mut self) -> Result<Phrase> {
        let _lock = self.lock()?;
        self.reload()?;
        let (phrase, recovery) = (Phrase::generate()?, DeviceKeys::generate()?);
        let sealed = seal_recovery(&recovery, &phrase, self.id)?;
        let mut list = self.members.clone();
        list.replace_recovery(&recovery)?;
        let alias = seal_alias(&phrase, self.id)?;
        self.write_members_with(&list, sealed.clone(), None, &mut Round::default())?;
        // Signed by the new phrase itself: whoever has only the phrase begins there.
        self.write_members_with(&list, sealed.clone(), Some(&recovery), &mut Round::default())?;
        put_object(&*self.store, &alias_name(space_of(&phrase)), &alias)?;
        self.state.set_all(&[
            ("recovery", &sealed),
            ("alias", &alias),
            ("alias-of", &space_of(&phrase).0),
        ])?;
        Ok(phrase)
    }

    /// Admits a device. Send the invitation back to it; it contains no secret.
    pub fn admit(&mut self, request: &JoinRequest, role: Role) -> Result<Invitation> {
        let _lock = self.lock()?;
        self.reload()?;
        let mut list = self.members.clone();
        list.add(request, role);
        let members = self.write_members(&list, &mut Round::default())?;
        Ok(Invitation { space: self.id, members })
    }

    /// Removes a member by its [`crate::Member::id`]. What it writes from now on does not count, and what others write
    /// from now on is sealed with a key that it does not have.
    pub fn remove_member(&mut self, id: &str) -> Result<()> {
        let _lock = self.lock()?;
        self.reload()?;
        let mut list = self.members.clone();
        let member = list.members().find(|member| member.id() == id).cloned();
        let member = member.ok_or_else(|| Error::UnknownMember(id.to_owned()))?;
        let is_other =
            |m: &&crate::Member| m.role == Role::Administrator && !m.is_recovery && m.key != member.key;
        if list.members().find(is_other).is_none() {
            return Err(Error::LastAdministrator);
        }
        list.remove(&member.key, self.cutoffs(&member.key)?)?;
        self.write_members(&list, &mut Round::default()).map(drop)
    }

    /// The newest head of each device of a member.
    fn cutoffs(&self, member: &PublicKey) -> Result<Cutoffs> {
        let chains = self.state.chains()?;
        let of_member = chains.into_values().filter(|chain| chain.signer == *member);
        Ok(of_member.map(|chain| (chain.device, Cutoff { number: chain.number, head: chain.head })).collect())
    }

    fn write_members(&mut self, list: &MemberList, round: &mut Round) -> Result<MembersRef> {
        let recovery = self.state.get("recovery")?.unwrap_or_default();
        self.write_members_with(list, recovery, None, round)
    }

    /// The same with other keys of recovery, signed by them or by this device.
    fn write_members_with(
        &mut self,
        list: &MemberList,
        recovery: Vec<u8>,
        signer: Option<&DeviceKeys>,
        round: &mut Round,
    ) -> Result<MembersRef> {
        let me = self.members.find(&self.keys.public()).map(|member| member.role);
        if me != Some(Role::Administrator) {
            return Err(Error::NotAdministrator);
        }
        self.confirm_storage(round)?;
        let parents = self.history.leaves().iter().map(|version| version.at).collect();
        let (version, bytes) = write_version(self.id, list, parents, recovery, signer.unwrap_or(&self.keys))?;
        put_object(&*self.store, &members_name(self.id, &version.at), &bytes)?;
        let at = version.at;
        self.save_version(version)?;
        Ok(at)
    }

    fn save_version(&mut self, version: MembersVersion) -> Result<()> {
        self.state.insert_members(&version)?;
        self.history.insert(version);
        self.members = self.history.current();
        Ok(())
    }

    /// If administrators changed the list at the same time, one of them joins the versions.
    pub(super) fn merge_members(&mut self, round: &mut Round) -> Result<()> {
        let me = self.members.find(&self.keys.public()).map(|member| member.role);
        if self.history.leaves().len() < 2 || me != Some(Role::Administrator) {
            return Ok(());
        }
        let mut list = self.members.clone();
        if self.history.needs_epoch() {
            list.start_epoch()?;
        }
        self.write_members(&list, round).map(drop)
    }

    /// Fetches the list that a head names, and those between it and what is known. False: there is none to trust.
    pub(super) fn learn_members(&mut self, at: MembersRef, round: &mut Round) -> Result<bool> {
        let (mut missing, mut held) = (Vec::new(), 0);
        let mut wanted = vec![at];
        while let Some(next) = wanted.pop() {
            let is_listed = missing.iter().any(|(known, _)| *known == next);
            let is_known = self.history.contains(&next) || self.history.is_too_old(&next);
            if is_known || is_listed || missing.len() > MAX_MISSED_VERSIONS {
                continue;
            }
            // Versions from before this device's time may be missing; what matters is whether the rest verifies.
            if let Ok(envelope) = load_envelope(&*self.store, self.id, &next) {
                wanted.extend(&envelope.parents);
                held += envelope.wrapped.len() + envelope.recovery.len();
                missing.push((next, Some(envelope).filter(|_| held <= MAX_HELD)));
            }
        }
        missing.sort_by_key(|(at, _)| *at);
        for (at, envelope) in missing {
            if let Ok(envelope) = envelope.map_or_else(|| load_envelope(&*self.store, self.id, &at), Ok) {
                self.offer_members(at, &envelope)?;
            }
        }
        let is_known = self.history.contains(&at);
        if !is_known {
            let object = members_name(self.id, &at);
            round.findings.push(Finding {
                device: device_of(&object),
                problem: Problem::RefusedMembers,
                object,
            });
        }
        Ok(is_known)
    }

    fn offer_members(&mut self, at: MembersRef, envelope: &Envelope) -> Result<()> {
        match self.history.check(at, envelope, &self.keys) {
            Offer::Accepted(version) => {
                // The phrase was replaced: the lists that this device writes contain the new one.
                if version.list.find(&envelope.signer).is_some_and(|member| member.is_recovery) {
                    self.state.set("recovery", &envelope.recovery)?;
                }
                self.save_version(version)
            }
            // Written beside the version that admitted this device: an administrator who reads both will join them.
            Offer::NotForUs if !self.history.had_member(&envelope.parents, &self.keys.public()) => Ok(()),
            Offer::NotForUs => {
                self.state.set("removed", b"1")?;
                Err(Error::Removed)
            }
            Offer::Refused => Ok(()),
        }
    }
}

fn refuse_joined(state: &State) -> Result<()> {
    if state.get("space")?.is_some() { Err(Error::AlreadyJoined) } else { Ok(()) }
}

fn finish_joining(
    mut state: State,
    space: SpaceId,
    keys: &DeviceKeys,
    recovery: &[u8],
    versions: &[MembersVersion],
) -> Result<()> {
    versions.iter().try_for_each(|version| state.insert_members(version))?;
    let (device, salt) = new_device(keys)?;
    state.set_all(&[
        ("keys", &keys.encode()),
        ("device", &device.0),
        ("salt", &salt),
        ("recovery", recovery),
        ("space", &space.0),
    ])
}

/// Writes an object that may be there already, with the same bytes.
pub(super) fn put_object(store: &dyn Store, name: &str, bytes: &[u8]) -> Result<()> {
    match store.put(name, bytes) {
        Err(StoreError::Exists { .. }) if store.get(name, bytes.len())? == bytes => Ok(()),
        done => Ok(done?),
    }
}

fn load_envelope(store: &dyn Store, space: SpaceId, at: &MembersRef) -> Result<Envelope> {
    let bytes = store.get(&members_name(space, at), MAX_MEMBERS)?;
    let forged = Error::Forged { what: "a member list" };
    if Hash::of(&bytes) != at.hash {
        return Err(forged);
    }
    let envelope = Envelope::decode(&bytes)?;
    if envelope.space == space && envelope.version == at.version { Ok(envelope) } else { Err(forged) }
}

/// What the phrase opens: the recovery keys, as they are sealed, and the versions of the list.
type Recovered = (DeviceKeys, Vec<u8>, MemberHistory);

/// The space of a phrase: the one that it determines or, if it replaced another phrase, the one that it leads to.
fn find_space(store: &dyn Store, phrase: &Phrase) -> Result<(SpaceId, Recovered)> {
    let space = space_of(phrase);
    match load_with_phrase(store, phrase, space) {
        Err(Error::PhraseUnknown) => {}
        found => return Ok((space, found?)),
    }
    match store.get(&alias_name(space), MAX_ALIAS) {
        Ok(sealed) => {
            let space = open_alias(&sealed, phrase)?;
            Ok((space, load_with_phrase(store, phrase, space)?))
        }
        Err(StoreError::NotFound { .. }) => Err(Error::PhraseUnknown),
        Err(error) => Err(error.into()),
    }
}

/// Reads the versions with the keys of the phrase: from the last that these keys signed on, if each follows the one before it, otherwise
/// from the first. Lists grow with their members, so reading all costs the square of their number.
fn load_with_phrase(store: &dyn Store, phrase: &Phrase, space: SpaceId) -> Result<Recovered> {
    let names = store.list(&members_prefix(space), None)?;
    let mut refs: Vec<MembersRef> = names.iter().filter_map(|name| parse_members(space, name)).collect();
    refs.sort_unstable();
    if refs.iter().zip(0..).all(|(at, number)| at.version == number)
        && let Some(found) = load_last_versions(store, &refs, phrase, space)
    {
        return Ok(found);
    }
    let all = refs.iter().filter_map(|at| Some((*at, load_envelope(store, space, at).ok()?)));
    follow_versions(all, phrase, space).ok_or(Error::PhraseUnknown)
}

/// The versions from the last one that the phrase signed. None: one cannot be read, or does not follow.
fn load_last_versions(
    store: &dyn Store,
    refs: &[MembersRef],
    phrase: &Phrase,
    space: SpaceId,
) -> Option<Recovered> {
    let mut newest = Vec::new();
    for at in refs.iter().rev() {
        let envelope = load_envelope(store, space, at).ok()?;
        let is_signed = sign_keys(&envelope, phrase, space).is_some();
        newest.push((*at, envelope));
        if is_signed {
            break;
        }
    }
    let expected = newest.len();
    let found = follow_versions(newest.into_iter().rev(), phrase, space)?;
    (found.2.versions().count() == expected).then_some(found)
}

/// The recovery keys, if the phrase opens them and they signed this version.
fn sign_keys(envelope: &Envelope, phrase: &Phrase, space: SpaceId) -> Option<DeviceKeys> {
    let keys = open_recovery(&envelope.recovery, phrase, space).ok()?;
    (envelope.signer == keys.public()).then_some(keys)
}

/// Accepts versions in order: the first that the phrase signed, and what follows from it. None: there is none, or the phrase was replaced.
fn follow_versions(
    versions: impl Iterator<Item = (MembersRef, Envelope)>,
    phrase: &Phrase,
    space: SpaceId,
) -> Option<Recovered> {
    let mut found: Option<Recovered> = None;
    for (at, envelope) in versions {
        if let Some((keys, _, history)) = &mut found {
            match history.check(at, &envelope, keys) {
                Offer::Accepted(version) => history.insert(version),
                Offer::NotForUs => return None,
                Offer::Refused => {}
            }
            continue;
        }
        let Some(keys) = sign_keys(&envelope, phrase, space) else {
            continue;
        };
        if let Offer::Accepted(version) = open_version(at, &envelope, &keys) {
            let mut history = MemberHistory::default();
            history.insert(version);
            found = Some((keys, envelope.recovery.clone(), history));
        }
    }
    found
}
