//! Takes facts, or what is remembered of sessions, out of memory, so that not a byte is left and no run brings them back.
//!
//! Leaves the conversations themselves alone: that is `loci forget`.

use super::named::{Named, fact_line, named, session_line, store};
use crate::{Service, memory_store};
use api::memory::{ForgetMemory, MemoryForgotten, MemoryLine};
use api::{Error, Handle, Request};
use memory::{Fact, Store};
use std::collections::{BTreeMap, BTreeSet};

impl Handle<ForgetMemory> for Service {
    fn handle(&self, ask: &ForgetMemory) -> Result<MemoryForgotten, Error> {
        forget_memory(self, ask)
    }
}

fn forget_memory(service: &Service, ask: &ForgetMemory) -> Result<MemoryForgotten, Error> {
    ask.check()?;
    let known = store(service)?;
    let (mut doomed, mut lines) = (Vec::new(), BTreeMap::new());
    for id in &ask.ids {
        let one = named(&known, id)?;
        lines.extend(going(&known, &one)?.into_iter().map(|line| (line.id.clone(), line)));
        doomed.push(one);
    }
    drop(known);
    if !ask.dry_run {
        let mut store = memory_store::open(service)?;
        for one in &doomed {
            let gone = match one {
                Named::Session(one) => store.forget_session(&one.source, &one.session_id, true),
                Named::Fact(fact) => store.forget_fact(fact),
            };
            gone.map_err(|error| memory_store::told(&error))?;
        }
        // Making names again may wait for somebody else: whoever is killed there has left no byte behind.
        store.purge().map_err(|error| memory_store::told(&error))?;
        drop(store);
        tell_again(service, &doomed);
        let store = memory_store::open(service)?;
        store.purge().map_err(|error| memory_store::told(&error))?;
    }
    Ok(MemoryForgotten { memories: lines.into_values().collect(), dry_run: ask.dry_run })
}

/// Makes names and summaries anew that had the words of a fact in them. Where the transcript is gone or somebody else
/// is at it, they stay as they are without the words.
fn tell_again(service: &Service, doomed: &[Named]) {
    let facts = doomed.iter().filter_map(|one| match one {
        Named::Fact(fact) => Some(fact),
        Named::Session(_) => None,
    });
    let sessions: BTreeSet<&String> =
        facts.flat_map(|fact| &fact.evidence).map(|one| &one.session_id).collect();
    for session in sessions {
        let _ = super::again(service, session);
    }
}

/// What goes: a fact, or a session with the facts that stand nowhere else.
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
