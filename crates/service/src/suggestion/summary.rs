//! Summarises a session in a few sentences: its summary in memory, or else an excerpt of its transcript with the first and
//! last prompt, the changed files and the final reply. Needs no model and is deterministic.
//!
//! Does not interpret the text.

use crate::{Service, memory_store};
use catalogue::{Chat, Reader};
use history::excerpt::{Excerpt, cut};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// The summary in memory; if present, the excerpt is empty.
    pub(crate) kept: String,
    /// The excerpt of the transcript.
    pub(crate) excerpt: Excerpt,
    /// The summary in memory, if a person wrote it.
    pub(crate) by_person: String,
}

/// Length of a preview, in characters.
const PREVIEW: usize = 200;

impl Service {
    /// The summary of a session in memory, or else an excerpt of its transcript.
    pub(crate) fn told_of(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary.text);
        if let Some(kept) = kept.filter(|text| !text.trim().is_empty()) {
            return Summary { kept, ..Summary::default() };
        }
        let excerpt = self.history().excerpt(reader, chat).unwrap_or_default();
        Summary { excerpt, ..Summary::default() }
    }

    /// The summary for a session of itself, shown without a request.
    pub(crate) fn own_told(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary);
        let by_person = kept.filter(|words| words.by == memory::By::Person).map(|words| words.text);
        let excerpt = self.history().excerpt(reader, chat).unwrap_or_default();
        Summary { by_person: by_person.unwrap_or_default(), excerpt, ..Summary::default() }
    }

    /// The memory of a session, by its full ID.
    pub(crate) fn remembered(&self, session: &str) -> Option<memory::Remembered> {
        let store = memory_store::look(self).ok()??;
        store.sessions(session).ok()?.into_iter().find(|known| known.session_id == session)
    }
}

impl Summary {
    /// The beginning of the summary.
    pub(crate) fn preview(&self) -> String {
        let texts = [&self.kept, &self.excerpt.ended, &self.excerpt.asked];
        texts.into_iter().find(|text| !text.is_empty()).map_or_else(String::new, |text| cut(text, PREVIEW))
    }

    /// The user's own words and the changed files: what may be shown to a session without a request. Includes a summary only
    /// if a person wrote it, because a derived one contains text of agents and tools.
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

    /// The whole summary, for a user who requested it.
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
