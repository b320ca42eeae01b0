//! opencode: sessions in `opencode.db` (1.18) or in the folder of small JSON files that preceded it (1.0).
//!
//! A fork is a copy under new IDs that does not name its original; it is recognised by the properties that
//! stay the same. Does not know which part of a session was undone by `/undo`.

mod database;
mod json_files;
mod parse;

use crate::conversation::{self, Conversation};
use crate::walk::{TranscriptList, walk_files};
use crate::{Environment, Error, FileStamp, Source, Survey, Transcript};
use record::{Call, Message, Row};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub struct OpenCode;

impl Source for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[] // XDG_DATA_HOME moves it, which moves more than opencode
    }

    fn default_roots(&self, places: &Environment) -> Vec<PathBuf> {
        vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("opencode")]
    }

    fn list_transcripts(&self, root: &Path, found: &mut TranscriptList) {
        for path in find_databases(root) {
            if let Err(error) = database::list_sessions(root, &path, found) {
                found.add_problem(&path, &error);
            }
        }
        walk_files(&root.join("storage/session"), found, &mut |path, meta, found| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            if stem.starts_with("ses_") && path.extension().is_some_and(|e| e == "json") {
                found.add_file(path.to_path_buf(), meta, &stem, root);
                // Its messages are in a file each, in another folder.
                let newest = newest_change(&root.join("storage/message").join(&*stem));
                if let Some(added) = found.transcripts.last_mut() {
                    added.file_stamp.changed = added.file_stamp.changed.max(newest);
                }
            }
        });
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        conversation::survey_conversation(&load_session(transcript)?, survey);
        Ok(())
    }

    fn fetch_call(&self, transcript: &Transcript, _result: &Transcript, row: &Row) -> Result<Call, Error> {
        conversation::fetch_call(transcript, row, load_session)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        conversation::fetch_message(transcript, row, load_session)
    }
}

/// When a message of the session was last added or rewritten.
fn newest_change(messages: &Path) -> i64 {
    let changed = |meta: std::fs::Metadata| FileStamp::from_metadata(&meta).changed;
    let entries = std::fs::read_dir(messages).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).map(changed).max();
    std::fs::metadata(messages).map_or(0, changed).max(files.unwrap_or(0))
}

/// `opencode.db`, and `opencode-<channel>.db` of builds other than releases.
fn find_databases(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("opencode") && path.extension().is_some_and(|e| e == "db") && path.is_file()
    };
    paths.filter(named).collect()
}

/// A stored session, from either format; keys are those of the JSON files.
#[derive(Default)]
struct StoredSession {
    session: Value,
    messages: Vec<StoredMessage>,
}

struct StoredMessage {
    message: Value,
    parts: Vec<Value>,
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let session = record::Session::new("opencode", &transcript.hint);
    let mut conversation = Conversation::new(session);
    let stored = match &transcript.part {
        Some(session) => database::read_stored_session(&transcript.path, session, &mut conversation)?,
        None => json_files::read_stored_session(&transcript.path, &transcript.hint, &mut conversation)?,
    };
    parse::parse_session(&stored, &mut conversation);
    Ok(conversation)
}
