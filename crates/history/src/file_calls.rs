//! The calls that touched one file, straight from the catalogue, for a hook: it has no time to look at every transcript.
//!
//! Calls that are not indexed yet are missing. Does not know what a call did to the file.

use crate::{History, catalogue_cache, transcripts};
use catalogue::{EventFilter, Reader};
use record::{Call, Kind, Row, RowKind};
use rustc_hash::FxHashMap;
use sources::Transcript;
use std::path::PathBuf;

/// A call, and the session that made it.
#[derive(Clone, Debug)]
pub struct FileCall {
    pub row: Row,
    pub tool: String,
    pub session_id: String,
    /// Whether the person went back to before it.
    pub is_abandoned: bool,
}

/// The latest calls on a file, newest first, and what is around them.
pub struct FileCalls<'h> {
    history: History<'h>,
    reader: Reader,
    names: FxHashMap<u32, String>,
    transcripts: FxHashMap<u32, Transcript>,
    pub calls: Vec<FileCall>,
}

impl<'h> FileCalls<'h> {
    /// The calls on a file with this path inside the folders of a project. None: nothing is indexed, or nothing touched it.
    pub fn load(history: History<'h>, folders: &[PathBuf], file: &str, most: u32) -> Option<FileCalls<'h>> {
        let reader = catalogue_cache::open_catalogue(&history)?;
        let mut paths = vec![file.to_string(), format!("./{file}")];
        paths.extend(folders.iter().map(|folder| folder.join(file).to_string_lossy().into_owned()));
        let rows = reader.calls_on_file(&paths, most).ok().filter(|rows| !rows.is_empty())?;
        let names = reader.all_names().ok()?.into_iter().map(|(id, name)| (id as u32, name)).collect();
        let (transcripts, calls) = (FxHashMap::default(), Vec::new());
        let mut found = FileCalls { history, reader, names, transcripts, calls };
        let mut sessions = FxHashMap::default();
        for row in rows {
            let session = sessions.entry((row.file, row.session)).or_insert_with(|| found.open(&row));
            let Some((session_id, abandoned)) = session else { continue };
            let is_abandoned = row.session == 0 && abandoned.contains(&row.turn);
            let (tool, session_id) = (found.tool(&row).to_string(), session_id.clone());
            found.calls.push(FileCall { row, tool, session_id, is_abandoned });
        }
        Some(found)
    }

    /// The session of a row and its abandoned turns. An archived copy can only be read from its beginning, which takes too long.
    fn open(&mut self, row: &Row) -> Option<(String, Vec<u32>)> {
        let stored = self.reader.file_by_id(row.file).ok()?.filter(|stored| !stored.gone)?;
        self.transcripts.insert(row.file, transcripts::as_readable(&self.history, &stored)?);
        self.reader.session_at(row.file, row.session).ok()?
    }

    pub fn tool(&self, row: &Row) -> &str {
        self.names.get(&row.name).map_or("", String::as_str)
    }

    /// A call without its output, unmasked: masked text would not match the file.
    pub fn read_call(&self, row: &Row) -> Option<Call> {
        let transcript = self.transcripts.get(&row.file)?;
        let row = Row { file: 0, end_file: 0, end: Row::NO_END, ..*row };
        sources::fetch_call(transcript, transcript, &row).ok()
    }

    /// The calls of the session of this one that came after it, those that failed or all.
    pub fn later_calls(&self, call: &Row, only_failed: bool) -> Vec<Row> {
        let pick = if only_failed { EventFilter::Failures } else { EventFilter::Calls };
        let is_later = |row: &Row| row.session == call.session && row.start > call.start;
        self.rows(call.file, pick, |row| row.row == RowKind::Call && is_later(row))
    }

    /// What the person had asked for last before a call, masked.
    pub fn prompt(&self, call: &Row) -> Option<String> {
        let is_prompt = |row: &Row| row.row == RowKind::Message && row.kind() == Kind::Prompt;
        let is_earlier = |row: &Row| row.session == call.session && row.start < call.start;
        let asked = self.rows(call.file, EventFilter::Messages, |row| is_prompt(row) && is_earlier(row));
        let transcript = self.transcripts.get(&call.file)?;
        Some(self.history.read_text(transcript, asked.last()?)?.1)
    }

    fn rows(&self, file: u32, pick: EventFilter, is_meant: impl Fn(&Row) -> bool) -> Vec<Row> {
        let mut rows = Vec::new();
        let read = self.reader.for_each_row(&[file], pick, |row| {
            if is_meant(&row) {
                rows.push(row);
            }
            Ok(())
        });
        read.map(|()| rows).unwrap_or_default()
    }
}
