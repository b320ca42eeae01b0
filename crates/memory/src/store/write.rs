//! Writes to the store, each call one transaction: a job's finding, a person's edit, forgetting, an import.
//!
//! Does not decide which of two names is better: see `merge`.

use super::{ApplyOutcome, Edit, Error, ImportOutcome, Store};
use crate::entry::{
    self, AttributedText, By, Evidence, Fact, Finding, Kind, NotedFact, Origin, SessionMemory, State, Subject,
};
use crate::facts::extract_symbols;
use crate::merge;
use crate::supersede::find_superseded;
use crate::tags::normalise_tag;
use crate::talk::cues::fold;
use crate::talk::sentence::content_words;
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

/// Stored in place of a fact ID: the whole session.
pub(super) const WHOLE_SESSION: &str = "";

fn stamp_to_sql(at: Stamp) -> Option<i64> {
    at.is_some().then_some(at.0)
}

/// The result of merging a finding with the stored memory.
#[derive(Default)]
struct MergedFinding {
    applied: ApplyOutcome,
    /// None: the session is forgotten.
    session: Option<SessionMemory>,
    /// Whether the session has to be written.
    is_changed: bool,
    /// Facts that have to be written.
    facts: Vec<Fact>,
    /// IDs of facts that a model says were replaced, each with its replacement.
    replaced: Vec<(String, String)>,
}

impl MergedFinding {
    fn add_fact(&mut self, known: Option<&Fact>, found: &Finding, noted: &NotedFact) {
        let merged = merge::merge_fact(known, found, noted);
        let is_new = known.is_none();
        self.replaced.extend(noted.replaces.iter().map(|old| (old.clone(), merged.id.clone())));
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
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.connection.execute_batch("begin immediate").map_err(self.error_mapper())?;
        let done = work(self).and_then(|done| {
            self.connection.execute_batch("commit").map_err(self.error_mapper())?;
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
    pub fn apply_finding(&mut self, found: &Finding) -> Result<ApplyOutcome, Error> {
        self.in_transaction(|store| {
            let weighed = store.merge_finding(found)?;
            if let Some(session) = weighed.session.iter().find(|_| weighed.is_changed) {
                store.put_session(session)?;
            }
            weighed.facts.iter().try_for_each(|fact| store.put_fact(fact))?;
            weighed.replaced.iter().try_for_each(|(old, new)| store.put_replacement(old, new))?;
            Ok(weighed.applied)
        })
    }

    fn merge_finding(&self, found: &Finding) -> Result<MergedFinding, Error> {
        let mut weighed = MergedFinding::default();
        if self.is_forgotten(&found.source, &found.session_id, WHOLE_SESSION)? {
            return Ok(weighed);
        }
        let known = self.session(&found.source, &found.session_id)?;
        let forgotten = self.forgotten_facts_of(&found.source, &found.session_id)?;
        let merged = merge::merge_session(known.as_ref(), &found.without_forgotten(&forgotten));
        weighed.is_changed = known.as_ref() != Some(&merged);
        weighed.applied.is_new = known.is_none();
        weighed.applied.changed = !is_visibly_equal(known.as_ref(), &merged);
        weighed.session = Some(merged);
        let stated = self.facts_stated_in(found)?;
        for noted in &found.facts {
            let id = merge::restated_fact(&stated, found, noted)
                .map_or_else(|| entry::fact_id(&found.project, &noted.text), |fact| fact.id.clone());
            if !forgotten.contains(&id) {
                weighed.add_fact(self.fact(&id)?.as_ref(), found, noted);
            }
        }
        Ok(weighed)
    }

    /// The facts already known from the session that a model was asked about.
    fn facts_stated_in(&self, found: &Finding) -> Result<Vec<Fact>, Error> {
        if found.origin != Origin::Model {
            return Ok(Vec::new());
        }
        let ids = self.facts_of(&found.source, &found.session_id)?;
        let facts = ids.iter().map(|id| self.fact(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(facts.into_iter().flatten().collect())
    }

    /// Marks facts whose symbols no longer exist as stale, or as fresh again. Facts edited or pinned by a person are
    /// skipped.
    pub fn mark_stale(&mut self, ids: &[String], stale: bool) -> Result<(), Error> {
        let (from, to) = if stale { (State::Fresh, State::Stale) } else { (State::Stale, State::Fresh) };
        self.in_transaction(|store| {
            let sql =
                "update facts set state = ?2 where id = ?1 and state = ?3 and edited = 0 and pinned = 0";
            ids.iter().try_for_each(|id| {
                store
                    .connection
                    .execute(sql, [id, to.word(), from.word()])
                    .map(|_| ())
                    .map_err(store.error_mapper())
            })
        })
    }

    /// Marks facts that a later fact on the same subject replaced, and frees those whose replacement is gone. Facts
    /// edited or pinned by a person are skipped.
    pub fn mark_superseded(&mut self) -> Result<(), Error> {
        self.in_transaction(|store| {
            let facts = store.facts("")?;
            let mut replaced = find_superseded(&facts);
            replaced.extend(accept_replacements(&facts, store.replacements()?));
            for fact in facts.iter().filter(|fact| !fact.edited && !fact.pinned) {
                let by = replaced.get(&fact.id).cloned();
                let state = match (fact.state, &by) {
                    (State::Fresh | State::Stale, Some(_)) => State::Superseded,
                    (State::Superseded, None) => State::Fresh,
                    (state, _) => state,
                };
                if state != fact.state || by != fact.superseded_by {
                    store.put_fact(&Fact { state, superseded_by: by, ..fact.clone() })?;
                }
            }
            Ok(())
        })
    }

    // ---- rows

    pub(super) fn put_session(&self, one: &SessionMemory) -> Result<(), Error> {
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
                    stamp_to_sql(one.started_at),
                    stamp_to_sql(one.ended_at),
                    stamp_to_sql(one.seen_by_model),
                    one.name.text,
                    one.name.by.word(),
                    stamp_to_sql(one.name.at),
                    one.summary.text,
                    one.summary.by.word(),
                    stamp_to_sql(one.summary.at),
                    one.pinned
                ],
            )?;
            run(
                "delete from tags where session_id = ?1 and source = ?2",
                db::params![one.session_id, one.source],
            )?;
            let kept = one.tags.iter().map(|(tag, by)| (tag, by.word(), false));
            let shed = one.removed_tags.iter().map(|tag| (tag, By::Person.word(), true));
            for (tag, by, shed) in kept.chain(shed) {
                run(
                    "insert into tags values (?1, ?2, ?3, ?4, ?5)",
                    db::params![one.session_id, one.source, tag, by, shed],
                )?;
            }
            Ok(())
        })();
        done.map_err(self.error_mapper())
    }

    fn put_replacement(&self, old: &str, new: &str) -> Result<(), Error> {
        let sql = "insert or ignore into replacements select id, ?2 from facts where id = ?1";
        self.connection.execute(sql, [old, new]).map(|_| ()).map_err(self.error_mapper())
    }

    pub(super) fn put_fact(&self, fact: &Fact) -> Result<(), Error> {
        let symbols = fact.symbols.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let subject = fact.subject.words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let done = (|| {
            let sql = "insert into facts values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) on conflict(id) do update set \
                text = ?2, state = ?3, origin = ?4, symbols = ?5, project = ?6, pinned = ?7, edited = ?8, made = ?9, kind = ?10, \
                subject = ?11, reverses = ?12, superseded_by = ?13, edited_at = ?14";
            self.connection.prepare_cached(sql)?.execute(db::params![
                fact.id,
                fact.text,
                fact.state.word(),
                fact.origin.word(),
                symbols,
                fact.project,
                fact.pinned,
                fact.edited,
                stamp_to_sql(fact.made_at),
                fact.kind.word(),
                subject,
                fact.subject.reverses,
                fact.superseded_by,
                stamp_to_sql(fact.edited_at)
            ])?;
            self.connection.prepare_cached("delete from evidence where fact = ?1")?.execute([&fact.id])?;
            let mut statement =
                self.connection.prepare_cached("insert into evidence values (?1, ?2, ?3, ?4)")?;
            fact.evidence.iter().try_for_each(|one| {
                statement.execute([&fact.id, &one.session_id, &one.source, &one.message_id]).map(|_| ())
            })
        })();
        done.map_err(self.error_mapper())
    }

    // ---- edits by a person

    /// None: no memory of this session.
    pub fn edit_session(
        &mut self,
        source: &str,
        session_id: &str,
        edit: &Edit,
        now: Stamp,
    ) -> Result<Option<SessionMemory>, Error> {
        self.in_transaction(|store| {
            let Some(known) = store.session(source, session_id)? else { return Ok(None) };
            let edited = apply_edit(known, edit, now);
            store.put_session(&edited)?;
            Ok(Some(edited))
        })
    }

    /// Adds a fact stated by a person, without evidence. A known fact with the same words becomes fresh again. Returns
    /// the fact, and whether anything changed.
    pub fn add_fact(
        &mut self,
        project: &str,
        text: &str,
        pinned: bool,
        now: Stamp,
    ) -> Result<(Fact, bool), Error> {
        self.in_transaction(|store| {
            let id = entry::fact_id(project, text);
            store.unblock_fact(&id)?;
            let known = store.fact(&id)?;
            let before = known.clone().unwrap_or_else(|| state_fact(id, project, text, now));
            let mut fact =
                Fact { state: State::Fresh, pinned: before.pinned || pinned, edited: true, ..before.clone() };
            let changed = known.as_ref() != Some(&fact);
            if changed {
                fact.edited_at = time_of_edit(&before, now);
            }
            store.put_fact(&fact)?;
            Ok((fact, changed))
        })
    }

    /// Applies a person's change to a fact. None: there is no such fact.
    pub fn edit_fact(
        &mut self,
        id: &str,
        now: Stamp,
        change: impl FnOnce(&mut Fact),
    ) -> Result<Option<Fact>, Error> {
        self.in_transaction(|store| {
            let Some(mut fact) = store.fact(id)? else { return Ok(None) };
            let before = fact.clone();
            change(&mut fact);
            fact.edited |= fact.text != before.text || fact.state != before.state;
            if fact != before {
                fact.edited_at = time_of_edit(&before, now);
            }
            store.put_fact(&fact)?;
            Ok(Some(fact))
        })
    }

    pub fn pin_session(
        &mut self,
        source: &str,
        session_id: &str,
        pinned: bool,
    ) -> Result<Option<SessionMemory>, Error> {
        self.in_transaction(|store| {
            let Some(known) = store.session(source, session_id)? else { return Ok(None) };
            let changed = SessionMemory { pinned, ..known };
            store.put_session(&changed)?;
            Ok(Some(changed))
        })
    }

    // ---- forgetting

    /// Deletes a fact and removes its text from the names and summaries of its sessions. The fact stays blocked for
    /// those sessions.
    pub fn forget_fact(&mut self, fact: &Fact) -> Result<(), Error> {
        self.remove_backups()?;
        self.in_transaction(|store| {
            let sessions: BTreeSet<(&str, &str)> =
                fact.evidence.iter().map(|one| (&*one.source, &*one.session_id)).collect();
            if sessions.is_empty() {
                // Other devices must learn of it as well.
                store.block_fact("", "", &fact.id)?;
            }
            for (source, session_id) in sessions {
                store.block_fact(source, session_id, &fact.id)?;
                if let Some(known) = store.session(source, session_id)? {
                    store.put_session(&known.without_fact(fact))?;
                }
            }
            store.drop_fact(&fact.id)
        })
    }

    /// Deletes the memory of a session, and the facts without evidence elsewhere. With `for_good` the session is never
    /// remembered again.
    pub fn forget_session(&mut self, source: &str, session_id: &str, for_good: bool) -> Result<(), Error> {
        self.remove_backups()?;
        self.in_transaction(|store| {
            if for_good {
                store.block_fact(source, session_id, WHOLE_SESSION)?;
            }
            store.drop_session(source, session_id)
        })
    }

    /// Deletes every session that `selects` names; returns how many.
    pub fn forget_all(&mut self, selects: &dyn Fn(&str, &str) -> bool) -> Result<u64, Error> {
        self.remove_backups()?;
        let gone = self.list_sessions(selects)?;
        self.in_transaction(|store| gone.iter().try_for_each(|(source, id)| store.drop_session(source, id)))?;
        Ok(gone.len() as u64)
    }

    /// The sessions that are remembered, or are evidence of a fact, and that `selects` names.
    pub fn list_sessions(
        &self,
        selects: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Vec<(String, String)>, Error> {
        let sql = "select source, session_id from sessions union select source, session_id from evidence";
        let mut statement = self.connection.prepare(sql).map_err(self.error_mapper())?;
        let all = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .map_err(self.error_mapper())?;
        let all = all.collect::<Result<Vec<_>, _>>().map_err(self.error_mapper())?;
        Ok(all.into_iter().filter(|(source, id)| selects(source, id)).collect())
    }

    /// Removes the copies of earlier layouts, first: a kill in between forgets nothing, and the request is repeated.
    fn remove_backups(&self) -> Result<(), Error> {
        db::durable::remove_backups(&self.connection).map_err(self.error_mapper())
    }

    fn drop_session(&self, source: &str, session_id: &str) -> Result<(), Error> {
        let facts = self.facts_of(source, session_id)?;
        for sql in [
            "delete from sessions where session_id = ?1 and source = ?2",
            "delete from tags where session_id = ?1 and source = ?2",
            "delete from evidence where session_id = ?1 and source = ?2",
            "delete from forgotten where session_id = ?1 and source = ?2 and fact != ''",
        ] {
            self.connection.execute(sql, [session_id, source]).map_err(self.error_mapper())?;
        }
        let sql = "delete from facts where id = ?1 and not exists (select 1 from evidence where fact = ?1)";
        facts.iter().try_for_each(|fact| {
            self.connection.execute(sql, [fact]).map(|_| ()).map_err(self.error_mapper())
        })
    }

    pub(super) fn drop_fact(&self, id: &str) -> Result<(), Error> {
        self.connection
            .execute("delete from facts where id = ?1", [id])
            .map(|_| ())
            .map_err(self.error_mapper())
    }

    pub(super) fn block_fact(&self, source: &str, session_id: &str, fact: &str) -> Result<(), Error> {
        let sql = "insert or ignore into forgotten values (?1, ?2, ?3)";
        self.connection.execute(sql, [session_id, source, fact]).map(|_| ()).map_err(self.error_mapper())
    }

    pub(super) fn unblock_fact(&self, id: &str) -> Result<(), Error> {
        let sql = "delete from forgotten where session_id = '' and source = '' and fact = ?1";
        self.connection.execute(sql, [id]).map(|_| ()).map_err(self.error_mapper())
    }

    // ---- import

    /// Imports another memory. Text written by a person here is kept, forgotten facts and sessions are skipped, and a
    /// second import of the same data changes nothing.
    pub fn import_memory(
        &mut self,
        sessions: &[SessionMemory],
        facts: &[Fact],
    ) -> Result<ImportOutcome, Error> {
        self.in_transaction(|store| {
            let mut done = ImportOutcome::default();
            for theirs in sessions {
                if store.is_forgotten(&theirs.source, &theirs.session_id, WHOLE_SESSION)? {
                    done.forgotten += 1;
                    continue;
                }
                let ours = store.session(&theirs.source, &theirs.session_id)?;
                let forgotten = store.forgotten_facts_of(&theirs.source, &theirs.session_id)?;
                let merged = merge::merge_imported_session(
                    ours.as_ref(),
                    &theirs.without_forgotten(&forgotten, ours.as_ref()),
                );
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

    fn import_fact(&self, theirs: &Fact, done: &mut ImportOutcome) -> Result<(), Error> {
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
        let merged = merge::merge_imported_fact(ours.as_ref(), theirs);
        let changed = ours.as_ref() != Some(&merged);
        if changed {
            self.put_fact(&merged)?;
        }
        (done.facts, done.unchanged) =
            (done.facts + u64::from(changed), done.unchanged + u64::from(!changed));
        Ok(())
    }
}

/// What a model says of two facts counts if both may be offered, belong to one project, and the replacement is later.
fn accept_replacements(facts: &[Fact], claims: Vec<(String, String)>) -> Vec<(String, String)> {
    let by_id: BTreeMap<&str, &Fact> = facts.iter().map(|fact| (fact.id.as_str(), fact)).collect();
    let holds = |fact: &Fact| matches!(fact.state, State::Fresh | State::Stale | State::Superseded);
    let counts = |(old, new): &(String, String)| {
        let (Some(old), Some(new)) = (by_id.get(old.as_str()), by_id.get(new.as_str())) else { return false };
        holds(old) && holds(new) && old.project == new.project && old.made_at < new.made_at
    };
    claims.into_iter().filter(counts).collect()
}

/// Later than every edit that this one follows, whatever the clocks of the devices say.
fn time_of_edit(before: &Fact, now: Stamp) -> Stamp {
    if before.edited_at == Stamp::NONE { now } else { now.max(Stamp(before.edited_at.0.saturating_add(1))) }
}

fn state_fact(id: String, project: &str, text: &str, now: Stamp) -> Fact {
    Fact {
        id,
        text: text.to_owned(),
        state: State::Fresh,
        origin: Origin::User,
        evidence: BTreeSet::new(),
        symbols: extract_symbols(text).into_iter().collect(),
        project: project.to_owned(),
        pinned: false,
        edited: true,
        edited_at: Stamp::NONE,
        made_at: now,
        kind: Kind::Decision,
        subject: Subject { words: content_words(&fold(text)), reverses: false },
        superseded_by: None,
    }
}

fn apply_edit(known: SessionMemory, edit: &Edit, now: Stamp) -> SessionMemory {
    let person = |text: &String| AttributedText { text: text.clone(), by: By::Person, at: now };
    let mut one = SessionMemory {
        name: edit.name.as_ref().map_or(known.name, person),
        summary: edit.summary.as_ref().map_or(known.summary, person),
        ..known
    };
    for tag in edit.add_tags.iter().map(|tag| normalise_tag(tag)).filter(|tag| !tag.is_empty()) {
        one.removed_tags.remove(&tag);
        one.tags.insert(tag, By::Person);
    }
    for tag in edit.remove_tags.iter().map(|tag| normalise_tag(tag)) {
        one.tags.remove(&tag);
        one.removed_tags.insert(tag);
    }
    one
}

/// Whether the visible parts are equal: the time up to which it was derived does not count.
fn is_visibly_equal(known: Option<&SessionMemory>, merged: &SessionMemory) -> bool {
    let visible = |one: &SessionMemory| (one.name.clone(), one.summary.clone(), one.tags.clone());
    known.is_some_and(|known| visible(known) == visible(merged))
}
