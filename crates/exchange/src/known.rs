//! What this device has exchanged: the version of each archived copy, where received ones came from, and which sessions they
//! contain.
//!
//! Does not know the content. If the file is lost, everything is compared again.

mod parts;

pub(crate) use parts::SentState;

use crate::open_error::open_error;
use api::{Code, Error};
use db::OptionalExtension as _;
use db::durable;
use db::sealed::{self, SealedConnection};
use history::home::Home;
use sources::FileStamp;
use sources::archive::Store;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Facts that were forgotten without a session, here or elsewhere: one that is there again was stated once more.
const BLOCKED_STEP: &str = "create table blocked(fact text primary key) without rowid;";

/// Forgotten sessions that were exchanged: a list of them that lost entries is mended from here.
const TOMBSTONES_STEP: &str = "
    create table tombstones(source text not null, session text not null, primary key (source, session)) without rowid;";

/// Before version 0.2.0 this layout was written without the last column, and without the last two: see
/// [`Known::add_columns`].
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
    TOMBSTONES_STEP,
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

/// A session of a copy that came from another device.
pub(crate) struct ReceivedSession {
    pub(crate) device: String,
    pub(crate) source: String,
    pub(crate) id: String,
}

/// What [`list_sessions`] has written.
pub(crate) fn parse_sessions(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(source, id)| (source.to_string(), id.to_string()))
}

/// Source and ID of each session of a copy, a line each.
pub(crate) fn list_sessions(store: &Store, name: u128) -> String {
    let Ok(copy) = store.find_by_name(name) else { return String::new() };
    let line = |id: &str| [copy.source.as_str(), "\t", id, "\n"].concat();
    copy.sessions.iter().map(|session| line(&session.session_id)).collect()
}

/// The databases with what this device knows of its space and of teams.
pub fn databases(home: &Home) -> Vec<PathBuf> {
    let teams = std::fs::read_dir(home.teams()).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = teams.map(|entry| entry.path()).collect();
    folders.sort();
    folders.insert(0, home.sync());
    let names = ["sync.db", "exchanged.db", "team.db"];
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).collect()
}

pub(crate) struct Known {
    connection: SealedConnection,
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::ReadError, format!("cannot read or write the state of sync: {error}"))
}

/// In place of the version of a copy that was not stored, because one of this device has all of it.
pub(crate) const CONTAINED: &str = "contained";

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
        let opened = sealed::open_writer(&path, STEPS).map_err(|error| open_error(error, failed));
        let known = Known { connection: opened? };
        known.add_columns(&Store::new(home.archive()))?;
        Ok(known)
    }

    /// Adds the columns that a device of an early version lacks. Without the sessions of a copy, forgetting them all would not
    /// remove it elsewhere.
    fn add_columns(&self, archive: &Store) -> Result<(), Error> {
        let columns = db::table_columns(&self.connection, "copies").map_err(|error| failed(&error))?;
        let lacks = |name: &str| !columns.iter().any(|column| column == name);
        if !lacks("kept") {
            return Ok(());
        }
        self.in_transaction(|| {
            if lacks("sessions") {
                self.execute("alter table copies add column sessions text not null default ''", [])?;
                self.execute("drop table if exists entries", [])?;
                for name in self.copy_names()? {
                    let copy = u128::from_str_radix(&name, 16);
                    let sessions = copy.map_or_else(|_| String::new(), |copy| list_sessions(archive, copy));
                    self.execute("update copies set sessions = ?2 where name = ?1", [name, sessions])?;
                }
            }
            self.execute("alter table copies add column kept text", [])?;
            sealed::seal_layout(&self.connection).map_err(|error| failed(&error))
        })
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

    /// Whether all of a copy of another device is in one of this device, so that it was not stored.
    pub(crate) fn is_contained(&self, name: &str) -> Result<bool, Error> {
        Ok(self.stamp(name)?.is_some_and(|stamp| stamp == CONTAINED))
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

    /// The sessions that a copy had when it was exchanged: source and ID.
    pub(crate) fn sessions_of(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let text = self.texts("select sessions from copies where name = ?1", [name])?;
        Ok(text.iter().flat_map(|text| parse_sessions(text)).collect())
    }

    /// The sessions of every copy that came from another device.
    pub(crate) fn received_sessions(&self) -> Result<Vec<ReceivedSession>, Error> {
        let read = || {
            let sql = "select device, sessions from copies where device is not null order by name";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows =
                statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let mut found = Vec::new();
        for (device, text) in read().map_err(|error| failed(&error))? {
            let one = |(source, id)| ReceivedSession { device: device.clone(), source, id };
            found.extend(parse_sessions(&text).map(one));
        }
        Ok(found)
    }

    pub(crate) fn remove_copy(&self, name: &str) -> Result<(), Error> {
        self.execute("delete from copies where name = ?1", [name])
    }

    pub(crate) fn copy_names(&self) -> Result<BTreeSet<String>, Error> {
        self.texts("select name from copies", [])
    }

    /// The device that a copy came from. None: this one.
    pub(crate) fn device_of(&self, name: &str) -> Result<Option<String>, Error> {
        let sql = "select device from copies where name = ?1 and device is not null";
        self.texts(sql, [name]).map(|devices| devices.into_iter().next())
    }

    /// The copies of this device.
    pub(crate) fn own_copy_names(&self) -> Result<BTreeSet<String>, Error> {
        self.texts("select name from copies where device is null", [])
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

    /// Remembers sessions as forgotten, on this device or another.
    pub(crate) fn add_tombstones<'t>(
        &self,
        sessions: impl Iterator<Item = &'t (String, String)>,
    ) -> Result<(), Error> {
        let sql = "insert or ignore into tombstones values (?1, ?2)";
        self.in_transaction(|| {
            let mut sessions = sessions;
            sessions.try_for_each(|(source, session)| self.execute(sql, [source, session]))
        })
    }

    /// The forgotten sessions that were exchanged: source and ID.
    pub(crate) fn tombstones(&self) -> Result<Vec<(String, String)>, Error> {
        let read = || {
            let mut statement =
                self.connection.prepare_cached("select source, session from tombstones order by 1, 2")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error| failed(&error))
    }

    /// Removes the copies of earlier layouts, which would keep what is forgotten.
    pub(crate) fn remove_backups(&self) -> Result<(), Error> {
        durable::remove_backups(&self.connection).map_err(|error| failed(&error))
    }

    /// Forgets the version of a copy, so that the next round sends it.
    pub(crate) fn forget_version(&self, name: &str) -> Result<(), Error> {
        self.execute("update copies set stamp = '' where name = ?1", [name])
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
