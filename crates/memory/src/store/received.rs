//! Entries that another device of the same person wrote.
//!
//! Does not know how they arrived.

use super::Store;
use crate::entry::{Fact, SessionMemory, State};
use crate::store::Error;
use std::collections::BTreeSet;

/// Source, session and fact ID; an empty ID means the whole session.
pub type ForgottenEntry = (String, String, String);

impl Store {
    /// Stores entries as they are on the other device, in place of those here, and returns how many changed. What was forgotten here
    /// stays out. What each device finds out by itself is kept: whether a fact is stale, and what replaced it.
    pub fn put_received(&mut self, sessions: &[SessionMemory], facts: &[Fact]) -> Result<u64, Error> {
        self.in_transaction(|store| {
            let mut changed = 0;
            for theirs in sessions {
                changed += u64::from(store.put_received_session(theirs)?);
            }
            for theirs in facts {
                changed += u64::from(store.put_received_fact(theirs)?);
            }
            Ok(changed)
        })
    }

    fn put_received_session(&self, theirs: &SessionMemory) -> Result<bool, Error> {
        if self.is_forgotten(&theirs.source, &theirs.session_id, super::write::WHOLE_SESSION)? {
            return Ok(false);
        }
        let changed = self.session(&theirs.source, &theirs.session_id)?.as_ref() != Some(theirs);
        if changed {
            self.put_session(theirs)?;
        }
        Ok(changed)
    }

    fn put_received_fact(&self, theirs: &Fact) -> Result<bool, Error> {
        let mut evidence = BTreeSet::new();
        for one in &theirs.evidence {
            if !self.is_forgotten(&one.source, &one.session_id, &theirs.id)? {
                evidence.insert(one.clone());
            }
        }
        if evidence.is_empty() && !theirs.evidence.is_empty() {
            return Ok(false);
        }
        let ours = self.fact(&theirs.id)?;
        let mut merged = Fact { evidence, ..theirs.clone() };
        if let Some(ours) = &ours {
            merged.subject = ours.subject.clone();
            merged.superseded_by.clone_from(&ours.superseded_by);
            if merged.state == State::Fresh && matches!(ours.state, State::Stale | State::Superseded) {
                merged.state = ours.state;
            }
        }
        let changed = ours.as_ref() != Some(&merged);
        if changed {
            self.put_fact(&merged)?;
        }
        Ok(changed)
    }

    /// Everything that a person has forgotten.
    pub fn forgotten_entries(&self) -> Result<Vec<ForgottenEntry>, Error> {
        let mut entries: Vec<ForgottenEntry> = Vec::new();
        for (source, session) in self.forgotten_sessions()? {
            entries.push((source, session, String::new()));
        }
        for ((source, session), facts) in self.forgotten_facts()? {
            entries.extend(facts.into_iter().map(|fact| (source.clone(), session.clone(), fact)));
        }
        entries.sort();
        entries.dedup();
        Ok(entries)
    }

    /// Removes facts that were deleted on the other device. Nothing blocks them: a session may bring them up again.
    pub fn drop_received(&mut self, ids: &[String]) -> Result<(), Error> {
        self.in_transaction(|store| ids.iter().try_for_each(|id| store.drop_fact(id)))
    }

    /// Forgets what was forgotten on the other device.
    pub fn forget_received(&mut self, entries: &[ForgottenEntry]) -> Result<(), Error> {
        for (source, session, fact) in entries {
            if fact.is_empty() {
                self.forget_session(source, session, true)?;
                continue;
            }
            self.block_fact(source, session, fact)?;
            if let Some(known) = self.fact(fact)? {
                self.forget_fact(&known)?;
            }
        }
        Ok(())
    }
}
