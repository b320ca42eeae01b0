//! Marks facts stale whose files are gone, and fresh again when the files are back.
//!
//! Checks file names only. Does not know the contents: that is `code`.

use crate::memory_store;
use api::Error;
use memory::{Fact, State, Store};
use std::path::Path;

pub(super) fn mark_stale_facts(store: &mut Store) -> Result<(), Error> {
    let facts = store.facts("").map_err(|error| memory_store::store_error(&error))?;
    for (state, stale) in [(State::Fresh, true), (State::Stale, false)] {
        let turned = |fact: &&Fact| fact.state == state && are_files_gone(fact) == Some(stale);
        let ids: Vec<String> = facts.iter().filter(turned).map(|fact| fact.id.clone()).collect();
        if !ids.is_empty() {
            store.mark_stale(&ids, stale).map_err(|error| memory_store::store_error(&error))?;
        }
    }
    Ok(())
}

/// Whether all files that a fact names by path are gone. `None`: it names none, or its project is not on this machine.
fn are_files_gone(fact: &Fact) -> Option<bool> {
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
