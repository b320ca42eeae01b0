//! Reads and masks new records, writes them to the archive and sends their text to the index writer.
//!
//! Does not write to the catalogue or the index.

use super::{Heard, Surveyed, trouble};
use crate::freshness::{self, State};
use crate::tombstones::Tombstones;
use crate::{History, search_text};
use catalogue::{Applied, Fresh, event_id};
use record::{Call, Message, Row, RowKind};
use search::{Doc, Part};
use sources::archive::{Keeper, Store};
use sources::{Names, Transcript, place};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A document for the text index.
pub(super) struct Told {
    pub(super) event: u64,
    pub(super) replaces: bool,
    file: u32,
    chat: u32,
    part: Part,
    at: i64,
    text: String,
}

impl Told {
    pub(super) fn doc(&self) -> Doc<'_> {
        Doc {
            file: self.file,
            chat: self.chat,
            event: self.event,
            part: self.part,
            at: self.at,
            text: &self.text,
        }
    }
}

/// Text bytes per message to the writer.
const PORTION: usize = 512 * 1024;

pub(super) struct Teller<'t> {
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

impl Teller<'_> {
    /// Reads the new records of a transcript that was just surveyed. None: the writer has stopped.
    pub(super) fn read(
        &self,
        surveyed: &Surveyed,
        applied: &Applied,
        send: &SyncSender<Heard>,
    ) -> Option<()> {
        let mut sender = Telling::new(self, &surveyed.transcript, applied, send);
        sender.keeper = match self.keeper(surveyed).transpose() {
            Ok(keeper) => keeper,
            Err(error) => {
                failed(&surveyed.transcript, &error, send)?;
                None
            }
        };
        let names = self.names.list();
        let mut fresh = applied.fresh.iter().peekable();
        for (ordinal, row) in surveyed.rows.iter().enumerate() {
            let name = names.get(row.name as usize).map_or("", |name| &**name);
            let new = fresh.next_if(|fresh| fresh.ordinal == ordinal as u32).copied();
            let kept = sender.keeper.as_ref().is_none_or(|keeper| keeper.has(ordinal as u32, row, name));
            let unread = Fresh { ordinal: ordinal as u32, told: false, replaces: false };
            if new.is_some_and(|new| new.told) || !kept {
                sender.one(new.unwrap_or(unread), row, name)?;
            }
        }
        let keeper = sender.keeper.take();
        sender.finish()?;
        match keeper.map(|keeper| keeper.finish(&surveyed.facts)) {
            Some(Err(error)) => failed(&surveyed.transcript, &error, send),
            _ => Some(()),
        }
    }

    /// Indexes again what the catalogue has of a transcript.
    pub(super) fn retell(
        &self,
        transcript: &Transcript,
        rows: &[Row],
        applied: &Applied,
        send: &SyncSender<Heard>,
    ) -> Option<()> {
        let mut sender = Telling::new(self, transcript, applied, send);
        for fresh in &applied.fresh {
            if let Some(row) = rows.get(fresh.ordinal as usize) {
                sender.one(*fresh, row, "")?;
            }
        }
        sender.finish()
    }

    /// The archive writer for a transcript. None for transcripts that are archived copies themselves, that have no rows, or
    /// that contain a forgotten session.
    fn keeper(&self, surveyed: &Surveyed) -> Option<Result<Keeper, sources::Error>> {
        let transcript = &surveyed.transcript;
        let forgotten =
            surveyed.facts.sessions.iter().any(|s| self.tombstones.holds(s.source, &s.session_id));
        if freshness::is_kept(transcript) || surveyed.rows.is_empty() || forgotten {
            return None;
        }
        Some(match surveyed.state {
            State::Grown(..) => self.store.resume(transcript),
            _ => self.store.begin(transcript, 0),
        })
    }

    pub(super) fn record(&self, transcript: &Transcript, row: &Row) -> Result<Record, sources::Error> {
        match row.row {
            RowKind::Message => {
                sources::message(transcript, row).map(|m| Record::Message(self.history.masked_message(m)))
            }
            // The call that belongs to a lone result, with its input, is in another file.
            RowKind::Result => Ok(Record::Call(Call { status: row.status(), ..Call::default() })),
            RowKind::Call => {
                sources::call(transcript, transcript, row).map(|c| Record::Call(self.history.masked_call(c)))
            }
        }
    }
}

/// A full disk ends the run; any other archive error is reported and costs only that copy.
fn failed(transcript: &Transcript, error: &sources::Error, send: &SyncSender<Heard>) -> Option<()> {
    if let sources::Error::Io { path, error } = error
        && error.kind() == std::io::ErrorKind::StorageFull
    {
        let _ = send.send(Heard::Failed(crate::home::full(path)));
        return None;
    }
    send.send(Heard::Trouble(trouble(transcript, error))).ok()
}

/// Collects the texts of one transcript and sends them to the writer.
struct Telling<'t> {
    teller: &'t Teller<'t>,
    transcript: &'t Transcript,
    applied: &'t Applied,
    send: &'t SyncSender<Heard>,
    keeper: Option<Keeper>,
    told: Vec<Told>,
    held: usize,
    touched: Vec<(u32, String)>,
}

impl<'t> Telling<'t> {
    fn new(
        teller: &'t Teller<'t>,
        transcript: &'t Transcript,
        applied: &'t Applied,
        send: &'t SyncSender<Heard>,
    ) -> Telling<'t> {
        let (keeper, told, touched) = (None, Vec::new(), Vec::new());
        Telling { teller, transcript, applied, send, keeper, told, held: 0, touched }
    }

    fn one(&mut self, fresh: Fresh, row: &Row, name: &str) -> Option<()> {
        match self.teller.record(self.transcript, row) {
            Ok(record) => self.record(fresh, row, name, record),
            Err(error) => {
                let problem = crate::scan::problem(self.transcript, &error);
                self.send.send(Heard::Trouble(problem)).ok()
            }
        }
    }

    fn record(&mut self, fresh: Fresh, row: &Row, name: &str, record: Record) -> Option<()> {
        let ordinal = fresh.ordinal;
        if let Some(keeper) = &mut self.keeper {
            match &record {
                Record::Message(message) => keeper.message(ordinal, row, name, message),
                Record::Call(call) => keeper.call(ordinal, row, name, call),
            }
        }
        let (part, text) = match record {
            Record::Message(message) => {
                (search_text::part_of(row.kind()), search_text::shortened(message.text))
            }
            Record::Call(call) => {
                let part = search_text::part_of_call(&call);
                let text = search_text::of_call(&call);
                self.touched.extend(call.file.map(|file| (ordinal, file)));
                (part, text)
            }
        };
        if !fresh.told || text.is_empty() {
            return Some(());
        }
        self.held += text.len();
        self.told.push(Told {
            event: event_id(self.applied.file, ordinal),
            replaces: fresh.replaces,
            file: self.applied.file,
            chat: self.applied.chats.get(row.session as usize).copied().unwrap_or_default(),
            part,
            at: row.at.0.max(0),
            text,
        });
        if self.held > PORTION { self.flush() } else { Some(()) }
    }

    fn flush(&mut self) -> Option<()> {
        self.held = 0;
        self.send.send(Heard::Told(std::mem::take(&mut self.told))).ok()
    }

    fn finish(mut self) -> Option<()> {
        self.flush()?;
        let touched = std::mem::take(&mut self.touched);
        self.send.send(Heard::Touched(self.applied.file, touched)).ok()
    }
}

/// The end of the last complete line within the first `read` bytes. None for transcripts that are not files of lines.
pub(super) fn last_line_end(transcript: &Transcript, read: u64) -> Option<u64> {
    const STEP: u64 = 64 * 1024;
    if transcript.part.is_some() || read == 0 {
        return None;
    }
    let file = place::open(&transcript.path).ok()?;
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
