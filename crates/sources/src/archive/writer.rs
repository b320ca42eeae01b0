//! Writes a copy: entries are compressed as they come, and the existing copy stays until the new one is complete. A
//! copy that is dropped unfinished leaves nothing behind.
//!
//! Continues a copy by taking over its frames or lines unchanged. Does not know when a transcript is worth archiving.

use super::copy::Archive;
use super::entry::{CallLine, MessageLine, RowLine};
use super::forget;
use super::frame_writer::{FrameWriter, Target};
use super::table::{self, Header, IndexEntry, REPLACED, StoredOutcome};
use crate::{Error, SurveyOutcome};
use record::{Call, Message, Row};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A copy of which more than half was replaced is repacked, unless it is too small to matter.
const MIN_REPACK_BYTES: u64 = 1024 * 1024;

/// Writes the copy of one transcript.
pub struct ArchiveWriter {
    writer: FrameWriter,
    header: Header,
    /// The position in the writer's index of the current entry of each ordinal.
    latest: FxHashMap<u32, usize>,
    failed: Option<Error>,
}

impl ArchiveWriter {
    pub(super) fn new(target: Target, header: Header) -> ArchiveWriter {
        let writer = FrameWriter::new(target);
        ArchiveWriter { writer, header, latest: FxHashMap::default(), failed: None }
    }

    /// Takes over the entries before `from`, all of which must be intact.
    pub(super) fn continue_from(
        archive: &Archive,
        target: Target,
        header: Header,
        from: u32,
    ) -> Result<ArchiveWriter, Error> {
        let damaged = |what| Error::Damaged { path: archive.path.clone(), what };
        if !archive.table.header.keys_match() {
            return Err(damaged("its row keys are from another version"));
        }
        let marks = archive.read_index()?;
        let mut keeper = ArchiveWriter::new(target, header);
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
    ) -> Result<ArchiveWriter, Error> {
        let mut keeper = ArchiveWriter::new(target, header);
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
        for (at, mark) in self.writer.marks.iter().enumerate().filter(|(_, mark)| mark.ordinal != REPLACED) {
            self.latest.insert(mark.ordinal, at);
        }
    }

    /// How many entries the copy has so far.
    pub fn entry_count(&self) -> u32 {
        self.latest.len() as u32
    }

    /// Whether the entry exists with exactly this row, so that its record need not be read again.
    pub fn has_entry(&self, ordinal: u32, row: &Row, name: &str) -> bool {
        let mark = self.latest.get(&ordinal).map(|at| self.writer.marks[*at]);
        mark.is_some_and(|mark| {
            row_fingerprint(&RowLine::new(ordinal, row, name)).is_ok_and(|print| print == mark.fingerprint)
        })
    }

    /// Adds a message; `name` is its model. Replaces an existing entry. The greatest ordinal, `u32::MAX`, is
    /// reserved.
    pub fn add_message(&mut self, ordinal: u32, row: &Row, name: &str, message: &Message) {
        self.add_entry(&RowLine::new(ordinal, row, name), &MessageLine::from(message));
    }

    /// Adds a call; `name` is its tool. A result without a call is stored as a call with only the result's
    /// values.
    pub fn add_call(&mut self, ordinal: u32, row: &Row, name: &str, call: &Call) {
        self.add_entry(&RowLine::new(ordinal, row, name), &CallLine::from(call));
    }

    /// Removes an entry that the transcript no longer has.
    pub fn drop_entry(&mut self, ordinal: u32) {
        if let Some(at) = self.latest.remove(&ordinal) {
            self.writer.marks[at].ordinal = REPLACED;
        }
    }

    /// Removes every entry from `from` on: the transcript has become shorter.
    pub fn truncate_from(&mut self, from: u32) {
        for mark in self.writer.marks.iter_mut().filter(|mark| mark.ordinal >= from) {
            mark.ordinal = REPLACED;
        }
        self.latest.retain(|ordinal, _| *ordinal < from);
    }

    /// Errors are reported by `finish`: a survey cannot handle them.
    fn add_entry(&mut self, head: &RowLine<'_>, record: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        self.drop_entry(head.ordinal);
        self.latest.insert(head.ordinal, self.writer.marks.len());
        self.failed = self.writer.add_entry(head, record).err();
    }

    /// Completes the copy and makes it visible. Returns its size.
    pub fn finish(self, facts: &SurveyOutcome) -> Result<u64, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (dead, all) = self.writer.replaced_bytes();
        let mut finished = self.writer.finish(self.header, StoredOutcome::from(facts))?;
        if dead * 2 > all
            && all > MIN_REPACK_BYTES
            && let Some((path, target)) = finished.file()
        {
            finished = forget::repack_file(path, target)?;
        }
        finished.publish()
    }
}

fn row_fingerprint(head: &RowLine<'_>) -> serde_json::Result<u64> {
    let mut line = serde_json::to_vec(head)?;
    line.push(b'\n');
    Ok(table::fnv1a_64(&line))
}
