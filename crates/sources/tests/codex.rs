//! Reading Codex: recorded rollouts of seven versions, checked against the script they followed, and hand-written
//! rollouts.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::codex::Codex;
use loci_sources::walk::TranscriptList;
use loci_sources::{Names, Source, Survey, SurveyOptions, SurveyOutcome, Transcript};
use record::row::{COPIED, SIDECHAIN, USAGE_ONLY};
use record::{Call, Kind, Message, Row, RowKind, Session, Status};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testutil::needs::recorded_transcripts;

const VERSIONS: &[&str] = &["0.21.0", "0.45.0", "0.80.0", "0.120.0", "0.140.0", "0.166.0", "0.166.0-tui"];

/// A transcript and its survey.
struct SurveyedTranscript {
    transcript: Transcript,
    rows: Vec<Row>,
    facts: SurveyOutcome,
    names: Vec<Arc<str>>,
}

impl SurveyedTranscript {
    fn survey(transcript: &Transcript) -> SurveyedTranscript {
        let (names, mut rows) = (Names::default(), Vec::new());
        let mut emit = |new: &mut Vec<Row>| rows.append(new);
        let want = SurveyOptions { messages: true, calls: true, fields: true };
        let mut survey = Survey::new(0, &transcript.path, &names, want, &mut emit);
        Codex.survey(transcript, &mut survey).unwrap();
        let facts = survey.finish();
        SurveyedTranscript { transcript: transcript.clone(), rows, facts, names: names.to_vec() }
    }

    fn session(&self) -> &Session {
        &self.facts.sessions[0]
    }

    fn messages(&self, kind: Kind) -> Vec<Message> {
        let rows = self.rows.iter().filter(|r| r.row == RowKind::Message && r.kind() == kind);
        rows.filter(|r| !r.has_flag(USAGE_ONLY))
            .map(|r| Codex.fetch_message(&self.transcript, r).unwrap())
            .collect()
    }

    fn texts(&self, kind: Kind) -> Vec<String> {
        self.messages(kind).into_iter().map(|m| m.text).collect()
    }

    fn calls(&self) -> Vec<Call> {
        let rows = self.rows.iter().filter(|r| r.row == RowKind::Call);
        rows.map(|r| Codex.fetch_call(&self.transcript, &self.transcript, r).unwrap()).collect()
    }

    fn call_outcomes(&self) -> Vec<(String, Status, Option<i64>)> {
        self.calls().into_iter().map(|c| (c.tool, c.status, c.exit_code)).collect()
    }

    /// Tokens: input including the cached part, the cached part, output.
    fn tokens(&self) -> (u64, u64, u64) {
        let sum = |f: fn(&Row) -> u32| self.rows.iter().map(|r| u64::from(f(r))).sum();
        (
            sum(|r| r.tokens.input + r.tokens.cache_read + r.tokens.cache_write),
            sum(|r| r.tokens.cache_read),
            sum(|r| r.tokens.output),
        )
    }
}

fn corpus_dir(version: &str) -> PathBuf {
    recorded_transcripts().join("codex").join(version).join(".codex")
}

fn list_transcripts(home: &Path) -> Vec<Transcript> {
    let mut found = TranscriptList::default();
    Codex.list_transcripts(home, &mut found);
    assert!(found.problems.is_empty());
    found.transcripts.sort_by(|a, b| a.path.file_name().cmp(&b.path.file_name()));
    found.transcripts
}

fn survey_version(version: &str) -> Vec<SurveyedTranscript> {
    let all: Vec<SurveyedTranscript> =
        list_transcripts(&corpus_dir(version)).iter().map(SurveyedTranscript::survey).collect();
    assert!(!all.is_empty(), "needs corpus: it has no Codex {version}");
    all
}

fn has_prompt(surveyed: &SurveyedTranscript, prompt: &str) -> bool {
    let prompts = surveyed.texts(Kind::Prompt).into_iter().chain(surveyed.texts(Kind::Task));
    prompts.into_iter().any(|text| text.contains(prompt))
}

#[track_caller]
fn find_by_prompt<'t>(all: &'t [SurveyedTranscript], prompt: &str) -> &'t SurveyedTranscript {
    all.iter().find(|one| has_prompt(one, prompt)).unwrap_or_else(|| panic!("no prompt contains `{prompt}`"))
}

/// The sum of the running totals at the end of each client process: 0.45 restarts at zero when it resumes.
fn cumulative_tokens(path: &Path) -> (u64, u64, u64) {
    let (mut sum, mut last) = ((0, 0, 0), (0, 0, 0));
    for line in fs::read_to_string(path).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let payload = &line["payload"];
        let record = payload["thread_token_usage"].is_object();
        let total =
            if record { &payload["thread_token_usage"] } else { &payload["info"]["total_token_usage"] };
        let n = |key: &str| total[key].as_u64().unwrap_or(0);
        let now = (n("input_tokens"), n("cached_input_tokens"), n("output_tokens"));
        if total.is_object() {
            if now.0 < last.0 {
                sum = (sum.0 + last.0, sum.1 + last.1, sum.2 + last.2);
            }
            last = now;
        }
    }
    (sum.0 + last.0, sum.1 + last.1, sum.2 + last.2)
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn every_line_of_every_version_is_accounted_for() {
    for version in VERSIONS {
        for surveyed in survey_version(version) {
            let path = surveyed.transcript.path.display();
            let bytes = fs::read(&surveyed.transcript.path).unwrap();
            let lines = bytes.split_inclusive(|b| *b == b'\n').count() as u64;
            assert_eq!(surveyed.facts.coverage.len(), 1, "{path}");
            let (of, coverage) = &surveyed.facts.coverage[0];
            let expected = if *version == "0.21.0" { "unknown" } else { version.trim_end_matches("-tui") };
            assert_eq!(&**of, expected);
            assert_eq!((coverage.lines, coverage.bytes), (lines, bytes.len() as u64), "{path}");
            assert!(coverage.adds_up(), "{path}: {coverage:?}");
            assert_eq!((coverage.bad, coverage.unfinished, coverage.blank), (0, 0, 0), "{path}");
            assert!(coverage.unknown_types.is_empty(), "{path}: {:?}", coverage.unknown_types);
            assert!(coverage.unknown_fields.is_empty(), "{path}: {:?}", coverage.unknown_fields);
            assert!(surveyed.facts.problems.is_empty());
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn each_prompt_is_reported_once_and_resume_appends() {
    for (version, shell) in [
        ("0.45.0", "shell"),
        ("0.80.0", "shell"),
        ("0.120.0", "exec_command"),
        ("0.140.0", "exec_command"),
        ("0.166.0", "exec_command"),
    ] {
        let all = survey_version(version);
        let basic = find_by_prompt(&all, "add a helper");
        let first = format!("SCENARIO:basic_{shell} Please add a helper and test it.");
        assert_eq!(basic.texts(Kind::Prompt), [first.as_str(), "SCENARIO:hello2 follow-up"], "{version}");
        assert_eq!(
            basic.texts(Kind::Reply),
            [
                "Let me look around.",
                "Run the tests.",
                "Done: helper() returns 43; the tests failed three times. Decision: keep helper.py. ünïcödé ✓ 日本語",
                "Second prompt answered."
            ],
            "{version}"
        );
        assert!(basic.texts(Kind::Context).iter().any(|t| t.starts_with("<environment_context>")));
        let session = basic.session();
        assert!(session.cwd.ends_with("my.proj_é 1") && session.project == session.cwd);
        assert_eq!((&*session.git_branch, &*session.version), ("main", version));
        assert!(session.title.as_ref().unwrap().0.starts_with("SCENARIO:basic"));
        assert!(session.parent_session_id.is_none() && session.started_at < session.ended_at);
        assert_eq!(*session.session_id, *basic.transcript.hint);
        assert!(basic.names.iter().any(|n| n.starts_with("gpt-5")));
        let of_replies = basic.rows.iter().filter(|r| r.row == RowKind::Message && r.kind() == Kind::Reply);
        assert!(of_replies.clone().all(|r| r.name != u32::MAX));
        assert_eq!(basic.rows.iter().map(|r| r.turn).max(), Some(2));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn the_oldest_format_has_neither_timestamps_nor_a_working_directory() {
    let all = survey_version("0.21.0");
    let basic = find_by_prompt(&all, "add a helper");
    assert_eq!(basic.texts(Kind::Prompt), ["SCENARIO:basic_shell Please add a helper and test it."]);
    assert_eq!(basic.texts(Kind::Reply), ["Let me look around."]);
    assert_eq!(
        basic.call_outcomes(),
        [("shell".into(), Status::Success, Some(0)), ("update_plan".into(), Status::Success, None)]
    );
    assert!(basic.rows.iter().all(|r| r.at == basic.session().started_at));
    assert_eq!(basic.calls()[1].duration_ms, None);
    assert_eq!((&*basic.session().git_branch, &*basic.session().cwd), ("main", ""));
    let image = find_by_prompt(&all, "look at the picture");
    assert_eq!(image.texts(Kind::Prompt), ["[image: image/png]", "SCENARIO:hello look at the picture"]);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn images_are_part_of_their_prompt() {
    for (version, prompts) in [
        ("0.45.0", &["[image: image/png]", "SCENARIO:hello look at the picture"][..]),
        ("0.80.0", &["SCENARIO:hello look at the picture\n[image: image/png]"]),
        ("0.140.0", &["SCENARIO:hello look at the picture\n[image: pic.png]"]),
        ("0.166.0", &["[image: pic.png]\nSCENARIO:hello look at the picture"]),
    ] {
        let all = survey_version(version);
        assert_eq!(find_by_prompt(&all, "look at the picture").texts(Kind::Prompt), prompts, "{version}");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn calls_are_in_order_with_their_outcomes() {
    let (good, bad) = (Status::Success, Status::Error);
    let expected = |shell: &'static str, plan, patch: [(Status, Option<i64>); 2], big: bool| {
        let mut calls = vec![(shell, good, Some(0)), ("update_plan", plan, None)];
        calls.push(("apply_patch", patch[0].0, patch[0].1));
        calls.push((shell, patch[1].0, patch[1].1));
        calls.extend([(shell, bad, Some(3)); 3]);
        calls.extend(vec![(shell, good, Some(0)); if big { 3 } else { 2 }]);
        calls.extend([("view_image", good, None), ("no_such_tool", bad, None)]);
        calls
    };
    let rejected = [(bad, None), (bad, None)];
    let applied = [(good, Some(0)), (good, Some(0))];
    for (version, expected) in [
        ("0.45.0", expected("shell", bad, rejected, false)),
        ("0.80.0", expected("shell", good, rejected, true)),
        ("0.120.0", expected("exec_command", good, rejected, true)),
        ("0.140.0", expected("exec_command", good, applied, true)),
        ("0.166.0", expected("exec_command", bad, applied, true)),
    ] {
        let all = survey_version(version);
        let basic = find_by_prompt(&all, "add a helper");
        let outcomes = basic.call_outcomes();
        let outcomes: Vec<_> =
            outcomes.iter().map(|(tool, status, code)| (tool.as_str(), *status, *code)).collect();
        assert_eq!(outcomes, expected, "{version}");
        let calls = basic.calls();
        assert_eq!(calls[2].file.as_deref(), Some("helper.py"));
        assert_eq!(calls[3].file.as_deref(), Some("helper.py"));
        assert!(calls[2].input.starts_with("\"*** Begin Patch\\n"));
        assert_eq!(calls[4].error.as_deref(), Some("AssertionError: expected 42 got 41"), "{version}");
        let last = calls.last().unwrap();
        assert_eq!(last.error.as_deref(), Some("unsupported call: no_such_tool"));
        assert_eq!(last.output.as_deref(), Some("\"unsupported call: no_such_tool\""));
        for call in &calls {
            serde_json::from_str::<serde_json::Value>(&call.input).unwrap();
            serde_json::from_str::<String>(call.output.as_ref().unwrap()).unwrap();
            assert!(call.duration_ms.is_some() && !call.id.is_empty());
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn tokens_add_up_to_the_totals_of_codex() {
    for version in VERSIONS {
        for surveyed in survey_version(version) {
            // Since 0.166 a fork counts on from the total of its parent, but contains only its own responses.
            let forked =
                fs::read_to_string(&surveyed.transcript.path).unwrap().contains("\"forked_from_id\":\"");
            let expected =
                if forked { (21512, 10756, 50) } else { cumulative_tokens(&surveyed.transcript.path) };
            assert_eq!(surveyed.tokens(), expected, "{}", surveyed.transcript.path.display());
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_reply_with_text_has_its_own_tokens() {
    for version in VERSIONS.iter().filter(|v| **v != "0.21.0") {
        // In 0.140 a client that is killed during a call does not write the tokens.
        let pending =
            |surveyed: &SurveyedTranscript| surveyed.calls().iter().any(|c| c.status == Status::Pending);
        for surveyed in survey_version(version).into_iter().filter(|surveyed| !pending(surveyed)) {
            for row in surveyed.rows.iter().filter(|r| r.row == RowKind::Message && r.kind() == Kind::Reply) {
                assert!(!row.tokens.is_zero(), "{version}: {row:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_current_fork_contains_only_its_own_turns() {
    let all = survey_version("0.166.0");
    let fork = find_by_prompt(&all, "hello2 forked");
    assert_eq!(fork.texts(Kind::Prompt), ["SCENARIO:hello2 forked"]);
    assert_eq!(fork.texts(Kind::Reply), ["Second prompt answered."]);
    assert!(fork.rows.iter().all(|r| !r.has_flag(COPIED)));
    assert_eq!(fork.session().parent_session_id, None);
    let basic = find_by_prompt(&all, "add a helper");
    assert!(fork.rows.iter().all(|r| basic.rows.iter().all(|b| b.key != r.key)));
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_subagent_names_its_parent() {
    for version in ["0.140.0", "0.166.0"] {
        let all = survey_version(version);
        let (parent, sub) = (find_by_prompt(&all, "spawn please"), find_by_prompt(&all, "do part A"));
        let session = sub.session();
        assert_eq!(session.parent_session_id.as_ref(), Some(&parent.session().session_id));
        assert_eq!(*session.session_id, *sub.transcript.hint);
        assert!(["Confucius", "Lagrange"].contains(&session.agent_id.as_deref().unwrap()));
        assert_eq!(sub.texts(Kind::Task), ["SCENARIO:sub_a do part A"]);
        assert!(sub.texts(Kind::Prompt).is_empty());
        assert_eq!(sub.texts(Kind::Interruption), ["interrupted"]);
        assert!(sub.rows.iter().all(|r| r.has_flag(SIDECHAIN)));
        assert_eq!(parent.call_outcomes()[0], ("spawn_agent".to_string(), Status::Success, None));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn mcp_servers_are_named_and_their_refusals_are_errors() {
    let (good, bad) = (Status::Success, Status::Error);
    for (version, expected) in
        [("0.120.0", [good, bad, bad]), ("0.140.0", [bad, good, bad]), ("0.166.0", [bad, good, bad])]
    {
        let all = survey_version(version);
        let mcp = find_by_prompt(&all, "mcp please");
        let calls = mcp.calls();
        assert!(
            calls.iter().all(|c| c.tool == "mcp__mem__recall" && Call::mcp_server(&c.tool) == Some("mem"))
        );
        assert_eq!(calls.iter().map(|c| c.status).collect::<Vec<_>>(), expected, "{version}");
        let answered = calls.iter().find(|c| c.status == good).unwrap();
        assert!(answered.output.as_ref().unwrap().contains("MCP-RESULT-MARK"));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_killed_run_leaves_a_pending_call_and_an_interrupted_one_an_error() {
    for version in ["0.120.0", "0.140.0", "0.166.0"] {
        let all = survey_version(version);
        let slow: Vec<&SurveyedTranscript> =
            all.iter().filter(|one| has_prompt(one, "slow please")).collect();
        let [killed, interrupted] = slow[..] else { panic!("{version}: {} slow sessions", slow.len()) };
        assert_eq!(
            killed.call_outcomes(),
            [("exec_command".to_string(), Status::Pending, None)],
            "{version}"
        );
        assert!(killed.calls()[0].output.is_none());
        assert!(killed.texts(Kind::Interruption).is_empty());
        assert_eq!(interrupted.calls()[0].status, Status::Error, "{version}");
        assert!(interrupted.calls()[0].error.as_ref().unwrap().contains("aborted by user"));
        assert_eq!(interrupted.texts(Kind::Interruption), ["interrupted"]);
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn provider_failures_are_reported_if_codex_writes_them() {
    let all = survey_version("0.166.0");
    for (prompt, message) in
        [("err please", "experiencing high demand"), ("cut please", "stream disconnected")]
    {
        let surveyed = find_by_prompt(&all, prompt);
        let errors = surveyed.texts(Kind::ApiError);
        assert!(errors.len() == 1 && errors[0].contains(message), "{errors:?}");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_compaction_is_a_summary_and_not_a_reply() {
    let all = survey_version("0.166.0-tui");
    let surveyed = &all[0];
    assert_eq!(surveyed.texts(Kind::Prompt), ["SCENARIO:hello first turn", "SCENARIO:hello2 after compact"]);
    assert_eq!(surveyed.texts(Kind::Reply), ["Hello from stub", "Second prompt answered."]);
    let summaries = surveyed.texts(Kind::CompactionSummary);
    assert!(summaries.len() == 1 && summaries[0].contains("STUB-COMPACT-SUMMARY"));
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn compressed_and_archived_rollouts_equal_plain_ones() {
    for version in VERSIONS {
        let home = corpus_dir(version);
        let copy = tempfile::tempdir().unwrap();
        let archive = copy.path().join("archived_sessions");
        fs::create_dir_all(&archive).unwrap();
        let plain = list_transcripts(&home);
        for (n, transcript) in plain.iter().enumerate() {
            let name = transcript.path.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&transcript.path).unwrap();
            fs::write(archive.join(format!("{name}.zst")), zstd::encode_all(&bytes[..], 3).unwrap()).unwrap();
            if n == 0 {
                fs::write(archive.join(name), bytes).unwrap();
            }
        }
        let compressed = list_transcripts(copy.path());
        assert_eq!(compressed.len(), plain.len());
        assert!(
            compressed[0].path.extension().is_some_and(|e| e == "jsonl"),
            "the plain file takes precedence"
        );
        for (a, b) in plain
            .iter()
            .map(SurveyedTranscript::survey)
            .zip(compressed.iter().map(SurveyedTranscript::survey))
        {
            assert_eq!(a.rows, b.rows);
            assert_eq!(a.transcript.hint, b.transcript.hint);
            assert_eq!(*b.transcript.group, *copy.path());
            assert_eq!(a.session().session_id, b.session().session_id);
            assert_eq!(format!("{:?}", a.calls()), format!("{:?}", b.calls()));
            for kind in Kind::ALL {
                assert_eq!(a.texts(*kind), b.texts(*kind));
            }
        }
    }
}

// ---- hand-written rollouts

const PARENT: &str = "01a1dc64-3cc1-7db1-85f8-2f6568870902";
const FORK: &str = "01a1dc65-4c23-77c1-8d39-5f45af100de4";

fn header_line(id: &str, more: &str) -> String {
    wrapped_line("session_meta", &format!(r#""id":"{id}","cwd":"/w","cli_version":"0.120.0"{more}"#))
}

fn wrapped_line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-11-14T23:29:42.093Z","type":"{kind}","payload":{{{payload}}}}}"#)
}

fn event_line(kind: &str, more: &str) -> String {
    wrapped_line("event_msg", &format!(r#""type":"{kind}"{more}"#))
}

/// A prompt, a call with its result, a reply, and the running token total.
fn turn_lines(id: &str, text: &str, total: u32) -> Vec<String> {
    let usage = |n: u32| format!(r#"{{"input_tokens":{n},"cached_input_tokens":0,"output_tokens":1}}"#);
    let role = |role: &str, text: &str| {
        let content = format!(r#""content":[{{"type":"input_text","text":"{text}"}}]"#);
        wrapped_line("response_item", &format!(r#""type":"message","role":"{role}",{content}"#))
    };
    vec![
        event_line("task_started", &format!(r#","turn_id":"{id}""#)),
        role("user", text),
        event_line("user_message", &format!(r#","message":"{text}""#)),
        wrapped_line("turn_context", &format!(r#""turn_id":"{id}","model":"gpt-5""#)),
        wrapped_line(
            "response_item",
            &format!(r#""type":"function_call","name":"shell","arguments":"{{}}","call_id":"call-{id}""#),
        ),
        wrapped_line(
            "response_item",
            &format!(r#""type":"function_call_output","call_id":"call-{id}","output":"ok""#),
        ),
        event_line("agent_message", r#","message":"fine""#),
        role("assistant", "fine"),
        event_line(
            "token_count",
            &format!(r#","info":{{"total_token_usage":{},"last_token_usage":{}}}"#, usage(total), usage(7)),
        ),
    ]
}

fn write_rollout(lines: &[String]) -> (tempfile::TempDir, SurveyedTranscript) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions").join(format!("rollout-2026-11-14T23-29-42-{PARENT}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let surveyed = SurveyedTranscript::survey(&list_transcripts(dir.path())[0]);
    assert!(surveyed.facts.coverage.iter().all(|(_, c)| c.adds_up()));
    (dir, surveyed)
}

#[test]
fn an_old_fork_replays_its_parent_and_its_rows_are_recognised_as_copies() {
    let first = turn_lines("01a1dc64-3ce0-7603-bac4-43c46f2effc3", "hello", 7);
    let parent = [vec![header_line(PARENT, "")], first.clone()].concat();
    let own = turn_lines("01a1dc66-3ce0-7603-bac4-43c46f2effc3", "hello", 14);
    let fork = [
        vec![header_line(FORK, &format!(r#","forked_from_id":"{PARENT}""#)), header_line(PARENT, "")],
        first,
        own,
    ]
    .concat();
    let ((_a, parent), (_b, fork)) = (write_rollout(&parent), write_rollout(&fork));
    assert_eq!(&*fork.session().session_id, FORK);
    let keys = |rows: &[Row], copied: bool| {
        rows.iter().filter(|r| r.has_flag(COPIED) == copied).map(|r| r.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&fork.rows, true), keys(&parent.rows, false));
    assert_eq!((keys(&fork.rows, true).len(), keys(&fork.rows, false).len()), (3, 3));
    assert!(keys(&fork.rows, false).iter().all(|k| !keys(&parent.rows, false).contains(k)));
    assert_eq!((parent.tokens(), fork.tokens()), ((7, 0, 1), (14, 0, 2)));
}

#[test]
fn rolled_back_turns_are_abandoned_and_a_thread_name_is_the_title() {
    let ids = ["1", "2", "3"].map(|n| format!("01a1dc64-3ce0-7603-bac4-43c46f2effc{n}"));
    let lines = [
        vec![header_line(PARENT, "")],
        turn_lines(&ids[0], "one", 7),
        turn_lines(&ids[1], "two", 14),
        vec![event_line("thread_rolled_back", r#","num_turns":1"#)],
        turn_lines(&ids[2], "three", 21),
        vec![event_line("thread_name_updated", r#","thread_name":"Named by hand""#)],
    ]
    .concat();
    let (_dir, surveyed) = write_rollout(&lines);
    assert_eq!(surveyed.texts(Kind::Prompt), ["one", "two", "three"]);
    assert_eq!(surveyed.facts.abandoned, [2]);
    assert_eq!(&*surveyed.session().title.as_ref().unwrap().0, "Named by hand");
}

#[test]
fn damage_costs_one_line_and_is_counted() {
    let id = "01a1dc64-3ce0-7603-bac4-43c46f2effc3";
    let mut lines = [vec![header_line(PARENT, "")], turn_lines(id, "hello", 7)].concat();
    let reply = lines.remove(8);
    lines[7] = format!("{}{}{reply}", &lines[7][..60], "\0\0");
    lines.push(String::new());
    lines.push(wrapped_line("novelty", r#""a":1"#));
    lines.push(event_line("user_message", r#","message":"cut of"#)[..70].to_string());
    let (_dir, surveyed) = write_rollout(&lines);
    let (_, coverage) = &surveyed.facts.coverage[0];
    assert_eq!((coverage.bad, coverage.salvaged, coverage.blank, coverage.unknown_count()), (2, 1, 1, 1));
    assert_eq!(surveyed.texts(Kind::Reply), ["fine"]);
}

#[test]
fn a_truncated_compressed_rollout_is_read_up_to_the_cut() {
    let id = "01a1dc64-3ce0-7603-bac4-43c46f2effc3";
    let (dir, _) = write_rollout(&[vec![header_line(PARENT, "")], turn_lines(id, "hello", 7)].concat());
    let plain = list_transcripts(dir.path()).remove(0).path;
    let mut compressed = zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap();
    compressed.extend_from_slice(&compressed.clone()[..compressed.len() - 9]);
    fs::write(plain.with_extension("jsonl.zst"), compressed).unwrap();
    fs::remove_file(plain).unwrap();
    let surveyed = SurveyedTranscript::survey(&list_transcripts(dir.path())[0]);
    assert_eq!(surveyed.texts(Kind::Prompt)[0], "hello");
    assert_eq!(surveyed.facts.problems.last().unwrap().kind, record::ProblemKind::Unreadable);
}

#[test]
fn fetching_a_row_whose_line_changed_fails() {
    let id = "01a1dc64-3ce0-7603-bac4-43c46f2effc3";
    let (_dir, surveyed) =
        write_rollout(&[vec![header_line(PARENT, "")], turn_lines(id, "hello", 7)].concat());
    let mut row = *surveyed.rows.iter().find(|r| r.row == RowKind::Call).unwrap();
    row.id[5] ^= 1;
    assert!(Codex.fetch_call(&surveyed.transcript, &surveyed.transcript, &row).is_err());
    row.id[5] ^= 1;
    row.end = 0;
    assert!(Codex.fetch_call(&surveyed.transcript, &surveyed.transcript, &row).is_err());
}
