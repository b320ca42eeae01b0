//! Reading Gemini CLI: recorded stores of three versions, and made-up logs for cases that the recordings lack.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::gemini::Gemini;
use record::{Kind, ProblemKind, Status, TitleOrigin};
use std::path::{Path, PathBuf};
use testutil::needs::recorded_transcripts;
use testutil::survey::{Surveyed, list_transcripts, survey, survey_all};

const BASIC: &str = "SCENARIO:basic Please add a helper and test it.";
const DONE: &str = "Done: helper() returns 42. Decision: keep helper.py. ünïcödé ✓ 日本語";

fn survey_store(version: &str) -> Vec<Surveyed> {
    let root = recorded_transcripts().join(format!("gemini-cli/{version}/.gemini/tmp"));
    let all = survey_all(&Gemini, &root);
    for surveyed in &all {
        assert_eq!(surveyed.unknown_names(), [""; 0], "{version}");
        assert!(surveyed.facts.problems.is_empty());
    }
    assert!(!all.is_empty(), "needs corpus: it has no sessions of {version}");
    all
}

fn all_prompts(all: &[Surveyed]) -> Vec<&str> {
    all.iter().flat_map(|surveyed| surveyed.of(Kind::Prompt)).collect()
}

fn find_by_prompt<'t>(all: &'t [Surveyed], prompt: &str) -> &'t Surveyed {
    all.iter().find(|surveyed| surveyed.of(Kind::Prompt).iter().any(|text| text.contains(prompt))).unwrap()
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_store_of_version_0_11_is_read() {
    let all = survey_store("0.11.3");
    assert_eq!(all_prompts(&all)[..3], [BASIC, "SCENARIO:hello hi", "SCENARIO:sub please"]);
    assert!(all_prompts(&all)[3].starts_with("SCENARIO:hello look at @pic.png"));
    assert_eq!(all_prompts(&all)[4..], ["SCENARIO:err please"]);
    let basic = &all[0];
    assert_eq!(
        basic.calls(),
        [
            "run_shell_command error",
            "read_file error",
            "write_file error",
            "replace error",
            "grep_search error",
            "search_file_content",
            "glob",
            "run_shell_command error 3",
            "run_shell_command error 3",
            "read_file error",
            "write_todos error",
            "save_memory",
            "no_such_tool error",
        ]
    );
    assert_eq!(basic.of(Kind::Reply), ["Let me look around.", DONE]);
    assert_eq!(basic.tokens(), [8621 - 4310 + 9944 - 4972, 50 + 63 + 20, 4310 + 4972, 0]);
    // All calls are in one message: only the start times in their IDs give the order.
    assert!(basic.calls.windows(2).all(|w| w[0].0.at <= w[1].0.at));
    assert!(basic.calls.first().unwrap().0.at < basic.calls.last().unwrap().0.at);
    for surveyed in &all {
        assert_eq!((&*surveyed.session().project, &*surveyed.session().version), ("", ""));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_store_of_version_0_30_is_read() {
    let all = survey_store("0.30.1");
    let mut expected = [
        BASIC,
        "SCENARIO:hello hi",
        "SCENARIO:hello2 follow-up",
        "SCENARIO:sub please",
        "",
        "SCENARIO:err please",
    ];
    expected[4] = "SCENARIO:hello look at @pic.png\n[image: image/png]";
    assert_eq!(all_prompts(&all), expected);
    let basic = &all[0];
    assert_eq!(basic.calls(), basic_calls(false));
    assert_eq!(&*basic.session().project, "/home/dev/work/gm-0.30.1/my.proj_é 1");
    // The client's instructions to its subagent are not a prompt.
    let sub = find_by_prompt(&all, "SCENARIO:sub");
    assert_eq!(sub.of(Kind::Task).len(), 1);
    assert!(sub.of(Kind::Task)[0].contains("SCENARIO:sub_a look"));
    assert_eq!(sub.calls(), ["codebase_investigator", "invoke_agent error", "generalist error"]);
    // A resumed session continues in its file.
    let resumed = find_by_prompt(&all, "SCENARIO:hello2");
    assert_eq!(resumed.of(Kind::Reply), ["Hello from stub", "Second prompt answered."]);
    assert_eq!(resumed.messages.iter().map(|(row, _)| row.turn).collect::<Vec<_>>(), [1, 1, 2, 2]);
}

fn basic_calls(newest: bool) -> Vec<&'static str> {
    vec![
        "run_shell_command",
        "read_file",
        "write_file",
        "replace",
        "grep_search",
        "search_file_content",
        "glob",
        "run_shell_command error 3",
        "run_shell_command error 3",
        "read_file error",
        "write_todos",
        if newest { "save_memory error" } else { "save_memory" },
        "no_such_tool error",
    ]
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_store_of_version_0_61_is_read() {
    let all = survey_store("0.61.0");
    assert_eq!(
        all_prompts(&all),
        [
            BASIC,
            "SCENARIO:hello hi",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:sub please",
            "SCENARIO:hello look at @pic.png\n[image: image/png]",
            "SCENARIO:err please", // the client forgets a prompt whose reply failed, but the user typed it
        ]
    );
    let basic = &all[0];
    assert_eq!(basic.calls(), basic_calls(true));
    assert_eq!(basic.of(Kind::Reply).len(), 14);
    assert_eq!(basic.of(Kind::Reply)[13], DONE);
    assert_eq!(basic.of(Kind::Context).len(), 1);
    let session = basic.session();
    assert_eq!(&*session.session_id, "a5ea6375-177b-478d-b73b-0323529af83f");
    assert_eq!(
        (&*session.project, &*session.cwd),
        ("/home/dev/work/gm/my.proj_é 1", "/home/dev/work/gm/my.proj_é 1")
    );
    // Replies are written twice and counted once.
    let outputs: u32 = (50..=63).map(|n| n + 10).sum();
    assert_eq!(basic.tokens()[1], outputs);
    let failed = basic.call("run_shell_command", 1);
    assert!(failed.error.as_ref().unwrap().contains("AssertionError: expected 42 got 41"));
    assert_eq!(
        failed.input,
        r#"{"command":"echo 'AssertionError: expected 42 got 41' >&2; exit 3","description":"run"}"#
    );
    assert_eq!(basic.call("read_file", 0).output.as_deref(), Some(r##""# demo\n""##));
    assert_eq!(basic.call("read_file", 0).file.as_deref(), Some("README.md"));
    assert_eq!(
        basic.call("read_file", 1).error.as_deref().map(|e| e.starts_with("File not found: /home")),
        Some(true)
    );
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_resumed_session_keeps_the_tokens_of_its_first_run() {
    let all = survey_store("0.61.0");
    let resumed = find_by_prompt(&all, "SCENARIO:hello2");
    assert_eq!(resumed.of(Kind::Reply), ["Hello from stub", "Second prompt answered."]);
    assert_eq!(resumed.tokens(), [8522 - 4261 + 8551 - 4275, 120, 4261 + 4275, 0]);
    assert_eq!(resumed.session().started_at.to_string(), "2026-11-14T23:37:31.440Z");
    let title = resumed.session().title.clone().unwrap();
    assert_eq!((&*title.0, title.1), ("Hello from stub", TitleOrigin::Agent));
    assert_eq!(resumed.messages[1].1.at.unwrap().to_string(), "2026-11-14T23:37:31.462Z");
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn subagents_belong_to_their_session() {
    let all = survey_store("0.61.0");
    let parent = find_by_prompt(&all, "SCENARIO:sub");
    assert_eq!(parent.calls(), ["codebase_investigator error", "invoke_agent", "generalist error"]);
    let sub = all.iter().find(|surveyed| surveyed.session().agent_id.is_some()).unwrap();
    let session = sub.session();
    assert_eq!(session.parent_session_id.as_ref(), Some(&parent.session().session_id));
    assert_eq!(session.agent_id.as_deref(), Some("480287cb-e2e0-430a-a7e0-c8783b66e71d"));
    assert_eq!(sub.of(Kind::Task), ["SCENARIO:sub_a look"]);
    assert_eq!((sub.of(Kind::Prompt).len(), sub.of(Kind::Meta).len()), (0, 1));
    assert_eq!(sub.calls(), ["complete_task error"]);
    assert!(sub.rows.iter().all(|row| row.has_flag(record::row::SIDECHAIN)));
}

// ---- made-up logs

fn write_session(folder: &Path, name: &str, text: &str) -> PathBuf {
    let chats = folder.join("tmp/slug/chats");
    std::fs::create_dir_all(&chats).unwrap();
    std::fs::write(chats.join(name), text).unwrap();
    folder.join("tmp")
}

fn survey_only(root: &Path) -> Surveyed {
    let transcripts = list_transcripts(&Gemini, root);
    assert_eq!(transcripts.len(), 1);
    survey(&Gemini, &transcripts[0])
}

#[test]
fn a_damaged_line_costs_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let root = write_session(
        folder.path(),
        "session-x-00000001.jsonl",
        include_str!("../testdata/gemini/damaged.jsonl"),
    );
    let surveyed = survey_only(&root);
    assert_eq!(surveyed.of(Kind::Prompt), ["before", "after"]);
    assert_eq!(surveyed.of(Kind::ApiError), ["quota exceeded"]);
    assert_eq!(surveyed.of(Kind::Meta), ["signed in"]);
    assert_eq!(surveyed.calls(), ["read_file pending"]);
    let kinds: Vec<_> = surveyed.facts.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [ProblemKind::BadLine, ProblemKind::Unfinished]);
    let coverage = &surveyed.facts.coverage[0].1;
    assert_eq!((coverage.lines, coverage.blank, coverage.bad, coverage.unfinished), (12, 1, 1, 1));
    assert_eq!(surveyed.unknown_names(), ["$future", "(no type)", "hologram", "user.mood"]);
}

#[test]
fn a_rewind_abandons_later_messages() {
    let folder = tempfile::tempdir().unwrap();
    let root = write_session(
        folder.path(),
        "session-x-00000002.jsonl",
        include_str!("../testdata/gemini/rewind.jsonl"),
    );
    std::fs::write(
        folder.path().join("projects.json"),
        r#"{"projects": {"/p/other": "other", "/p/this one": "slug"}}"#,
    )
    .unwrap();
    let surveyed = survey_only(&root);
    assert_eq!(surveyed.of(Kind::Prompt), ["first", "second", "second, asked better"]);
    assert_eq!(surveyed.facts.abandoned, [2]);
    assert_eq!(surveyed.of(Kind::CompactionSummary), ["<state_snapshot>all of it</state_snapshot>"]);
    assert_eq!(surveyed.of(Kind::Reply), ["one", "two", "two, better, patched"]);
    assert_eq!(&*surveyed.session().project, "/p/this one");
}

/// A client can be killed at any byte: all complete lines are read, and at most the last is unfinished.
#[test]
fn a_truncated_log_loses_at_most_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let whole = include_str!("../testdata/gemini/rewind.jsonl");
    for cut in (0..whole.len()).step_by(7) {
        let surveyed = survey_only(&write_session(folder.path(), "session-x-00000005.jsonl", &whole[..cut]));
        let coverage = &surveyed.facts.coverage[0].1;
        assert_eq!(coverage.understood, whole[..cut].matches('\n').count() as u64, "{cut}");
        assert!(coverage.bad == 0 && coverage.unfinished <= 1);
    }
}

#[test]
fn a_file_that_is_no_session_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (n, text) in ["{\"sessionId\": \"x\", \"messages\": [", "[]", "", "null"].iter().enumerate() {
        let root = write_session(&folder.path().join(n.to_string()), "session-x-00000003.json", text);
        let surveyed = survey_only(&root);
        assert_eq!(surveyed.rows.len(), 0);
        assert_eq!(surveyed.facts.problems[0].kind, ProblemKind::BadLine, "{text}");
    }
}

#[test]
fn unexpected_shapes_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"sessionId": 5, "startTime": null, "summary": {}, "messages": [null, 3, "x", {"type": "user"},
        {"id": 7, "type": "user", "content": 12}, {"id": "a", "type": "gemini", "content": null, "tokens": "many",
        "toolCalls": [null, {"id": null, "name": 3, "args": "x", "status": [], "result": {"functionResponse": null}},
        {"id": "c", "name": "n", "args": {"file_path": 5}, "status": "success"}]},
        {"id": "a", "type": "gemini", "timestamp": 1794699444, "tokens": {"input": "10", "cached": 20, "output": -3}}]}"#;
    let surveyed = survey_only(&write_session(folder.path(), "session-x-00000004.json", text));
    assert_eq!(&*surveyed.session().session_id, "00000004");
    assert_eq!(surveyed.calls.len(), 3);
    assert_eq!(surveyed.calls[2].1.status, Status::Success);
    assert_eq!(surveyed.tokens(), [0, 0, 20, 0]);
}

#[test]
fn an_environment_variable_moves_the_store() {
    use loci_sources::{Environment, Source};
    let mut places = Environment { home: PathBuf::from("/h"), ..Environment::default() };
    assert_eq!(Gemini.default_roots(&places), [PathBuf::from("/h/.gemini/tmp")]);
    places.vars.insert("GEMINI_CLI_HOME", "/else".into());
    assert_eq!(Gemini.default_roots(&places), [PathBuf::from("/else/.gemini/tmp")]);
}
