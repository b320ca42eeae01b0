//! Archived transcripts as records: the stored bytes of a copy under the name that it has in every archive, or what was appended
//! to it since the other devices got it.
//!
//! Does not know transcripts: a copy travels as it is stored, masked and compressed.

use crate::appended::{self, Grown};
use crate::copy_name::{hex, parse_name};
use crate::growth::{Parcel, Planned, plan_parcel};
use crate::known::{Kept, Known, KnownCopy, list_sessions, stamp_text};
use crate::origins::OriginWriter;
use crate::part;
use crate::settings::{SpaceSettings, sync_error};
use api::Error;
use history::History;
use history::error::read_error;
use history::masker::LazyMasker;
use history::tombstones::Tombstones;
use record::Session;
use serde::de::IgnoredAny;
use serde_json::Value;
use sources::archive::{self, Store};
use std::collections::BTreeSet;
use sync::{Body, Change, Record, Space};

pub(crate) const COLLECTION: &str = "copies";
/// Bytes of changes that are staged in one transaction.
const BATCH: usize = 16 << 20;

/// A copy that changed since it was exchanged.
pub(crate) struct ChangedCopy {
    pub(crate) name: u128,
    pub(crate) stamp: String,
}

/// The copies that changed since the last round, and those that are gone.
pub(crate) fn find_changes(store: &Store, known: &Known) -> Result<(Vec<ChangedCopy>, Vec<String>), Error> {
    let (mut changed, mut gone) = (Vec::new(), known.copy_names()?);
    for name in store.all_names() {
        let key = hex(name);
        gone.remove(&key);
        let Some(stamp) = store.stat_copy(name).map(stamp_text) else { continue };
        if known.stamp(&key)?.is_none_or(|known| known != stamp) {
            changed.push(ChangedCopy { name, stamp });
        }
    }
    Ok((changed, gone.into_iter().collect()))
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

pub(crate) fn stage_copies(
    history: &History<'_>,
    space: &mut Space,
    known: &Known,
    settings: &SpaceSettings,
    now: u64,
) -> Result<(), Error> {
    let Some(home) = history.home() else { return Ok(()) };
    let store = Store::new(home.archive());
    let (changed, gone) = find_changes(&store, known)?;
    let mut batch = Batch::default();
    for copy in changed {
        if history.progress.is_cancelled() {
            return Err(read_error("cancelled"));
        }
        if let Some(why) = why_kept(history, &store, copy.name, settings) {
            remember_own(&store, known, &copy, Some(why))?;
        } else if let Some(planned) = plan_copy(&store, known, &copy)? {
            batch.add(copy, planned);
        }
        if batch.bytes > BATCH {
            batch.stage(space, &store, known, now)?;
        }
    }
    batch.stage(space, &store, known, now)?;
    forget_gone(space, known, &Tombstones::read(Some(&home)), &gone, now)?;
    forget_parts(space, known, now)
}

/// How a changed copy is going to be sent.
pub(crate) fn plan_copy(store: &Store, known: &Known, copy: &ChangedCopy) -> Result<Option<Planned>, Error> {
    let is_unchanged = || store.stat_copy(copy.name).is_some_and(|stat| stamp_text(stat) == copy.stamp);
    plan_parcel(store, known, copy.name, is_unchanged)
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
        gone.iter().try_for_each(|key| known.set_sent(key, None).and_then(|()| known.remove_copy(key)))
    })
}

fn remember_own(store: &Store, known: &Known, copy: &ChangedCopy, kept: Option<Kept>) -> Result<(), Error> {
    let sessions = list_sessions(store, copy.name);
    known
        .set_copy(&hex(copy.name), &KnownCopy { stamp: &copy.stamp, device: None, sessions: &sessions, kept })
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
    fn stage(&mut self, space: &mut Space, store: &Store, known: &Known, now: u64) -> Result<(), Error> {
        let copies = std::mem::take(self).copies;
        known.in_transaction(|| {
            copies.iter().try_for_each(|(copy, planned)| match &planned.parcel {
                Parcel::Whole(_) | Parcel::Nothing => Ok(()),
                Parcel::Part { key, .. } => known.add_part_key(key, &hex(copy.name), true),
            })
        })?;
        let (mut changes, mut sent) = (Vec::new(), Vec::new());
        for (copy, Planned { parcel, state }) in copies {
            add_changes(&mut changes, known, copy.name, parcel)?;
            sent.push((copy, state));
        }
        space.stage(changes, now).map_err(sync_error)?;
        known.in_transaction(|| {
            sent.iter().try_for_each(|(copy, state)| {
                remember_own(store, known, copy, None)?;
                known.set_sent(&hex(copy.name), state.as_ref())
            })
        })
    }
}

/// A whole makes the parts before it superfluous.
fn add_changes(changes: &mut Vec<Change>, known: &Known, name: u128, parcel: Parcel) -> Result<(), Error> {
    match parcel {
        Parcel::Nothing => {}
        Parcel::Part { key, body } => changes.push(Change::put(part::COLLECTION, &key, body)),
        Parcel::Whole(bytes) => {
            changes.push(Change::put(COLLECTION, &hex(name), bytes));
            let parts = known.own_part_keys(&hex(name))?;
            changes.extend(parts.iter().map(|key| Change::delete(part::COLLECTION, key)));
        }
    }
    Ok(())
}

/// Stores received copies, with the writer lock held by the caller. Returns which, and the keys that are not intact copies. A
/// transcript that an agent has on this device is left to this device.
pub(crate) fn apply_copies(
    store: &Store,
    (known, origins): (&Known, &OriginWriter),
    (live, tombstones): (&BTreeSet<u128>, &Tombstones),
    records: &[&Record],
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let (mut stored, mut damaged) = (Vec::new(), Vec::new());
    let is_foreign = |record: &Record| {
        let name = parse_name(&record.key).filter(|name| !live.contains(name));
        // A device that joins again finds what it has sent itself.
        name.is_some_and(|name| store.stat_copy(name).is_none() || known.is_received(&record.key))
    };
    let foreign: BTreeSet<&str> =
        records.iter().filter(|record| is_foreign(record)).map(|record| record.key.as_str()).collect();
    store.begin_batch();
    for record in records {
        let Some(name) = parse_name(&record.key) else { continue };
        if appended::has_whole(store, known, name, record)? {
            continue;
        }
        leave_to_others(known, record)?;
        if live.contains(&name) {
            continue;
        }
        match &record.body {
            Body::Bytes(bytes) => match store.put_raw(name, bytes) {
                Ok(()) => stored.push(name),
                Err(sources::Error::Damaged { .. }) => damaged.push(record.key.clone()),
                // Not acknowledged: it comes again when there is space, or a newer Loci.
                Err(error) => {
                    store.roll_back_batch();
                    return Err(read_error(error));
                }
            },
            Body::Deleted | Body::Forgotten => {
                let path = store.path_by_name(name);
                if let Some(Err(error)) = store.stat_copy(name).map(|_| store.remove_copy(&path)) {
                    store.roll_back_batch();
                    return Err(read_error(error));
                }
            }
        }
    }
    store.commit_batch().map_err(read_error)?;
    forget_in_names(store, tombstones, records.iter().filter_map(|record| parse_name(&record.key)))?;
    store.sync_to_disk().map_err(read_error)?;
    known.in_transaction(|| records.iter().try_for_each(|record| remember(store, known, record)))?;
    let received = records.iter().filter(|record| foreign.contains(record.key.as_str()));
    received.into_iter().try_for_each(|record| set_origin(known, origins, record))?;
    Ok((stored, damaged))
}

/// What this device remembers of a copy ends when another device writes or forgets it.
fn leave_to_others(known: &Known, record: &Record) -> Result<(), Error> {
    known.in_transaction(|| match record.body {
        Body::Forgotten => known.forget_copy(&record.key),
        Body::Bytes(_) | Body::Deleted => {
            known.set_sent(&record.key, None)?;
            known.set_chain(&record.key, None)
        }
    })
}

/// Stores received parts, with the writer lock held by the caller. Returns which copies have grown, and the keys of parts that are not
/// intact.
pub(crate) fn apply_parts(
    store: &Store,
    (known, origins): (&Known, &OriginWriter),
    (live, tombstones): (&BTreeSet<u128>, &Tombstones),
    records: &[&Record],
    also: impl Iterator<Item = u128>,
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let mut touched = known.in_transaction(|| appended::take_parts(known, live, records))?;
    touched.extend(also);
    if touched.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (mut grown, mut damaged) = (Vec::new(), Vec::new());
    store.begin_batch();
    for name in touched {
        match appended::extend_copy(store, known, name, &mut damaged) {
            Ok(done) => grown.extend(done),
            Err(error) => {
                store.roll_back_batch();
                return Err(error);
            }
        }
    }
    store.commit_batch().map_err(read_error)?;
    store.sync_to_disk().map_err(read_error)?;
    known.in_transaction(|| {
        damaged.iter().try_for_each(|key| known.remove_waiting(key))?;
        grown.iter().try_for_each(|one| appended::remember_growth(known, one, store))
    })?;
    forget_in_names(store, tombstones, grown.iter().map(|one| one.name))?;
    grown.iter().try_for_each(|one| remember_grown(store, (known, origins), one))?;
    Ok((grown.iter().map(|one| one.name).collect(), damaged))
}

/// The copy is what the other devices have: it is not sent back.
fn remember_grown(
    store: &Store,
    (known, origins): (&Known, &OriginWriter),
    one: &Grown,
) -> Result<(), Error> {
    let (key, device) = (hex(one.name), one.device.to_string());
    let is_received = known.is_received(&key);
    let Some(stamp) = store.stat_copy(one.name).map(stamp_text) else { return known.remove_copy(&key) };
    let sessions = list_sessions(store, one.name);
    known.set_copy(
        &key,
        &KnownCopy { stamp: &stamp, device: Some(&device), sessions: &sessions, kept: None },
    )?;
    let sessions = known.sessions_of(&key)?;
    let mut received = sessions.iter().filter(|_| is_received);
    received.try_for_each(|(source, id)| origins.set_session(source, id, one.device))
}

fn set_origin(known: &Known, origins: &OriginWriter, record: &Record) -> Result<(), Error> {
    let sessions = known.sessions_of(&record.key)?;
    sessions.iter().try_for_each(|(source, id)| origins.set_session(source, id, record.version.device))
}

/// Another device may have sent a copy before it heard that a session in it was forgotten.
fn forget_in_names(
    store: &Store,
    tombstones: &Tombstones,
    names: impl Iterator<Item = u128>,
) -> Result<(), Error> {
    if tombstones.is_empty() {
        return Ok(());
    }
    for name in names {
        let Ok(copy) = store.find_by_name(name) else { continue };
        let is_forgotten = |session: &Session| tombstones.contains(&copy.source, &session.session_id);
        store.forget_sessions(&copy.path, &is_forgotten).map_err(read_error)?;
    }
    Ok(())
}

fn remember(store: &Store, known: &Known, record: &Record) -> Result<(), Error> {
    let Some(name) = parse_name(&record.key) else { return Ok(()) };
    match (store.stat_copy(name), &record.body) {
        (Some(stat), Body::Bytes(_)) => {
            let (device, sessions) = (record.version.device.to_string(), list_sessions(store, name));
            let stamp = stamp_text(stat);
            known.set_copy(
                &record.key,
                &KnownCopy { stamp: &stamp, device: Some(&device), sessions: &sessions, kept: None },
            )
        }
        _ => known.remove_copy(&record.key),
    }
}

/// The transcripts that agents have on this device.
pub(crate) fn live_names(history: &History<'_>) -> BTreeSet<u128> {
    sources::find_transcripts(history.places, &[]).transcripts.iter().map(archive::transcript_name).collect()
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
