//! Lists memories.
//!
//! Does not show pending or retired facts unless the request names that state.

use super::named::{fact_line, session_line, with_devices};
use super::stale::stale_in;
use crate::{Service, memory_store};
use api::memory::{ListMemory, Memories, MemoryLine};
use api::{Error, Handle, Request};
use history::scope;
use history::tombstones::Tombstones;
use memory::{Fact, State};
use std::path::Path;

impl Handle<ListMemory> for Service {
    fn handle(&self, request: &ListMemory) -> Result<Memories, Error> {
        request.check_params()?;
        let Some(store) = memory_store::open_existing(self)? else { return Ok(Memories::default()) };
        let (mut sessions, mut facts) =
            store.load_all().map_err(|error| memory_store::store_error(&error))?;
        // An older memory that was put back may have what was forgotten since.
        let gone = Tombstones::read(self.home().as_ref())?;
        sessions.retain(|one| !gone.contains(&one.source, &one.session_id));
        facts.retain(|fact| {
            fact.evidence.is_empty()
                || fact.evidence.iter().any(|one| !gone.contains(&one.source, &one.session_id))
        });
        let stale = stale_in(self, &scope::enclosing_project(&self.cwd), &sessions, &facts);
        let in_review = facts.iter().filter(|fact| fact.state == State::Review).count() as u64;
        let wants = |kind: &str| request.kind.as_deref().is_none_or(|wanted| wanted == kind);
        let mut found: Vec<MemoryLine> = Vec::new();
        if wants("sessions") && request.state.is_none() {
            let matching = sessions.iter().filter(|one| {
                matches_query(request, &[&one.name.text, &one.summary.text, &join_tags(one.tags.keys())])
            });
            let tagged = matching.filter(|one| {
                request.tag.iter().all(|tag| one.tags.contains_key(&memory::normalise_tag(tag)))
            });
            found.extend(tagged.map(session_line));
        }
        if wants("facts") {
            let tagged = |fact: &&Fact| request.tag.iter().all(|tag| tag == fact.kind.word());
            let matching = facts
                .iter()
                .filter(tagged)
                .filter(|fact| matches_query(request, &[&fact.text, &join_tags(fact.symbols.iter())]));
            let state_of = |fact: &Fact| if stale.contains(&fact.id) { State::Stale } else { fact.state };
            let listed = matching.filter(|fact| is_state_listed(request, state_of(fact)));
            let word_of = |fact: &Fact| Some(state_of(fact).word().to_string());
            found.extend(listed.map(|fact| MemoryLine { state: word_of(fact), ..fact_line(fact) }));
        }
        apply_filters(self, request, &mut found);
        // Ties in time are ordered by ID.
        found.sort_by(|a, b| (b.pinned, b.at, &a.id).cmp(&(a.pinned, a.at, &b.id)));
        let total = found.len() as u64;
        let page = found.into_iter().skip(request.offset as usize).take(request.limit as usize);
        let memories = with_devices(self, page.collect());
        Ok(Memories { memories, total, in_review })
    }
}

fn join_tags<'t>(tags: impl Iterator<Item = &'t String>) -> String {
    tags.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn matches_query(request: &ListMemory, texts: &[&str]) -> bool {
    let Some(query) = &request.query else { return true };
    let all = texts.join("\n").to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn is_state_listed(request: &ListMemory, state: State) -> bool {
    match &request.state {
        Some(word) => state.word() == word,
        None => matches!(state, State::Fresh | State::Stale),
    }
}

fn apply_filters(service: &Service, request: &ListMemory, found: &mut Vec<MemoryLine>) {
    if let Some(project) =
        request.project.as_ref().map(|named| scope::find_project(&service.history(), named))
    {
        let is_within = |path: &str| project.iter().any(|folder| Path::new(path).starts_with(folder));
        found.retain(|one| one.project.as_deref().is_some_and(is_within));
    }
    if let Some(since) = request.since.as_deref().and_then(|text| service.clock.parse_time(text)) {
        found.retain(|one| one.at.is_some_and(|at| at >= since.0));
    }
}
