//! opencode's sessions in its database. Reads three of its tables, and only the columns named here; a column
//! that a version lacks is empty.
//!
//! Does not know the meaning of a message.

use super::{Stored, StoredMessage};
use crate::conversation::{Conversation, value};
use crate::walk::Found;
use crate::{Age, Error, Transcript};
use db::{Connection, columns, open_foreign, picked, text};
use record::ProblemKind;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::Path;

const SESSION: [&str; 7] =
    ["id", "parent_id", "directory", "title", "version", "time_created", "time_updated"];

/// One transcript per session. The exact share of the file is expensive to compute, so each gets an equal
/// one.
pub(super) fn list(root: &Path, path: &Path, found: &mut Found) -> Result<(), db::Error> {
    let connection = open_foreign(path)?;
    if columns(&connection, "session")?.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare("select id from session")?;
    let ids = statement.query_map([], |row| Ok(text(row, 0)))?.collect::<Result<Vec<_>, _>>()?;
    let size = path.metadata().map_or(0, |meta| meta.len()) / ids.len().max(1) as u64;
    let age = Age::of_database(path);
    for id in ids.into_iter().flatten() {
        found.transcripts.push(Transcript {
            source: found.source,
            path: path.to_path_buf(),
            part: Some(id.clone()),
            size,
            age,
            hint: id,
            group: root.to_path_buf(),
        });
    }
    Ok(())
}

pub(super) fn read(path: &Path, session: &str, conversation: &mut Conversation) -> Result<Stored, Error> {
    let fail = |error| Error::Database { path: path.to_path_buf(), error };
    let connection = open_foreign(path).map_err(fail)?;
    // One snapshot of all tables: the owner may be writing.
    let snapshot = connection.unchecked_transaction().map_err(fail)?;
    let found = read_session(&snapshot, session).map_err(fail)?;
    let session_row = found.ok_or(Error::Moved { path: path.to_path_buf(), what: "session", place: 0 })?;
    let mut stored = Stored { session: session_row, messages: Vec::new() };
    let index = read_messages(&snapshot, session, &mut stored, conversation).map_err(fail)?;
    read_parts(&snapshot, session, &index, &mut stored, conversation).map_err(fail)?;
    Ok(stored)
}

fn read_session(connection: &Connection, session: &str) -> Result<Option<Value>, db::Error> {
    let wanted = picked(&columns(connection, "session")?, &SESSION);
    let mut statement = connection.prepare(&format!("select {wanted} from session where id = ?1"))?;
    let mut rows = statement.query([session])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(json!({
        "id": text(row, 0), "parentID": text(row, 1), "directory": text(row, 2), "title": text(row, 3),
        "version": text(row, 4), "time": {"created": text(row, 5), "updated": text(row, 6)},
    })))
}

fn read_messages(
    connection: &Connection,
    session: &str,
    stored: &mut Stored,
    conversation: &mut Conversation,
) -> Result<FxHashMap<String, usize>, db::Error> {
    let wanted = picked(&columns(connection, "message")?, &["id", "data", "time_created"]);
    let mut statement =
        connection.prepare(&format!("select {wanted} from message where session_id = ?1 order by id"))?;
    let mut rows = statement.query([session])?;
    let mut index = FxHashMap::default();
    while let Some(row) = rows.next()? {
        let id = text(row, 0).unwrap_or_default();
        let data = text(row, 1).unwrap_or_default();
        let Some(mut message) = parsed("message", &id, &data, conversation) else { continue };
        if message["time"]["created"].is_null() {
            message["time"] = json!({"created": text(row, 2)});
        }
        index.insert(id, stored.messages.len());
        stored.messages.push(StoredMessage { message, parts: Vec::new() });
    }
    Ok(index)
}

fn read_parts(
    connection: &Connection,
    session: &str,
    index: &FxHashMap<String, usize>,
    stored: &mut Stored,
    conversation: &mut Conversation,
) -> Result<(), db::Error> {
    let wanted = picked(&columns(connection, "part")?, &["id", "data", "message_id"]);
    let mut statement =
        connection.prepare(&format!("select {wanted} from part where session_id = ?1 order by id"))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let id = text(row, 0).unwrap_or_default();
        let data = text(row, 1).unwrap_or_default();
        let Some(part) = parsed("part", &id, &data, conversation) else { continue };
        match index.get(&text(row, 2).unwrap_or_default()) {
            Some(message) => stored.messages[*message].parts.push(part),
            None => conversation.ignored(), // its message is damaged or was deleted
        }
    }
    Ok(())
}

/// The object in a row's `data`, with the row's ID added as in the JSON files.
fn parsed(what: &str, id: &str, data: &str, conversation: &mut Conversation) -> Option<Value> {
    conversation.coverage.bytes += data.len() as u64;
    let why = match value::parse(data.as_bytes(), &mut conversation.coverage) {
        Ok(mut object @ Value::Object(_)) => {
            object["id"] = Value::from(id);
            return Some(object);
        }
        Ok(_) => "not an object".to_string(),
        Err(error) => error.to_string(),
    };
    conversation.trouble(ProblemKind::BadLine, format!("{what} {id}: {why}"));
    None
}
