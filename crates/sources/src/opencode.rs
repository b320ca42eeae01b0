//! opencode: sessions in `opencode.db` (1.18) or in the folder of small JSON files that preceded it (1.0).
//!
//! A fork is a copy under new IDs that does not name its original; it is recognised by the properties that
//! stay the same. Does not know which part of a session was undone by `/undo`.

mod base;
mod folder;
mod tell;

use crate::conversation::{self, Conversation};
use crate::walk::{Found, files};
use crate::{Age, Error, Places, Source, Survey, Transcript};
use record::{Call, Message, Row};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub struct OpenCode;

impl Source for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[] // XDG_DATA_HOME moves it, which moves more than opencode
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.xdg("XDG_DATA_HOME", ".local/share").join("opencode")]
    }

    fn list(&self, root: &Path, found: &mut Found) {
        for path in databases(root) {
            if let Err(error) = base::list(root, &path, found) {
                found.problem(&path, &error);
            }
        }
        files(&root.join("storage/session"), found, &mut |path, meta, found| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            if stem.starts_with("ses_") && path.extension().is_some_and(|e| e == "json") {
                found.add(path.to_path_buf(), meta, &stem, root);
                // Its messages are in a file each, in another folder.
                let newest = newest(&root.join("storage/message").join(&*stem));
                if let Some(added) = found.transcripts.last_mut() {
                    added.age.changed = added.age.changed.max(newest);
                }
            }
        });
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        conversation::survey(&load(transcript)?, survey);
        Ok(())
    }

    fn call(&self, transcript: &Transcript, _result: &Transcript, row: &Row) -> Result<Call, Error> {
        conversation::call(transcript, row, load)
    }

    fn message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        conversation::message(transcript, row, load)
    }
}

/// When a message of the session was last added or rewritten.
fn newest(messages: &Path) -> i64 {
    let changed = |meta: std::fs::Metadata| Age::of(&meta).changed;
    let entries = std::fs::read_dir(messages).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).map(changed).max();
    std::fs::metadata(messages).map_or(0, changed).max(files.unwrap_or(0))
}

/// `opencode.db`, and `opencode-<channel>.db` of builds other than releases.
fn databases(root: &Path) -> Vec<PathBuf> {
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
struct Stored {
    session: Value,
    messages: Vec<StoredMessage>,
}

struct StoredMessage {
    message: Value,
    parts: Vec<Value>,
}

fn load(transcript: &Transcript) -> Result<Conversation, Error> {
    let session = record::Session::new("opencode", &transcript.hint);
    let mut conversation = Conversation::new(session);
    let stored = match &transcript.part {
        Some(session) => base::read(&transcript.path, session, &mut conversation)?,
        None => folder::read(&transcript.path, &transcript.hint, &mut conversation)?,
    };
    tell::tell(&stored, &mut conversation);
    Ok(conversation)
}
