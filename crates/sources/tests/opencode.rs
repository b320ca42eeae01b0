//! Reading opencode: recorded stores of the current format (a database) and the older one (a folder), and made-up
//! stores for cases that the recordings lack.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::opencode::OPENCODE;
use loci_sources::{Error, Source};
use record::row::{COPIED, SIDECHAIN};
use record::{Kind, ProblemKind, RowKind, TitleOrigin};
use std::path::Path;
use testutil::copy_folder;
use testutil::needs::recorded_transcripts;
use testutil::survey::{Surveyed, list_transcripts, survey, survey_all};

const DONE: &str = "Done: helper() returns 42. Decision: keep helper.py. ünïcödé ✓ 日本語";
const BASIC: [&str; 11] = [
    "bash 0",
    "read",
    "write",
    "edit",
    "grep",
    "glob",
    "bash error 3",
    "bash error 3",
    "read error",
    "todowrite",
    "invalid error",
];

/// Copies the store first: `SQLite` may write next to a database, and the recorded stores must not change.
fn survey_store(version: &str) -> (tempfile::TempDir, Vec<Surveyed>) {
    let root = recorded_transcripts().join(format!("opencode/{version}/.local/share/opencode"));
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&root, folder.path());
    let all = survey_all(&OPENCODE, folder.path());
    for surveyed in &all {
        assert_eq!(surveyed.unknown_names(), [""; 0], "{version}");
        assert!(surveyed.facts.problems.is_empty());
        assert_eq!(&*surveyed.session().version, version);
    }
    assert!(!all.is_empty(), "needs corpus: it has no sessions of {version}");
    (folder, all)
}

fn assert_basic(surveyed: &Surveyed) {
    assert_eq!(surveyed.calls(), BASIC);
    let replies = surveyed.of(Kind::Reply);
    assert_eq!(
        (replies[0], replies[11], replies[12]),
        ("Let me look around.", DONE, "Second prompt answered.")
    );
    let title = surveyed.session().title.clone().unwrap();
    assert_eq!((&*title.0, title.1), ("Let me look around.", TitleOrigin::Agent));
    let missing = surveyed.call("read", 1);
    assert!(missing.error.as_ref().unwrap().contains("File not found: /home/dev/work"));
    assert!(missing.file.as_ref().unwrap().ends_with("my.proj_é 1/missing.txt"));
    assert!(missing.output.is_some() && missing.duration_ms.is_some());
    let failed = surveyed.call("bash", 1);
    assert_eq!(failed.output.as_deref(), Some(r#""AssertionError: expected 42 got 41\n""#));
    assert_eq!(failed.error.as_deref(), Some("AssertionError: expected 42 got 41\n"));
    assert!(surveyed.call("invalid", 0).error.as_ref().unwrap().contains("'no_such_tool'"));
    assert!(
        surveyed
            .messages
            .iter()
            .all(|(row, m)| row.kind() != Kind::Reply || m.model.as_deref() == Some("stub-model"))
    );
    assert_eq!(surveyed.messages.iter().map(|(_, m)| m.tool_calls).sum::<u32>(), 11);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_store_of_version_1_18_is_read() {
    let (_folder, all) = survey_store("1.18.33");
    assert_eq!(all.len(), 6);
    let prompts: Vec<_> = all.iter().map(|surveyed| surveyed.of(Kind::Prompt)).collect();
    let (basic, cont) =
        ("\"SCENARIO:basic Please add a helper and test it.\"", "\"SCENARIO:hello2 follow-up\"");
    assert_eq!(prompts[0], [basic, cont]);
    assert_eq!(prompts[1], [basic, cont, "\"SCENARIO:hello2 forked\""]);
    assert_eq!(prompts[2], ["\"SCENARIO:sub please\""]);
    assert_eq!(prompts[4], ["[image: image/png]\n\"SCENARIO:hello look\""]);
    assert_eq!(prompts[5], ["\"SCENARIO:err please\""]);
    assert_basic(&all[0]);
    // The sums that opencode itself stores for the session.
    assert_eq!(all[0].tokens(), [157, 418, 107_620, 1366]);
    assert_eq!(all[1].tokens(), [164, 430, 116_895, 1466]);
    assert_eq!(&*all[0].session().project, "/home/dev/work/oc/my.proj_é 1");
    assert_eq!(all[4].of(Kind::Meta).len(), 2);
    assert_eq!(all[5].of(Kind::ApiError), ["stub boom"]);
    let title = all[5].session().title.clone().unwrap();
    assert_eq!((&*title.0, title.1), ("\"SCENARIO:err please\"", TitleOrigin::FirstPrompt));
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_store_of_version_1_0_is_read() {
    let (_folder, all) = survey_store("1.0.0");
    assert_eq!(all.len(), 4);
    let prompts = all[0].of(Kind::Prompt);
    assert_eq!(prompts, ["SCENARIO:basic Please add a helper and test it.\n", "SCENARIO:hello2 follow-up\n"]);
    assert_basic(&all[0]);
    assert_eq!(&*all[0].session().cwd, "/home/dev/work/oc-1.0.0/my.proj_é 1");
    assert_eq!(all[0].tokens()[0], (7..=18).sum::<u32>() + 7);
    assert_eq!(all[3].rows.len(), 0);
    assert_subagent(&all[1], &all[2]);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn subagents_belong_to_their_session() {
    let (_folder, all) = survey_store("1.18.33");
    assert_subagent(&all[2], &all[3]);
}

fn assert_subagent(parent: &Surveyed, sub: &Surveyed) {
    assert_eq!(parent.calls(), ["task"]);
    assert!(parent.call("task", 0).output.as_ref().unwrap().contains("There are 3 files."));
    let session = sub.session();
    assert_eq!(session.parent_session_id.as_ref(), Some(&parent.session().session_id));
    assert_eq!(session.agent_id.as_ref(), Some(&session.session_id));
    assert_eq!((sub.of(Kind::Task), sub.of(Kind::Prompt).len()), (vec!["SCENARIO:sub_a count"], 0));
    assert_eq!(sub.calls(), ["bash 0"]);
    assert_eq!(sub.of(Kind::Reply), ["", "There are 3 files."]);
    assert!(sub.rows.iter().all(|row| row.has_flag(SIDECHAIN)));
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_fork_is_recognised_as_a_copy() {
    let (_folder, all) = survey_store("1.18.33");
    let (original, fork) = (&all[0], &all[1]);
    let keys = |surveyed: &Surveyed| surveyed.rows.iter().map(|row| row.key).collect::<Vec<_>>();
    let (before, after) = (keys(original), keys(fork));
    assert_eq!(before.len(), 26);
    assert_eq!(before, after[..26], "every message and call of the original has the same key in the fork");
    assert_eq!(after.len(), 28);
    assert!(after[26..].iter().all(|key| !before.contains(key)));
    // Keys are unique within a session.
    assert_eq!(after.iter().collect::<std::collections::BTreeSet<_>>().len(), 28);
    assert!(fork.rows[..26].iter().all(|row| row.has_flag(COPIED)));
    assert!(!fork.rows[26..].iter().chain(&original.rows).any(|row| row.has_flag(COPIED)));
    // The stored IDs differ, and the fork starts when it was created.
    assert_ne!(original.messages[0].1.id, fork.messages[0].1.id);
    assert_eq!(fork.session().started_at, record::Stamp(1_794_699_555_048));
    assert!(original.facts.birth < fork.facts.birth);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn keys_of_different_sessions_differ() {
    let (_folder, all) = survey_store("1.18.33");
    let mut seen = std::collections::BTreeSet::new();
    for surveyed in all.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, surveyed)| surveyed) {
        for row in &surveyed.rows {
            assert!(seen.insert(row.key), "{row:?}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn fetching_a_removed_call_is_reported_as_moved() {
    let (folder, all) = survey_store("1.0.0");
    let transcripts = list_transcripts(&OPENCODE, folder.path());
    let of = |surveyed: &Surveyed| {
        transcripts.iter().find(|t| *t.hint == *surveyed.session().session_id).unwrap().clone()
    };
    let sub = of(&all[2]);
    let row = *all[2].rows.iter().find(|row| row.row == RowKind::Call).unwrap();
    assert!(OPENCODE.fetch_call(&sub, &sub, &row).is_ok());
    let storage = folder.path().join("storage");
    std::fs::remove_dir_all(storage.join("message").join(&*sub.hint)).unwrap();
    std::fs::write(&sub.path, format!("{{\"id\": \"{}\"}}", sub.hint)).unwrap();
    assert!(matches!(OPENCODE.fetch_call(&sub, &sub, &row), Err(Error::Moved { .. })));
}

// ---- made-up stores

fn create_database(folder: &Path, rows: &str) {
    let connection = db::Connection::open(folder.join("opencode.db")).unwrap();
    connection
        .execute_batch(
            "create table session(id text primary key, directory text, title text);
             create table message(id text primary key, session_id text, data text);
             create table part(id text primary key, message_id text, session_id text, data text);
             create table credential(id text, value text);",
        )
        .unwrap();
    connection.execute_batch(rows).unwrap();
}

#[test]
fn a_damaged_row_costs_that_row_and_a_missing_column_nothing() {
    let folder = tempfile::tempdir().unwrap();
    create_database(
        folder.path(),
        r#"insert into session values ('ses_1', '/p', 'Named');
           insert into message values
             ('m1', 'ses_1', '{"role":"user","time":{"created":1794699523976}}'),
             ('m2', 'ses_1', '{"role":"assist'),
             ('m3', 'ses_1', '{"role":"oracle"}'),
             ('m4', 'ses_1', '{"role":"assistant","time":{"created":"1794699523999"},"tokens":{"input":"5","cache":null}}'),
             ('m5', 'ses_1', 'null');
           insert into part values
             ('p1', 'm1', 'ses_1', '{"type":"text","text":"hi","mood":"calm"}'),
             ('p2', 'm1', 'ses_1', '{"type":"text","text":null}'),
             ('p3', 'm2', 'ses_1', '{"type":"text","text":"lost"}'),
             ('p4', 'm4', 'ses_1', '{"type":"hologram"}'),
             ('p5', 'm4', 'ses_1', '{"type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"x"}}}'),
             ('p6', 'm4', 'ses_1', x'7b22ff');"#,
    );
    let all = survey_all(&OPENCODE, folder.path());
    assert_eq!(all.len(), 1);
    let surveyed = &all[0];
    assert_eq!(surveyed.of(Kind::Prompt), ["hi"]);
    assert_eq!(surveyed.of(Kind::Reply), [""]);
    assert_eq!(surveyed.calls(), ["bash pending"]);
    assert_eq!(surveyed.tokens(), [5, 0, 0, 0]);
    assert_eq!(surveyed.unknown_names(), ["hologram", "message oracle", "text.mood"]);
    assert_eq!((&*surveyed.session().project, &*surveyed.session().version), ("/p", ""));
    let coverage = &surveyed.facts.coverage[0].1;
    assert_eq!((coverage.lines, coverage.bad, coverage.ignored), (12, 3, 1));
    assert!(surveyed.facts.problems.iter().all(|p| p.kind == ProblemKind::BadLine));
}

#[test]
fn a_file_that_is_no_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("opencode.db"), vec![b'x'; 5000]).unwrap();
    let mut found = loci_sources::walk::TranscriptList::default();
    OPENCODE.list_transcripts(folder.path(), &mut found);
    assert_eq!((found.transcripts.len(), found.problems.len()), (0, 1));
}

#[test]
fn damaged_files_do_not_affect_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("storage");
    for (path, text) in [
        ("session/p/ses_1.json", "{\"id\": \"ses_1\","),
        ("message/ses_1/msg_1.json", "{\"id\": \"msg_1\", \"role\": \"user\"}"),
        ("message/ses_1/msg_2.json", ""),
        ("part/msg_1/prt_1.json", "{\"type\": \"text\", \"text\": \"still here\"}"),
        ("part/msg_1/prt_2.json", "[]"),
    ] {
        std::fs::create_dir_all(storage.join(path).parent().unwrap()).unwrap();
        std::fs::write(storage.join(path), text).unwrap();
    }
    let transcripts = list_transcripts(&OPENCODE, folder.path());
    let surveyed = survey(&OPENCODE, &transcripts[0]);
    assert_eq!(surveyed.of(Kind::Prompt), ["still here"]);
    assert_eq!(&*surveyed.session().session_id, "ses_1");
    assert_eq!(surveyed.facts.problems.len(), 3);
}
