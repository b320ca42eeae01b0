//! Which facts are stale: their files are gone, or the code changed under them.
//!
//! Does not know how commits are told from each other: that is `lineage`.

use crate::operations::code::changes::run_git;
use crate::{Service, memory_store};
use api::Error;
use code::{ChangeClass, FileSymbol, classify_symbol, symbols_in_text};
use history::scope;
use lineage::fact_check::names_symbol;
use lineage::stale_facts::{CompareTexts, FactView, FileText, are_files_gone, find_stale, latest_projects};
use memory::{Fact, SessionMemory, State, Store};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

/// Marks facts stale whose files are gone, and fresh again when the files are back.
pub(super) fn mark_stale_facts(store: &mut Store) -> Result<(), Error> {
    let facts = store.facts("").map_err(|error| memory_store::store_error(&error))?;
    for (state, stale) in [(State::Fresh, true), (State::Stale, false)] {
        let is_gone = |fact: &Fact| are_files_gone(&fact.project, &fact.symbols);
        let turned = |fact: &&Fact| fact.state == state && is_gone(fact) == Some(stale);
        let ids: Vec<String> = facts.iter().filter(turned).map(|fact| fact.id.clone()).collect();
        if !ids.is_empty() {
            store.mark_stale(&ids, stale).map_err(|error| memory_store::store_error(&error))?;
        }
    }
    Ok(())
}

/// Compares the facts of the latest projects with their code, so that hooks know the result.
pub(super) fn compare_with_code(service: &Service, store: &Store) -> Result<(), Error> {
    let (sessions, mut facts) = store.load_all().map_err(|error| memory_store::store_error(&error))?;
    facts.sort_by_key(|fact| std::cmp::Reverse(fact.made_at));
    for root in latest_projects(facts.iter().map(|fact| fact.project.as_str())) {
        stale_in(service, root, &sessions, &facts);
    }
    Ok(())
}

/// The IDs of current facts of a repository under which the code has changed.
pub(super) fn stale_in(
    service: &Service,
    root: &Path,
    sessions: &[SessionMemory],
    facts: &[Fact],
) -> BTreeSet<String> {
    let ends: BTreeMap<&str, i64> =
        sessions.iter().map(|it| (it.session_id.as_str(), it.ended_at.0)).collect();
    let folders = scope::project_folders(&service.history(), root);
    let is_here = |fact: &&Fact| folders.iter().any(|folder| Path::new(&fact.project).starts_with(folder));
    let mut meant: Vec<&Fact> =
        facts.iter().filter(|fact| fact.state == State::Fresh).filter(is_here).collect();
    if meant.is_empty() || !root.join(".git").exists() {
        return BTreeSet::new();
    }
    meant.sort_by(|a, b| (b.made_at, &a.id).cmp(&(a.made_at, &b.id)));
    let views: Vec<FactView<'_>> = meant.iter().map(|fact| view_of(fact, &ends)).collect();
    let git = |args: &[&str], stdin: Vec<u8>| run_git(service, root, args, stdin);
    let parsed: RefCell<BTreeMap<String, Rc<Vec<FileSymbol>>>> = RefCell::default();
    let parse = |(path, text): FileText<'_>| {
        let mut parsed = parsed.borrow_mut();
        parsed.entry(path.to_string()).or_insert_with(|| Rc::new(symbols_in_text(path, text))).clone()
    };
    let names = |fact: &FactView<'_>, symbol: &FileSymbol, path: &str| {
        names_symbol(fact.text, fact.symbols, &symbol.name, path)
    };
    let declares =
        |fact: &FactView<'_>, file: FileText<'_>| parse(file).iter().any(|it| names(fact, it, file.0));
    let differs = |fact: &FactView<'_>, (path, old): FileText<'_>, now: FileText<'_>| {
        let (old, now) = (symbols_in_text(path, old), parse(now));
        let has_changed = |symbol: &FileSymbol| {
            classify_symbol(&old, &now, &symbol.name).is_none_or(|class| class <= ChangeClass::PublicBehavior)
        };
        old.iter().filter(|symbol| names(fact, symbol, path)).any(has_changed)
    };
    find_stale(
        &service.history(),
        root,
        &git,
        &views,
        &CompareTexts { declares: &declares, differs: &differs },
    )
}

fn view_of<'f>(fact: &'f Fact, ends: &BTreeMap<&str, i64>) -> FactView<'f> {
    let sessions: BTreeSet<&str> = fact.evidence.iter().map(|it| it.session_id.as_str()).collect();
    let ended = sessions.iter().filter_map(|session| ends.get(session)).max();
    let ended_at = ended.copied().unwrap_or(fact.made_at.0);
    FactView { id: &fact.id, text: &fact.text, symbols: &fact.symbols, sessions, ended_at }
}
