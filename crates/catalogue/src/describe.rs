//! Titles, times and directories of sessions: for lists and for search results.
//!
//! Does not know events.

use crate::reader::SESSION_COLUMNS;
use crate::{Error, Reader};
use db::OptionalExtension;
use record::{Session, Stamp};
use std::path::PathBuf;

/// A session with its identifiers in the catalogue. All sessions of one conversation, its own and those of
/// its subagents, have the same `sessions_of_chat`.
#[derive(Clone, Debug)]
pub struct ListedSession {
    pub id: u32,
    /// The session's own ID in the catalogue.
    pub number: u32,
    pub file: u32,
    /// Its agent has deleted the transcript; the archive still has it.
    pub gone: bool,
    pub session: Session,
}

/// A directory in which sessions took place.
#[derive(Clone, Debug)]
pub struct FolderUse {
    pub folder: String,
    pub sessions: u64,
    pub last: Stamp,
}

/// Filters for a list of sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFilter<'a> {
    pub sources: &'a [String],
    /// Directories: matches sessions in one of them or below; all sessions if there are none.
    pub folders: &'a [PathBuf],
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub limit: u64,
    pub offset: u64,
    pub oldest_first: bool,
    /// Only these sessions, or all but these; none for all.
    pub listed: Option<ListedKeys<'a>>,
}

/// Sessions by source and ID, which a tab separates.
#[derive(Clone, Copy, Debug)]
pub struct ListedKeys<'a> {
    pub keys: &'a [String],
    pub is_excluding: bool,
}

impl ListedKeys<'_> {
    fn to_sql(self) -> String {
        let keys = self.keys.iter().map(|key| quote_sql(key)).collect::<Vec<_>>().join("), (");
        let values =
            if keys.is_empty() { "select null where false".to_string() } else { format!("values ({keys})") };
        let not = if self.is_excluding { "not " } else { "" };
        format!("c.source || char(9) || c.session_id {not}in ({values})")
    }
}

impl SessionFilter<'_> {
    /// The condition, with its first four parameters.
    fn to_sql(self) -> String {
        let within = self.folders.iter().map(|folder| {
            let folder = quote_sql(folder.to_string_lossy().trim_end_matches('/'));
            let is_within = |column: &str| {
                format!("{column} = {folder} or substr({column}, 1, length({folder}) + 1) = {folder} || '/'")
            };
            format!("{} or {}", is_within("s.project"), is_within("s.cwd"))
        });
        let within: Vec<String> = within.collect();
        let within = if within.is_empty() { "true".to_string() } else { within.join(" or ") };
        let listed = self.listed.map_or_else(|| "true".to_string(), ListedKeys::to_sql);
        format!("{LISTED_SQL} and ({within}) and {listed}")
    }
}

pub(crate) fn quote_sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The sessions that a [`SessionFilter`] selects, apart from their directories.
const LISTED_SQL: &str = "where s.agent_id is null and (s.turns > 0 or s.calls > 0 or s.models != '') \
    and (?1 = '' or instr(char(10) || ?1 || char(10), char(10) || c.source || char(10))) \
    and (?2 is null or s.ended >= ?2) and (?3 is null or s.started <= ?3)";

impl Reader {
    fn query_sessions(&self, rest: &str, params: impl db::Params) -> Result<Vec<ListedSession>, Error> {
        let sql = format!(
            "select {SESSION_COLUMNS}, s.file, f.gone from sessions s join chats c on c.id = s.chat \
            join files f on f.id = s.file {rest}"
        );
        self.query_all(&sql, params, |row| {
            Ok(ListedSession {
                number: row.get(16)?,
                id: row.get(17)?,
                file: row.get(18)?,
                gone: row.get(19)?,
                session: self.session_from_row(row)?,
            })
        })
    }

    /// Every session of a conversation, the main one first.
    pub fn sessions_of_chat(&self, id: u32) -> Result<Vec<ListedSession>, Error> {
        self.query_sessions("where s.chat = ?1 order by s.agent_id is not null, s.started, s.id", [id])
    }

    /// The newest sessions first, by the time of their last event; subagents' sessions are listed under their
    /// parent only.
    pub fn newest_sessions(&self, listed: &SessionFilter<'_>) -> Result<Vec<ListedSession>, Error> {
        // The ID of a row depends on the order in which transcripts were read; the ID of a session does not.
        let order = if listed.oldest_first {
            "s.ended, c.session_id, s.id"
        } else {
            "s.ended desc, c.session_id desc, s.id desc"
        };
        let rest = format!("{} order by {order} limit ?4 offset ?5", listed.to_sql());
        let sources = listed.sources.join("\n");
        let limit = i64::try_from(listed.limit).unwrap_or(-1);
        let params = db::params![sources, listed.since, listed.until, limit, listed.offset as i64];
        self.query_sessions(&rest, params)
    }

    /// How many sessions pass the filter, whatever its limit and offset.
    pub fn count_sessions(&self, listed: &SessionFilter<'_>) -> Result<u64, Error> {
        let from = "select count(*) from sessions s join chats c on c.id = s.chat";
        let sql = format!("{from} {}", listed.to_sql());
        let params = db::params![listed.sources.join("\n"), listed.since, listed.until];
        let count = self.connection.query_row(&sql, params, |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(self.error_mapper())
    }

    /// The directories of sessions, with their numbers of sessions and the time of the last one; newest first.
    pub fn project_folders(&self) -> Result<Vec<FolderUse>, Error> {
        let sql = "select case when project = '' then cwd else project end as folder, count(distinct chat), max(ended) from sessions s \
            where agent_id is null and (turns > 0 or calls > 0 or models != '') and folder != '' \
            group by folder order by 3 desc, 1";
        self.query_all(sql, [], |row| {
            Ok(FolderUse {
                folder: row.get(0)?,
                sessions: row.get::<_, i64>(1)? as u64,
                last: Stamp(row.get(2)?),
            })
        })
    }

    /// The folder at the path if a session has it, or else the folder with this name, ignoring case, whose session is the
    /// newest.
    pub fn newest_project(&self, path: &str, name: &str) -> Result<Option<String>, Error> {
        let sql = "select project from sessions where project != '' and (project = ?1 \
            or lower(substr(project, -length(?2) - 1)) = '/' || lower(?2)) \
            order by project = ?1 desc, ended desc limit 1";
        let found = self.connection.query_row(sql, db::params![path, name], |row| row.get(0));
        found.optional().map_err(self.error_mapper())
    }

    /// How many transcripts, sessions and events the catalogue has.
    pub fn count_totals(&self) -> Result<(u64, u64, u64), Error> {
        let count = |sql: &str| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let all = |sql: &str| count(sql).map(|n| n as u64).map_err(self.error_mapper());
        Ok((
            all("select count(*) from files")?,
            all("select count(*) from sessions where agent_id is null")?,
            all("select coalesce(sum(events), 0) from files")?,
        ))
    }
}
