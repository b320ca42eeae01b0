//! Summarises a session in a few sentences: its summary in memory, or else an excerpt of its transcript with the first and
//! last prompt, the changed files and the final reply. Needs no model and is deterministic.
//!
//! Does not interpret the text.

use crate::{Service, memory_store};
use catalogue::{ListedSession, Reader};
use digests::summary::Summary;

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
