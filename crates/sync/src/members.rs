//! The member list: who may read, write and administrate a space, and its keys, wrapped for exactly these members. Each
//! version is signed by an administrator of a version before it. Versions written at the same time are merged.
//!
//! Does not know where versions are stored.

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::head::MembersRef;
use crate::id::{DeviceId, Hash, SpaceId, random};
use crate::keys::{DeviceKeys, PublicKey, SIGNATURE, SpaceKey, is_recipient, verify, wrap};
use crate::label::{check_label, clean_label};
use crate::phrase::Phrase;
use std::collections::{BTreeMap, BTreeSet};

const MAGIC: [u8; 4] = *b"LSM1";
const REQUEST_MAGIC: [u8; 4] = *b"LSJ1";
const WHAT: &str = "a member list";
const WHAT_REQUEST: &str = "the join request";
pub(crate) const MAX_MEMBERS: usize = 16 << 20;

/// What a member may do. Ordered: a later role may do everything an earlier one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Reader,
    Writer,
    Administrator,
}

impl Role {
    fn from_number(number: u64) -> Option<Role> {
        [Role::Reader, Role::Writer, Role::Administrator].into_iter().find(|role| *role as u64 == number)
    }
}

/// A member: a device with keys of its own, or the recovery phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) key: PublicKey,
    pub(crate) recipient: String,
    /// A name for people, chosen by the device.
    pub label: String,
    pub role: Role,
    /// The recovery phrase is a member without a device.
    pub is_recovery: bool,
}

impl Member {
    /// Names the member in [`crate::Space::remove_member`].
    pub fn id(&self) -> String {
        Hash(self.key).to_string()[..16].to_owned()
    }
}

/// What a device sends to an administrator to be admitted. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    key: PublicKey,
    recipient: String,
    pub label: String,
    bytes: Vec<u8>,
}

impl JoinRequest {
    pub(crate) fn new(keys: &DeviceKeys, label: &str) -> Result<JoinRequest> {
        let mut writer = Writer::new(REQUEST_MAGIC);
        writer.array(&keys.public()).string(keys.recipient().as_bytes()).string(label.as_bytes());
        JoinRequest::decode(keys.sign(writer))
    }

    fn decode(bytes: Vec<u8>) -> Result<JoinRequest> {
        let mut reader = Reader::new(&bytes[..bytes.len().saturating_sub(SIGNATURE)], WHAT_REQUEST);
        reader.magic(REQUEST_MAGIC)?;
        let (key, recipient, label) = (reader.array()?, reader.text()?, reader.text()?);
        reader.finish()?;
        verify(&bytes, &key, WHAT_REQUEST)?;
        if !is_recipient(&recipient) {
            return Err(Error::Damaged { what: WHAT_REQUEST });
        }
        check_label(&label)?;
        Ok(JoinRequest { key, recipient, label, bytes })
    }

    pub fn parse(text: &str) -> Result<JoinRequest> {
        JoinRequest::decode(decode_hex(text.trim()).ok_or(Error::Damaged { what: WHAT_REQUEST })?)
    }

    fn member(&self, role: Role) -> Member {
        let (recipient, label) = (self.recipient.clone(), self.label.clone());
        Member { key: self.key, recipient, label, role, is_recovery: false }
    }
}

impl std::fmt::Display for JoinRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits?;
    (digits.len() % 2 == 0).then(|| digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

/// What an administrator sends back: the space, and the version of the member list that includes the new device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitation {
    pub space: SpaceId,
    pub(crate) members: MembersRef,
}

impl Invitation {
    pub fn parse(text: &str) -> Result<Invitation> {
        let damaged = || Error::Damaged { what: "the invitation" };
        let mut parts = text.trim().split('.');
        let mut next = || parts.next().ok_or_else(damaged);
        let space = SpaceId::parse(next()?).ok_or_else(damaged)?;
        let version = next()?.parse().map_err(|_| damaged())?;
        let hash = Hash::parse(next()?).ok_or_else(damaged)?;
        Ok(Invitation { space, members: MembersRef { version, hash } })
    }
}

impl std::fmt::Display for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.space, self.members.version, self.members.hash)
    }
}

/// The last head of a removed member that counts, for each of its devices. The list contains the head itself, so that a device
/// that joins later finds the packs, whatever the member does to its heads.
pub(crate) type Cutoffs = BTreeMap<DeviceId, Cutoff>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cutoff {
    pub(crate) number: u64,
    pub(crate) head: Vec<u8>,
}

/// The content of one version, or of several merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberList {
    members: BTreeMap<PublicKey, Member>,
    removed: BTreeMap<PublicKey, Cutoffs>,
    keys: BTreeMap<u64, KeyOfEpoch>,
}

#[derive(Clone, PartialEq, Eq)]
struct KeyOfEpoch(SpaceKey);

/// Keys must not reach a log by accident.
impl std::fmt::Debug for KeyOfEpoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl MemberList {
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(crate) fn find(&self, key: &PublicKey) -> Option<&Member> {
        self.members.get(key)
    }

    /// The last heads of all removed members.
    pub(crate) fn cutoffs(&self) -> impl Iterator<Item = (&DeviceId, &Cutoff)> {
        self.removed.values().flatten()
    }

    pub(crate) fn removed(&self, key: &PublicKey) -> Option<&Cutoffs> {
        self.removed.get(key)
    }

    fn can_administrate(&self, key: &PublicKey) -> bool {
        self.members.get(key).is_some_and(|member| member.role == Role::Administrator)
    }

    pub(crate) fn key(&self, epoch: u64) -> Option<&SpaceKey> {
        self.keys.get(&epoch).map(|key| &key.0)
    }

    /// The key to seal with. Epochs grow, so the newest is the last.
    pub(crate) fn current_key(&self) -> Option<(u64, &SpaceKey)> {
        self.keys.last_key_value().map(|(epoch, key)| (*epoch, &key.0))
    }

    /// Adds a device that was never a member. The role of a member stays: what it wrote in another role would be refused.
    pub(crate) fn add(&mut self, request: &JoinRequest, role: Role) {
        if !self.removed.contains_key(&request.key) {
            self.members.entry(request.key).or_insert_with(|| request.member(role));
        }
    }

    pub(crate) fn add_recovery(&mut self, keys: &DeviceKeys) {
        let (key, recipient, label) = (keys.public(), keys.recipient(), "recovery phrase".to_owned());
        let role = Role::Administrator;
        self.members.insert(key, Member { key, recipient, label, role, is_recovery: true });
    }

    /// Replaces the recovery phrase: whoever has the former one reads nothing that is written from now on.
    pub(crate) fn replace_recovery(&mut self, keys: &DeviceKeys) -> Result<()> {
        let former: Vec<PublicKey> =
            self.members.values().filter(|one| one.is_recovery).map(|one| one.key).collect();
        for key in former {
            self.remove(&key, Cutoffs::default())?;
        }
        self.add_recovery(keys);
        Ok(())
    }

    /// Removes a member: later heads of its devices do not count, and a new key seals what follows.
    pub(crate) fn remove(&mut self, key: &PublicKey, cutoffs: Cutoffs) -> Result<()> {
        self.members.remove(key);
        self.removed.insert(*key, cutoffs);
        self.start_epoch()
    }

    /// Adds a key. The low half of its number is random, so that two administrators never give one number to two keys.
    pub(crate) fn start_epoch(&mut self) -> Result<()> {
        let count = self.keys.last_key_value().map_or(0, |(epoch, _)| epoch >> 32) + 1;
        let epoch = count << 32 | u64::from(u32::from_be_bytes(random()?));
        self.keys.insert(epoch, KeyOfEpoch(SpaceKey::generate()?));
        Ok(())
    }

    /// Joins two versions that do not know each other. Removal wins over membership, the smaller role over the larger.
    fn merge(&mut self, other: &MemberList) {
        for (key, cutoffs) in &other.removed {
            self.removed.entry(*key).or_insert_with(|| cutoffs.clone());
        }
        for (key, member) in &other.members {
            let mine = self.members.entry(*key).or_insert_with(|| member.clone());
            mine.role = mine.role.min(member.role);
        }
        self.members.retain(|key, _| !self.removed.contains_key(key));
        self.keys.extend(other.keys.iter().map(|(epoch, key)| (*epoch, key.clone())));
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(self.members.len() as u64);
        for member in self.members.values() {
            writer.array(&member.key).string(member.recipient.as_bytes()).string(member.label.as_bytes());
            writer.number(member.role as u64).number(u64::from(member.is_recovery));
        }
        writer.number(self.removed.len() as u64);
        for (key, cutoffs) in &self.removed {
            writer.array(key).number(cutoffs.len() as u64);
            for (device, cutoff) in cutoffs {
                writer.array(&device.0).number(cutoff.number).string(&cutoff.head);
            }
        }
        writer.number(self.keys.len() as u64);
        for (epoch, key) in &self.keys {
            writer.number(*epoch).array(&key.0.0);
        }
        writer.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<MemberList> {
        let mut reader = Reader::new(bytes, WHAT);
        let mut list = MemberList::default();
        for _ in 0..reader.count(36)? {
            let member = decode_member(&mut reader)?;
            list.members.insert(member.key, member);
        }
        for _ in 0..reader.count(33)? {
            let key = reader.array()?;
            let cutoffs = list.removed.entry(key).or_default();
            for _ in 0..reader.count(18)? {
                let device = DeviceId(reader.array()?);
                let cutoff = Cutoff { number: reader.number()?, head: reader.string()?.to_vec() };
                cutoffs.insert(device, cutoff);
            }
        }
        for _ in 0..reader.count(33)? {
            list.keys.insert(reader.number()?, KeyOfEpoch(SpaceKey(reader.array()?)));
        }
        reader.finish()?;
        Ok(list)
    }
}

fn decode_member(reader: &mut Reader<'_>) -> Result<Member> {
    let (key, recipient, label) = (reader.array()?, reader.text()?, reader.text()?);
    // The list was signed by an administrator, who may have admitted what this version refuses.
    let label = if check_label(&label).is_ok() { label } else { clean_label(&label) };
    let role = Role::from_number(reader.number()?).ok_or_else(|| reader.damaged())?;
    Ok(Member { key, recipient, label, role, is_recovery: reader.number()? == 1 })
}

/// The keys of the recovery phrase, sealed with the phrase. Every version contains them.
pub(crate) fn seal_recovery(keys: &DeviceKeys, phrase: &Phrase, space: SpaceId) -> Result<Vec<u8>> {
    SpaceKey(phrase.derive("seal")).seal(&keys.encode(), &space.0)
}

pub(crate) fn open_recovery(sealed: &[u8], phrase: &Phrase, space: SpaceId) -> Result<DeviceKeys> {
    DeviceKeys::decode(&SpaceKey(phrase.derive("seal")).open(sealed, &space.0, "the recovery key")?)
}

/// The phrase determines the space, so that it alone finds it.
pub(crate) fn space_of(phrase: &Phrase) -> SpaceId {
    let mut id = [0; 16];
    id.copy_from_slice(&phrase.derive("space")[..16]);
    SpaceId(id)
}

/// The space that a phrase leads to, sealed with it: only the first phrase of a space determines it.
pub(crate) fn seal_alias(phrase: &Phrase, space: SpaceId) -> Result<Vec<u8>> {
    SpaceKey(phrase.derive("alias")).seal(&space.0, &space_of(phrase).0)
}

pub(crate) fn open_alias(sealed: &[u8], phrase: &Phrase) -> Result<SpaceId> {
    let what = "the address of the space";
    let id = SpaceKey(phrase.derive("alias")).open(sealed, &space_of(phrase).0, what)?;
    id.try_into().map(SpaceId).map_err(|_| Error::Damaged { what })
}

/// A version as it is stored: signed, with the list wrapped for its members.
pub(crate) struct Envelope {
    pub(crate) space: SpaceId,
    pub(crate) version: u64,
    pub(crate) parents: Vec<MembersRef>,
    pub(crate) signer: PublicKey,
    pub(crate) recovery: Vec<u8>,
    pub(crate) wrapped: Vec<u8>,
    /// All of it, as it was read.
    pub(crate) bytes: Vec<u8>,
}

impl Envelope {
    pub(crate) fn encode(&self, keys: &DeviceKeys) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        writer.array(&self.space.0).number(self.version).number(self.parents.len() as u64);
        for parent in &self.parents {
            writer.number(parent.version).array(&parent.hash.0);
        }
        writer.array(&self.signer).string(&self.recovery).string(&self.wrapped);
        keys.sign(writer)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Envelope> {
        let mut reader = Reader::new(&bytes[..bytes.len().saturating_sub(SIGNATURE)], WHAT);
        reader.magic(MAGIC)?;
        let (space, version) = (SpaceId(reader.array()?), reader.number()?);
        let mut parents = Vec::new();
        for _ in 0..reader.count(33)? {
            parents.push(MembersRef { version: reader.number()?, hash: Hash(reader.array()?) });
        }
        let signer = reader.array()?;
        let (recovery, wrapped) = (reader.string()?.to_vec(), reader.string()?.to_vec());
        reader.finish()?;
        verify(bytes, &signer, WHAT)?;
        Ok(Envelope { space, version, parents, signer, recovery, wrapped, bytes: bytes.to_vec() })
    }
}

/// One accepted version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MembersVersion {
    pub(crate) at: MembersRef,
    pub(crate) parents: Vec<MembersRef>,
    pub(crate) list: MemberList,
    /// As it is in the storage, for the day on which it is not. Empty once it was loaded from the state.
    pub(crate) sealed: Vec<u8>,
}

/// All versions that this device accepted. It never forgets one, so that a storage cannot go back to an older list.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberHistory {
    versions: BTreeMap<MembersRef, MembersVersion>,
}

/// What became of a version that was offered.
pub(crate) enum Offer {
    Accepted(MembersVersion),
    /// Signed by an administrator and wrapped for others only.
    NotForUs,
    Refused,
}

impl MemberHistory {
    pub(crate) fn insert(&mut self, version: MembersVersion) {
        self.versions.insert(version.at, version);
    }

    pub(crate) fn contains(&self, at: &MembersRef) -> bool {
        self.versions.contains_key(at)
    }

    /// Versions that no other one follows.
    pub(crate) fn leaves(&self) -> Vec<&MembersVersion> {
        let followed: BTreeSet<&MembersRef> = self.versions.values().flat_map(|v| &v.parents).collect();
        self.versions.values().filter(|version| !followed.contains(&version.at)).collect()
    }

    pub(crate) fn versions(&self) -> impl Iterator<Item = &MembersVersion> {
        self.versions.values()
    }

    /// Whether a version is from before this device joined. It is not wrapped for this device, and nothing depends on it.
    pub(crate) fn is_too_old(&self, at: &MembersRef) -> bool {
        self.versions.first_key_value().is_some_and(|(oldest, _)| at.version < oldest.version)
    }

    pub(crate) fn newest(&self) -> Option<MembersRef> {
        self.leaves().last().map(|version| version.at)
    }

    /// Whether an accepted version has taken this one in. It may not be wrapped for this device, and need not be read.
    pub(crate) fn is_followed(&self, at: &MembersRef) -> bool {
        self.versions.values().any(|version| version.parents.contains(at))
    }

    /// Whether one of these versions has the member.
    pub(crate) fn had_member(&self, versions: &[MembersRef], key: &PublicKey) -> bool {
        let known = versions.iter().filter_map(|at| self.versions.get(at));
        known.into_iter().any(|version| version.list.find(key).is_some())
    }

    /// The list in force: all leaves merged.
    pub(crate) fn current(&self) -> MemberList {
        let mut merged = MemberList::default();
        self.leaves().into_iter().for_each(|version| merged.merge(&version.list));
        merged
    }

    /// Whether two leaves removed different members: then each has a key that a removed member of the other may know.
    pub(crate) fn needs_epoch(&self) -> bool {
        let leaves = self.leaves();
        leaves.windows(2).any(|pair| !pair[0].list.removed.keys().eq(pair[1].list.removed.keys()))
    }

    /// Checks a version against those accepted before. Its signer must administrate one of its parents, and no accepted
    /// version may have removed it.
    pub(crate) fn check(&self, at: MembersRef, envelope: &Envelope, keys: &DeviceKeys) -> Offer {
        let is_removed = self.versions.values().any(|v| v.list.removed.contains_key(&envelope.signer));
        let can_sign = |parent: &MembersRef| {
            self.versions.get(parent).is_some_and(|known| known.list.can_administrate(&envelope.signer))
        };
        let follows = envelope.parents.iter().all(|parent| parent.version < at.version);
        if is_removed || envelope.version != at.version || !follows || !envelope.parents.iter().any(can_sign)
        {
            return Offer::Refused;
        }
        open_version(at, envelope, keys)
    }
}

/// Opens a version whose signer was checked, or that an administrator named to us in an invitation.
pub(crate) fn open_version(at: MembersRef, envelope: &Envelope, keys: &DeviceKeys) -> Offer {
    let Some(content) = keys.unwrap(&envelope.wrapped) else { return Offer::NotForUs };
    match MemberList::decode(&content) {
        Ok(list) => {
            let (parents, sealed) = (envelope.parents.clone(), envelope.bytes.clone());
            Offer::Accepted(MembersVersion { at, parents, list, sealed })
        }
        Err(_) => Offer::Refused,
    }
}

/// Writes the version after `parents`, signed by `keys`.
pub(crate) fn write_version(
    space: SpaceId,
    list: &MemberList,
    parents: Vec<MembersRef>,
    recovery: Vec<u8>,
    keys: &DeviceKeys,
) -> Result<(MembersVersion, Vec<u8>)> {
    let version = parents.iter().map(|parent| parent.version + 1).max().unwrap_or(0);
    let recipients: Vec<String> = list.members().map(|member| member.recipient.clone()).collect();
    let wrapped = wrap(&list.encode(), &recipients)?;
    let signer = keys.public();
    let bytes = Vec::new();
    let envelope = Envelope { space, version, parents: parents.clone(), signer, recovery, wrapped, bytes };
    let bytes = envelope.encode(keys);
    let at = MembersRef { version, hash: Hash::of(&bytes) };
    Ok((MembersVersion { at, parents, list: list.clone(), sealed: bytes.clone() }, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        admin: DeviceKeys,
        history: MemberHistory,
        first: MembersVersion,
    }

    const SPACE: SpaceId = SpaceId([1; 16]);

    fn request(keys: &DeviceKeys, label: &str) -> JoinRequest {
        JoinRequest::new(keys, label).unwrap()
    }

    fn start() -> Fixture {
        let admin = DeviceKeys::generate().unwrap();
        let mut list = MemberList::default();
        list.add(&request(&admin, "laptop"), Role::Administrator);
        list.start_epoch().unwrap();
        let (first, _) = write_version(SPACE, &list, Vec::new(), Vec::new(), &admin).unwrap();
        let mut history = MemberHistory::default();
        history.insert(first.clone());
        Fixture { admin, history, first }
    }

    fn offer(history: &MemberHistory, bytes: &[u8], keys: &DeviceKeys) -> Offer {
        let envelope = Envelope::decode(bytes).unwrap();
        history.check(MembersRef { version: envelope.version, hash: Hash::of(bytes) }, &envelope, keys)
    }

    #[test]
    fn only_an_administrator_adds_a_member() {
        let Fixture { admin, mut history, first } = start();
        let writer = DeviceKeys::generate().unwrap();
        let mut list = first.list.clone();
        list.add(&request(&writer, "desktop"), Role::Writer);
        let (second, bytes) = write_version(SPACE, &list, vec![first.at], Vec::new(), &admin).unwrap();
        assert!(matches!(offer(&history, &bytes, &admin), Offer::Accepted(version) if version == second));
        history.insert(second.clone());
        let (_, bytes) = write_version(SPACE, &list, vec![second.at], Vec::new(), &writer).unwrap();
        assert!(matches!(offer(&history, &bytes, &admin), Offer::Refused));
    }

    #[test]
    fn a_removed_administrator_can_neither_read_nor_sign() {
        let Fixture { admin, mut history, first } = start();
        let other = DeviceKeys::generate().unwrap();
        let mut list = first.list.clone();
        list.add(&request(&other, "desktop"), Role::Administrator);
        let (second, _) = write_version(SPACE, &list, vec![first.at], Vec::new(), &admin).unwrap();
        history.insert(second.clone());
        let before = history.current().current_key().unwrap().0;
        list.remove(&other.public(), Cutoffs::new()).unwrap();
        let (third, bytes) = write_version(SPACE, &list, vec![second.at], Vec::new(), &admin).unwrap();
        assert!(matches!(offer(&history, &bytes, &other), Offer::NotForUs));
        history.insert(third);
        assert!(history.current().current_key().unwrap().0 > before);
        // It signs a version after the one in which it was an administrator.
        let (_, bytes) = write_version(SPACE, &second.list, vec![second.at], Vec::new(), &other).unwrap();
        assert!(matches!(offer(&history, &bytes, &admin), Offer::Refused));
    }

    #[test]
    fn versions_written_at_once_merge_and_removal_wins() {
        let Fixture { admin, mut history, first } = start();
        let [a, b] = [(); 2].map(|()| DeviceKeys::generate().unwrap());
        let mut list = first.list.clone();
        list.add(&request(&a, "a"), Role::Administrator);
        let (base, _) = write_version(SPACE, &list, vec![first.at], Vec::new(), &admin).unwrap();
        history.insert(base.clone());
        let mut one = list.clone();
        one.add(&request(&b, "b"), Role::Writer);
        let mut two = list.clone();
        two.remove(&a.public(), Cutoffs::new()).unwrap();
        for (list, signer) in [(one, &a), (two, &admin)] {
            let (version, _) = write_version(SPACE, &list, vec![base.at], Vec::new(), signer).unwrap();
            history.insert(version);
        }
        let current = history.current();
        assert!(current.find(&a.public()).is_none() && current.find(&b.public()).is_some());
        assert!(history.leaves().len() == 2 && history.needs_epoch());
    }

    #[test]
    fn requests_and_invitations_are_read_as_printed() {
        let keys = DeviceKeys::generate().unwrap();
        let asked = request(&keys, "laptop");
        assert_eq!(JoinRequest::parse(&asked.to_string()).unwrap(), asked);
        assert!(JoinRequest::parse(&asked.to_string().replacen('a', "b", 1)).is_err());
        let invitation = Invitation { space: SPACE, members: MembersRef { version: 4, hash: Hash([9; 32]) } };
        assert_eq!(Invitation::parse(&invitation.to_string()).unwrap(), invitation);
    }
}
