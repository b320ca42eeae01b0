//! Archived transcripts as records: the stored bytes of a copy under the name that it has in every archive, or what was appended
//! to it since the other devices got it.
//!
//! Does not know transcripts: a copy travels as it is stored, masked and compressed.

use crate::copy_name::CopyName;
use crate::growth::{ChangedCopy, Parcel, Planned, plan_parcel};
use crate::known::{CONTAINED, Kept, Known, KnownCopy, list_sessions, parse_sessions, stamp_text};
use crate::origins::OriginWriter;
use crate::part;
use crate::settings::{SpaceSettings, sync_error};
use api::Error;
use history::History;
use history::error::read_error;
use history::home::{Home, Lock};
use history::masker::LazyMasker;
use history::tombstones::Tombstones;
use record::Session;
use serde::de::IgnoredAny;
use serde_json::Value;
use sources::archive::{Overlap, Store, United};
use std::collections::BTreeMap;
use sync::{Body, Change, DeviceId, Record, Space};

pub(crate) const COLLECTION: &str = "copies";
/// Bytes of changes that are staged in one transaction.
const BATCH: usize = 16 << 20;

/// The copies that changed since the last round, and the keys of those that are gone.
pub(crate) fn find_changes(
    store: &Store,
    known: &Known,
    this: DeviceId,
) -> Result<(Vec<ChangedCopy>, Vec<String>), Error> {
    let (mut changed, mut gone) = (Vec::new(), BTreeMap::<u128, Vec<String>>::new());
    let own = known.own_copy_names()?;
    for key in known.copy_names()? {
        let Some(name) = CopyName::parse(&key) else { continue };
        // Before it was cloned or joined again, this device had another identifier.
        let archived = if own.contains(&key) { name.transcript } else { name.in_archive(this) };
        let keys = gone.entry(archived).or_default();
        let at = if name.origin == this { 0 } else { keys.len() };
        keys.insert(at, key);
    }
    // A name that could not be read now is not one that is gone.
    for archived in store.read_all_names().map_err(read_error)? {
        let exchanged = gone.remove(&archived).and_then(|keys| keys.into_iter().next());
        let Some(stamp) = store.stat_copy(archived).map(stamp_text) else { continue };
        if let Some(key) = exchanged
            && known.stamp(&key)?.is_some_and(|known| known == stamp)
        {
            continue;
        }
        if let Some(name) = CopyName::of_copy(store, archived, this) {
            changed.push(ChangedCopy { key: name.to_key(), name, archived, stamp });
        }
    }
    Ok((changed, gone.into_values().flatten().collect()))
}

/// Whether a session of a copy belongs to an excluded project. A copy that cannot be read stays here.
pub(crate) fn is_excluded(store: &Store, name: u128, settings: &SpaceSettings) -> bool {
    let is_excluded =
        |session: &Session| settings.excludes(&session.project) || settings.excludes(&session.cwd);
    store.find_by_name(name).map_or(true, |copy| copy.sessions.iter().any(is_excluded))
}

/// Whether a copy contains something that the newest rules mask: it was archived before there was such a rule.
fn has_secrets(history: &History<'_>, store: &Store, name: u128) -> bool {
    let Some(masker) = history.masker() else { return false };
    let mut found = false;
    let read = store.for_each_frame(name, &mut |lines| {
        let is_secret =
            |line: &str| serde_json::from_str(line).is_ok_and(|line| contains_secret(masker, &line));
        found = found || String::from_utf8_lossy(lines).lines().any(is_secret);
    });
    found || read.is_err()
}

/// Looks at each text of a record as it was masked before: input and output of a call are JSON themselves.
fn contains_secret(masker: &LazyMasker, value: &Value) -> bool {
    match value {
        Value::String(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            masker.mask_json(text) != *text
        }
        Value::String(text) => masker.mask_text(text) != *text,
        Value::Array(values) => values.iter().any(|value| contains_secret(masker, value)),
        Value::Object(fields) => fields.values().any(|value| contains_secret(masker, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What staging and storing copies need to know.
pub(crate) struct Exchange<'e> {
    pub(crate) home: &'e Home,
    pub(crate) known: &'e Known,
    pub(crate) origins: &'e OriginWriter,
    pub(crate) this: DeviceId,
}

/// Stages the copies that changed, once those of the other devices were read: what they have already is not sent, and what is older
/// here does not count as later.
pub(crate) fn stage_copies(
    history: &History<'_>,
    space: &mut Space,
    exchange: &Exchange<'_>,
    settings: &SpaceSettings,
    now: u64,
) -> Result<(), Error> {
    let (store, known) = (Store::new(exchange.home.archive()), exchange.known);
    let tombstones = Tombstones::read(Some(exchange.home))?;
    let (changed, gone) = find_unforgotten(&store, exchange, &tombstones)?;
    let mut batch = Batch::default();
    for copy in changed {
        if history.progress.is_cancelled() {
            return Err(read_error("cancelled"));
        }
        if let Some(why) = why_kept(history, &store, copy.archived, settings) {
            remember_sent(&store, exchange, &copy, Some(why))?;
        } else if let Some(planned) = plan_copy(&store, known, &copy)? {
            batch.add(copy, planned);
        }
        if batch.bytes > BATCH {
            batch.stage(space, &store, exchange, now)?;
        }
    }
    batch.stage(space, &store, exchange, now)?;
    forget_gone(space, known, &tombstones, &gone, now)?;
    forget_parts(space, known, now)
}

/// The copies that changed, without forgotten sessions: a process may have been killed after it had stored a copy and before it had
/// removed them from it.
fn find_unforgotten(
    store: &Store,
    exchange: &Exchange<'_>,
    tombstones: &Tombstones,
) -> Result<(Vec<ChangedCopy>, Vec<String>), Error> {
    let find = || find_changes(store, exchange.known, exchange.this);
    let found = find()?;
    let has_forgotten = |copy: &ChangedCopy| {
        let sessions = list_sessions(store, copy.archived);
        parse_sessions(&sessions).any(|(source, id)| tombstones.contains(&source, &id))
    };
    if tombstones.is_empty() || !found.0.iter().any(has_forgotten) {
        return Ok(found);
    }
    let _lock = Lock::acquire(exchange.home)?;
    forget_in_copies(store, tombstones, found.0.iter().map(|copy| copy.archived))?;
    find()
}

/// How a changed copy is going to be sent.
pub(crate) fn plan_copy(store: &Store, known: &Known, copy: &ChangedCopy) -> Result<Option<Planned>, Error> {
    let is_unchanged = || store.stat_copy(copy.archived).is_some_and(|stat| stamp_text(stat) == copy.stamp);
    plan_parcel(store, known, copy, is_unchanged)
}

/// Forgets the parts of copies that were forgotten, here or elsewhere.
fn forget_parts(space: &mut Space, known: &Known, now: u64) -> Result<(), Error> {
    let keys = known.forgotten_part_keys()?;
    space.stage(keys.iter().map(|key| Change::forget(part::COLLECTION, key)), now).map_err(sync_error)?;
    known.in_transaction(|| keys.iter().try_for_each(|key| known.remove_part_key(key)))
}

/// A copy that is gone is forgotten by all devices only if every session in it was: an archive that was lost or damaged must not take
/// the others with it.
fn forget_gone(
    space: &mut Space,
    known: &Known,
    tombstones: &Tombstones,
    gone: &[String],
    now: u64,
) -> Result<(), Error> {
    let mut forgotten = Vec::new();
    for key in gone {
        let sessions = known.sessions_of(key)?;
        if !sessions.is_empty() && sessions.iter().all(|(source, id)| tombstones.contains(source, id)) {
            forgotten.push(key);
        }
    }
    let changes = forgotten.iter().map(|key| Change::forget(COLLECTION, key));
    space.stage(changes, now).map_err(sync_error)?;
    known.in_transaction(|| {
        forgotten.iter().try_for_each(|key| known.forget_copy(key))?;
        for key in gone.iter().filter(|key| forgotten.contains(key) || !is_contained(known, key)) {
            known.set_sent(key, None).and_then(|()| known.remove_copy(key))?;
        }
        Ok(())
    })
}

/// A copy that is not in this archive, because one of this device has all of it.
fn is_contained(known: &Known, key: &str) -> bool {
    known.is_contained(key).unwrap_or(true)
}

/// Remembers a copy that was sent, or stays here.
fn remember_sent(
    store: &Store,
    exchange: &Exchange<'_>,
    copy: &ChangedCopy,
    kept: Option<Kept>,
) -> Result<(), Error> {
    let sessions = list_sessions(store, copy.archived);
    let device = copy.name.foreign_origin(exchange.this);
    let (stamp, device) = (&copy.stamp, device.as_deref());
    exchange.known.set_copy(&copy.key, &KnownCopy { stamp, device, sessions: &sessions, kept })
}

fn why_kept(history: &History<'_>, store: &Store, name: u128, settings: &SpaceSettings) -> Option<Kept> {
    let is_too_large = |(length, _): (u64, _)| length > sync::MAX_RECORD as u64;
    match () {
        () if is_excluded(store, name, settings) => Some(Kept::Excluded),
        () if store.stat_copy(name).is_some_and(is_too_large) => Some(Kept::TooLarge),
        () if has_secrets(history, store, name) => Some(Kept::Withheld),
        () => None,
    }
}

#[derive(Default)]
struct Batch {
    copies: Vec<(ChangedCopy, Planned)>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, copy: ChangedCopy, planned: Planned) {
        self.bytes += planned.parcel.len();
        self.copies.push((copy, planned));
    }

    /// Stages first and remembers then: after a kill in between, staging again changes nothing. The keys of parts are remembered
    /// before, so that none is left when its copy is forgotten.
    fn stage(
        &mut self,
        space: &mut Space,
        store: &Store,
        exchange: &Exchange<'_>,
        now: u64,
    ) -> Result<(), Error> {
        let known = exchange.known;
        let copies = std::mem::take(self).copies;
        known.in_transaction(|| {
            copies.iter().try_for_each(|(copy, planned)| match &planned.parcel {
                Parcel::Whole(_) | Parcel::Nothing => Ok(()),
                Parcel::Part { key, .. } => known.add_part_key(key, &copy.key, true),
            })
        })?;
        let (mut changes, mut sent) = (Vec::new(), Vec::new());
        for (copy, Planned { parcel, state }) in copies {
            add_changes(&mut changes, known, &copy.key, parcel)?;
            sent.push((copy, state));
        }
        space.stage(changes, now).map_err(sync_error)?;
        known.in_transaction(|| {
            sent.iter().try_for_each(|(copy, state)| {
                remember_sent(store, exchange, copy, None)?;
                known.set_sent(&copy.key, state.as_ref())
            })
        })
    }
}

/// A whole makes the parts before it superfluous.
fn add_changes(changes: &mut Vec<Change>, known: &Known, copy: &str, parcel: Parcel) -> Result<(), Error> {
    match parcel {
        Parcel::Nothing => {}
        Parcel::Part { key, body } => changes.push(Change::put(part::COLLECTION, &key, body)),
        Parcel::Whole(bytes) => {
            changes.push(Change::put(COLLECTION, copy, bytes));
            let parts = known.own_part_keys(copy)?;
            changes.extend(parts.iter().map(|key| Change::delete(part::COLLECTION, key)));
        }
    }
    Ok(())
}

/// What has arrived of one copy: wholes and parts, in any order.
#[derive(Default)]
struct Arrival<'r> {
    pieces: Vec<&'r Record>,
    is_forgotten: bool,
}

impl<'r> Arrival<'r> {
    fn bytes(&self) -> Vec<&'r [u8]> {
        let bytes = |record: &'r Record| match &record.body {
            Body::Bytes(bytes) => Some(bytes.as_slice()),
            Body::Deleted | Body::Forgotten => None,
        };
        self.pieces.iter().filter_map(|record| bytes(record)).collect()
    }
}

/// Adds received copies and parts of copies to what is here, with the writer lock held by the caller: nothing that is here is lost,
/// whoever wrote it. Returns which copies have changed, and the keys of records that are not intact.
pub(crate) fn apply_copies(
    store: &Store,
    exchange: &Exchange<'_>,
    tombstones: &Tombstones,
    wholes: &[&Record],
    parts: &[&Record],
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let known = exchange.known;
    let arrivals = known.in_transaction(|| collect_arrivals(exchange, wholes, parts))?;
    let archived = || arrivals.keys().map(|name| name.in_archive(exchange.this));
    store.begin_batch();
    let united = unite_all(store, exchange, &arrivals);
    let united = match united {
        Ok(united) => united,
        Err(error) => {
            // Not acknowledged: it comes again when there is space, or a newer Loci. Large copies may be stored already.
            store.roll_back_batch();
            forget_in_copies(store, tombstones, archived())?;
            return Err(error);
        }
    };
    store.commit_batch().map_err(read_error)?;
    forget_in_copies(store, tombstones, archived())?;
    store.sync_to_disk().map_err(read_error)?;
    known.in_transaction(|| {
        arrivals.iter().try_for_each(|(name, arrival)| remember(store, exchange, name, arrival, &united))
    })?;
    Ok((united.changed.into_iter().collect(), united.damaged))
}

fn collect_arrivals<'r>(
    exchange: &Exchange<'_>,
    wholes: &[&'r Record],
    parts: &[&'r Record],
) -> Result<BTreeMap<CopyName, Arrival<'r>>, Error> {
    let mut arrivals = BTreeMap::<CopyName, Arrival<'r>>::new();
    for record in wholes {
        let Some(name) = CopyName::parse(&record.key) else { continue };
        let arrival = arrivals.entry(name).or_default();
        match record.body {
            Body::Bytes(_) => arrival.pieces.push(record),
            Body::Forgotten => {
                arrival.is_forgotten = true;
                exchange.known.forget_copy(&record.key)?;
            }
            // The archive only grows: nothing but forgetting removes.
            Body::Deleted => {}
        }
    }
    for record in parts {
        let copy = part::copy_of_part(&record.key);
        let Some((key, name)) = copy.and_then(|key| Some((key, CopyName::parse(key)?))) else { continue };
        let is_own = name.origin == exchange.this;
        exchange.known.add_part_key(&record.key, key, is_own)?;
        if matches!(record.body, Body::Bytes(_)) && !exchange.known.is_forgotten(key)? {
            arrivals.entry(name).or_default().pieces.push(record);
        }
    }
    Ok(arrivals)
}

/// What became of the copies that arrived.
#[derive(Default)]
struct UnitedCopies {
    changed: Vec<u128>,
    damaged: Vec<String>,
    /// Copies of which this device has all under its own name.
    contained: Vec<CopyName>,
    /// Copies of this device of which the others have all.
    covered: Vec<CopyName>,
}

fn unite_all(
    store: &Store,
    exchange: &Exchange<'_>,
    arrivals: &BTreeMap<CopyName, Arrival<'_>>,
) -> Result<UnitedCopies, Error> {
    let mut united = UnitedCopies::default();
    for (name, arrival) in arrivals {
        let archived = name.in_archive(exchange.this);
        if arrival.is_forgotten {
            if store.stat_copy(archived).is_some() {
                store.remove_copy(&store.path_by_name(archived)).map_err(read_error)?;
            }
            continue;
        }
        if name.origin != exchange.this && store.stat_copy(archived).is_none() {
            let own = CopyName { transcript: name.transcript, origin: exchange.this };
            match store.compare_pieces(name.transcript, &arrival.bytes()) {
                Ok(Some(Overlap::Same)) => {
                    united.covered.push(own);
                    united.contained.push(name.clone());
                    continue;
                }
                Ok(Some(Overlap::HasLess)) => {
                    united.contained.push(name.clone());
                    continue;
                }
                Ok(Some(Overlap::HasAll)) => united.covered.push(own),
                // A damaged one that arrives is refused when it is stored.
                Ok(Some(Overlap::Diverged) | None) | Err(sources::Error::Damaged { .. }) => {}
                Err(error) => return Err(read_error(error)),
            }
        }
        if unite_one(store, exchange, (name, arrival), &mut united.damaged)? {
            united.changed.push(archived);
        }
    }
    Ok(united)
}

/// Returns whether the copy has changed.
fn unite_one(
    store: &Store,
    exchange: &Exchange<'_>,
    (name, arrival): (&CopyName, &Arrival<'_>),
    damaged: &mut Vec<String>,
) -> Result<bool, Error> {
    let origin = name.foreign_origin(exchange.this);
    let unite = |pieces: &[&[u8]]| store.unite_copies(name.transcript, origin.as_deref(), pieces);
    match unite(&arrival.bytes()) {
        Ok(united) => return Ok(united == United::Written),
        Err(sources::Error::Damaged { .. }) => {}
        Err(error) => return Err(read_error(error)),
    }
    // One of them is damaged: the others count.
    let mut is_changed = false;
    for record in &arrival.pieces {
        let Body::Bytes(bytes) = &record.body else { continue };
        match unite(&[bytes.as_slice()]) {
            Ok(united) => is_changed |= united == United::Written,
            Err(sources::Error::Damaged { .. }) => damaged.push(record.key.clone()),
            Err(error) => return Err(read_error(error)),
        }
    }
    Ok(is_changed)
}

/// The copy is what the other devices have: it is not sent back.
fn remember(
    store: &Store,
    exchange: &Exchange<'_>,
    name: &CopyName,
    arrival: &Arrival<'_>,
    united: &UnitedCopies,
) -> Result<(), Error> {
    let (known, key) = (exchange.known, name.to_key());
    if arrival.is_forgotten {
        return known.remove_copy(&key);
    }
    let own = CopyName { transcript: name.transcript, origin: exchange.this };
    if united.covered.contains(&own) && known.stamp(&own.to_key())?.is_none() {
        remember_version(store, exchange, &own, None)?;
    }
    if name.origin == exchange.this {
        // What this device has changed since is still to be sent.
        let is_changed = united.changed.contains(&name.transcript);
        return if is_changed { known.forget_version(&key) } else { Ok(()) };
    }
    if united.contained.contains(name) {
        let sessions = list_sessions(store, name.transcript);
        let device = name.origin.to_string();
        let (stamp, device) = (CONTAINED, Some(device.as_str()));
        return known.set_copy(&key, &KnownCopy { stamp, device, sessions: &sessions, kept: None });
    }
    remember_version(store, exchange, name, Some(&name.origin.to_string()))?;
    // What is of this device stays so.
    let own: Vec<_> = parse_sessions(&list_sessions(store, name.transcript)).collect();
    let sessions = known.sessions_of(&key)?;
    let mut foreign = sessions.iter().filter(|session| !own.contains(session));
    foreign.try_for_each(|(source, id)| exchange.origins.set_session(source, id, name.origin))
}

fn remember_version(
    store: &Store,
    exchange: &Exchange<'_>,
    name: &CopyName,
    device: Option<&str>,
) -> Result<(), Error> {
    let (archived, key) = (name.in_archive(exchange.this), name.to_key());
    let Some(stamp) = store.stat_copy(archived).map(stamp_text) else {
        return exchange.known.remove_copy(&key);
    };
    let sessions = list_sessions(store, archived);
    exchange.known.set_copy(&key, &KnownCopy { stamp: &stamp, device, sessions: &sessions, kept: None })
}

/// Another device may have sent a copy before it heard that a session in it was forgotten.
fn forget_in_copies(
    store: &Store,
    tombstones: &Tombstones,
    copies: impl Iterator<Item = u128>,
) -> Result<(), Error> {
    if tombstones.is_empty() {
        return Ok(());
    }
    for archived in copies {
        let Ok(copy) = store.find_by_name(archived) else { continue };
        let is_forgotten = |session: &Session| tombstones.contains(&copy.source, &session.session_id);
        store.forget_sessions(&copy.path, &is_forgotten).map_err(read_error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_that_newer_rules_mask_is_found_in_every_field_and_a_masked_one_is_not() {
        let masker = LazyMasker::new(None);
        let secret = format!("token ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
        let input = json!({"command": ["echo", secret]}).to_string();
        for line in [json!({"text": secret}), json!({"call": {"input": input}})] {
            assert!(contains_secret(&masker, &line), "{line}");
        }
        let masked = json!({"text": masker.mask_text(&secret), "input": masker.mask_json(&input), "n": 7});
        assert!(!contains_secret(&masker, &masked), "{masked}");
        // In the outer encoding, the line break of the inner one would be part of a value.
        let log =
            json!({"output": "check token id=fdcb138a4f3d829c\n2026-03-23 build the index"}).to_string();
        let kept = masker.mask_json(&log).into_owned();
        assert!(!contains_secret(&masker, &json!({"output": kept})));
    }
}
