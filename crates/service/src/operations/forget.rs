//! Deletes sessions permanently from the archive, the catalogue and the index, leaving no byte behind. A tombstone keeps
//! them from being indexed again. The agents' own transcripts are not modified.
//!
//! Does not ask for confirmation: that is up to the interface.

use super::resolve_ids::to_chat_id;
use crate::Service;
use crate::session_names::SessionNames;
use api::maintenance::{ForgetRequest, Forgotten};
use api::resolve_ids::ChatId;
use api::{Code, Error, Handle, Request, ViewRequest};
use catalogue::Reader;
use history::error::{no_home, read_error, store_error};
use history::home::{Home, Lock};
use history::masked_read::{self, RawRecord};
use history::scan::{by_time, scan_rows};
use history::tombstones::Tombstones;
use history::{catalogue_cache, home, ingest, resolve_session, saved_results, scope, search_text};
use record::Session;
use sources::archive::{ArchivedTranscript, Store};
use std::collections::BTreeMap;
use views::BOTH;

/// The sessions to delete, by source and ID.
type SelectedSessions = BTreeMap<(String, String), ChatId>;

impl Handle<ForgetRequest> for Service {
    fn handle(&self, request: &ForgetRequest) -> Result<Forgotten, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        // Index the unindexed tail first: a session that is not in the catalogue cannot be found.
        let lock = Lock::acquire(&home)?;
        ingest::catch_up_locked(&self.history(), &home, &lock, false)?;
        let (selected, unread) = select_sessions(self, request)?;
        let mut forgotten = Forgotten {
            chats: selected.values().cloned().collect(),
            events: count_events(self, &selected)?,
            archive_files: count_copies(&home, &selected),
            saved_results: if selected.is_empty() { 0 } else { saved_results::count_all(&home)? },
            dry_run: request.dry_run,
            unread,
            ..Forgotten::default()
        };
        if request.dry_run || selected.is_empty() {
            return Ok(forgotten);
        }
        let before = super::index::size_of_path(&home.data) + super::index::size_of_path(&home.cache);
        // Write the tombstones first: from here on an interruption cannot bring the sessions back.
        let mut tombstones = Tombstones::read(Some(&home))?;
        let added = tombstones.add(&home, selected.keys().cloned());
        added.map_err(|error| home::unwritable(&home.tombstones(), &error))?;
        forgotten.archive_files = ingest::forget_sessions(&self.history(), &home, &lock, &|source, id| {
            selected.contains_key(&(source.to_string(), id.to_string()))
        })?;
        let sessions = selected.keys().map(|(source, id)| (source.as_str(), id.as_str()));
        history::import::forget_imported(&home, sessions);
        let after = super::index::size_of_path(&home.data) + super::index::size_of_path(&home.cache);
        forgotten.bytes = before.saturating_sub(after);
        Ok(forgotten)
    }
}

/// Returns the sessions that the request selects, and how many records could not be searched.
fn select_sessions(service: &Service, request: &ForgetRequest) -> Result<(SelectedSessions, u64), Error> {
    let reader = catalogue_cache::open_catalogue(&service.history()).ok_or_else(no_home)?;
    let (mut selected, mut unread, names) = (SelectedSessions::new(), 0, SessionNames::load(service));
    let entry = |session: &Session| (session_key(session), to_chat_id(session, &names));
    for prefix in &request.chat_ids {
        let session = find_by_prefix(&reader, prefix.trim())?;
        selected.extend([entry(&session)]);
    }
    if let Some(project) = &request.project {
        let project = scope::canonical_path(&service.cwd.join(project));
        for facts in reader.file_states(|_| true).map_err(store_error)?.values() {
            let held = facts.sessions.iter().filter(|session| session.is_within(&project));
            selected.extend(held.map(entry));
        }
    }
    if let Some(text) = &request.matching {
        let held = find_containing(service, text)?;
        selected.extend(held.sessions.iter().map(entry));
        unread = held.unread;
    }
    let gone = Tombstones::read(service.home().as_ref())?;
    selected.retain(|(source, id), _| !gone.contains(source, id));
    Ok((selected, unread))
}

fn session_key(session: &Session) -> (String, String) {
    (session.source.to_string(), session.session_id.to_string())
}

fn find_by_prefix(reader: &Reader, prefix: &str) -> Result<Session, Error> {
    let found = reader.sessions_with_prefix(prefix, u32::MAX).map_err(store_error)?;
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
            return Err(resolve_session::ambiguous_id(prefix, "conversations", ids));
        }
    };
    let sessions = reader.sessions_of_chat(found).map_err(store_error)?;
    let session = sessions.into_iter().next().map(|chat| chat.session);
    session.ok_or_else(|| Error::new(Code::SessionNotFound, format!("`{prefix}` no longer exists")))
}

struct MatchingSessions {
    sessions: Vec<Session>,
    /// Records, lines and transcripts that could not be read and may contain the text as well.
    unread: u64,
}

/// Finds the sessions that contain a text, ignoring case. Reads all records unmasked, because the text to forget may be a
/// secret.
fn find_containing(service: &Service, text: &str) -> Result<MatchingSessions, Error> {
    let wanted = text.to_lowercase();
    let everything = ViewRequest { all_projects: true, ..ViewRequest::default() };
    let (library, rows) = scan_rows(&service.history(), &everything, BOTH, by_time, |_, _| true)?;
    let (mut held, mut unread) = (BTreeMap::new(), library.outcome.count_lost() as u64);
    for row in rows {
        let row = row.map_err(read_error)?;
        let session = library.session(&row);
        if held.contains_key(&session_key(session)) {
            continue;
        }
        match masked_read::read_raw(&library, &row).map(record_text) {
            Ok(text) if text.to_lowercase().contains(&wanted) => {
                held.insert(session_key(session), session.clone());
            }
            Ok(_) => {}
            Err(_) => unread += 1,
        }
    }
    Ok(MatchingSessions { sessions: held.into_values().collect(), unread })
}

/// Returns the full text of a record: the part that is too long to be indexed may contain the match.
fn record_text(record: RawRecord) -> String {
    match record {
        RawRecord::Message(message) => message.text,
        RawRecord::Call(call) => search_text::full_call_text(&call),
    }
}

/// The archived transcripts that contain any of the sessions.
fn count_copies(home: &Home, selected: &SelectedSessions) -> u64 {
    let is_selected = |copy: &ArchivedTranscript, session: &Session| {
        selected.contains_key(&(copy.source.clone(), session.session_id.to_string()))
    };
    let mut copies = 0;
    Store::new(home.archive()).for_each_archived(&mut |found| {
        let is_one = found.is_ok_and(|copy| copy.sessions.iter().any(|s| is_selected(&copy, s)));
        copies += u64::from(is_one);
    });
    copies
}

fn count_events(service: &Service, selected: &SelectedSessions) -> Result<u64, Error> {
    let Some(reader) = catalogue_cache::open_catalogue(&service.history()) else { return Ok(0) };
    let mut events = 0;
    for (source, id) in selected.keys() {
        if let Some(chat) = reader.find_chat(source, id).map_err(store_error)? {
            events += reader.count_events(chat).map_err(store_error)?;
        }
    }
    Ok(events)
}
