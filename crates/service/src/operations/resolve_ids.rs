//! Looks up sessions and messages by ID prefix.
//!
//! Does not choose among several matches.

use crate::Service;
use crate::session_names::SessionNames;
use api::resolve_ids::{ChatId, MessageId, ResolveIds, Resolved};
use api::search::stamp_to_ms;
use api::{Error, Handle, Request};
use catalogue::{Candidate, Reader, split_event_id};
use history::error::store_error;
use history::{catalogue_cache, freshness, ingest, transcripts};
use record::{RowKind, Session};

/// Maximum number of matches listed: a longer list is of no use.
const MAX_LISTED: u32 = 50;

impl Handle<ResolveIds> for Service {
    fn handle(&self, request: &ResolveIds) -> Result<Resolved, Error> {
        request.check_params()?;
        if let Some(resolved) = resolve_in_catalogue(self, request, freshness::was_completed)? {
            return Ok(resolved);
        }
        // The ID may be in the unindexed tail. If the catalogue cannot be updated, the existing one is all there is.
        let _ = ingest::catch_up_or_wait(&self.history());
        Ok(resolve_in_catalogue(self, request, |_| true)?
            .unwrap_or_else(|| Resolved::new(Vec::new(), Vec::new())))
    }
}

/// `None`: no match, or `will_do` rejected the catalogue.
fn resolve_in_catalogue(
    service: &Service,
    request: &ResolveIds,
    will_do: impl Fn(&Reader) -> bool,
) -> Result<Option<Resolved>, Error> {
    let Some(reader) = catalogue_cache::open_catalogue(&service.history()).filter(will_do) else {
        return Ok(None);
    };
    let trimmed = |prefix: &Option<String>| prefix.as_deref().map(|prefix| prefix.trim().to_string());
    let (mut chats, mut messages, names) = (Vec::new(), Vec::new(), SessionNames::load(service));
    if let Some(prefix) = trimmed(&request.chat_id_prefix) {
        for found in reader.sessions_with_prefix(&prefix, MAX_LISTED + 1).map_err(store_error)? {
            chats.extend(main_session(&reader, found.chat)?.map(|session| to_chat_id(&session, &names)));
        }
    }
    if let Some(prefix) = trimmed(&request.message_id_prefix) {
        for found in reader.messages_with_prefix(&prefix, fetch_limit(&prefix)).map_err(store_error)? {
            messages.extend(read_message_id(service, &reader, &found, &prefix)?);
            if messages.len() > MAX_LISTED as usize {
                break;
            }
        }
    }
    let more = truncate_to_limit(&mut chats) | truncate_to_limit(&mut messages);
    let found = !chats.is_empty() || !messages.is_empty();
    Ok(found.then(|| Resolved { more, ..Resolved::new(chats, messages) }))
}

/// How many messages to fetch. The catalogue stores only the head of long IDs, so a longer prefix needs all candidates.
fn fetch_limit(prefix: &str) -> u32 {
    if prefix.len() > catalogue::ID_HEAD_LEN { u32::MAX } else { MAX_LISTED + 1 }
}

/// Truncates to the limit and returns whether there are more: one more than the limit was fetched.
fn truncate_to_limit<T>(found: &mut Vec<T>) -> bool {
    let more = found.len() > MAX_LISTED as usize;
    found.truncate(MAX_LISTED as usize);
    more
}

fn main_session(reader: &Reader, chat: u32) -> Result<Option<Session>, Error> {
    let sessions = reader.sessions_of_chat(chat).map_err(store_error)?;
    Ok(sessions.into_iter().next().map(|chat| chat.session))
}

pub(crate) fn to_chat_id(session: &Session, names: &SessionNames) -> ChatId {
    let project = session.directory();
    ChatId {
        chat_id: session.session_id.to_string(),
        title: names.title(session),
        source: session.source.to_string(),
        project: (!project.is_empty()).then(|| project.to_string()),
    }
}

/// Reads the full message ID from the transcript: the catalogue stores only its head.
fn read_message_id(
    service: &Service,
    reader: &Reader,
    found: &Candidate,
    prefix: &str,
) -> Result<Option<MessageId>, Error> {
    let Some(event) = found.event else { return Ok(None) };
    let known = reader.events_by_id(&[event]).map_err(store_error)?.pop();
    let Some((_, row)) = known else { return Ok(None) };
    let stored = reader.file_by_id(split_event_id(event).0).map_err(store_error)?;
    let transcript = stored.and_then(|stored| transcripts::as_readable(&service.history(), &stored));
    let whole =
        transcript.and_then(|transcript| service.history().read_text(&transcript, &row)).map(|(id, _)| id);
    let id = whole.filter(|id| id.starts_with(&found.id)).unwrap_or_else(|| found.id.clone());
    if !id.starts_with(prefix) {
        return Ok(None);
    }
    let Some(session) = main_session(reader, found.chat)? else { return Ok(None) };
    let role =
        (row.row == RowKind::Message).then(|| history::to_record::role_of(row.kind()).as_str().to_string());
    Ok(Some(MessageId {
        message_id: id,
        chat_id: session.session_id.to_string(),
        role,
        created_at: stamp_to_ms(row.at),
    }))
}
