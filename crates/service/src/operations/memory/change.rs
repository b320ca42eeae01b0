//! Changes by a person: add, edit, pin, retire and accept memories.
//!
//! Does not validate the content: text typed by a person needs no review.

use super::named::{Resolved, fact_line, require_store, resolve_memory, session_line};
use crate::{Service, memory_store};
use api::memory::{AcceptMemory, AddMemory, EditMemory, MemoryChanged, MemoryLine, PinMemory, RetireMemory};
use api::{Code, Error, Handle, Request};
use history::scope;
use memory::{Edit, Fact, State};

impl Handle<AddMemory> for Service {
    fn handle(&self, request: &AddMemory) -> Result<MemoryChanged, Error> {
        request.check_params()?;
        let project = self.cwd.join(request.project.as_deref().unwrap_or("."));
        let project = scope::canonical_path(&project).to_string_lossy().into_owned();
        let text = self.history().mask_line(&request.text);
        let added = memory_store::open(self)?.add_fact(&project, &text, request.pin, self.clock.now());
        let (fact, changed) = added.map_err(|error| memory_store::store_error(&error))?;
        Ok(MemoryChanged { memory: fact_line(&fact), changed })
    }
}

impl Handle<EditMemory> for Service {
    fn handle(&self, request: &EditMemory) -> Result<MemoryChanged, Error> {
        request.check_params()?;
        match resolve_memory(&require_store(self)?, &request.id)? {
            Resolved::Session(_) if request.text.is_some() => {
                Err(invalid_edit("a session has no `text`, only a name and a summary"))
            }
            Resolved::Fact(_)
                if request.name.is_some()
                    || request.summary.is_some()
                    || !request.add_tag.is_empty()
                    || !request.remove_tag.is_empty() =>
            {
                Err(invalid_edit("only the `text` of a fact can be edited"))
            }
            Resolved::Session(before) => {
                let edit = Edit {
                    name: mask_line(self, request.name.as_ref()),
                    summary: mask_line(self, request.summary.as_ref()),
                    add_tags: request.add_tag.iter().filter_map(|tag| mask_line(self, Some(tag))).collect(),
                    remove_tags: request.remove_tag.clone(),
                };
                let mut store = memory_store::open(self)?;
                let edited = store.edit_session(&before.source, &before.session_id, &edit, self.clock.now());
                let line =
                    edited.map_err(|error| memory_store::store_error(&error))?.map(|one| session_line(&one));
                to_changed(&session_line(&before), line)
            }
            Resolved::Fact(before) => {
                let text = mask_line(self, request.text.as_ref()).unwrap_or_default();
                let reworded = |fact: &mut Fact| {
                    fact.text = text;
                    // Editing a pending fact counts as its review.
                    if fact.state == State::Review {
                        fact.state = State::Fresh;
                    }
                };
                edit_fact(self, &before, reworded)
            }
        }
    }
}

/// Masks typed text before it is stored.
fn mask_line(service: &Service, text: Option<&String>) -> Option<String> {
    text.map(|text| service.history().mask_line(text))
}

fn invalid_edit(message: &str) -> Error {
    Error::new(Code::InvalidArgument, message).hint(EditMemory::OPERATION.example)
}

impl Handle<PinMemory> for Service {
    fn handle(&self, request: &PinMemory) -> Result<MemoryChanged, Error> {
        request.check_params()?;
        match resolve_memory(&require_store(self)?, &request.id)? {
            Resolved::Session(before) => {
                let mut store = memory_store::open(self)?;
                let pinned = store
                    .pin_session(&before.source, &before.session_id, !request.off)
                    .map_err(|error| memory_store::store_error(&error))?;
                to_changed(&session_line(&before), pinned.map(|one| session_line(&one)))
            }
            Resolved::Fact(before) => edit_fact(self, &before, |fact| fact.pinned = !request.off),
        }
    }
}

impl Handle<RetireMemory> for Service {
    fn handle(&self, request: &RetireMemory) -> Result<MemoryChanged, Error> {
        request.check_params()?;
        set_fact_state(self, &request.id, State::Retired)
    }
}

impl Handle<AcceptMemory> for Service {
    fn handle(&self, request: &AcceptMemory) -> Result<MemoryChanged, Error> {
        request.check_params()?;
        set_fact_state(self, &request.id, State::Fresh)
    }
}

fn set_fact_state(service: &Service, id: &str, state: State) -> Result<MemoryChanged, Error> {
    match resolve_memory(&require_store(service)?, id)? {
        Resolved::Session(_) => Err(Error::new(
            Code::InvalidArgument,
            format!("`{id}` is a session; only facts can be retired or accepted"),
        )
        .hint("list facts with `loci memory list --kind facts`")),
        Resolved::Fact(before) => edit_fact(service, &before, |fact| fact.state = state),
    }
}

fn edit_fact(
    service: &Service,
    before: &Fact,
    change: impl FnOnce(&mut Fact),
) -> Result<MemoryChanged, Error> {
    let mut store = memory_store::open(service)?;
    let fact = store.edit_fact(&before.id, service.clock.now(), change);
    let fact = fact.map_err(|error| memory_store::store_error(&error))?;
    to_changed(&fact_line(before), fact.map(|fact| fact_line(&fact)))
}

fn to_changed(before: &MemoryLine, now: Option<MemoryLine>) -> Result<MemoryChanged, Error> {
    let gone = || Error::new(Code::NotFound, format!("`{}` was forgotten in the meantime", before.id));
    let memory = now.ok_or_else(gone)?;
    Ok(MemoryChanged { changed: memory != *before, memory })
}
