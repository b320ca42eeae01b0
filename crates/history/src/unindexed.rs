//! Reads the unindexed tail of the transcripts, so that a search finds a line written a moment ago without waiting for an
//! index commit.
//!
//! Does not write to any store.

use crate::error::store_error;
use crate::freshness::State;
use crate::scan::{read_from_offset, read_through};
use crate::tombstones::Tombstones;
use crate::{History, event_ids, search_text, transcripts};
use api::Error;
use catalogue::Reader;
use record::row::COPIED;
use record::{Call, Message, ProblemKind, Row, RowKind, Session};
use rustc_hash::{FxHashMap, FxHashSet};
use search::{Doc, Part};
use sources::{Names, SurveyOptions, SurveyOutcome, Transcript};

/// One unindexed event.
pub struct Item {
    pub chat: u32,
    pub id: String,
    pub row: Row,
    pub part: Part,
    text: String,
    /// Orders copies of one event as the catalogue does; the lowest is the original: not marked as a copy, then the earliest
    /// start of the transcript, then the transcript's position in the list.
    seniority: (bool, i64, usize),
}

/// All unindexed events, and the sessions that the catalogue does not know.
#[derive(Default)]
pub struct Unindexed {
    items: Vec<Item>,
    pub sessions: FxHashMap<u32, Session>,
    /// Files that were read from their start: the index has an earlier state of them.
    reread: FxHashSet<u32>,
    /// Unreadable transcripts, plus unreadable records in the others.
    pub lost: u64,
}

impl Unindexed {
    pub fn to_docs(&self) -> Vec<Doc<'_>> {
        self.items
            .iter()
            .enumerate()
            .map(|(n, item)| item.to_doc(event_ids::unindexed_event(n as u64)))
            .collect()
    }

    /// Whether an event of the catalogue belongs to a file that was read from its start.
    pub fn replaces(&self, event: u64) -> bool {
        let is_message = event_ids::title_session(event).is_none() && !event_ids::is_name_event(event);
        is_message && self.reread.contains(&catalogue::split_event_id(event).0)
    }

    /// None: the event belongs to the catalogue.
    pub fn item(&self, event: u64) -> Option<&Item> {
        event_ids::unindexed_number(event).and_then(|number| self.items.get(number as usize))
    }
}

impl Item {
    fn to_doc(&self, event: u64) -> Doc<'_> {
        let (chat, part, at) = (self.chat, self.part, self.row.at.0.max(0));
        Doc { file: u32::MAX, chat, event, turn: event, part, at, text: &self.text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads the unindexed tail of changed transcripts.
pub(crate) struct UnindexedReader<'a> {
    history: History<'a>,
    reader: Option<&'a Reader>,
    /// Forgotten sessions stay out, even if their transcripts grow.
    tombstones: Tombstones,
    names: Names,
    /// The first free session number.
    next_chat: u32,
    chats: FxHashMap<(&'static str, String), u32>,
    unindexed: Unindexed,
    /// The position of the current transcript, and its start time.
    read: usize,
    birth: i64,
}

impl<'a> UnindexedReader<'a> {
    pub(crate) fn new(
        history: History<'a>,
        reader: Option<&'a Reader>,
    ) -> Result<UnindexedReader<'a>, Error> {
        let next_chat = reader.map_or(Ok(1), Reader::next_chat_id).map_err(store_error)?;
        let tombstones = Tombstones::read(history.home().as_ref())?;
        let (names, chats, unindexed) = (Names::default(), FxHashMap::default(), Unindexed::default());
        Ok(UnindexedReader {
            history,
            reader,
            tombstones,
            names,
            next_chat,
            chats,
            unindexed,
            read: 0,
            birth: 0,
        })
    }

    /// Deduplicates: of several copies of an event, only the original remains.
    pub(crate) fn finish(mut self) -> Unindexed {
        let mut original: FxHashMap<u64, (bool, i64, usize)> = FxHashMap::default();
        for item in &self.unindexed.items {
            let known = original.entry(item.row.key).or_insert(item.seniority);
            *known = item.seniority.min(*known);
        }
        self.unindexed.items.retain(|item| original[&item.row.key] == item.seniority);
        self.unindexed
    }

    pub(crate) fn read_transcript(
        &mut self,
        transcript: &Transcript,
        state: State,
    ) -> Result<(), catalogue::Error> {
        let (mut facts, mut rows) = self.survey_tail(transcript, state);
        join_results(&mut rows);
        self.tombstones.remove_forgotten(&mut facts, &mut rows);
        if facts.problems.iter().any(|p| p.kind == ProblemKind::Unreadable) {
            self.unindexed.lost += 1;
        }
        let birth = match (state, self.reader) {
            (State::Grown(file, _), Some(reader)) => reader.file_birth(file)?,
            _ => facts.birth.filter(|at| at.is_some()),
        };
        (self.read, self.birth) = (self.read + 1, birth.map_or(i64::MAX, |at| at.0));
        let chats = self.session_numbers(&facts)?;
        for row in &rows {
            self.add_row(transcript, row, &chats, state)?;
        }
        Ok(())
    }

    /// Surveys only the part behind the watermark if the source can start there; otherwise the whole transcript.
    fn survey_tail(&mut self, transcript: &Transcript, state: State) -> (SurveyOutcome, Vec<Row>) {
        let mut rows = Vec::new();
        if let State::Grown(_, mark) = state {
            let emit = &mut |more: &mut Vec<Row>| rows.append(more);
            let behind = read_from_offset(
                &self.history,
                mark.consumed,
                transcript,
                &self.names,
                SurveyOptions::ALL,
                emit,
            );
            if let Some(facts) = behind {
                return (facts, rows);
            }
            rows.clear();
        }
        self.unindexed.reread.extend(state.file());
        let emit = &mut |more: &mut Vec<Row>| rows.append(more);
        let (_, facts) = read_through(&self.history, 0, transcript, &self.names, SurveyOptions::ALL, emit);
        (facts, rows)
    }

    /// The number of each session: from the catalogue, or a new one.
    fn session_numbers(&mut self, facts: &SurveyOutcome) -> Result<Vec<u32>, catalogue::Error> {
        let mut chats = Vec::new();
        for session in &facts.sessions {
            let key = (session.source, session.session_id.to_string());
            let known = match (self.chats.get(&key), self.reader) {
                (Some(chat), _) => Some(*chat),
                (None, Some(reader)) => reader.find_chat(session.source, &session.session_id)?,
                _ => None,
            };
            let chat = known.unwrap_or_else(|| {
                self.next_chat += 1;
                self.next_chat - 1
            });
            if known.is_none() || self.unindexed.sessions.contains_key(&chat) {
                let mut session = session.clone();
                self.history.mask_session(&mut session);
                let slot = self.unindexed.sessions.entry(chat).or_insert_with(|| session.clone());
                if slot.agent_id.is_some() && session.agent_id.is_none() {
                    *slot = session;
                }
            }
            self.chats.insert(key, chat);
            chats.push(chat);
        }
        Ok(chats)
    }

    fn add_row(
        &mut self,
        transcript: &Transcript,
        row: &Row,
        chats: &[u32],
        state: State,
    ) -> Result<(), catalogue::Error> {
        let known = match self.reader {
            Some(reader) => reader.event_by_key(row.key)?,
            None => None,
        };
        let (session, mut call_transcript) = (row.session, None);
        let row = match (row.row, known) {
            // The result of a call that the catalogue knows without one: the two form the unindexed event.
            (RowKind::Result, Some(call)) if call.end == Row::NO_END => {
                call_transcript = self.load_transcript(call.file)?;
                Row { end: row.start, until: row.until, detail: row.detail, file: 0, end_file: 0, ..call }
            }
            (RowKind::Result, _) => return Ok(()),
            // Known from another transcript, or known with at least as much text: the next index update adds the rest. What the
            // index has of a file that was read from its start is not shown, so all of it is an unindexed event.
            (_, Some(known)) if row.lines == 1 && row.row == RowKind::Call && !self.is_reread(known.file) => {
                return Ok(());
            }
            (_, Some(known)) if state.file() != Some(known.file) && row.lines <= known.lines => return Ok(()),
            _ => *row,
        };
        if !search_text::is_searchable(&row) {
            return Ok(());
        }
        let call_transcript = call_transcript.as_ref().unwrap_or(transcript);
        let Ok((id, part, text)) = self.read_record(call_transcript, transcript, &row) else {
            self.unindexed.lost += 1;
            return Ok(());
        };
        if !text.is_empty() {
            let chat = chats.get(session as usize).or(chats.first()).copied().unwrap_or_default();
            let seniority = (row.has_flag(COPIED), self.birth, self.read);
            self.unindexed.items.push(Item { chat, id, row, part, text, seniority });
        }
        Ok(())
    }

    fn is_reread(&self, file: u32) -> bool {
        self.unindexed.reread.contains(&file)
    }

    /// A transcript of the catalogue, ready to read: the first lines of a fork may be the result of a call in the original.
    fn load_transcript(&self, file: u32) -> Result<Option<Transcript>, catalogue::Error> {
        let Some(reader) = self.reader else { return Ok(None) };
        Ok(reader.file_by_id(file)?.and_then(|stored| transcripts::as_readable(&self.history, &stored)))
    }

    fn read_record(
        &self,
        transcript: &Transcript,
        result: &Transcript,
        row: &Row,
    ) -> Result<(String, Part, String), sources::Error> {
        if row.row == RowKind::Message {
            let Message { id, text, .. } =
                self.history.mask_message(sources::fetch_message(transcript, row)?);
            return Ok((id, search_text::part_of(row.kind()), search_text::shorten_text(text)));
        }
        let call: Call = self.history.mask_call(sources::fetch_call(transcript, result, row)?);
        let part = search_text::part_of_call(&call);
        Ok((call.id.clone(), part, search_text::call_text(&call)))
    }
}

/// Joins the results with their calls as far as both are among the rows.
fn join_results(rows: &mut Vec<Row>) {
    let calls = rows.iter().enumerate().filter(|(_, row)| row.row == RowKind::Call);
    let calls: FxHashMap<u64, usize> = calls.map(|(at, row)| (row.key, at)).collect();
    for at in 0..rows.len() {
        let result = rows[at];
        if let Some(call) = calls.get(&result.key).filter(|_| result.row == RowKind::Result) {
            let call = &mut rows[*call];
            (call.end, call.until, call.detail) = (result.start, result.until, result.detail);
        }
    }
    rows.retain(|row| row.row != RowKind::Result || !calls.contains_key(&row.key));
}
