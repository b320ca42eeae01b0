//! Takes conversations out of everything Loci keeps, for good: archive, catalogue and index, so that not a byte of them
//! is left there; a tombstone keeps them out. The agents' own histories stay as they are.
//!
//! Does not ask whether it is meant: that is the door's.

use super::records::BOTH;
use super::resolve_ids::chat_id;
use crate::Service;
use api::resolve_ids::ChatId;
use api::maintenance::{ForgetRequest, Forgotten};
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

/// Which sessions, by source and id.
type Doomed = BTreeMap<(String, String), ChatId>;

impl Handle<ForgetRequest> for Service {
    fn handle(&self, ask: &ForgetRequest) -> Result<Forgotten, Error> {
        forget(self, ask)
    }
}

fn forget(service: &Service, ask: &ForgetRequest) -> Result<Forgotten, Error> {
    ask.check()?;
    let home = service.home().ok_or_else(homeless)?;
    // What is not known cannot be found to be forgotten.
    let lock = Lock::take(&home)?;
    ingest::catch_up_locked(&service.history(), &home, &lock, false)?;
    let (doomed, unread) = doomed(service, ask)?;
    let mut forgotten = Forgotten {
        chats: doomed.values().cloned().collect(),
        events: events(service, &doomed)?,
        dry_run: ask.dry_run,
        unread,
        ..Forgotten::default()
    };
    if ask.dry_run || doomed.is_empty() {
        return Ok(forgotten);
    }
    let before = super::index::size(&home.data) + super::index::size(&home.cache);
    // First of all: from here on it stays out, however often this is interrupted.
    let mut tombstones = Tombstones::read(Some(&home));
    let added = tombstones.add(&home, doomed.keys().cloned());
    added.map_err(|error| home::unwritable(&home.tombstones(), &error))?;
    forgotten.archive_files = ingest::forget(&service.history(), &home, &lock, &|source, id| {
        doomed.contains_key(&(source.to_string(), id.to_string()))
    })?;
    let after = super::index::size(&home.data) + super::index::size(&home.cache);
    forgotten.bytes = before.saturating_sub(after);
    Ok(forgotten)
}

/// Which are meant, and how much could not be searched for them.
fn doomed(service: &Service, ask: &ForgetRequest) -> Result<(Doomed, u64), Error> {
    let reader = catalogue_cache::open(&service.history()).ok_or_else(homeless)?;
    let (mut doomed, mut unread) = (Doomed::new(), 0);
    for prefix in &ask.chat_ids {
        let session = called(&reader, prefix.trim())?;
        doomed.insert(name(&session), chat_id(&session));
    }
    if let Some(project) = &ask.project {
        let project = scope::real(&service.cwd.join(project));
        for facts in reader.facts(|_| true).map_err(store_error)?.values() {
            let held = facts.sessions.iter().filter(|session| session.is_of(&project));
            doomed.extend(held.map(|session| (name(session), chat_id(session))));
        }
    }
    if let Some(text) = &ask.matching {
        let held = holding(service, text)?;
        doomed.extend(held.sessions.iter().map(|session| (name(session), chat_id(session))));
        unread = held.unread;
    }
    let gone = Tombstones::read(service.home().as_ref());
    doomed.retain(|(source, id), _| !gone.holds(source, id));
    Ok((doomed, unread))
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
            let message = format!("no conversation has an id that begins with `{prefix}`");
            return Err(Error::new(Code::SessionNotFound, message).hint("`loci sessions` lists them"));
        }
        _ => {
            let ids = found.iter().map(|one| one.id.as_str());
            return Err(resolve_session::one_of(prefix, "conversations", ids));
        }
    };
    let sessions = reader.chat(found).map_err(store_error)?;
    let session = sessions.into_iter().next().map(|chat| chat.session);
    session.ok_or_else(|| Error::new(Code::SessionNotFound, format!("`{prefix}` has gone meanwhile")))
}

struct Held {
    sessions: Vec<Session>,
    /// Records, lines and transcripts that could not be read: the text may stand there too.
    unread: u64,
}

/// Sessions in which a text stands, whatever its case. Everything is read, and as it stands in the transcripts: it may
/// be a secret that is to be forgotten.
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
            Ok(said) if said.to_lowercase().contains(&wanted) => {
                held.insert(name(session), session.clone());
            }
            Ok(_) => {}
            Err(_) => unread += 1,
        }
    }
    Ok(Held { sessions: held.into_values().collect(), unread })
}

/// All of it: what is too long to be indexed whole may hold what is to be forgotten.
fn said(record: Raw) -> String {
    match record {
        Raw::Message(message) => message.text,
        Raw::Call(call) => search_text::all_of_call(&call),
    }
}

fn events(service: &Service, doomed: &Doomed) -> Result<u64, Error> {
    let Some(reader) = catalogue_cache::open(&service.history()) else { return Ok(0) };
    let mut events = 0;
    for (source, id) in doomed.keys() {
        if let Some(chat) = reader.chat_number(source, id).map_err(store_error)? {
            events += reader.events_of(chat).map_err(store_error)?;
        }
    }
    Ok(events)
}
