//! Resolves an ID prefix to a session in memory or to a fact.
//!
//! Does not know sessions without memory.

use crate::{Service, memory_store};
use api::memory::MemoryLine;
use api::search::stamp_to_ms;
use api::{Code, Error};
use exchange::Origins;
use history::resolve_session;
use memory::{By, Fact, SessionMemory, Store};

pub(super) enum Resolved {
    Session(Box<SessionMemory>),
    Fact(Box<Fact>),
}

/// Opens the memory store, or fails if there is none.
pub(super) fn require_store(service: &Service) -> Result<Store, Error> {
    memory_store::open_existing(service)?
        .ok_or_else(|| Error::new(Code::NotFound, "memory is empty").hint("loci memory consolidate"))
}

pub(super) fn resolve_memory(store: &Store, id: &str) -> Result<Resolved, Error> {
    let id = id.trim();
    let mut sessions = store.sessions(id).map_err(|error| memory_store::store_error(&error))?;
    let mut facts = store.facts(id).map_err(|error| memory_store::store_error(&error))?;
    if sessions.iter().any(|one| one.session_id == id) {
        sessions.retain(|one| one.session_id == id);
    }
    if sessions.len() + facts.len() > 1 {
        let ids = sessions
            .iter()
            .map(|one| one.session_id.as_str())
            .chain(facts.iter().map(|fact| fact.id.as_str()));
        return Err(resolve_session::ambiguous_id(id, "memories", ids));
    }
    match (sessions.pop(), facts.pop()) {
        (Some(session), _) => Ok(Resolved::Session(Box::new(session))),
        (_, Some(fact)) => Ok(Resolved::Fact(Box::new(fact))),
        _ => Err(Error::new(Code::NotFound, format!("no memory has an ID that starts with `{id}`"))
            .hint("list memories with `loci memory list`")
            .hint("loci memory consolidate")),
    }
}

/// The lines with the devices that they came from.
pub(super) fn with_devices(service: &Service, mut lines: Vec<MemoryLine>) -> Vec<MemoryLine> {
    let origins = Origins::load(service.home().as_ref());
    for line in &mut lines {
        line.device = match &line.source {
            Some(source) => origins.session_device(source, &line.id),
            None => origins.fact_device(&line.id),
        };
    }
    lines
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

pub(super) fn session_line(one: &SessionMemory) -> MemoryLine {
    MemoryLine {
        id: one.session_id.clone(),
        kind: "session".to_string(),
        text: one.name.text.clone(),
        by: one.name.by.word().to_string(),
        tags: one.tags.keys().cloned().collect(),
        source: non_empty(&one.source),
        project: non_empty(&one.project),
        at: stamp_to_ms(one.ended_at),
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
        tags: vec![fact.kind.word().to_string()],
        symbols: fact.symbols.iter().cloned().collect(),
        project: non_empty(&fact.project),
        at: stamp_to_ms(fact.made_at),
        pinned: fact.pinned,
        edited: fact.edited,
        ..MemoryLine::default()
    }
}
