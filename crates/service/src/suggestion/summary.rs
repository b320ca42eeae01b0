//! Summarises a session in a few sentences: its summary in memory, or else an excerpt of its transcript with the first and
//! last prompt, the changed files and the final reply. Needs no model and is deterministic.
//!
//! Does not interpret the text.

use crate::{Service, memory_store};
use catalogue::{ListedSession, Reader};
use history::excerpt::{Excerpt, truncate_line};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// The summary in memory; if present, the excerpt is empty.
    pub(crate) from_memory: String,
    /// The excerpt of the transcript.
    pub(crate) excerpt: Excerpt,
    /// The summary in memory, if a person wrote it.
    pub(crate) by_person: String,
}

/// Length of a preview, in characters.
const PREVIEW: usize = 200;

impl Service {
    /// The summary of a session in memory, or else an excerpt of its transcript.
    pub(crate) fn summarize_session(&self, reader: &Reader, chat: &ListedSession) -> Summary {
        let kept = self.session_memory(&chat.session.session_id).map(|known| known.summary.text);
        if let Some(kept) = kept.filter(|text| !text.trim().is_empty()) {
            return Summary { from_memory: kept, ..Summary::default() };
        }
        let excerpt = self.history().read_excerpt(reader, chat).unwrap_or_default();
        Summary { excerpt, ..Summary::default() }
    }

    /// The summary for a session of itself, shown without a request.
    pub(crate) fn summarize_own_session(&self, reader: &Reader, chat: &ListedSession) -> Summary {
        let kept = self.session_memory(&chat.session.session_id).map(|known| known.summary);
        let by_person = kept.filter(|words| words.by == memory::By::Person).map(|words| words.text);
        let excerpt = self.history().read_excerpt(reader, chat).unwrap_or_default();
        Summary { by_person: by_person.unwrap_or_default(), excerpt, ..Summary::default() }
    }

    /// The memory of a session, by its full ID.
    pub(crate) fn session_memory(&self, session: &str) -> Option<memory::SessionMemory> {
        let store = memory_store::open_existing(self).ok()??;
        store.sessions(session).ok()?.into_iter().find(|known| known.session_id == session)
    }
}

impl Summary {
    /// The beginning of the summary.
    pub(crate) fn preview(&self) -> String {
        let texts = [&self.from_memory, &self.excerpt.ended, &self.excerpt.asked];
        texts
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or_else(String::new, |text| truncate_line(text, PREVIEW))
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
    pub(crate) fn full_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.from_memory.lines().map(String::from).collect();
        if lines.is_empty() {
            lines = self.own_words();
        }
        if !self.excerpt.ended.is_empty() {
            lines.push(format!("It ended with: {}", self.excerpt.ended));
        }
        lines
    }
}
