//! Conversations in a database that belongs to an agent: one transcript per row of its table of sessions, opened
//! read-only, every table in one snapshot, only the columns that are asked for and exist.
//!
//! Does not know any agent's tables.

use crate::walk::TranscriptList;
use crate::{Error, FileStamp, Transcript};
use db::{Connection, column_text, open_foreign, select_list, table_columns};
use record::Stamp;
use serde_json::{Map, Value};
use std::path::Path;

/// Sessions this close to the newest may still be changing in ways that their own time does not show.
const ACTIVE_MS: i64 = 24 * 60 * 60 * 1000;

/// The table of sessions, and those of their messages.
pub struct SessionTable {
    pub name: &'static str,
    pub id: &'static str,
    /// The time of the last change, if the table has it.
    pub updated: &'static str,
    /// Each table of messages, with the column that has the session's ID.
    pub messages: &'static [(&'static str, &'static str)],
}

/// A session as the listing finds it.
struct Listed {
    id: String,
    at: Stamp,
    /// Differs once a row of an active session was added, removed or rewritten. None: its time or the file can tell.
    content: Option<i64>,
}

/// Lists the sessions of a database. A message in it must not make all its sessions look changed. One that is older than a
/// day before the newest is unchanged as long as its own time is; a newer one as long as number, sizes and numeric columns
/// of its rows are, which `SQLite` knows without reading the texts.
pub fn list_sessions(path: &Path, group: &Path, table: &SessionTable, found: &mut TranscriptList) {
    match read_ids(path, table) {
        Ok(sessions) => add_sessions(path, group, sessions, found),
        Err(error) => found.add_problem(path, &error),
    }
}

fn read_ids(path: &Path, table: &SessionTable) -> Result<Vec<Listed>, db::Error> {
    let connection = open_foreign(path)?;
    let present = table_columns(&connection, table.name)?;
    if !present.iter().any(|column| column == table.id) {
        return Ok(Vec::new());
    }
    let wanted = select_list(&present, &[table.id, table.updated]);
    let mut statement = connection.prepare(&format!("select {wanted} from {}", table.name))?;
    let rows = statement.query_map([], |row| {
        let at = crate::conversation::value::as_stamp(&Value::from(column_text(row, 1)));
        // A time that is text has the same size whenever it is.
        let updated = record::event_key(b'd', &[column_text(row, 1).unwrap_or_default().as_bytes()]);
        Ok((column_text(row, 0), at, updated as i64))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let listed =
        rows.into_iter().filter_map(|(id, at, content)| Some(Listed { id: id?, at, content: Some(content) }));
    let mut sessions: Vec<Listed> = listed.collect();
    let newest = newest_time(&sessions);
    let tables = [&[(table.name, table.id)], table.messages].concat();
    let queries = tables.iter().map(|(name, key)| content_query(&connection, name, key));
    let queries: Vec<String> = queries.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let is_comparable = queries.len() == tables.len();
    for session in &mut sessions {
        session.content = match session.content {
            Some(updated) if is_comparable && !is_settled(session.at, newest) => {
                Some(updated ^ read_content(&connection, &queries, &session.id)?)
            }
            _ => None,
        };
    }
    Ok(sessions)
}

fn newest_time(sessions: &[Listed]) -> Stamp {
    sessions.iter().map(|one| one.at).max().unwrap_or(Stamp::NONE)
}

fn is_settled(at: Stamp, newest: Stamp) -> bool {
    at.is_some() && newest.0.saturating_sub(at.0) > ACTIVE_MS
}

/// The query for number, sizes and numbers of the rows of one session. None without the table.
fn content_query(connection: &Connection, table: &str, key: &str) -> Result<Option<String>, db::Error> {
    let columns = table_columns(connection, table)?;
    if !columns.iter().any(|column| column == key) {
        return Ok(None);
    }
    // The size of a text is in the header of its row: the text itself, often on pages of its own, is not read.
    let sums = columns.iter().map(|column| {
        let quoted = format!("\"{}\"", column.replace('"', "\"\""));
        format!("total(case when typeof({quoted}) in ('text', 'blob') then octet_length({quoted}) else {quoted} end)")
    });
    let sums: Vec<String> = sums.collect();
    Ok(Some(format!("select count(*), {} from {table} where {key} = ?1", sums.join(", "))))
}

fn read_content(connection: &Connection, queries: &[String], session: &str) -> Result<i64, db::Error> {
    let mut numbers = Vec::new();
    for query in queries {
        let mut statement = connection.prepare_cached(query)?;
        let columns = statement.column_count();
        statement.query_row([session], |row| {
            for column in 0..columns {
                numbers.extend(row.get::<_, f64>(column)?.to_le_bytes());
            }
            Ok(())
        })?;
    }
    Ok(record::event_key(b'd', &[&numbers]) as i64)
}

/// Lists the values of a key-value table whose keys begin with `prefix`; the rest of the key is the ID. The time of the
/// last change is in the value, as `lastUpdatedAt`.
pub fn list_keys(path: &Path, group: &Path, table: &str, prefix: &str, found: &mut TranscriptList) {
    match read_keys(path, table, prefix) {
        Ok(sessions) => add_sessions(path, group, sessions, found),
        Err(error) => found.add_problem(path, &error),
    }
}

fn read_keys(path: &Path, table: &str, prefix: &str) -> Result<Vec<Listed>, db::Error> {
    let connection = open_foreign(path)?;
    if table_columns(&connection, table)?.is_empty() {
        return Ok(Vec::new());
    }
    let text = "cast(value as text)";
    let mut statement = connection.prepare(&format!(
        "select key, case when json_valid({text}) then json_extract({text}, '$.lastUpdatedAt') end \
         from {table} where key >= ?1 and key < ?2"
    ))?;
    let rows = statement.query_map([prefix, &after(prefix)], |row| {
        let at = crate::conversation::value::as_stamp(&Value::from(column_text(row, 1)));
        Ok((column_text(row, 0), at))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let id = |key: String| key.strip_prefix(prefix).map(str::to_string);
    let listed = rows.into_iter().filter_map(|(key, at)| Some(Listed { id: id(key?)?, at, content: None }));
    Ok(listed.collect())
}

/// The first text behind all those that begin with `prefix`.
fn after(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

/// A time as `SQLite`'s own functions write it: UTC without a zone; or a number.
pub fn sql_time(text: &str) -> Stamp {
    let stamp = crate::conversation::value::as_stamp(&Value::from(text));
    if stamp.is_some() { stamp } else { Stamp::parse(format!("{}Z", text.replacen(' ', "T", 1)).as_bytes()) }
}

fn add_sessions(path: &Path, group: &Path, sessions: Vec<Listed>, found: &mut TranscriptList) {
    let now = FileStamp::from_database(path);
    // The exact share of the file is expensive to compute, so each session gets an equal one.
    let size = path.metadata().map_or(0, |meta| meta.len()) / sessions.len().max(1) as u64;
    let newest = newest_time(&sessions);
    for Listed { id, at, content } in sessions {
        let changed = at.0.saturating_mul(1_000_000);
        let own = content.or(is_settled(at, newest).then_some(changed));
        let stamp = own.map(|own| FileStamp { inode: now.inode, changed, inode_changed: own });
        found.transcripts.push(Transcript {
            source: found.source,
            path: path.to_path_buf(),
            part: Some(id.clone()),
            // Rounded, so that a session does not change with the size of the file around it.
            size: if stamp.is_some() { size.next_power_of_two() } else { size },
            file_stamp: stamp.unwrap_or(now),
            hint: id.into(),
            group: group.into(),
        });
    }
}

/// A database, open for one read of one conversation.
pub struct Snapshot {
    connection: Connection,
    path: std::path::PathBuf,
}

impl Snapshot {
    /// Begins a transaction, so that all queries see one state: the owner may be writing.
    pub fn open(path: &Path) -> Result<Snapshot, Error> {
        let fail = |error| Error::Database { path: path.to_path_buf(), error };
        let connection = open_foreign(path).map_err(fail)?;
        connection.execute_batch("begin").map_err(fail)?;
        Ok(Snapshot { connection, path: path.to_path_buf() })
    }

    /// The rows of a table in which `key` has the value, as objects with the columns asked for; null where a version of
    /// the table lacks one. Empty without the table.
    pub fn rows(
        &self,
        table: &str,
        key: &str,
        value: &str,
        columns: &[&str],
        order: &str,
    ) -> Result<Vec<Value>, Error> {
        self.query(table, key, value, columns, order)
            .map_err(|error| Error::Database { path: self.path.clone(), error })
    }

    fn query(
        &self,
        table: &str,
        key: &str,
        value: &str,
        columns: &[&str],
        order: &str,
    ) -> Result<Vec<Value>, db::Error> {
        let present = table_columns(&self.connection, table)?;
        if !present.iter().any(|column| column == key) {
            return Ok(Vec::new());
        }
        let wanted = select_list(&present, columns);
        let order = if order.is_empty() { String::new() } else { format!(" order by {order}") };
        let query = format!("select {wanted} from {table} where {key} = ?1{order}");
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map([value], |row| {
            let cell = |(n, name): (usize, &&str)| ((*name).to_string(), Value::from(column_text(row, n)));
            Ok(Value::Object(columns.iter().enumerate().map(cell).collect::<Map<_, _>>()))
        })?;
        rows.collect()
    }

    /// The value of a key in a key-value table, as JSON; null if it is missing or damaged.
    pub fn value_of(&self, table: &str, key: &str) -> Result<Value, Error> {
        let found = self.rows(table, "key", key, &["value"], "")?.into_iter().next().unwrap_or_default();
        Ok(serde_json::from_str(found["value"].as_str().unwrap_or("")).unwrap_or_default())
    }

    /// The values of all keys that begin with `prefix`; null where a value is damaged.
    pub fn values_below(&self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Error> {
        let fail = |error| Error::Database { path: self.path.clone(), error };
        let query = format!("select key, value from {table} where key >= ?1 and key < ?2 order by key");
        let mut statement = self.connection.prepare(&query).map_err(fail)?;
        let rows = statement
            .query_map([prefix, &after(prefix)], |row| Ok((column_text(row, 0), column_text(row, 1))));
        let rows: Vec<_> = rows.map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
        let parse =
            |text: Option<String>| serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        Ok(rows.into_iter().filter_map(|(key, value)| Some((key?, parse(value)))).collect())
    }

    /// A column that is not text. Empty if it is missing.
    pub fn blob(&self, table: &str, key: &str, id: &str, column: &str) -> Result<Vec<u8>, Error> {
        let query = format!("select cast({column} as blob) from {table} where {key} = ?1");
        let read = self.connection.query_row(&query, [id], |row| row.get(0));
        read.map_err(|error| Error::Database { path: self.path.clone(), error })
    }

    /// The one row of a session, or an error: it was deleted after it was listed.
    pub fn session_row(&self, table: &str, key: &str, id: &str, columns: &[&str]) -> Result<Value, Error> {
        let found = self.rows(table, key, id, columns, "")?.into_iter().next();
        found.ok_or_else(|| Error::Moved { path: self.path.clone(), what: "session", place: 0 })
    }
}
