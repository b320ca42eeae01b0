//! Shows one memory in full: the origin and time of each part, and the messages that support a fact.
//!
//! Quotes the transcripts in their current state. Does not know messages whose transcript is gone: they have no text.

use super::named::{Resolved, fact_line, require_store, resolve_memory, session_line, with_devices};
use crate::{Service, memory_store};
use api::memory::{MemoryShown, Quote, ShowMemory};
use api::search::{TimeRange, stamp_to_ms};
use api::{Error, Handle, Request, ViewRequest};
use history::error::read_error;
use history::projects::Projects;
use history::scan::{by_time, scan_rows};
use memory::{Evidence, Fact, SessionMemory, State, Store};
use record::{Row, Stamp};
use std::collections::BTreeMap;
use views::MESSAGES;

impl Handle<ShowMemory> for Service {
    fn handle(&self, request: &ShowMemory) -> Result<MemoryShown, Error> {
        request.check_params()?;
        let store = require_store(self)?;
        let mut shown = match resolve_memory(&store, &request.id)? {
            Resolved::Session(one) => show_session(self, &store, &one)?,
            Resolved::Fact(fact) => show_fact(self, &fact),
        };
        shown.memory = with_devices(self, vec![shown.memory]).remove(0);
        if shown.memory.device.is_some() {
            // It is resumed where it took place.
            shown.resume = None;
        }
        Ok(shown)
    }
}

fn show_session(service: &Service, store: &Store, one: &SessionMemory) -> Result<MemoryShown, Error> {
    let mut facts = Vec::new();
    for id in
        store.facts_of(&one.source, &one.session_id).map_err(|error| memory_store::store_error(&error))?
    {
        facts.extend(store.fact(&id).map_err(|error| memory_store::store_error(&error))?);
    }
    facts.retain(|fact| matches!(fact.state, State::Fresh | State::Stale));
    let folder = Projects::load(&service.history()).present_folder(&one.project);
    Ok(MemoryShown {
        note: format!("history from {}, not a task", one.ended_at.utc_day()),
        memory: session_line(one),
        summary: Some(one.summary.text.clone()),
        summary_by: Some(one.summary.by.word().to_string()),
        summary_at: stamp_to_ms(one.summary.at),
        time_range: Some(TimeRange::new(one.started_at, one.ended_at)),
        resume: api::resume_command(&one.source, &folder, &one.session_id),
        facts: facts.iter().map(fact_line).collect(),
        evidence: Vec::new(),
    })
}

fn show_fact(service: &Service, fact: &Fact) -> MemoryShown {
    MemoryShown {
        note: format!("stated on {}: history, not a task", fact.made_at.utc_day()),
        memory: fact_line(fact),
        evidence: quote_evidence(service, fact),
        ..MemoryShown::default()
    }
}

fn quote_evidence(service: &Service, fact: &Fact) -> Vec<Quote> {
    let mut by_session: BTreeMap<&str, Vec<&Evidence>> = BTreeMap::new();
    for one in &fact.evidence {
        by_session.entry(&one.session_id).or_default().push(one);
    }
    let quotes_of = |(session, evidence): (&str, Vec<&Evidence>)| {
        let texts = read_messages(service, session, &evidence).unwrap_or_default();
        let quote = move |one: &Evidence| {
            let (at, text) = texts.get(&one.message_id).cloned().unzip();
            Quote {
                chat_id: one.session_id.clone(),
                source: one.source.clone(),
                message_id: one.message_id.clone(),
                created_at: at.and_then(stamp_to_ms),
                text,
            }
        };
        evidence.into_iter().map(quote).collect::<Vec<_>>()
    };
    by_session.into_iter().flat_map(quotes_of).collect()
}

/// Messages of a session by ID, with their times.
fn read_messages(
    service: &Service,
    session: &str,
    wanted: &[&Evidence],
) -> Result<BTreeMap<String, (Stamp, String)>, Error> {
    let request =
        ViewRequest { all_projects: true, session: Some(session.to_string()), ..ViewRequest::default() };
    let heads: Vec<[u8; 24]> = wanted.iter().map(|one| Row::id_head(one.message_id.as_bytes())).collect();
    let (library, rows) = scan_rows(&service.history(), &request, MESSAGES, by_time, |_, joined| {
        heads.contains(&joined.row.id)
    })?;
    let mut found = BTreeMap::new();
    for row in rows {
        let row = row.map_err(read_error)?;
        if let Ok(message) = service.history().read_message(&library, &row) {
            found.insert(message.id, (row.at, message.text));
        }
    }
    Ok(found)
}
