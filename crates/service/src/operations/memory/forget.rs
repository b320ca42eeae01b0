//! Deletes facts or the memory of sessions permanently: no byte is left, and no later run restores them.
//!
//! Does not delete the sessions themselves: that is `loci forget`.

use super::named::{Named, fact_line, named, session_line, store};
use crate::{Service, memory_store};
use api::memory::{ForgetMemory, MemoryForgotten, MemoryLine};
use api::{Error, Handle, Request};
use memory::{Fact, Store};
use std::collections::{BTreeMap, BTreeSet};

impl Handle<ForgetMemory> for Service {
    fn handle(&self, request: &ForgetMemory) -> Result<MemoryForgotten, Error> {
        forget_memory(self, request)
    }
}

fn forget_memory(service: &Service, request: &ForgetMemory) -> Result<MemoryForgotten, Error> {
    request.check()?;
    let known = store(service)?;
    let (mut selected, mut lines) = (Vec::new(), BTreeMap::new());
    for id in &request.ids {
        let one = named(&known, id)?;
        lines.extend(going(&known, &one)?.into_iter().map(|line| (line.id.clone(), line)));
        selected.push(one);
    }
    drop(known);
    if !request.dry_run {
        let mut store = memory_store::open(service)?;
        for one in &selected {
            let gone = match one {
                Named::Session(one) => store.forget_session(&one.source, &one.session_id, true),
                Named::Fact(fact) => store.forget_fact(fact),
            };
            gone.map_err(|error| memory_store::told(&error))?;
        }
        // Deriving names again may wait for a lock. Purge first, so that a kill in between leaves no byte behind.
        store.purge().map_err(|error| memory_store::told(&error))?;
        drop(store);
        tell_again(service, &selected);
        let store = memory_store::open(service)?;
        store.purge().map_err(|error| memory_store::told(&error))?;
    }
    Ok(MemoryForgotten { memories: lines.into_values().collect(), dry_run: request.dry_run })
}

/// Derives names and summaries that contained a forgotten fact again. If the transcript is gone or another process holds
/// the lock, they stay as they are, without the words of the fact.
fn tell_again(service: &Service, selected: &[Named]) {
    let facts = selected.iter().filter_map(|one| match one {
        Named::Fact(fact) => Some(fact),
        Named::Session(_) => None,
    });
    let sessions: BTreeSet<&String> =
        facts.flat_map(|fact| &fact.evidence).map(|one| &one.session_id).collect();
    for session in sessions {
        let _ = super::again(service, session);
    }
}

/// The memories to delete: a fact, or a session with the facts that have no other evidence.
fn going(store: &Store, one: &Named) -> Result<Vec<MemoryLine>, Error> {
    let session = match one {
        Named::Fact(fact) => return Ok(vec![fact_line(fact)]),
        Named::Session(session) => session,
    };
    let mut lines = vec![session_line(session)];
    for id in
        store.facts_of(&session.source, &session.session_id).map_err(|error| memory_store::told(&error))?
    {
        let fact = store.fact(&id).map_err(|error| memory_store::told(&error))?;
        let here = |fact: &Fact| {
            fact.evidence
                .iter()
                .all(|one| one.session_id == session.session_id && one.source == session.source)
        };
        lines.extend(fact.filter(here).map(|fact| fact_line(&fact)));
    }
    Ok(lines)
}
