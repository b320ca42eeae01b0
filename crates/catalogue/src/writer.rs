//! The catalogue's one writer. Changes between `begin` and `commit` become visible together or not at all.
//!
//! Does not elect itself: its caller holds the lock that guarantees a single writer.

use crate::{Error, LAYOUT, Reader};
use db::derived::{Layout, open_writer, recreate_tables};
use std::path::{Path, PathBuf};

const SCHEMA: &str = include_str!("schema.sql");
/// Set when content was deleted for good and its bytes may still be in the file: the process may be killed
/// before `vacuum` removes them.
const NEEDS_VACUUM: &str = "unclean";

pub struct Writer {
    /// The same connection also reads, including its own uncommitted changes.
    pub(crate) reader: Reader,
    pub(crate) sequence: u64,
}

/// A transcript as recorded in the catalogue: enough to read it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    pub id: u32,
    pub source: String,
    pub path: PathBuf,
    pub part: Option<String>,
    /// The device that wrote it. None: this one.
    pub origin: Option<String>,
    pub hint: String,
    pub family: PathBuf,
    pub size: u64,
    pub inode: u64,
    pub changed: i64,
    pub inode_changed: i64,
    pub gone: bool,
    pub sequence: u64,
}

impl Writer {
    /// Opens or creates the catalogue. One created by an older version is recreated; a damaged one, and one created by
    /// a newer version, is an error.
    pub fn open(path: &Path, sources: &[&'static str]) -> Result<Writer, Error> {
        let fail = |error| Error::from_db(path, error);
        let (mut connection, layout) = open_writer(path, LAYOUT).map_err(fail)?;
        match layout {
            Layout::Current => {}
            Layout::Older => recreate_tables(&mut connection, LAYOUT, SCHEMA).map_err(fail)?,
            Layout::Newer(found) => return Err(Error::Newer { path: path.to_path_buf(), found }),
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

    pub(crate) fn execute(&self, sql: &str, params: impl db::Params) -> Result<usize, Error> {
        let mut statement = self.reader.connection.prepare_cached(sql).map_err(self.reader.error_mapper())?;
        statement.execute(params).map_err(self.reader.error_mapper())
    }

    /// Starts a transaction: changes are invisible to others until `commit`.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.reader.connection.execute_batch("begin immediate").map_err(self.reader.error_mapper())?;
        self.sequence = self.reader.sequence()? + 1;
        Ok(())
    }

    /// Publishes the changes under the next sequence number, which is returned.
    pub fn commit(&mut self) -> Result<u64, Error> {
        self.set_meta("sequence", self.sequence as i64)?;
        self.reader.connection.execute_batch("commit").map_err(self.reader.error_mapper())?;
        Ok(self.sequence)
    }

    /// Discards the changes since `begin`.
    pub fn roll_back(&mut self) {
        // Having nothing to roll back is not an error.
        let _ = self.reader.connection.execute_batch("rollback");
        self.sequence = self.reader.sequence().unwrap_or(self.sequence);
    }

    pub fn set_meta(&self, name: &str, value: i64) -> Result<(), Error> {
        let sql = "insert into meta(name, value) values (?1, ?2) \
            on conflict(name) do update set value = excluded.value";
        self.execute(sql, db::params![name, value]).map(|_| ())
    }

    /// Moves the log into the database, so that a reader in a directory without write permission needs none.
    pub fn checkpoint_log(&self) {
        // A reader in the middle of a query keeps the log; the next writer retries.
        db::derived::try_checkpoint(&self.reader.connection);
    }

    /// Records that bytes deleted in this transaction must not stay in the file: `vacuum` follows, if
    /// necessary by the next writer.
    pub fn mark_unclean(&self) -> Result<(), Error> {
        self.set_meta(NEEDS_VACUUM, 1)
    }

    /// Whether content was deleted for good and its bytes may still be in the file.
    pub fn is_unclean(&self) -> Result<bool, Error> {
        Ok(self.reader.meta_value(NEEDS_VACUUM)? == Some(1))
    }

    /// Rewrites the file, so that no deleted bytes are left in it.
    pub fn vacuum(&self) -> Result<(), Error> {
        self.rewrite_file()?;
        self.checkpoint_log();
        Ok(())
    }

    fn rewrite_file(&self) -> Result<(), Error> {
        self.reader.connection.execute_batch("vacuum").map_err(self.reader.error_mapper())?;
        self.set_meta(NEEDS_VACUUM, 0)
    }

    /// Transcripts changed after a sequence number: those that a text index with that number lacks.
    pub fn ids_since(&self, sequence: u64) -> Result<Vec<u32>, Error> {
        let sql = "select id from files where sequence > ?1 order by id";
        self.reader.query_all(sql, [sequence as i64], |row| row.get(0))
    }
}

impl Reader {
    pub(crate) fn query_files(
        &self,
        condition: &str,
        params: impl db::Params,
    ) -> Result<Vec<StoredFile>, Error> {
        let sql = format!(
            "select id, source, path, part, hint, family, size, inode, changed, inode_changed, gone, sequence, origin from files {condition}"
        );
        self.query_all(&sql, params, |row| {
            Ok(StoredFile {
                id: row.get(0)?,
                source: row.get(1)?,
                path: crate::reader::path_column(row, 2)?,
                part: row.get(3)?,
                hint: row.get(4)?,
                family: crate::reader::path_column(row, 5)?,
                size: row.get::<_, i64>(6)? as u64,
                inode: row.get::<_, i64>(7)? as u64,
                changed: row.get(8)?,
                inode_changed: row.get(9)?,
                gone: row.get(10)?,
                sequence: row.get::<_, i64>(11)? as u64,
                origin: row.get(12)?,
            })
        })
    }

    /// The numbers of the transcripts that a text index with this sequence number lacks, at least in part.
    pub fn files_not_indexed(&self, sequence: u64) -> Result<Vec<u32>, Error> {
        self.query_all("select id from files where sequence > ?1", [sequence as i64], |row| row.get(0))
    }

    /// The transcripts that were written last.
    pub fn newest_files(&self, many: u32) -> Result<Vec<StoredFile>, Error> {
        self.query_files("where gone = 0 order by changed desc limit ?1", [many])
    }

    /// The folders of projects and agents that contain transcripts.
    pub fn family_folders(&self) -> Result<Vec<PathBuf>, Error> {
        self.query_all("select path from families", [], |row| crate::reader::path_column(row, 0))
    }

    pub fn file_by_id(&self, id: u32) -> Result<Option<StoredFile>, Error> {
        Ok(self.query_files("where id = ?1", [id])?.pop())
    }

    /// Transcripts that their agents have deleted.
    pub fn deleted_files(&self) -> Result<Vec<StoredFile>, Error> {
        self.query_files("where gone = 1 order by id", [])
    }

    /// Every transcript in full.
    pub fn all_files(&self) -> Result<Vec<StoredFile>, Error> {
        self.query_files("order by id", [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_writer(path: &Path) -> Writer {
        let mut writer = Writer::open(path, &[]).unwrap();
        writer.begin().unwrap();
        for n in 0..2000 {
            writer.execute("insert into names(name) values (?1)", [format!("quibblefox{n}")]).unwrap();
        }
        writer.commit().unwrap();
        writer.checkpoint_log();
        writer
    }

    fn file_contains_names(path: &Path) -> bool {
        let bytes = |ending| std::fs::read(db::sibling_path(path, ending)).unwrap_or_default();
        ["", "-wal"].iter().any(|ending| bytes(ending).windows(10).any(|window| window == b"quibblefox"))
    }

    #[test]
    fn the_next_writer_knows_of_bytes_left_by_a_killed_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalogue.db");
        let mut writer = filled_writer(&path);
        writer.begin().unwrap();
        writer.mark_unclean().unwrap();
        writer.execute("delete from names", []).unwrap();
        writer.commit().unwrap();
        writer.checkpoint_log();
        drop(writer);
        assert!(file_contains_names(&path), "deleting alone leaves bytes behind");
        let writer = Writer::open(&path, &[]).unwrap();
        assert!(writer.is_unclean().unwrap());
        writer.vacuum().unwrap();
        assert!(!writer.is_unclean().unwrap() && !file_contains_names(&path));
    }
}
