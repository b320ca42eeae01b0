//! Session names given by a person or a model.
//!
//! Does not create names: that is `operations/memory`.

use crate::{Service, memory_store};
use catalogue::Reader;
use history::event_ids;
use memory::{SessionName, Standing, Store};
use record::Session;
use search::{Doc, Part};

/// The names in memory. If there is no memory, or it cannot be read, sessions keep their titles.
pub(crate) struct SessionNames(Option<Store>);

impl SessionNames {
    pub(crate) fn load(service: &Service) -> SessionNames {
        SessionNames(memory_store::open_existing(service).ok().flatten())
    }

    pub(crate) fn title(&self, session: &Session) -> String {
        let given =
            self.0.as_ref().and_then(|store| store.given_name(session.source, &session.session_id).ok()?);
        given.unwrap_or_else(|| session.title_text().to_string())
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
        Doc { file: 0, chat, event: event_ids::name_event(chat), part: Part::Title, at, text }
    }
}
