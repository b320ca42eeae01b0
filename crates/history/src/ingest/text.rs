//! Reads and masks new records, writes them to the archive and sends their text to the index writer.
//!
//! Does not write to the catalogue or the index.

use super::{ReaderMessage, Surveyed, archive_problem};
use crate::freshness::{self, State};
use crate::tombstones::Tombstones;
use crate::{History, search_text};
use catalogue::{ApplyOutcome, ChangedEvent, event_id};
use os::files::FileExt;
use record::{Call, Message, Row, RowKind};
use search::{Doc, Part};
use sources::archive::{ArchiveWriter, Mask, Store};
use sources::{Names, Transcript, line_reader};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A document for the text index.
pub(super) struct IndexDocument {
    pub(super) event: u64,
    /// The length of the text that it replaces in the index.
    pub(super) replaced: Option<usize>,
    file: u32,
    chat: u32,
    turn: u64,
    part: Part,
    at: i64,
    text: String,
}

impl IndexDocument {
    pub(super) fn to_doc(&self) -> Doc<'_> {
        Doc {
            file: self.file,
            chat: self.chat,
            event: self.event,
            turn: self.turn,
            part: self.part,
            at: self.at,
            text: &self.text,
        }
    }
}

/// Text bytes per message to the writer.
const PORTION: usize = 512 * 1024;

pub(super) struct RecordReader<'t> {
    pub(super) history: History<'t>,
    pub(super) store: Store,
    pub(super) names: &'t Names,
    pub(super) tombstones: Tombstones,
}

/// A record read in full.
pub(super) enum Record {
    Message(Message),
    Call(Call),
}

impl RecordReader<'_> {
    /// Reads the new records of a transcript that was just surveyed. None: the writer has stopped.
    pub(super) fn read_new(
        &self,
        surveyed: &Surveyed,
        applied: &ApplyOutcome,
        send: &SyncSender<ReaderMessage>,
    ) -> Option<()> {
        let mask = |text: &str| self.history.mask_again(text);
        let mut sender = TextSender::new(self, &surveyed.transcript, &surveyed.rows, applied, send);
        sender.keeper = match self.open_archive_writer(surveyed, &mask).transpose() {
            Ok(keeper) => keeper,
            Err(error) => {
                report_archive_error(&surveyed.transcript, &error, send)?;
                None
            }
        };
        let names = self.names.to_vec();
        let mut fresh = applied.changed_events.iter().peekable();
        for (ordinal, row) in surveyed.rows.iter().enumerate() {
            let name = names.get(row.name as usize).map_or("", |name| &**name);
            let new = fresh.next_if(|fresh| fresh.ordinal == ordinal as u32).copied();
            let kept =
                sender.keeper.as_ref().is_none_or(|keeper| keeper.has_entry(ordinal as u32, row, name));
            let unread = ChangedEvent { ordinal: ordinal as u32, indexed: false, replaces: false };
            if new.is_some_and(|new| new.indexed) || !kept {
                sender.send_row(new.unwrap_or(unread), row, name)?;
            }
        }
        let keeper = sender.keeper.take();
        sender.finish()?;
        match keeper.map(|keeper| keeper.finish(&surveyed.facts)) {
            Some(Err(error)) => report_archive_error(&surveyed.transcript, &error, send),
            Some(Ok(written)) => send.send(ReaderMessage::Archived(applied.file, written)).ok(),
            None => Some(()),
        }
    }

    /// Indexes again what the catalogue has of a transcript.
    pub(super) fn read_again(
        &self,
        transcript: &Transcript,
        rows: &[Row],
        applied: &ApplyOutcome,
        send: &SyncSender<ReaderMessage>,
    ) -> Option<()> {
        let mut sender = TextSender::new(self, transcript, rows, applied, send);
        for fresh in &applied.changed_events {
            if let Some(row) = rows.get(fresh.ordinal as usize) {
                sender.send_row(*fresh, row, "")?;
            }
        }
        sender.finish()
    }

    /// The archive writer for a transcript. None for transcripts that are archived copies themselves, that contain a forgotten
    /// session, or of which there is nothing and never was.
    fn open_archive_writer<'m>(
        &self,
        surveyed: &Surveyed,
        mask: Mask<'m>,
    ) -> Option<Result<ArchiveWriter<'m>, sources::Error>> {
        let transcript = &surveyed.transcript;
        let forgotten =
            surveyed.facts.sessions.iter().any(|s| self.tombstones.contains(s.source, &s.session_id));
        if freshness::is_archived_copy(transcript) || forgotten {
            return None;
        }
        if surveyed.rows.is_empty() && !self.store.has_copy(transcript) {
            return None;
        }
        let opened = match surveyed.state {
            State::Grown(..) => self.store.continue_copy(transcript, Some(mask)),
            _ => self.store.unite_copy(transcript, Some(mask)),
        };
        Some(opened.map(|mut writer| {
            writer.align_sessions(&surveyed.facts.sessions);
            writer
        }))
    }

    pub(super) fn read_record(&self, transcript: &Transcript, row: &Row) -> Result<Record, sources::Error> {
        match row.row {
            RowKind::Message => {
                sources::fetch_message(transcript, row).map(|m| Record::Message(self.history.mask_message(m)))
            }
            // The call that belongs to a lone result, with its input, is in another file.
            RowKind::Result => Ok(Record::Call(Call { status: row.status(), ..Call::default() })),
            RowKind::Call => sources::fetch_call(transcript, transcript, row)
                .map(|c| Record::Call(self.history.mask_call(c))),
        }
    }
}

/// A full disk or a damaged database ends the run; any other archive error is reported and costs only that copy.
fn report_archive_error(
    transcript: &Transcript,
    error: &sources::Error,
    send: &SyncSender<ReaderMessage>,
) -> Option<()> {
    if error.is_disk_full() || error.is_damaged_database() {
        let _ = send.send(ReaderMessage::Failed(super::copies::archive_error(error)));
        return None;
    }
    send.send(ReaderMessage::Problem(archive_problem(transcript, error))).ok()
}

/// Collects the texts of one transcript and sends them to the writer.
struct TextSender<'t> {
    reader: &'t RecordReader<'t>,
    transcript: &'t Transcript,
    applied: &'t ApplyOutcome,
    /// The position of each row among those with text, from 1: the title comes first.
    turns: Vec<u32>,
    send: &'t SyncSender<ReaderMessage>,
    keeper: Option<ArchiveWriter<'t>>,
    documents: Vec<IndexDocument>,
    pending_bytes: usize,
    touched: Vec<(u32, String)>,
}

impl<'t> TextSender<'t> {
    fn new(
        teller: &'t RecordReader<'t>,
        transcript: &'t Transcript,
        rows: &[Row],
        applied: &'t ApplyOutcome,
        send: &'t SyncSender<ReaderMessage>,
    ) -> TextSender<'t> {
        let (keeper, told, touched) = (None, Vec::new(), Vec::new());
        TextSender {
            reader: teller,
            transcript,
            applied,
            turns: count_turns(rows),
            send,
            keeper,
            documents: told,
            pending_bytes: 0,
            touched,
        }
    }

    fn send_row(&mut self, fresh: ChangedEvent, row: &Row, name: &str) -> Option<()> {
        match self.reader.read_record(self.transcript, row) {
            Ok(record) => self.send_record(fresh, row, name, record),
            Err(error) => {
                let problem = crate::scan::read_problem(self.transcript, &error);
                self.send.send(ReaderMessage::Problem(problem)).ok()
            }
        }
    }

    fn send_record(&mut self, fresh: ChangedEvent, row: &Row, name: &str, record: Record) -> Option<()> {
        let ordinal = fresh.ordinal;
        if let Some(keeper) = &mut self.keeper {
            match &record {
                Record::Message(message) => keeper.add_message(ordinal, row, name, message),
                Record::Call(call) => keeper.add_call(ordinal, row, name, call),
            }
        }
        let (part, text, before) = match record {
            Record::Message(message) => {
                let text = search_text::shorten_text(message.text);
                let before = text.len();
                (search_text::part_of(row.kind()), text, before)
            }
            Record::Call(mut call) => {
                let part = search_text::part_of_call(&call);
                let text = search_text::call_text(&call);
                self.touched.extend(call.file.take().map(|file| (ordinal, file)));
                // A call is indexed a second time when it has its result.
                (call.output, call.error) = (None, None);
                (part, text, search_text::call_text(&call).len())
            }
        };
        if !fresh.indexed || text.is_empty() {
            return Some(());
        }
        self.pending_bytes += text.len();
        self.documents.push(IndexDocument {
            event: event_id(self.applied.file, ordinal),
            replaced: fresh.replaces.then_some(before),
            file: self.applied.file,
            turn: event_id(self.applied.file, self.turns.get(ordinal as usize).copied().unwrap_or_default()),
            chat: self.applied.chats.get(row.session as usize).copied().unwrap_or_default(),
            part,
            at: row.at.0.max(0),
            text,
        });
        if self.pending_bytes > PORTION { self.flush() } else { Some(()) }
    }

    fn flush(&mut self) -> Option<()> {
        self.pending_bytes = 0;
        self.send.send(ReaderMessage::Documents(std::mem::take(&mut self.documents))).ok()
    }

    fn finish(mut self) -> Option<()> {
        self.flush()?;
        let touched = std::mem::take(&mut self.touched);
        self.send.send(ReaderMessage::Touched(self.applied.file, touched)).ok()
    }
}

/// The position of each row among those with text, from 1. It depends on the transcript alone, and not on which of its events
/// were indexed before.
fn count_turns(rows: &[Row]) -> Vec<u32> {
    let mut turn = 0;
    let count = |row: &Row| {
        turn += u32::from(search_text::is_searchable(row));
        turn
    };
    rows.iter().map(count).collect()
}

/// The end of the last complete line within the first `read_new` bytes. None for transcripts that are not files of lines.
pub(super) fn last_line_end(transcript: &Transcript, read: u64) -> Option<u64> {
    const STEP: u64 = 64 * 1024;
    if transcript.part.is_some() || read == 0 {
        return None;
    }
    let file = line_reader::open_regular(&transcript.path).ok()?;
    let mut end = read;
    while end > 0 {
        let from = end.saturating_sub(STEP);
        let mut bytes = vec![0; (end - from) as usize];
        file.read_exact_at(&mut bytes, from).ok()?;
        if let Some(at) = memchr::memrchr(b'\n', &bytes) {
            return Some(from + at as u64 + 1);
        }
        end = from;
    }
    None
}

/// Shared between a reader thread and the writer.
pub(super) type Shared = Arc<Surveyed>;
