//! Memory as records: a session or a fact under its ID, in the form of `loci memory export`; and what was forgotten.
//!
//! Does not derive memory.

pub(crate) use crate::document::SESSIONS;
use crate::document::{export_fact, export_session, import_fact, import_session};
use crate::known::Known;
use crate::open_error::memory_error;
use crate::origins::{OriginWriter, Origins};
use crate::returned::{Newer, Returned};
use crate::settings::{SpaceSettings, sync_error};
use api::Error;
use api::memory::{KeptFact, KeptSession};
use history::History;
use history::home::Home;
use memory::{Fact, SessionMemory, State, Store};
use std::collections::{BTreeMap, BTreeSet};
use sync::{Body, Change, Record, Space};

pub(crate) const FACTS: &str = "facts";
pub(crate) const FORGOTTEN: &str = "forgotten-facts";
const SEPARATOR: char = '\t';

/// The records of memory as they are now, masked with the newest rules.
pub(crate) fn list_changes(history: &History<'_>, settings: &SpaceSettings) -> Result<Vec<Change>, Error> {
    let Some(home) = history.home() else { return Ok(Vec::new()) };
    let Some(store) = Store::open_read_only(&home.memory()).map_err(|error| memory_error(&error))? else {
        return Ok(Vec::new());
    };
    let (sessions, facts) = store.load_all().map_err(|error| memory_error(&error))?;
    let mut changes = Vec::new();
    for one in sessions.iter().filter(|one| !settings.excludes(&one.project)) {
        changes.push(Change::put(SESSIONS, &session_key(one), to_bytes(history, &export_session(one))));
    }
    // What others suggest travels once it was accepted.
    let suggested = Origins::load(Some(&home)).team_facts()?;
    let is_suggestion =
        |fact: &Fact| fact.state == State::Review && suggested.contains(&(fact.id.clone(), String::new()));
    for fact in facts.iter().filter(|fact| !settings.excludes(&fact.project) && !is_suggestion(fact)) {
        changes.push(Change::put(
            FACTS,
            &fact.id,
            to_bytes(history, &export_fact(&without_own_findings(fact))),
        ));
    }
    for (source, session, fact) in store.forgotten_entries().map_err(|error| memory_error(&error))? {
        let key = [source, session, fact].join(&SEPARATOR.to_string());
        changes.push(Change::put(FORGOTTEN, &key, Vec::new()));
    }
    Ok(changes)
}

fn session_key(one: &SessionMemory) -> String {
    format!("{}{SEPARATOR}{}", one.source, one.session_id)
}

/// Whether a fact is stale depends on the files of this device, and what replaced it is found by every device.
fn without_own_findings(fact: &Fact) -> Fact {
    let state =
        if matches!(fact.state, State::Stale | State::Superseded) { State::Fresh } else { fact.state };
    Fact { state, superseded_by: None, ..fact.clone() }
}

fn to_bytes(history: &History<'_>, of: &impl serde::Serialize) -> Vec<u8> {
    // Serialization cannot fail: the types contain only what JSON can represent.
    let json = serde_json::to_string(of).unwrap_or_default();
    match history.masker() {
        Some(masker) => masker.mask_json(&json).into_owned().into_bytes(),
        None => json.into_bytes(),
    }
}

/// Blocks forgotten sessions: nothing that arrives later is remembered of them.
pub(crate) fn block_sessions<'s>(
    home: &Home,
    sessions: impl Iterator<Item = &'s (String, String)>,
) -> Result<(), Error> {
    let mut sessions = sessions.peekable();
    if sessions.peek().is_none() {
        return Ok(());
    }
    let mut store = Store::open(&home.memory()).map_err(|error| memory_error(&error))?;
    let entries: Vec<memory::ForgottenEntry> =
        sessions.map(|(source, id)| (source.clone(), id.clone(), String::new())).collect();
    store.forget_received(&entries).map_err(|error| memory_error(&error))
}

/// Stages what changed. Entries that are gone stay with the other devices: only what a person has forgotten is forgotten there.
pub(crate) fn stage_memory(
    history: &History<'_>,
    space: &mut Space,
    known: &Known,
    settings: &SpaceSettings,
    now: u64,
) -> Result<u64, Error> {
    let mut changes = list_changes(history, settings)?;
    let (stated, blocked) = compare_blocked(known, &changes)?;
    changes.extend(stated.iter().map(|fact| Change::delete(FORGOTTEN, &block_key(fact))));
    let accepted = space.stage(changes, now).map_err(sync_error)?.accepted;
    known.in_transaction(|| {
        known.set_blocked(&stated, false)?;
        known.set_blocked(&blocked, true)
    })?;
    Ok(accepted)
}

/// The key of a fact that was forgotten without a session.
fn block_key(fact: &str) -> String {
    format!("{SEPARATOR}{SEPARATOR}{fact}")
}

/// The fact that was forgotten without a session.
fn blocked_fact(key: &str) -> Option<&str> {
    key.strip_prefix(SEPARATOR)?.strip_prefix(SEPARATOR)
}

/// Facts that were forgotten and that a person has stated again here; and those that are forgotten now. A block that is only missing
/// says nothing: memory may have been lost.
fn compare_blocked(known: &Known, changes: &[Change]) -> Result<(Vec<String>, Vec<String>), Error> {
    let of = |collection: &'static str| changes.iter().filter(move |change| change.collection == collection);
    let facts: BTreeSet<&str> = of(FACTS).map(|change| change.key.as_str()).collect();
    let blocked: BTreeSet<&str> = of(FORGOTTEN).filter_map(|change| blocked_fact(&change.key)).collect();
    let is_stated = |fact: &String| facts.contains(fact.as_str()) && !blocked.contains(fact.as_str());
    let stated = known.blocked()?.into_iter().filter(is_stated).collect();
    Ok((stated, blocked.into_iter().map(str::to_string).collect()))
}

/// Stores received entries. Returns how many changed something, and the keys that could not be read.
pub(crate) fn apply_memory(
    history: &History<'_>,
    (known, origins): (&Known, &OriginWriter),
    returned: Option<&Returned>,
    records: &[&Record],
) -> Result<(u64, Vec<String>), Error> {
    let Some(home) = history.home() else { return Ok((0, Vec::new())) };
    let newer =
        returned.map_or(Ok(BTreeMap::new()), |returned| compare_returned(history, returned, records))?;
    let newer = |record: &Record| {
        newer.get(&(record.collection.as_str(), record.key.as_str())).copied().unwrap_or(Newer::Theirs)
    };
    let (mut received, mut undecided) = (Received::default(), Received::default());
    let mut unreadable = Vec::new();
    for record in records {
        let read = match newer(record) {
            Newer::Ours => Some(()),
            Newer::Theirs => received.add(record),
            Newer::Unknown => undecided.add(record),
        };
        if read.is_none() {
            unreadable.push(record.key.clone());
        }
    }
    let mut store = Store::open(&home.memory()).map_err(|error| memory_error(&error))?;
    let new: Vec<&&Record> = records.iter().filter(|record| is_new_fact(&store, record)).collect();
    let mut apply = || {
        store.allow_facts(&received.allowed)?;
        store.forget_received(&received.forgotten)?;
        let changed = store.put_received(&received.sessions, &received.facts)?
            + store.put_received_by_time(&undecided.sessions, &undecided.facts)?;
        store.mark_superseded()?;
        Ok(changed + received.forgotten.len() as u64)
    };
    let changed = apply().map_err(|error: memory::Error| memory_error(&error))?;
    known.in_transaction(|| {
        known.set_blocked(&received.allowed, false)?;
        known.set_blocked(&received.blocked(), true)
    })?;
    for record in new.into_iter().filter(|record| store.fact(&record.key).is_ok_and(|fact| fact.is_some())) {
        origins.set_fact(&record.key, record.version.device)?;
    }
    Ok((changed, unreadable))
}

/// Which of the records that arrive are newer than what is here.
fn compare_returned<'r>(
    history: &History<'_>,
    returned: &Returned,
    records: &[&'r Record],
) -> Result<BTreeMap<(&'r str, &'r str), Newer>, Error> {
    let ours = list_changes(history, &SpaceSettings::default())?;
    let ours: BTreeMap<(&str, &str), &Change> =
        ours.iter().map(|change| ((change.collection.as_str(), change.key.as_str()), change)).collect();
    let mut newer = BTreeMap::new();
    for record in records {
        let key = (record.collection.as_str(), record.key.as_str());
        if let (Some(ours), Body::Bytes(theirs)) = (ours.get(&key), &record.body)
            && [SESSIONS, FACTS].contains(&key.0)
        {
            newer.insert(key, returned.compare(ours, theirs));
        }
    }
    Ok(newer)
}

fn is_new_fact(store: &Store, record: &Record) -> bool {
    record.collection == FACTS && store.fact(&record.key).is_ok_and(|fact| fact.is_none())
}

#[derive(Default)]
struct Received {
    sessions: Vec<SessionMemory>,
    facts: Vec<Fact>,
    forgotten: Vec<memory::ForgottenEntry>,
    /// Facts that are no longer forgotten.
    allowed: Vec<String>,
}

impl Received {
    /// Facts that were forgotten without a session.
    fn blocked(&self) -> Vec<String> {
        let bare =
            self.forgotten.iter().filter(|(source, session, _)| source.is_empty() && session.is_empty());
        bare.map(|(_, _, fact)| fact.clone()).collect()
    }

    /// `None` for a record that this version cannot read.
    fn add(&mut self, record: &Record) -> Option<()> {
        match (record.collection.as_str(), &record.body) {
            (SESSIONS, Body::Bytes(bytes)) => {
                let kept: KeptSession = serde_json::from_slice(bytes).ok()?;
                self.sessions.push(import_session(kept).ok()?);
            }
            (FACTS, Body::Bytes(bytes)) => {
                let kept: KeptFact = serde_json::from_slice(bytes).ok()?;
                self.facts.push(import_fact(kept).ok()?);
            }
            (FORGOTTEN, Body::Bytes(_)) => {
                let mut parts = record.key.splitn(3, SEPARATOR).map(str::to_string);
                self.forgotten.push((parts.next()?, parts.next()?, parts.next()?));
            }
            (FORGOTTEN, Body::Deleted) => self.allowed.extend(blocked_fact(&record.key).map(str::to_string)),
            _ => {}
        }
        Some(())
    }
}
