//! What was said since the index was last brought up to date: read on the spot, so that a search knows the line that
//! was written a moment ago, without waiting for a disk.
//!
//! Does not write anything down.

use crate::gather::{read_behind, read_through};
use crate::look::State;
use crate::tombstones::Tombstones;
use crate::{Service, ingest, kept, words};
use catalogue::Reader;
use record::row::COPIED;
use record::{Call, Message, ProblemKind, Row, RowKind, Session};
use rustc_hash::FxHashMap;
use search::{Doc, Part};
use sources::{Facts, Names, Transcript, Want};

const BOTH: Want = Want { calls: true, messages: true, fields: false };
/// Numbers of news lie apart from those of the catalogue's events.
const NEWS: u64 = 1 << 61;

/// One thing that was said.
pub(crate) struct Item {
    pub(crate) chat: u32,
    pub(crate) id: String,
    pub(crate) row: Row,
    pub(crate) part: Part,
    text: String,
    /// Which of several that tell the same is the original, as in the catalogue: not a copy by its own word, begun
    /// first, first in the list; in that transcript.
    seniority: (bool, i64, usize),
}

/// Everything that is new, and the sessions that the catalogue does not know.
#[derive(Default)]
pub(crate) struct News {
    items: Vec<Item>,
    pub(crate) sessions: FxHashMap<u32, Session>,
    /// How many transcripts, and records in others, could not be read.
    pub(crate) lost: u64,
}

impl News {
    pub(crate) fn docs(&self) -> Vec<Doc<'_>> {
        self.items.iter().enumerate().map(|(n, item)| item.doc(NEWS | n as u64)).collect()
    }

    /// None: the event is the catalogue's.
    pub(crate) fn item(&self, event: u64) -> Option<&Item> {
        (event & NEWS != 0 && ingest::titled(event).is_none() && !ingest::is_name(event))
            .then(|| self.items.get((event & !NEWS) as usize))
            .flatten()
    }
}

impl Item {
    fn doc(&self, event: u64) -> Doc<'_> {
        let (chat, part, at) = (self.chat, self.part, self.row.at.0.max(0));
        Doc { file: u32::MAX, chat, event, part, at, text: &self.text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Reads what is new in the transcripts that changed.
pub(crate) struct Gazette<'a> {
    service: &'a Service,
    reader: Option<&'a Reader>,
    /// What a person has asked to forget is no news, however much is added to it.
    tombstones: Tombstones,
    names: Names,
    /// The first number that no conversation has yet.
    next_chat: u32,
    chats: FxHashMap<(&'static str, String), u32>,
    news: News,
    /// How many transcripts were read before this one, and when it was begun.
    read: usize,
    birth: i64,
}

impl<'a> Gazette<'a> {
    pub(crate) fn new(
        service: &'a Service,
        reader: Option<&'a Reader>,
    ) -> Result<Gazette<'a>, catalogue::Error> {
        let next_chat = reader.map_or(Ok(1), Reader::next_chat)?;
        let tombstones = Tombstones::read(service.home().as_ref());
        let (names, chats, news) = (Names::default(), FxHashMap::default(), News::default());
        Ok(Gazette { service, reader, tombstones, names, next_chat, chats, news, read: 0, birth: 0 })
    }

    /// What several tell is told once, by the original.
    pub(crate) fn finish(mut self) -> News {
        let mut original: FxHashMap<u64, (bool, i64, usize)> = FxHashMap::default();
        for item in &self.news.items {
            let known = original.entry(item.row.key).or_insert(item.seniority);
            *known = item.seniority.min(*known);
        }
        self.news.items.retain(|item| original[&item.row.key] == item.seniority);
        self.news
    }

    pub(crate) fn read(&mut self, transcript: &Transcript, state: State) -> Result<(), catalogue::Error> {
        let (mut facts, mut rows) = self.survey(transcript, state);
        self.tombstones.sweep(&mut facts, &mut rows);
        if facts.problems.iter().any(|p| p.kind == ProblemKind::Unreadable) {
            self.news.lost += 1;
        }
        let birth = match (state, self.reader) {
            (State::Grown(file, _), Some(reader)) => reader.birth(file)?,
            _ => facts.birth.filter(|at| at.is_some()),
        };
        (self.read, self.birth) = (self.read + 1, birth.map_or(i64::MAX, |at| at.0));
        let chats = self.chats_of(&facts)?;
        for row in &rows {
            self.row(transcript, row, &chats, state == State::New)?;
        }
        Ok(())
    }

    /// Only what stands behind what is known, if this agent's transcripts can be entered there; otherwise all of it.
    fn survey(&self, transcript: &Transcript, state: State) -> (Facts, Vec<Row>) {
        let mut rows = Vec::new();
        if let State::Grown(_, mark) = state {
            let emit = &mut |more: &mut Vec<Row>| rows.append(more);
            let behind = read_behind(self.service, mark.consumed, transcript, &self.names, BOTH, emit);
            if let Some(facts) = behind {
                return (facts, rows);
            }
            rows.clear();
        }
        let emit = &mut |more: &mut Vec<Row>| rows.append(more);
        let facts = read_through(self.service, 0, transcript, &self.names, BOTH, emit);
        (facts, rows)
    }

    /// The number of each session's conversation: the catalogue's, or a new one.
    fn chats_of(&mut self, facts: &Facts) -> Result<Vec<u32>, catalogue::Error> {
        let mut chats = Vec::new();
        for session in &facts.sessions {
            let key = (session.source, session.session_id.to_string());
            let known = match (self.chats.get(&key), self.reader) {
                (Some(chat), _) => Some(*chat),
                (None, Some(reader)) => reader.chat_number(session.source, &session.session_id)?,
                _ => None,
            };
            let chat = known.unwrap_or_else(|| {
                self.next_chat += 1;
                self.next_chat - 1
            });
            if known.is_none() || self.news.sessions.contains_key(&chat) {
                let mut session = session.clone();
                self.service.mask_title(&mut session);
                let slot = self.news.sessions.entry(chat).or_insert_with(|| session.clone());
                if slot.agent_id.is_some() && session.agent_id.is_none() {
                    *slot = session;
                }
            }
            self.chats.insert(key, chat);
            chats.push(chat);
        }
        Ok(chats)
    }

    fn row(
        &mut self,
        transcript: &Transcript,
        row: &Row,
        chats: &[u32],
        new: bool,
    ) -> Result<(), catalogue::Error> {
        let known = match self.reader {
            Some(reader) => reader.event_with(row.key)?,
            None => None,
        };
        let (session, mut asked) = (row.session, None);
        let row = match (row.row, known) {
            // The result of a call that is known: together they are what was not known before.
            (RowKind::Result, Some(call)) if call.end == Row::NOWHERE => {
                asked = self.known(call.file)?;
                Row { end: row.place, until: row.until, detail: row.detail, file: 0, end_file: 0, ..call }
            }
            (RowKind::Result, _) => return Ok(()),
            // Told in another place already, or here with fewer words: what is new of it comes with the index.
            (_, Some(_)) if row.lines == 1 && row.row == RowKind::Call => return Ok(()),
            (_, Some(known)) if new && row.lines <= known.lines => return Ok(()),
            _ => *row,
        };
        if !ingest::is_told(&row) {
            return Ok(());
        }
        let Ok((id, part, text)) = self.record(asked.as_ref().unwrap_or(transcript), transcript, &row) else {
            self.news.lost += 1;
            return Ok(());
        };
        if !text.is_empty() {
            let chat = chats.get(session as usize).or(chats.first()).copied().unwrap_or_default();
            let seniority = (row.is(COPIED), self.birth, self.read);
            self.news.items.push(Item { chat, id, row, part, text, seniority });
        }
        Ok(())
    }

    /// A transcript that the catalogue knows, to read from: a fork's first lines may answer a call of the original.
    fn known(&self, file: u32) -> Result<Option<Transcript>, catalogue::Error> {
        let Some(reader) = self.reader else { return Ok(None) };
        Ok(reader.file(file)?.and_then(|stored| kept::as_readable(self.service, &stored)))
    }

    fn record(
        &self,
        transcript: &Transcript,
        result: &Transcript,
        row: &Row,
    ) -> Result<(String, Part, String), sources::Error> {
        if row.row == RowKind::Message {
            let Message { id, text, .. } = self.service.masked_message(sources::message(transcript, row)?);
            return Ok((id, words::part_of(row.kind()), words::shortened(text)));
        }
        let call: Call = self.service.masked_call(sources::call(transcript, result, row)?);
        let part = words::part_of_call(&call);
        Ok((call.id.clone(), part, words::of_call(&call)))
    }
}
