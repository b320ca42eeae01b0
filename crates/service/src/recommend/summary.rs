//! What was an earlier conversation about, in a few sentences? What memory keeps of it; where that is nothing, what is there
//! already: what the person asked first and last, the files that were changed, and how it ended. Free, and the same every
//! time.
//!
//! Does not understand any of it.

use crate::{Service, remembered};
use catalogue::{Chat, Pick, Reader};
use record::{Kind, Row, RowKind, Stamp, Status};
use sources::Transcript;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// What memory says; then the rest is empty.
    pub(crate) kept: String,
    pub(crate) asked: String,
    /// The last thing that was asked, where it is another.
    pub(crate) last: String,
    pub(crate) files: Vec<String>,
    pub(crate) ended: String,
    /// A summary that a person wrote.
    pub(crate) by_person: String,
}

/// Characters of each part: together well below what an agent cuts off (ten thousand).
const ASKED: usize = 400;
const ENDED: usize = 1200;
const PREVIEW: usize = 200;
/// Files that are named, and calls that are read to find them.
const FILES: usize = 8;
const CALLS: usize = 24;
/// Tools that change files, whatever their agent.
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

impl Service {
    /// What memory keeps of a session, or else what can be told from its transcript.
    pub(crate) fn told_of(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary.text);
        match kept.filter(|text| !text.trim().is_empty()) {
            Some(kept) => Summary { kept, ..Summary::default() },
            None => self.read_summary(reader, chat).unwrap_or_default(),
        }
    }

    /// What a session may be told of itself unasked.
    pub(crate) fn own_told(&self, reader: &Reader, chat: &Chat) -> Summary {
        let kept = self.remembered(&chat.session.session_id).map(|known| known.summary);
        let by_person = kept.filter(|words| words.by == memory::By::Person).map(|words| words.text);
        let read = self.read_summary(reader, chat).unwrap_or_default();
        Summary { by_person: by_person.unwrap_or_default(), ..read }
    }

    /// What memory keeps of a session, under its whole id.
    pub(crate) fn remembered(&self, session: &str) -> Option<memory::Remembered> {
        let store = remembered::look(self).ok()??;
        store.sessions(session).ok()?.into_iter().find(|known| known.session_id == session)
    }

    fn read_summary(&self, reader: &Reader, chat: &Chat) -> Option<Summary> {
        let stored = reader.file(chat.file).ok()??;
        let transcript = crate::kept::as_readable(self, &stored)?;
        let rows = rows(reader, chat)?;
        let said = |row: &Row| Some(self.said(&transcript, row)?.1).filter(|text| !text.trim().is_empty());
        let prompts: Vec<&Row> = rows.iter().filter(|row| is(row, Kind::Prompt)).collect();
        let asked = prompts.iter().find_map(|row| said(row)).unwrap_or_default();
        let last = prompts.iter().skip(1).rev().find_map(|row| said(row)).unwrap_or_default();
        // A reply that came before the last request is no end.
        let end = rows.iter().rev().take_while(|row| !is(row, Kind::Prompt));
        let ended = end.filter(|row| is(row, Kind::Reply)).find_map(said).unwrap_or_default();
        Some(Summary {
            by_person: String::new(),
            asked: cut(&asked, ASKED),
            last: cut(&last, ASKED),
            files: self.files(reader, &transcript, &rows),
            ended: cut(&ended, ENDED),
            kept: String::new(),
        })
    }

    /// The files that were changed last, by the end of their paths.
    fn files(&self, reader: &Reader, transcript: &Transcript, rows: &[Row]) -> Vec<String> {
        let names = reader.names().unwrap_or_default();
        let writers: BTreeSet<u32> = names
            .iter()
            .filter(|(_, name)| WRITERS.contains(&name.as_str()))
            .map(|(id, _)| *id as u32)
            .collect();
        // An edit that failed or was not allowed has changed nothing.
        let wrote = |row: &&Row| writers.contains(&row.name) && row.status() != Status::Error;
        let calls = rows.iter().rev().filter(|row| row.row == RowKind::Call).filter(wrote);
        let mut files: Vec<String> = Vec::new();
        for row in calls.take(CALLS) {
            let row = Row { file: 0, end_file: 0, ..*row };
            let call = sources::call(transcript, transcript, &row).ok().map(|call| self.masked_call(call));
            let Some(path) = call.and_then(|call| call.file) else { continue };
            let name = short(&path);
            if !files.contains(&name) && files.len() < FILES {
                files.push(name);
            }
        }
        files
    }
}

/// What belongs to the conversation itself, in its order.
fn rows(reader: &Reader, chat: &Chat) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let (from, to) = (chat.session.started_at, chat.session.ended_at);
    let within = |at: Stamp| !at.is_some() || (from.or(at) <= at && at <= to.or(at));
    reader
        .rows(&[chat.file], Pick::All, |row| {
            if within(row.at) {
                rows.push(row);
            }
            Ok(())
        })
        .ok()?;
    Some(rows)
}

fn is(row: &Row, kind: Kind) -> bool {
    row.row == RowKind::Message && row.kind() == kind
}

/// The last two parts of a path tell which file.
fn short(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}

/// On one line, and said where it is cut.
fn cut(text: &str, most: usize) -> String {
    let line = api::terminal_text::one_line(text);
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

impl Summary {
    /// What is shown of it beforehand.
    pub(crate) fn preview(&self) -> String {
        let texts = [&self.kept, &self.ended, &self.asked];
        texts.into_iter().find(|text| !text.is_empty()).map_or_else(String::new, |text| cut(text, PREVIEW))
    }

    /// What the person said and which files were touched: what a session may be told of itself unasked. A summary stands here
    /// only if a person wrote it: one that was made holds what agents and tools said.
    pub(crate) fn own_words(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.by_person.lines().map(String::from).collect();
        for (label, text) in [("Asked first", &self.asked), ("Asked last", &self.last)] {
            if !text.is_empty() {
                lines.push(format!("{label}: {text}"));
            }
        }
        if !self.files.is_empty() {
            lines.push(format!("Files changed: {}", self.files.join(", ")));
        }
        lines
    }

    /// All of it, for who has asked for it.
    pub(crate) fn whole(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.kept.lines().map(String::from).collect();
        if lines.is_empty() {
            lines = self.own_words();
        }
        if !self.ended.is_empty() {
            lines.push(format!("It ended with: {}", self.ended));
        }
        lines
    }
}
