//! Resolves an ID prefix to a session in memory or to a fact.
//!
//! Does not know sessions without memory.

use crate::{Service, memory_store};
use api::memory::MemoryLine;
use api::search::ms;
use api::{Code, Error};
use history::resolve_session;
use memory::{By, Fact, Remembered, Store};

pub(super) enum Named {
    Session(Box<Remembered>),
    Fact(Box<Fact>),
}

/// Opens the memory store, or fails if there is none.
pub(super) fn store(service: &Service) -> Result<Store, Error> {
    memory_store::look(service)?
        .ok_or_else(|| Error::new(Code::NotFound, "memory is empty").hint("loci memory consolidate"))
}

pub(super) fn named(store: &Store, id: &str) -> Result<Named, Error> {
    let id = id.trim();
    let mut sessions = store.sessions(id).map_err(|error| memory_store::told(&error))?;
    let mut facts = store.facts(id).map_err(|error| memory_store::told(&error))?;
    if sessions.iter().any(|one| one.session_id == id) {
        sessions.retain(|one| one.session_id == id);
    }
    if sessions.len() + facts.len() > 1 {
        let ids = sessions
            .iter()
            .map(|one| one.session_id.as_str())
            .chain(facts.iter().map(|fact| fact.id.as_str()));
        return Err(resolve_session::one_of(id, "memories", ids));
    }
    match (sessions.pop(), facts.pop()) {
        (Some(session), _) => Ok(Named::Session(Box::new(session))),
        (_, Some(fact)) => Ok(Named::Fact(Box::new(fact))),
        _ => Err(Error::new(Code::NotFound, format!("no memory has an ID that starts with `{id}`"))
            .hint("list memories with `loci memory list`")
            .hint("loci memory consolidate")),
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

pub(super) fn session_line(one: &Remembered) -> MemoryLine {
    MemoryLine {
        id: one.session_id.clone(),
        kind: "session".to_string(),
        text: one.name.text.clone(),
        by: one.name.by.word().to_string(),
        tags: one.tags.keys().cloned().collect(),
        source: some(&one.source),
        project: some(&one.project),
        at: ms(one.ended_at),
        pinned: one.pinned,
        edited: one.name.by == By::Person || one.summary.by == By::Person,
        ..MemoryLine::default()
    }
}

pub(super) fn fact_line(fact: &Fact) -> MemoryLine {
    MemoryLine {
        id: fact.id.clone(),
        kind: "fact".to_string(),
        text: fact.text.clone(),
        by: fact.origin.word().to_string(),
        state: Some(fact.state.word().to_string()),
        symbols: fact.symbols.iter().cloned().collect(),
        project: some(&fact.project),
        at: ms(fact.made_at),
        pinned: fact.pinned,
        edited: fact.edited,
        ..MemoryLine::default()
    }
}
