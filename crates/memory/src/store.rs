//! Stores memory in one file that several processes write: every change is atomic, and an acknowledged change survives
//! a power failure.
//!
//! Does not know when jobs run, nor what a transcript contains.

mod read;
mod received;
mod write;

pub(crate) use read::StatedFact;
pub use read::{DerivedUpTo, GivenName};
pub use received::{ForgottenEntry, Withdrawn};

use crate::entry::{Fact, SessionMemory};
use db::durable::{self, OpenError};
use db::sealed::{self, SealedConnection};
use db::{OptionalExtension, derived};
use record::Stamp;
use std::path::{Path, PathBuf};

/// Schema migrations, in order. A published one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("layout.sql"),
    include_str!("kinds.sql"),
    include_str!("replacements.sql"),
    include_str!("given.sql"),
    include_str!("edited.sql"),
];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Newer(OpenError),
    #[error("disk full: cannot write {path}", path = .0.display())]
    Full(PathBuf),
    #[error("{path} is damaged: {error}", path = .path.display())]
    Damaged { path: PathBuf, error: db::Error },
    #[error("{path}: {error}", path = .path.display())]
    Failed { path: PathBuf, error: db::Error },
}

impl Error {
    fn from_db(path: &Path, error: db::Error) -> Error {
        let path = path.to_path_buf();
        match () {
            () if derived::is_disk_full(&error) => Error::Full(path),
            () if derived::is_corruption(&error) => Error::Damaged { path, error },
            () => Error::Failed { path, error },
        }
    }
}

impl From<OpenError> for Error {
    fn from(refused: OpenError) -> Error {
        match refused {
            newer @ OpenError::Newer { .. } => Error::Newer(newer),
            OpenError::Failed { path, error } => Error::from_db(&path, error),
        }
    }
}

pub struct Store {
    connection: SealedConnection,
    path: PathBuf,
}

/// The outcome of applying a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOutcome {
    /// Nothing was stored for this session before.
    pub is_new: bool,
    /// Something visible changed.
    pub changed: bool,
    pub facts: u64,
    pub in_review: u64,
}

/// A person's edits to a session.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    pub name: Option<String>,
    pub summary: Option<String>,
    pub add_tags: Vec<String>,
    pub remove_tags: Vec<String>,
}

/// The outcome of importing another memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    pub sessions: u64,
    pub facts: u64,
    pub unchanged: u64,
    /// Skipped, because they were forgotten here.
    pub forgotten: u64,
}

impl Store {
    /// Opens the store for writing and creates it if needed.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let connection = sealed::open_writer(path, MIGRATIONS)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    /// Opens the store for reading. Returns `None` if nothing was ever stored.
    pub fn open_read_only(path: &Path) -> Result<Option<Store>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        match durable::open_reader(path, MIGRATIONS) {
            Some(connection) => {
                let connection = SealedConnection::unsealed(connection);
                Ok(Some(Store { connection, path: path.to_path_buf() }))
            }
            // Opening for writing migrates an older schema, and reports the error for a newer or damaged file.
            None => Store::open(path).map(Some),
        }
    }

    /// A copy in memory, for a run whose writes are thrown away. None: of a store that was never written.
    pub fn copy_in_memory(stored: Option<&Store>) -> Result<Store, Error> {
        let path = stored.map_or_else(PathBuf::new, |store| store.path.clone());
        let connection = durable::copy_in_memory(stored.map(|store| &*store.connection), MIGRATIONS)
            .map_err(|error| Error::from_db(&path, error))?;
        Ok(Store { connection: SealedConnection::unsealed(connection), path })
    }

    fn error_mapper(&self) -> impl Fn(db::Error) -> Error + use<> {
        let path = self.path.clone();
        move |error| Error::from_db(&path, error)
    }

    /// When the last run over all sessions ended.
    pub fn last_run(&self) -> Result<Stamp, Error> {
        let sql = "select value from meta where name = 'last_run'";
        let found = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
        Ok(found.map_err(self.error_mapper())?.map_or(Stamp::NONE, Stamp))
    }

    pub fn set_last_run(&self, at: Stamp) -> Result<(), Error> {
        let sql = "insert into meta values ('last_run', ?1) on conflict(name) do update set value = ?1";
        self.connection.execute(sql, [at.0]).map(|_| ()).map_err(self.error_mapper())
    }

    /// Removes deleted data from the file, its log and the backup copies next to it.
    pub fn purge(&self) -> Result<(), Error> {
        self.connection
            .execute_batch("vacuum; pragma wal_checkpoint(truncate)")
            .map_err(self.error_mapper())?;
        for step in 1..=MIGRATIONS.len() {
            let _ = std::fs::remove_file(db::sibling_path(&self.path, &format!("-{step}.before")));
        }
        Ok(())
    }

    /// All sessions and facts, ordered by ID.
    pub fn load_all(&self) -> Result<(Vec<SessionMemory>, Vec<Fact>), Error> {
        Ok((self.sessions("")?, self.facts("")?))
    }
}

#[cfg(test)]
mod tests;
