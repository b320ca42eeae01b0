//! Which device sessions and facts came from. What this device made itself has no entry.
//!
//! Stays when a device leaves its space: what was received stays as well. Does not know contents.

use crate::known::Known;
use crate::open_error::open_error;
use crate::settings::Place;
use api::{Code, Error};
use db::durable;
use db::sealed::{self, SealedConnection};
use db::{Connection, OptionalExtension as _};
use history::home::Home;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use sync::DeviceId;

const STEPS: &[&str] = &["
    create table devices(
      id    text primary key,
      label text not null,       -- as it was last known: a removed device keeps its name
      team  text not null        -- empty for a device of the same person
    ) without rowid;
    create table sessions(
      session_id text not null,
      source     text not null,
      device     text not null,
      primary key(session_id, source)
    ) without rowid;
    create index sessions_of on sessions(device);
    create table facts(
      id     text primary key,
      device text not null
    ) without rowid;"];

/// Source and session ID.
type SessionKey = (String, String);

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::ReadError, format!("cannot read or write the origins of sessions: {error}"))
}

/// The origins, to look up. Without a file, everything was made here. Opened when something is looked up: most lists have nothing
/// that could come from elsewhere.
pub struct Origins {
    home: Option<Home>,
    opened: OnceCell<Option<Connection>>,
}

impl Origins {
    pub fn load(home: Option<&Home>) -> Origins {
        Origins { home: home.cloned(), opened: OnceCell::new() }
    }

    fn connection(&self) -> Option<&Connection> {
        let open = || {
            let path = self.home.as_ref().map(Home::origins).filter(|path| path.exists())?;
            durable::open_reader(&path, STEPS)
        };
        self.opened.get_or_init(open).as_ref()
    }

    /// What this device is called, in its own space and in teams.
    fn own_labels(&self) -> BTreeSet<String> {
        let places = |home: &Home| std::iter::once(Place::private(home)).chain(Place::teams(home));
        let settings = self.home.iter().flat_map(places).filter_map(|place| place.joined_settings().ok());
        settings.map(|settings| settings.label).collect()
    }

    /// The name of the device that a session came from; none for one of this device.
    pub fn session_device(&self, source: &str, session_id: &str) -> Option<String> {
        let sql = "select d.label from sessions s join devices d on d.id = s.device \
            where s.session_id = ?1 and s.source = ?2";
        self.label(sql, [session_id, source])
    }

    /// The same for a session in a list. One of another device is in the archive alone, or was imported.
    pub fn listed_device(&self, is_archived: bool, source: &str, session_id: &str) -> Option<String> {
        let may_be_foreign = is_archived || source == "import";
        may_be_foreign.then(|| self.session_device(source, session_id)).flatten()
    }

    /// The name of the device that a fact came from; none for one of this device.
    pub fn fact_device(&self, id: &str) -> Option<String> {
        self.label("select d.label from facts f join devices d on d.id = f.device where f.id = ?1", [id])
    }

    /// The name of a device.
    pub(crate) fn device_label(&self, device: &DeviceId) -> Option<String> {
        self.label("select label from devices where id = ?1", [device.to_string()])
    }

    /// Facts that members of a team have suggested.
    pub(crate) fn team_facts(&self) -> Result<BTreeSet<SessionKey>, Error> {
        self.sessions("select f.id, '' from facts f join devices d on d.id = f.device where d.team != ''")
    }

    /// Sessions that were taken over from members of a team: what they say is not this person's.
    pub fn team_sessions(&self) -> BTreeSet<SessionKey> {
        let sql = "select s.source, s.session_id from sessions s join devices d on d.id = s.device \
            where d.team != ''";
        self.sessions(sql).unwrap_or_default()
    }

    fn label(&self, sql: &str, with: impl db::Params) -> Option<String> {
        let mut statement = self.connection()?.prepare_cached(sql).ok()?;
        statement.query_row(with, |row| row.get(0)).optional().ok().flatten()
    }

    /// The sessions that a request for one device, or for this one alone, selects; none for all sessions.
    pub fn select(&self, device: Option<&str>, mine: bool) -> Result<Option<OriginFilter>, Error> {
        let everything = "select source, session_id from sessions";
        let filter = |sql: &str, is_excluding: bool| {
            Ok(Some(OriginFilter { sessions: self.sessions(sql)?, is_excluding }))
        };
        let Some(named) = device.map(str::trim) else {
            return if mine { filter(everything, true) } else { Ok(None) };
        };
        let devices = self.devices()?;
        let called =
            |(id, label): &&(String, String)| label == named || named.len() >= 4 && id.starts_with(named);
        // Identifiers are hexadecimal and need no escaping.
        let ids: Vec<String> = devices.iter().filter(called).map(|(id, _)| format!("'{id}'")).collect();
        let list = ids.join(", ");
        match self.own_labels().contains(named) {
            // Also what an earlier device of this name has sent, such as the one that this one replaces.
            true => filter(&format!("{everything} where device not in ({list})"), true),
            false if ids.is_empty() => Err(self.unknown_device(named, &devices)),
            false => filter(&format!("{everything} where device in ({list})"), false),
        }
    }

    fn unknown_device(&self, named: &str, devices: &[(String, String)]) -> Error {
        let others = devices.iter().map(|(_, label)| label.clone());
        let known: BTreeSet<String> = others.chain(self.own_labels()).collect();
        let unknown = Error::new(Code::InvalidArgument, format!("unknown device `{named}`"));
        if known.is_empty() {
            return unknown.hint("nothing came from another device; `loci sync init URL` connects devices");
        }
        unknown.hint(format!("one of: {}", known.into_iter().collect::<Vec<_>>().join(", ")))
    }

    /// Identifier and name of each device that something came from.
    fn devices(&self) -> Result<Vec<(String, String)>, Error> {
        let Some(connection) = self.connection() else { return Ok(Vec::new()) };
        let read = || {
            let mut statement =
                connection.prepare_cached("select id, label from devices order by label, id")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error: db::Error| failed(&error))
    }

    /// The number of sessions and facts from each device.
    pub(crate) fn count_by_device(&self) -> Result<BTreeMap<String, (u64, u64)>, Error> {
        let Some(connection) = self.connection() else { return Ok(BTreeMap::new()) };
        let sql = "select d.id, (select count(*) from sessions s where s.device = d.id), \
            (select count(*) from facts f where f.device = d.id) from devices d";
        let read = || {
            let mut statement = connection.prepare(sql)?;
            let count = |row: &db::Row<'_>, at| row.get::<_, i64>(at).map(|count| count as u64);
            let rows = statement.query_map([], |row| Ok((row.get(0)?, (count(row, 1)?, count(row, 2)?))))?;
            rows.collect::<Result<BTreeMap<_, _>, _>>()
        };
        read().map_err(|error: db::Error| failed(&error))
    }

    fn sessions(&self, sql: &str) -> Result<BTreeSet<SessionKey>, Error> {
        let Some(connection) = self.connection() else { return Ok(BTreeSet::new()) };
        let read = || {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<BTreeSet<SessionKey>, _>>()
        };
        read().map_err(|error: db::Error| failed(&error))
    }
}

/// Selects sessions by the device they came from.
pub struct OriginFilter {
    sessions: BTreeSet<SessionKey>,
    /// The sessions are those that are left out.
    is_excluding: bool,
}

impl OriginFilter {
    pub fn contains(&self, source: &str, session_id: &str) -> bool {
        self.sessions.contains(&(source.to_string(), session_id.to_string())) != self.is_excluding
    }

    /// Source and ID of each session, separated by a tab, and whether these are left out.
    pub fn to_list(&self) -> (Vec<String>, bool) {
        let line = |(source, id): &SessionKey| [source, "\t", id].concat();
        (self.sessions.iter().map(line).collect(), self.is_excluding)
    }
}

/// The origins, to write.
pub(crate) struct OriginWriter {
    connection: SealedConnection,
}

impl OriginWriter {
    pub(crate) fn open(home: &Home) -> Result<OriginWriter, Error> {
        let opened = sealed::open_writer(&home.origins(), STEPS).map_err(|error| open_error(error, failed));
        opened.map(|connection| OriginWriter { connection })
    }

    /// Whether no session is known to come from elsewhere.
    pub(crate) fn is_empty(&self) -> Result<bool, Error> {
        let sql = "select count(*) from sessions";
        let count = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        count.map(|count| count == 0).map_err(|error| failed(&error))
    }

    pub(crate) fn name_device(&self, device: DeviceId, label: &str, team: &str) -> Result<(), Error> {
        let device = device.to_string();
        self.execute("insert or replace into devices values (?1, ?2, ?3)", [device.as_str(), label, team])
    }

    /// The first origin stays: another device may send the same session again.
    pub(crate) fn set_session(&self, source: &str, session_id: &str, device: DeviceId) -> Result<(), Error> {
        let device = device.to_string();
        self.execute("insert or ignore into sessions values (?1, ?2, ?3)", [session_id, source, &device])
    }

    pub(crate) fn set_fact(&self, id: &str, device: DeviceId) -> Result<(), Error> {
        self.execute("insert or ignore into facts values (?1, ?2)", [id, device.to_string().as_str()])
    }

    fn execute(&self, sql: &str, with: impl db::Params) -> Result<(), Error> {
        let run = || self.connection.prepare_cached(sql)?.execute(with);
        run().map(|_| ()).map_err(|error| failed(&error))
    }
}

/// Removes the origins of forgotten sessions, and what has arrived of them and waits.
pub fn forget_origins(home: &Home, is_forgotten: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    if Known::exists(home) {
        let known = Known::open(home)?;
        known.remove_backups()?;
    }
    if !home.origins().exists() {
        return Ok(());
    }
    let sessions = Origins::load(Some(home)).sessions("select source, session_id from sessions")?;
    let writer = OriginWriter::open(home)?;
    durable::remove_backups(&writer.connection).map_err(|error| failed(&error))?;
    for (source, id) in sessions.iter().filter(|(source, id)| is_forgotten(source, id)) {
        let sql = "delete from sessions where session_id = ?1 and source = ?2";
        writer.execute(sql, [id.as_str(), source.as_str()])?;
    }
    Ok(())
}
