//! What a person changes of what is remembered.
//!
//! Does not ask whether it is right: what a person types is their own word, and needs nobody's look.

use super::named::{Named, fact_line, named, session_line, store};
use crate::{Service, memory_store};
use api::memory::{AcceptMemory, EditMemory, MemoryChanged, MemoryLine, PinMemory, RetireMemory};
use api::{Code, Error, Handle, Request};
use memory::{Edit, Fact, State};

impl Handle<EditMemory> for Service {
    fn handle(&self, ask: &EditMemory) -> Result<MemoryChanged, Error> {
        edit_memory(self, ask)
    }
}

fn edit_memory(service: &Service, ask: &EditMemory) -> Result<MemoryChanged, Error> {
    ask.check()?;
    match named(&store(service)?, &ask.id)? {
        Named::Session(_) if ask.text.is_some() => {
            Err(wrong("a session has no `text`; it has a name and a summary"))
        }
        Named::Fact(_)
            if ask.name.is_some()
                || ask.summary.is_some()
                || !ask.add_tag.is_empty()
                || !ask.remove_tag.is_empty() =>
        {
            Err(wrong("a fact has nothing but its `text`"))
        }
        Named::Session(before) => {
            let edit = Edit {
                name: masked(service, ask.name.as_ref()),
                summary: masked(service, ask.summary.as_ref()),
                add_tags: ask.add_tag.iter().filter_map(|tag| masked(service, Some(tag))).collect(),
                remove_tags: ask.remove_tag.clone(),
            };
            let mut store = memory_store::open(service)?;
            let edited = store.edit_session(&before.source, &before.session_id, &edit, service.clock.now());
            let line = edited.map_err(|error| memory_store::told(&error))?.map(|one| session_line(&one));
            changed(&session_line(&before), line)
        }
        Named::Fact(before) => {
            let text = masked(service, ask.text.as_ref()).unwrap_or_default();
            let reworded = |fact: &mut Fact| {
                fact.text = text;
                // Who rewords what waited has looked at it.
                if fact.state == State::Review {
                    fact.state = State::Fresh;
                }
            };
            on_fact(service, &before, reworded)
        }
    }
}

/// What is typed here is kept like everything else: without secrets.
fn masked(service: &Service, text: Option<&String>) -> Option<String> {
    text.map(|text| service.history().veiled_line(text))
}

fn wrong(message: &str) -> Error {
    Error::new(Code::InvalidArgument, message).hint(api::memory::EDIT.example)
}

impl Handle<PinMemory> for Service {
    fn handle(&self, ask: &PinMemory) -> Result<MemoryChanged, Error> {
        pin_memory(self, ask)
    }
}

fn pin_memory(service: &Service, ask: &PinMemory) -> Result<MemoryChanged, Error> {
    ask.check()?;
    match named(&store(service)?, &ask.id)? {
        Named::Session(before) => {
            let mut store = memory_store::open(service)?;
            let pinned = store
                .pin_session(&before.source, &before.session_id, !ask.off)
                .map_err(|error| memory_store::told(&error))?;
            changed(&session_line(&before), pinned.map(|one| session_line(&one)))
        }
        Named::Fact(before) => on_fact(service, &before, |fact| fact.pinned = !ask.off),
    }
}

impl Handle<RetireMemory> for Service {
    fn handle(&self, ask: &RetireMemory) -> Result<MemoryChanged, Error> {
        retire_memory(self, ask)
    }
}

fn retire_memory(service: &Service, ask: &RetireMemory) -> Result<MemoryChanged, Error> {
    ask.check()?;
    settle(service, &ask.id, State::Retired)
}

impl Handle<AcceptMemory> for Service {
    fn handle(&self, ask: &AcceptMemory) -> Result<MemoryChanged, Error> {
        accept_memory(self, ask)
    }
}

fn accept_memory(service: &Service, ask: &AcceptMemory) -> Result<MemoryChanged, Error> {
    ask.check()?;
    settle(service, &ask.id, State::Fresh)
}

fn settle(service: &Service, id: &str, state: State) -> Result<MemoryChanged, Error> {
    match named(&store(service)?, id)? {
        Named::Session(_) => Err(Error::new(
            Code::InvalidArgument,
            format!("`{id}` is a session, and only facts are retired or accepted"),
        )
        .hint("`loci memory list --kind facts` shows them")),
        Named::Fact(before) => on_fact(service, &before, |fact| fact.state = state),
    }
}

fn on_fact(service: &Service, before: &Fact, change: impl FnOnce(&mut Fact)) -> Result<MemoryChanged, Error> {
    let mut store = memory_store::open(service)?;
    let fact = store.edit_fact(&before.id, change).map_err(|error| memory_store::told(&error))?;
    changed(&fact_line(before), fact.map(|fact| fact_line(&fact)))
}

fn changed(before: &MemoryLine, now: Option<MemoryLine>) -> Result<MemoryChanged, Error> {
    let gone = || Error::new(Code::NotFound, format!("`{}` was forgotten meanwhile", before.id));
    let memory = now.ok_or_else(gone)?;
    Ok(MemoryChanged { changed: memory != *before, memory })
}
