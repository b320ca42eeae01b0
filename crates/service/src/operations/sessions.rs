//! Lists sessions from the catalogue, newest first.
//!
//! Checks only a handful of the newest transcripts for changes, so that the cost does not depend on the size of the history.
//! While another process writes, new transcripts are read with the request.
//! Does not know about an older session that was resumed just now: the next search indexes it.

use crate::Service;
use crate::session_names::SessionNames;
use api::search::TimeRange;
use api::sessions::{ListSessions, SessionLine, Sessions};
use api::{Error, Handle, Request};
use catalogue::{ListedKeys, ListedSession, Reader, SessionFilter};
use exchange::{OriginFilter, Origins};
use history::error::store_error;
use history::freshness::CAUGHT_UP;
use history::projects::Projects;
use history::{lost_places, scan, scope, snapshot};
use record::Session;

impl Handle<ListSessions> for Service {
    fn handle(&self, request: &ListSessions) -> Result<Sessions, Error> {
        request.check_params()?;
        request.source.iter().try_for_each(|name| scope::check_source(name))?;
        let snapshot::CurrentCatalogue { reader, is_current } = snapshot::open_current(&self.history())?;
        let folders = request.project.as_ref().map(|named| scope::find_project(&self.history(), named));
        let folders = folders.unwrap_or_default();
        let moment = |text: &Option<String>, until: bool| {
            let text = text.as_deref()?;
            if until { self.clock.parse_end_time(text) } else { self.clock.parse_time(text) }
        };
        let home = self.home();
        let origins = Origins::load(home.as_ref());
        let of_device = origins.select(request.device.as_deref(), request.mine)?;
        let keys = of_device.as_ref().map(OriginFilter::to_list);
        let listed = SessionFilter {
            sources: &request.source,
            folders: &folders,
            since: moment(&request.since, false).map(|at| at.0),
            until: moment(&request.until, true).map(|at| at.0),
            limit: request.limit,
            offset: request.offset,
            oldest_first: request.reverse,
            listed: keys
                .as_ref()
                .map(|(keys, is_excluding)| ListedKeys { keys, is_excluding: *is_excluding }),
        };
        let (new, is_complete) = if is_current {
            (Vec::new(), true)
        } else {
            snapshot::survey_new_sessions(&self.history(), &reader)?
        };
        let is_of_device = |session: &Session| {
            of_device.as_ref().is_none_or(|filter| filter.contains(session.source, &session.session_id))
        };
        let is_new = |session: &Session| is_listed(session, &listed) && is_of_device(session);
        let new: Vec<Session> = new.into_iter().filter(is_new).collect();
        let total = reader.count_sessions(&listed).map_err(store_error)?;
        let (chats, added) = newest_sessions(&reader, &listed, new)?;
        let as_of = reader.meta_value(CAUGHT_UP).map_err(store_error)?;
        let named =
            Named { names: SessionNames::load(self), projects: Projects::load(&self.history()), origins };
        let mut notes = if chats.is_empty() { explain_empty(self, request, &reader)? } else { Vec::new() };
        if !is_complete {
            notes.push("another process is updating the index; new sessions may be missing".to_string());
        }
        let lost = lost_places::count_lost_places(&reader, &folders)?;
        notes.extend(lost_places::describe_lost_places(lost));
        Ok(Sessions {
            partial: lost > 0,
            sessions: chats.iter().map(|chat| session_line(chat, is_gone(&reader, chat), &named)).collect(),
            total: total + added,
            as_of,
            notes,
        })
    }
}

/// The requested page of the catalogue's sessions and the new ones, and how many of all those are new.
fn newest_sessions(
    reader: &Reader,
    listed: &SessionFilter<'_>,
    new: Vec<Session>,
) -> Result<(Vec<ListedSession>, u64), Error> {
    if new.is_empty() {
        return Ok((reader.newest_sessions(listed).map_err(store_error)?, 0));
    }
    let (limit, offset) = (listed.limit as usize, listed.offset as usize);
    let from_start =
        SessionFilter { offset: 0, limit: listed.limit.saturating_add(listed.offset), ..*listed };
    let mut all = reader.newest_sessions(&from_start).map_err(store_error)?;
    let is_known = |session: &Session, all: &[ListedSession]| {
        all.iter().any(|known| {
            (known.session.source, &known.session.session_id) == (session.source, &session.session_id)
        })
    };
    let added: Vec<Session> = new.into_iter().filter(|session| !is_known(session, &all)).collect();
    let number = added.len() as u64;
    all.extend(added.into_iter().map(|session| ListedSession {
        id: u32::MAX,
        number: u32::MAX,
        file: u32::MAX,
        gone: false,
        session,
    }));
    all.sort_by(|a, b| {
        let key = |one: &ListedSession| (one.session.ended_at, one.session.session_id.clone());
        key(b).cmp(&key(a))
    });
    if listed.oldest_first {
        all.reverse();
    }
    Ok((all.into_iter().skip(offset).take(limit).collect(), number))
}

/// Whether a session passes the filter, as the catalogue decides it.
fn is_listed(session: &Session, filter: &SessionFilter<'_>) -> bool {
    (filter.sources.is_empty() || filter.sources.iter().any(|name| name == session.source))
        && (filter.folders.is_empty() || scope::is_within_any(session, filter.folders))
        && filter.since.is_none_or(|since| session.ended_at.0 >= since)
        && filter.until.is_none_or(|until| session.started_at.0 <= until)
}

fn explain_empty(service: &Service, request: &ListSessions, reader: &Reader) -> Result<Vec<String>, Error> {
    let (files, ..) = reader.count_totals().map_err(store_error)?;
    if files == 0 {
        return Ok(vec![scan::no_history_note(&service.history())]);
    }
    Ok(request
        .project
        .as_deref()
        .and_then(|named| scope::missing_project_note(&service.history(), named))
        .into_iter()
        .collect())
}

/// A deleted transcript may have been restored since the catalogue was written.
fn is_gone(reader: &Reader, chat: &ListedSession) -> bool {
    let back = |stored: catalogue::StoredFile| stored.part.is_none() && stored.path.exists();
    chat.gone && !reader.file_by_id(chat.file).ok().flatten().is_some_and(back)
}

/// What is known of sessions besides the catalogue.
struct Named {
    names: SessionNames,
    projects: Projects,
    origins: Origins,
}

fn session_line(chat: &ListedSession, gone: bool, named: &Named) -> SessionLine {
    let session = &chat.session;
    let project = session.directory();
    let device = named.origins.listed_device(chat.gone, session.source, &session.session_id);
    // The path of another device may exist here as well, as that of something else.
    let gone = gone || chat.gone && device.is_some();
    SessionLine {
        chat_id: session.session_id.to_string(),
        title: named.names.title(session),
        source: session.source.to_string(),
        project: (!project.is_empty()).then(|| project.to_string()),
        time_range: TimeRange::new(session.started_at, session.ended_at),
        turns: u64::from(session.turns),
        tool_calls: u64::from(session.tool_calls),
        errors: u64::from(session.errors),
        models: session.models.iter().map(ToString::to_string).collect(),
        resume: api::resume_command(
            session.source,
            &named.projects.present_folder(project),
            &session.session_id,
        )
        .filter(|_| !gone),
        archived: gone && device.is_none(),
        device,
    }
}
