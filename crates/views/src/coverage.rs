//! Lists the histories found, how much of each was understood, and read problems.
//!
//! Does not know how transcripts are parsed: that is the sources crate.

use crate::ViewQuery;
use crate::printer::Printer;
use api::{Error, ViewRequest};
use history::outcome::Outcome;
use history::scan::{by_time, is_empty, scan_rows, searched_roots};
use history::{coverage, standing_problems};
use record::{Cell, Coverage, Record};
use sources::{SOURCES, SurveyOptions};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn list_sources(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let everything =
        ViewRequest { all_projects: true, source: question.request.source.clone(), ..ViewRequest::default() };
    let want = SurveyOptions { messages: true, calls: true, fields: true };
    let (mut library, _) = scan_rows(question.history, &everything, want, by_time, |_, _| false)?;
    if question.request.problems {
        let mut losses = match question.history.home() {
            Some(home) => standing_problems::list_open(&home, question.history.clock.now())?,
            None => Vec::new(),
        };
        if let Some(reader) = history::catalogue_cache::open_catalogue(question.history) {
            library.outcome.problems.extend(history::shortened::list_problems(&reader, &losses)?);
        }
        // These are listed with their files.
        losses.retain(|one| one.kind != standing_problems::SHORTENED);
        let lines = library.outcome.problems.iter().map(|p| {
            vec![
                ("problem", Cell::text(p.kind.as_str())),
                ("file", Cell::text(p.file.to_string_lossy().into_owned())),
                ("offset", Cell::count(p.offset)),
                ("note", Cell::text(p.note.clone())),
            ]
        });
        let mut lines: Vec<Record<'static>> = lines.collect();
        if let Some(home) = question.history.home() {
            lines.extend(losses.into_iter().map(|one| {
                vec![
                    ("problem", Cell::text(one.kind)),
                    ("file", Cell::text(home.data.to_string_lossy().into_owned())),
                    ("offset", Cell::count(0)),
                    ("note", Cell::text(format!("{} ({})", one.message, one.id))),
                ]
            }));
        }
        question.print_records(lines, printer);
        return Ok(library.outcome);
    }
    let mut sums: BTreeMap<(usize, String), VersionCoverage> = BTreeMap::new();
    for (transcript, facts) in library.transcripts.iter().zip(&library.facts) {
        for (i, (version, counts)) in facts.coverage.iter().enumerate() {
            let sum = sums.entry((transcript.source, version.to_string())).or_default();
            sum.0.merge(counts);
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
        .map(|((source, version), (counts, sessions))| {
            coverage::to_record(SOURCES[*source], version, counts, sessions.len())
        })
        .collect();
    let seen: BTreeSet<&str> = sums.keys().map(|(source, _)| SOURCES[*source].name()).collect();
    lines.extend(coverage::encrypted_stores(question.history.places, &question.request.source));
    lines.extend(coverage::missing_sources(&searched_roots(question.history, question.request), &seen));
    question.print_records(lines, printer);
    Ok(library.outcome)
}

/// Coverage for one version of an agent, and the sessions it comes from.
type VersionCoverage = (Coverage, BTreeSet<(String, String)>);
