//! Session names given by a person, a model or Loci: the titles of sessions wherever they are shown.
//!
//! Does not create names: that is `operations/memory`.

use crate::{Service, memory_store};
use catalogue::Reader;
use history::event_ids;
use memory::{By, SessionName, Standing, Store};
use record::{Session, TitleOrigin};
use search::{Doc, Part};
use std::sync::Arc;

/// The names in memory. If there is no memory, or it cannot be read, sessions keep their titles.
pub(crate) struct SessionNames(Option<Store>);

impl SessionNames {
    pub(crate) fn load(service: &Service) -> SessionNames {
        SessionNames(memory_store::open_existing(service).ok().flatten())
    }

    /// As views take it.
    pub(crate) fn into_naming(self) -> views::Naming {
        Box::new(move |session| self.name(session))
    }

    pub(crate) fn title(&self, session: &Session) -> String {
        self.name(session).map_or_else(|| session.title_text().to_string(), |(name, _)| name)
    }

    /// The name in memory and the word for who gave it, unless the session's own title is better or newer.
    pub(crate) fn name(&self, session: &Session) -> Option<(String, &'static str)> {
        let found = self.0.as_ref()?.session_name(session.source, &session.session_id);
        let (name, by) = found.ok().flatten()?;
        let is_better = match session.title.as_ref().map(|(_, origin)| *origin) {
            Some(TitleOrigin::Custom) => by == By::Person,
            Some(TitleOrigin::Agent) => by != By::Host,
            Some(TitleOrigin::FirstPrompt) | None => true,
        };
        is_better.then(|| (name, by.word()))
    }

    /// The title, if it is in a person's own words.
    pub(crate) fn title_by_person(&self, session: &Session) -> Option<String> {
        let own =
            |title: &(Arc<str>, TitleOrigin)| (title.1 != TitleOrigin::Agent).then(|| title.0.to_string());
        let named = self.name(session).filter(|(_, by)| *by == By::Person.word());
        named.map(|(name, _)| name).or_else(|| session.title.as_ref().and_then(own))
    }

    /// How sessions that a search found stand to its query; none without memory.
    pub(crate) fn standing(&self, query: &str, sessions: &[SessionName]) -> Option<Standing> {
        self.0.as_ref()?.standing(query, sessions).ok()
    }

    /// Name and tags in memory; empty if there are none.
    pub(crate) fn name_and_tags(&self, session: &Session) -> String {
        let store = self.0.as_ref();
        let found =
            store.and_then(|store| store.given_name_and_tags(session.source, &session.session_id).ok());
        found.unwrap_or_default()
    }

    /// Sessions whose name contains a word of these phrases.
    pub(crate) fn find_named<S: AsRef<str>>(
        &self,
        phrases: &[S],
        reader: Option<&Reader>,
    ) -> Vec<NamedSession> {
        let (Some(store), Some(reader)) = (&self.0, reader) else { return Vec::new() };
        let found = store.find_given_names(&search::Terms::new(phrases).typed_terms()).unwrap_or_default();
        let known = |one: memory::GivenName| {
            let chat = reader.find_chat(&one.source, &one.session_id).ok()??;
            Some(NamedSession { chat, at: one.ended_at.0.max(0), text: one.text })
        };
        found.into_iter().filter_map(known).collect()
    }
}

/// A session with its name, to be searched in addition to the index.
pub(crate) struct NamedSession {
    pub(crate) chat: u32,
    at: i64,
    pub(crate) text: String,
}

impl NamedSession {
    pub(crate) fn to_doc(&self) -> Doc<'_> {
        let (chat, at, text) = (self.chat, self.at, self.text.as_str());
        let event = event_ids::name_event(chat);
        Doc { file: 0, chat, event, turn: event, part: Part::Title, at, text }
    }
}
