//! Entries that another device of the same person wrote.
//!
//! Does not know how they arrived. Every rule gives the same result on both devices, whichever hears of the other first.

use super::Store;
use super::write::WHOLE_SESSION;
use crate::entry::{AttributedText, By, Fact, SessionMemory, State};
use crate::forgetting::{forgotten_in, replace_forgotten};
use crate::store::Error;
use std::collections::BTreeSet;

/// Source, session and fact ID. An empty ID means the whole session; an empty session, a fact that no session contains.
pub type ForgottenEntry = (String, String, String);

/// Which of two devices wrote later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Later {
    Theirs,
    ByTime,
}

/// What became of a suggestion that its author has withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It was in review, and is gone.
    Removed,
    /// A person had accepted it: it stays.
    Accepted,
    Unknown,
}

impl Store {
    /// Stores entries of the other device and returns how many changed. What was forgotten here stays out.
    pub fn put_received(&mut self, sessions: &[SessionMemory], facts: &[Fact]) -> Result<u64, Error> {
        self.put_merged(sessions, facts, Later::Theirs)
    }

    /// The same where nobody knows which device wrote later: among equals, the name and the summary with the later time stay.
    pub fn put_received_by_time(&mut self, sessions: &[SessionMemory], facts: &[Fact]) -> Result<u64, Error> {
        self.put_merged(sessions, facts, Later::ByTime)
    }

    fn put_merged(&mut self, sessions: &[SessionMemory], facts: &[Fact], later: Later) -> Result<u64, Error> {
        self.in_transaction(|store| {
            let mut changed = 0;
            for theirs in sessions {
                changed += u64::from(store.put_received_session(theirs, later)?);
            }
            for theirs in facts {
                changed += u64::from(store.put_received_fact(theirs)?);
            }
            Ok(changed)
        })
    }

    fn put_received_session(&self, theirs: &SessionMemory, later: Later) -> Result<bool, Error> {
        if self.is_forgotten(&theirs.source, &theirs.session_id, WHOLE_SESSION)? {
            return Ok(false);
        }
        let forgotten = self.forgotten_facts_of(&theirs.source, &theirs.session_id)?;
        let theirs = strip_forgotten(theirs, &forgotten);
        let ours = self.session(&theirs.source, &theirs.session_id)?;
        let mut merged = ours.as_ref().map_or_else(
            || theirs.clone(),
            |ours| merge_sessions(&strip_forgotten(ours, &forgotten), &theirs, later),
        );
        merged.tags.retain(|tag, _| !merged.removed_tags.contains(tag));
        let changed = ours.as_ref() != Some(&merged);
        if changed {
            self.put_session(&merged)?;
        }
        Ok(changed)
    }

    fn put_received_fact(&self, theirs: &Fact) -> Result<bool, Error> {
        let mut received = theirs.clone();
        received.evidence.clear();
        for one in &theirs.evidence {
            if !self.is_forgotten(&one.source, &one.session_id, &theirs.id)? {
                received.evidence.insert(one.clone());
            }
        }
        let is_bare = theirs.evidence.is_empty();
        if !is_bare && received.evidence.is_empty() || is_bare && self.is_forgotten("", "", &theirs.id)? {
            return Ok(false);
        }
        let ours = self.fact(&theirs.id)?;
        let merged = ours.as_ref().map_or_else(|| received.clone(), |ours| merge_facts(ours, &received));
        let changed = ours.as_ref() != Some(&merged);
        if changed {
            self.put_fact(&merged)?;
        }
        Ok(changed)
    }

    /// Offers a fact of another person for review. False: it is known here, or was forgotten here.
    pub fn suggest_fact(&mut self, theirs: &Fact) -> Result<bool, Error> {
        self.in_transaction(|store| {
            let is_new = store.fact(&theirs.id)?.is_none() && !store.is_forgotten("", "", &theirs.id)?;
            if is_new {
                let state = State::Review;
                let fact =
                    Fact { state, evidence: BTreeSet::new(), pinned: false, edited: false, ..theirs.clone() };
                store.put_fact(&fact)?;
            }
            Ok(is_new)
        })
    }

    /// Removes a suggestion that its author has withdrawn. What a person has decided about it stays.
    pub fn withdraw_suggestion(&mut self, id: &str) -> Result<Withdrawn, Error> {
        self.in_transaction(|store| {
            let Some(fact) = store.fact(id)? else { return Ok(Withdrawn::Unknown) };
            if fact.state != State::Review {
                return Ok(if fact.state == State::Retired {
                    Withdrawn::Unknown
                } else {
                    Withdrawn::Accepted
                });
            }
            store.drop_fact(id)?;
            Ok(Withdrawn::Removed)
        })
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
        Ok(entries)
    }

    /// Forgets what was forgotten on the other device.
    pub fn forget_received(&mut self, entries: &[ForgottenEntry]) -> Result<(), Error> {
        for (source, session, fact) in entries {
            // What is known has been applied: a fact may have been stated again since, in another session.
            if self.is_forgotten(source, session, fact)? {
                continue;
            }
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

impl Store {
    /// Allows facts again that were forgotten without a session: a person has stated them once more on another device.
    pub fn allow_facts(&mut self, ids: &[String]) -> Result<(), Error> {
        self.in_transaction(|store| ids.iter().try_for_each(|id| store.unblock_fact(id)))
    }
}

/// The session without sentences that were forgotten here, except in what a person wrote.
fn strip_forgotten(session: &SessionMemory, forgotten: &BTreeSet<String>) -> SessionMemory {
    let mut stripped = session.clone();
    for words in
        [&mut stripped.name, &mut stripped.summary].into_iter().filter(|words| words.by < By::Renamed)
    {
        let text =
            replace_forgotten(&words.text, &forgotten_in(&words.text, &session.project, forgotten), "…");
        if text != words.text {
            *words = AttributedText { text, by: By::Derived, at: words.at };
        }
    }
    stripped
}

/// What someone stronger wrote stays: a model's name is not replaced by a derived one. Among equals, the later.
fn merge_sessions(ours: &SessionMemory, theirs: &SessionMemory, later: Later) -> SessionMemory {
    let stronger = |ours: &AttributedText, theirs: &AttributedText| {
        let is_ours_later = ours.by == theirs.by && later == Later::ByTime && ours.at > theirs.at;
        if ours.by > theirs.by || is_ours_later { ours.clone() } else { theirs.clone() }
    };
    // A tag that a person gave again on the other device is no longer removed.
    let is_given = |tag: &&String| theirs.tags.get(*tag) == Some(&By::Person);
    let mut removed_tags: BTreeSet<String> =
        ours.removed_tags.iter().filter(|tag| !is_given(tag)).cloned().collect();
    removed_tags.extend(theirs.removed_tags.iter().cloned());
    let mut tags = theirs.tags.clone();
    for (tag, by) in &ours.tags {
        tags.entry(tag.clone()).and_modify(|known| *known = (*known).max(*by)).or_insert(*by);
    }
    SessionMemory {
        ended_at: ours.ended_at.max(theirs.ended_at),
        seen_by_model: ours.seen_by_model.max(theirs.seen_by_model),
        name: stronger(&ours.name, &theirs.name),
        summary: stronger(&ours.summary, &theirs.summary),
        tags,
        removed_tags,
        ..theirs.clone()
    }
}

/// A person's words stay, and of two edits the later. Whether a fact is stale depends on the files here, and what replaced it is found by every device.
fn merge_facts(ours: &Fact, theirs: &Fact) -> Fact {
    let edit = |fact: &Fact| (fact.edited, fact.edited_at);
    let base = if edit(ours) > edit(theirs) { ours } else { theirs };
    let is_own_finding = matches!(ours.state, State::Stale | State::Superseded) && base.state == State::Fresh;
    Fact {
        state: if is_own_finding { ours.state } else { base.state },
        evidence: ours.evidence.union(&theirs.evidence).cloned().collect(),
        symbols: ours.symbols.union(&theirs.symbols).cloned().collect(),
        made_at: ours.made_at.max(theirs.made_at),
        subject: ours.subject.clone(),
        superseded_by: ours.superseded_by.clone(),
        ..base.clone()
    }
}
