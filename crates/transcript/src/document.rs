//! A source whose conversations are loaded whole: a JSON file, a folder of small files, a Markdown file or some rows of
//! a database per conversation. The source names its store and loads one conversation; survey and fetch follow.
//!
//! Does not know any agent's format. A file is read only up to the length of the longest line.

use crate::conversation::{self, Conversation, value};
use crate::lines::{Lines, MAX_LINE, NextPiece};
use crate::{Error, Source, Store, Survey, Transcript, line_reader};
use record::{Call, Message, ProblemKind, Row};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A row in the table of sources, for conversations that are loaded whole.
pub struct Documents {
    pub store: Store,
    pub load: fn(&Transcript) -> Result<Conversation, Error>,
}

impl Source for Documents {
    crate::delegate_to_store!();

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        conversation::survey_conversation(&(self.load)(transcript)?, survey);
        Ok(())
    }

    fn fetch_call(&self, transcript: &Transcript, _result: &Transcript, row: &Row) -> Result<Call, Error> {
        conversation::fetch_call(transcript, row, self.load)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        conversation::fetch_message(transcript, row, self.load)
    }
}

/// Reads the JSON object that is the whole transcript. A missing file is an error, a damaged one is counted.
pub fn read_document(path: &Path, conversation: &mut Conversation) -> Result<Option<Value>, Error> {
    let bytes = read_bytes(path)?;
    conversation.coverage.bytes += bytes.len() as u64;
    if bytes.len() > MAX_LINE {
        conversation.add_problem(ProblemKind::LineTooLong, format!("more than {MAX_LINE} bytes"));
        return Ok(None);
    }
    let why = match value::parse_entry(&bytes, &mut conversation.coverage) {
        Ok(document @ (Value::Object(_) | Value::Array(_))) => return Ok(Some(document)),
        Ok(_) => "neither an object nor a list".to_string(),
        Err(error) => error.to_string(),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    conversation.add_problem(ProblemKind::BadLine, format!("{name}: {why}"));
    Ok(None)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = line_reader::open_regular(path)?.take(MAX_LINE as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::Io { path: path.to_path_buf(), error })?;
    Ok(bytes)
}

/// Reads a file with one JSON record per line; damaged, blank and unfinished lines are counted here.
pub fn read_records(
    path: &Path,
    conversation: &mut Conversation,
    each: &mut dyn FnMut(Value, &mut Conversation),
) -> Result<(), Error> {
    let mut lines = Lines::new(line_reader::open_regular(path)?);
    loop {
        match lines.next_piece().map_err(|error| Error::Io { path: path.to_path_buf(), error })? {
            NextPiece::End => return Ok(()),
            NextPiece::TooLong(at, length) => {
                conversation.coverage.bytes += length;
                conversation.add_problem(ProblemKind::LineTooLong, format!("{length} bytes at {at}"));
            }
            NextPiece::Piece(piece) => {
                conversation.coverage.bytes += piece.bytes.len() as u64;
                let mut at = piece.offset;
                for line in piece.bytes.split_inclusive(|b| *b == b'\n') {
                    let open = piece.open && !line.ends_with(b"\n");
                    read_record(line, at, open, conversation, each);
                    at += line.len() as u64;
                }
            }
        }
    }
}

fn read_record(
    line: &[u8],
    at: u64,
    open: bool,
    conversation: &mut Conversation,
    each: &mut dyn FnMut(Value, &mut Conversation),
) {
    if line.iter().all(u8::is_ascii_whitespace) {
        conversation.coverage.lines += 1;
        conversation.coverage.blank += 1;
        return;
    }
    match value::parse_entry(line, &mut conversation.coverage) {
        Ok(entry) => each(entry, conversation),
        Err(error) => {
            let kind = if open { ProblemKind::Unfinished } else { ProblemKind::BadLine };
            conversation.add_problem(kind, format!("{} bytes at {at}: {error}", line.len()));
        }
    }
}

/// Reads a whole text file.
pub fn read_text(path: &Path, conversation: &mut Conversation) -> Result<String, Error> {
    let bytes = read_bytes(path)?;
    conversation.coverage.bytes += bytes.len() as u64;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files of a folder with this extension, ordered by name. Empty if there is no such folder.
pub fn list_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

/// The longest sidecar file: settings, an index, the state of one session.
const MAX_SIDECAR: u64 = 4 << 20;

/// A small file beside a transcript as text; anything else at that path is treated as missing.
pub fn read_sidecar_text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    line_reader::open_regular(path).ok()?.take(MAX_SIDECAR).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A small JSON file beside a transcript; null if it is missing or damaged.
pub fn read_sidecar(path: &Path) -> Value {
    read_sidecar_text(path).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
