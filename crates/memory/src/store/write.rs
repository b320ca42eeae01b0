//! Writes to the store, each call one transaction: a job's finding, a person's edit, forgetting, an import.
//!
//! Does not decide which of two names is better: see `merge`.

use super::{Applied, Edit, Error, Imported, Store};
use crate::entry::{self, By, Evidence, Fact, Finding, Noted, Remembered, State, Worded};
use crate::merge;
use crate::tags::tag_of;
use record::Stamp;
use std::collections::BTreeSet;

/// Stored in place of a fact ID: the whole session.
const ALL: &str = "";

fn number(at: Stamp) -> Option<i64> {
    at.is_some().then_some(at.0)
}

/// The result of merging a finding with the stored memory.
#[derive(Default)]
struct Weighed {
    applied: Applied,
    /// None: the session is forgotten.
    session: Option<Remembered>,
    /// Whether the session has to be written.
    is_other: bool,
    /// Facts that have to be written.
    facts: Vec<Fact>,
}

impl Weighed {
    fn add(&mut self, known: Option<&Fact>, found: &Finding, noted: &Noted) {
        let merged = merge::fact(known, found, noted);
        let is_new = known.is_none();
        self.applied.facts += u64::from(is_new);
        self.applied.in_review += u64::from(is_new && merged.state == State::Review);
        if known != Some(&merged) {
            self.applied.changed = true;
            self.facts.push(merged);
        }
    }
}

impl Store {
    /// Runs `work` in one immediate transaction. No other process writes meanwhile, so reads stay valid until the
    /// commit.
    fn whole<T>(&mut self, work: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        self.connection.execute_batch("begin immediate").map_err(self.fail())?;
        let done = work(self).and_then(|done| {
            self.connection.execute_batch("commit").map_err(self.fail())?;
            Ok(done)
        });
        if done.is_err() {
            // If the disk is full, SQLite has already rolled back.
            let _ = self.connection.execute_batch("rollback");
        }
        done
    }

    // ---- jobs

    /// Merges a job's finding into memory. Findings for forgotten sessions are ignored.
    pub fn apply(&mut self, found: &Finding) -> Result<Applied, Error> {
        self.whole(|store| {
            let weighed = store.weigh(found)?;
            if let Some(session) = weighed.session.iter().find(|_| weighed.is_other) {
                store.put_session(session)?;
            }
            weighed.facts.iter().try_for_each(|fact| store.put_fact(fact))?;
            Ok(weighed.applied)
        })
    }

    /// The outcome of `apply` and the session as it would be stored. Changes nothing.
    pub fn rehearse(&self, found: &Finding) -> Result<(Applied, Option<Remembered>), Error> {
        let weighed = self.weigh(found)?;
        Ok((weighed.applied, weighed.session))
    }

    fn weigh(&self, found: &Finding) -> Result<Weighed, Error> {
        let mut weighed = Weighed::default();
        if self.is_forgotten(&found.source, &found.session_id, ALL)? {
            return Ok(weighed);
        }
        let known = self.session(&found.source, &found.session_id)?;
        let forgotten = self.forgotten_of(&found.source, &found.session_id)?;
        let merged = merge::session(known.as_ref(), &found.without(&forgotten));
        weighed.is_other = known.as_ref() != Some(&merged);
        weighed.applied.is_new = known.is_none();
        weighed.applied.changed = !is_shown_alike(known.as_ref(), &merged);
        weighed.session = Some(merged);
        for noted in &found.facts {
            let id = entry::fact_id(&found.project, &noted.text);
            if !forgotten.contains(&id) {
                weighed.add(self.fact(&id)?.as_ref(), found, noted);
            }
        }
        Ok(weighed)
    }

    /// Marks facts whose symbols no longer exist as stale, or as fresh again. Facts edited or pinned by a person are
    /// skipped.
    pub fn mark_stale(&mut self, ids: &[String], stale: bool) -> Result<(), Error> {
        let (from, to) = if stale { (State::Fresh, State::Stale) } else { (State::Stale, State::Fresh) };
        self.whole(|store| {
            let sql =
                "update facts set state = ?2 where id = ?1 and state = ?3 and edited = 0 and pinned = 0";
            ids.iter().try_for_each(|id| {
                store.connection.execute(sql, [id, to.word(), from.word()]).map(|_| ()).map_err(store.fail())
            })
        })
    }

    // ---- rows

    fn put_session(&self, one: &Remembered) -> Result<(), Error> {
        let run = |sql: &str, params: &[&dyn db::ToSql]| {
            self.connection.prepare_cached(sql)?.execute(params).map(|_| ())
        };
        let done = (|| {
            run(
                "insert or replace into sessions values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                db::params![
                    one.session_id,
                    one.source,
                    one.project,
                    number(one.started_at),
                    number(one.ended_at),
                    number(one.seen_by_model),
                    one.name.text,
                    one.name.by.word(),
                    number(one.name.at),
                    one.summary.text,
                    one.summary.by.word(),
                    number(one.summary.at),
                    one.pinned
                ],
            )?;
            run(
                "delete from tags where session_id = ?1 and source = ?2",
                db::params![one.session_id, one.source],
            )?;
            let kept = one.tags.iter().map(|(tag, by)| (tag, by.word(), false));
            let shed = one.shed.iter().map(|tag| (tag, By::Person.word(), true));
            for (tag, by, shed) in kept.chain(shed) {
                run(
                    "insert into tags values (?1, ?2, ?3, ?4, ?5)",
                    db::params![one.session_id, one.source, tag, by, shed],
                )?;
            }
            Ok(())
        })();
        done.map_err(self.fail())
    }

    fn put_fact(&self, fact: &Fact) -> Result<(), Error> {
        let symbols = fact.symbols.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let done = (|| {
            let sql = "insert into facts values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) on conflict(id) do update set text = ?2, \
                state = ?3, origin = ?4, symbols = ?5, project = ?6, pinned = ?7, edited = ?8, made = ?9";
            self.connection.prepare_cached(sql)?.execute(db::params![
                fact.id,
                fact.text,
                fact.state.word(),
                fact.origin.word(),
                symbols,
                fact.project,
                fact.pinned,
                fact.edited,
                number(fact.made_at)
            ])?;
            self.connection.prepare_cached("delete from evidence where fact = ?1")?.execute([&fact.id])?;
            let mut statement =
                self.connection.prepare_cached("insert into evidence values (?1, ?2, ?3, ?4)")?;
            fact.evidence.iter().try_for_each(|one| {
                statement.execute([&fact.id, &one.session_id, &one.source, &one.message_id]).map(|_| ())
            })
        })();
        done.map_err(self.fail())
    }

    // ---- edits by a person

    /// None: no memory of this session.
    pub fn edit_session(
        &mut self,
        source: &str,
        session_id: &str,
        edit: &Edit,
        now: Stamp,
    ) -> Result<Option<Remembered>, Error> {
        self.whole(|store| {
            let Some(known) = store.session(source, session_id)? else { return Ok(None) };
            let edited = edited(known, edit, now);
            store.put_session(&edited)?;
            Ok(Some(edited))
        })
    }

    /// Applies a person's change to a fact. None: there is no such fact.
    pub fn edit_fact(&mut self, id: &str, change: impl FnOnce(&mut Fact)) -> Result<Option<Fact>, Error> {
        self.whole(|store| {
            let Some(mut fact) = store.fact(id)? else { return Ok(None) };
            let before = fact.clone();
            change(&mut fact);
            fact.edited |= fact.text != before.text || fact.state != before.state;
            store.put_fact(&fact)?;
            Ok(Some(fact))
        })
    }

    pub fn pin_session(
        &mut self,
        source: &str,
        session_id: &str,
        pinned: bool,
    ) -> Result<Option<Remembered>, Error> {
        self.whole(|store| {
            let Some(known) = store.session(source, session_id)? else { return Ok(None) };
            let changed = Remembered { pinned, ..known };
            store.put_session(&changed)?;
            Ok(Some(changed))
        })
    }

    // ---- forgetting

    /// Deletes a fact and removes its text from the names and summaries of its sessions. The fact stays blocked for
    /// those sessions.
    pub fn forget_fact(&mut self, fact: &Fact) -> Result<(), Error> {
        self.whole(|store| {
            let sessions: BTreeSet<(&str, &str)> =
                fact.evidence.iter().map(|one| (&*one.source, &*one.session_id)).collect();
            for (source, session_id) in sessions {
                store.never_again(source, session_id, &fact.id)?;
                if let Some(known) = store.session(source, session_id)? {
                    store.put_session(&known.without(fact))?;
                }
            }
            store.drop_fact(&fact.id)
        })
    }

    /// Deletes the memory of a session, and the facts without evidence elsewhere. With `for_good` the session is never
    /// remembered again.
    pub fn forget_session(&mut self, source: &str, session_id: &str, for_good: bool) -> Result<(), Error> {
        self.whole(|store| {
            if for_good {
                store.never_again(source, session_id, ALL)?;
            }
            store.drop_session(source, session_id)
        })
    }

    /// Deletes every session that `doomed` selects; returns how many.
    pub fn forget_all(&mut self, selects: &dyn Fn(&str, &str) -> bool) -> Result<u64, Error> {
        let sql = "select source, session_id from sessions union select source, session_id from evidence";
        let mut statement = self.connection.prepare(sql).map_err(self.fail())?;
        let all = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .map_err(self.fail())?;
        let all = all.collect::<Result<Vec<_>, _>>().map_err(self.fail())?;
        drop(statement);
        let gone: Vec<(String, String)> =
            all.into_iter().filter(|(source, id)| selects(source, id)).collect();
        self.whole(|store| gone.iter().try_for_each(|(source, id)| store.drop_session(source, id)))?;
        Ok(gone.len() as u64)
    }

    fn drop_session(&self, source: &str, session_id: &str) -> Result<(), Error> {
        let facts = self.facts_of(source, session_id)?;
        for sql in [
            "delete from sessions where session_id = ?1 and source = ?2",
            "delete from tags where session_id = ?1 and source = ?2",
            "delete from evidence where session_id = ?1 and source = ?2",
            "delete from forgotten where session_id = ?1 and source = ?2 and fact != ''",
        ] {
            self.connection.execute(sql, [session_id, source]).map_err(self.fail())?;
        }
        let sql = "delete from facts where id = ?1 and not exists (select 1 from evidence where fact = ?1)";
        facts
            .iter()
            .try_for_each(|fact| self.connection.execute(sql, [fact]).map(|_| ()).map_err(self.fail()))
    }

    fn drop_fact(&self, id: &str) -> Result<(), Error> {
        self.connection.execute("delete from facts where id = ?1", [id]).map(|_| ()).map_err(self.fail())
    }

    fn never_again(&self, source: &str, session_id: &str, fact: &str) -> Result<(), Error> {
        let sql = "insert or ignore into forgotten values (?1, ?2, ?3)";
        self.connection.execute(sql, [session_id, source, fact]).map(|_| ()).map_err(self.fail())
    }

    // ---- import

    /// Imports another memory. Text written by a person here is kept, forgotten facts and sessions are skipped, and a
    /// second import of the same data changes nothing.
    pub fn import(&mut self, sessions: &[Remembered], facts: &[Fact]) -> Result<Imported, Error> {
        self.whole(|store| {
            let mut done = Imported::default();
            for theirs in sessions {
                if store.is_forgotten(&theirs.source, &theirs.session_id, ALL)? {
                    done.forgotten += 1;
                    continue;
                }
                let ours = store.session(&theirs.source, &theirs.session_id)?;
                let forgotten = store.forgotten_of(&theirs.source, &theirs.session_id)?;
                let merged = merge::both(ours.as_ref(), &theirs.without_all(&forgotten, ours.as_ref()));
                let changed = ours.as_ref() != Some(&merged);
                if changed {
                    store.put_session(&merged)?;
                }
                (done.sessions, done.unchanged) =
                    (done.sessions + u64::from(changed), done.unchanged + u64::from(!changed));
            }
            facts.iter().try_for_each(|theirs| store.import_fact(theirs, &mut done))?;
            Ok(done)
        })
    }

    fn import_fact(&self, theirs: &Fact, done: &mut Imported) -> Result<(), Error> {
        let mut wanted: BTreeSet<Evidence> = BTreeSet::new();
        for one in &theirs.evidence {
            if !self.is_forgotten(&one.source, &one.session_id, &theirs.id)? {
                wanted.insert(one.clone());
            }
        }
        if wanted.is_empty() && !theirs.evidence.is_empty() {
            done.forgotten += 1;
            return Ok(());
        }
        let theirs = Fact { evidence: wanted, ..theirs.clone() };
        let ours = self.fact(&theirs.id)?;
        let merged = merge::both_facts(ours.as_ref(), theirs);
        let changed = ours.as_ref() != Some(&merged);
        if changed {
            self.put_fact(&merged)?;
        }
        (done.facts, done.unchanged) =
            (done.facts + u64::from(changed), done.unchanged + u64::from(!changed));
        Ok(())
    }
}

fn edited(known: Remembered, edit: &Edit, now: Stamp) -> Remembered {
    let person = |text: &String| Worded { text: text.clone(), by: By::Person, at: now };
    let mut one = Remembered {
        name: edit.name.as_ref().map_or(known.name, person),
        summary: edit.summary.as_ref().map_or(known.summary, person),
        ..known
    };
    for tag in edit.add_tags.iter().map(|tag| tag_of(tag)).filter(|tag| !tag.is_empty()) {
        one.shed.remove(&tag);
        one.tags.insert(tag, By::Person);
    }
    for tag in edit.remove_tags.iter().map(|tag| tag_of(tag)) {
        one.tags.remove(&tag);
        one.shed.insert(tag);
    }
    one
}

/// Whether the visible parts are equal: the time up to which it was derived does not count.
fn is_shown_alike(known: Option<&Remembered>, merged: &Remembered) -> bool {
    let visible = |one: &Remembered| (one.name.clone(), one.summary.clone(), one.tags.clone());
    known.is_some_and(|known| visible(known) == visible(merged))
}
