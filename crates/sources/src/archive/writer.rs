//! Writes a copy: entries are compressed as they come, and the existing copy stays until the new one is complete. A
//! copy that is dropped unfinished leaves nothing behind.
//!
//! Continues a copy by taking over its frames or lines unchanged. Does not know when a transcript is worth archiving.

use super::content::{Content, session_prints};
use super::copy::Archive;
use super::entry::{CallLine, MessageLine, RowLine, SessionLine};
use super::forget;
use super::frame_writer::{FrameWriter, Target};
use super::io_error;
use super::table::{self, Header, IndexEntry, KEPT, REPLACED, StoredOutcome};
use super::union::{Mask, Match, Union};
use crate::{Error, SurveyOutcome};
use record::{Call, Message, Row, Session};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A copy of which more than half was replaced is repacked, unless it is too small to matter.
const MIN_REPACK_BYTES: u64 = 1024 * 1024;

/// Writes the copy of one transcript.
pub struct ArchiveWriter<'m> {
    writer: FrameWriter,
    header: Header,
    /// The position in the writer's index of the current entry of each ordinal.
    latest: FxHashMap<u32, usize>,
    /// The sessions of the copy, those of the existing one first, and which of them each session of the survey is.
    sessions: Vec<SessionLine>,
    numbers: Vec<u32>,
    /// The existing copy, if the transcript is read again from the beginning.
    union: Option<Union<'m>>,
    /// The existing copy was made of the same bytes.
    has_same_bytes: bool,
    /// It was compared with the transcript.
    is_united: bool,
    failed: Option<Error>,
}

/// What a finished copy has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    pub entries: u32,
    /// How many of them the transcript no longer has.
    pub kept: u32,
}

impl<'m> ArchiveWriter<'m> {
    pub(super) fn new(target: Target, header: Header) -> ArchiveWriter<'m> {
        let writer = FrameWriter::new(target);
        ArchiveWriter {
            writer,
            header,
            latest: FxHashMap::default(),
            sessions: Vec::new(),
            numbers: Vec::new(),
            union: None,
            has_same_bytes: false,
            is_united: false,
            failed: None,
        }
    }

    /// Takes over all intact entries. What is added is compared with them: what the transcript no longer has is kept.
    pub(super) fn unite_with(
        archive: Archive,
        target: Target,
        header: Header,
        mask: Option<Mask<'m>>,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let mut keeper = ArchiveWriter::new(target, header);
        let Ok(marks) = archive.read_index() else { return Ok(keeper) };
        keeper.has_same_bytes = archive.table.header.has_bytes_of(&keeper.header);
        keeper.copy_frames(&archive, marks)?;
        keeper.latest.clear();
        keeper.sessions.clone_from(&archive.table.closing.sessions);
        keeper.union = Some(Union::of(archive, &keeper.writer.marks, mask));
        Ok(keeper)
    }

    /// Before the first entry: which sessions of the copy the survey's are.
    pub fn align_sessions(&mut self, surveyed: &[Session]) {
        self.numbers.clear();
        for session in surveyed {
            let line = SessionLine::from(session);
            let at = self.sessions.iter().position(|known| known.is_same_session(&line));
            let at = at.filter(|at| !self.numbers.contains(&(*at as u32))).unwrap_or_else(|| {
                self.sessions.push(line);
                self.sessions.len() - 1
            });
            self.numbers.push(at as u32);
        }
    }

    fn row_line<'r>(&self, ordinal: u32, row: &'r Row, name: &'r str) -> RowLine<'r> {
        let mut line = RowLine::new(ordinal, row, name);
        line.session = self.numbers.get(row.session as usize).copied().unwrap_or(row.session);
        line
    }

    /// Takes over the entries before `from`, all of which must be intact.
    pub(super) fn continue_from(
        archive: &Archive,
        target: Target,
        header: Header,
        from: u32,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let damaged = |what| Error::Damaged { path: archive.path.clone(), what };
        if !archive.table.header.keys_match() {
            return Err(damaged("its row keys are from another version"));
        }
        let marks = archive.read_index()?;
        let mut keeper = ArchiveWriter::new(target, header);
        keeper.sessions.clone_from(&archive.table.closing.sessions);
        if let Some(error) = keeper.copy_frames(archive, marks)? {
            return Err(error);
        }
        keeper.truncate_from(from);
        Ok(keeper)
    }

    /// Takes over all intact entries.
    pub(super) fn salvage_from(
        archive: &Archive,
        target: Target,
        header: Header,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let mut keeper = ArchiveWriter::new(target, header);
        keeper.sessions.clone_from(&archive.table.closing.sessions);
        if let (true, Ok(marks)) = (archive.table.header.keys_match(), archive.read_index()) {
            keeper.copy_frames(archive, marks)?;
        }
        Ok(keeper)
    }

    /// Copies frames without decompressing. The entries of a damaged one no longer count; returns the error
    /// of the last such frame.
    fn copy_frames(&mut self, archive: &Archive, marks: Vec<IndexEntry>) -> Result<Option<Error>, Error> {
        if let Some(lines) = archive.lines() {
            self.writer.continue_lines(lines, marks);
            self.find_latest();
            return Ok(None);
        }
        let (mut marks, mut failure) = (marks.into_iter(), None);
        for n in 0..archive.spans.len() {
            let entries = archive.spans[n].frame.entries as usize;
            let mut here: Vec<IndexEntry> = marks.by_ref().take(entries).collect();
            let bytes = match archive.read_frame(n) {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Its length stays reserved, so that positions after it remain valid.
                    for mark in &mut here {
                        mark.ordinal = REPLACED;
                    }
                    failure = (archive.live_entries(n) > 0).then_some(error).or(failure);
                    vec![0; archive.spans[n].frame.packed as usize]
                }
            };
            self.writer.copy_frame(archive.spans[n].frame, &bytes, &here)?;
        }
        self.find_latest();
        Ok(failure)
    }

    fn find_latest(&mut self) {
        for (at, mark) in self.writer.marks.iter().enumerate().filter(|(_, mark)| mark.ordinal < KEPT) {
            self.latest.insert(mark.ordinal, at);
        }
    }

    /// How many entries the copy has so far.
    pub fn entry_count(&self) -> u32 {
        self.latest.len() as u32
    }

    /// Whether the entry exists with exactly this row, so that its record need not be read again. In a transcript that is read again
    /// from the beginning, its text may differ.
    pub fn has_entry(&self, ordinal: u32, row: &Row, name: &str) -> bool {
        let mark = self.latest.get(&ordinal).map(|at| self.writer.marks[*at]);
        mark.is_some_and(|mark| {
            row_fingerprint(&self.row_line(ordinal, row, name)).is_ok_and(|print| print == mark.fingerprint)
        })
    }

    /// Adds a message; `name` is its model. Replaces an existing entry. The two greatest ordinals are reserved.
    pub fn add_message(&mut self, ordinal: u32, row: &Row, name: &str, message: &Message) {
        let line = self.row_line(ordinal, row, name);
        self.add_entry(&line, &MessageLine::from(message));
    }

    /// Adds a call; `name` is its tool. A result without a call is stored as a call with only the result's
    /// values.
    pub fn add_call(&mut self, ordinal: u32, row: &Row, name: &str, call: &Call) {
        let line = self.row_line(ordinal, row, name);
        self.add_entry(&line, &CallLine::from(call));
    }

    /// Removes an entry that the transcript no longer has.
    pub fn drop_entry(&mut self, ordinal: u32) {
        if let Some(at) = self.latest.remove(&ordinal) {
            self.writer.marks[at].ordinal = REPLACED;
        }
    }

    /// Removes every entry from `from` on: the transcript has become shorter.
    pub fn truncate_from(&mut self, from: u32) {
        for mark in self.writer.marks.iter_mut().filter(|mark| (from..KEPT).contains(&mark.ordinal)) {
            mark.ordinal = REPLACED;
        }
        self.latest.retain(|ordinal, _| *ordinal < from);
    }

    /// Errors are reported by `finish`: a survey cannot handle them.
    fn add_entry(&mut self, head: &RowLine<'_>, record: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        self.failed = if let Some(mut union) = self.union.take() {
            let added = self.add_to_union(&mut union, head, record);
            self.union = Some(union);
            added.err()
        } else {
            self.drop_entry(head.ordinal);
            self.latest.insert(head.ordinal, self.writer.marks.len());
            self.writer.add_entry(head, record).err()
        };
    }

    /// Adds an entry that the existing copy may have, in this state or another.
    fn add_to_union(
        &mut self,
        union: &mut Union<'_>,
        head: &RowLine<'_>,
        record: &impl Serialize,
    ) -> Result<(), Error> {
        let unwritable = |error: serde_json::Error| io_error(self.writer.path())(error.into());
        let line = serde_json::to_vec(head).map_err(unwritable)?;
        let record = serde_json::to_vec(record).map_err(unwritable)?;
        let print = table::fnv1a_64_of([&line, b"\n"]);
        let session = session_prints(&self.sessions[head.session as usize..=head.session as usize]);
        let content = Content::of(head, &session[0], &record);
        match union.find(&self.writer.marks, content, print, &record)? {
            Match::Same(at) => self.writer.marks[at].ordinal = head.ordinal,
            Match::Replaces(states) => {
                for at in states {
                    self.writer.marks[at].ordinal = REPLACED;
                }
                self.writer.add_lines(&line, &record, head.ordinal)?;
            }
        }
        Ok(())
    }

    /// What the existing copy has and the transcript does not. In the same bytes, a reader of another version finds other entries:
    /// these are no loss.
    fn keep_missing(&mut self) {
        let Some(union) = self.union.take() else { return };
        self.sessions.iter_mut().for_each(|session| session.kept = 0);
        for (at, session) in union.missing() {
            let ordinal = &mut self.writer.marks[at].ordinal;
            *ordinal = if self.has_same_bytes && *ordinal != KEPT { REPLACED } else { KEPT };
            self.sessions[session as usize].kept += u32::from(*ordinal == KEPT);
        }
        // What was masked with older rules must not stay.
        self.writer.drop_replaced();
        self.is_united = true;
    }

    /// Completes the copy and makes it visible.
    pub fn finish(mut self, facts: &SurveyOutcome) -> Result<Written, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.keep_missing();
        let (dead, all) = self.writer.replaced_bytes();
        let closing = self.close_sessions(facts);
        let ((entries, kept), is_united) = (self.writer.count_entries(), self.is_united);
        let mut finished = self.writer.finish(self.header, closing)?;
        let is_mostly_dead = dead * 2 > all && all > MIN_REPACK_BYTES;
        if (is_mostly_dead || is_united && dead > 0)
            && let Some((path, target)) = finished.file()
        {
            finished = forget::repack_file(path, target)?;
        }
        Ok(Written { bytes: finished.publish()?, entries, kept })
    }

    /// The sessions of the survey and those that only the copy has.
    fn close_sessions(&mut self, facts: &SurveyOutcome) -> StoredOutcome {
        let mut closing = StoredOutcome::from(facts);
        if self.numbers.is_empty() {
            self.align_sessions(&facts.sessions);
        }
        let mut sessions = std::mem::take(&mut self.sessions);
        for (line, number) in closing.sessions.into_iter().zip(&self.numbers) {
            let known = &mut sessions[*number as usize];
            let kept = known.kept;
            *known = line.completed_by(known.clone()).with_kept(kept);
        }
        if self.numbers.first().is_some_and(|number| *number != 0) {
            // Abandoned turns refer to the main session.
            closing.abandoned.clear();
        }
        closing.sessions = sessions;
        closing
    }
}

fn row_fingerprint(head: &RowLine<'_>) -> serde_json::Result<u64> {
    let mut line = serde_json::to_vec(head)?;
    line.push(b'\n');
    Ok(table::fnv1a_64(&line))
}
