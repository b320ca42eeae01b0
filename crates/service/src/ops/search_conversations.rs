//! Here is what I have in mind: in which conversations did we talk about it?
//!
//! The index is asked, together with what was said since it was made; what it finds is read again from the transcripts
//! to be quoted. Does not know how conversations are ranked.

use crate::Service;
use crate::session_names::{Named, Names};
use api::search::{
    ChatFound, Expand, Match, Mode, Origin, Part as Wanted, Precision, SearchConversations, SearchFound,
    Snippet, Status, TimeRange, ms,
};
use api::{Code, Error, Handle, Request};
use catalogue::{Chat, Reader, event_place};
use history::error::{index_error, store_error};
use history::snapshot::Snapshot;
use history::to_record::role;
use history::unindexed::Unindexed;
use history::{event_ids, scan, scope, transcripts};
use record::{Row, RowKind, Session, Stamp};
use render::{Render, RenderOptions};
use rustc_hash::{FxHashMap, FxHashSet};
use search::{ChatHit, EventHit, Index, Parts, Query, Scope, Terms};
use sources::Transcript;
use std::cell::RefCell;

/// So many passages that say the same as others are read and passed over.
const ALIKE: usize = 16;

const BEHIND: &str = "the index is being brought up to date: what it has not come to yet is missing here";

impl Handle<SearchConversations> for Service {
    fn handle(&self, ask: &SearchConversations) -> Result<SearchFound, Error> {
        search_conversations(self, ask)
    }
}

fn search_conversations(service: &Service, ask: &SearchConversations) -> Result<SearchFound, Error> {
    ask.check()?;
    let searched = Searched::open(service)?;
    let mut found =
        SearchFound { status: Status::Ok, notes: searched.notes.clone(), ..SearchFound::default() };
    found.partial = searched.unindexed.lost > 0 || searched.unfinished;
    let hits = searched.find(ask)?;
    // No more digits than it is sure of, and than any reader of JSON gives back as they were.
    found.confidence = (f64::from(hits.confidence) * 10_000.0).round() / 10_000.0;
    found.as_of = Some(service.clock.now().0);
    for chat in &hits.chats {
        found.results.extend(searched.chat(chat, &hits.terms, ask)?);
    }
    if searched.unread.take() > 0 {
        found.partial = true;
    }
    if found.results.is_empty() && !searched.nothing {
        found
            .notes
            .extend(ask.project.as_deref().and_then(|named| scope::no_folder(&service.history(), named)));
    }
    let mut found = found.completed(ask, hits.expanded);
    if let Some(guidance) = found.guidance.as_mut().filter(|_| searched.nothing) {
        // Other words find nothing either.
        guidance.next_actions.clear();
    }
    if ask.response_mode == Mode::Text {
        let options = RenderOptions::plain(service.clock, &service.places.home.to_string_lossy());
        found.text = Some(found.render(&options));
    }
    Ok(found)
}

/// A row, its id and its text.
type Said = (Row, String, String);

/// One moment of the history, ready to be searched.
struct Searched<'s> {
    service: &'s Service,
    reader: Option<Reader>,
    index: Option<Index>,
    unindexed: Unindexed,
    notes: Vec<String>,
    /// Transcripts that were opened, by the catalogue's number.
    files: RefCell<FxHashMap<u32, Option<Transcript>>>,
    unread: RefCell<u64>,
    /// What was read to be judged is read again to be quoted.
    texts: RefCell<FxHashMap<u64, Option<Said>>>,
    names: Names,
    /// Another process is making the index for the first time: much cannot be found yet.
    unfinished: bool,
    /// There is no history to search.
    nothing: bool,
}

impl<'s> Searched<'s> {
    fn open(service: &'s Service) -> Result<Searched<'s>, Error> {
        let history = service.history();
        let snapshot = Snapshot::open(&history)?;
        let unindexed = snapshot.read_unindexed(&history)?;
        // While another process writes, an answer is one of before or after. Only of an index that was never whole can
        // it not be said what is missing.
        let (behind, unfinished) = (snapshot.index.is_some() && snapshot.behind, !snapshot.is_whole());
        let has_index = snapshot.index.is_some();
        let mut searched = Searched {
            service,
            reader: snapshot.reader.filter(|_| has_index),
            index: snapshot.index,
            unindexed,
            notes: Vec::new(),
            files: RefCell::default(),
            unread: RefCell::default(),
            texts: RefCell::default(),
            names: Names::of(service),
            unfinished: behind && unfinished,
            nothing: false,
        };
        if behind {
            searched.notes.push(BEHIND.to_string());
        }
        if snapshot.found.transcripts.is_empty() {
            searched.notes.push(scan::nowhere(&history));
            searched.nothing = true;
        }
        let problems = snapshot.found.problems.iter();
        searched.notes.extend(problems.map(|p| format!("{}: {}", p.file.display(), p.note)));
        Ok(searched)
    }

    fn find(&self, ask: &SearchConversations) -> Result<search::Found, Error> {
        let (from, to) = ask.time_window.bounds(self.service.clock)?;
        let allowed = self.allowed(ask)?;
        let may = |chat: u32| allowed.holds(chat);
        let text = |event: u64| self.text(event).map(|(_, _, text)| text);
        let named = self.names.called(&ask.intent_query.0, self.reader.as_ref());
        let query = Query {
            intents: ask.intent_query.0.clone(),
            match_all: ask.matching == Match::All,
            fuzzy: ask.precision_mode == Precision::Fuzzy,
            expand: ask.expand == Expand::Auto,
            exclude: ask.exclude_terms.clone(),
            telling: false,
            scope: match ask.scope {
                // A title is nobody's in particular.
                Wanted::Both if !ask.role_filter.is_empty() => Scope::Content,
                Wanted::Both => Scope::Both,
                Wanted::Content => Scope::Content,
                Wanted::Title => Scope::Title,
            },
            parts: parts(ask),
            from: (from.0 != i64::MIN).then_some(from.0),
            to: (to.0 != i64::MAX).then_some(to.0),
            allowed: allowed.narrows().then_some(&may),
            limit_chats: ask.limit_chats as usize,
            limit_hits_per_chat: usize::MAX,
            text: Some(&text),
        };
        let mut docs = self.unindexed.docs();
        docs.extend(named.iter().map(Named::doc));
        let found = match &self.index {
            Some(index) => index.find(&query, &docs),
            None => search::find_among(&query, &docs),
        };
        found.map_err(|error| index_error(&error))
    }

    // ---- which conversations may be found

    fn allowed(&self, ask: &SearchConversations) -> Result<Allowed, Error> {
        let mut allowed = Allowed::default();
        if !ask.include_own
            && let Some(own) = self.service.own_session()
        {
            allowed.without.extend(self.chats_named(&own)?);
        }
        if ask.source.is_empty() && ask.project.is_none() {
            return Ok(allowed);
        }
        for name in &ask.source {
            scope::known_source(name)?;
        }
        let project = ask.project.as_ref().map(|named| scope::real(&self.service.cwd.join(named)));
        let holds = |session: &Session| {
            (ask.source.is_empty() || ask.source.iter().any(|name| name == session.source))
                && project.as_ref().is_none_or(|project| session.is_of(project))
        };
        let mut only = FxHashSet::default();
        if let Some(reader) = &self.reader {
            let facts = reader.facts(|_| true).map_err(store_error)?;
            for facts in facts.values() {
                let kept = facts.sessions.iter().zip(&facts.chats).filter(|(session, _)| holds(session));
                only.extend(kept.map(|(_, chat)| *chat));
            }
        }
        only.extend(
            self.unindexed.sessions.iter().filter(|(_, session)| holds(session)).map(|(chat, _)| *chat),
        );
        allowed.only = Some(only);
        Ok(allowed)
    }

    fn chats_named(&self, id: &str) -> Result<Vec<u32>, Error> {
        let mut chats = Vec::new();
        if let Some(reader) = &self.reader {
            let called = reader.chats_called(id, 8).map_err(store_error)?;
            chats.extend(called.into_iter().filter(|c| c.id == id).map(|c| c.chat));
        }
        chats.extend(
            self.unindexed.sessions.iter().filter(|(_, s)| *s.session_id == *id).map(|(chat, _)| *chat),
        );
        Ok(chats)
    }

    // ---- what is shown of one

    fn chat(
        &self,
        hit: &ChatHit,
        terms: &Terms,
        ask: &SearchConversations,
    ) -> Result<Option<ChatFound>, Error> {
        let known = match &self.reader {
            Some(reader) => reader.chat(hit.chat).map_err(store_error)?,
            None => Vec::new(),
        };
        let Some(main) = known.first().map(|chat| &chat.session).or(self.unindexed.sessions.get(&hit.chat))
        else {
            return Ok(None);
        };
        let snippets = self.snippets(hit, main, terms, ask);
        let project = main.place();
        let mut told = known.iter().filter(|chat| chat.session.agent_id.is_none()).peekable();
        let gone = told.peek().is_some()
            && told.all(|chat| chat.gone)
            && !self.unindexed.sessions.contains_key(&hit.chat);
        Ok(Some(ChatFound {
            chat_id: main.session_id.to_string(),
            title: self.names.title(main),
            hits: hit.hits as u64,
            time_range: span(main, &known, hit),
            snippets,
            source: main.source.to_string(),
            project: (!project.is_empty()).then(|| project.to_string()),
            resume: api::resume(main.source, project, &main.session_id).filter(|_| !gone),
            archived: gone,
        }))
    }

    /// The best passages, each text once. Before what a tool printed stands what the person wrote: by their own words people
    /// know a conversation again, though a tool that prints a word ten times matches better.
    fn snippets(
        &self,
        hit: &ChatHit,
        main: &Session,
        terms: &Terms,
        ask: &SearchConversations,
    ) -> Vec<Snippet> {
        let limit = ask.limit_snippets_per_chat as usize;
        let by_tool = hit.events.first().is_some_and(|event| event.part == search::Part::Tool);
        let person = hit.events.iter().find(|event| by_tool && event.part == search::Part::Person);
        let rest = hit.events.iter().filter(|event| person.is_none_or(|person| person.event != event.event));
        let mut shown: Vec<Snippet> = Vec::new();
        for event in person.into_iter().chain(rest).take(limit.saturating_add(ALIKE)) {
            if shown.len() == limit {
                break;
            }
            let snippet = self.snippet(event, main, terms, ask);
            shown.extend(snippet.filter(|new| shown.iter().all(|old| old.text != new.text)));
        }
        shown
    }

    fn snippet(
        &self,
        event: &EventHit,
        main: &Session,
        terms: &Terms,
        ask: &SearchConversations,
    ) -> Option<Snippet> {
        let window = ask.snippet_window as usize;
        let called = event_ids::is_name(event.event).then(|| self.names.whole(main));
        if called.is_some() || event_ids::titled(event.event).is_some() {
            let title = called.as_deref().unwrap_or_else(|| main.name());
            let cut = search::snippet(title, terms, window);
            let (source, created_at) = (Origin::Title, ms(main.started_at));
            return Some(Snippet { source, created_at, ..quoted(&cut) });
        }
        let Some((row, id, text)) = self.text(event.event) else {
            *self.unread.borrow_mut() += 1;
            return None;
        };
        let cut = search::snippet(&text, terms, window);
        let source = if row.row == RowKind::Call { Origin::Tool } else { Origin::Content };
        let role = if row.row == RowKind::Call { "assistant" } else { role(row.kind()).word() };
        Some(Snippet {
            message_id: id,
            role: role.to_string(),
            created_at: ms(row.at),
            source,
            ..quoted(&cut)
        })
    }

    /// What was said in an event, masked, with its id.
    fn text(&self, event: u64) -> Option<Said> {
        if let Some(known) = self.texts.borrow().get(&event) {
            return known.clone();
        }
        let said = self.read(event);
        self.texts.borrow_mut().insert(event, said.clone());
        said
    }

    fn read(&self, event: u64) -> Option<Said> {
        if let Some(item) = self.unindexed.item(event) {
            return Some((item.row, item.id.clone(), item.text().to_string()));
        }
        let reader = self.reader.as_ref()?;
        if let Some(number) = event_ids::titled(event) {
            return Some((Row::default(), String::new(), reader.title(number).ok()??));
        }
        let (_, row) = reader.events(&[event]).ok()?.pop()?;
        let transcript = self.transcript(event_place(event).0)?;
        let (id, text) = self.service.history().said(&transcript, &row)?;
        Some((row, id, text))
    }

    fn transcript(&self, file: u32) -> Option<Transcript> {
        let mut files = self.files.borrow_mut();
        let slot = files.entry(file).or_insert_with(|| {
            let stored = self.reader.as_ref()?.file(file).ok()??;
            transcripts::as_readable(&self.service.history(), &stored)
        });
        slot.clone()
    }
}

/// From the first to the last that was said in it, what was said just now included.
fn span(main: &Session, known: &[Chat], hit: &ChatHit) -> TimeRange {
    let sessions = known.iter().map(|chat| &chat.session).chain([main]);
    let from = sessions.clone().map(|s| s.started_at).filter(|at| at.is_some()).min();
    let news = hit.events.iter().map(|event| Stamp(event.at)).filter(|at| at.0 > 0);
    let to = sessions.map(|s| s.ended_at).chain(news).max();
    TimeRange { from: from.and_then(ms), to: to.and_then(ms) }
}

fn quoted(cut: &search::Snippet) -> Snippet {
    let characters = |at: usize| cut.text[..at].chars().count() as u32;
    let highlights = cut.highlights.iter().map(|h| [characters(h.start), characters(h.end)]).collect();
    Snippet { text: cut.text.clone(), highlights, ..Snippet::default() }
}

/// Conversations that may be found.
#[derive(Default)]
struct Allowed {
    only: Option<FxHashSet<u32>>,
    without: FxHashSet<u32>,
}

impl Allowed {
    fn narrows(&self) -> bool {
        self.only.is_some() || !self.without.is_empty()
    }

    fn holds(&self, chat: u32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&chat)) && !self.without.contains(&chat)
    }
}

/// Whose words count, as `role_filter` says; what tools were asked and printed is the assistant's doing.
fn parts(ask: &SearchConversations) -> Parts {
    let by = |role: &str| ask.role_filter.is_empty() || ask.role_filter.iter().any(|r| r == role);
    let tool = ask.include_tools_in_search && by("assistant");
    Parts {
        person: by("user"),
        client: by("user"),
        assistant: by("assistant"),
        system: by("system"),
        tool,
        echo: ask.include_own && tool,
    }
}
