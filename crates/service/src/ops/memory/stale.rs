//! Whether what a fact rests on is still there: a fact about a file that is gone is stale, until the file is back.
//!
//! Looks at names of files alone; what is in them is the code base's to say.

use crate::memory_store;
use api::Error;
use memory::{Fact, State, Store};
use std::path::Path;

pub(super) fn mark(store: &mut Store) -> Result<(), Error> {
    let facts = store.facts("").map_err(|error| memory_store::told(&error))?;
    for (state, stale) in [(State::Fresh, true), (State::Stale, false)] {
        let turned = |fact: &&Fact| fact.state == state && is_gone(fact) == Some(stale);
        let ids: Vec<String> = facts.iter().filter(turned).map(|fact| fact.id.clone()).collect();
        if !ids.is_empty() {
            store.mark_stale(&ids, stale).map_err(|error| memory_store::told(&error))?;
        }
    }
    Ok(())
}

/// Whether every file that a fact names by a path is gone. None: it names none, or its project is not on this machine.
fn is_gone(fact: &Fact) -> Option<bool> {
    let project = Path::new(&fact.project);
    let is_path = |symbol: &&String| {
        symbol.contains('/') && symbol.rsplit('/').next().is_some_and(|last| last.contains('.'))
    };
    let paths: Vec<&String> = fact.symbols.iter().filter(is_path).collect();
    if paths.is_empty() || fact.project.is_empty() || !project.is_dir() {
        return None;
    }
    Some(paths.iter().all(|path| !project.join(path).exists()))
}
