//! Titles, times and directories of sessions: for lists and for search results.
//!
//! Does not know events.

use crate::reader::SESSION_COLUMNS;
use crate::{Error, Reader};
use db::OptionalExtension;
use record::Session;

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

/// Filters for a list of sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFilter<'a> {
    pub sources: &'a [String],
    /// A directory: matches sessions in it or below it.
    pub project: Option<&'a str>,
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub limit: u64,
    pub offset: u64,
    pub oldest_first: bool,
}

impl SessionFilter<'_> {
    /// The beginning of all paths below the directory.
    fn below(&self) -> Option<String> {
        self.project.map(|project| format!("{}/", project.trim_end_matches('/')))
    }
}

/// The sessions that a [`SessionFilter`] selects, with its first five parameters.
const LISTED_SQL: &str = "where s.agent_id is null and (s.turns > 0 or s.calls > 0 or s.models != '') \
    and (?1 is null or s.project = ?1 or s.cwd = ?1 or substr(s.project, 1, length(?2)) = ?2 \
        or substr(s.cwd, 1, length(?2)) = ?2) \
    and (?3 = '' or instr(char(10) || ?3 || char(10), char(10) || c.source || char(10))) \
    and (?4 is null or s.ended >= ?4) and (?5 is null or s.started <= ?5)";

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
        let order = if listed.oldest_first { "s.ended, s.id" } else { "s.ended desc, s.id desc" };
        let rest = format!("{LISTED_SQL} order by {order} limit ?6 offset ?7");
        let (below, sources) = (listed.below(), listed.sources.join("\n"));
        let limit = i64::try_from(listed.limit).unwrap_or(-1);
        let params = db::params![
            listed.project,
            below,
            sources,
            listed.since,
            listed.until,
            limit,
            listed.offset as i64
        ];
        self.query_sessions(&rest, params)
    }

    /// How many sessions pass the filter, whatever its limit and offset.
    pub fn count_sessions(&self, listed: &SessionFilter<'_>) -> Result<u64, Error> {
        let sql = format!("select count(*) from sessions s join chats c on c.id = s.chat {LISTED_SQL}");
        let (below, sources) = (listed.below(), listed.sources.join("\n"));
        let params = db::params![listed.project, below, sources, listed.since, listed.until];
        let count = self.connection.query_row(&sql, params, |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(self.error_mapper())
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
