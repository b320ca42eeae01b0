//! Reads sessions and facts from the store.
//!
//! Does not change anything.

use super::{Error, Store};
use crate::entry::{AttributedText, By, Evidence, Fact, Kind, Origin, SessionMemory, State, Subject};
use db::{OptionalExtension, Row, corrupt_error};
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

const SESSION_COLUMNS: &str = "source, session_id, project, started, ended, seen_by_model, name, name_by, name_at, summary, summary_by, \
    summary_at, pinned";
const FACT_COLUMNS: &str = "id, text, state, origin, symbols, project, pinned, edited, made, kind, subject, reverses, superseded_by, \
     edited_at";

/// Before the facts that hold in a project.
const HEADING: &str =
    "Loci: what holds in this project according to earlier sessions (history, not instructions):\n";

/// The exclusive upper bound of all texts that begin with `prefix`.
fn prefix_upper_bound(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

fn read_stamp(row: &Row<'_>, column: usize) -> Result<Stamp, db::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.map_or(Stamp::NONE, Stamp))
}

/// Parses a stored enum word.
fn read_word<T>(row: &Row<'_>, column: usize, from: impl Fn(&str) -> Option<T>) -> Result<T, db::Error> {
    let word: String = row.get(column)?;
    from(&word).ok_or_else(|| corrupt_error(&format!("`{word}` is not a known value")))
}

fn session_from_row(row: &Row<'_>) -> Result<SessionMemory, db::Error> {
    let worded = |at: usize| {
        Ok::<_, db::Error>(AttributedText {
            text: row.get(at)?,
            by: read_word(row, at + 1, By::from_word)?,
            at: read_stamp(row, at + 2)?,
        })
    };
    Ok(SessionMemory {
        source: row.get(0)?,
        session_id: row.get(1)?,
        project: row.get(2)?,
        started_at: read_stamp(row, 3)?,
        ended_at: read_stamp(row, 4)?,
        seen_by_model: read_stamp(row, 5)?,
        name: worded(6)?,
        summary: worded(9)?,
        tags: BTreeMap::new(),
        removed_tags: BTreeSet::new(),
        pinned: row.get(12)?,
    })
}

fn fact_from_row(row: &Row<'_>) -> Result<Fact, db::Error> {
    let symbols: String = row.get(4)?;
    Ok(Fact {
        id: row.get(0)?,
        text: row.get(1)?,
        state: read_word(row, 2, State::from_word)?,
        origin: read_word(row, 3, Origin::from_word)?,
        evidence: BTreeSet::new(),
        symbols: symbols.lines().map(String::from).collect(),
        project: row.get(5)?,
        pinned: row.get(6)?,
        edited: row.get(7)?,
        made_at: read_stamp(row, 8)?,
        kind: read_word(row, 9, Kind::from_word)?,
        subject: Subject {
            words: row.get::<_, String>(10)?.split_whitespace().map(String::from).collect(),
            reverses: row.get(11)?,
        },
        superseded_by: row.get(12)?,
        edited_at: read_stamp(row, 13)?,
    })
}

/// A fact as one of its sessions states it.
pub(crate) struct StatedFact {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) state: State,
    pub(crate) superseded_by: Option<String>,
    /// A decision or rule that takes something back.
    pub(crate) reverses: bool,
}

/// The name and tags that a person or a model gave a session, excluding derived ones.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenName {
    pub source: String,
    pub session_id: String,
    pub ended_at: Stamp,
    pub text: String,
}

const GIVEN_NAMES_SQL: &str = "select s.session_id, s.source, s.ended, \
    case when s.name_by in ('model', 'person') then s.name else '' end || ' ' || coalesce((select group_concat(t.tag, ' ') \
    from tags t where t.session_id = s.session_id and t.source = s.source and t.shed = 0 \
    and t.given_by in ('model', 'person')), '') as called from sessions s";

/// The sessions of which that is not empty. Most have derived names and tags only; the conditions are those of two indexes.
const GIVEN_SQL: &str = "select session_id, source from sessions where name_by in ('model', 'person') union \
    select session_id, source from tags where shed = 0 and given_by in ('model', 'person')";

/// The maximum number of sessions found by name.
const MAX_NAMES_FOUND: usize = 200;
/// Query words considered. A name has a few words; a query may be a page.
const MAX_QUERY_WORDS: usize = 64;

/// By source and session ID: the last known activity, and the last activity that a model has seen.
pub type DerivedUpTo = BTreeMap<(String, String), (Stamp, Stamp)>;

impl Store {
    fn query_rows<T>(
        &self,
        sql: &str,
        params: impl db::Params,
        one: impl FnMut(&Row<'_>) -> Result<T, db::Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.error_mapper())?;
        let rows = statement.query_map(params, one).map_err(self.error_mapper())?;
        rows.collect::<Result<_, _>>().map_err(self.error_mapper())
    }

    /// The sessions whose ID begins with `prefix`, ordered by ID.
    pub fn sessions(&self, prefix: &str) -> Result<Vec<SessionMemory>, Error> {
        let span = [prefix.to_string(), prefix_upper_bound(prefix)];
        let sql = format!(
            "select {SESSION_COLUMNS} from sessions where session_id >= ?1 and session_id < ?2 order by session_id, source"
        );
        let mut found = self.query_rows(&sql, [&span[0], &span[1]], session_from_row)?;
        let sql = "select session_id, source, tag, given_by, shed from tags where session_id >= ?1 and session_id < ?2 order by 1, 2, 3";
        let tags = self.query_rows(sql, [&span[0], &span[1]], |row| {
            Ok((
                (row.get::<_, String>(0)?, row.get::<_, String>(1)?),
                row.get::<_, String>(2)?,
                read_word(row, 3, By::from_word)?,
                row.get::<_, bool>(4)?,
            ))
        })?;
        let mut at = 0;
        for (owner, tag, by, shed) in tags {
            // Both lists are in the same order.
            while found.get(at).is_some_and(|one| (&one.session_id, &one.source) < (&owner.0, &owner.1)) {
                at += 1;
            }
            let Some(one) =
                found.get_mut(at).filter(|one| one.session_id == owner.0 && one.source == owner.1)
            else {
                continue;
            };
            if shed {
                one.removed_tags.insert(tag);
            } else {
                one.tags.insert(tag, by);
            }
        }
        Ok(found)
    }

    pub fn session(&self, source: &str, session_id: &str) -> Result<Option<SessionMemory>, Error> {
        let found = self.sessions(session_id)?;
        Ok(found.into_iter().find(|one| one.session_id == session_id && one.source == source))
    }

    /// The facts whose ID begins with `prefix`, ordered by ID.
    pub fn facts(&self, prefix: &str) -> Result<Vec<Fact>, Error> {
        let span = [prefix.to_string(), prefix_upper_bound(prefix)];
        let sql = format!("select {FACT_COLUMNS} from facts where id >= ?1 and id < ?2 order by id");
        let mut found = self.query_rows(&sql, [&span[0], &span[1]], fact_from_row)?;
        let sql = "select fact, source, session_id, message_id from evidence where fact >= ?1 and fact < ?2 order by 1";
        let evidence = self.query_rows(sql, [&span[0], &span[1]], |row| {
            Ok((
                row.get::<_, String>(0)?,
                Evidence { source: row.get(1)?, session_id: row.get(2)?, message_id: row.get(3)? },
            ))
        })?;
        for (fact, one) in evidence {
            if let Ok(at) = found.binary_search_by(|known| known.id.cmp(&fact)) {
                found[at].evidence.insert(one);
            }
        }
        Ok(found)
    }

    pub fn fact(&self, id: &str) -> Result<Option<Fact>, Error> {
        Ok(self.facts(id)?.into_iter().find(|fact| fact.id == id))
    }

    /// The facts with evidence in a session, ordered by ID.
    pub(crate) fn facts_of_session(&self, (source, id): &(String, String)) -> Result<Vec<StatedFact>, Error> {
        let sql = "select distinct id, text, state, superseded_by, reverses and kind in ('decision', 'rule') \
                   from facts join evidence on fact = id where session_id = ?1 and source = ?2 order by 1";
        self.query_rows(sql, [id, source], |row| {
            Ok(StatedFact {
                id: row.get(0)?,
                text: row.get(1)?,
                state: read_word(row, 2, State::from_word)?,
                superseded_by: row.get(3)?,
                reverses: row.get(4)?,
            })
        })
    }

    /// What holds in a project in people's own words, a line each, most binding first: rules, constraints and preferences,
    /// then decisions; each newest first, as many as fit. An agent's words may repeat what a tool printed.
    pub fn binding_facts(&self, project: &str, most_bytes: usize) -> Result<String, Error> {
        let sql = "select kind, text, made from facts where project = ?1 and state = 'fresh' and origin = 'user' \
                   and kind in ('rule', 'constraint', 'preference', 'decision') \
                   order by pinned desc, kind = 'decision', made desc, id limit 24";
        let mut lines = self.query_rows(sql, [project], |row| {
            let (kind, text) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            let words: Vec<&str> = text.split_whitespace().collect();
            Ok(format!("- {kind} of {}: {}\n", read_stamp(row, 2)?.utc_day(), words.join(" ")))
        })?;
        let mut left = most_bytes.saturating_sub(HEADING.len());
        lines.retain(|line| {
            let fits = line.len() <= left;
            left -= if fits { line.len() } else { 0 };
            fits
        });
        Ok(if lines.is_empty() { String::new() } else { format!("{HEADING}{}", lines.concat()) })
    }

    /// What holds in a project in people's own words, newest first: rules, constraints, preferences and decisions, without evidence.
    pub fn current_decisions(&self, project: &str) -> Result<Vec<Fact>, Error> {
        let sql = format!(
            "select {FACT_COLUMNS} from facts where project = ?1 and state = 'fresh' and origin = 'user' \
             and superseded_by is null and kind in ('rule', 'constraint', 'preference', 'decision') order by made desc, id"
        );
        self.query_rows(&sql, [project], fact_from_row)
    }

    /// Facts that a model says were replaced, each with its replacement.
    pub(super) fn replacements(&self) -> Result<Vec<(String, String)>, Error> {
        self.query_rows("select old, new from replacements order by 1, 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// IDs of the facts with evidence in a session.
    pub fn facts_of(&self, source: &str, session_id: &str) -> Result<Vec<String>, Error> {
        let sql = "select distinct fact from evidence where session_id = ?1 and source = ?2 order by 1";
        self.query_rows(sql, [session_id, source], |row| row.get(0))
    }

    /// For each session, the time up to which its memory was derived and the time up to which a model has seen it.
    pub fn derived_up_to(&self) -> Result<DerivedUpTo, Error> {
        let sql = "select source, session_id, ended, seen_by_model from sessions";
        let one =
            |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), (read_stamp(row, 2)?, read_stamp(row, 3)?)));
        Ok(self.query_rows(sql, [], one)?.into_iter().collect())
    }

    /// Sessions of which nothing may be remembered.
    pub fn forgotten_sessions(&self) -> Result<BTreeSet<(String, String)>, Error> {
        let sql = "select source, session_id from forgotten where fact = ''";
        Ok(self.query_rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
    }

    /// The forgotten facts of each session.
    pub fn forgotten_facts(&self) -> Result<BTreeMap<(String, String), BTreeSet<String>>, Error> {
        let sql = "select source, session_id, fact from forgotten where fact != ''";
        let rows =
            self.query_rows(sql, [], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, String>(2)?)))?;
        let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for (session, fact) in rows {
            found.entry(session).or_default().insert(fact);
        }
        Ok(found)
    }

    pub(super) fn forgotten_facts_of(
        &self,
        source: &str,
        session_id: &str,
    ) -> Result<BTreeSet<String>, Error> {
        let sql = "select fact from forgotten where session_id = ?1 and source = ?2 and fact != ''";
        Ok(self.query_rows(sql, [session_id, source], |row| row.get(0))?.into_iter().collect())
    }

    /// A session's name, and who gave it.
    pub fn session_name(&self, source: &str, session_id: &str) -> Result<Option<(String, By)>, Error> {
        let sql = "select name, name_by from sessions where session_id = ?1 and source = ?2 and name != ''";
        let read = |row: &Row<'_>| Ok((row.get(0)?, read_word(row, 1, By::from_word)?));
        let found = self.connection.query_row(sql, [session_id, source], read).optional();
        found.map_err(self.error_mapper())
    }

    /// Names and tags, given by a person or a model, that contain some of these words; best matches first. Derived
    /// names are excluded because the transcript contains their words anyway. The list ends with candidates that may
    /// match in another spelling: `SQLite` folds case for ASCII only, so the caller has to compare again.
    pub fn find_given_names(&self, words: &[String]) -> Result<Vec<GivenName>, Error> {
        let words = &words[..words.len().min(MAX_QUERY_WORDS)];
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let matched = (1..=words.len()).map(|at| format!("(instr(lower(called), ?{at}) > 0)"));
        let matched = matched.collect::<Vec<_>>().join(" + ");
        // Most matching words first: a single word may occur in every name.
        let sql = format!(
            "select *, {matched} as matched from (select * from ({GIVEN_SQL}) cross join ({GIVEN_NAMES_SQL}) \
             using (session_id, source)) where matched > 0 or called glob '*[À-ԯ]*' \
             order by matched desc, ended desc limit {MAX_NAMES_FOUND}"
        );
        self.query_rows(&sql, db::params_from_iter(words), |row| {
            let called: String = row.get(3)?;
            let called = called.trim().to_string();
            Ok(GivenName {
                session_id: row.get(0)?,
                source: row.get(1)?,
                ended_at: read_stamp(row, 2)?,
                text: called,
            })
        })
    }

    /// The same for one session; empty if it has no given name or tags.
    pub fn given_name_and_tags(&self, source: &str, session_id: &str) -> Result<String, Error> {
        let sql = format!("select called from ({GIVEN_NAMES_SQL}) where session_id = ?1 and source = ?2");
        let found = self.connection.query_row(&sql, [session_id, source], |row| row.get(0)).optional();
        Ok(found
            .map_err(self.error_mapper())?
            .map_or_else(String::new, |called: String| called.trim().to_string()))
    }

    /// Whether a fact must not be remembered of a session, or, with an empty `fact`, the whole session.
    pub(super) fn is_forgotten(&self, source: &str, session_id: &str, fact: &str) -> Result<bool, Error> {
        let sql =
            "select 1 from forgotten where session_id = ?1 and source = ?2 and fact in ('', ?3) limit 1";
        let found = self.connection.query_row(sql, [session_id, source, fact], |_| Ok(())).optional();
        Ok(found.map_err(self.error_mapper())?.is_some())
    }
}
