//! opencode: sessions in `opencode.db` (1.18) or in the folder of small JSON files that preceded it (1.0). Kilo: the
//! same in `kilo.db`.
//!
//! A fork is a copy under new IDs that does not name its original; it is recognised by the properties that
//! stay the same. Does not know which part of a session was undone by `/undo`.

mod json_files;
mod parse;
mod tables;

use crate::conversation::Conversation;
use crate::walk::{TranscriptList, walk_files};
use crate::{Error, FileStamp, Transcript};
use serde_json::Value;
use std::path::{Path, PathBuf};
use transcript::document::Documents;
use transcript::{Evidence, Store, database};

const SESSIONS: database::SessionTable = database::SessionTable {
    name: "session",
    id: "id",
    updated: "time_updated",
    messages: &[("message", "session_id"), ("part", "session_id")],
};

pub const OPENCODE: Documents = Documents {
    store: Store {
        name: "opencode",
        variables: &[], // XDG_DATA_HOME moves it, which moves more than opencode
        evidence: Evidence::RealClient,
        roots: |places| vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("opencode")],
        list: |root, found| list_sessions(root, "opencode", found),
    },
    load: |transcript| load_session("opencode", transcript),
};

/// Kilo is built on opencode and has its tables, in a database of its own.
pub const KILO: Documents = Documents {
    store: Store {
        name: "kilo",
        variables: &[],
        evidence: Evidence::RealClient,
        roots: |places| vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("kilo")],
        list: |root, found| list_sessions(root, "kilo", found),
    },
    load: |transcript| load_session("kilo", transcript),
};

fn list_sessions(root: &Path, name: &str, found: &mut TranscriptList) {
    for path in find_databases(root, name) {
        database::list_sessions(&path, root, &SESSIONS, found);
    }
    walk_files(&root.join("storage/session"), found, &mut |path, meta, found| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if stem.starts_with("ses_") && path.extension().is_some_and(|e| e == "json") {
            found.add_file(path.to_path_buf(), meta, &stem, root);
            // Its messages are in a file each, in another folder.
            let messages = root.join("storage/message").join(&*stem);
            let newest = newest_change(&messages);
            found.folders.push(messages);
            if let Some(added) = found.transcripts.last_mut() {
                added.file_stamp.changed = added.file_stamp.changed.max(newest);
            }
        }
    });
}

/// When a message of the session was last added or rewritten.
fn newest_change(messages: &Path) -> i64 {
    let changed = |meta: std::fs::Metadata| FileStamp::from_metadata(&meta).changed;
    let entries = std::fs::read_dir(messages).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).map(changed).max();
    std::fs::metadata(messages).map_or(0, changed).max(files.unwrap_or(0))
}

/// `opencode.db`, and `opencode-<channel>.db` of builds other than releases.
fn find_databases(root: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix) && path.extension().is_some_and(|e| e == "db") && path.is_file()
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

fn load_session(name: &'static str, transcript: &Transcript) -> Result<Conversation, Error> {
    let session = record::Session::new(name, &transcript.hint);
    let mut conversation = Conversation::new(session);
    let stored = match &transcript.part {
        Some(session) => tables::read_stored_session(&transcript.path, session, &mut conversation)?,
        None => json_files::read_stored_session(&transcript.path, &transcript.hint, &mut conversation)?,
    };
    parse::parse_session(&stored, &mut conversation);
    Ok(conversation)
}
