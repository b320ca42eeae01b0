//! What happens to every store that is a file: cut at any position, damaged anywhere, deleted, or appended to. The
//! made-up stores in `testdata` are the material, and a log for each agent that writes one record per line.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::{Environment, Names, SOURCES, Source, Survey, SurveyOptions, Transcript, source_roots};
use record::{Row, RowKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use testutil::copy_folder;
use testutil::survey::{list_transcripts, survey};

/// A log of three entries that each agent understands, and where it is below the home directory.
const LOGS: &[(&str, &str, [&str; 3])] = &[
    (
        "qwen",
        ".qwen/projects/p/chats/s1.jsonl",
        [
            r#"{"uuid":"1","sessionId":"s1","timestamp":"2026-11-16T01:00:00Z","type":"user","cwd":"/srv","message":{"role":"user","parts":[{"text":"ask"}]}}"#,
            r#"{"uuid":"2","parentUuid":"1","sessionId":"s1","timestamp":"2026-11-16T01:00:01Z","type":"assistant","message":{"parts":[{"text":"look"},{"functionCall":{"id":"c1","name":"ls","args":{}}}]}}"#,
            r#"{"uuid":"3","parentUuid":"2","sessionId":"s1","timestamp":"2026-11-16T01:00:02Z","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c1","response":{"output":"a"}}}]}}"#,
        ],
    ),
    (
        "pi",
        ".pi/agent/sessions/p/t_s1.jsonl",
        [
            r#"{"type":"message","id":"1","timestamp":"2026-11-16T01:00:00Z","message":{"role":"user","content":"ask"}}"#,
            r#"{"type":"message","id":"2","parentId":"1","timestamp":"2026-11-16T01:00:01Z","message":{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"toolCall","id":"c1","name":"ls","arguments":{}}]}}"#,
            r#"{"type":"message","id":"3","parentId":"2","timestamp":"2026-11-16T01:00:02Z","message":{"role":"toolResult","toolCallId":"c1","content":"a"}}"#,
        ],
    ),
    (
        "copilot",
        ".copilot/session-state/s1/events.jsonl",
        [
            r#"{"type":"user.message","id":"1","timestamp":"2026-11-16T01:00:00Z","data":{"content":"ask"}}"#,
            r#"{"type":"assistant.message","id":"2","timestamp":"2026-11-16T01:00:01Z","data":{"content":"look","toolRequests":[{"toolCallId":"c1","name":"ls","arguments":{}}]}}"#,
            r#"{"type":"tool.execution_complete","id":"3","timestamp":"2026-11-16T01:00:02Z","data":{"toolCallId":"c1","success":true,"result":{"content":"a"}}}"#,
        ],
    ),
    (
        "droid",
        ".factory/sessions/p/s1.jsonl",
        [
            r#"{"type":"message","id":"1","timestamp":"2026-11-16T01:00:00Z","message":{"role":"user","content":"ask"}}"#,
            r#"{"type":"message","id":"2","timestamp":"2026-11-16T01:00:01Z","message":{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"c1","name":"ls","input":{}}]}}"#,
            r#"{"type":"message","id":"3","timestamp":"2026-11-16T01:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a"}]}}"#,
        ],
    ),
    (
        "grok",
        ".grok/sessions/p/s1/updates.jsonl",
        [
            r#"{"params":{"update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"ask"}},"_meta":{"eventId":"1","agentTimestampMs":1794790800000}}}"#,
            r#"{"params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","rawInput":{}},"_meta":{"eventId":"2","agentTimestampMs":1794790801000}}}"#,
            r#"{"params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","rawOutput":"a"},"_meta":{"eventId":"3","agentTimestampMs":1794790802000}}}"#,
        ],
    ),
    (
        "kimi",
        ".kimi-code/sessions/w/session_s1/agents/main/wire.jsonl",
        [
            r#"{"type":"context.append_message","message":{"role":"user","id":"1","content":"ask","origin":{"kind":"user"}},"time":1794790800000}"#,
            r#"{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":"c1","name":"ls","args":{}},"time":1794790801000}"#,
            r#"{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"c1","result":{"output":"a"}},"time":1794790802000}"#,
        ],
    ),
];

fn source_named(name: &str) -> &'static dyn Source {
    *SOURCES.iter().find(|source| source.name() == name).unwrap()
}

fn transcripts_of(source: &dyn Source, home: &Path) -> Vec<Transcript> {
    let places = Environment { home: home.into(), vars: BTreeMap::new() };
    source_roots(source, &places).iter().flat_map(|root| list_transcripts(source, root)).collect()
}

/// The file transcripts of all made-up stores and logs, each with its source.
fn with_files(each: impl Fn(&dyn Source, &Transcript)) {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for source in SOURCES {
        let home = tempfile::tempdir().unwrap();
        if stores.join(source.name()).join("home").is_dir() {
            copy_folder(&stores.join(source.name()).join("home"), home.path());
        } else if let Some((_, path, lines)) = LOGS.iter().find(|(name, ..)| *name == source.name()) {
            write_log(&home.path().join(path), lines);
        }
        for transcript in transcripts_of(*source, home.path()).iter().filter(|one| one.part.is_none()) {
            each(*source, transcript);
        }
    }
}

fn write_log(path: &Path, lines: &[&str]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// `survey` checks that the counts add up and that every row can be fetched.
#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes() {
    with_files(|source, transcript| {
        let whole = fs::read(&transcript.path).unwrap();
        for length in (0..whole.len()).step_by(5) {
            fs::write(&transcript.path, &whole[..length]).unwrap();
            survey(source, transcript);
        }
    });
}

#[test]
fn a_damaged_byte_costs_at_most_its_entry() {
    with_files(|source, transcript| {
        let whole = fs::read(&transcript.path).unwrap();
        for at in (0..whole.len()).step_by(11) {
            for byte in [b'"', 0, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                fs::write(&transcript.path, &damaged).unwrap();
                survey_rows(source, transcript, None);
            }
        }
    });
}

#[test]
fn a_deleted_file_is_an_error_and_not_an_empty_session() {
    with_files(|source, transcript| {
        fs::remove_file(&transcript.path).unwrap();
        let (names, mut emit) = (Names::default(), |_: &mut Vec<Row>| {});
        let mut survey = Survey::new(0, &transcript.path, &names, SurveyOptions::ALL, &mut emit);
        assert!(source.survey(transcript, &mut survey).is_err(), "{}", source.name());
    });
}

fn survey_rows(source: &dyn Source, transcript: &Transcript, from: Option<u64>) -> Vec<Row> {
    let (names, mut rows) = (Names::default(), Vec::new());
    let mut emit = |some: &mut Vec<Row>| rows.append(some);
    let mut survey = Survey::new(0, &transcript.path, &names, SurveyOptions::ALL, &mut emit);
    match from {
        Some(from) => {
            assert!(source.survey_from(transcript, from, &mut survey).unwrap(), "{}", source.name());
        }
        None => source.survey(transcript, &mut survey).unwrap(),
    }
    for (_, coverage) in &survey.finish().coverage {
        assert!(coverage.adds_up(), "{}: {coverage:?}", source.name());
    }
    rows
}

/// The price of an appended line is that line: the rest of the log is not read again.
#[test]
fn an_appended_line_is_read_alone() {
    for (name, path, lines) in LOGS {
        let (source, home) = (source_named(name), tempfile::tempdir().unwrap());
        let path = home.path().join(path);
        write_log(&path, &lines[..2]);
        let before = fs::metadata(&path).unwrap().len();
        write_log(&path, lines);
        let transcript = &transcripts_of(source, home.path())[0];
        let rows = survey_rows(source, transcript, Some(before));
        let [row] = &rows[..] else { panic!("{name}: {rows:?}") };
        assert_eq!((row.row, row.start), (RowKind::Result, before), "{name}");
        let whole = survey_rows(source, transcript, None);
        let call = whole.iter().find(|whole| whole.key == row.key).unwrap();
        assert_eq!((call.end, call.until), (row.start, row.until), "{name}");
    }
}
