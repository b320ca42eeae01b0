//! Applies the survey of one transcript: writes only changed rows, and marks events shared with other
//! transcripts.
//!
//! Does not read transcripts, and does not know the text of a row.

use crate::rows::{self, INSERT_EVENT};
use crate::{Error, ORDINAL_BITS, Watermark, Writer, event_id, split_event_id};
use db::{OptionalExtension, params};
use record::row::COPIED;
use record::{Problem, Row, RowKind, Session, Stamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The complete survey of a transcript: every message, call and stray result in the order of the file.
pub struct Survey<'a> {
    pub name: u64,
    pub source: &'static str,
    pub path: &'a Path,
    pub part: Option<&'a str>,
    /// The device that wrote it. None: this one.
    pub origin: Option<&'a str>,
    pub hint: &'a str,
    pub family: &'a Path,
    pub size: u64,
    pub inode: u64,
    pub changed: i64,
    pub inode_changed: i64,
    pub watermark: Watermark,
    pub gone: bool,
    /// The file was replaced by other content, even if the IDs match.
    pub rewritten: bool,
    /// With their counts before copies are removed.
    pub sessions: &'a [Session],
    pub birth: Option<Stamp>,
    pub abandoned: &'a [u32],
    pub bad: u64,
    pub problems: &'a [Problem],
    pub rows: &'a [Row],
    /// Names of tools and models, indexed by the rows' `name`.
    pub names: &'a [Arc<str>],
    /// Whether the text index stores the text of a row.
    pub wants_text: &'a dyn Fn(&Row) -> bool,
}

/// An event that is new, or whose text has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedEvent {
    pub ordinal: u32,
    /// Whether the text index stores its text.
    pub indexed: bool,
    pub replaces: bool,
}

/// The outcome of applying a survey.
#[derive(Debug, Default)]
pub struct ApplyOutcome {
    pub file: u32,
    /// Everything the index has of this file is invalid: the content was replaced.
    pub rewritten: bool,
    pub changed_events: Vec<ChangedEvent>,
    /// The conversation of each session.
    pub chats: Vec<u32>,
    pub new_titles: Vec<NewTitle>,
    /// Events of other files that the text index must drop: this file is the original.
    pub superseded: Vec<u64>,
    /// Other files that became the original of an event this file contained before.
    pub new_originals: BTreeSet<u32>,
    /// Other files that were the original of an event until now.
    pub losers: BTreeSet<u32>,
}

/// The new title of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewTitle {
    /// The session's index in the survey.
    pub ordinal: u32,
    /// The session's ID in the catalogue.
    pub session: u32,
    /// The length of the title that the text index has.
    pub replaced: Option<usize>,
}

/// Decides which of several copies of an event is the original: the same rule as in `copies_of_event`, with the files'
/// paths in place of their positions in a query's list.
type Precedence = (bool, i64, Vec<u8>, Option<String>, u64);

/// A copy of an event in another position or file.
struct EventCopy {
    id: u64,
    indexed: bool,
    precedence: Precedence,
}

/// A file of the project that a call touched.
pub struct TouchedFile<'a> {
    pub ordinal: u32,
    pub path: &'a str,
}

impl Writer {
    /// Applies the survey of one transcript. Call it between `begin` and `commit`.
    pub fn apply_survey(&mut self, survey: &Survey<'_>) -> Result<ApplyOutcome, Error> {
        let known = self.find_file(survey.name)?;
        let file = match known {
            Some(file) => file,
            None => self.insert_file(survey)?,
        };
        let old = if known.is_some() { self.read_old_rows(file)? } else { Vec::new() };
        let grown = !survey.rewritten
            && old.len() <= survey.rows.len()
            && old.iter().zip(survey.rows).all(|(a, b)| is_same_event(a, b));
        let mut applied = ApplyOutcome { file, rewritten: !grown, ..ApplyOutcome::default() };
        let owners = if applied.rewritten { self.delete_events(file)? } else { Vec::new() };
        let names = self.intern_names(survey)?;
        let old: &[Row] = if grown { &old } else { &[] };
        let shared = self.write_rows(file, old, survey, &names, &mut applied)?;
        self.write_sessions(file, survey, &mut applied)?;
        self.update_file(file, survey, shared)?;
        self.collect_new_originals(&owners, &mut applied)?;
        // What passed to another file and back was never indexed there.
        let owners: FxHashSet<u64> = owners.into_iter().collect();
        let losses = applied.superseded.iter().filter(|event| !owners.contains(event));
        applied.losers = losses.map(|event| split_event_id(*event).0).collect();
        Ok(applied)
    }

    /// Adds those new originals that the survey did not take back.
    fn collect_new_originals(&self, owners: &[u64], applied: &mut ApplyOutcome) -> Result<(), Error> {
        for owner in owners {
            let sql = "select told from events where id = ?1";
            if self.reader.query_all(sql, [*owner as i64], |row| row.get(0))?.pop() == Some(true) {
                applied.new_originals.insert(split_event_id(*owner).0);
            }
        }
        Ok(())
    }

    fn find_file(&self, name: u64) -> Result<Option<u32>, Error> {
        let connection = &self.reader.connection;
        let mut statement = connection
            .prepare_cached("select id from files where name = ?1")
            .map_err(self.reader.error_mapper())?;
        statement.query_row([name as i64], |row| row.get(0)).optional().map_err(self.reader.error_mapper())
    }

    fn insert_file(&self, survey: &Survey<'_>) -> Result<u32, Error> {
        let sql = "insert into files(name, source, path, part, hint, family, size, inode, changed, inode_changed, consumed, \
            head, tail, abandoned, bad, problems, events, shared, gone, sequence, origin) \
            values (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0, 0, 0, '', 0, '', 0, 0, 0, 0, ?7)";
        self.execute(
            "insert or ignore into families(path) values (?1)",
            [survey.family.as_os_str().as_encoded_bytes()],
        )?;
        let (path, family) =
            (survey.path.as_os_str().as_encoded_bytes(), survey.family.as_os_str().as_encoded_bytes());
        self.execute(
            sql,
            params![survey.name as i64, survey.source, path, survey.part, survey.hint, family, survey.origin],
        )?;
        Ok(self.reader.connection.last_insert_rowid() as u32)
    }

    fn read_old_rows(&self, file: u32) -> Result<Vec<Row>, Error> {
        let mut old = Vec::new();
        self.reader.for_each_row(&[file], crate::EventFilter::All, |row| {
            old.push(row);
            Ok(())
        })?;
        Ok(old)
    }

    /// Deletes the events of a file. An event that other files repeat passes to the next copy; returns the
    /// IDs of those copies.
    fn delete_events(&self, file: u32) -> Result<Vec<u64>, Error> {
        let span = params![i64::from(file) << ORDINAL_BITS, i64::from(file + 1) << ORDINAL_BITS];
        let orphaned = if self.is_shared(file)? {
            let sql = "select key from events where id >= ?1 and id < ?2 and told = 1";
            self.reader.query_all(sql, span, |row| row.get::<_, i64>(0))?
        } else {
            Vec::new()
        };
        self.execute("delete from touched where event >= ?1 and event < ?2", span)?;
        self.execute("delete from events where id >= ?1 and id < ?2", span)?;
        let mut owners = Vec::new();
        for key in orphaned {
            let owner = self.copies_of_event(key)?.into_iter().min_by(|a, b| a.precedence.cmp(&b.precedence));
            if let Some(owner) = owner.filter(|owner| !owner.indexed) {
                self.set_indexed(owner.id, true)?;
                owners.push(owner.id);
            }
        }
        Ok(owners)
    }

    /// Sets whether the text index takes an event from this file. The file counts as changed: after a kill before the commit of the
    /// index, what the index has of it must be written again.
    fn set_indexed(&self, event: u64, indexed: bool) -> Result<(), Error> {
        self.execute("update events set told = ?2 where id = ?1", params![event as i64, indexed])?;
        let file = split_event_id(event).0;
        self.execute("update files set sequence = ?2 where id = ?1", params![file, self.sequence as i64])?;
        Ok(())
    }

    /// All copies of an event; rows of stray results do not count.
    fn copies_of_event(&self, key: i64) -> Result<Vec<EventCopy>, Error> {
        let sql = "select e.id, e.told, e.what, f.birth, f.path, f.part \
            from events e join files f on f.id = e.id >> 24 where e.key = ?1 and e.what & 3 != 2";
        self.reader.query_all(sql, [key], |row| {
            let (id, part) = (row.get::<_, i64>(0)? as u64, row.get(5)?);
            let birth = row.get::<_, Option<i64>>(3)?.unwrap_or(i64::MAX);
            let path = row.get_ref(4)?.as_blob().unwrap_or_default().to_vec();
            let seniority = (rows::is_marked_copy(row.get(2)?), birth, path, part, id);
            Ok(EventCopy { id, indexed: row.get(1)?, precedence: seniority })
        })
    }

    /// Whether the text index takes an event's text from this file: no other file provides it, or this file
    /// is the original. In that case the other copies stop providing it.
    fn claim_event(
        &self,
        id: u64,
        row: &Row,
        survey: &Survey<'_>,
        taken: &mut Vec<u64>,
    ) -> Result<bool, Error> {
        if row.row == RowKind::Result || !(survey.wants_text)(row) {
            return Ok(false);
        }
        let birth = survey.birth.filter(|at| at.is_some()).map_or(i64::MAX, |at| at.0);
        let path = survey.path.as_os_str().as_encoded_bytes().to_vec();
        let own = (row.has_flag(COPIED), birth, path, survey.part.map(str::to_string), id);
        let file = split_event_id(id).0;
        let indexed: Vec<EventCopy> =
            self.copies_of_event(row.key as i64)?.into_iter().filter(|copy| copy.indexed).collect();
        // A file never provides the same event twice, even if its start time is known only now.
        if indexed.iter().any(|copy| split_event_id(copy.id).0 == file || copy.precedence < own) {
            return Ok(false);
        }
        for copy in indexed {
            self.set_indexed(copy.id, false)?;
            taken.push(copy.id);
        }
        Ok(true)
    }

    /// The IDs of the names in this database, by their index in the survey.
    fn intern_names(&self, survey: &Survey<'_>) -> Result<FxHashMap<u32, i64>, Error> {
        let mut numbers = FxHashMap::default();
        for row in survey.rows {
            if row.name != u32::MAX && !numbers.contains_key(&row.name) {
                let name = survey.names.get(row.name as usize).map_or("", |name| &**name);
                numbers.insert(row.name, self.intern_value("names", "name", name)?);
            }
        }
        Ok(numbers)
    }

    fn intern_value(&self, table: &str, column: &str, text: &str) -> Result<i64, Error> {
        let connection = &self.reader.connection;
        let sql = format!("select id from {table} where {column} = ?1");
        let mut find = connection.prepare_cached(&sql).map_err(self.reader.error_mapper())?;
        let found =
            find.query_row([text], |row| row.get(0)).optional().map_err(self.reader.error_mapper())?;
        if let Some(found) = found {
            return Ok(found);
        }
        self.execute(&format!("insert into {table}({column}) values (?1)"), [text])?;
        Ok(connection.last_insert_rowid())
    }

    /// Upserts changed rows; returns whether any event is shared with another transcript.
    fn write_rows(
        &self,
        file: u32,
        old: &[Row],
        survey: &Survey<'_>,
        names: &FxHashMap<u32, i64>,
        applied: &mut ApplyOutcome,
    ) -> Result<bool, Error> {
        let connection = &self.reader.connection;
        let mut insert = connection.prepare_cached(INSERT_EVENT).map_err(self.reader.error_mapper())?;
        let mut find = connection
            .prepare_cached("select id from events where key = ?1")
            .map_err(self.reader.error_mapper())?;
        let mut find_told = connection
            .prepare_cached("select told from events where id = ?1")
            .map_err(self.reader.error_mapper())?;
        let mut shared = self.is_shared(file)?;
        for (ordinal, row) in survey.rows.iter().enumerate() {
            let before = old.get(ordinal);
            let name = names.get(&row.name).copied();
            if before.is_some_and(|old| is_unchanged(old, row, name)) {
                continue;
            }
            let id = event_id(file, ordinal as u32);
            let indexed = if before.is_some() {
                find_told.query_row([id as i64], |row| row.get(0)).map_err(self.reader.error_mapper())?
            } else {
                let others = find.query_map([row.key as i64], |row| row.get::<_, i64>(0));
                let others: Result<Vec<i64>, _> = others.map_err(self.reader.error_mapper())?.collect();
                let others = others.map_err(self.reader.error_mapper())?;
                shared |= !others.is_empty();
                for other in &others {
                    self.execute(
                        "update files set shared = 1 where id = ?1 and not shared",
                        [other >> ORDINAL_BITS],
                    )?;
                }
                let alone = others.is_empty() && (survey.wants_text)(row);
                alone || (!others.is_empty() && self.claim_event(id, row, survey, &mut applied.superseded)?)
            };
            rows::insert_row(&mut insert, id, row, name, indexed).map_err(self.reader.error_mapper())?;
            let moved_only = before.is_some_and(|old| has_same_text(old, row));
            if !moved_only {
                applied.changed_events.push(ChangedEvent {
                    ordinal: ordinal as u32,
                    indexed,
                    replaces: before.is_some(),
                });
            }
        }
        Ok(shared)
    }

    fn is_shared(&self, file: u32) -> Result<bool, Error> {
        let connection = &self.reader.connection;
        let mut find = connection
            .prepare_cached("select shared from files where id = ?1")
            .map_err(self.reader.error_mapper())?;
        find.query_row([file], |row| row.get(0)).map_err(self.reader.error_mapper())
    }

    fn write_sessions(
        &self,
        file: u32,
        survey: &Survey<'_>,
        applied: &mut ApplyOutcome,
    ) -> Result<(), Error> {
        for (ordinal, session) in survey.sessions.iter().enumerate() {
            let chat = self.ensure_chat(session)?;
            applied.chats.push(chat);
            let (number, known_title) = self.known_session(file, ordinal as u32)?;
            let title = session.title.as_ref().map(|(title, _)| &**title);
            self.write_session(file, ordinal as u32, chat, session)?;
            let number = number.unwrap_or_else(|| self.reader.connection.last_insert_rowid());
            if title.is_some() && (applied.rewritten || known_title.as_deref() != title) {
                let replaced = known_title.filter(|_| !applied.rewritten).map(|title| title.len());
                applied.new_titles.push(NewTitle {
                    ordinal: ordinal as u32,
                    session: number as u32,
                    replaced,
                });
            }
        }
        let many = survey.sessions.len() as u32;
        self.execute("delete from sessions where file = ?1 and ordinal >= ?2", [file, many])?;
        Ok(())
    }

    fn known_session(&self, file: u32, ordinal: u32) -> Result<(Option<i64>, Option<String>), Error> {
        let sql = "select id, title from sessions where file = ?1 and ordinal = ?2";
        let mut find = self.reader.connection.prepare_cached(sql).map_err(self.reader.error_mapper())?;
        let found = find.query_row([file, ordinal], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let found = found.map_err(self.reader.error_mapper())?;
        Ok(found.map_or((None, None), |(id, title)| (Some(id), title)))
    }

    fn ensure_chat(&self, session: &Session) -> Result<u32, Error> {
        let sql = "select id from chats where session_id = ?1 and source = ?2";
        let names = params![&*session.session_id, session.source];
        let mut find = self.reader.connection.prepare_cached(sql).map_err(self.reader.error_mapper())?;
        let found = find.query_row(names, |row| row.get(0)).optional().map_err(self.reader.error_mapper())?;
        if let Some(found) = found {
            return Ok(found);
        }
        self.execute("insert into chats(session_id, source) values (?1, ?2)", names)?;
        Ok(self.reader.connection.last_insert_rowid() as u32)
    }

    fn write_session(&self, file: u32, ordinal: u32, chat: u32, session: &Session) -> Result<(), Error> {
        let sql = "insert into sessions(file, ordinal, chat, agent_id, parent, project, cwd, branch, version, \
            title, origin, started, ended, turns, calls, errors, models) \
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) \
            on conflict(file, ordinal) do update set chat = excluded.chat, agent_id = excluded.agent_id, \
            parent = excluded.parent, project = excluded.project, cwd = excluded.cwd, branch = excluded.branch, \
            version = excluded.version, title = excluded.title, origin = excluded.origin, \
            started = excluded.started, ended = excluded.ended, turns = excluded.turns, calls = excluded.calls, \
            errors = excluded.errors, models = excluded.models";
        let time = |at: Stamp| at.is_some().then_some(at.0);
        self.execute(
            sql,
            params![
                file,
                ordinal,
                chat,
                session.agent_id.as_deref(),
                session.parent_session_id.as_deref(),
                &*session.project,
                &*session.cwd,
                &*session.git_branch,
                &*session.version,
                session.title.as_ref().map(|(title, _)| &**title),
                session.title.as_ref().map(|(_, origin)| origin.as_str()),
                time(session.started_at),
                time(session.ended_at),
                session.turns,
                session.tool_calls,
                session.errors,
                session.models.join("\n"),
            ],
        )?;
        Ok(())
    }

    fn update_file(&self, file: u32, survey: &Survey<'_>, shared: bool) -> Result<(), Error> {
        let sql = "update files set size = ?2, inode = ?3, changed = ?4, consumed = ?5, head = ?6, tail = ?7, \
            birth = ?8, abandoned = ?9, bad = ?10, problems = ?11, events = ?12, shared = ?13, gone = ?14, \
            sequence = ?15, inode_changed = ?16 where id = ?1";
        let abandoned = survey.abandoned.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let problem =
            |p: &Problem| format!("{}\t{}\t{}", p.kind.as_str(), p.offset, p.note.replace('\n', " "));
        self.execute(
            sql,
            params![
                file,
                survey.size as i64,
                survey.inode as i64,
                survey.changed,
                survey.watermark.consumed as i64,
                survey.watermark.head as i64,
                survey.watermark.tail as i64,
                survey.birth.filter(|at| at.is_some()).map(|at| at.0),
                abandoned,
                survey.bad as i64,
                survey.problems.iter().map(problem).collect::<Vec<_>>().join("\n"),
                survey.rows.len() as i64,
                shared,
                survey.gone,
                self.sequence as i64,
                survey.inode_changed,
            ],
        )?;
        Ok(())
    }

    /// Records which files of a project the calls of one transcript touched.
    pub fn record_touched_files<'t>(
        &self,
        file: u32,
        touches: impl Iterator<Item = TouchedFile<'t>>,
    ) -> Result<(), Error> {
        for touch in touches {
            let path = self.intern_value("paths", "path", touch.path)?;
            let event = event_id(file, touch.ordinal) as i64;
            self.execute(
                "insert or replace into touched(event, path) values (?1, ?2)",
                params![event, path],
            )?;
        }
        Ok(())
    }

    /// The events of a transcript whose text the index stores.
    pub fn indexed_events(&self, file: u32) -> Result<Vec<ChangedEvent>, Error> {
        let sql = "select id from events where id >= ?1 and id < ?2 and told = 1";
        let span = params![i64::from(file) << ORDINAL_BITS, i64::from(file + 1) << ORDINAL_BITS];
        self.reader.query_all(sql, span, |row| {
            let (_, ordinal) = crate::split_event_id(row.get::<_, i64>(0)? as u64);
            Ok(ChangedEvent { ordinal, indexed: true, replaces: false })
        })
    }

    /// The conversation, the ID and the title of each session of a transcript, without the titles of
    /// subagents.
    pub fn session_titles(&self, file: u32) -> Result<Vec<(u32, u32, Option<String>)>, Error> {
        let sql = "select chat, id, case when agent_id is null then title end from sessions \
            where file = ?1 order by ordinal";
        self.reader.query_all(sql, [file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// Deletes the content of a transcript, so that it is read again. Returns the files that are now the
    /// original of events it contained.
    pub fn reset_file(&mut self, file: u32) -> Result<BTreeSet<u32>, Error> {
        let owners = self.delete_events(file)?;
        self.execute("delete from sessions where file = ?1", [file])?;
        // Of a forgotten session there is no copy that it could have less than.
        self.execute("delete from shortened where file = ?1", [file])?;
        self.execute("delete from chats where id not in (select chat from sessions)", [])?;
        self.execute("delete from paths where id not in (select path from touched)", [])?;
        let sql = "update files set size = -1, inode = 0, changed = 0, inode_changed = 0, consumed = 0, head = 0, tail = 0, \
            abandoned = '', problems = '', events = 0, shared = 0, sequence = ?2 where id = ?1";
        self.execute(sql, params![file, self.sequence as i64])?;
        Ok(owners.into_iter().map(|owner| split_event_id(owner).0).collect())
    }

    /// Deletes a transcript. Returns the files that are now the original of events it contained: the index
    /// must take the text from them.
    pub fn delete_file(&mut self, file: u32) -> Result<BTreeSet<u32>, Error> {
        let owners = self.delete_events(file)?;
        self.execute("delete from sessions where file = ?1", [file])?;
        self.execute("delete from shortened where file = ?1", [file])?;
        self.execute("delete from files where id = ?1", [file])?;
        self.execute("delete from chats where id not in (select chat from sessions)", [])?;
        Ok(owners.into_iter().map(|owner| split_event_id(owner).0).collect())
    }
}

/// Whether two rows at one position are the same event: then the file has grown, not been rewritten.
fn is_same_event(old: &Row, new: &Row) -> bool {
    old.id == new.id && old.row == new.row && old.session == new.session
}

/// Whether a row is unchanged. A row that was read has the IDs of the database, the survey its own.
fn is_unchanged(old: &Row, new: &Row, name: Option<i64>) -> bool {
    let plain = |row: &Row| Row { file: 0, end_file: 0, name: 0, ..*row };
    let named = if old.name == u32::MAX { name.is_none() } else { name == Some(i64::from(old.name)) };
    plain(old) == plain(new) && named
}

/// Whether only the position of an event has changed, not its text.
fn has_same_text(old: &Row, new: &Row) -> bool {
    let ended = |row: &Row| row.end == Row::NO_END;
    old.key == new.key && old.lines == new.lines && ended(old) == ended(new) && old.detail == new.detail
}
