//! A round with a team: sends what a person has shared, and offers what others share for review.
//!
//! Does not decide what is shared, nor accept anything: what arrives is a suggestion until a person takes it.

use crate::open_error::memory_error;
use crate::origins::OriginWriter;
use crate::settings::{Place, SharedItem, SpaceSettings, sync_error};
use crate::shared_fact::SharedFact;
use crate::shared_session::{self, SharedSession};
use crate::status::to_finding;
use crate::team_store::{Arrived, TeamStore};
use api::Error;
use api::sync::{SyncItem, SyncRound};
use history::home::Home;
use history::projects::Projects;
use history::{History, ingest};
use memory::{State, Store, Withdrawn};
use sync::{Change, Space};

pub(crate) const FACTS: &str = "shared-facts";
pub(crate) const SESSIONS: &str = "shared-sessions";
const SEPARATOR: char = '\t';

/// The member that this device is, by its identifier.
pub(crate) fn own_member(space: &Space) -> Result<String, Error> {
    let member = space.author(space.device()).map_err(sync_error)?;
    member.map(|member| member.id()).ok_or_else(|| sync_error(sync::Error::Removed))
}

/// The author is part of the key, so that no member can replace what another one shares.
pub(crate) fn item_key(member: &str, item: &SharedItem) -> String {
    let source = item.source.as_deref().unwrap_or_default();
    [member, source, &item.id, &format!("{:x}", item.since)].join(&SEPARATOR.to_string())
}

pub(crate) fn collection_of(item: &SharedItem) -> &'static str {
    if item.source.is_some() { SESSIONS } else { FACTS }
}

/// What can be sent of a shared item.
pub(crate) enum Shareable {
    /// As people see it, and as it is sent.
    Now(SyncItem, Vec<u8>),
    /// It was forgotten or retired.
    Withdraw,
    /// Its store is missing: nothing is withdrawn because of that.
    Unreadable,
}

pub(crate) fn read_item(history: &History<'_>, home: &Home, item: &SharedItem) -> Result<Shareable, Error> {
    match &item.source {
        Some(source) => read_session_item(history, source, item),
        None => read_fact_item(history, home, &item.id),
    }
}

fn read_session_item(history: &History<'_>, source: &str, item: &SharedItem) -> Result<Shareable, Error> {
    if shared_session::is_forgotten(history, source, &item.id)? {
        return Ok(Shareable::Withdraw);
    }
    let session = shared_session::read_session(history, source, &item.id, item.with_tools)?;
    Ok(session.map_or(Shareable::Unreadable, |session| {
        let bytes = mask_json(history, &session);
        Shareable::Now(to_api_session(&session, bytes.len()), bytes)
    }))
}

fn read_fact_item(history: &History<'_>, home: &Home, id: &str) -> Result<Shareable, Error> {
    let store = Store::open_read_only(&home.memory()).map_err(|error| memory_error(&error))?;
    let Some(store) = store else { return Ok(Shareable::Unreadable) };
    let Some(fact) = store.fact(id).map_err(|error| memory_error(&error))? else {
        let forgotten = store.forgotten_entries().map_err(|error| memory_error(&error))?;
        let is_forgotten = forgotten.iter().any(|(_, _, fact)| fact == id);
        return Ok(if is_forgotten { Shareable::Withdraw } else { Shareable::Unreadable });
    };
    if !is_reviewed(fact.state) {
        return Ok(Shareable::Withdraw);
    }
    let bytes = mask_json(history, &SharedFact::new(&fact, &Projects::load(history)));
    let sent: SharedFact = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Shareable::Now(to_api_fact(id, &sent, bytes.len()), bytes))
}

/// A fact as it is sent, for people.
fn to_api_fact(id: &str, sent: &SharedFact, bytes: usize) -> SyncItem {
    SyncItem {
        id: id.to_string(),
        kind: "fact".to_string(),
        text: sent.text.clone(),
        project: sent.project.display(),
        bytes: bytes as u64,
        ..SyncItem::default()
    }
}

pub(crate) fn to_api_session(session: &SharedSession, bytes: usize) -> SyncItem {
    SyncItem {
        id: session.id.clone(),
        kind: "session".to_string(),
        text: session.title.clone(),
        project: session.project.display(),
        messages: session.count_of("message"),
        calls: session.count_of("call"),
        bytes: bytes as u64,
        ..SyncItem::default()
    }
}

pub(crate) fn is_reviewed(state: State) -> bool {
    matches!(state, State::Fresh | State::Stale | State::Superseded)
}

pub(crate) fn mask_json(history: &History<'_>, of: &impl serde::Serialize) -> Vec<u8> {
    // Serialization cannot fail: the types contain only what JSON can represent.
    let json = serde_json::to_string(of).unwrap_or_default();
    match history.masker() {
        Some(masker) => masker.mask_json(&json).into_owned().into_bytes(),
        None => json.into_bytes(),
    }
}

/// Runs a round with a team.
pub(crate) fn run_team_round(
    history: &History<'_>,
    place: &Place,
    variables: &[(String, String)],
) -> Result<SyncRound, Error> {
    let home = history.home().ok_or_else(history::error::no_home)?;
    let (mut settings, mut space) = place.open(variables)?;
    let now = history.clock.now().0.max(0) as u64;
    ingest::catch_up(history, false)?;
    let too_large = stage_shared(history, &home, &mut space, place, &mut settings, now)?;
    let store = TeamStore::open(&place.folder)?;
    let round = space.sync_staging(
        now,
        &mut |records| store.keep(records).map_err(|error| error.message),
        &mut |space| {
            // What the storage has lost of what is shared is staged again.
            if !space.has_lost().map_err(|error| error.to_string())? {
                return Ok(());
            }
            let staged = stage_shared(history, &home, space, place, &mut settings, now);
            staged.map(drop).map_err(|error| error.message)
        },
    );
    let mut receiver = Receiver {
        history,
        store: &store,
        origins: OriginWriter::open(&home)?,
        projects: Projects::load(history),
        memory: Store::open(&home.memory()).map_err(|error| memory_error(&error))?,
        outcome: SyncRound::default(),
    };
    // What has arrived is judged even if the round failed later.
    receiver.judge_all(&space, place.team.as_deref().unwrap_or_default())?;
    let round = round.map_err(sync_error)?;
    let findings = round.findings.iter().map(to_finding).collect();
    let repaired = round.repaired.len() as u64;
    Ok(SyncRound { sent: round.sent, lists: round.lists, too_large, repaired, findings, ..receiver.outcome })
}

/// Returns the number of items that have grown beyond what a record may have: others keep what they got last.
fn stage_shared(
    history: &History<'_>,
    home: &Home,
    space: &mut Space,
    place: &Place,
    settings: &mut SpaceSettings,
    now: u64,
) -> Result<u64, Error> {
    if settings.shared.is_empty() && settings.withdrawn.is_empty() {
        return Ok(0);
    }
    let member = own_member(space)?;
    let (mut changes, mut kept, mut too_large) = (Vec::new(), Vec::new(), 0);
    for item in std::mem::take(&mut settings.shared) {
        match read_item(history, home, &item)? {
            Shareable::Now(_, bytes) if bytes.len() > sync::MAX_RECORD => too_large += 1,
            Shareable::Now(_, bytes) => {
                changes.push(Change::put(collection_of(&item), &item_key(&member, &item), bytes));
            }
            Shareable::Withdraw => {
                settings.withdrawn.push(item);
                continue;
            }
            Shareable::Unreadable => {}
        }
        kept.push(item);
    }
    settings.shared = kept;
    let gone = settings.withdrawn.iter();
    changes.extend(gone.map(|item| Change::forget(collection_of(item), &item_key(&member, item))));
    space.stage(changes, now).map_err(sync_error)?;
    // Only now: after a kill in between, staging again changes nothing.
    settings.withdrawn.clear();
    place.store_settings(settings)?;
    Ok(too_large)
}

/// Whether a key names this member.
fn is_of_member(key: &str, member: &str) -> bool {
    key.split(SEPARATOR).next() == Some(member)
}

/// Offers what has arrived.
struct Receiver<'r> {
    history: &'r History<'r>,
    store: &'r TeamStore,
    origins: OriginWriter,
    projects: Projects,
    memory: Store,
    outcome: SyncRound,
}

impl Receiver<'_> {
    fn judge_all(&mut self, space: &Space, team: &str) -> Result<(), Error> {
        for one in self.store.arrived()? {
            let author = space.author(one.device).map_err(sync_error)?;
            // A record counts only in the log of the member that its key names.
            match author.filter(|author| is_of_member(&one.key, &author.id())) {
                Some(author) => {
                    self.origins.name_device(one.device, &author.label, team)?;
                    self.judge(&one)?;
                }
                None => self.outcome.refused += 1,
            }
            self.store.remove_arrived(&one)?;
        }
        Ok(())
    }

    fn judge(&mut self, one: &Arrived) -> Result<(), Error> {
        match (one.collection.as_str(), &one.body) {
            (FACTS, Some(bytes)) => self.suggest_fact(one, bytes),
            (FACTS, None) => self.withdraw_fact(one),
            (SESSIONS, Some(bytes)) => self.offer_session(one, bytes),
            (SESSIONS, None) => self.store.remove_received(one),
            // Of a later version.
            _ => Ok(()),
        }
    }

    fn suggest_fact(&mut self, one: &Arrived, bytes: &[u8]) -> Result<(), Error> {
        let shared: Option<SharedFact> = serde_json::from_slice(bytes).ok();
        let Some(fact) = shared.and_then(|shared| shared.to_suggestion(self.history, &self.projects)) else {
            self.outcome.unreadable.push(one.key.clone());
            return Ok(());
        };
        // Its author has changed the words: the former suggestion is replaced.
        if self.store.received_item(one)?.is_some_and(|known| known != fact.id) {
            self.withdraw_fact(one)?;
        }
        if self.memory.suggest_fact(&fact).map_err(|error| memory_error(&error))? {
            self.origins.set_fact(&fact.id, one.device)?;
            self.store.set_received(one, &fact.id, None)?;
            self.outcome.suggested += 1;
        }
        Ok(())
    }

    fn withdraw_fact(&mut self, one: &Arrived) -> Result<(), Error> {
        let Some(id) = self.store.received_item(one)? else { return Ok(()) };
        let done = self.memory.withdraw_suggestion(&id).map_err(|error| memory_error(&error))?;
        if done == Withdrawn::Accepted {
            self.outcome.withdrawn.push(id);
        }
        self.store.remove_received(one)
    }

    fn offer_session(&mut self, one: &Arrived, bytes: &[u8]) -> Result<(), Error> {
        let Some(session) = shared_session::parse(bytes) else {
            self.outcome.unreadable.push(one.key.clone());
            return Ok(());
        };
        self.outcome.offered += 1;
        self.store.set_received(one, &session.item(), Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_author_and_differs_each_time_it_is_shared() {
        let item = |since| SharedItem { id: "f-1".to_string(), since, ..SharedItem::default() };
        let key = item_key("ada", &item(7));
        assert!(is_of_member(&key, "ada") && !is_of_member(&key, "bob") && !is_of_member(&key, "ad"));
        assert_ne!(key, item_key("ada", &item(8)));
        let session = SharedItem { source: Some("codex".to_string()), ..item(7) };
        assert_ne!(key, item_key("ada", &session));
        assert_ne!(collection_of(&session), collection_of(&item(7)));
    }
}
