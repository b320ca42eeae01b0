//! Deletes facts or the memory of sessions permanently: no byte is left, and no later run restores them.
//!
//! Does not delete the sessions themselves: that is `loci forget`.

use super::named::{Resolved, fact_line, require_store, resolve_memory, session_line};
use crate::{Service, memory_store};
use api::memory::{ForgetMemory, MemoryForgotten, MemoryLine};
use api::{Error, Handle, Request};
use memory::{Fact, Store};
use std::collections::{BTreeMap, BTreeSet};

impl Handle<ForgetMemory> for Service {
    fn handle(&self, request: &ForgetMemory) -> Result<MemoryForgotten, Error> {
        request.check_params()?;
        let known = require_store(self)?;
        let (mut selected, mut lines) = (Vec::new(), BTreeMap::new());
        for id in &request.ids {
            let one = resolve_memory(&known, id)?;
            lines.extend(memories_to_delete(&known, &one)?.into_iter().map(|line| (line.id.clone(), line)));
            selected.push(one);
        }
        drop(known);
        if !request.dry_run {
            let mut store = memory_store::open(self)?;
            for one in &selected {
                let gone = match one {
                    Resolved::Session(one) => store.forget_session(&one.source, &one.session_id, true),
                    Resolved::Fact(fact) => store.forget_fact(fact),
                };
                gone.map_err(|error| memory_store::store_error(&error))?;
            }
            // Deriving names again may wait for a lock. Purge first, so that a kill in between leaves no byte behind.
            store.purge().map_err(|error| memory_store::store_error(&error))?;
            drop(store);
            rederive_sessions(self, &selected);
            let store = memory_store::open(self)?;
            store.purge().map_err(|error| memory_store::store_error(&error))?;
        }
        Ok(MemoryForgotten { memories: lines.into_values().collect(), dry_run: request.dry_run })
    }
}

/// Derives names and summaries that contained a forgotten fact again. If the transcript is gone or another process holds
/// the lock, they stay as they are, without the words of the fact.
fn rederive_sessions(service: &Service, selected: &[Resolved]) {
    let facts = selected.iter().filter_map(|one| match one {
        Resolved::Fact(fact) => Some(fact),
        Resolved::Session(_) => None,
    });
    let sessions: BTreeSet<&String> =
        facts.flat_map(|fact| &fact.evidence).map(|one| &one.session_id).collect();
    for session in sessions {
        let _ = super::derive_again(service, session);
    }
}

/// The memories to delete: a fact, or a session with the facts that have no other evidence.
fn memories_to_delete(store: &Store, one: &Resolved) -> Result<Vec<MemoryLine>, Error> {
    let session = match one {
        Resolved::Fact(fact) => return Ok(vec![fact_line(fact)]),
        Resolved::Session(session) => session,
    };
    let mut lines = vec![session_line(session)];
    for id in store
        .facts_of(&session.source, &session.session_id)
        .map_err(|error| memory_store::store_error(&error))?
    {
        let fact = store.fact(&id).map_err(|error| memory_store::store_error(&error))?;
        let here = |fact: &Fact| {
            fact.evidence
                .iter()
                .all(|one| one.session_id == session.session_id && one.source == session.source)
        };
        lines.extend(fact.filter(here).map(|fact| fact_line(&fact)));
    }
    Ok(lines)
}
