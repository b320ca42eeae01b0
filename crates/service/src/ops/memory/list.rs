//! What is remembered, in a list.
//!
//! Does not show facts that wait for a person, or were put away, unless they are asked for.

use super::named::{fact_line, session_line};
use crate::{Service, memory_store};
use api::memory::{ListMemory, Memories, MemoryLine};
use api::{Error, Handle, Request};
use history::scope;
use memory::State;
use std::path::Path;

impl Handle<ListMemory> for Service {
    fn handle(&self, ask: &ListMemory) -> Result<Memories, Error> {
        list_memory(self, ask)
    }
}

fn list_memory(service: &Service, ask: &ListMemory) -> Result<Memories, Error> {
    ask.check()?;
    let Some(store) = memory_store::look(service)? else { return Ok(Memories::default()) };
    let (sessions, facts) = store.all().map_err(|error| memory_store::told(&error))?;
    let in_review = facts.iter().filter(|fact| fact.state == State::Review).count() as u64;
    let wants = |kind: &str| ask.kind.as_deref().is_none_or(|wanted| wanted == kind);
    let mut found: Vec<MemoryLine> = Vec::new();
    if wants("sessions") && ask.state.is_none() {
        let told = sessions
            .iter()
            .filter(|one| holds_words(ask, &[&one.name.text, &one.summary.text, &tags(one.tags.keys())]));
        let tagged = told.filter(|one| ask.tag.iter().all(|tag| one.tags.contains_key(&memory::tag_of(tag))));
        found.extend(tagged.map(session_line));
    }
    if wants("facts") && ask.tag.is_empty() {
        let told = facts.iter().filter(|fact| holds_words(ask, &[&fact.text, &tags(fact.symbols.iter())]));
        found.extend(told.filter(|fact| is_shown(ask, fact.state)).map(fact_line));
    }
    narrow(service, ask, &mut found);
    // What was written in the same moment stands in the order of its ids.
    found.sort_by(|a, b| (b.pinned, b.at, &a.id).cmp(&(a.pinned, a.at, &b.id)));
    let total = found.len() as u64;
    let memories = found.into_iter().skip(ask.offset as usize).take(ask.limit as usize).collect();
    Ok(Memories { memories, total, in_review })
}

fn tags<'t>(tags: impl Iterator<Item = &'t String>) -> String {
    tags.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn holds_words(ask: &ListMemory, texts: &[&str]) -> bool {
    let Some(query) = &ask.query else { return true };
    let all = texts.join("\n").to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn is_shown(ask: &ListMemory, state: State) -> bool {
    match &ask.state {
        Some(word) => state.word() == word,
        None => matches!(state, State::Fresh | State::Stale),
    }
}

fn narrow(service: &Service, ask: &ListMemory, found: &mut Vec<MemoryLine>) {
    if let Some(project) = ask.project.as_ref().map(|named| scope::real(&service.cwd.join(named))) {
        found.retain(|one| one.project.as_deref().is_some_and(|path| Path::new(path).starts_with(&project)));
    }
    if let Some(since) = ask.since.as_deref().and_then(|text| service.clock.moment(text)) {
        found.retain(|one| one.at.is_some_and(|at| at >= since.0));
    }
}
