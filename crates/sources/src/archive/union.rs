//! The entries of an existing copy while its transcript is read again from the beginning: what the transcript still has counts on, what
//! it has no longer is kept.
//!
//! Does not write. Holds hashes of the entries; their text is read again only to compare two states of one entry.

use super::content::{Content, is_extended, session_prints};
use super::copy::Archive;
use super::entry::{RowLine, split_entries};
use super::table::{IndexEntry, REPLACED, fnv1a_64};
use crate::Error;
use rustc_hash::FxHashMap;

/// Applies the newest masking rules to a text that was masked before.
pub type Mask<'m> = &'m dyn Fn(&str) -> String;

/// An entry of the existing copy that the transcript may still have.
#[derive(Clone, Copy)]
struct Known {
    record: u64,
    session: u32,
    is_found: bool,
}

/// An entry that cannot be found: it was replaced, or cannot be read.
const NO_ENTRY: Known = Known { record: 0, session: 0, is_found: true };

pub(super) struct Union<'m> {
    archive: Archive,
    mask: Option<Mask<'m>>,
    entries: Vec<Known>,
    /// The entries with this content, and with this identity.
    by_content: FxHashMap<u64, Vec<u32>>,
    by_identity: FxHashMap<u64, Vec<u32>>,
    /// Where each entry begins.
    places: Vec<u64>,
    frame: Option<(usize, Vec<u8>)>,
}

/// What the copy has of an entry of the transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The entry at this place in the index, byte for byte.
    Same(usize),
    /// Another state of it: the new one replaces these.
    Replaces(Vec<usize>),
}

impl<'m> Union<'m> {
    /// Reads all entries that count. Those of a damaged frame are not among them.
    pub(super) fn of(archive: Archive, marks: &[IndexEntry], mask: Option<Mask<'m>>) -> Union<'m> {
        let mut union = Union {
            mask,
            entries: Vec::with_capacity(marks.len()),
            by_content: FxHashMap::default(),
            by_identity: FxHashMap::default(),
            places: Vec::with_capacity(marks.len()),
            frame: None,
            archive,
        };
        let mut place = 0;
        for mark in marks {
            union.places.push(place);
            place += u64::from(mark.length);
        }
        for frame in 0..union.archive.spans.len() {
            union.add_frame(frame, marks);
        }
        // What could not be read is never found, and does not count.
        union.entries.resize(marks.len(), NO_ENTRY);
        union
    }

    fn add_frame(&mut self, frame: usize, marks: &[IndexEntry]) {
        let end = self.entries.len() + self.archive.spans[frame].frame.entries as usize;
        let end = if self.archive.lines().is_some() { marks.len() } else { end };
        if let Ok(raw) = self.archive.unpack_frame(frame) {
            let sessions = session_prints(&self.archive.table.closing.sessions);
            for (_, head, record) in split_entries(&raw) {
                let at = self.entries.len();
                let is_living = marks.get(at).is_some_and(|mark| mark.ordinal != REPLACED);
                let row = serde_json::from_slice::<RowLine<'_>>(head).ok().filter(|_| is_living);
                let row = row.and_then(|row| Some((sessions.get(row.session as usize)?, row)));
                if let Some((session, row)) = &row {
                    let content = Content::of(row, session, record);
                    self.by_content.entry(content.print).or_default().push(at as u32);
                    self.by_identity.entry(content.identity).or_default().push(at as u32);
                }
                let entry = row.map(|(_, row)| Known {
                    record: fnv1a_64(record),
                    session: row.session,
                    is_found: false,
                });
                self.entries.push(entry.unwrap_or(NO_ENTRY));
            }
        }
        self.entries.resize(end, NO_ENTRY);
    }

    /// Looks for an entry of the transcript, each of them once: of equal ones, the copy has as many as the transcript at most.
    pub(super) fn find(
        &mut self,
        marks: &[IndexEntry],
        content: Content,
        head: u64,
        record: &[u8],
    ) -> Result<Match, Error> {
        let whole = fnv1a_64(record);
        let equal = self.by_content.get(&content.print).map_or(&[][..], Vec::as_slice);
        let open: Vec<usize> =
            equal.iter().map(|at| *at as usize).filter(|at| !self.entries[*at].is_found).collect();
        let is_same = |at: &&usize| marks[**at].fingerprint == head && self.entries[**at].record == whole;
        if let Some(same) = open.iter().find(is_same).copied() {
            self.entries[same].is_found = true;
            return Ok(Match::Same(same));
        }
        if let Some(equal) = open.first().copied() {
            self.entries[equal].is_found = true;
            return Ok(Match::Replaces(vec![equal]));
        }
        let states = self.by_identity.get(&content.identity).cloned().unwrap_or_default();
        let mut replaced = Vec::new();
        for at in states.into_iter().map(|at| at as usize) {
            if !self.entries[at].is_found && self.is_state_before(at, record)? {
                self.entries[at].is_found = true;
                replaced.push(at);
            }
        }
        Ok(Match::Replaces(replaced))
    }

    fn is_state_before(&mut self, at: usize, record: &[u8]) -> Result<bool, Error> {
        let (place, mask) = (self.places[at], self.mask);
        let Some(n) = self.archive.frame_at(place) else { return Ok(false) };
        let raw = match self.frame.take() {
            Some((frame, raw)) if frame == n => raw,
            _ => self.archive.unpack_frame(n)?,
        };
        let offset = (place - self.archive.spans[n].raw) as usize;
        let before = split_entries(&raw[offset..]).next();
        let is_before = before.is_some_and(|(_, _, before)| is_extended(before, record, mask));
        self.frame = Some((n, raw));
        Ok(is_before)
    }

    /// The entries that the transcript no longer has, each with the number of its session.
    pub(super) fn missing(&self) -> impl Iterator<Item = (usize, u32)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| !entry.is_found)
            .map(|(at, entry)| (at, entry.session))
    }
}
