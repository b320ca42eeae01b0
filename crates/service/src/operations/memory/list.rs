//! Lists memories.
//!
//! Does not show pending or retired facts unless the request names that state.

use super::named::{fact_line, session_line};
use crate::{Service, memory_store};
use api::memory::{ListMemory, Memories, MemoryLine};
use api::{Error, Handle, Request};
use history::scope;
use memory::State;
use std::path::Path;

impl Handle<ListMemory> for Service {
    fn handle(&self, request: &ListMemory) -> Result<Memories, Error> {
        list_memory(self, request)
    }
}

fn list_memory(service: &Service, request: &ListMemory) -> Result<Memories, Error> {
    request.check()?;
    let Some(store) = memory_store::look(service)? else { return Ok(Memories::default()) };
    let (sessions, facts) = store.all().map_err(|error| memory_store::told(&error))?;
    let in_review = facts.iter().filter(|fact| fact.state == State::Review).count() as u64;
    let wants = |kind: &str| request.kind.as_deref().is_none_or(|wanted| wanted == kind);
    let mut found: Vec<MemoryLine> = Vec::new();
    if wants("sessions") && request.state.is_none() {
        let matching = sessions
            .iter()
            .filter(|one| holds_words(request, &[&one.name.text, &one.summary.text, &tags(one.tags.keys())]));
        let tagged =
            matching.filter(|one| request.tag.iter().all(|tag| one.tags.contains_key(&memory::tag_of(tag))));
        found.extend(tagged.map(session_line));
    }
    if wants("facts") && request.tag.is_empty() {
        let matching =
            facts.iter().filter(|fact| holds_words(request, &[&fact.text, &tags(fact.symbols.iter())]));
        found.extend(matching.filter(|fact| is_shown(request, fact.state)).map(fact_line));
    }
    narrow(service, request, &mut found);
    // Ties in time are ordered by ID.
    found.sort_by(|a, b| (b.pinned, b.at, &a.id).cmp(&(a.pinned, a.at, &b.id)));
    let total = found.len() as u64;
    let memories = found.into_iter().skip(request.offset as usize).take(request.limit as usize).collect();
    Ok(Memories { memories, total, in_review })
}

fn tags<'t>(tags: impl Iterator<Item = &'t String>) -> String {
    tags.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn holds_words(request: &ListMemory, texts: &[&str]) -> bool {
    let Some(query) = &request.query else { return true };
    let all = texts.join("\n").to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn is_shown(request: &ListMemory, state: State) -> bool {
    match &request.state {
        Some(word) => state.word() == word,
        None => matches!(state, State::Fresh | State::Stale),
    }
}

fn narrow(service: &Service, request: &ListMemory, found: &mut Vec<MemoryLine>) {
    if let Some(project) = request.project.as_ref().map(|named| scope::real(&service.cwd.join(named))) {
        found.retain(|one| one.project.as_deref().is_some_and(|path| Path::new(path).starts_with(&project)));
    }
    if let Some(since) = request.since.as_deref().and_then(|text| service.clock.moment(text)) {
        found.retain(|one| one.at.is_some_and(|at| at >= since.0));
    }
}
