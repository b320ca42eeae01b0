//! Counts the occurrences of each word in each conversation, by reading the postings of the words and the messages that
//! are not in the index yet.
//!
//! Does not know how occurrences are scored.

use crate::chats::Chats;
use crate::error::Error;
use crate::index::Index;
use crate::query::{Query, Terms};
use crate::schema::{AT, CHAT, EVENT, PARTS, Part, SIZE, TURN, bucket_bytes, size_bucket};
use crate::token::{Scratch, Tokens};
use crate::writer::Doc;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;
use tantivy::Term;
use tantivy::columnar::ColumnValues;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;

/// The occurrences of a word in more messages than this are counted by chat and not collected.
const MAX_COLLECTED: u64 = 20_000;
/// With `Query::skip_common`, a word in more messages than this is dropped: 1 in 40 messages of a history of 1 GB.
const MAX_SPECIFIC: u64 = 5_000;
/// The engine stores postings in blocks of this size.
const POSTING_BLOCK: usize = 128;

/// The position of a message: a document of a segment, or one of the extra messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) doc: u32,
}

impl Place {
    pub(crate) fn is_extra(self) -> bool {
        self.segment == EXTRA_SEGMENT
    }
}

/// The segment number of messages that are not in the index yet.
const EXTRA_SEGMENT: u32 = u32::MAX;

/// An occurrence of a word in a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occurrence {
    pub(crate) place: Place,
    pub(crate) slot: u32,
    pub(crate) word: u16,
    pub(crate) part: Part,
    /// The number of occurrences, weighted by the similarity of the form to the word.
    pub(crate) times: f32,
}

/// The stored attributes of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageInfo {
    pub(crate) event: u64,
    pub(crate) at: i64,
    pub(crate) turn: u64,
    pub(crate) bytes: f32,
}

/// The occurrences of one word.
#[derive(Default)]
pub(crate) struct WordCount {
    /// By slot and part. Empty if the word occurs nowhere.
    pub(crate) times: Vec<[f32; PARTS]>,
    pub(crate) chats: u32,
    pub(crate) messages: u64,
    /// Whether there are too many to collect individually.
    pub(crate) common: bool,
}

impl WordCount {
    pub(crate) fn is_in(&self, slot: usize) -> bool {
        self.times.get(slot).is_some_and(|times| times.iter().any(|times| *times > 0.0))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum ChatAccess {
    Unknown,
    Allowed,
    Denied,
}

pub(crate) struct OccurrenceScan<'a> {
    index: Option<&'a Index>,
    query: &'a Query<'a>,
    extra: &'a [Doc<'a>],
    pub(crate) chats: Cow<'a, Chats>,
    access: Vec<ChatAccess>,
    /// The slot of each extra message.
    slots: Vec<usize>,
    columns: Vec<Option<Columns>>,
}

struct Columns {
    chat: Arc<dyn ColumnValues<u64>>,
    event: Arc<dyn ColumnValues<u64>>,
    at: Arc<dyn ColumnValues<i64>>,
    turn: Arc<dyn ColumnValues<u64>>,
    size: Arc<dyn ColumnValues<u64>>,
}

impl<'a> OccurrenceScan<'a> {
    pub(crate) fn new(
        index: Option<&'a Index>,
        query: &'a Query<'a>,
        extra: &'a [Doc<'a>],
    ) -> OccurrenceScan<'a> {
        let mut chats =
            index.map_or_else(|| Cow::Owned(Chats::default()), |index| Cow::Borrowed(&index.chats));
        let mut slots = Vec::with_capacity(extra.len());
        for doc in extra {
            slots.push(chats.to_mut().add_message(doc.chat, doc.part, doc.text.len()));
        }
        let gates = vec![ChatAccess::Unknown; chats.len()];
        let columns = (0..index.map_or(0, |index| index.segments.len())).map(|_| None).collect();
        OccurrenceScan { index, query, extra, chats, access: gates, slots, columns }
    }

    /// The number of messages, in the index and extra.
    pub(crate) fn message_count(&self) -> u64 {
        self.index.map_or(0, Index::len) + self.extra.len() as u64
    }

    /// Whether a message of the index is among the extra ones too.
    pub(crate) fn replaced(&self) -> Option<&'a dyn Fn(u64) -> bool> {
        self.query.replaced
    }

    pub(crate) fn deny_chat(&mut self, slot: usize) {
        self.access[slot] = ChatAccess::Denied;
    }

    /// Whether a chat may be found. The caller's predicate is evaluated once per chat.
    fn is_allowed(&mut self, slot: usize) -> bool {
        if self.access[slot] == ChatAccess::Unknown {
            let allowed = self.query.allowed.is_none_or(|allowed| allowed(self.chats.chat_at(slot)));
            self.access[slot] = if allowed { ChatAccess::Allowed } else { ChatAccess::Denied };
        }
        self.access[slot] == ChatAccess::Allowed
    }

    /// Counts every word by chat, and collects the occurrences of all but common words.
    pub(crate) fn count_words(&mut self, terms: &Terms) -> Result<(Vec<WordCount>, Vec<Occurrence>), Error> {
        let mut counts: Vec<WordCount> = terms.words.iter().map(|_| WordCount::default()).collect();
        for (at, messages) in self.max_frequencies(terms)?.into_iter().enumerate() {
            counts[at].common = messages > MAX_COLLECTED;
        }
        let mut hits = Vec::new();
        let slots = self.chats.len();
        self.visit_occurrences(terms, &|_| true, &mut |hit| {
            let count = &mut counts[hit.word as usize];
            if count.times.is_empty() {
                count.times = vec![[0.0; PARTS]; slots];
            }
            let times = &mut count.times[hit.slot as usize];
            count.chats += u32::from(times.iter().all(|times| *times == 0.0));
            count.messages += 1;
            times[hit.part as usize] += hit.times;
            if !count.common {
                hits.push(hit);
            }
        })?;
        Ok((counts, hits))
    }

    /// Collects the occurrences of common words in the wanted chats.
    pub(crate) fn collect_common(
        &mut self,
        terms: &Terms,
        counts: &[WordCount],
        wanted: &[bool],
        hits: &mut Vec<Occurrence>,
    ) -> Result<(), Error> {
        if counts.iter().any(|count| count.common) {
            let is_common = |word: usize| counts[word].common;
            self.visit_occurrences(terms, &is_common, &mut |hit| {
                if wanted[hit.slot as usize] {
                    hits.push(hit);
                }
            })?;
        }
        Ok(())
    }

    /// Removes words that occur in too many messages from a query.
    pub(crate) fn remove_common(&self, terms: &mut Terms) -> Result<(), Error> {
        let mut found = self.max_frequencies(terms)?.into_iter();
        terms.words.retain(|_| found.next().is_none_or(|messages| messages <= MAX_SPECIFIC));
        Ok(())
    }

    /// An upper bound of the number of messages with each word, from the term dictionaries alone.
    fn max_frequencies(&self, terms: &Terms) -> Result<Vec<u64>, Error> {
        let mut found = vec![0; terms.words.len()];
        let Some(index) = self.index else { return Ok(found) };
        for segment in &index.segments {
            for part in Part::ALL.into_iter().filter(|part| self.query.searches_part(*part)) {
                let field = index.fields.parts[part as usize];
                let inverted = segment.inverted_index(field).map_err(|error| index.engine_error(&error))?;
                for (word, found) in terms.words.iter().zip(&mut found) {
                    for form in &word.forms {
                        let term = Term::from_field_text(field, &form.term);
                        let frequency =
                            inverted.doc_freq(&term).map_err(|error| index.engine_error(&error.into()))?;
                        *found += u64::from(frequency);
                    }
                }
            }
        }
        Ok(found)
    }

    /// The number of messages in the index that contain a term.
    pub(crate) fn frequency(&self, term: &str) -> u64 {
        self.index.map_or(0, |index| index.frequency(term))
    }

    /// Visits every occurrence of the wanted words in messages that may be found.
    fn visit_occurrences(
        &mut self,
        terms: &Terms,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut impl FnMut(Occurrence),
    ) -> Result<(), Error> {
        if let Some(index) = self.index {
            for segment in 0..index.segments.len() {
                for part in Part::ALL {
                    if self.query.searches_part(part) {
                        self.visit_field(index, segment, part, terms, wanted, visit)
                            .map_err(|error| index.engine_error(&error))?;
                    }
                }
            }
        }
        self.visit_extra(terms, wanted, visit);
        Ok(())
    }

    fn visit_field(
        &mut self,
        index: &Index,
        segment: usize,
        part: Part,
        terms: &Terms,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut impl FnMut(Occurrence),
    ) -> tantivy::Result<()> {
        let field = index.fields.parts[part as usize];
        let inverted = index.segments[segment].inverted_index(field)?;
        for (word, form) in wanted_forms(terms, wanted) {
            let term = Term::from_field_text(field, &form.term);
            if let Some(mut postings) = inverted.read_block_postings(&term, IndexRecordOption::WithFreqs)? {
                let hit = |doc, slot, times: u32| {
                    let place = Place { segment: segment as u32, doc };
                    Occurrence { place, slot, word: word as u16, part, times: times as f32 * form.weight }
                };
                self.visit_postings(index, segment, &mut postings, &mut |doc, slot, times| {
                    visit(hit(doc, slot, times));
                })?;
            }
        }
        Ok(())
    }

    /// Processes whole blocks: a common word has a posting for every other message, and columns are fastest in batches.
    fn visit_postings(
        &mut self,
        index: &Index,
        segment: usize,
        postings: &mut BlockSegmentPostings,
        visit: &mut impl FnMut(u32, u32, u32),
    ) -> tantivy::Result<()> {
        let columns = self.load_columns(index, segment)?;
        let (chats, at) = (Arc::clone(&columns.chat), Arc::clone(&columns.at));
        let timed = self.query.from.is_some() || self.query.to.is_some();
        let alive = index.segments[segment].alive_bitset();
        let mut ids = [0; POSTING_BLOCK];
        while !postings.docs().is_empty() {
            let docs = postings.docs();
            let ids = &mut ids[..docs.len()];
            chats.get_vals(docs, ids);
            for ((doc, chat), times) in docs.iter().zip(ids).zip(postings.freqs()) {
                let kept = alive.is_none_or(|alive| alive.is_alive(*doc))
                    && (!timed || self.query.in_time(at.get_val(*doc)));
                if kept
                    && let Some(slot) = self.chats.slot_of(*chat as u32)
                    && self.is_allowed(slot)
                {
                    visit(*doc, slot as u32, *times);
                }
            }
            postings.advance();
        }
        Ok(())
    }

    /// The same for messages that are not in the index; they are few, so their text is tokenised.
    fn visit_extra(
        &mut self,
        terms: &Terms,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut impl FnMut(Occurrence),
    ) {
        if self.extra.is_empty() {
            return;
        }
        let by_term = terms.by_term();
        let mut scratch = Scratch::without_stems(terms.plain);
        for at in 0..self.extra.len() {
            let (doc, slot) = (&self.extra[at], self.slots[at]);
            if !self.query.searches_part(doc.part) || !self.query.in_time(doc.at) || !self.is_allowed(slot) {
                continue;
            }
            for (word, times) in count_occurrences(doc.text, &by_term, &mut scratch) {
                if wanted(word) {
                    let place = Place { segment: EXTRA_SEGMENT, doc: at as u32 };
                    visit(Occurrence { place, slot: slot as u32, word: word as u16, part: doc.part, times });
                }
            }
        }
    }

    /// The stored attributes of a message.
    pub(crate) fn message_info(&mut self, place: Place) -> Result<MessageInfo, Error> {
        if place.segment == EXTRA_SEGMENT {
            let doc = &self.extra[place.doc as usize];
            let bytes = bucket_bytes(size_bucket(doc.text.len()));
            return Ok(MessageInfo { event: doc.event, at: doc.at, turn: doc.turn, bytes });
        }
        let Some(index) = self.index else { return Ok(MessageInfo::default()) }; // segments exist only in an index
        let columns =
            self.load_columns(index, place.segment as usize).map_err(|error| index.engine_error(&error))?;
        Ok(MessageInfo {
            event: columns.event.get_val(place.doc),
            at: columns.at.get_val(place.doc),
            turn: columns.turn.get_val(place.doc),
            bytes: bucket_bytes(columns.size.get_val(place.doc)),
        })
    }

    /// The text of a message: from `extra`, or read by the caller.
    pub(crate) fn message_text(&mut self, place: Place) -> Result<Option<Cow<'a, str>>, Error> {
        if place.segment == EXTRA_SEGMENT {
            return Ok(Some(Cow::Borrowed(self.extra[place.doc as usize].text)));
        }
        let Some(read) = self.query.text else { return Ok(None) };
        let event = self.message_info(place)?.event;
        Ok(read(event).map(Cow::Owned))
    }

    fn load_columns(&mut self, index: &Index, segment: usize) -> tantivy::Result<&Columns> {
        let cached = &mut self.columns[segment];
        match cached {
            Some(columns) => Ok(columns),
            None => Ok(cached.insert(Columns::open(&index.segments[segment])?)),
        }
    }
}

impl Columns {
    fn open(segment: &tantivy::SegmentReader) -> tantivy::Result<Columns> {
        let fast = segment.fast_fields();
        Ok(Columns {
            chat: fast.u64(CHAT)?.first_or_default_col(u64::MAX),
            event: fast.u64(EVENT)?.first_or_default_col(0),
            at: fast.i64(AT)?.first_or_default_col(0),
            turn: fast.u64(TURN)?.first_or_default_col(0),
            size: fast.u64(SIZE)?.first_or_default_col(0),
        })
    }
}

fn wanted_forms<'t>(
    terms: &'t Terms,
    wanted: &dyn Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, &'t crate::query::Form)> {
    let words = terms.words.iter().enumerate().filter(|(at, _)| wanted(*at));
    words.flat_map(|(at, word)| word.forms.iter().map(move |form| (at, form)))
}

/// How often each word occurs in a text, ordered by word.
pub(crate) fn count_occurrences(
    text: &str,
    by_term: &FxHashMap<&str, Vec<(usize, f32)>>,
    scratch: &mut Scratch,
) -> Vec<(usize, f32)> {
    let mut found: FxHashMap<usize, f32> = FxHashMap::default();
    let mut tokens = Tokens::new(text, scratch);
    while let Some(token) = tokens.advance() {
        for (word, weight) in by_term.get(token.text).into_iter().flatten() {
            *found.entry(*word).or_default() += weight;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(word, _)| *word);
    found
}
