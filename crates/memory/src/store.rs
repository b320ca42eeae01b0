//! Keeps what is remembered in one file that several processes write: each change is whole or not there at all, and what
//! was acknowledged survives a power cut.
//!
//! Does not know when to run, nor what a transcript says.

mod read;
mod write;

pub use read::{Called, MadeFrom};

use crate::merge::{self, Fact, Finding, Remembered, State};
use db::kept::{self, Refused};
use db::{Connection, OptionalExtension, derived};
use record::Stamp;
use std::path::{Path, PathBuf};

/// The layouts, each made from the one before. One that was published is never changed.
const STEPS: &[&str] = &[include_str!("layout.sql")];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Newer(Refused),
    #[error("there is no room left to write {path}", path = .0.display())]
    Full(PathBuf),
    #[error("{path} is damaged: {error}", path = .path.display())]
    Damaged { path: PathBuf, error: db::Error },
    #[error("{path}: {error}", path = .path.display())]
    Failed { path: PathBuf, error: db::Error },
}

impl Error {
    fn of(path: &Path, error: db::Error) -> Error {
        let path = path.to_path_buf();
        match () {
            () if derived::is_full(&error) => Error::Full(path),
            () if derived::is_damage(&error) => Error::Damaged { path, error },
            () => Error::Failed { path, error },
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        match refused {
            newer @ Refused::Newer { .. } => Error::Newer(newer),
            Refused::Failed { path, error } => Error::of(&path, error),
        }
    }
}

pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// What a finding came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// There was nothing of this session before.
    pub is_new: bool,
    /// Anything that is shown has changed.
    pub changed: bool,
    pub facts: u64,
    pub in_review: u64,
}

/// What a person changes of a session.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    pub name: Option<String>,
    pub summary: Option<String>,
    pub add_tags: Vec<String>,
    pub remove_tags: Vec<String>,
}

/// What came of another memory's sessions and facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub sessions: u64,
    pub facts: u64,
    pub unchanged: u64,
    /// Forgotten here, and left out.
    pub forgotten: u64,
}

impl Store {
    /// Opened for writing; made if there is none.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let connection = kept::open(path, STEPS)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    /// Opened to read. None: nothing was ever remembered.
    pub fn look(path: &Path) -> Result<Option<Store>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        match kept::look(path, STEPS) {
            Some(connection) => Ok(Some(Store { connection, path: path.to_path_buf() })),
            // An older layout is moved on; of a newer or a damaged one this says why not.
            None => Store::open(path).map(Some),
        }
    }

    fn fail(&self) -> impl Fn(db::Error) -> Error + use<> {
        let path = self.path.clone();
        move |error| Error::of(&path, error)
    }

    /// When the last run of all sessions ended.
    pub fn last_run(&self) -> Result<Stamp, Error> {
        let sql = "select value from meta where name = 'last_run'";
        let found = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
        Ok(found.map_err(self.fail())?.map_or(Stamp::NONE, Stamp))
    }

    pub fn set_last_run(&self, at: Stamp) -> Result<(), Error> {
        let sql = "insert into meta values ('last_run', ?1) on conflict(name) do update set value = ?1";
        self.connection.execute(sql, [at.0]).map(|_| ()).map_err(self.fail())
    }

    /// Nothing of what was deleted is left in the file, its log or a copy beside it.
    pub fn purge(&self) -> Result<(), Error> {
        self.connection.execute_batch("vacuum; pragma wal_checkpoint(truncate)").map_err(self.fail())?;
        for step in 1..=STEPS.len() {
            let _ = std::fs::remove_file(db::beside(&self.path, &format!("-{step}.before")));
        }
        Ok(())
    }

    /// Everything, in the order of ids.
    pub fn all(&self) -> Result<(Vec<Remembered>, Vec<Fact>), Error> {
        Ok((self.sessions("")?, self.facts("")?))
    }
}

/// What a finding comes to where nothing was remembered before.
pub fn first(found: &Finding) -> (Applied, Option<Remembered>) {
    let facts = found.facts.len() as u64;
    let in_review = found.facts.iter().filter(|noted| noted.state == State::Review).count() as u64;
    (Applied { is_new: true, changed: true, facts, in_review }, Some(merge::session(None, found)))
}

#[cfg(test)]
mod tests;
