//! A space on this device: opens it, stages changes, runs rounds and reports the status.
//!
//! Does not know what records mean, and does not know the time.

mod check;
mod hint;
mod membership;
mod pull;
mod push;
mod repair;

pub use check::Checked;

use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Salt, derive_device};
use crate::id::{DeviceId, SpaceId, random};
use crate::keys::DeviceKeys;
use crate::members::{Member, MemberHistory, MemberList, Role};
use crate::pack::MAX_RECORD;
use crate::record::{Body, Record, hash_key};
use crate::state::{Staged, State};
use crate::storage::Store;
use os::files::OpenOptionsExt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What the caller may tune. The defaults suit object storage.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Superseded packs are deleted after this many milliseconds, so that slow readers still find them.
    pub grace_ms: u64,
    /// This many packs of one level are merged into one of the next.
    pub fan_in: usize,
    /// Heads that stay in the storage. Old ones are deleted when there are twice as many.
    pub kept_heads: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { grace_ms: 24 * 3600 * 1000, fan_in: 8, kept_heads: 2 }
    }
}

/// A change to stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub collection: String,
    pub key: String,
    pub body: Body,
}

impl Change {
    pub fn put(collection: &str, key: &str, bytes: impl Into<Vec<u8>>) -> Change {
        Change { collection: collection.to_owned(), key: key.to_owned(), body: Body::Bytes(bytes.into()) }
    }

    pub fn delete(collection: &str, key: &str) -> Change {
        Change { collection: collection.to_owned(), key: key.to_owned(), body: Body::Deleted }
    }

    pub fn forget(collection: &str, key: &str) -> Change {
        Change { collection: collection.to_owned(), key: key.to_owned(), body: Body::Forgotten }
    }
}

/// What became of staged changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageResult {
    pub accepted: u64,
    /// The same body was staged or received before.
    pub unchanged: u64,
    /// The key was forgotten, and stays so.
    pub refused: u64,
}

/// What one round did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Records sent to the storage.
    pub sent: u64,
    /// Records handed to the caller.
    pub received: u64,
    /// Heads of other devices that were read.
    pub heads: u64,
    /// Requests that it took to find out whether there is anything new: what an idle round costs.
    pub lists: u64,
    pub findings: Vec<Finding>,
    /// What the storage had lost of this device, and was published again.
    pub repaired: Vec<Finding>,
}

/// One device of the space, as far as this one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceStatus {
    pub device: DeviceId,
    /// The label of its member; none after a removal.
    pub label: Option<String>,
    pub is_self: bool,
    /// Its number of heads so far.
    pub heads: u64,
    /// When it wrote its newest head, in its own time.
    pub written: u64,
    /// Whether it has applied everything that this device has forgotten.
    pub has_confirmed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub space: SpaceId,
    pub device: DeviceId,
    /// Records that wait to be sent.
    pub pending: u64,
    /// Packs that the newest head of this device names.
    pub packs: u64,
    pub devices: Vec<DeviceStatus>,
    /// The findings of the last round, each with the time it was first seen.
    pub findings: Vec<(Finding, u64)>,
}

/// A space, with the storage it is in and the state of this device.
pub struct Space {
    state: State,
    folder: PathBuf,
    store: Box<dyn Store>,
    keys: DeviceKeys,
    id: SpaceId,
    device: DeviceId,
    salt: Salt,
    history: MemberHistory,
    /// The versions of the history, merged.
    members: MemberList,
    settings: Settings,
    /// The storage has lost the newest head of this device: the next round writes another.
    is_head_lost: bool,
    /// In this round the storage has shown that it is the one of this space.
    is_confirmed: bool,
    /// How many objects in a row it did not answer for.
    failures: u32,
    /// In this round another device has said that it could not read something of this one.
    is_doubted: bool,
    /// The hint that was there when this round had read everything; none if it did not read everything, or the storage has no hints.
    read_up_to: Option<String>,
}

/// Hands received records to the caller, who applies a batch in one transaction. A batch may come again after a kill.
pub type Apply<'a> = &'a mut dyn FnMut(&[Record]) -> std::result::Result<(), String>;

/// Stages what depends on what was received.
pub type Stage<'a> = &'a mut dyn FnMut(&mut Space) -> std::result::Result<(), String>;

fn open_state(folder: &Path) -> Result<State> {
    State::open(&folder.join("sync.db"))
}

impl Space {
    /// Opens the space that this device created or joined. `folder` contains the state and must exist.
    pub fn open(folder: &Path, store: Box<dyn Store>, settings: Settings) -> Result<Space> {
        let state = open_state(folder)?;
        let id = SpaceId(state.get_array("space")?.ok_or(Error::NotJoined)?);
        let keys = DeviceKeys::decode(&state.get("keys")?.ok_or(Error::NotJoined)?)?;
        let device = DeviceId(state.get_array("device")?.ok_or(Error::NotJoined)?);
        let salt = state.get_array("salt")?.ok_or(Error::NotJoined)?;
        let history = state.load_members()?;
        let members = history.current();
        let folder = folder.to_path_buf();
        Ok(Space {
            state,
            folder,
            store,
            keys,
            id,
            device,
            salt,
            history,
            members,
            settings,
            is_head_lost: false,
            is_confirmed: false,
            failures: 0,
            is_doubted: false,
            read_up_to: None,
        })
    }

    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// The identifier of this device. It changes if the device turns out to be a clone.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    pub fn members(&self) -> Vec<Member> {
        self.members.members().cloned().collect()
    }

    /// The member that wrote a record, by [`crate::Version::device`].
    pub fn author(&self, device: DeviceId) -> Result<Option<Member>> {
        let signer = if device == self.device {
            Some(self.keys.public())
        } else {
            self.state.chains()?.get(&device).map(|chain| chain.signer)
        };
        Ok(signer.and_then(|signer| self.members.find(&signer)).cloned())
    }

    /// Stages changes in one transaction; when this returns, they are on disk. Staging what is known already does nothing,
    /// so a caller that was killed may stage again.
    pub fn stage(&mut self, changes: impl IntoIterator<Item = Change>, now: u64) -> Result<StageResult> {
        if self.members.find(&self.keys.public()).is_some_and(|member| member.role == Role::Reader) {
            return Err(Error::ReadOnly);
        }
        let mut too_large = None;
        let changes = changes.into_iter().map(|change| (change.collection, change.key, change.body));
        let checked = changes.take_while(|(_, _, body)| {
            too_large = too_large_body(body);
            too_large.is_none()
        });
        let staged = self.state.stage(checked, now)?;
        match too_large {
            Some(bytes) => Err(Error::TooLarge { bytes, limit: MAX_RECORD }),
            None => Ok(count_staged(&staged)),
        }
    }

    /// Whether the storage has lost the last version of a record of this device. Staged again, it is published again. To be asked when
    /// [`Space::sync_staging`] calls back.
    pub fn is_lost(&self, collection: &str, key: &str) -> Result<bool> {
        self.state.is_lost(&hash_key(collection, key))
    }

    /// Whether any record of this device is lost.
    pub fn has_lost(&self) -> Result<bool> {
        Ok(!self.state.lost_packs()?.is_empty())
    }

    /// Whether a change says what the storage has: as it was sent, or received.
    pub fn is_exchanged(&self, change: &Change) -> Result<bool> {
        self.state.is_exchanged(&hash_key(&change.collection, &change.key), &change.body)
    }

    /// What the next round would send, oldest first, up to a size in bytes but at least one record: for a preview, and to stage
    /// again what newer masking rules change.
    pub fn pending(&self, most: usize) -> Result<Vec<Record>> {
        self.state.load_pending(most).map(|(_, records)| records)
    }

    /// One round: reads what other devices wrote, then publishes what was staged. Local changes are safe whatever fails.
    pub fn sync(&mut self, now: u64, apply: Apply<'_>) -> Result<Round> {
        self.sync_staging(now, apply, &mut |_| Ok(()))
    }

    /// The same for a caller that stages some of its changes once it knows what the others wrote.
    pub fn sync_staging(&mut self, now: u64, apply: Apply<'_>, stage: Stage<'_>) -> Result<Round> {
        let _lock = self.lock()?;
        self.reload()?;
        let mut round = Round::default();
        // What cannot be stored here, as from a newer Loci, comes again; the others need what this device has all the same.
        let not_stored = match self.pull(now, apply, &mut round) {
            Err(error @ Error::Apply(_)) => Some(error),
            pulled => pulled.map(|()| None)?,
        };
        self.merge_members(&mut round)?;
        stage(self).map_err(Error::Apply)?;
        self.push(now, &mut round)?;
        self.report_lost(&mut round)?;
        self.state.save_findings(&round.findings, now)?;
        not_stored.map_or(Ok(round), Err)
    }

    pub fn status(&self) -> Result<Status> {
        let last = self.state.last_head()?;
        let forgotten = last.as_ref().map_or(0, |head| head.forgotten);
        let confirmed = self.state.confirmations(self.device)?;
        let label = |signer| self.members.find(&signer).map(|member| member.label.clone());
        let mut devices = vec![DeviceStatus {
            device: self.device,
            label: label(self.keys.public()),
            is_self: true,
            heads: last.as_ref().map_or(0, |head| head.number),
            written: last.as_ref().map_or(0, |head| head.written),
            has_confirmed: true,
        }];
        devices.extend(self.state.chains()?.into_values().map(|chain| DeviceStatus {
            device: chain.device,
            label: label(chain.signer),
            is_self: false,
            heads: chain.number,
            written: chain.written,
            has_confirmed: confirmed.get(&chain.device).copied().unwrap_or(0) >= forgotten,
        }));
        Ok(Status {
            space: self.id,
            device: self.device,
            pending: self.state.count_pending()?,
            packs: self.state.own_packs()?.len() as u64,
            devices,
            findings: self.state.findings()?,
        })
    }

    /// Two processes must not run a round at once: they would send the same publication.
    fn lock(&self) -> Result<File> {
        let path = self.folder.join("sync.lock");
        let busy = |_| Error::Busy;
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(path).map_err(busy)?;
        file.try_lock().map_err(|_| Error::Busy)?;
        Ok(file)
    }

    /// Takes over what another process changed since this one opened the state.
    fn reload(&mut self) -> Result<()> {
        if self.state.get("removed")?.is_some() {
            return Err(Error::Removed);
        }
        (self.is_confirmed, self.failures, self.is_doubted) = (false, 0, false);
        self.read_up_to = None;
        self.device = DeviceId(self.state.get_array("device")?.ok_or(Error::NotJoined)?);
        self.salt = self.state.get_array("salt")?.ok_or(Error::NotJoined)?;
        // Versions are only ever added. In a large space they are large and many.
        if self.state.count_members()? != self.history.versions().count() as u64 {
            self.history = self.state.load_members()?;
            self.members = self.history.current();
        }
        Ok(())
    }

    /// Takes a new identifier, because another copy of this device writes under the old one.
    fn become_new_device(&mut self, round: &mut Round, object: &str, republished: &[Record]) -> Result<()> {
        round.findings.push(Finding::new(self.device, Problem::Cloned, object));
        let (device, salt) = new_device(&self.keys)?;
        self.state.start_log(device, &salt, republished)?;
        (self.device, self.salt) = (device, salt);
        Ok(())
    }
}

fn new_device(keys: &DeviceKeys) -> Result<(DeviceId, Salt)> {
    let salt = random()?;
    Ok((derive_device(&keys.public(), &salt), salt))
}

fn too_large_body(body: &Body) -> Option<usize> {
    match body {
        Body::Bytes(bytes) if bytes.len() > MAX_RECORD => Some(bytes.len()),
        _ => None,
    }
}

fn count_staged(staged: &[Staged]) -> StageResult {
    let count = |kind| staged.iter().filter(|done| **done == kind).count() as u64;
    StageResult {
        accepted: count(Staged::Accepted),
        unchanged: count(Staged::Unchanged),
        refused: count(Staged::Refused),
    }
}
