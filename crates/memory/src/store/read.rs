//! What is remembered, read back.
//!
//! Does not change anything.

use super::{Error, Store};
use crate::merge::{By, Evidence, Fact, Origin, Remembered, State, Worded};
use db::{OptionalExtension, Row, damaged};
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

const SESSION: &str = "source, session_id, project, started, ended, seen_by_model, name, name_by, name_at, summary, summary_by, \
    summary_at, pinned";
const FACT: &str = "id, text, state, origin, symbols, project, pinned, edited, made";

/// The text that follows every text beginning with `prefix`.
fn behind(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

fn time(row: &Row<'_>, column: usize) -> Result<Stamp, db::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.map_or(Stamp::NONE, Stamp))
}

/// A word of a table that stands in the database.
fn word<T>(row: &Row<'_>, column: usize, from: impl Fn(&str) -> Option<T>) -> Result<T, db::Error> {
    let word: String = row.get(column)?;
    from(&word).ok_or_else(|| damaged(&format!("`{word}` is no word of this layout")))
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

/// What a person or a model calls a session: its name and its tags, where they are not derived.
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

/// As many sessions are found by what they are called.
const CALLED: usize = 200;
/// A name is a few words; what is asked may be a page.
const WORDS: usize = 64;

/// By source and id: the last activity that was known, and that of it which a model has seen.
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

    /// Those whose session's id begins so, in the order of their ids.
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

    /// Those whose id begins so, in the order of their ids.
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

    /// Ids of the facts that stand in a session.
    pub fn facts_of(&self, source: &str, session_id: &str) -> Result<Vec<String>, Error> {
        let sql = "select distinct fact from evidence where session_id = ?1 and source = ?2 order by 1";
        self.rows(sql, [session_id, source], |row| row.get(0))
    }

    /// Up to when each session was known when its memory was made, and what a model has seen of it.
    pub fn made_from(&self) -> Result<MadeFrom, Error> {
        let sql = "select source, session_id, ended, seen_by_model from sessions";
        let one = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), (time(row, 2)?, time(row, 3)?)));
        Ok(self.rows(sql, [], one)?.into_iter().collect())
    }

    /// Sessions that a person wants nothing remembered of.
    pub fn forgotten(&self) -> Result<BTreeSet<(String, String)>, Error> {
        let sql = "select source, session_id from forgotten where fact = ''";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
    }

    /// Of each session the facts that a person wants to hear no more of.
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

    /// What a person or a model calls a session.
    pub fn given_name(&self, source: &str, session_id: &str) -> Result<Option<String>, Error> {
        let sql = "select name from sessions where session_id = ?1 and source = ?2 and name_by in ('model', 'person')";
        let found = self.connection.query_row(sql, [session_id, source], |row| row.get(0)).optional();
        found.map_err(self.fail())
    }

    /// Sessions that a person or a model has called something with some of these words in it, most of them first: their names
    /// and tags. What was derived without a model stands in the transcript anyway. Behind them some that may be written
    /// otherwise: `SQLite` knows capitals and accents of ASCII alone, so whoever asks compares once more.
    pub fn called(&self, words: &[String]) -> Result<Vec<Called>, Error> {
        let words = &words[..words.len().min(WORDS)];
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let met = (1..=words.len()).map(|at| format!("(instr(lower(called), ?{at}) > 0)"));
        let met = met.collect::<Vec<_>>().join(" + ");
        // Those that meet most of the words first: one word of many may stand in every name.
        let sql = format!(
            "select *, {met} as met from ({GIVEN}) where met > 0 or called glob '*[À-ԯ]*' \
             order by met desc, ended desc limit {CALLED}"
        );
        self.rows(&sql, db::params_from_iter(words), |row| {
            let called: String = row.get(3)?;
            let called = called.trim().to_string();
            Ok(Called { session_id: row.get(0)?, source: row.get(1)?, ended_at: time(row, 2)?, called })
        })
    }

    /// The same of one session; empty where nobody has called it anything.
    pub fn called_of(&self, source: &str, session_id: &str) -> Result<String, Error> {
        let sql = format!("select called from ({GIVEN}) where session_id = ?1 and source = ?2");
        let found = self.connection.query_row(&sql, [session_id, source], |row| row.get(0)).optional();
        Ok(found.map_err(self.fail())?.map_or_else(String::new, |called: String| called.trim().to_string()))
    }

    /// Whether a fact is not to be remembered of a session, or, with no fact, nothing is.
    pub(super) fn is_forgotten(&self, source: &str, session_id: &str, fact: &str) -> Result<bool, Error> {
        let sql =
            "select 1 from forgotten where session_id = ?1 and source = ?2 and fact in ('', ?3) limit 1";
        let found = self.connection.query_row(sql, [session_id, source, fact], |_| Ok(())).optional();
        Ok(found.map_err(self.fail())?.is_some())
    }
}
