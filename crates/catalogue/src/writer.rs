//! The catalogue's one writer. What it is told between `begin` and `commit` becomes known together or not at all.
//!
//! Does not elect itself: whoever opens it holds the lock that says there is no other.

use crate::{Error, LAYOUT, Reader};
use db::derived::{Layout, create, open_writer};
use std::path::{Path, PathBuf};

const SCHEMA: &str = include_str!("schema.sql");

pub struct Writer {
    /// The same connection also reads: what it wrote and has not committed yet included.
    pub(crate) reader: Reader,
    pub(crate) sequence: u64,
}

/// A transcript as the catalogue has it: enough to read it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub id: u32,
    pub source: String,
    pub path: PathBuf,
    pub part: Option<String>,
    pub hint: String,
    pub family: PathBuf,
    pub size: u64,
    pub inode: u64,
    pub changed: i64,
    pub gone: bool,
    pub sequence: u64,
}

impl Writer {
    /// Opens the catalogue, or makes it. One that another version made is made anew; a damaged one is an error.
    pub fn open(path: &Path, sources: &[&'static str]) -> Result<Writer, Error> {
        let fail = |error| Error::of(path, error);
        let (mut connection, layout) = open_writer(path, LAYOUT).map_err(fail)?;
        if let Layout::Other(number) = layout {
            if number != 0 {
                drop(connection);
                remove(path)?;
                connection = open_writer(path, LAYOUT).map_err(fail)?.0;
            }
            create(&mut connection, LAYOUT, SCHEMA).map_err(fail)?;
        }
        let reader = Reader::new(connection, path, sources);
        let sequence = reader.sequence()?;
        Ok(Writer { reader, sequence })
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) fn run(&self, sql: &str, params: impl db::Params) -> Result<usize, Error> {
        let mut statement = self.reader.connection.prepare_cached(sql).map_err(self.reader.fail())?;
        statement.execute(params).map_err(self.reader.fail())
    }

    /// From here on nothing is known to others until `commit`.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.reader.connection.execute_batch("begin immediate").map_err(self.reader.fail())?;
        self.sequence = self.reader.sequence()? + 1;
        Ok(())
    }

    /// Makes known what was told, under the next sequence number, which is returned.
    pub fn commit(&mut self) -> Result<u64, Error> {
        self.set("sequence", self.sequence as i64)?;
        self.reader.connection.execute_batch("commit").map_err(self.reader.fail())?;
        Ok(self.sequence)
    }

    /// Forgets what was told since `begin`.
    pub fn roll_back(&mut self) {
        // Nothing to roll back is as good as rolled back.
        let _ = self.reader.connection.execute_batch("rollback");
        self.sequence = self.reader.sequence().unwrap_or(self.sequence);
    }

    pub fn set(&self, name: &str, value: i64) -> Result<(), Error> {
        let sql = "insert into meta(name, value) values (?1, ?2) \
            on conflict(name) do update set value = excluded.value";
        self.run(sql, db::params![name, value]).map(|_| ())
    }

    /// Moves the log into the database, so that a reader in a directory that cannot be written to needs none.
    pub fn settle(&self) {
        // A reader in the middle of its question keeps the log; the next writer settles it.
        let _ = self.reader.connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
    }

    /// Gives back the room of what was deleted, so that none of it is left in the file.
    pub fn vacuum(&self) -> Result<(), Error> {
        self.reader.connection.execute_batch("vacuum").map_err(self.reader.fail())?;
        self.settle();
        Ok(())
    }

    /// Transcripts that were touched after a sequence number: what a text index of that number lacks.
    pub fn since(&self, sequence: u64) -> Result<Vec<Stored>, Error> {
        self.reader.stored("where sequence > ?1 order by id", [sequence as i64])
    }
}

impl Reader {
    pub(crate) fn stored(&self, condition: &str, params: impl db::Params) -> Result<Vec<Stored>, Error> {
        let sql = format!(
            "select id, source, path, part, hint, family, size, inode, changed, gone, sequence from files {condition}"
        );
        self.all(&sql, params, |row| {
            Ok(Stored {
                id: row.get(0)?,
                source: row.get(1)?,
                path: crate::reader::path_of(row, 2)?,
                part: row.get(3)?,
                hint: row.get(4)?,
                family: crate::reader::path_of(row, 5)?,
                size: row.get::<_, i64>(6)? as u64,
                inode: row.get::<_, i64>(7)? as u64,
                changed: row.get(8)?,
                gone: row.get(9)?,
                sequence: row.get::<_, i64>(10)? as u64,
            })
        })
    }

    /// The transcripts that were written last.
    pub fn newest_files(&self, many: u32) -> Result<Vec<Stored>, Error> {
        self.stored("where gone = 0 order by changed desc limit ?1", [many])
    }

    /// The folders of projects and agents in which transcripts lie.
    pub fn families(&self) -> Result<Vec<PathBuf>, Error> {
        self.all("select path from families", [], |row| crate::reader::path_of(row, 0))
    }

    pub fn file(&self, id: u32) -> Result<Option<Stored>, Error> {
        Ok(self.stored("where id = ?1", [id])?.pop())
    }

    /// Transcripts that their agents have deleted.
    pub fn gone(&self) -> Result<Vec<Stored>, Error> {
        self.stored("where gone = 1 order by id", [])
    }

    /// Every transcript in full.
    pub fn files(&self) -> Result<Vec<Stored>, Error> {
        self.stored("order by id", [])
    }
}

/// Removes a database and what the engine keeps beside it.
fn remove(path: &Path) -> Result<(), Error> {
    for ending in ["", "-wal", "-shm"] {
        match std::fs::remove_file(db::beside(path, ending)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::Spill(error)),
            _ => {}
        }
    }
    Ok(())
}
