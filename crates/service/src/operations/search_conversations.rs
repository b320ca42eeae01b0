//! Searches sessions by meaning and words.
//!
//! Queries the index together with the unindexed tail; the hits are read again from the transcripts for snippets. Does not
//! know how sessions are ranked.

use crate::Service;
use crate::session_names::{NamedSession, SessionNames};
use api::search::{
    ChatFound, Expand, Match, Mode, Origin, Part as Wanted, Precision, SearchConversations, SearchFound,
    Snippet, Status, TimeRange, stamp_to_ms,
};
use api::{Error, Handle, Request};
use catalogue::{ListedSession, Reader, split_event_id};
use exchange::Origins;
use history::error::{index_error, store_error};
use history::projects::Projects;
use history::to_record::role_of;
use history::unindexed::Unindexed;
use history::{SnapshotLease, lost_places, open_snapshot};
use history::{event_ids, scan, scope, transcripts};
use record::{Row, RowKind, Session, Stamp};
use render::{Render, RenderOptions};
use rustc_hash::{FxHashMap, FxHashSet};
use search::{ChatHit, EventHit, Parts, Query, Scope, Terms, fold_text, quoted_phrases};
use sources::Transcript;
use std::cell::RefCell;

/// How many hits with duplicate text are skipped per session.
const MAX_DUPLICATES: usize = 16;
/// How many sessions are ordered by what memory knows of them, and how much more a session of the caller's project counts.
const RANKED: usize = 10;
const HERE: f32 = 1.15;
/// How many sessions, and messages of each, are read for a quoted phrase.
const QUOTED: usize = 64;
/// A replacement goes first if it scores at least this share of what it replaced.
const CLOSE: f32 = 0.4;
/// What remains of the confidence if only similar words were found.
const SIMILAR: f32 = 0.65;

const INDEX_UPDATING: &str = "the index is being updated; messages that are not indexed yet are missing";

impl Handle<SearchConversations> for Service {
    fn handle(&self, request: &SearchConversations) -> Result<SearchFound, Error> {
        request.check_params()?;
        let searched = SearchSnapshot::open(self)?;
        let mut found =
            SearchFound { status: Status::Ok, notes: searched.notes.clone(), ..SearchFound::default() };
        let lost = searched.count_lost_places(request)?;
        found.notes.extend(lost_places::describe_lost_places(lost));
        found.partial = lost > 0 || searched.unfinished;
        let hits = searched.find(request)?;
        // Four digits: the score is no more precise, and every JSON parser round-trips them.
        found.confidence = (f64::from(hits.confidence) * 10_000.0).round() / 10_000.0;
        found.as_of = Some(self.clock.now().0);
        found.total_chats = hits.total_chats as u64;
        for chat in &hits.chats {
            found.results.extend(searched.chat_result(chat, &hits.terms, request)?);
        }
        if !hits.chats.is_empty() {
            let notes = hits.corrected.iter().map(|(typed, forms)| describe_correction(&found, typed, forms));
            found.notes.extend(notes.collect::<Vec<_>>());
        }
        if searched.unread.take() > 0 {
            found.partial = true;
        }
        if found.results.is_empty() && !searched.no_history {
            found.notes.extend(
                request
                    .project
                    .as_deref()
                    .and_then(|named| scope::missing_project_note(&self.history(), named)),
            );
        }
        let mut found = found.with_guidance(request, hits.expanded);
        if let Some(guidance) = found.guidance.as_mut().filter(|_| searched.no_history) {
            // Without any history, other words find nothing either.
            guidance.next_actions.clear();
        }
        if request.response_mode == Mode::Text {
            let options = RenderOptions::plain(self.clock, &self.places.home.to_string_lossy());
            found.text = Some(found.render(&options));
        }
        Ok(found)
    }
}

/// What was searched in place of a word that occurs nowhere, as the results write it.
fn describe_correction(found: &SearchFound, typed: &str, forms: &[String]) -> String {
    let written = |form: &String| {
        let mut texts = found.results.iter().flat_map(|chat| &chat.snippets).map(|snippet| &snippet.text);
        texts.find_map(|text| search::find_written(text, form)).unwrap_or(form).to_lowercase()
    };
    match forms.iter().map(written).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => format!("`{typed}` occurs in no session"),
        words => format!("`{typed}` occurs in no session; searched for {words}"),
    }
}

/// A row, its id and its text.
type EventText = (Row, String, String);

/// A snapshot of the history, ready to be searched.
struct SearchSnapshot<'s> {
    service: &'s Service,
    snapshot: SnapshotLease<'s>,
    unindexed: Unindexed,
    notes: Vec<String>,
    /// Open transcripts, by catalogue file number.
    files: RefCell<FxHashMap<u32, Option<Transcript>>>,
    unread: RefCell<u64>,
    /// Texts read for ranking, cached for the snippets.
    texts: RefCell<FxHashMap<u64, Option<EventText>>>,
    names: SessionNames,
    projects: Projects,
    origins: Origins,
    /// Another process is building the index for the first time, so results are incomplete.
    unfinished: bool,
    /// There is no history to search.
    no_history: bool,
}

impl<'s> SearchSnapshot<'s> {
    fn open(service: &'s Service) -> Result<SearchSnapshot<'s>, Error> {
        let history = service.history();
        let snapshot = open_snapshot(&history)?;
        let unindexed = snapshot.read_unindexed(&history)?;
        // While another process writes, readers see the state before or after the commit. Only for an index that was never
        // complete is it unknown what is missing.
        let (behind, unfinished) = (snapshot.index.is_some() && snapshot.behind, !snapshot.is_whole());
        let mut searched = SearchSnapshot {
            service,
            unindexed,
            notes: Vec::new(),
            files: RefCell::default(),
            unread: RefCell::default(),
            texts: RefCell::default(),
            names: SessionNames::load(service),
            projects: Projects::load(&history),
            origins: Origins::load(service.home().as_ref()),
            unfinished: (behind && unfinished) || snapshot.is_partial,
            no_history: false,
            snapshot,
        };
        if behind {
            searched.notes.push(INDEX_UPDATING.to_string());
        }
        if searched.snapshot.found.transcripts.is_empty() {
            searched.notes.push(scan::no_history_note(&history));
            searched.no_history = true;
        }
        let problems = searched.snapshot.found.problems.iter();
        searched.notes.extend(problems.map(|p| format!("{}: {}", p.file.display(), p.note)));
        Ok(searched)
    }

    /// Places in the transcripts that are searched which could not be read, now or when they were indexed.
    fn count_lost_places(&self, request: &SearchConversations) -> Result<u64, Error> {
        let history = self.service.history();
        let folders = request.project.as_deref().map(|named| scope::find_project(&history, named));
        let indexed = self
            .reader()
            .map_or(Ok(0), |reader| lost_places::count_lost_places(reader, &folders.unwrap_or_default()))?;
        let unlisted = self.snapshot.found.problems.iter().filter(|problem| problem.kind.is_loss());
        Ok(indexed + self.unindexed.lost + unlisted.count() as u64)
    }

    /// The catalogue, if the text index belongs to it.
    fn reader(&self) -> Option<&Reader> {
        self.snapshot.reader.as_ref().filter(|_| self.snapshot.index.is_some())
    }

    fn find(&self, request: &SearchConversations) -> Result<search::SearchResult, Error> {
        let (from, to) = request.time_window.bounds(self.service.clock)?;
        let allowed = self.allowed_sessions(request)?;
        let may = |chat: u32| allowed.is_allowed(chat);
        let text = |event: u64| self.event_text(event).map(|(_, _, text)| text);
        let named = self.names.find_named(&request.intent_query.0, self.reader());
        let phrases: Vec<String> =
            request.intent_query.0.iter().flat_map(|intent| quoted_phrases(intent)).collect();
        let is_literal = !phrases.is_empty() || !request.exclude_terms.is_empty();
        let query = Query {
            intents: request.intent_query.0.clone(),
            correct: !is_literal,
            match_all: request.matching == Match::All,
            fuzzy: request.precision_mode == Precision::Fuzzy,
            expand: request.expand == Expand::Auto,
            exclude: request.exclude_terms.clone(),
            skip_common: false,
            scope: match request.scope {
                // A title has no role.
                Wanted::Both if !request.role_filter.is_empty() => Scope::Content,
                Wanted::Both => Scope::Both,
                Wanted::Content => Scope::Content,
                Wanted::Title => Scope::Title,
            },
            parts: searched_parts(request),
            from: (from.0 != i64::MIN).then_some(from.0),
            to: (to.0 != i64::MAX).then_some(to.0),
            replaced: Some(&|event| self.unindexed.replaces(event)),
            allowed: allowed.is_restricted().then_some(&may),
            limit_chats: (request.limit_chats as usize).max(if phrases.is_empty() { RANKED } else { QUOTED }),
            limit_hits_per_chat: usize::MAX,
            text: Some(&text),
        };
        let mut docs = self.unindexed.to_docs();
        docs.extend(named.iter().map(NamedSession::to_doc));
        let run = |query: &Query| match &self.snapshot.index {
            Some(index) => index.find(query, &docs),
            None => search::find_among(query, &docs),
        };
        let mut found = run(&query).map_err(|error| index_error(&error))?;
        if found.chats.is_empty() && !query.fuzzy && !is_literal {
            // A misspelt word finds nothing; what similar words find is less certain. Quotes ask for exactly this.
            found = run(&Query { fuzzy: true, ..query }).map_err(|error| index_error(&error))?;
            found.confidence *= SIMILAR;
        } else if !found.corrected.is_empty() {
            found.confidence *= SIMILAR;
        }
        if !phrases.is_empty() {
            found.chats.retain(|chat| self.contains_phrase(chat, &phrases));
            found.total_chats = found.chats.len();
        }
        self.rank_by_memory(&mut found.chats, request);
        found.chats.truncate(request.limit_chats as usize);
        Ok(found)
    }

    /// Whether a message of the chat contains one of the phrases as it was quoted.
    fn contains_phrase(&self, chat: &ChatHit, phrases: &[String]) -> bool {
        let texts = chat.events.iter().take(QUOTED).filter_map(|event| self.event_text(event.event));
        texts
            .map(|(_, _, text)| fold_text(&text))
            .any(|text| phrases.iter().any(|phrase| text.contains(phrase)))
    }

    /// Orders the best chats by what memory knows of them, and prefers those of the caller's project.
    fn rank_by_memory(&self, chats: &mut Vec<ChatHit>, request: &SearchConversations) {
        let of = |hit: &ChatHit| -> Option<Session> {
            let known = self.reader().and_then(|reader| reader.sessions_of_chat(hit.chat).ok());
            let known = known.and_then(|known| Some(known.into_iter().next()?.session));
            known.or_else(|| self.unindexed.sessions.get(&hit.chat).cloned())
        };
        let sessions: Vec<Option<Session>> = chats.iter().take(RANKED).map(of).collect();
        let name = |session: &Option<Session>| {
            session
                .as_ref()
                .map_or_else(Default::default, |one| (one.source.to_string(), one.session_id.to_string()))
        };
        let names: Vec<_> = sessions.iter().map(name).collect();
        let project = Some(&self.service.cwd).filter(|cwd| request.project.is_none() && cwd.is_absolute());
        let project =
            project.map(|cwd| scope::project_folders(&self.service.history(), cwd)).unwrap_or_default();
        let is_here = |session: &Session| scope::is_within_any(session, &project);
        let standing = self.names.standing(&request.intent_query.0.join(" "), &names);
        let weigh = |at: usize| {
            let here = sessions[at].as_ref().is_some_and(is_here);
            let factor = standing.as_ref().map_or(1.0, |standing| standing.factors[at]);
            chats[at].score * factor * if here { HERE } else { 1.0 }
        };
        let mut order: Vec<usize> = (0..sessions.len()).collect();
        order.sort_by(|a, b| weigh(*b).total_cmp(&weigh(*a)).then(a.cmp(b)));
        if let Some(standing) = &standing {
            let is_close = |(old, new): &&(usize, usize)| weigh(*new) >= CLOSE * weigh(*old);
            let replaced: Vec<_> = standing.replaced.iter().filter(is_close).copied().collect();
            memory::order_replacements(&mut order, &replaced);
        }
        let rest = chats.split_off(sessions.len());
        *chats = order.into_iter().map(|at| chats[at].clone()).chain(rest).collect();
    }

    // ---- which sessions may be found

    fn allowed_sessions(&self, request: &SearchConversations) -> Result<Allowed, Error> {
        let mut allowed = Allowed::default();
        if !request.include_own
            && let Some(own) = self.service.own_session()
        {
            allowed.without.extend(self.chats_with_id(&own)?);
        }
        let of_device = self.origins.select(request.device.as_deref(), request.mine)?;
        if request.source.is_empty() && request.project.is_none() && of_device.is_none() {
            return Ok(allowed);
        }
        for name in &request.source {
            scope::check_source(name)?;
        }
        let project =
            request.project.as_ref().map(|named| scope::find_project(&self.service.history(), named));
        let holds = |session: &Session| {
            (request.source.is_empty() || request.source.iter().any(|name| name == session.source))
                && project.as_ref().is_none_or(|folders| scope::is_within_any(session, folders))
                && of_device.as_ref().is_none_or(|of| of.contains(session.source, &session.session_id))
        };
        let mut only = FxHashSet::default();
        if let Some(reader) = self.reader() {
            let keep = |_, session, chat| only.extend(holds(&session).then_some(chat));
            reader.for_each_session(|_| true, keep).map_err(store_error)?;
        }
        only.extend(
            self.unindexed.sessions.iter().filter(|(_, session)| holds(session)).map(|(chat, _)| *chat),
        );
        allowed.only = Some(only);
        Ok(allowed)
    }

    fn chats_with_id(&self, id: &str) -> Result<Vec<u32>, Error> {
        let mut chats = Vec::new();
        if let Some(reader) = self.reader() {
            let called = reader.sessions_with_prefix(id, 8).map_err(store_error)?;
            chats.extend(called.into_iter().filter(|c| c.id == id).map(|c| c.chat));
        }
        chats.extend(
            self.unindexed.sessions.iter().filter(|(_, s)| *s.session_id == *id).map(|(chat, _)| *chat),
        );
        Ok(chats)
    }

    // ---- one result

    fn chat_result(
        &self,
        hit: &ChatHit,
        terms: &Terms,
        request: &SearchConversations,
    ) -> Result<Option<ChatFound>, Error> {
        let known = match self.reader() {
            Some(reader) => reader.sessions_of_chat(hit.chat).map_err(store_error)?,
            None => Vec::new(),
        };
        let Some(main) = known.first().map(|chat| &chat.session).or(self.unindexed.sessions.get(&hit.chat))
        else {
            return Ok(None);
        };
        let snippets = self.best_snippets(hit, main, terms, request);
        let project = main.directory();
        let mut parts = known.iter().filter(|chat| chat.session.agent_id.is_none()).peekable();
        let gone = parts.peek().is_some()
            && parts.all(|chat| chat.gone)
            && !self.unindexed.sessions.contains_key(&hit.chat);
        let device = self.origins.listed_device(gone, main.source, &main.session_id);
        Ok(Some(ChatFound {
            chat_id: main.session_id.to_string(),
            title: self.names.title(main),
            hits: hit.hits as u64,
            time_range: time_span(main, &known, hit),
            snippets,
            source: main.source.to_string(),
            project: (!project.is_empty()).then(|| project.to_string()),
            resume: api::resume_command(
                main.source,
                &self.projects.present_folder(project),
                &main.session_id,
            )
            .filter(|_| !gone),
            archived: gone && device.is_none(),
            device,
        }))
    }

    /// The best snippets without duplicates. If a tool result ranks first, the best user message goes before it: people
    /// recognise a session by their own words, although a tool that prints a word ten times matches better.
    fn best_snippets(
        &self,
        hit: &ChatHit,
        main: &Session,
        terms: &Terms,
        request: &SearchConversations,
    ) -> Vec<Snippet> {
        let limit = request.limit_snippets_per_chat as usize;
        let by_tool = hit.events.first().is_some_and(|event| event.part == search::Part::Tool);
        let person = hit.events.iter().find(|event| by_tool && event.part == search::Part::Person);
        let rest = hit.events.iter().filter(|event| person.is_none_or(|person| person.event != event.event));
        let mut shown: Vec<Snippet> = Vec::new();
        for event in person.into_iter().chain(rest).take(limit.saturating_add(MAX_DUPLICATES)) {
            if shown.len() == limit {
                break;
            }
            let snippet = self.make_snippet(event, main, terms, request);
            shown.extend(snippet.filter(|new| shown.iter().all(|old| old.text != new.text)));
        }
        shown
    }

    fn make_snippet(
        &self,
        event: &EventHit,
        main: &Session,
        terms: &Terms,
        request: &SearchConversations,
    ) -> Option<Snippet> {
        let window = request.snippet_window as usize;
        let called = event_ids::is_name_event(event.event).then(|| self.names.name_and_tags(main));
        if called.is_some() || event_ids::title_session(event.event).is_some() {
            let title = called.as_deref().unwrap_or_else(|| main.title_text());
            let cut = search::snippet(title, terms, window);
            let (source, created_at) = (Origin::Title, stamp_to_ms(main.started_at));
            return Some(Snippet { source, created_at, ..to_snippet(&cut) });
        }
        let Some((row, id, text)) = self.event_text(event.event) else {
            *self.unread.borrow_mut() += 1;
            return None;
        };
        let cut = search::snippet(&text, terms, window);
        let source = if row.row == RowKind::Call { Origin::Tool } else { Origin::Content };
        let role = if row.row == RowKind::Call { "assistant" } else { role_of(row.kind()).as_str() };
        Some(Snippet {
            message_id: id,
            role: role.to_string(),
            created_at: stamp_to_ms(row.at),
            source,
            ..to_snippet(&cut)
        })
    }

    /// Row, ID and masked text of an event, cached.
    fn event_text(&self, event: u64) -> Option<EventText> {
        if let Some(known) = self.texts.borrow().get(&event) {
            return known.clone();
        }
        let entry = self.read_event(event);
        self.texts.borrow_mut().insert(event, entry.clone());
        entry
    }

    fn read_event(&self, event: u64) -> Option<EventText> {
        if let Some(item) = self.unindexed.item(event) {
            return Some((item.row, item.id.clone(), item.text().to_string()));
        }
        let reader = self.reader()?;
        if let Some(number) = event_ids::title_session(event) {
            return Some((Row::default(), String::new(), reader.session_title(number).ok()??));
        }
        let (_, row) = reader.events_by_id(&[event]).ok()?.pop()?;
        let transcript = self.open_transcript(split_event_id(event).0)?;
        let (id, text) = self.service.history().read_text(&transcript, &row)?;
        Some((row, id, text))
    }

    fn open_transcript(&self, file: u32) -> Option<Transcript> {
        let mut files = self.files.borrow_mut();
        let slot = files.entry(file).or_insert_with(|| {
            let stored = self.reader()?.file_by_id(file).ok()??;
            transcripts::as_readable(&self.service.history(), &stored)
        });
        slot.clone()
    }
}

/// Time range of a session, including events from the unindexed tail.
fn time_span(main: &Session, known: &[ListedSession], hit: &ChatHit) -> TimeRange {
    let sessions = known.iter().map(|chat| &chat.session).chain([main]);
    let from = sessions.clone().map(|s| s.started_at).filter(|at| at.is_some()).min();
    let unindexed = hit.events.iter().map(|event| Stamp(event.at)).filter(|at| at.0 > 0);
    let to = sessions.map(|s| s.ended_at).chain(unindexed).max();
    TimeRange { from: from.and_then(stamp_to_ms), to: to.and_then(stamp_to_ms) }
}

fn to_snippet(cut: &search::Snippet) -> Snippet {
    let characters = |at: usize| cut.text[..at].chars().count() as u32;
    let highlights = cut.highlights.iter().map(|h| [characters(h.start), characters(h.end)]).collect();
    Snippet { text: cut.text.clone(), highlights, ..Snippet::default() }
}

/// Restricts which sessions may be found.
#[derive(Default)]
struct Allowed {
    only: Option<FxHashSet<u32>>,
    without: FxHashSet<u32>,
}

impl Allowed {
    fn is_restricted(&self) -> bool {
        self.only.is_some() || !self.without.is_empty()
    }

    fn is_allowed(&self, chat: u32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&chat)) && !self.without.contains(&chat)
    }
}

/// The parts of a session to search, from `role_filter`. Tool input and output count as the assistant's.
fn searched_parts(request: &SearchConversations) -> Parts {
    let by = |role: &str| request.role_filter.is_empty() || request.role_filter.iter().any(|r| r == role);
    let tool = request.include_tools_in_search && by("assistant");
    Parts {
        person: by("user"),
        client: by("user"),
        assistant: by("assistant"),
        system: by("system"),
        tool,
        echo: request.include_own && tool,
    }
}
