//! Archived transcripts as records: the stored bytes of a copy under the name that it has in every archive, or what was appended
//! to it since the other devices got it.
//!
//! Does not know transcripts: a copy travels as it is stored, masked and compressed.

use crate::appended::{self, Grown};
use crate::conflict::{self, Choice};
use crate::copy_name::{hex, parse_name};
use crate::growth::{Parcel, Planned, plan_parcel};
use crate::known::{Kept, Known, KnownCopy, list_sessions, parse_sessions, stamp_text};
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
use sources::archive::{self, Store};
use std::collections::BTreeSet;
use sync::{Body, Change, DeviceId, Record, Space};

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
    // A name that could not be read now is not one that is gone.
    for name in store.read_all_names().map_err(read_error)? {
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

/// What staging and storing copies need to know.
pub(crate) struct Exchange<'e> {
    pub(crate) home: &'e Home,
    pub(crate) known: &'e Known,
    pub(crate) origins: &'e OriginWriter,
    /// The transcripts that agents have on this device.
    pub(crate) live: &'e BTreeSet<u128>,
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
        if let Some(why) = why_kept(history, &store, copy.name, settings) {
            remember_own(&store, exchange, &copy, Some(why))?;
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
    let found = find_changes(store, exchange.known)?;
    let names: Vec<u128> =
        found.0.iter().map(|copy| copy.name).filter(|name| !exchange.live.contains(name)).collect();
    let has_forgotten = |name: &u128| {
        let sessions = list_sessions(store, *name);
        parse_sessions(&sessions).any(|(source, id)| tombstones.contains(&source, &id))
    };
    if tombstones.is_empty() || !names.iter().any(has_forgotten) {
        return Ok(found);
    }
    let _lock = Lock::acquire(exchange.home)?;
    forget_in_names(store, tombstones, names.into_iter())?;
    find_changes(store, exchange.known)
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

/// Of a copy that came from another device and is only sent once more, that device remains the writer. What an agent adds here is of
/// this device.
fn remember_own(
    store: &Store,
    exchange: &Exchange<'_>,
    copy: &ChangedCopy,
    kept: Option<Kept>,
) -> Result<(), Error> {
    let (key, sessions) = (hex(copy.name), list_sessions(store, copy.name));
    let is_live = exchange.live.contains(&copy.name);
    let find_writer = || conflict::find_writer(store, (exchange.known, exchange.origins), copy.name);
    let writer = if is_live { None } else { find_writer()? };
    if is_live {
        // The parts of others are no longer all that follows the first lines.
        exchange.known.set_chain(&key, None)?;
    }
    let device = writer.map(|device| device.to_string());
    let (stamp, device) = (&copy.stamp, device.as_deref());
    exchange.known.set_copy(&key, &KnownCopy { stamp, device, sessions: &sessions, kept })
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
                remember_own(store, exchange, copy, None)?;
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

/// A whole copy that has arrived.
struct Arrival<'r> {
    record: &'r Record,
    name: u128,
    choice: Choice,
    /// Whose the copy that is here is. None: there is none, or it was written here.
    writer: Option<DeviceId>,
    is_new: bool,
}

impl Arrival<'_> {
    fn is_taken(&self) -> bool {
        self.choice == Choice::Take
    }

    fn is_own(&self) -> bool {
        !self.is_new && self.writer.is_none()
    }
}

/// Stores received copies, with the writer lock held by the caller. Returns which, and the keys that are not intact copies. A
/// transcript that an agent has on this device is left to this device, and no copy takes the place of one with more in it.
pub(crate) fn apply_copies(
    store: &Store,
    exchange: &Exchange<'_>,
    tombstones: &Tombstones,
    records: &[&Record],
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let Exchange { known, origins, .. } = *exchange;
    let mut arrivals = Vec::new();
    for record in records {
        arrivals.extend(judge_arrival(store, exchange, record)?);
    }
    known.in_transaction(|| arrivals.iter().try_for_each(|one| leave_to_others(known, one)))?;
    let names = || records.iter().filter_map(|record| parse_name(&record.key));
    let taken = arrivals.iter().filter(|one| one.is_taken());
    let (stored, damaged) = match put_copies(store, taken) {
        Ok(done) => done,
        Err(error) => {
            // Some may be stored already.
            forget_in_names(store, tombstones, names())?;
            return Err(error);
        }
    };
    forget_in_names(store, tombstones, names())?;
    store.sync_to_disk().map_err(read_error)?;
    let is_intact = |one: &&Arrival<'_>| one.is_taken() && !damaged.contains(&one.record.key);
    let intact: Vec<&Arrival<'_>> = arrivals.iter().filter(is_intact).collect();
    known.in_transaction(|| intact.iter().try_for_each(|one| remember(store, known, one)))?;
    let mut foreign = intact.iter().filter(|one| !one.is_own());
    foreign.try_for_each(|one| set_origin(known, origins, one.record))?;
    Ok((stored, damaged))
}

/// None: the record is nothing for this device.
fn judge_arrival<'r>(
    store: &Store,
    exchange: &Exchange<'_>,
    record: &'r Record,
) -> Result<Option<Arrival<'r>>, Error> {
    let Some(name) = parse_name(&record.key) else { return Ok(None) };
    if appended::has_whole(store, exchange.known, name, record)? {
        return Ok(None);
    }
    let files = (exchange.known, exchange.origins);
    let choice = match conflict::choose_copy(store, files, name, record) {
        Ok(Choice::KeepAndSend) => Choice::KeepAndSend,
        _ if exchange.live.contains(&name) => Choice::Keep,
        choice => choice?,
    };
    let (writer, is_new) = (conflict::find_writer(store, files, name)?, store.stat_copy(name).is_none());
    Ok(Some(Arrival { record, name, choice, writer, is_new }))
}

/// Returns the names of the stored copies, and the keys of damaged ones.
fn put_copies<'r>(
    store: &Store,
    taken: impl Iterator<Item = &'r Arrival<'r>>,
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let (mut stored, mut damaged) = (Vec::new(), Vec::new());
    store.begin_batch();
    for Arrival { record, name, .. } in taken {
        let done = match &record.body {
            Body::Bytes(bytes) => store.put_raw(*name, bytes).map(|()| stored.push(*name)),
            Body::Deleted | Body::Forgotten => {
                let removed = store.stat_copy(*name).map(|_| store.remove_copy(&store.path_by_name(*name)));
                removed.map_or(Ok(()), |removed| removed.map(drop))
            }
        };
        match done {
            Ok(()) => {}
            Err(sources::Error::Damaged { .. }) => damaged.push(record.key.clone()),
            // Not acknowledged: it comes again when there is space, or a newer Loci.
            Err(error) => {
                store.roll_back_batch();
                return Err(read_error(error));
            }
        }
    }
    store.commit_batch().map_err(read_error)?;
    Ok((stored, damaged))
}

/// What this device remembers of a copy ends when another device writes or forgets it.
fn leave_to_others(known: &Known, one: &Arrival<'_>) -> Result<(), Error> {
    let key = &one.record.key;
    if one.record.body == Body::Forgotten {
        return known.forget_copy(key);
    }
    known.set_sent(key, None)?;
    match one.choice {
        Choice::Keep => Ok(()),
        Choice::KeepAndSend => known.forget_version(key),
        Choice::Take => {
            known.set_chain(key, None)?;
            let is_foreign = !one.is_own() && matches!(one.record.body, Body::Bytes(_));
            let device = one.record.version.device.to_string();
            if is_foreign { known.expect_copy(key, &device) } else { Ok(()) }
        }
    }
}

/// Stores received parts, with the writer lock held by the caller. Returns which copies have grown, and the keys of parts that are not
/// intact.
pub(crate) fn apply_parts(
    store: &Store,
    exchange: &Exchange<'_>,
    tombstones: &Tombstones,
    records: &[&Record],
    also: impl Iterator<Item = u128>,
) -> Result<(Vec<u128>, Vec<String>), Error> {
    let Exchange { known, origins, live, .. } = *exchange;
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

/// A copy of this device that another has completed remains a copy of this device.
fn remember(store: &Store, known: &Known, one: &Arrival<'_>) -> Result<(), Error> {
    match (store.stat_copy(one.name), &one.record.body) {
        (Some(stat), Body::Bytes(_)) => {
            let device = Some(one.record.version.device.to_string()).filter(|_| !one.is_own());
            let (stamp, sessions) = (stamp_text(stat), list_sessions(store, one.name));
            let device = device.as_deref();
            let copy = KnownCopy { stamp: &stamp, device, sessions: &sessions, kept: None };
            known.set_copy(&one.record.key, &copy)
        }
        _ => known.remove_copy(&one.record.key),
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
