//! Deletes sessions permanently from the archive, the catalogue and the index, leaving no byte behind. A tombstone keeps
//! them from being indexed again. The agents' own transcripts are not modified.
//!
//! Does not ask for confirmation: that is up to the interface.

use super::records::BOTH;
use super::resolve_ids::chat_id;
use crate::Service;
use api::maintenance::{ForgetRequest, Forgotten};
use api::resolve_ids::ChatId;
use api::{Code, Error, Handle, Request, ViewRequest};
use catalogue::Reader;
use history::error::{homeless, read_error, store_error};
use history::home::Lock;
use history::masked_read::{self, Raw};
use history::scan::{by_time, gather};
use history::tombstones::Tombstones;
use history::{catalogue_cache, home, ingest, resolve_session, scope, search_text};
use record::Session;
use std::collections::BTreeMap;

/// The sessions to delete, by source and ID.
type Doomed = BTreeMap<(String, String), ChatId>;

impl Handle<ForgetRequest> for Service {
    fn handle(&self, request: &ForgetRequest) -> Result<Forgotten, Error> {
        forget(self, request)
    }
}

fn forget(service: &Service, request: &ForgetRequest) -> Result<Forgotten, Error> {
    request.check()?;
    let home = service.home().ok_or_else(homeless)?;
    // Index the unindexed tail first: a session that is not in the catalogue cannot be found.
    let lock = Lock::take(&home)?;
    ingest::catch_up_locked(&service.history(), &home, &lock, false)?;
    let (selected, unread) = doomed(service, request)?;
    let mut forgotten = Forgotten {
        chats: selected.values().cloned().collect(),
        events: events(service, &selected)?,
        dry_run: request.dry_run,
        unread,
        ..Forgotten::default()
    };
    if request.dry_run || selected.is_empty() {
        return Ok(forgotten);
    }
    let before = super::index::size(&home.data) + super::index::size(&home.cache);
    // Write the tombstones first: from here on an interruption cannot bring the sessions back.
    let mut tombstones = Tombstones::read(Some(&home));
    let added = tombstones.add(&home, selected.keys().cloned());
    added.map_err(|error| home::unwritable(&home.tombstones(), &error))?;
    forgotten.archive_files = ingest::forget(&service.history(), &home, &lock, &|source, id| {
        selected.contains_key(&(source.to_string(), id.to_string()))
    })?;
    let after = super::index::size(&home.data) + super::index::size(&home.cache);
    forgotten.bytes = before.saturating_sub(after);
    Ok(forgotten)
}

/// Returns the sessions that the request selects, and how many records could not be searched.
fn doomed(service: &Service, request: &ForgetRequest) -> Result<(Doomed, u64), Error> {
    let reader = catalogue_cache::open(&service.history()).ok_or_else(homeless)?;
    let (mut selected, mut unread) = (Doomed::new(), 0);
    for prefix in &request.chat_ids {
        let session = called(&reader, prefix.trim())?;
        selected.insert(name(&session), chat_id(&session));
    }
    if let Some(project) = &request.project {
        let project = scope::real(&service.cwd.join(project));
        for facts in reader.facts(|_| true).map_err(store_error)?.values() {
            let held = facts.sessions.iter().filter(|session| session.is_of(&project));
            selected.extend(held.map(|session| (name(session), chat_id(session))));
        }
    }
    if let Some(text) = &request.matching {
        let held = holding(service, text)?;
        selected.extend(held.sessions.iter().map(|session| (name(session), chat_id(session))));
        unread = held.unread;
    }
    let gone = Tombstones::read(service.home().as_ref());
    selected.retain(|(source, id), _| !gone.holds(source, id));
    Ok((selected, unread))
}

fn name(session: &Session) -> (String, String) {
    (session.source.to_string(), session.session_id.to_string())
}

fn called(reader: &Reader, prefix: &str) -> Result<Session, Error> {
    let found = reader.chats_called(prefix, u32::MAX).map_err(store_error)?;
    let exact: Vec<_> = found.iter().filter(|one| one.id == prefix).collect();
    let found = match (&exact[..], &found[..]) {
        ([one], _) => one.chat,
        (_, [one]) => one.chat,
        (_, []) => {
            let message = format!("no session has an ID that starts with `{prefix}`");
            return Err(Error::new(Code::SessionNotFound, message).hint("list sessions with `loci sessions`"));
        }
        _ => {
            let ids = found.iter().map(|one| one.id.as_str());
            return Err(resolve_session::one_of(prefix, "conversations", ids));
        }
    };
    let sessions = reader.chat(found).map_err(store_error)?;
    let session = sessions.into_iter().next().map(|chat| chat.session);
    session.ok_or_else(|| Error::new(Code::SessionNotFound, format!("`{prefix}` no longer exists")))
}

struct Held {
    sessions: Vec<Session>,
    /// Records, lines and transcripts that could not be read and may contain the text as well.
    unread: u64,
}

/// Finds the sessions that contain a text, ignoring case. Reads all records unmasked, because the text to forget may be a
/// secret.
fn holding(service: &Service, text: &str) -> Result<Held, Error> {
    let wanted = text.to_lowercase();
    let everything = ViewRequest { all_projects: true, ..ViewRequest::default() };
    let (library, rows) = gather(&service.history(), &everything, BOTH, by_time, |_, _| true)?;
    let (mut held, mut unread) = (BTreeMap::new(), library.outcome.lost() as u64);
    for row in rows {
        let row = row.map_err(read_error)?;
        let session = library.session(&row);
        if held.contains_key(&name(session)) {
            continue;
        }
        match masked_read::raw(&library, &row).map(said) {
            Ok(text) if text.to_lowercase().contains(&wanted) => {
                held.insert(name(session), session.clone());
            }
            Ok(_) => {}
            Err(_) => unread += 1,
        }
    }
    Ok(Held { sessions: held.into_values().collect(), unread })
}

/// Returns the full text of a record: the part that is too long to be indexed may contain the match.
fn said(record: Raw) -> String {
    match record {
        Raw::Message(message) => message.text,
        Raw::Call(call) => search_text::all_of_call(&call),
    }
}

fn events(service: &Service, selected: &Doomed) -> Result<u64, Error> {
    let Some(reader) = catalogue_cache::open(&service.history()) else { return Ok(0) };
    let mut events = 0;
    for (source, id) in selected.keys() {
        if let Some(chat) = reader.chat_number(source, id).map_err(store_error)? {
            events += reader.events_of(chat).map_err(store_error)?;
        }
    }
    Ok(events)
}
