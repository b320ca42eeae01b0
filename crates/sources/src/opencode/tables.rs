//! opencode's sessions in its database. Reads three of its tables, and only the columns named here; a column
//! that a version lacks is empty.
//!
//! Does not know the meaning of a message.

use super::{StoredMessage, StoredSession};
use crate::Error;
use crate::conversation::{Conversation, value};
use db::{Connection, column_text, open_foreign, select_list, table_columns};
use record::ProblemKind;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::Path;

const SESSION_COLUMNS: [&str; 7] =
    ["id", "parent_id", "directory", "title", "version", "time_created", "time_updated"];

pub(super) fn read_stored_session(
    path: &Path,
    session: &str,
    conversation: &mut Conversation,
) -> Result<StoredSession, Error> {
    let fail = |error| Error::Database { path: path.to_path_buf(), error };
    let connection = open_foreign(path).map_err(fail)?;
    // One snapshot of all tables: the owner may be writing.
    let snapshot = connection.unchecked_transaction().map_err(fail)?;
    let found = read_session_row(&snapshot, session).map_err(fail)?;
    let session_row = found.ok_or(Error::Moved { path: path.to_path_buf(), what: "session", place: 0 })?;
    let mut stored = StoredSession { session: session_row, messages: Vec::new() };
    let index = read_messages(&snapshot, session, &mut stored, conversation).map_err(fail)?;
    read_parts(&snapshot, session, &index, &mut stored, conversation).map_err(fail)?;
    Ok(stored)
}

fn read_session_row(connection: &Connection, session: &str) -> Result<Option<Value>, db::Error> {
    let wanted = select_list(&table_columns(connection, "session")?, &SESSION_COLUMNS);
    let mut statement = connection.prepare(&format!("select {wanted} from session where id = ?1"))?;
    let mut rows = statement.query([session])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(json!({
        "id": column_text(row, 0), "parentID": column_text(row, 1), "directory": column_text(row, 2), "title": column_text(row, 3),
        "version": column_text(row, 4), "time": {"created": column_text(row, 5), "updated": column_text(row, 6)},
    })))
}

fn read_messages(
    connection: &Connection,
    session: &str,
    stored: &mut StoredSession,
    conversation: &mut Conversation,
) -> Result<FxHashMap<String, usize>, db::Error> {
    let wanted = select_list(&table_columns(connection, "message")?, &["id", "data", "time_created"]);
    let mut statement =
        connection.prepare(&format!("select {wanted} from message where session_id = ?1 order by id"))?;
    let mut rows = statement.query([session])?;
    let mut index = FxHashMap::default();
    while let Some(row) = rows.next()? {
        let id = column_text(row, 0).unwrap_or_default();
        let data = column_text(row, 1).unwrap_or_default();
        let Some(mut message) = parse_object("message", &id, &data, conversation) else { continue };
        if message["time"]["created"].is_null() {
            message["time"] = json!({"created": column_text(row, 2)});
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
    stored: &mut StoredSession,
    conversation: &mut Conversation,
) -> Result<(), db::Error> {
    let wanted = select_list(&table_columns(connection, "part")?, &["id", "data", "message_id"]);
    let mut statement =
        connection.prepare(&format!("select {wanted} from part where session_id = ?1 order by id"))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let id = column_text(row, 0).unwrap_or_default();
        let data = column_text(row, 1).unwrap_or_default();
        let Some(part) = parse_object("part", &id, &data, conversation) else { continue };
        match index.get(&column_text(row, 2).unwrap_or_default()) {
            Some(message) => stored.messages[*message].parts.push(part),
            None => conversation.count_ignored(), // its message is damaged or was deleted
        }
    }
    Ok(())
}

/// The object in a row's `data`, with the row's ID added as in the JSON files.
fn parse_object(what: &str, id: &str, data: &str, conversation: &mut Conversation) -> Option<Value> {
    conversation.coverage.bytes += data.len() as u64;
    let why = match value::parse_entry(data.as_bytes(), &mut conversation.coverage) {
        Ok(mut object @ Value::Object(_)) => {
            object["id"] = Value::from(id);
            return Some(object);
        }
        Ok(_) => "not an object".to_string(),
        Err(error) => error.to_string(),
    };
    conversation.add_problem(ProblemKind::BadLine, format!("{what} {id}: {why}"));
    None
}
