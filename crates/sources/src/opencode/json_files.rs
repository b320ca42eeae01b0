//! opencode's sessions as JSON files, its format before it had a database: one file per session, message and
//! part of a message, `storage/{session/<project>,message/<session>,part/<message>}/<id>.json`.
//!
//! Does not know the meaning of a message.

use super::{StoredMessage, StoredSession};
use crate::conversation::{Conversation, value};
use crate::lines::MAX_LINE;
use crate::{Error, line_reader};
use record::ProblemKind;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(super) fn read_stored_session(
    path: &Path,
    session: &str,
    conversation: &mut Conversation,
) -> Result<StoredSession, Error> {
    line_reader::open_regular(path)?; // a missing session is an error, a damaged one still has its messages
    let mut stored =
        StoredSession { session: read_object(path, conversation).unwrap_or_default(), messages: Vec::new() };
    let Some(storage) = path.ancestors().nth(3) else { return Ok(stored) };
    for path in list_json_files(&storage.join("message").join(session), conversation) {
        let parts = storage.join("part").join(path.file_stem().unwrap_or_default());
        let Some(message) = read_object(&path, conversation) else { continue };
        let parts = list_json_files(&parts, conversation);
        let parts = parts.iter().filter_map(|part| read_object(part, conversation)).collect();
        stored.messages.push(StoredMessage { message, parts });
    }
    Ok(stored)
}

/// The JSON files of a folder, ordered by name, which is their order of creation.
fn list_json_files(folder: &Path, conversation: &mut Conversation) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(e) => {
            conversation.add_problem(ProblemKind::Unreadable, format!("{}: {e}", folder.display()));
            return Vec::new();
        }
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    paths.sort();
    paths
}

fn read_object(path: &Path, conversation: &mut Conversation) -> Option<Value> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let why = match read_file(path, conversation) {
        Ok(bytes) => match value::parse_entry(&bytes, &mut conversation.coverage) {
            Ok(object @ Value::Object(_)) => return Some(object),
            Ok(_) => "not an object".to_string(),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    conversation.add_problem(ProblemKind::BadLine, format!("{name}: {why}"));
    None
}

fn read_file(path: &Path, conversation: &mut Conversation) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = line_reader::open_regular(path)?.take(MAX_LINE as u64).read_to_end(&mut bytes);
    read.map_err(|error| Error::Io { path: path.to_path_buf(), error })?;
    conversation.coverage.bytes += bytes.len() as u64;
    Ok(bytes)
}
