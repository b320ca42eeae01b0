//! An archived copy, surveyed and fetched, equals its transcript, for every agent; and copies that are truncated,
//! corrupted, continued, or from which sessions are forgotten.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::archive::{ArchiveWriter, Store, is_archived, transcript_name};
use loci_sources::{Error, Names, SOURCES, Survey, SurveyOptions, SurveyOutcome, Transcript, walk};
use record::{Call, Message, ProblemKind, Row, RowKind, Session, Stamp, Status};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testutil::needs::recorded_transcripts;
use testutil::{Home, copy_folder};

const CLAUDE: usize = 0;

/// The complete content of a transcript.
struct TranscriptContent {
    facts: SurveyOutcome,
    rows: Vec<Row>,
    names: Vec<Arc<str>>,
    records: Vec<Result<Record, String>>,
}

enum Record {
    Message(Message),
    Call(Call),
}

impl TranscriptContent {
    fn name_of(&self, row: &Row) -> &str {
        let named = row.row != RowKind::Result && row.name != u32::MAX;
        if named { &self.names[row.name as usize] } else { "" }
    }
}

fn survey_rows(transcript: &Transcript, want: SurveyOptions) -> (SurveyOutcome, Vec<Row>, Vec<Arc<str>>) {
    let (names, mut rows) = (Names::default(), Vec::new());
    let mut emit = |some: &mut Vec<Row>| rows.append(some);
    let mut survey = Survey::new(3, &transcript.path, &names, want, &mut emit);
    if let Err(error) = loci_sources::survey_transcript(transcript, &mut survey) {
        survey.report_problem(ProblemKind::Unreadable, 0, &error.to_string());
    }
    (survey.finish(), rows, names.to_vec())
}

const ALL: SurveyOptions = SurveyOptions { messages: true, calls: true, fields: true };

fn read_transcript(transcript: &Transcript) -> TranscriptContent {
    let (facts, rows, names) = survey_rows(transcript, ALL);
    let fetch = |row: &Row| match row.row {
        RowKind::Message => loci_sources::fetch_message(transcript, row).map(Record::Message),
        RowKind::Call => loci_sources::fetch_call(transcript, transcript, row).map(Record::Call),
        // A result is only read together with its call, which is in another transcript.
        RowKind::Result if is_archived(&transcript.path) => {
            let mut call = Call::default();
            loci_sources::archive::fetch_result(transcript, row, &mut call).map(|()| Record::Call(call))
        }
        RowKind::Result => Ok(Record::Call(Call {
            output: Some("\"alone\"".to_string()),
            status: row.status(),
            ..Call::default()
        })),
    };
    let records = rows.iter().map(|row| fetch(row).map_err(|e| e.to_string())).collect();
    TranscriptContent { facts, rows, names, records }
}

/// Adds some of the entries to a writer.
fn add_entries(
    writer: &mut ArchiveWriter,
    content: &TranscriptContent,
    ordinals: impl Iterator<Item = usize>,
) {
    for n in ordinals {
        let row = &content.rows[n];
        match content.records[n].as_ref() {
            Ok(Record::Message(message)) => writer.add_message(n as u32, row, content.name_of(row), message),
            Ok(Record::Call(call)) => writer.add_call(n as u32, row, content.name_of(row), call),
            Err(error) => panic!("{error}"),
        }
    }
}

fn archive_transcript(store: &Store, transcript: &Transcript, content: &TranscriptContent) -> Transcript {
    let mut writer = store.begin_copy(transcript, 0).unwrap();
    add_entries(&mut writer, content, 0..content.rows.len());
    let packed = writer.finish(&content.facts).unwrap();
    let archived = store.find_copy(transcript).unwrap().unwrap();
    assert_eq!(packed.bytes, archived.packed);
    assert_eq!(Some((packed.bytes, archived.file_stamp)), store.stat_copy(transcript_name(transcript)));
    archived.to_transcript().unwrap()
}

/// A record and its row as comparable text, without the offsets of the row.
fn entry_text(content: &TranscriptContent, n: usize) -> String {
    let row = content.rows[n];
    let open = row.end == Row::NO_END;
    let plain = Row { start: 0, end: 0, name: 0, ..row };
    let record = match &content.records[n] {
        Ok(Record::Message(message)) => format!("{message:?}"),
        Ok(Record::Call(call)) => format!("{call:?}"),
        Err(error) => error.clone(),
    };
    format!("{plain:?} {open} {:?} {record}", content.name_of(&row))
}

/// All entries, sorted: their order differs in a copy that was continued.
fn sorted_entry_texts(content: &TranscriptContent) -> Vec<String> {
    let mut lines: Vec<String> = (0..content.rows.len()).map(|n| entry_text(content, n)).collect();
    lines.sort();
    lines
}

fn outcome_text(facts: &SurveyOutcome) -> String {
    format!("{:?} {:?} {:?} {:?}", facts.sessions, facts.birth, facts.abandoned, facts.coverage)
}

fn assert_same(original: &TranscriptContent, copy: &TranscriptContent, what: &Path) {
    assert_eq!(copy.rows.len(), original.rows.len(), "{}", what.display());
    for n in 0..original.rows.len() {
        assert_eq!(entry_text(copy, n), entry_text(original, n), "{}", what.display());
    }
    assert_eq!(outcome_text(&copy.facts), outcome_text(&original.facts), "{}", what.display());
    assert!(copy.facts.problems.is_empty(), "{:?}", copy.facts.problems);
}

fn list_transcripts(source: usize, root: &Path) -> Vec<Transcript> {
    let mut found = walk::TranscriptList { source, ..walk::TranscriptList::default() };
    SOURCES[source].list_transcripts(root, &mut found);
    found.transcripts.sort_by(|a, b| (&a.path, &a.part).cmp(&(&b.path, &b.part)));
    found.transcripts
}

fn source_index(name: &str) -> usize {
    SOURCES.iter().position(|source| source.name() == name).unwrap()
}

fn new_store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("archive"));
    (folder, store)
}

/// Archives every transcript below a root and compares the copies. Returns the number of rows.
fn assert_copies_equal(source: usize, root: &Path) -> usize {
    let (_folder, store) = new_store();
    let mut rows = 0;
    for transcript in list_transcripts(source, root) {
        let original = read_transcript(&transcript);
        if original.records.iter().any(Result::is_err) {
            continue; // not completely readable; the callers require a minimum number of rows
        }
        let archived = archive_transcript(&store, &transcript, &original);
        assert!(is_archived(&archived.path) && archived.source == source);
        assert_eq!(
            (&archived.hint, &archived.group, &archived.part),
            (&transcript.hint, &transcript.group, &transcript.part)
        );
        let copy = read_transcript(&archived);
        assert_same(&original, &copy, &transcript.path);
        for want in [
            SurveyOptions { messages: true, ..SurveyOptions::default() },
            SurveyOptions { calls: true, ..SurveyOptions::default() },
        ] {
            let wanted = |row: &&Row| (row.row == RowKind::Message) == want.messages;
            assert_eq!(survey_rows(&archived, want).1.len(), original.rows.iter().filter(wanted).count());
        }
        let listed = store.find_copy(&transcript).unwrap().unwrap();
        assert_eq!(format!("{:?}", listed.sessions), format!("{:?}", original.facts.sessions));
        assert_eq!((listed.original, listed.entries as usize), (transcript.path, original.rows.len()));
        assert!(listed.keys_match);
        rows += original.rows.len();
    }
    assert!(store.list_archived().problems.is_empty());
    rows
}

// ---- copies of every agent's transcripts

/// The roots of the agents' stores, relative to the home directory.
const ROOTS: &[(&str, &str)] = &[
    ("claude-code", ".claude/projects"),
    ("codex", ".codex"),
    ("gemini-cli", ".gemini/tmp"),
    ("opencode", ".local/share/opencode"),
    ("chatwise", ".local/share/app.chatwise"),
];

#[test]
fn copies_of_synthetic_transcripts_equal_the_originals() {
    for (agent, below) in ROOTS {
        let home = Home::of_synthetic(agent);
        let rows = assert_copies_equal(source_index(agent), &home.path().join(below));
        assert!(rows >= 5, "{agent}: {rows} rows");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn copies_of_recorded_transcripts_equal_the_originals() {
    for (agent, below) in &ROOTS[..4] {
        let mut rows = 0;
        for version in fs::read_dir(recorded_transcripts().join(agent)).unwrap().flatten() {
            // SQLite may write next to a database.
            let own = tempfile::tempdir().unwrap();
            let from = version.path().join(below);
            if from.is_dir() {
                copy_folder(&from, own.path());
                rows += assert_copies_equal(source_index(agent), own.path());
            }
        }
        assert!(rows > 100, "{agent}");
    }
}

fn write_file(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn claude_line(n: usize, kind: &str, content: &str) -> String {
    let id = if kind == "assistant" {
        format!(r#""id":"msg_{n:04}","model":"claude-x","usage":{{"input_tokens":{n},"output_tokens":2}},"#)
    } else {
        String::new()
    };
    format!(
        r#"{{"type":"{kind}","uuid":"u{n}","parentUuid":"u{}","sessionId":"s1","cwd":"/p","version":"2.1.0","timestamp":"2026-11-14T22:{:02}:{:02}.000Z","message":{{{id}"role":"{kind}","content":{content}}}}}"#,
        n.wrapping_sub(1),
        n / 60 % 60,
        n % 60
    ) + "\n"
}

/// Turns of a prompt, a reply that calls a tool, and its result; if `open`, the last call has no result yet.
fn claude_text(turns: usize, open: bool) -> String {
    let mut text = String::new();
    for turn in 0..turns {
        let n = turn * 3;
        let words = format!("{turn} ünïcödé ✓ \\\"quoted\\\"\\n").repeat(1 + turn % 40);
        text += &claude_line(n, "user", &format!(r#""do {words}""#));
        let call = format!(
            r#"[{{"type":"text","text":"I do {words}"}},{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{{"command":"echo {turn}"}}}}]"#
        );
        text += &claude_line(n + 1, "assistant", &call);
        if !(open && turn + 1 == turns) {
            let result = format!(
                r#"[{{"type":"tool_result","tool_use_id":"toolu_{turn}","is_error":{},"content":"Exit code {turn}\n{words}"}}]"#,
                turn % 3 == 0
            );
            text += &claude_line(n + 2, "user", &result);
        }
    }
    text
}

fn claude_transcript(folder: &Path, text: &str) -> Transcript {
    write_file(folder, "-p/s1.jsonl", text);
    list_transcripts(CLAUDE, folder).remove(0)
}

#[test]
fn copies_of_made_up_transcripts_equal_the_originals() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    // Includes a result whose call is in another file.
    let orphan = claude_line(
        900,
        "user",
        r#"[{"type":"tool_result","tool_use_id":"toolu_elsewhere","content":"late"}]"#,
    );
    write_file(&here("claude"), "-p/s1.jsonl", &(claude_text(50, true) + &orphan + "not json\n"));
    assert_eq!(assert_copies_equal(CLAUDE, &here("claude")), 151);
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gemini");
    for name in ["rewind.jsonl", "damaged.jsonl"] {
        let text = fs::read_to_string(testdata.join(name)).unwrap();
        write_file(&here("gemini"), &format!("abc/chats/session-{name}"), &text);
    }
    assert!(assert_copies_equal(source_index("gemini-cli"), &here("gemini")) > 3);
    let meta = r#"{"timestamp":"2026-11-14T23:29:42.093Z","type":"session_meta","payload":{"id":"0199a1b2-0000-7000-8000-000000000001","cwd":"/w","cli_version":"0.120.0"}}"#;
    let item = |payload: &str| {
        format!(
            "{{\"timestamp\":\"2026-11-14T23:29:43.093Z\",\"type\":\"response_item\",\"payload\":{payload}}}"
        )
    };
    let codex = [
        meta.to_string(),
        item(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}"#),
        item(
            r#"{"type":"function_call","name":"shell","call_id":"c1","arguments":"{\"command\":[\"ls\"]}"}"#,
        ),
        item(r#"{"type":"function_call_output","call_id":"c1","output":"Exit code: 0\nfiles"}"#),
        item(r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#),
    ];
    let name = "sessions/2026/11/14/rollout-2026-11-14T23-29-42-0199a1b2-0000-7000-8000-000000000001.jsonl";
    write_file(&here("codex"), name, &(codex.join("\n") + "\n"));
    assert_eq!(assert_copies_equal(source_index("codex"), &here("codex")), 3);
    fs::create_dir_all(here("opencode")).unwrap();
    let connection = db::Connection::open(here("opencode/opencode.db")).unwrap();
    connection.execute_batch(OPENCODE).unwrap();
    drop(connection);
    assert_eq!(assert_copies_equal(source_index("opencode"), &here("opencode")), 3);
    fs::create_dir_all(here("chatwise")).unwrap();
    let connection = db::Connection::open(here("chatwise/app.db")).unwrap();
    connection.execute_batch(CHATWISE).unwrap();
    drop(connection);
    assert_eq!(assert_copies_equal(source_index("chatwise"), &here("chatwise")), 5);
}

const OPENCODE: &str = r#"
    create table session(id text primary key, directory text, title text);
    create table message(id text primary key, session_id text, data text);
    create table part(id text primary key, message_id text, session_id text, data text);
    insert into session values ('ses_1', '/p', 'Named');
    insert into message values
        ('m1', 'ses_1', '{"role":"user","time":{"created":1794699523976}}'),
        ('m4', 'ses_1', '{"role":"assistant","time":{"created":1794699523999},"tokens":{"input":5}}');
    insert into part values
        ('p1', 'm1', 'ses_1', '{"type":"text","text":"hi"}'),
        ('p5', 'm4', 'ses_1', '{"type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"x"}}}');"#;

const CHATWISE: &str = r#"
    create table chat(id text primary key, title text, model text, assistantId text, createdAt integer,
        lastReplyAt integer, agentOptions text);
    create table message(id text primary key, chatId text, role text, content text, reasoningContent text,
        model text, files text, meta text, createdAt integer);
    insert into chat values
        ('c1', 'Weather', 'gpt-x', null, 1794699523000, 1794699530000, '{"workDirectory":"/home/dev/proj"}'),
        ('c2', null, null, null, 1794699600, null, null);
    insert into message values
        ('m0', 'c1', 'system', 'Be brief.', null, null, null, null, 1794699523000),
        ('m1', 'c1', 'user', 'What is it like?', null, null, null, null, 1794699523500),
        ('m2', 'c1', 'assistant', 'Looking.', null, 'gpt-y', null,
            '{"toolCall":{"use_mcp_tool":{"server_name":"srv","tool_name":"weather","arguments":"{}"}},
              "toolResult":{"content":[{"type":"text","text":"rain"}]}}', 1794699524000),
        ('m6', 'c2', 'user', 'in seconds', null, null, null, null, 1794699601);"#;

// ---- continuing a copy

#[test]
fn copying_in_two_steps_equals_copying_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_one, whole) = new_store();
    let (_two, steps) = new_store();
    let first = claude_transcript(folder.path(), &claude_text(120, true));
    let before = read_transcript(&first);
    archive_transcript(&steps, &first, &before);
    let second = claude_transcript(folder.path(), &claude_text(400, false));
    let after = read_transcript(&second);
    assert_eq!(first.path, second.path);
    archive_transcript(&whole, &second, &after);

    let mut writer = steps.begin_copy(&second, before.rows.len() as u32).unwrap();
    assert_eq!(writer.entry_count() as usize, before.rows.len());
    // The pending call has its result now.
    let changed: Vec<usize> = (0..before.rows.len())
        .filter(|n| !writer.has_entry(*n as u32, &after.rows[*n], after.name_of(&after.rows[*n])))
        .collect();
    assert_eq!(changed, [before.rows.len() - 1]);
    add_entries(&mut writer, &after, changed.into_iter().chain(before.rows.len()..after.rows.len()));
    writer.finish(&after.facts).unwrap();

    let archived = |store: &Store| store.find_copy(&second).unwrap().unwrap();
    let (one, two) = (
        read_transcript(&archived(&whole).to_transcript().unwrap()),
        read_transcript(&archived(&steps).to_transcript().unwrap()),
    );
    assert_eq!(sorted_entry_texts(&one), sorted_entry_texts(&two));
    assert_eq!(sorted_entry_texts(&one), sorted_entry_texts(&after));
    assert_eq!(outcome_text(&one.facts), outcome_text(&two.facts));
    assert_eq!(archived(&whole).entries, archived(&steps).entries);
    assert_eq!(archived(&steps).size, second.size);
}

#[test]
fn resuming_a_copy_requests_only_new_entries() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    for turns in [1, 2, 3, 10, 11, 300, 301] {
        let transcript = claude_transcript(folder.path(), &claude_text(turns, turns % 2 == 1));
        let now = read_transcript(&transcript);
        let mut writer = store.continue_copy(&transcript, None).unwrap();
        let new = (0..now.rows.len()).filter(|n| {
            let row = &now.rows[*n];
            !writer.has_entry(*n as u32, row, now.name_of(row))
        });
        let new: Vec<usize> = new.collect();
        assert!(turns != 301 || new.len() < 8, "{new:?}");
        add_entries(&mut writer, &now, new.into_iter());
        writer.finish(&now.facts).unwrap();
        let archived = store.find_copy(&transcript).unwrap().unwrap();
        assert_eq!(
            sorted_entry_texts(&read_transcript(&archived.to_transcript().unwrap())),
            sorted_entry_texts(&now),
            "{turns}"
        );
    }
}

#[test]
fn entries_from_the_restart_point_are_dropped_unless_added_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(30, false));
    let now = read_transcript(&transcript);
    archive_transcript(&store, &transcript, &now);
    let mut writer = store.begin_copy(&transcript, 40).unwrap();
    add_entries(&mut writer, &now, 40..50);
    writer.drop_entry(3);
    writer.finish(&now.facts).unwrap();
    let archived = store.find_copy(&transcript).unwrap().unwrap();
    assert_eq!(archived.entries, 49);
    assert_eq!(survey_rows(&archived.to_transcript().unwrap(), ALL).1.len(), 49);
    let mut writer = store.continue_copy(&transcript, None).unwrap();
    writer.truncate_from(10);
    assert_eq!(writer.entry_count(), 9);
    writer.finish(&now.facts).unwrap();
    assert_eq!(survey_rows(&archived.to_transcript().unwrap(), ALL).1.len(), 9);
}

#[test]
fn replaced_entries_do_not_accumulate() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(20, false));
    let now = read_transcript(&transcript);
    archive_transcript(&store, &transcript, &now);
    let long = Message { text: "said at length ".repeat(10_000), ..Message::default() };
    for _ in 0..40 {
        let mut writer = store.begin_copy(&transcript, u32::MAX).unwrap();
        writer.add_message(0, &now.rows[0], now.name_of(&now.rows[0]), &long);
        writer.finish(&now.facts).unwrap();
    }
    let archived = store.find_copy(&transcript).unwrap().unwrap();
    assert!(archived.raw < 2_000_000, "{}", archived.raw);
    assert_eq!(archived.entries as usize, now.rows.len());
    let copy = read_transcript(&archived.to_transcript().unwrap());
    assert!(copy.records.iter().flatten().any(|r| matches!(r, Record::Message(m) if m.text == long.text)));
    assert!(copy.records.iter().all(Result::is_ok));
}

#[test]
fn a_dropped_writer_leaves_the_copy_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(350, false));
    let now = read_transcript(&transcript);
    archive_transcript(&store, &transcript, &now);
    let before = fs::read(store.path_of(&transcript)).unwrap();
    let mut writer = store.begin_copy(&transcript, 5).unwrap();
    add_entries(&mut writer, &now, 0..20);
    drop(writer);
    assert_eq!(fs::read(store.path_of(&transcript)).unwrap(), before);
    assert_eq!(list_files(&own.path().join("archive")), [store.path_of(&transcript)]);
    // Temporary files of a killed writer are removed.
    let leftover = store.path_of(&transcript).with_extension("1-0.tmp");
    fs::write(&leftover, "half").unwrap();
    assert_eq!(store.list_archived().archived.len(), 1);
    assert_eq!((store.remove_temporary_files(), leftover.exists()), (4, false));
}

fn list_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap().flatten() {
        if entry.path().is_dir() { found.extend(list_files(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

#[test]
fn only_the_owner_can_read_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(350, false));
    let archived = archive_transcript(&store, &transcript, &read_transcript(&transcript));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&archived.path), 0o600);
    assert!(archived.path.ancestors().skip(1).take(2).all(|folder| mode(folder) == 0o700));
}

// ---- damage

/// A survey of a damaged copy terminates, and either returns every entry or reports a problem.
fn assert_damage_detected(store: &Store, archived: &Transcript, whole: &[String], what: &str) {
    let found = read_transcript(archived);
    let sound = found.facts.problems.is_empty() && found.records.iter().all(Result::is_ok);
    if sound {
        assert_eq!(sorted_entry_texts(&found), whole, "{what}: entries are missing without a problem");
    }
    for line in sorted_entry_texts(&found) {
        let is_valid =
            whole.binary_search(&line).is_ok() || line.contains("damaged") || line.contains("changed");
        assert!(is_valid, "{what}: not in the original: {line}");
    }
    for (_, coverage) in &found.facts.coverage {
        assert!(coverage.adds_up(), "{what}: {coverage:?}");
    }
    let listed = store.list_archived();
    assert_eq!(listed.archived.len() + listed.problems.len(), 1, "{what}");
}

fn archived_fixture(turns: usize) -> (tempfile::TempDir, Store, Transcript, Transcript, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("archive"));
    let transcript = claude_transcript(&folder.path().join("claude"), &claude_text(turns, true));
    let now = read_transcript(&transcript);
    let archived = archive_transcript(&store, &transcript, &now);
    let whole = sorted_entry_texts(&read_transcript(&archived));
    (folder, store, transcript, archived, whole)
}

#[test]
fn a_truncated_copy_is_reported_without_a_panic() {
    let (_folder, store, transcript, archived, whole) = archived_fixture(350);
    let bytes = fs::read(&archived.path).unwrap();
    for cut in (0..bytes.len()).step_by(97) {
        fs::write(&archived.path, &bytes[..cut]).unwrap();
        assert_damage_detected(&store, &archived, &whole, &format!("cut at {cut}"));
        assert_eq!(store.list_archived().problems.len(), 1);
        assert!(store.begin_copy(&transcript, 5).is_err());
    }
    // Nothing can be reused, so all entries are requested.
    assert_eq!(store.continue_copy(&transcript, None).unwrap().entry_count(), 0);
    fs::write(&archived.path, [bytes.as_slice(), b"more"].concat()).unwrap();
    assert_damage_detected(&store, &archived, &whole, "longer");
}

#[test]
fn a_flipped_bit_is_reported_without_a_panic() {
    let (_folder, store, transcript, archived, whole) = archived_fixture(350);
    let bytes = fs::read(&archived.path).unwrap();
    let ends = (0..30).chain(bytes.len() - 60..bytes.len());
    for at in (0..bytes.len()).step_by(2003).chain(ends) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&archived.path, &flipped).unwrap();
        assert_damage_detected(&store, &archived, &whole, &format!("flipped at {at}"));
        drop(store.begin_copy(&transcript, 5));
        drop(store.continue_copy(&transcript, None));
    }
}

#[test]
fn a_damaged_frame_loses_its_entries_and_is_repaired_from_the_transcript() {
    let (_folder, store, transcript, archived, whole) = archived_fixture(350);
    let mut bytes = fs::read(&archived.path).unwrap();
    bytes[100] ^= 0x10; // in the first of several frames
    fs::write(&archived.path, &bytes).unwrap();
    let found = read_transcript(&archived);
    let lost = whole.len() - found.rows.len();
    assert!(lost > 10 && found.rows.len() > 10, "{lost} of {}", whole.len());
    let [problem] = found.facts.problems.as_slice() else { panic!("{:?}", found.facts.problems) };
    assert_eq!((problem.kind, problem.offset), (ProblemKind::BadLine, 0));
    assert!(problem.note.starts_with(&format!("{lost} archived entries lost")), "{}", problem.note);
    assert_eq!(found.facts.coverage.iter().map(|(_, c)| c.bad).sum::<u64>(), lost as u64);
    assert_eq!(found.facts.sessions.len(), 1);
    assert!(found.records.iter().all(Result::is_ok));

    assert!(matches!(store.begin_copy(&transcript, 5), Err(Error::Damaged { .. })));
    let now = read_transcript(&transcript);
    let mut writer = store.continue_copy(&transcript, None).unwrap();
    let new: Vec<usize> = (0..now.rows.len())
        .filter(|n| !writer.has_entry(*n as u32, &now.rows[*n], now.name_of(&now.rows[*n])))
        .collect();
    assert_eq!(new.len(), lost);
    add_entries(&mut writer, &now, new.into_iter());
    writer.finish(&now.facts).unwrap();
    let repaired = read_transcript(&archived);
    assert_eq!(sorted_entry_texts(&repaired), whole);
    assert!(repaired.facts.problems.is_empty());
}

#[test]
fn a_newer_format_is_left_alone() {
    let (_folder, store, transcript, archived, _) = archived_fixture(350);
    let mut bytes = fs::read(&archived.path).unwrap();
    bytes[12] = 2;
    let fnv = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
    };
    let check = fnv(&bytes[..16]).to_le_bytes();
    bytes[16..24].copy_from_slice(&check);
    fs::write(&archived.path, &bytes).unwrap();
    assert!(matches!(store.begin_copy(&transcript, 0), Err(Error::Newer { version: 2, .. })));
    assert!(matches!(store.begin_copy(&transcript, 1), Err(Error::Newer { .. })));
    assert!(matches!(store.continue_copy(&transcript, None), Err(Error::Newer { .. })));
    assert!(store.forget_sessions(&archived.path, &|_| true).is_err());
    assert!(store.list_archived().problems[0].note.contains("newer Loci (format 2"));
    assert_eq!(fs::read(&archived.path).unwrap(), bytes);
}

// ---- forgetting sessions and removing copies

/// Archives a made-up transcript of several sessions, each with its own text.
fn archive_several_sessions(store: &Store, folder: &Path) -> Transcript {
    let transcript = claude_transcript(folder, &claude_text(2, false));
    let mut facts = SurveyOutcome { abandoned: vec![1], birth: Some(Stamp(5)), ..SurveyOutcome::default() };
    let mut writer = store.begin_copy(&transcript, 0).unwrap();
    for session in 0..3_u32 {
        facts.sessions.push(Session::new("claude-code", &format!("session-{session}")));
        for n in 0..400 {
            let id = format!("m{session}-{n}");
            let text = format!("words-of-{session} ").repeat(n % 90);
            let row =
                Row { session, name: u32::MAX, end: 0, id: Row::id_head(id.as_bytes()), ..Row::default() };
            writer.add_message(
                session * 1000 + n as u32,
                &row,
                "",
                &Message { id, text, ..Message::default() },
            );
        }
    }
    writer.finish(&facts).unwrap();
    store.find_copy(&transcript).unwrap().unwrap().to_transcript().unwrap()
}

#[test]
fn a_forgotten_session_is_removed_with_its_text() {
    let (own, store) = new_store();
    let archived = archive_several_sessions(&store, &own.path().join("claude"));
    let before = fs::metadata(&archived.path).unwrap().len();
    assert_eq!(
        store.forget_sessions(&archived.path, &|_| false).unwrap(),
        loci_sources::archive::ForgetOutcome::default()
    );
    let first = |session: &Session| &*session.session_id == "session-0";
    let forgotten = store.forget_sessions(&archived.path, &first).unwrap();
    assert_eq!(
        (forgotten.sessions, forgotten.entries, forgotten.damaged, forgotten.copy_removed),
        (1, 400, 0, false)
    );
    assert_eq!(forgotten.freed, before - fs::metadata(&archived.path).unwrap().len());
    let left = read_transcript(&archived);
    let ids: Vec<_> = left.facts.sessions.iter().map(|s| s.session_id.to_string()).collect();
    assert_eq!(ids, ["session-1", "session-2"]);
    assert!(left.facts.abandoned.is_empty() && left.facts.birth == Some(Stamp(5)));
    assert_eq!(left.rows.len(), 800);
    for (row, record) in left.rows.iter().zip(&left.records) {
        let Ok(Record::Message(message)) = record else { panic!() };
        assert!(message.id.starts_with(&format!("m{}-", row.session + 1)));
        assert!(!message.text.contains("words-of-0"));
    }
    assert_eq!(list_files(&own.path().join("archive")), std::slice::from_ref(&archived.path));

    let all = store.forget_sessions(&archived.path, &|_| true).unwrap();
    assert_eq!((all.sessions, all.entries, all.copy_removed), (2, 800, true));
    assert!(all.freed > 0 && !archived.path.exists());
    assert!(store.list_archived().archived.is_empty());
}

#[test]
fn forgetting_in_a_damaged_copy_drops_unreadable_entries() {
    let (own, store) = new_store();
    let archived = archive_several_sessions(&store, &own.path().join("claude"));
    let mut bytes = fs::read(&archived.path).unwrap();
    bytes[60] ^= 1;
    fs::write(&archived.path, &bytes).unwrap();
    let forgotten = store.forget_sessions(&archived.path, &|s| &*s.session_id == "session-2").unwrap();
    assert!(forgotten.damaged > 0);
    let left = read_transcript(&archived);
    assert!(left.facts.problems.is_empty());
    assert_eq!(left.rows.len() as u32 + forgotten.entries + forgotten.damaged, 1200);
}

#[test]
fn only_files_of_the_archive_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(350, false));
    assert!(store.remove_copy(&transcript.path).is_err());
    assert!(store.forget_sessions(&transcript.path, &|_| true).is_err());
    let archived = archive_transcript(&store, &transcript, &read_transcript(&transcript));
    assert!(store.begin_copy(&archived, 0).is_err(), "a copy of a copy");
    let elsewhere = Store::new(folder.path().join("other"));
    assert!(elsewhere.remove_copy(&archived.path).is_err());
    let size = fs::metadata(&archived.path).unwrap().len();
    assert_eq!(store.remove_copy(&archived.path).unwrap(), size);
    assert!(store.remove_copy(&archived.path).is_err());
    assert!(store.find_copy(&transcript).unwrap().is_none());
    assert!(transcript.path.exists());
}

// ---- results and replies in several places

#[test]
fn a_result_in_another_file_is_joined_with_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let (call_folder, result_folder) = (folder.path().join("a"), folder.path().join("b"));
    let call = claude_transcript(&call_folder, &claude_text(1, true));
    let late = r#"[{"type":"tool_result","tool_use_id":"toolu_0","content":"late"}]"#;
    let result = claude_transcript(&result_folder, &claude_line(7, "user", late));
    let (call_content, result_content) = (read_transcript(&call), read_transcript(&result));
    let row = *call_content.rows.iter().find(|row| row.row == RowKind::Call).unwrap();
    let end = *result_content.rows.iter().find(|row| row.row == RowKind::Result).unwrap();
    assert_eq!(row.key, end.key);
    let join = |call: &Row, result: &Row| Row {
        end: result.end,
        end_file: result.end_file,
        until: result.until,
        detail: result.detail,
        ..*call
    };
    let live = loci_sources::fetch_call(&call, &result, &join(&row, &end)).unwrap();
    assert_eq!((live.output.as_deref(), live.status), (Some("\"late\""), Status::Success));

    let archived_call = archive_transcript(&store, &call, &call_content);
    let mut writer = store.begin_copy(&result, 0).unwrap();
    writer.add_call(0, &end, "", &live);
    writer.finish(&result_content.facts).unwrap();
    let archived_result = store.find_copy(&result).unwrap().unwrap().to_transcript().unwrap();
    let archived_row =
        *survey_rows(&archived_call, ALL).1.iter().find(|row| row.row == RowKind::Call).unwrap();
    let archived_end = survey_rows(&archived_result, ALL).1[0];
    assert_eq!((archived_end.row, archived_end.key, archived_end.name), (RowKind::Result, end.key, 0));
    let both = format!("{live:?}");
    for (call, result, row) in [
        (&archived_call, &archived_result, join(&archived_row, &archived_end)),
        (&call, &archived_result, join(&row, &archived_end)),
    ] {
        let found = loci_sources::fetch_call(call, result, &row).unwrap();
        assert_eq!(format!("{found:?}"), both);
    }
}

#[test]
fn a_reply_with_several_entries_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(1, false));
    let mut writer = store.begin_copy(&transcript, 0).unwrap();
    let facts =
        SurveyOutcome { sessions: vec![Session::new("claude-code", "s")], ..SurveyOutcome::default() };
    let entries = [("msg_1", "one"), ("msg_2", &*"x".repeat(300_000)), ("msg_1", "two"), ("msg_1", "")];
    for (n, (id, text)) in entries.iter().enumerate() {
        let id = (*id).to_string();
        let detail = record::Kind::Reply as u8;
        let row = Row { end: 0, name: u32::MAX, id: Row::id_head(id.as_bytes()), detail, ..Row::default() };
        let message = Message { id, text: (*text).to_string(), tool_calls: 1, ..Message::default() };
        writer.add_message(n as u32, &row, "", &message);
    }
    writer.finish(&facts).unwrap();
    let archived = store.find_copy(&transcript).unwrap().unwrap().to_transcript().unwrap();
    let rows = survey_rows(&archived, ALL).1;
    let joined = Row { end: rows[3].end, ..rows[0] };
    let message = loci_sources::fetch_message(&archived, &joined).unwrap();
    assert_eq!((message.text.as_str(), message.tool_calls), ("one\ntwo", 3));
    assert_eq!(loci_sources::fetch_message(&archived, &rows[0]).unwrap().text, "one");
}

#[test]
fn a_row_of_another_copy_is_reported_as_moved() {
    let folder = tempfile::tempdir().unwrap();
    let (_own, store) = new_store();
    let transcript = claude_transcript(folder.path(), &claude_text(3, false));
    let archived = archive_transcript(&store, &transcript, &read_transcript(&transcript));
    let rows = survey_rows(&archived, ALL).1;
    let row_at = |offset: u64| Row { start: offset, ..rows[0] };
    for offset in [rows[0].start + 1, rows[1].start, rows[2].start, 1 << 40, u64::MAX] {
        assert!(
            matches!(loci_sources::fetch_message(&archived, &row_at(offset)), Err(Error::Moved { .. })),
            "{offset}"
        );
    }
    // A replaced copy is read, not the previous one.
    let longer = claude_transcript(folder.path(), &claude_text(9, false));
    archive_transcript(&store, &longer, &read_transcript(&longer));
    assert_eq!(read_transcript(&archived).rows.len(), 27);
    assert!(read_transcript(&archived).records.iter().all(Result::is_ok));
}

#[test]
fn copy_paths_are_stable_across_versions() {
    let store = Store::new(PathBuf::from("/d"));
    let of = |part: Option<&str>| Transcript {
        source: CLAUDE,
        path: PathBuf::from("/p/s1.jsonl"),
        part: part.map(str::to_string),
        size: 0,
        file_stamp: loci_sources::FileStamp::default(),
        hint: "".into(),
        group: Path::new("").into(),
    };
    let path = store.path_of(&of(None));
    assert_eq!(path, Path::new("/d/55/551b991c23bcc75eaff167183b0f62b3.loci"));
    assert!(is_archived(&path));
    assert_ne!(path, store.path_of(&of(Some(""))));
    assert_ne!(path, store.path_of(&of(Some("x"))));
    for other in ["/d/a.loci", "/d/00/11112222333344445555666677778888.loci", "/p/s1.jsonl"] {
        assert!(!is_archived(Path::new(other)));
    }
}
