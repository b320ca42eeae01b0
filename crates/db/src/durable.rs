//! A database of our own that cannot be rebuilt, because a person or a model wrote its content. It is
//! migrated from layout to layout after a backup copy was written beside it; one created by a newer Loci is
//! left untouched.
//!
//! Does not know what any table means.

use crate::{
    Connection, Error, READ_ONLY, has_wal, open_immutable, peek_layout, prepare_read_only, sibling_path,
};
use os::files::OpenOptionsExt;
use rusqlite::{OpenFlags, TransactionBehavior};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An acknowledged write survives a power cut: every commit waits for the disk. Deleted content is
/// overwritten.
const DURABLE_PRAGMAS: &str =
    "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;
    pragma secure_delete = on; pragma journal_size_limit = 4194304;";
/// The ending of the copy that a migration leaves: of the layout `1`, `memory.db-1.before`.
const BACKUP: &str = ".before";
/// Several processes write a few rows each, so waits are short.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path} was created by a newer Loci (layout {found}, this version supports {known})", path = .path.display())]
    Newer { path: PathBuf, found: usize, known: usize },
    #[error("{path}: {error}", path = .path.display())]
    Failed { path: PathBuf, error: Error },
}

/// Describes the damage of a database, if there is any. Reads every page, and changes nothing.
pub fn find_damage(path: &Path) -> Option<String> {
    let check = || -> Result<String, Error> {
        let connection = crate::open_foreign(path)?;
        connection.query_row("pragma integrity_check(1)", [], |row| row.get(0))
    };
    match check() {
        Ok(answer) => (answer != "ok").then_some(answer),
        Err(error) => Some(error.to_string()),
    }
}

/// Opens the database and runs the migrations that it has not had yet; creates it if it does not exist. The
/// first step creates the first layout. A published step never changes.
pub fn open_writer(path: &Path, steps: &[&str]) -> Result<Connection, OpenError> {
    let failed = |error| OpenError::Failed { path: path.to_path_buf(), error };
    let newer = |found| OpenError::Newer { path: path.to_path_buf(), found, known: steps.len() };
    // Before anything is written: opening for writing may empty the log of a newer Loci into the file.
    if let Some(found) = peek_layout(path).and_then(|found| usize::try_from(found).ok())
        && found > steps.len()
    {
        return Err(newer(found));
    }
    let mut connection = open_connection(path).map_err(failed)?;
    let found = schema_version(&connection).map_err(failed)?;
    if found > steps.len() {
        return Err(newer(found));
    }
    if found > 0 && found < steps.len() {
        write_backup(&connection, &sibling_path(path, &format!("-{found}{BACKUP}"))).map_err(failed)?;
    }
    apply_migrations(&mut connection, steps).map_err(failed)?;
    Ok(connection)
}

/// Opens the database for reading. None: it does not exist or has another layout.
pub fn open_reader(path: &Path, steps: &[&str]) -> Option<Connection> {
    try_open_reader(path, steps).ok().flatten()
}

/// The same, with the reason why it cannot be opened. None: it is empty or has an older layout.
pub fn try_open_reader(path: &Path, steps: &[&str]) -> Result<Option<Connection>, OpenError> {
    let failed = |error| OpenError::Failed { path: path.to_path_buf(), error };
    let opened = Connection::open_with_flags(path, READ_ONLY).and_then(prepare_read_only);
    // A directory without write permission may have no `-shm`; without a WAL none is needed.
    let connection = opened
        .or_else(|error| if has_wal(path) { Err(error) } else { open_immutable(path) })
        .map_err(failed)?;
    let found = schema_version(&connection).map_err(failed)?;
    if found > steps.len() {
        return Err(OpenError::Newer { path: path.to_path_buf(), found, known: steps.len() });
    }
    Ok((found == steps.len()).then_some(connection))
}

/// A copy in memory, for a trial run whose writes are thrown away. None: of an empty database.
pub fn copy_in_memory(from: Option<&Connection>, steps: &[&str]) -> Result<Connection, Error> {
    let mut copy = Connection::open_in_memory()?;
    // Tables are copied in any order.
    copy.pragma_update(None, "foreign_keys", "off")?;
    apply_migrations(&mut copy, steps)?;
    if let Some(from) = from {
        let sql = "select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!' and name != 'loci_seals'";
        let tables: Vec<String> =
            from.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        tables.iter().try_for_each(|table| copy_table(from, &copy, table))?;
    }
    copy.pragma_update(None, "foreign_keys", "on")?;
    Ok(copy)
}

fn copy_table(from: &Connection, to: &Connection, table: &str) -> Result<(), Error> {
    let mut rows = from.prepare(&format!("select * from {table}"))?;
    let columns = rows.column_count();
    let mut insert =
        to.prepare(&format!("insert into {table} values ({})", vec!["?"; columns].join(", ")))?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
        insert.execute(rusqlite::params_from_iter(values.collect::<Result<Vec<_>, _>>()?))?;
    }
    Ok(())
}

fn open_connection(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        .union(OpenFlags::SQLITE_OPEN_CREATE)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
    // Created here rather than by SQLite, so that only its owner can read it from the start.
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(DURABLE_PRAGMAS)?;
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    Ok(connection)
}

fn schema_version(connection: &Connection) -> Result<usize, Error> {
    connection.query_row("pragma user_version", [], |row| row.get::<_, u32>(0)).map(|found| found as usize)
}

/// Runs each step and updates its number in one transaction, so that a killed process resumes after the last
/// complete step. Of two processes that open the database at once, the second finds the steps done.
fn apply_migrations(connection: &mut Connection, steps: &[&str]) -> Result<(), Error> {
    while schema_version(connection)? < steps.len() {
        let step = connection.transaction()?;
        let found = schema_version(&step)?;
        if let Some(sql) = steps.get(found) {
            step.execute_batch(sql)?;
            step.pragma_update(None, "user_version", found as i64 + 1)?;
        }
        step.commit()?;
    }
    Ok(())
}

/// Deletes the copies that migrations have left beside a database: what is forgotten must not stay in them. A database in
/// memory has none.
pub fn remove_backups(connection: &Connection) -> Result<(), Error> {
    let Some(path) = connection.path().filter(|path| !path.is_empty()).map(Path::new) else { return Ok(()) };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let prefix = format!("{}-", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).map_err(|error| crate::io_error(&error))?.flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        let number = found.strip_prefix(&prefix).and_then(|rest| rest.split_once(BACKUP));
        if number.is_some_and(|(number, _)| number.parse::<u32>().is_ok()) {
            std::fs::remove_file(entry.path()).map_err(|error| crate::io_error(&error))?;
        }
    }
    Ok(())
}

fn write_backup(connection: &Connection, to: &Path) -> Result<(), Error> {
    if to.exists() {
        return Ok(());
    }
    let half = sibling_path(to, ".new");
    let _ = std::fs::remove_file(&half);
    connection.execute("vacuum into ?1", [half.to_string_lossy()])?;
    let done = os::files::set_mode(&half, 0o600).and_then(|()| std::fs::rename(&half, to));
    done.map_err(|error| crate::io_error(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "create table t(a)";
    const SECOND: &str = "alter table t add column b default 7";

    fn temp_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("loci-kept-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_layout_is_migrated_after_a_backup() {
        let folder = temp_folder("moved");
        let path = folder.join("m.db");
        open_writer(&path, &[FIRST]).unwrap().execute("insert into t values (1)", []).unwrap();
        assert!(open_reader(&path, &[FIRST, SECOND]).is_none());
        let moved = open_writer(&path, &[FIRST, SECOND]).unwrap();
        assert_eq!(moved.query_row("select a + b from t", [], |row| row.get::<_, i64>(0)).unwrap(), 8);
        let before = open_reader(&folder.join("m.db-1.before"), &[FIRST]).unwrap();
        assert_eq!(before.query_row("select a from t", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
        for name in ["m.db", "m.db-1.before"] {
            let mode = os::files::mode(&std::fs::metadata(folder.join(name)).unwrap());
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        drop(before);
        std::fs::write(folder.join("m.db-2.before.new"), "half of a backup").unwrap();
        std::fs::write(folder.join("m.db-mine.before"), "").unwrap();
        remove_backups(&moved).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.retain(|name| name.to_string_lossy().contains("before"));
        assert_eq!(left, ["m.db-mine.before"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_database_of_a_newer_loci_is_left_untouched() {
        let folder = temp_folder("newer");
        let path = folder.join("m.db");
        let writer = open_writer(&path, &[FIRST, SECOND]).unwrap();
        writer.execute("insert into t values (1, 2)", []).unwrap();
        // As a killed process leaves it, with a log that is not in the database yet.
        let log = sibling_path(&path, "-wal");
        let before = (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap());
        drop(writer);
        std::fs::write(&path, &before.0).unwrap();
        std::fs::write(&log, &before.1).unwrap();
        assert!(matches!(open_writer(&path, &[FIRST]), Err(OpenError::Newer { found: 2, known: 1, .. })));
        assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap()), before);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_failed_step_leaves_the_previous_layout() {
        let folder = temp_folder("fails");
        let path = folder.join("m.db");
        drop(open_writer(&path, &[FIRST]).unwrap());
        assert!(open_writer(&path, &[FIRST, "create table u(a); create table t(a)"]).is_err());
        let still = open_writer(&path, &[FIRST]).unwrap();
        assert!(still.prepare("select * from u").is_err() && still.prepare("select a from t").is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
