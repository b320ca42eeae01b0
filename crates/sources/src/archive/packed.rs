//! The database of small copies, one row each: a file of its own would take a whole block, and an inode, for a few
//! hundred bytes. `SQLite` replaces a row in place, never shows half a change, and recovers from a kill by itself.
//!
//! A row survives a power cut once it is committed. Rows written between `begin_batch` and `commit_batch` become
//! visible together. Does not know what a copy contains, only its checksum.

use super::packed_form;
use crate::{Error, FileStamp};
use db::durable::{self, OpenError};
use db::{Connection, OptionalExtension};
use os::files::DirBuilderExt;
use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of the database in the archive's directory.
pub const FILE_NAME: &str = "packed.db";

/// Rows are appended in the order of writing, and only the index by name is in random order: names are hashes.
pub(super) const STEPS: &[&str] = &["
    create table meta(name text primary key, value integer not null) without rowid;
    create table copies(
      id      integer primary key,
      name    blob not null unique,
      changed integer not null, -- nanoseconds since 1970
      content blob not null
    );"];

/// Meta: increases with every change, so that a reader can tell whether copies were added or removed.
const REVISION: &str = "revision";
/// Meta: 1 if copies were removed for good and their bytes may still be in the file.
const UNCLEAN: &str = "unclean";
/// Meta: 1 once small copies with files of their own have been moved into the database.
const MIGRATED: &str = "migrated";

/// The time in nanoseconds since 1970. `SQLite` reads the clock: a copy has a time as a file has, which no test sets.
const NOW: &str = "cast(unixepoch('now', 'subsec') * 1000000000 as integer)";

/// A stored copy.
pub(super) struct PackedCopy {
    pub(super) name: u128,
    pub(super) version: PackedVersion,
    pub(super) content: Vec<u8>,
}

/// Identity and time of a row: changes whenever the copy is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedVersion {
    pub(super) id: u64,
    pub(super) changed: i64,
    pub(super) length: u64,
}

impl PackedVersion {
    /// In place of the stamp of a file.
    pub(super) fn stamp(&self) -> FileStamp {
        FileStamp { inode: self.id, changed: self.changed, inode_changed: self.changed }
    }
}

/// The database of an archive. Opened by the first write; reading uses a connection per thread.
pub(super) struct PackedCopies {
    path: PathBuf,
    writer: Mutex<Writer>,
}

#[derive(Default)]
struct Writer {
    connection: Option<Connection>,
    in_batch: bool,
    /// A transaction was begun and must still be open when the batch is committed.
    has_begun: bool,
}

impl std::fmt::Debug for PackedCopies {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("PackedCopies").field(&self.path).finish()
    }
}

impl PackedCopies {
    pub(super) fn new(archive: &Path) -> PackedCopies {
        PackedCopies { path: archive.join(FILE_NAME), writer: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic cannot leave a connection in a state that a rollback does not undo.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn database_error(&self) -> impl Fn(db::Error) -> Error + '_ {
        |error| Error::Database { path: self.path.clone(), error }
    }

    // ---- writing

    /// Runs a change in the transaction of the batch or, outside a batch, in one of its own.
    fn change<T>(&self, run: impl FnOnce(&Connection) -> Result<T, db::Error>) -> Result<T, Error> {
        let mut writer = self.lock();
        writer.begin(&self.path)?;
        let changed = writer.connection.as_ref().map(run);
        let in_batch = writer.in_batch;
        match changed {
            Some(Ok(value)) => {
                if !in_batch {
                    writer.commit().map_err(self.database_error())?;
                }
                Ok(value)
            }
            failed => {
                if !in_batch {
                    writer.roll_back();
                }
                let missing = db::corrupt_error(&"the connection was closed");
                Err(self.database_error()(failed.and_then(Result::err).unwrap_or(missing)))
            }
        }
    }

    pub(super) fn begin_batch(&self) {
        self.lock().in_batch = true;
    }

    /// Commits everything since `begin_batch`.
    pub(super) fn commit_batch(&self) -> Result<(), Error> {
        let mut writer = self.lock();
        writer.in_batch = false;
        writer.commit().map_err(self.database_error())
    }

    /// The revision as the writer sees it: its thread may have no connection that reads.
    pub(super) fn written_revision(&self) -> Result<i64, Error> {
        let writer = self.lock();
        let read = |connection: &Connection| read_meta(connection, REVISION).map_err(self.database_error());
        let found = match &writer.connection {
            Some(connection) => read(connection)?,
            None => open_reader(&self.path)?.as_ref().map(read).transpose()?.flatten(),
        };
        Ok(found.unwrap_or(0))
    }

    pub(super) fn is_in_batch(&self) -> bool {
        self.lock().in_batch
    }

    /// Discards everything since `begin_batch`.
    pub(super) fn roll_back_batch(&self) {
        let mut writer = self.lock();
        writer.in_batch = false;
        writer.roll_back();
    }

    /// Adds or replaces a copy.
    pub(super) fn put(&self, name: u128, content: &[u8]) -> Result<(), Error> {
        self.change(|connection| put_row(connection, name, content))
    }

    /// Removes a copy for good, and returns its size. None: there is none.
    pub(super) fn remove(&self, name: u128) -> Result<Option<u64>, Error> {
        let Some(version) = find_version(&self.path, name)? else { return Ok(None) };
        self.change(|connection| {
            set_meta(connection, UNCLEAN, 1)?;
            connection.execute("delete from copies where name = ?1", [name.to_be_bytes()])
        })?;
        Ok(Some(version.length))
    }

    /// Removes the row of a copy that has a file now.
    pub(super) fn remove_replaced(&self, name: u128) -> Result<(), Error> {
        let sql = "delete from copies where name = ?1";
        self.change(|connection| connection.execute(sql, [name.to_be_bytes()])).map(|_| ())
    }

    /// Records that bytes which a change has replaced must not stay on the disk.
    pub(super) fn mark_unclean(&self) -> Result<(), Error> {
        self.change(|connection| set_meta(connection, UNCLEAN, 1))
    }

    /// Rewrites the file if removed bytes may still be in it, and empties the log, which may contain them too.
    /// While a request is reading, the log stays; the next call tries again.
    pub(super) fn clean(&self) -> Result<(), Error> {
        if !self.path.exists() {
            return Ok(());
        }
        let mut writer = self.lock();
        let connection = writer.open(&self.path)?;
        let clean = || {
            if read_meta(connection, UNCLEAN)? == Some(1) {
                durable::remove_backups(connection)?;
                connection.execute_batch("vacuum")?;
                set_meta(connection, UNCLEAN, 0)?;
            }
            connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        };
        clean().map_err(self.database_error())
    }

    pub(super) fn is_migrated(&self) -> Result<bool, Error> {
        let found = with_reader(&self.path, |connection| read_meta(connection, MIGRATED))?;
        Ok(found.flatten() == Some(1))
    }

    pub(super) fn set_migrated(&self) -> Result<(), Error> {
        self.change(|connection| set_meta(connection, MIGRATED, 1))
    }

    // ---- damage

    /// Describes the damage of the database or of a copy in it; reads every byte.
    pub(super) fn find_damage(&self) -> Option<String> {
        if !self.path.exists() {
            return None;
        }
        durable::find_damage(&self.path).or_else(|| match self.find_damaged_copy() {
            Ok(found) => found,
            // Not damage: this version must not touch it.
            Err(Error::Newer { .. }) => None,
            Err(error) => Some(error.to_string()),
        })
    }

    fn find_damaged_copy(&self) -> Result<Option<String>, Error> {
        let mut found = None;
        self.for_each(&mut |copy| {
            if let Err(packed_form::FormError::Damaged(what)) = packed_form::verify(copy.name, &copy.content)
            {
                found = Some(format!("the copy {:032x}: {what}", copy.name));
            }
        })?;
        Ok(found)
    }

    /// Closes the connection, so that the file can be replaced.
    pub(super) fn close(&self) {
        *self.lock() = Writer::default();
    }

    /// Records that the file was replaced, so that readers look again.
    pub(super) fn mark_changed(&self) -> Result<(), Error> {
        self.change(|_| Ok(()))
    }

    // ---- reading

    /// Calls `each` for every copy, in the order of writing, as of one snapshot.
    pub(super) fn for_each(&self, each: &mut dyn FnMut(PackedCopy)) -> Result<(), Error> {
        let Some(connection) = open_reader(&self.path)? else { return Ok(()) };
        let mut read = || {
            let mut statement =
                connection.prepare("select id, changed, content, name from copies order by id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                each(read_copy(row)?);
            }
            Ok(())
        };
        read().map_err(self.database_error())
    }

    /// The names of all copies.
    pub(super) fn all_names(&self) -> Result<Vec<u128>, Error> {
        let names = with_reader(&self.path, |connection| {
            let mut statement = connection.prepare("select name from copies")?;
            let names = statement.query_map([], |row| read_name(row, 0))?;
            names.collect::<Result<Vec<u128>, _>>()
        })?;
        Ok(names.unwrap_or_default())
    }

    /// A number that changes with every change of the database.
    pub(super) fn revision(&self) -> Result<i64, Error> {
        let found = with_reader(&self.path, |connection| read_meta(connection, REVISION))?;
        Ok(found.flatten().unwrap_or(0))
    }
}

impl Writer {
    fn open(&mut self, path: &Path) -> Result<&Connection, Error> {
        if self.connection.is_none() {
            if let Some(folder) = path.parent() {
                let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
                made.map_err(super::io_error(folder))?;
            }
            self.connection = Some(durable::open_writer(path, STEPS).map_err(open_error)?);
        }
        let missing = || Error::Database { path: path.to_path_buf(), error: db::corrupt_error(&"not open") };
        self.connection.as_ref().ok_or_else(missing)
    }

    fn begin(&mut self, path: &Path) -> Result<(), Error> {
        let has_begun = self.has_begun;
        let connection = self.open(path)?;
        if !has_begun {
            let begun = connection.execute_batch("begin immediate");
            begun.map_err(|error| Error::Database { path: path.to_path_buf(), error })?;
            self.has_begun = true;
        }
        Ok(())
    }

    /// Fails if a serious error has rolled the transaction back, as `SQLite` does on its own: earlier changes are
    /// lost with it.
    fn commit(&mut self) -> Result<(), db::Error> {
        if !std::mem::take(&mut self.has_begun) {
            return Ok(());
        }
        let Some(connection) = &self.connection else { return Ok(()) };
        let committed = next_revision(connection).and_then(|()| connection.execute_batch("commit"));
        if committed.is_err() {
            self.roll_back();
        }
        committed
    }

    fn roll_back(&mut self) {
        self.has_begun = false;
        if let Some(connection) = &self.connection {
            // Having nothing to roll back is not an error.
            let _ = connection.execute_batch("rollback");
        }
    }
}

/// A time, so that a database which replaces another never repeats one of its numbers.
fn next_revision(connection: &Connection) -> Result<(), db::Error> {
    let sql = format!(
        "insert into meta(name, value) values (?1, {NOW})
        on conflict(name) do update set value = max(excluded.value, value + 1)"
    );
    connection.prepare_cached(&sql)?.execute([REVISION]).map(|_| ())
}

fn put_row(connection: &Connection, name: u128, content: &[u8]) -> Result<(), db::Error> {
    // Updated in place, so that the row keeps its identity.
    let sql = format!(
        "insert into copies(name, changed, content) values (?1, {NOW}, ?2) on conflict(name) do update
        set changed = max(excluded.changed, changed + 1), content = excluded.content"
    );
    connection.prepare_cached(&sql)?.execute(db::params![name.to_be_bytes(), content])?;
    Ok(())
}

fn set_meta(connection: &Connection, name: &str, value: i64) -> Result<(), db::Error> {
    let sql = "insert into meta(name, value) values (?1, ?2)
        on conflict(name) do update set value = excluded.value";
    connection.prepare_cached(sql)?.execute(db::params![name, value]).map(|_| ())
}

fn read_meta(connection: &Connection, name: &str) -> Result<Option<i64>, db::Error> {
    let mut statement = connection.prepare_cached("select value from meta where name = ?1")?;
    statement.query_row([name], |row| row.get(0)).optional()
}

fn read_copy(row: &db::Row<'_>) -> Result<PackedCopy, db::Error> {
    let content: Vec<u8> = row.get(2)?;
    let (id, changed, length) = (row.get::<_, i64>(0)? as u64, row.get(1)?, content.len() as u64);
    Ok(PackedCopy { name: read_name(row, 3)?, version: PackedVersion { id, changed, length }, content })
}

fn read_name(row: &db::Row<'_>, column: usize) -> Result<u128, db::Error> {
    Ok(u128::from_be_bytes(row.get(column)?))
}

pub(super) fn open_error(error: OpenError) -> Error {
    match error {
        OpenError::Newer { path, found, known } => {
            Error::Newer { path, version: found as u32, supported: known as u32 }
        }
        OpenError::Failed { path, error } => Error::Database { path, error },
    }
}

// ---- reading, by any thread of any process

/// The copy with that name in the archive at `path`.
pub(super) fn find(path: &Path, name: u128) -> Result<Option<PackedCopy>, Error> {
    let sql = "select id, changed, content, name from copies where name = ?1";
    let found = with_reader(path, |connection| {
        connection.prepare_cached(sql)?.query_row([name.to_be_bytes()], read_copy).optional()
    })?;
    Ok(found.flatten())
}

/// The identity and time of that copy.
pub(super) fn find_version(path: &Path, name: u128) -> Result<Option<PackedVersion>, Error> {
    let sql = "select id, changed, length(content) from copies where name = ?1";
    let one = |row: &db::Row<'_>| {
        let (id, length) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(2)? as u64);
        Ok(PackedVersion { id, changed: row.get(1)?, length })
    };
    let found = with_reader(path, |connection| {
        connection.prepare_cached(sql)?.query_row([name.to_be_bytes()], one).optional()
    })?;
    Ok(found.flatten())
}

/// Device and inode of the database: a repair replaces the file.
type FileId = os::FileIdentity;

thread_local! {
    static READER: RefCell<Option<(PathBuf, FileId, Connection)>> = const { RefCell::new(None) };
}

/// Runs a query on this thread's connection. None: there is no database, or it is empty.
fn with_reader<T>(
    path: &Path,
    run: impl FnOnce(&Connection) -> Result<T, db::Error>,
) -> Result<Option<T>, Error> {
    let Some(id) = file_id(path)? else { return Ok(None) };
    READER.with_borrow_mut(|open| {
        if !open.as_ref().is_some_and(|(known, known_id, _)| *known_id == id && known == path) {
            *open = open_reader(path)?.map(|connection| (path.to_path_buf(), id, connection));
        }
        let Some((_, _, connection)) = open else { return Ok(None) };
        run(connection).map(Some).map_err(|error| Error::Database { path: path.to_path_buf(), error })
    })
}

fn file_id(path: &Path) -> Result<Option<FileId>, Error> {
    match fs::metadata(path).and_then(|meta| os::files::identity(path, &meta)) {
        Ok(id) => Ok(Some(id)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(super::io_error(path)(error)),
    }
}

fn open_reader(path: &Path) -> Result<Option<Connection>, Error> {
    if file_id(path)?.is_none() {
        return Ok(None);
    }
    durable::try_open_reader(path, STEPS).map_err(open_error)
}
