//! Reads sessions and facts from the store.
//!
//! Does not change anything.

use super::{Error, Store};
use crate::entry::{By, Evidence, Fact, Origin, Remembered, State, Worded};
use db::{OptionalExtension, Row, damaged};
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

const SESSION: &str = "source, session_id, project, started, ended, seen_by_model, name, name_by, name_at, summary, summary_by, \
    summary_at, pinned";
const FACT: &str = "id, text, state, origin, symbols, project, pinned, edited, made";

/// The exclusive upper bound of all texts that begin with `prefix`.
fn behind(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

fn time(row: &Row<'_>, column: usize) -> Result<Stamp, db::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.map_or(Stamp::NONE, Stamp))
}

/// Parses a stored enum word.
fn word<T>(row: &Row<'_>, column: usize, from: impl Fn(&str) -> Option<T>) -> Result<T, db::Error> {
    let word: String = row.get(column)?;
    from(&word).ok_or_else(|| damaged(&format!("`{word}` is not a known value")))
}

fn session_of(row: &Row<'_>) -> Result<Remembered, db::Error> {
    let worded = |at: usize| {
        Ok::<_, db::Error>(Worded {
            text: row.get(at)?,
            by: word(row, at + 1, By::from_word)?,
            at: time(row, at + 2)?,
        })
    };
    Ok(Remembered {
        source: row.get(0)?,
        session_id: row.get(1)?,
        project: row.get(2)?,
        started_at: time(row, 3)?,
        ended_at: time(row, 4)?,
        seen_by_model: time(row, 5)?,
        name: worded(6)?,
        summary: worded(9)?,
        tags: BTreeMap::new(),
        shed: BTreeSet::new(),
        pinned: row.get(12)?,
    })
}

fn fact_of(row: &Row<'_>) -> Result<Fact, db::Error> {
    let symbols: String = row.get(4)?;
    Ok(Fact {
        id: row.get(0)?,
        text: row.get(1)?,
        state: word(row, 2, State::from_word)?,
        origin: word(row, 3, Origin::from_word)?,
        evidence: BTreeSet::new(),
        symbols: symbols.lines().map(String::from).collect(),
        project: row.get(5)?,
        pinned: row.get(6)?,
        edited: row.get(7)?,
        made_at: time(row, 8)?,
    })
}

/// The name and tags that a person or a model gave a session, excluding derived ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    pub source: String,
    pub session_id: String,
    pub ended_at: Stamp,
    pub called: String,
}

const GIVEN: &str = "select s.session_id, s.source, s.ended, \
    case when s.name_by in ('model', 'person') then s.name else '' end || ' ' || coalesce((select group_concat(t.tag, ' ') \
    from tags t where t.session_id = s.session_id and t.source = s.source and t.shed = 0 \
    and t.given_by in ('model', 'person')), '') as called from sessions s";

/// The maximum number of sessions found by name.
const CALLED: usize = 200;
/// Query words considered. A name has a few words; a query may be a page.
const WORDS: usize = 64;

/// By source and session ID: the last known activity, and the last activity that a model has seen.
pub type MadeFrom = BTreeMap<(String, String), (Stamp, Stamp)>;

impl Store {
    fn rows<T>(
        &self,
        sql: &str,
        params: impl db::Params,
        one: impl FnMut(&Row<'_>) -> Result<T, db::Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.fail())?;
        let rows = statement.query_map(params, one).map_err(self.fail())?;
        rows.collect::<Result<_, _>>().map_err(self.fail())
    }

    /// The sessions whose ID begins with `prefix`, ordered by ID.
    pub fn sessions(&self, prefix: &str) -> Result<Vec<Remembered>, Error> {
        let span = [prefix.to_string(), behind(prefix)];
        let sql = format!(
            "select {SESSION} from sessions where session_id >= ?1 and session_id < ?2 order by session_id, source"
        );
        let mut found = self.rows(&sql, [&span[0], &span[1]], session_of)?;
        let sql = "select session_id, source, tag, given_by, shed from tags where session_id >= ?1 and session_id < ?2 order by 1, 2, 3";
        let tags = self.rows(sql, [&span[0], &span[1]], |row| {
            Ok((
                (row.get::<_, String>(0)?, row.get::<_, String>(1)?),
                row.get::<_, String>(2)?,
                word(row, 3, By::from_word)?,
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
                one.shed.insert(tag);
            } else {
                one.tags.insert(tag, by);
            }
        }
        Ok(found)
    }

    pub fn session(&self, source: &str, session_id: &str) -> Result<Option<Remembered>, Error> {
        let found = self.sessions(session_id)?;
        Ok(found.into_iter().find(|one| one.session_id == session_id && one.source == source))
    }

    /// The facts whose ID begins with `prefix`, ordered by ID.
    pub fn facts(&self, prefix: &str) -> Result<Vec<Fact>, Error> {
        let span = [prefix.to_string(), behind(prefix)];
        let sql = format!("select {FACT} from facts where id >= ?1 and id < ?2 order by id");
        let mut found = self.rows(&sql, [&span[0], &span[1]], fact_of)?;
        let sql = "select fact, source, session_id, message_id from evidence where fact >= ?1 and fact < ?2 order by 1";
        let evidence = self.rows(sql, [&span[0], &span[1]], |row| {
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

    /// IDs of the facts with evidence in a session.
    pub fn facts_of(&self, source: &str, session_id: &str) -> Result<Vec<String>, Error> {
        let sql = "select distinct fact from evidence where session_id = ?1 and source = ?2 order by 1";
        self.rows(sql, [session_id, source], |row| row.get(0))
    }

    /// For each session, the time up to which its memory was derived and the time up to which a model has seen it.
    pub fn made_from(&self) -> Result<MadeFrom, Error> {
        let sql = "select source, session_id, ended, seen_by_model from sessions";
        let one = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), (time(row, 2)?, time(row, 3)?)));
        Ok(self.rows(sql, [], one)?.into_iter().collect())
    }

    /// Sessions of which nothing may be remembered.
    pub fn forgotten(&self) -> Result<BTreeSet<(String, String)>, Error> {
        let sql = "select source, session_id from forgotten where fact = ''";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
    }

    /// The forgotten facts of each session.
    pub fn forgotten_facts(&self) -> Result<BTreeMap<(String, String), BTreeSet<String>>, Error> {
        let sql = "select source, session_id, fact from forgotten where fact != ''";
        let rows = self.rows(sql, [], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, String>(2)?)))?;
        let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for (session, fact) in rows {
            found.entry(session).or_default().insert(fact);
        }
        Ok(found)
    }

    pub(super) fn forgotten_of(&self, source: &str, session_id: &str) -> Result<BTreeSet<String>, Error> {
        let sql = "select fact from forgotten where session_id = ?1 and source = ?2 and fact != ''";
        Ok(self.rows(sql, [session_id, source], |row| row.get(0))?.into_iter().collect())
    }

    /// The name that a person or a model gave a session.
    pub fn given_name(&self, source: &str, session_id: &str) -> Result<Option<String>, Error> {
        let sql = "select name from sessions where session_id = ?1 and source = ?2 and name_by in ('model', 'person')";
        let found = self.connection.query_row(sql, [session_id, source], |row| row.get(0)).optional();
        found.map_err(self.fail())
    }

    /// Names and tags, given by a person or a model, that contain some of these words; best matches first. Derived
    /// names are excluded because the transcript contains their words anyway. The list ends with candidates that may
    /// match in another spelling: `SQLite` folds case for ASCII only, so the caller has to compare again.
    pub fn called(&self, words: &[String]) -> Result<Vec<Called>, Error> {
        let words = &words[..words.len().min(WORDS)];
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let matched = (1..=words.len()).map(|at| format!("(instr(lower(called), ?{at}) > 0)"));
        let matched = matched.collect::<Vec<_>>().join(" + ");
        // Most matching words first: a single word may occur in every name.
        let sql = format!(
            "select *, {matched} as matched from ({GIVEN}) where matched > 0 or called glob '*[À-ԯ]*' \
             order by matched desc, ended desc limit {CALLED}"
        );
        self.rows(&sql, db::params_from_iter(words), |row| {
            let called: String = row.get(3)?;
            let called = called.trim().to_string();
            Ok(Called { session_id: row.get(0)?, source: row.get(1)?, ended_at: time(row, 2)?, called })
        })
    }

    /// The same for one session; empty if it has no given name or tags.
    pub fn called_of(&self, source: &str, session_id: &str) -> Result<String, Error> {
        let sql = format!("select called from ({GIVEN}) where session_id = ?1 and source = ?2");
        let found = self.connection.query_row(&sql, [session_id, source], |row| row.get(0)).optional();
        Ok(found.map_err(self.fail())?.map_or_else(String::new, |called: String| called.trim().to_string()))
    }

    /// Whether a fact must not be remembered of a session, or, with an empty `fact`, the whole session.
    pub(super) fn is_forgotten(&self, source: &str, session_id: &str, fact: &str) -> Result<bool, Error> {
        let sql =
            "select 1 from forgotten where session_id = ?1 and source = ?2 and fact in ('', ?3) limit 1";
        let found = self.connection.query_row(sql, [session_id, source, fact], |_| Ok(())).optional();
        Ok(found.map_err(self.fail())?.is_some())
    }
}
