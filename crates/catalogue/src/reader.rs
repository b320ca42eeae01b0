//! Reads the catalogue: how far each transcript has been read, and its sessions and events. A reader sees one
//! snapshot and never blocks.
//!
//! Does not know whether a transcript has changed since: it returns the recorded state, and the caller
//! compares.

use crate::rows::{self, EVENT_COLUMNS};
use crate::{Error, LAYOUT, ORDINAL_BITS};
use db::derived::{Layout, open_reader};
use db::{Connection, OptionalExtension};
use record::{Problem, ProblemKind, Row, Session, Stamp, TitleOrigin};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file state of a transcript when it was last read: enough to see whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    pub id: u32,
    pub name: u64,
    pub size: u64,
    pub inode: u64,
    pub changed: i64,
    pub inode_changed: i64,
    pub gone: bool,
}

/// The watermark of a transcript, with hashes of the bytes there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    pub consumed: u64,
    pub head: u64,
    pub tail: u64,
}

/// The properties of one transcript besides its events.
#[derive(Debug, Default)]
pub struct FileState {
    pub sessions: Vec<Session>,
    pub birth: Option<Stamp>,
    pub abandoned: Vec<u32>,
    pub bad: u64,
    pub problems: Vec<Problem>,
    /// Other files contain copies of its events, or it contains copies of theirs: its counts are known only
    /// after joining.
    pub shared: bool,
}

/// Which events of a transcript to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFilter {
    All,
    Messages,
    Calls,
    Failures,
    /// No events: the properties of the sessions are enough.
    None,
}

impl EventFilter {
    fn sql_condition(self) -> &'static str {
        match self {
            EventFilter::All => "",
            EventFilter::Messages => " and what & 3 = 0",
            EventFilter::Calls => " and what & 3 != 0",
            EventFilter::Failures => " and failed = 1",
            EventFilter::None => " and 0",
        }
    }
}

/// Every transcript by its name, with the state of the database it was read at: `pragma data_version` for
/// other connections' changes and the number of our own.
pub(crate) type KnownFilesCache = ((i64, u64), Arc<FxHashMap<u64, KnownFile>>);

pub struct Reader {
    pub(crate) connection: Connection,
    /// The last result of `known_files`, with the state of the database it was read at.
    pub(crate) known_cache: RefCell<Option<KnownFilesCache>>,
    pub(crate) path: PathBuf,
    pub(crate) sources: Vec<&'static str>,
}

impl Reader {
    /// None: there is no catalogue yet, or it was created by an older version.
    pub fn open(path: &Path, sources: &[&'static str]) -> Result<Option<Reader>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        let (connection, layout) = open_reader(path, LAYOUT).map_err(|error| Error::from_db(path, error))?;
        let reader = Reader::new(connection, path, sources);
        match layout {
            Layout::Current => Ok(Some(reader)),
            Layout::Older => Ok(None),
            Layout::Newer(found) => Err(Error::Newer { path: path.to_path_buf(), found }),
        }
    }

    pub(crate) fn new(connection: Connection, path: &Path, sources: &[&'static str]) -> Reader {
        // Applying one survey runs two dozen statements, and the default cache keeps sixteen.
        connection.set_prepared_statement_cache_capacity(64);
        let (path, sources) = (path.to_path_buf(), sources.to_vec());
        Reader { connection, known_cache: RefCell::default(), path, sources }
    }

    pub(crate) fn error_mapper(&self) -> impl Fn(db::Error) -> Error + '_ {
        |error| Error::from_db(&self.path, error)
    }

    pub(crate) fn source_name(&self, name: &str) -> &'static str {
        self.sources.iter().find(|known| **known == name).copied().unwrap_or("unknown")
    }

    /// Starts a read transaction: everything until `end_snapshot` sees one snapshot.
    pub fn begin_snapshot(&self) -> Result<(), Error> {
        self.connection.execute_batch("begin").map_err(self.error_mapper())
    }

    pub fn end_snapshot(&self) -> Result<(), Error> {
        self.connection.execute_batch("commit").map_err(self.error_mapper())
    }

    /// The number of the last change.
    pub fn sequence(&self) -> Result<u64, Error> {
        let sql = "select value from meta where name = 'sequence'";
        let found = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
        Ok(found.map_err(self.error_mapper())?.unwrap_or(0) as u64)
    }

    /// A number that changes with every change by another connection.
    pub fn version(&self) -> Result<i64, Error> {
        let found = self.connection.query_row("pragma data_version", [], |row| row.get(0));
        found.map_err(self.error_mapper())
    }

    /// The first damage found in the pages of the database; reads all of them.
    pub fn find_damage(&self) -> Result<Option<String>, Error> {
        let found = self.query_all("pragma quick_check(1)", [], |row| row.get::<_, String>(0))?.pop();
        Ok(found.filter(|report| report != "ok"))
    }

    pub fn meta_value(&self, name: &str) -> Result<Option<i64>, Error> {
        let sql = "select value from meta where name = ?1";
        self.connection.query_row(sql, [name], |row| row.get(0)).optional().map_err(self.error_mapper())
    }

    /// Every transcript by its name, as compact as possible: a search checks all of them before it answers,
    /// and more than once.
    pub fn known_files(&self) -> Result<Arc<FxHashMap<u64, KnownFile>>, Error> {
        let state = (self.version()?, self.connection.total_changes());
        if let Some((then, known)) = &*self.known_cache.borrow()
            && *then == state
        {
            return Ok(known.clone());
        }
        let known = Arc::new(self.read_known_files()?);
        *self.known_cache.borrow_mut() = Some((state, known.clone()));
        Ok(known)
    }

    /// Frees the last result of `known_files`, which a long request no longer needs.
    pub fn release_known_files(&self) {
        *self.known_cache.borrow_mut() = None;
    }

    fn read_known_files(&self) -> Result<FxHashMap<u64, KnownFile>, Error> {
        let mut found = FxHashMap::default();
        // All columns are in one index, `files_look`: the table itself is ten times as large.
        self.query_each("select id, name, size, inode, changed, inode_changed, gone from files", |row| {
            let known = KnownFile {
                id: row.get(0)?,
                name: row.get::<_, i64>(1)? as u64,
                size: row.get::<_, i64>(2)? as u64,
                inode: row.get::<_, i64>(3)? as u64,
                changed: row.get(4)?,
                inode_changed: row.get(5)?,
                gone: row.get(6)?,
            };
            found.insert(known.name, known);
            Ok(())
        })?;
        Ok(found)
    }

    pub(crate) fn query_all<T>(
        &self,
        sql: &str,
        params: impl db::Params,
        one: impl FnMut(&db::Row<'_>) -> Result<T, db::Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.error_mapper())?;
        let rows = statement.query_map(params, one).map_err(self.error_mapper())?;
        rows.collect::<Result<_, _>>().map_err(self.error_mapper())
    }

    pub fn watermark(&self, file: u32) -> Result<Watermark, Error> {
        let sql = "select consumed, head, tail from files where id = ?1";
        let one = |row: &db::Row<'_>| {
            Ok(Watermark {
                consumed: row.get::<_, i64>(0)? as u64,
                head: row.get::<_, i64>(1)? as u64,
                tail: row.get::<_, i64>(2)? as u64,
            })
        };
        self.connection.query_row(sql, [file], one).map_err(self.error_mapper())
    }

    /// Names of tools and models by their ID in this database.
    pub fn all_names(&self) -> Result<Vec<(i64, String)>, Error> {
        self.query_all("select id, name from names order by id", [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    // ---- transcripts

    /// The properties of the wanted transcripts; others are skipped.
    pub fn file_states(&self, wanted: impl Fn(u32) -> bool) -> Result<FxHashMap<u32, FileState>, Error> {
        let mut found: FxHashMap<u32, FileState> = FxHashMap::default();
        self.for_each_file_state(&wanted, |id, state| {
            found.insert(id, state);
        })?;
        self.for_each_session(&wanted, |file, session, _| {
            if let Some(state) = found.get_mut(&file) {
                state.sessions.push(session);
            }
        })?;
        Ok(found)
    }

    /// Transcripts of which something could not be read or only in part.
    pub fn damaged_files(&self) -> Result<FxHashSet<u32>, Error> {
        let mut damaged = FxHashSet::default();
        self.query_each("select id from files where bad > 0 or problems != ''", |row| {
            damaged.insert(row.get(0)?);
            Ok(())
        })?;
        Ok(damaged)
    }

    /// Passes on the properties of the wanted transcripts, without their sessions.
    pub fn for_each_file_state(
        &self,
        wanted: impl Fn(u32) -> bool,
        mut each: impl FnMut(u32, FileState),
    ) -> Result<(), Error> {
        let sql = "select id, birth, abandoned, bad, problems, shared, path from files";
        self.query_each(sql, |row| {
            let id: u32 = row.get(0)?;
            if wanted(id) {
                each(id, read_file_state(row)?);
            }
            Ok(())
        })
    }

    /// Passes on the sessions of the wanted transcripts with their chats, in the order of the files' IDs and of the sessions in them.
    pub fn for_each_session(
        &self,
        wanted: impl Fn(u32) -> bool,
        mut each: impl FnMut(u32, Session, u32),
    ) -> Result<(), Error> {
        let sql = format!(
            "select {SESSION_COLUMNS}, s.file from sessions s join chats c on c.id = s.chat order by s.file, s.ordinal"
        );
        let mut texts = SharedTexts::default();
        self.query_each(&sql, |row| {
            let file: u32 = row.get(18)?;
            if wanted(file) {
                each(file, texts.share(self.session_from_row(row)?), row.get(17)?);
            }
            Ok(())
        })
    }

    fn query_each(
        &self,
        sql: &str,
        mut one: impl FnMut(&db::Row<'_>) -> Result<(), db::Error>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.error_mapper())?;
        let mut rows = statement.query([]).map_err(self.error_mapper())?;
        while let Some(row) = rows.next().map_err(self.error_mapper())? {
            one(row).map_err(self.error_mapper())?;
        }
        Ok(())
    }

    /// A session from a row with the columns `SESSION_COLUMNS`.
    pub(crate) fn session_from_row(&self, row: &db::Row<'_>) -> Result<Session, db::Error> {
        let text = |n: usize| row.get_ref(n).map(|v| Arc::from(v.as_str().unwrap_or_default()));
        let some = |n: usize| Ok::<_, db::Error>(row.get::<_, Option<String>>(n)?.map(Arc::from));
        let time = |n: usize| Ok::<_, db::Error>(row.get::<_, Option<i64>>(n)?.map_or(Stamp::NONE, Stamp));
        let origin: Option<String> = row.get(9)?;
        let title: Option<Arc<str>> = some(8)?;
        let models: String = row.get(15)?;
        Ok(Session {
            session_id: text(0)?,
            source: self.source_name(row.get_ref(1)?.as_str().unwrap_or_default()),
            agent_id: some(2)?,
            parent_session_id: some(3)?,
            project: text(4)?,
            cwd: text(5)?,
            git_branch: text(6)?,
            version: text(7)?,
            title: title.zip(origin.and_then(|word| TitleOrigin::from_name(&word))),
            started_at: time(10)?,
            ended_at: time(11)?,
            turns: row.get(12)?,
            tool_calls: row.get(13)?,
            errors: row.get(14)?,
            models: models.lines().map(Arc::from).collect(),
        })
    }

    // ---- events

    /// The events of some transcripts, in the order of the files' IDs and of the events in them. A row's
    /// `file` is the ID in this database, its `name` the one in the `all_names` table.
    pub fn for_each_row(
        &self,
        files: &[u32],
        pick: EventFilter,
        mut each: impl FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if pick == EventFilter::None {
            return Ok(());
        }
        self.for_each_row_where(files, pick.sql_condition(), &mut each)
    }

    pub(crate) fn for_each_row_where(
        &self,
        files: &[u32],
        condition: &str,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = format!("select {EVENT_COLUMNS} from events where id >= ?1 and id < ?2{condition}");
        let mut statement = self.connection.prepare_cached(&sql).map_err(self.error_mapper())?;
        for (from, to) in to_ranges(files) {
            let span = [i64::from(from) << ORDINAL_BITS, i64::from(to) << ORDINAL_BITS];
            let mut found = statement.query(span).map_err(self.error_mapper())?;
            while let Some(row) = found.next().map_err(self.error_mapper())? {
                each(with_file(&rows::read_row(row).map_err(self.error_mapper())?))?;
            }
        }
        Ok(())
    }

    /// Some events by their IDs, in that order; missing ones are left out.
    pub fn events_by_id(&self, ids: &[u64]) -> Result<Vec<(u64, Row)>, Error> {
        let sql = format!("select {EVENT_COLUMNS} from events where id = ?1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(self.error_mapper())?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let row =
                statement.query_row([*id as i64], rows::read_row).optional().map_err(self.error_mapper())?;
            found.extend(row.map(|read| (*id, with_file(&read))));
        }
        Ok(found)
    }

    /// The files that contain any of these event keys.
    pub fn files_with_keys(&self, keys: impl Iterator<Item = u64>) -> Result<FxHashSet<u32>, Error> {
        let mut statement = self
            .connection
            .prepare_cached("select id from events where key = ?1")
            .map_err(self.error_mapper())?;
        let mut files = FxHashSet::default();
        for key in keys {
            let found =
                statement.query_map([key as i64], |row| row.get::<_, i64>(0)).map_err(self.error_mapper())?;
            for id in found {
                files.insert((id.map_err(self.error_mapper())? >> ORDINAL_BITS) as u32);
            }
        }
        Ok(files)
    }
}

/// Texts that many sessions have in common, each in memory once: a history has a few hundred projects, and hundreds of
/// thousands of sessions.
#[derive(Default)]
struct SharedTexts(FxHashSet<Arc<str>>);

impl SharedTexts {
    fn share(&mut self, mut session: Session) -> Session {
        let Session { project, cwd, git_branch, version, models, .. } = &mut session;
        for text in [project, cwd, git_branch, version].into_iter().chain(models) {
            match self.0.get(text) {
                Some(shared) => *text = shared.clone(),
                None => {
                    self.0.insert(text.clone());
                }
            }
        }
        session
    }
}

/// The columns of a session, from `sessions s join chats c`, in the order that `session_from_row` expects; its chat
/// follows.
pub(crate) const SESSION_COLUMNS: &str = "c.session_id, c.source, s.agent_id, s.parent, s.project, s.cwd, s.branch, \
    s.version, s.title, s.origin, s.started, s.ended, s.turns, s.calls, s.errors, s.models, s.id, s.chat";

fn read_file_state(row: &db::Row<'_>) -> Result<FileState, db::Error> {
    let abandoned: String = row.get(2)?;
    let problems: String = row.get(4)?;
    let path = path_column(row, 6)?;
    Ok(FileState {
        birth: row.get::<_, Option<i64>>(1)?.map(Stamp),
        abandoned: abandoned.split(' ').filter_map(|n| n.parse().ok()).collect(),
        bad: row.get::<_, i64>(3)? as u64,
        problems: problems.lines().filter_map(|line| parse_problem(line, &path)).collect(),
        shared: row.get(5)?,
        ..FileState::default()
    })
}

pub(crate) fn path_column(row: &db::Row<'_>, column: usize) -> Result<PathBuf, db::Error> {
    let bytes = row.get_ref(column)?.as_blob().unwrap_or_default();
    Ok(os::files::path_from_bytes(bytes.to_vec()))
}

fn parse_problem(line: &str, path: &Path) -> Option<Problem> {
    let mut parts = line.splitn(3, '\t');
    Some(Problem {
        kind: ProblemKind::from_name(parts.next()?)?,
        offset: parts.next()?.parse().ok()?,
        note: parts.next()?.to_string(),
        file: path.to_path_buf(),
    })
}

/// Adds the file it belongs to; a call without a result has no end.
pub(crate) fn with_file(read: &rows::StoredRow) -> Row {
    let file = (read.id >> ORDINAL_BITS) as u32;
    let end_file = if read.row.end == Row::NO_END { 0 } else { file };
    Row { file, end_file, name: read.name.map_or(u32::MAX, |n| n as u32), ..read.row }
}

/// Merges consecutive numbers into half-open ranges: a whole history is one query.
fn to_ranges(files: &[u32]) -> Vec<(u32, u32)> {
    let mut sorted = files.to_vec();
    sorted.sort_unstable();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for file in sorted {
        match runs.last_mut() {
            Some((_, to)) if *to == file => *to += 1,
            _ => runs.push((file, file + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    #[test]
    fn consecutive_files_are_one_span() {
        assert_eq!(super::to_ranges(&[5, 1, 2, 3, 9]), [(1, 4), (5, 6), (9, 10)]);
        assert_eq!(super::to_ranges(&[]), []);
    }
}
