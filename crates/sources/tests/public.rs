//! Agents whose format is known from public descriptions: made-up stores, one folder each in `testdata`, and what Loci
//! reads of them. What a store has that no description covers is counted and skipped.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::{Environment, Evidence, SOURCES, Source, source_roots};
use record::{Call, Message, Row};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use testutil::made_up_stores;
use testutil::survey::{Surveyed, survey_all};

fn read_store(source: &dyn Source) -> (tempfile::TempDir, Vec<Surveyed>) {
    let home = tempfile::tempdir().unwrap();
    made_up_stores::add(source.name(), home.path());
    let places = Environment { home: home.path().into(), vars: BTreeMap::new() };
    let roots = source_roots(source, &places);
    let sessions = roots.iter().flat_map(|root| survey_all(source, root)).collect();
    (home, sessions)
}

/// Everything a store contains, as text.
fn describe(sessions: &[Surveyed], home: &Path) -> String {
    let mut out = String::new();
    for surveyed in sessions {
        let session = surveyed.session();
        let parent = session.parent_session_id.as_deref().unwrap_or("-");
        let (id, title) = (&session.session_id, session.title_text());
        writeln!(out, "session {id} in {:?}: {title:?}, parent {parent}", session.directory()).unwrap();
        let mut lines: Vec<(u32, String)> = surveyed.messages.iter().map(describe_message).collect();
        lines.extend(surveyed.calls.iter().map(describe_call));
        lines.sort_by_key(|(sequence, _)| *sequence);
        for (_, line) in &lines {
            writeln!(out, "  {line}").unwrap();
        }
        writeln!(out, "  tokens {:?}, unknown {:?}", surveyed.tokens(), surveyed.unknown_names()).unwrap();
        for problem in &surveyed.facts.problems {
            writeln!(out, "  problem {}", problem.kind.as_str()).unwrap();
        }
    }
    out.replace(home.to_str().unwrap(), "~")
}

fn describe_message((row, message): &(Row, Message)) -> (u32, String) {
    let model = message.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
    (row.sequence, format!("{}{model}: {:?}", row.kind().as_str(), message.text))
}

fn describe_call((row, call): &(Row, Call)) -> (u32, String) {
    let code = call.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
    let output = call.output.as_deref().unwrap_or("-");
    (row.sequence, format!("call {} {}{code}: {} -> {output}", call.tool, call.status.as_str(), call.input))
}

#[test]
fn made_up_stores_are_read_as_described() {
    let mut names = made_up_stores::names();
    for source in SOURCES.iter().filter(|source| made_up_stores::names().contains(&source.name().to_string()))
    {
        assert_ne!(source.evidence(), Evidence::RealClient, "{}", source.name());
        let (home, sessions) = read_store(*source);
        assert!(!sessions.is_empty(), "{}: nothing found", source.name());
        insta::assert_snapshot!(source.name(), describe(&sessions, home.path()));
        names.retain(|name| name != source.name());
    }
    assert_eq!(names, [""; 0], "a store without a source");
}

/// `ChatWise` has tests of its own.
#[test]
fn every_unverified_source_has_a_made_up_store() {
    let made_up = made_up_stores::names();
    let without: Vec<&str> = SOURCES
        .iter()
        .filter(|source| source.evidence() == Evidence::PublicSchema && source.name() != "chatwise")
        .map(|source| source.name())
        .filter(|name| !made_up.contains(&name.to_string()))
        .collect();
    assert_eq!(without, [""; 0]);
}

/// The rows of the table in docs/concepts/agents.md.
fn documented_rows() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/agents.md");
    let page = std::fs::read_to_string(page).unwrap();
    page.lines().filter(|line| line.starts_with("| ") && line.contains("(`")).map(str::to_string).collect()
}

#[test]
fn the_documentation_lists_every_agent_and_how_it_was_verified() {
    let rows: Vec<String> =
        documented_rows().into_iter().filter(|row| !row.starts_with("| agent ")).collect();
    for source in SOURCES.iter().filter(|source| source.evidence() != Evidence::OwnFormat) {
        let named = |row: &&String| row.contains(&format!("(`{}`)", source.name()));
        let row = rows.iter().find(named).unwrap_or_else(|| panic!("{} is not documented", source.name()));
        let verified = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        assert!(verified.starts_with(source.evidence().as_str()), "{}: {row}", source.name());
    }
    let documented =
        rows.iter().flat_map(|row| row.split("(`").skip(1)).map(|rest| rest.split('`').next().unwrap());
    let unknown: Vec<&str> =
        documented.filter(|name| SOURCES.iter().all(|source| source.name() != *name)).collect();
    assert_eq!(unknown, [""; 0]);
}
