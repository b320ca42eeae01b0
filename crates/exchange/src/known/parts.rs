//! What this device remembers of copies that grow: what the others have of its own, and which parts are in the storage.
//!
//! Does not know the content of a part.

use super::{Known, failed};
use api::Error;
use db::{OptionalExtension as _, Row, params};
use sync::Hash;

pub(super) const STEP: &str = "
    create table sent(           -- what the others have of a copy of this device
      name   text primary key,
      lines  integer not null,
      digest blob not null,
      rest   blob not null,      -- the hash of what is not lines
      dead   blob not null,
      parts  integer not null,   -- since it was sent as a whole
      bytes  integer not null    -- of the lines in these parts
    ) without rowid;
    create table part_keys(      -- every part that is or was in the storage, to be forgotten with its copy
      key    text primary key,
      name   text not null,
      is_own integer not null
    ) without rowid;
    create index part_keys_name on part_keys (name);
    create table forgotten(name text primary key) without rowid;";

/// What the others have of a copy of this device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentState {
    pub(crate) lines: u64,
    /// Of the lines and of what no longer counts.
    pub(crate) digest: Hash,
    /// Of everything else: sessions, titles and the like.
    pub(crate) rest: Hash,
    pub(crate) dead: Vec<u64>,
    pub(crate) parts: u64,
    pub(crate) bytes: u64,
}

fn encode_numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn decode_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|chunk| chunk.try_into().map_or(0, u64::from_le_bytes)).collect()
}

fn numbers(row: &Row<'_>, column: usize) -> Result<Vec<u64>, db::Error> {
    Ok(decode_numbers(&row.get::<_, Vec<u8>>(column)?))
}

fn array<const N: usize>(row: &Row<'_>, column: usize) -> Result<[u8; N], db::Error> {
    let bytes: Vec<u8> = row.get(column)?;
    bytes.try_into().map_err(|_| db::corrupt_error(&"an identifier of the wrong length"))
}

impl Known {
    // ---- copies of this device

    pub(crate) fn sent(&self, name: &str) -> Result<Option<SentState>, Error> {
        let sql = "select lines, digest, rest, dead, parts, bytes from sent where name = ?1";
        let read = |row: &Row<'_>| {
            Ok(SentState {
                lines: row.get::<_, i64>(0)? as u64,
                digest: Hash(array(row, 1)?),
                rest: Hash(array(row, 2)?),
                dead: numbers(row, 3)?,
                parts: row.get::<_, i64>(4)? as u64,
                bytes: row.get::<_, i64>(5)? as u64,
            })
        };
        let run = || self.connection.prepare_cached(sql)?.query_row([name], read).optional();
        run().map_err(|error| failed(&error))
    }

    pub(crate) fn set_sent(&self, name: &str, state: Option<&SentState>) -> Result<(), Error> {
        let Some(state) = state else { return self.execute("delete from sent where name = ?1", [name]) };
        let sql = "insert or replace into sent values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let dead = encode_numbers(&state.dead);
        let (lines, parts, bytes) = (state.lines as i64, state.parts as i64, state.bytes as i64);
        self.execute(sql, params![name, lines, state.digest.0, state.rest.0, dead, parts, bytes])
    }

    pub(crate) fn add_part_key(&self, key: &str, name: &str, is_own: bool) -> Result<(), Error> {
        self.execute("insert or ignore into part_keys values (?1, ?2, ?3)", params![key, name, is_own])
    }

    /// The parts of a copy that this device has ever sent.
    pub(crate) fn own_part_keys(&self, name: &str) -> Result<Vec<String>, Error> {
        let sql = "select key from part_keys where name = ?1 and is_own order by key";
        self.texts(sql, [name]).map(|keys| keys.into_iter().collect())
    }

    // ---- forgetting

    /// Forgets what was remembered of a copy. Its parts are to be forgotten everywhere.
    pub(crate) fn forget_copy(&self, name: &str) -> Result<(), Error> {
        self.execute("insert or ignore into forgotten values (?1)", [name])?;
        self.set_sent(name, None)
    }

    pub(crate) fn is_forgotten(&self, name: &str) -> Result<bool, Error> {
        self.texts("select name from forgotten where name = ?1", [name]).map(|found| !found.is_empty())
    }

    /// The parts of forgotten copies.
    pub(crate) fn forgotten_part_keys(&self) -> Result<Vec<String>, Error> {
        let sql = "select key from part_keys where name in (select name from forgotten) order by key";
        self.texts(sql, []).map(|keys| keys.into_iter().collect())
    }

    pub(crate) fn remove_part_key(&self, key: &str) -> Result<(), Error> {
        self.execute("delete from part_keys where key = ?1", [key])
    }
}
