//! Sessions with queries whose answer is known: the common form of the sets, and how a query is run.
//!
//! Does not know where a set comes from.

use search::{Doc, Error, Index, Part, Query, SearchResult, Tuning, Writer};
use std::path::{Path, PathBuf};

/// A set is indexed on its own, and every query searches all its sessions.
#[derive(Default)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) sessions: Vec<Session>,
    pub(crate) queries: Vec<LabelledQuery>,
}

#[derive(Default)]
pub(crate) struct Session {
    pub(crate) title: Option<String>,
    pub(crate) messages: Vec<Message>,
}

pub(crate) struct Message {
    pub(crate) part: Part,
    pub(crate) at: i64,
    pub(crate) text: String,
}

/// A query and the sessions that answer it.
#[derive(Clone, Default)]
pub(crate) struct LabelledQuery {
    pub(crate) query: String,
    pub(crate) kind: String,
    pub(crate) right: Vec<usize>,
    pub(crate) fuzzy: bool,
    pub(crate) expand: bool,
}

/// The result of a query.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) kind: String,
    /// The rank of the first right session, from 1.
    pub(crate) rank: Option<usize>,
    pub(crate) found: SearchResult,
}

impl Outcome {
    pub(crate) fn is_within(&self, most: usize) -> bool {
        self.rank.is_some_and(|rank| rank <= most)
    }
}

/// Event numbers per session. The title is the first event of a session.
const EVENTS: u64 = 1 << 20;

impl Set {
    fn iter_docs(&self) -> impl Iterator<Item = Doc<'_>> {
        self.sessions.iter().enumerate().flat_map(|(chat, session)| {
            let at = session.messages.first().map_or(0, |message| message.at);
            let title = session.title.iter().map(move |title| (Part::Title, at, title.as_str()));
            let rest =
                session.messages.iter().map(|message| (message.part, message.at, message.text.as_str()));
            let first = chat as u64 * EVENTS + u64::from(session.title.is_none());
            title.chain(rest).enumerate().map(move |(nth, (part, at, text))| Doc {
                file: chat as u32,
                chat: chat as u32,
                event: first + nth as u64,
                turn: first + nth as u64,
                part,
                at,
                text,
            })
        })
    }

    fn event_text(&self, event: u64) -> Option<String> {
        let session = self.sessions.get((event / EVENTS) as usize)?;
        match event % EVENTS {
            0 => session.title.clone(),
            nth => Some(session.messages.get(nth as usize - 1)?.text.clone()),
        }
    }

    /// Writes the set's index to a folder.
    pub(crate) fn write_index(&self, folder: &Path, stems: bool) -> Result<Index, Error> {
        let mut writer = if stems { Writer::open(folder, 1, 64 << 20)? } else { Writer::open_plain(folder)? };
        for doc in self.iter_docs() {
            writer.add(&doc)?;
        }
        writer.commit(1)?;
        writer.wait_for_merges()?;
        Index::open(folder)?.ok_or_else(|| Error::Version { path: folder.to_owned() })
    }

    pub(crate) fn run_query(
        &self,
        index: &Index,
        labelled: &LabelledQuery,
        tuning: &Tuning,
    ) -> Result<Outcome, Error> {
        let text = |event| self.event_text(event);
        let query = Query {
            fuzzy: labelled.fuzzy,
            expand: labelled.expand,
            text: Some(&text),
            ..Query::new(&labelled.query)
        };
        let found = index.find_tuned(&query, &[], tuning)?;
        let right = |chat: u32| labelled.right.contains(&(chat as usize));
        let rank = found.chats.iter().position(|hit| right(hit.chat)).map(|at| at + 1);
        Ok(Outcome { kind: labelled.kind.clone(), rank, found })
    }
}

/// A set and its open index.
pub(crate) struct IndexedSet {
    pub(crate) set: Set,
    pub(crate) index: Index,
}

impl IndexedSet {
    pub(crate) fn new(set: Set, scratch: &Scratch, stems: bool) -> Result<IndexedSet, String> {
        let folder = scratch.0.join(format!("{}-{stems}", set.name));
        let index = set.write_index(&folder, stems).map_err(|error| error.to_string())?;
        Ok(IndexedSet { set, index })
    }

    pub(crate) fn run_queries(&self, tuning: &Tuning) -> Result<Vec<Outcome>, String> {
        let outcomes = self.set.queries.iter().map(|query| self.set.run_query(&self.index, query, tuning));
        outcomes.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }
}

/// A folder for the indexes, removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let folder = std::env::temp_dir().join(format!("loci-quality-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Scratch(folder)
    }

    pub(crate) fn subfolder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
