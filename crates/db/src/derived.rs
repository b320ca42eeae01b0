//! A database of our own that can be rebuilt from its sources: opened by one writer or any number of readers,
//! recreated if its layout number is older, and left untouched if it is newer: two versions of Loci that share a
//! home would otherwise destroy each other's work at every call.
//!
//! Does not know what any table means.

use crate::{Connection, Error, READ_ONLY, has_wal, immutable_uri, peek_layout, prepare_read_only};
use os::files::OpenOptionsExt;
use rusqlite::{OpenFlags, TransactionBehavior};
use std::cmp::Ordering;
use std::path::Path;
use std::time::Duration;

/// A power cut may lose the last commits of a database that can be rebuilt, but never reorders them: commits
/// do not wait for the disk.
const WRITER_PRAGMAS: &str =
    "pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32768;
    pragma temp_store = memory; pragma journal_size_limit = 4194304;";
/// 3.51.3 fixes a defect that could lose pages when one connection writes while another checkpoints.
const MIN_SQLITE_VERSION: i32 = 3_051_003;

/// How long one writer waits for another.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether a database has the expected layout number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Current,
    /// Created by an older version of Loci, or empty.
    Older,
    /// Created by a newer version, with this number.
    Newer(i64),
}

/// Opens the database for writing; creates it if it does not exist. One of a newer version is opened for reading only.
pub fn open_writer(path: &Path, number: i64) -> Result<(Connection, Layout), Error> {
    assert!(rusqlite::version_number() >= MIN_SQLITE_VERSION, "SQLite {} is too old", rusqlite::version());
    // Before anything is written: the pragmas below may change the file.
    if peek_layout(path).is_some_and(|found| found > number) {
        return open_reader(path, number);
    }
    // SQLite creates files with mode 0644, and gives the log that of the database
    let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        .union(OpenFlags::SQLITE_OPEN_CREATE)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(WRITER_PRAGMAS)?;
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    let layout = read_layout(&connection, number)?;
    Ok((connection, layout))
}

/// A private in-memory database that ends with the process, for where no file can be written.
pub fn open_memory(number: i64, schema: &str) -> Result<Connection, Error> {
    let mut connection = Connection::open_in_memory()?;
    recreate_tables(&mut connection, number, schema)?;
    Ok(connection)
}

/// Opens the database for reading; readers never block and are never blocked.
pub fn open_reader(path: &Path, number: i64) -> Result<(Connection, Layout), Error> {
    let open = || Connection::open_with_flags(path, READ_ONLY).and_then(prepare_read_only);
    let opened = match open() {
        // A directory without write permission may have no `-shm`; without a WAL none is needed.
        Err(_) if !has_wal(path) => {
            Connection::open_with_flags(immutable_uri(path), READ_ONLY.union(OpenFlags::SQLITE_OPEN_URI))
                .and_then(prepare_read_only)
        }
        opened => opened,
    }?;
    let layout = read_layout(&opened, number)?;
    Ok((opened, layout))
}

/// Moves the log into the database, as far as no reader needs it. Does not wait for readers: one may stay in a pager.
pub fn try_checkpoint(connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
    let _ = connection.busy_timeout(BUSY_TIMEOUT);
}

fn read_layout(connection: &Connection, number: i64) -> Result<Layout, Error> {
    let found: i64 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
    Ok(match found.cmp(&number) {
        Ordering::Less => Layout::Older,
        Ordering::Equal => Layout::Current,
        Ordering::Greater => Layout::Newer(found),
    })
}

/// Replaces all tables of a database in one transaction. Concurrent readers keep their snapshot, which
/// deleting and recreating the file could not guarantee.
pub fn recreate_tables(connection: &mut Connection, number: i64, schema: &str) -> Result<(), Error> {
    let making = connection.transaction()?;
    for table in table_names(&making)? {
        making.execute_batch(&format!("drop table \"{}\"", table.replace('"', "\"\"")))?;
    }
    making.execute_batch(schema)?;
    making.pragma_update(None, "user_version", number)?;
    making.commit()
}

fn table_names(connection: &Connection) -> Result<Vec<String>, Error> {
    let sql =
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Whether an error means that the file itself is damaged, rather than busy, missing or full.
pub fn is_corruption(error: &Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// Whether the same request may succeed later: the file is busy, cannot be opened now, or the disk failed.
pub fn is_transient(error: &Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, OutOfMemory, PermissionDenied, SystemIoFailure,
    };
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | DatabaseBusy | DatabaseLocked | OutOfMemory | PermissionDenied | SystemIoFailure)
    )
}

/// Whether an error means that the disk is full. Without space for the memory that readers of the log share, `SQLite` reports a
/// failed call instead, of a kind that has no other cause.
pub fn is_disk_full(error: &Error) -> bool {
    let Error::SqliteFailure(error, _) = error else { return false };
    error.code == rusqlite::ErrorCode::DiskFull || error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
