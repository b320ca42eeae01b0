//! Lists the histories found, how much of each was understood, and read problems.
//!
//! Does not know how transcripts are parsed: that is the sources crate.

use super::ViewQuery;
use crate::Outcome;
use crate::printer::Printer;
use api::{Error, ViewRequest};
use history::scan::{by_time, is_empty, scan_rows, searched_roots};
use record::{Cell, Coverage, Record};
use sources::{SOURCES, Source, SurveyOptions};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn list_sources(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let everything =
        ViewRequest { all_projects: true, source: question.request.source.clone(), ..ViewRequest::default() };
    let want = SurveyOptions { messages: true, calls: true, fields: true };
    let (library, _) = scan_rows(&question.service.history(), &everything, want, by_time, |_, _| false)?;
    if question.request.problems {
        let lines = library.outcome.problems.iter().map(|p| {
            vec![
                ("problem", Cell::text(p.kind.as_str())),
                ("file", Cell::text(p.file.to_string_lossy().into_owned())),
                ("offset", Cell::count(p.offset)),
                ("note", Cell::text(p.note.clone())),
            ]
        });
        question.print_records(lines.collect(), printer);
        return Ok(library.outcome);
    }
    let mut sums: BTreeMap<(usize, String), VersionCoverage> = BTreeMap::new();
    for (transcript, facts) in library.transcripts.iter().zip(&library.facts) {
        for (i, (version, coverage)) in facts.coverage.iter().enumerate() {
            let sum = sums.entry((transcript.source, version.to_string())).or_default();
            sum.0.merge(coverage);
            if i == 0 {
                let ids = facts
                    .sessions
                    .iter()
                    .filter(|s| !is_empty(s))
                    .map(|s| (s.session_id.to_string(), s.agent_id.as_deref().unwrap_or("").to_string()));
                sum.1.extend(ids);
            }
        }
    }
    let mut lines: Vec<Record<'static>> = sums
        .iter()
        .map(|((source, version), (coverage, sessions))| {
            coverage_record(SOURCES[*source], version, coverage, sessions.len())
        })
        .collect();
    let seen: BTreeSet<&str> = sums.keys().map(|(source, _)| SOURCES[*source].name()).collect();
    lines.extend(encrypted_stores(question));
    lines.extend(missing_sources(&searched_roots(&question.service.history(), question.request), &seen));
    question.print_records(lines, printer);
    Ok(library.outcome)
}

/// Coverage for one version of an agent, and the sessions it comes from.
type VersionCoverage = (Coverage, BTreeSet<(String, String)>);

fn coverage_record(
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
fn encrypted_stores(question: &ViewQuery<'_>) -> Vec<Record<'static>> {
    let only = &question.request.source;
    let mut places: BTreeMap<&'static str, Vec<Cell<'static>>> = BTreeMap::new();
    for (name, folder) in sources::find_encrypted(&question.service.places) {
        if only.is_empty() || only.iter().any(|one| one == name) {
            places.entry(name).or_default().push(Cell::text(folder.to_string_lossy().into_owned()));
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
    places.into_iter().map(line).collect()
}

/// Agents without any transcript, with the directories searched.
fn missing_sources(
    looked: &[(&'static str, std::path::PathBuf, bool)],
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
