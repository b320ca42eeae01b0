//! What was an earlier conversation about, in a few sentences? What memory keeps of it; where that is nothing, what is there
//! already: what the person asked first and last, the files that were changed, and how it ended. Free, and the same every
//! time.
//!
//! Does not understand any of it.

use crate::{Service, memory_store};
use catalogue::{Chat, Reader};
use history::excerpt::{Excerpt, cut};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// What memory says; then there is no excerpt.
    pub(crate) kept: String,
    /// What its transcript says.
    pub(crate) excerpt: Excerpt,
    /// A summary that a person wrote.
    pub(crate) by_person: String,
}

/// Characters that are shown beforehand.
const PREVIEW: usize = 200;

impl Service {
    /// What memory keeps of a session, or else what can be told from its transcript.
    pub(crate) fn told_of(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary.text);
        if let Some(kept) = kept.filter(|text| !text.trim().is_empty()) {
            return Summary { kept, ..Summary::default() };
        }
        let excerpt = self.history().excerpt(reader, chat).unwrap_or_default();
        Summary { excerpt, ..Summary::default() }
    }

    /// What a session may be told of itself unasked.
    pub(crate) fn own_told(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary);
        let by_person = kept.filter(|words| words.by == memory::By::Person).map(|words| words.text);
        let excerpt = self.history().excerpt(reader, chat).unwrap_or_default();
        Summary { by_person: by_person.unwrap_or_default(), excerpt, ..Summary::default() }
    }

    /// What memory keeps of a session, under its whole id.
    pub(crate) fn remembered(&self, session: &str) -> Option<memory::Remembered> {
        let store = memory_store::look(self).ok()??;
        store.sessions(session).ok()?.into_iter().find(|known| known.session_id == session)
    }
}

impl Summary {
    /// What is shown of it beforehand.
    pub(crate) fn preview(&self) -> String {
        let texts = [&self.kept, &self.excerpt.ended, &self.excerpt.asked];
        texts.into_iter().find(|text| !text.is_empty()).map_or_else(String::new, |text| cut(text, PREVIEW))
    }

    /// What the person said and which files were touched: what a session may be told of itself unasked. A summary stands here
    /// only if a person wrote it: one that was made holds what agents and tools said.
    pub(crate) fn own_words(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.by_person.lines().map(String::from).collect();
        for (label, text) in [("Asked first", &self.excerpt.asked), ("Asked last", &self.excerpt.last)] {
            if !text.is_empty() {
                lines.push(format!("{label}: {text}"));
            }
        }
        if !self.excerpt.files.is_empty() {
            lines.push(format!("Files changed: {}", self.excerpt.files.join(", ")));
        }
        lines
    }

    /// All of it, for who has asked for it.
    pub(crate) fn whole(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.kept.lines().map(String::from).collect();
        if lines.is_empty() {
            lines = self.own_words();
        }
        if !self.excerpt.ended.is_empty() {
            lines.push(format!("It ended with: {}", self.excerpt.ended));
        }
        lines
    }
}
