//! What this device has exchanged: the version of each archived copy, where received ones came from, and which sessions they
//! contain.
//!
//! Does not know the content. If the file is lost, everything is compared again.

mod parts;

pub(crate) use parts::{AppliedPart, Chain, SentState, WaitingPart};

use api::{Code, Error};
use db::durable::{self, OpenError};
use db::{Connection, OptionalExtension as _};
use history::home::Home;
use sources::FileStamp;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Facts that were forgotten without a session, here or elsewhere: one that is there again was stated once more.
const BLOCKED_STEP: &str = "create table blocked(fact text primary key) without rowid;";

const STEPS: &[&str] = &[
    "
    create table copies(
      name   text primary key,
      stamp  text not null,
      device text,               -- the device it came from; null for one of this device
      sessions text not null,    -- source and ID of each of its sessions, a line each
      kept   text                -- why it stayed on this device; null for one that was exchanged
    ) without rowid;",
    parts::STEP,
    BLOCKED_STEP,
];

/// What is known of a copy.
pub(crate) struct KnownCopy<'k> {
    pub(crate) stamp: &'k str,
    pub(crate) device: Option<&'k str>,
    pub(crate) sessions: &'k str,
    /// Why it stayed on this device.
    pub(crate) kept: Option<Kept>,
}

/// Why a copy stays on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In an excluded project.
    Excluded,
    /// It contains what newer rules mask.
    Withheld,
    TooLarge,
}

impl Kept {
    fn word(self) -> &'static str {
        match self {
            Kept::Excluded => "excluded",
            Kept::Withheld => "withheld",
            Kept::TooLarge => "too large",
        }
    }
}

pub(crate) struct Known {
    connection: Connection,
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::ReadError, format!("cannot read or write the state of sync: {error}"))
}

/// A version of a copy: changes whenever it is written.
pub(crate) fn stamp_text((length, stamp): (u64, FileStamp)) -> String {
    format!("{length}-{}-{}", stamp.inode, stamp.changed)
}

impl Known {
    fn path(home: &Home) -> PathBuf {
        home.sync().join("exchanged.db")
    }

    pub(crate) fn exists(home: &Home) -> bool {
        Known::path(home).exists()
    }

    pub(crate) fn open(home: &Home) -> Result<Known, Error> {
        let path = Known::path(home);
        let opened = durable::open_writer(&path, STEPS).map_err(|error: OpenError| failed(&error));
        opened.map(|connection| Known { connection })
    }

    /// Runs changes in one transaction.
    pub(crate) fn in_transaction<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(|error| failed(&error));
        run("begin immediate")?;
        match work() {
            Ok(done) => run("commit").map(|()| done),
            Err(error) => {
                let _ = run("rollback");
                Err(error)
            }
        }
    }

    /// The known version of a copy.
    pub(crate) fn stamp(&self, name: &str) -> Result<Option<String>, Error> {
        let sql = "select stamp from copies where name = ?1";
        let read = || self.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional();
        read().map_err(|error| failed(&error))
    }

    pub(crate) fn set_copy(&self, name: &str, copy: &KnownCopy<'_>) -> Result<(), Error> {
        let sql = "insert or replace into copies values (?1, ?2, ?3, ?4, ?5)";
        let kept = copy.kept.map(Kept::word);
        self.execute(sql, db::params![name, copy.stamp, copy.device, copy.sessions, kept])
    }

    /// Whether a copy came from another device.
    pub(crate) fn is_received(&self, name: &str) -> bool {
        let found = self.texts("select name from copies where name = ?1 and device is not null", [name]);
        found.is_ok_and(|names| !names.is_empty())
    }

    /// The sessions that a copy had when it was exchanged: source and ID.
    pub(crate) fn sessions_of(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let text = self.texts("select sessions from copies where name = ?1", [name])?;
        let lines = text.iter().flat_map(|text| text.lines());
        Ok(lines
            .filter_map(|line| line.split_once('\t'))
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .collect())
    }

    pub(crate) fn remove_copy(&self, name: &str) -> Result<(), Error> {
        self.execute("delete from copies where name = ?1", [name])
    }

    pub(crate) fn copy_names(&self) -> Result<BTreeSet<String>, Error> {
        self.texts("select name from copies", [])
    }

    /// The number of copies that stay here for this reason.
    pub(crate) fn count_kept(&self, why: Kept) -> Result<u64, Error> {
        let sql = "select count(*) from copies where kept = ?1";
        let read =
            || self.connection.prepare_cached(sql)?.query_row([why.word()], |row| row.get::<_, i64>(0));
        read().map(|count| count as u64).map_err(|error| failed(&error))
    }

    /// The number of copies from each device, and under an empty name those that this device has sent.
    pub(crate) fn copies_by_device(&self) -> Result<Vec<(String, u64)>, Error> {
        let sql =
            "select coalesce(device, ''), count(*) from copies where kept is null group by 1 order by 1";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error| failed(&error))
    }

    /// Remembers facts as forgotten, or no longer so.
    pub(crate) fn set_blocked(&self, facts: &[String], is_blocked: bool) -> Result<(), Error> {
        let insert = "insert or ignore into blocked values (?1)";
        let sql = if is_blocked { insert } else { "delete from blocked where fact = ?1" };
        facts.iter().try_for_each(|fact| self.execute(sql, [fact]))
    }

    pub(crate) fn blocked(&self) -> Result<BTreeSet<String>, Error> {
        self.texts("select fact from blocked", [])
    }

    /// Forgets the versions of the copies of this device, so that all are compared again.
    pub(crate) fn forget_versions(&self) -> Result<(), Error> {
        self.execute("update copies set stamp = '' where device is null", [])
    }

    fn texts(&self, sql: &str, with: impl db::Params) -> Result<BTreeSet<String>, Error> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(with, |row| row.get(0))?;
            rows.collect::<Result<BTreeSet<String>, _>>()
        };
        read().map_err(|error| failed(&error))
    }

    fn execute(&self, sql: &str, with: impl db::Params) -> Result<(), Error> {
        let run = || self.connection.prepare_cached(sql)?.execute(with);
        run().map(|_| ()).map_err(|error| failed(&error))
    }
}
