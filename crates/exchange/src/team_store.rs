//! What came from the members of a team: records that are not judged yet, and what became of the others.
//!
//! Does not know what a record contains, nor who may have written it.

use crate::open_error::open_error;
use api::{Code, Error};
use db::OptionalExtension as _;
use db::sealed::{self, SealedConnection};
use std::path::Path;
use sync::{Body, DeviceId, Record};

const STEPS: &[&str] = &["
    create table inbox(
      collection text not null,
      key        text not null,
      device     text not null,
      body       blob,               -- null: withdrawn
      primary key(collection, key)
    ) without rowid;
    create table received(
      collection text not null,
      key        text not null,
      item       text not null,      -- the ID of the fact here, or source and ID of the session
      device     text not null,
      body       blob,               -- of a session, until it is taken
      primary key(collection, key)
    ) without rowid;"];

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::ReadError, format!("cannot read or write the state of the team: {error}"))
}

/// A record that arrived and was not judged yet.
pub(crate) struct Arrived {
    pub(crate) collection: String,
    pub(crate) key: String,
    pub(crate) device: DeviceId,
    /// None: withdrawn.
    pub(crate) body: Option<Vec<u8>>,
}

pub(crate) struct TeamStore {
    connection: SealedConnection,
}

impl TeamStore {
    pub(crate) fn open(folder: &Path) -> Result<TeamStore, Error> {
        let opened = sealed::open_writer(&folder.join("team.db"), STEPS);
        let opened = opened.map_err(|error| open_error(error, failed));
        opened.map(|connection| TeamStore { connection })
    }

    /// Keeps records until their authors are known: that is after the round.
    pub(crate) fn keep(&self, records: &[Record]) -> Result<(), Error> {
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(|error| failed(&error));
        run("begin immediate")?;
        for record in records {
            let body = match &record.body {
                Body::Bytes(bytes) => Some(bytes.as_slice()),
                Body::Deleted | Body::Forgotten => None,
            };
            let sql = "insert or replace into inbox values (?1, ?2, ?3, ?4)";
            let device = record.version.device.to_string();
            self.execute(sql, db::params![record.collection, record.key, device, body])?;
        }
        run("commit")
    }

    pub(crate) fn arrived(&self) -> Result<Vec<Arrived>, Error> {
        let read = || {
            let sql = "select collection, key, device, body from inbox order by collection, key";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let device: String = row.get(2)?;
                let arrived = |device| {
                    Ok(Arrived { collection: row.get(0)?, key: row.get(1)?, device, body: row.get(3)? })
                };
                DeviceId::parse(&device).map(arrived).transpose()
            })?;
            rows.filter_map(Result::transpose).collect::<Result<Vec<_>, db::Error>>()
        };
        read().map_err(|error| failed(&error))
    }

    /// Removes a record that was judged.
    pub(crate) fn remove_arrived(&self, one: &Arrived) -> Result<(), Error> {
        let sql = "delete from inbox where collection = ?1 and key = ?2";
        self.execute(sql, [one.collection.as_str(), one.key.as_str()])
    }

    pub(crate) fn set_received(&self, one: &Arrived, item: &str, body: Option<&[u8]>) -> Result<(), Error> {
        let sql = "insert or replace into received values (?1, ?2, ?3, ?4, ?5)";
        self.execute(sql, db::params![one.collection, one.key, item, one.device.to_string(), body])
    }

    /// What a record became here.
    pub(crate) fn received_item(&self, one: &Arrived) -> Result<Option<String>, Error> {
        let sql = "select item from received where collection = ?1 and key = ?2";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row([one.collection.as_str(), one.key.as_str()], |row| row.get(0)).optional()
        };
        read().map_err(|error| failed(&error))
    }

    /// The sessions that members share: the device and the record of each.
    pub(crate) fn offered(&self) -> Result<Vec<(DeviceId, Vec<u8>)>, Error> {
        let read = || {
            let sql = "select device, body from received where body is not null order by item, key";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<_>, db::Error>>()
        };
        let rows = read().map_err(|error| failed(&error))?;
        Ok(rows.into_iter().filter_map(|(device, body)| Some((DeviceId::parse(&device)?, body))).collect())
    }

    pub(crate) fn remove_received(&self, one: &Arrived) -> Result<(), Error> {
        let sql = "delete from received where collection = ?1 and key = ?2";
        self.execute(sql, [one.collection.as_str(), one.key.as_str()])
    }

    fn execute(&self, sql: &str, with: impl db::Params) -> Result<(), Error> {
        let run = || self.connection.prepare_cached(sql)?.execute(with);
        run().map(|_| ()).map_err(|error| failed(&error))
    }
}
