//! Extracts what a session was about from its transcript alone: the first and the last prompt, the changed files and the
//! final reply. Deterministic.
//!
//! Does not interpret the text, and does not know memory.

use crate::{History, transcripts};
use catalogue::{EventFilter, ListedSession, Reader};
use record::{Kind, Row, RowKind, Stamp, Status};
use sources::Transcript;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excerpt {
    pub asked: String,
    /// The last prompt, if it is not the first.
    pub last: String,
    pub files: Vec<String>,
    pub ended: String,
}

/// Characters of each part: together well below the ten thousand at which an agent truncates.
const ASKED: usize = 400;
const ENDED: usize = 1200;
/// Files listed, and calls read to find them.
const FILES: usize = 8;
const CALLS: usize = 24;
/// Tools that change files, of all agents.
const WRITERS: &[&str] = &[
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "apply_patch",
    "write_file",
    "replace",
    "edit",
    "write",
    "patch",
];

impl History<'_> {
    pub fn read_excerpt(&self, reader: &Reader, chat: &ListedSession) -> Option<Excerpt> {
        let stored = reader.file_by_id(chat.file).ok()??;
        let transcript = transcripts::as_readable(self, &stored)?;
        let rows = session_rows(reader, chat)?;
        let text_of =
            |row: &Row| Some(self.read_text(&transcript, row)?.1).filter(|text| !text.trim().is_empty());
        let prompts: Vec<&Row> = rows.iter().filter(|row| is_message_of(row, Kind::Prompt)).collect();
        let asked = prompts.iter().find_map(|row| text_of(row)).unwrap_or_default();
        let last = prompts.iter().skip(1).rev().find_map(|row| text_of(row)).unwrap_or_default();
        // A reply before the last prompt is not the final reply.
        let end = rows.iter().rev().take_while(|row| !is_message_of(row, Kind::Prompt));
        let ended = end.filter(|row| is_message_of(row, Kind::Reply)).find_map(text_of).unwrap_or_default();
        Some(Excerpt {
            asked: truncate_line(&asked, ASKED),
            last: truncate_line(&last, ASKED),
            files: self.changed_files(reader, &transcript, &rows),
            ended: truncate_line(&ended, ENDED),
        })
    }

    /// The files changed last, by the last two components of their paths.
    fn changed_files(&self, reader: &Reader, transcript: &Transcript, rows: &[Row]) -> Vec<String> {
        let names = reader.all_names().unwrap_or_default();
        let writers: BTreeSet<u32> = names
            .iter()
            .filter(|(_, name)| WRITERS.contains(&name.as_str()))
            .map(|(id, _)| *id as u32)
            .collect();
        // A failed or denied edit has changed nothing.
        let wrote = |row: &&Row| writers.contains(&row.name) && row.status() != Status::Error;
        let calls = rows.iter().rev().filter(|row| row.row == RowKind::Call).filter(wrote);
        let mut files: Vec<String> = Vec::new();
        for row in calls.take(CALLS) {
            let row = Row { file: 0, end_file: 0, ..*row };
            let call =
                sources::fetch_call(transcript, transcript, &row).ok().map(|call| self.mask_call(call));
            let Some(path) = call.and_then(|call| call.file) else { continue };
            let name = last_components(&path);
            if !files.contains(&name) && files.len() < FILES {
                files.push(name);
            }
        }
        files
    }
}

/// The rows within the session's time range, in order.
fn session_rows(reader: &Reader, chat: &ListedSession) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let (from, to) = (chat.session.started_at, chat.session.ended_at);
    let within = |at: Stamp| !at.is_some() || (from.or(at) <= at && at <= to.or(at));
    reader
        .for_each_row(&[chat.file], EventFilter::All, |row| {
            if within(row.at) {
                rows.push(row);
            }
            Ok(())
        })
        .ok()?;
    Some(rows)
}

fn is_message_of(row: &Row, kind: Kind) -> bool {
    row.row == RowKind::Message && row.kind() == kind
}

/// The last two components of a path are enough to recognise a file.
fn last_components(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}

/// Truncates to one line of at most `most` characters, ending in `…` if shortened.
pub fn truncate_line(text: &str, most: usize) -> String {
    let line = api::terminal_text::one_line(text);
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
