//! Saves the intact copies of a damaged database into a new one, and keeps the damaged file beside it.
//!
//! Steps over rows that cannot be read, so that a damaged page costs only the rows on it. Does not decide that a
//! database is damaged.

use super::packed;
use super::packed_form;
use crate::Error;
use db::durable;
use db::{Connection, OptionalExtension};
use std::fs;
use std::path::{Path, PathBuf};

/// The ending of a database that was set aside.
const DAMAGED: &str = ".damaged";
/// Rows in a row that cannot be read, after which the rest is given up: more than one damaged page can hide.
const MAX_GAP: u32 = 1 << 16;

/// Where a damaged database is kept; one at a time.
pub(super) fn damaged_path(path: &Path) -> PathBuf {
    db::sibling_path(path, DAMAGED)
}

/// Replaces a damaged database with one of all intact copies. Returns how many were saved.
pub(super) fn salvage_copies(path: &Path) -> Result<u64, Error> {
    let next = db::sibling_path(path, ".new");
    remove_database(&next)?;
    let fail = |error| Error::Database { path: next.clone(), error };
    let mut to = durable::open_writer(&next, packed::STEPS).map_err(packed::open_error)?;
    let saved = copy_rows(path, &mut to).map_err(fail)?;
    to.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).map_err(fail)?;
    drop(to);
    let aside = damaged_path(path);
    remove_database(&aside)?;
    // The log first: the new database must not find one that is not its own.
    for ending in ["-wal", "-shm", ""] {
        rename_if_present(&db::sibling_path(path, ending), &db::sibling_path(&aside, ending))?;
    }
    rename_if_present(&next, path)?;
    super::frame_writer::sync_directory(path)?;
    Ok(saved)
}

fn remove_database(path: &Path) -> Result<(), Error> {
    for file in ["", "-wal", "-shm"].map(|ending| db::sibling_path(path, ending)) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(super::io_error(&file)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes what an earlier repair has set aside: it contains the bytes of every copy of that time.
pub(super) fn remove_damaged(path: &Path) -> Result<(), Error> {
    remove_database(&damaged_path(path))
}

fn rename_if_present(from: &Path, to: &Path) -> Result<(), Error> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(super::io_error(from)(error)),
        _ => Ok(()),
    }
}

/// Copies every row that can be read and whose content is intact. An unreadable database yields none.
fn copy_rows(path: &Path, to: &mut Connection) -> Result<u64, db::Error> {
    let Ok(from) = db::open_foreign(path) else { return Ok(0) };
    let writing = to.transaction()?;
    let (mut at, mut gap, mut saved) = (0, 0, 0);
    while gap < MAX_GAP {
        match next_row(&from, at) {
            Ok(Some(row)) => {
                (at, gap) = (row.id, 0);
                saved += u64::from(row.is_intact() && row.insert(&writing)?);
            }
            Ok(None) => break,
            Err(_) => (at, gap) = (at + 1, gap + 1),
        }
    }
    writing.commit()?;
    Ok(saved)
}

struct StoredRow {
    id: i64,
    name: [u8; 16],
    changed: i64,
    content: Vec<u8>,
}

impl StoredRow {
    /// A copy of a newer version is intact.
    fn is_intact(&self) -> bool {
        let found = packed_form::verify(u128::from_be_bytes(self.name), &self.content);
        !matches!(found, Err(packed_form::FormError::Damaged(_)))
    }

    /// False: there is a row with this name already, which is damage as well.
    fn insert(&self, to: &Connection) -> Result<bool, db::Error> {
        let sql = "insert or ignore into copies(id, name, changed, content) values (?1, ?2, ?3, ?4)";
        let values = db::params![self.id, self.name, self.changed, self.content];
        Ok(to.prepare_cached(sql)?.execute(values)? == 1)
    }
}

fn next_row(from: &Connection, after: i64) -> Result<Option<StoredRow>, db::Error> {
    let sql = "select id, name, changed, content from copies where id > ?1 order by id limit 1";
    let one = |row: &db::Row<'_>| {
        Ok(StoredRow { id: row.get(0)?, name: row.get(1)?, changed: row.get(2)?, content: row.get(3)? })
    };
    from.prepare_cached(sql)?.query_row([after], one).optional()
}
