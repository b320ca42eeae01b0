//! Records about the histories on this machine: how much of each was understood, which are encrypted, which are missing.
//!
//! Does not know how transcripts are parsed, nor how records are printed.

use record::{Cell, Coverage, Record};
use sources::{Environment, SOURCES, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What was read of one version of an agent's transcripts.
pub fn to_record(
    source: &'static dyn Source,
    version: &str,
    coverage: &Coverage,
    sessions: usize,
) -> Record<'static> {
    let named = |map: &BTreeMap<String, u64>| {
        let items: Vec<_> = map.iter().map(|(name, n)| Cell::text(format!("{name} ×{n}"))).collect();
        if items.is_empty() { Cell::Null } else { Cell::List(items) }
    };
    vec![
        ("source", Cell::text(source.name())),
        ("version", Cell::text(version.to_string())),
        ("evidence", Cell::text(source.evidence().as_str())),
        ("files", Cell::count(coverage.files)),
        ("sessions", Cell::count(sessions)),
        ("bytes", Cell::count(coverage.bytes)),
        ("lines", Cell::count(coverage.lines)),
        ("understood", Cell::count(coverage.understood)),
        ("ignored", Cell::count(coverage.ignored)),
        ("blank", Cell::count(coverage.blank)),
        ("unfinished", Cell::count(coverage.unfinished)),
        ("unknown", Cell::count(coverage.unknown_count())),
        ("bad", Cell::count(coverage.bad)),
        ("salvaged", Cell::count(coverage.salvaged)),
        ("lossy_utf8", Cell::count(coverage.lossy_utf8)),
        ("unknown_types", named(&coverage.unknown_types)),
        ("unknown_fields", named(&coverage.unknown_fields)),
    ]
}

/// Agents whose histories are here, but in a form that only they can read.
pub fn encrypted_stores(places: &Environment, only: &[String]) -> Vec<Record<'static>> {
    let mut stores: BTreeMap<&'static str, Vec<Cell<'static>>> = BTreeMap::new();
    for (name, folder) in sources::find_encrypted(places) {
        if only.is_empty() || only.iter().any(|one| one == name) {
            stores.entry(name).or_default().push(Cell::text(folder.to_string_lossy().into_owned()));
        }
    }
    let line = |(name, folders)| {
        vec![
            ("source", Cell::text(name)),
            ("evidence", Cell::text("encrypted")),
            ("found", Cell::Bool(true)),
            ("looked_in", Cell::List(folders)),
            ("note", Cell::text("only the agent itself can read it")),
        ]
    };
    stores.into_iter().map(line).collect()
}

/// Agents without any transcript, with the directories searched.
pub fn missing_sources(
    looked: &[(&'static str, PathBuf, bool)],
    seen: &BTreeSet<&str>,
) -> Vec<Record<'static>> {
    let mut places: BTreeMap<&'static str, Vec<Cell<'static>>> = BTreeMap::new();
    for (name, root, _) in looked.iter().filter(|(name, ..)| !seen.contains(name)) {
        places.entry(name).or_default().push(Cell::text(root.to_string_lossy().into_owned()));
    }
    let line = |(name, roots)| {
        vec![("source", Cell::text(name)), ("found", Cell::Bool(false)), ("looked_in", Cell::List(roots))]
    };
    SOURCES.iter().filter_map(|s| places.remove_entry(s.name())).map(line).collect()
}
