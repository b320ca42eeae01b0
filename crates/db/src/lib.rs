//! How a SQLite file is opened. The only room that knows rusqlite.
//!
//! Does not know what any table means.

use rusqlite::OpenFlags;
pub use rusqlite::{Connection, Error, Row, params, types::ValueRef};
use std::path::Path;
use std::time::Duration;

/// Opens somebody else's database to look into it: never written to, not even its `-shm` if it can be helped,
/// and no longer waited for than a moment while its owner writes.
pub fn open_foreign(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// The columns a table has in this version of its owner; empty where there is no such table.
pub fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, Error> {
    let mut statement = connection.prepare("select name from pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}
