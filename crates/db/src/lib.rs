//! Opens `SQLite` files. The only crate that depends on rusqlite.
//!
//! Does not know what any table means.

pub mod derived;
pub mod durable;
pub mod sealed;

use rusqlite::OpenFlags;
pub use rusqlite::{
    CachedStatement, Connection, Error, OptionalExtension, Params, Row, Statement, ToSql, Transaction,
    params, params_from_iter, types::ValueRef,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Opens another program's database read-only. Avoids creating even a `-shm` file where possible, and waits
/// only briefly while the owner writes.
pub fn open_foreign(path: &Path) -> Result<Connection, Error> {
    if has_wal(path) {
        return Connection::open_with_flags(path, READ_ONLY).and_then(prepare_read_only);
    }
    // Without a WAL there is no write in progress, and opening the file as immutable leaves nothing behind; a
    // plain read-only connection to a database in WAL mode would create a `-shm` and an empty `-wal`.
    open_immutable(path).or_else(|_| Connection::open_with_flags(path, READ_ONLY).and_then(prepare_read_only))
}

/// The layout number of an existing database of our own, read without changing a byte of it.
fn peek_layout(path: &Path) -> Option<i64> {
    if !path.is_file() {
        return None;
    }
    open_foreign(path).ok()?.query_row("pragma user_version", [], |row| row.get(0)).ok()
}

/// Configures a read-only connection. Reads the schema once, so that a damaged file fails here and not at the
/// first query.
fn prepare_read_only(connection: Connection) -> Result<Connection, Error> {
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn has_wal(path: &Path) -> bool {
    sibling_path(path, "-wal").metadata().is_ok_and(|log| log.len() > 0)
}

/// The path of a file that `SQLite` keeps beside a database.
pub fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Opens the file as immutable: correct only without a WAL, because then there is no writer.
fn open_immutable(path: &Path) -> Result<Connection, Error> {
    let flags = READ_ONLY.union(OpenFlags::SQLITE_OPEN_URI);
    prepare_read_only(Connection::open_with_flags(immutable_uri(path), flags)?)
}

fn immutable_uri(path: &Path) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let one = |byte: &u8| if safe(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    let path: String = path.as_os_str().as_encoded_bytes().iter().map(one).collect();
    format!("file:{path}?immutable=1")
}

/// The columns a table has in this version of its owner; empty if the table does not exist.
pub fn table_columns(connection: &Connection, table: &str) -> Result<Vec<String>, Error> {
    let mut statement = connection.prepare("select name from pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// A select list that gives every wanted column its position, with `null` for columns this version lacks.
pub fn select_list(present: &[String], wanted: &[&str]) -> String {
    let one = |name: &&str| {
        if present.iter().any(|p| p == name) { format!("\"{name}\"") } else { "null".to_string() }
    };
    wanted.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Reports a row whose content cannot be decoded like any other damage of the file.
pub fn corrupt_error(reason: &dyn std::fmt::Display) -> Error {
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Error::SqliteFailure(corrupt, Some(reason.to_string()))
}

/// Reports a failure of the file system like one of `SQLite`.
fn io_error(reason: &std::io::Error) -> Error {
    let full = reason.kind() == std::io::ErrorKind::StorageFull;
    let code = if full { rusqlite::ffi::SQLITE_FULL } else { rusqlite::ffi::SQLITE_IOERR };
    Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(reason.to_string()))
}

/// A value as text, independent of its stored type; None for null.
pub fn column_text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(n) => Some(n.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("loci-db-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn wal_database(path: &Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        let _: String = connection.query_row("pragma journal_mode=wal", [], |r| r.get(0)).unwrap();
        connection.execute_batch("create table t(a, b); insert into t values (1, 'x')").unwrap();
        connection
    }

    fn read_value(path: &Path) -> Result<i64, Error> {
        open_foreign(path)?.query_row("select a from t", [], |row| row.get(0))
    }

    #[test]
    fn without_shared_memory_a_database_is_readable_only_if_it_has_no_wal() {
        let folder = temp_folder("still é %3f?");
        let path = folder.join("app.db");
        drop(wal_database(&path));
        // A dangling link simulates a directory without write permission (root may always write).
        std::os::unix::fs::symlink("/nowhere/at/all", folder.join("app.db-shm")).unwrap();
        assert!(Connection::open_with_flags(&path, READ_ONLY).and_then(prepare_read_only).is_err());
        assert_eq!(read_value(&path).unwrap(), 1);
        std::fs::write(folder.join("app.db-wal"), b"what was written last").unwrap();
        assert!(read_value(&path).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_database_is_readable_but_not_writable_while_its_owner_writes() {
        let folder = temp_folder("busy");
        let path = folder.join("app.db");
        let owner = wal_database(&path);
        owner.execute_batch("begin immediate; update t set a = 2").unwrap();
        assert_eq!(read_value(&path).unwrap(), 1);
        owner.execute_batch("commit").unwrap();
        assert_eq!(read_value(&path).unwrap(), 2);
        assert!(open_foreign(&path).unwrap().execute_batch("delete from t").is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_is_no_database_fails_to_open() {
        let folder = temp_folder("none");
        let path = folder.join("app.db");
        std::fs::write(&path, vec![b'x'; 9000]).unwrap();
        assert!(open_foreign(&path).is_err());
        assert!(open_foreign(&folder.join("missing.db")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_missing_column_keeps_its_position() {
        assert_eq!(select_list(&["id".into(), "at".into()], &["id", "title", "at"]), "\"id\", null, \"at\"");
    }
}
