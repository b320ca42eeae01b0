//! Claude Code from 0.2 to 2.1: prompts, calls, failures, tokens, titles and projects, compared with the scripts.

use crate::raw::{Raw, list_transcripts};
use crate::script::{Script, scenario_name};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use testutil::Home;
use testutil::corpus::{assert_unique, call_outcomes, sorted, text, texts, usage_counts};
use testutil::needs::shared_folder;

/// Versions that were driven with the short list of scenarios, in order of release.
const OLD: &[&str] = &[
    "0.2.114", "1.0.30", "1.0.90", "2.0.13", "2.0.57", "2.0.76", "2.1.1", "2.1.50", "2.1.96", "2.1.170",
    "2.1.197",
];
const NEW: &str = "2.1.325";
/// Stores of the newest version that were recorded with special scripts.
const SPECIAL: &[&str] = &[
    "2.1.325-hk",
    "2.1.325-kill",
    "2.1.325-plugin",
    "2.1.325-pwd",
    "2.1.325-torn",
    "2.1.325-tui",
    "2.1.325-tui3",
];
/// The prompts typed to an old version. `/compact` came third; it is a command, not a prompt.
const PROMPTS_OLD: &[&str] = &[
    "SCENARIO:basic Please add a helper and test it.",
    "SCENARIO:hello2 follow-up question",
    "SCENARIO:subagent_old please",
    "SCENARIO:todowrite please",
    "SCENARIO:image please",
    "SCENARIO:bigout please",
];

/// Calls that ended differently from the script: versions, scenario, index of the call, part of the error message.
const DEVIATIONS: &[(&[&str], &str, usize, &str)] = &[
    (&["0.2.114", "1.0.30"], "basic", 4, "InputValidationError: Grep"), // no `output_mode` yet
    (&["0.2.114", "1.0.30"], "todowrite", 0, "InputValidationError: TodoWrite"), // requires IDs
    (&["0.2.114"], "subagent_old", 0, "Error"),                         // Task failed as a whole
    (&["1.0.90", "2.0.13"], "subagent_old", 2, "Agent type 'Explore' not found"),
    (
        &["1.0.90", "2.0.13", "2.0.57", "2.0.76", "2.1.1", "2.1.50", "2.1.96"],
        "bigout",
        1,
        "exceeds maximum allowed tokens", // later versions truncate the file instead
    ),
    (&["2.1.170", "2.1.197"], "basic", 4, "No such tool available: Grep"),
    (&["2.1.170", "2.1.197"], "basic", 5, "No such tool available: Glob"),
    (&["2.1.170", "2.1.197"], "todowrite", 0, "No such tool available: TodoWrite"),
    (&["2.1.170", "2.1.197"], "todowrite", 1, "No such tool available: TodoWrite"),
    (&[NEW], "plan", 0, "No such tool available: ExitPlanMode"), // -p cannot leave plan mode
    (&[NEW], "slow", 0, "Blocked: sleep 30"),                    // the command in the script at that time
];

/// Up to 1.0.30 the client sends back one more reply than it received, so the script's second turn is never requested.
const NO_SECOND_TURN: &[&str] = &["0.2.114", "1.0.30"];
/// Up to 1.0.90 resuming starts a new session.
const RESUME_STARTS_SESSION: &[&str] = &["0.2.114", "1.0.30", "1.0.90"];
/// Up to 2.0.13 a failed command does not report its exit code.
const NO_EXIT_CODE: &[&str] = &["0.2.114", "1.0.30", "1.0.90", "2.0.13"];
/// 2.0.57 does not record the prompt of a subagent.
const NO_TASKS: &str = "2.0.57";

fn open_store(version: &str) -> (Home, Script) {
    (Home::of_recorded("claude-code", version), Script::claude(&shared_folder().join("clients")))
}

fn all_stores() -> impl Iterator<Item = &'static str> {
    OLD.iter().chain([&NEW]).chain(SPECIAL).copied()
}

/// The prompts that `run_all.sh` typed.
fn prompts_new() -> Vec<String> {
    let mut prompts: Vec<String> = [
        PROMPTS_OLD[0],
        PROMPTS_OLD[1],
        "SCENARIO:hello2 continue question",
        "SCENARIO:hello2 fork question",
        "SCENARIO:hello2 after compaction",
        "SCENARIO:hello named session",
        "SCENARIO:hello in a worktree",
        "SCENARIO:hello look at this\n[image: image/png]",
        "SCENARIO:hello2 second message in the same process",
    ]
    .map(String::from)
    .to_vec();
    let please = "bigout image todo subagent subagent_bg nested bgbash badtool notebook web maxtok refusal sseerr \
                  denied todowrite plan json err529once err529 err400 err401 err429 ssecut";
    prompts.extend(please.split_whitespace().map(|s| format!("SCENARIO:{s} please")));
    prompts.extend(vec!["SCENARIO:hello path".to_string(); 13]);
    // Once over the control protocol, and once for each signal.
    prompts.extend(vec!["SCENARIO:slow run it".to_string(); 4]);
    prompts
}

/// The prompts typed into the terminal interface, from the step files.
fn tui_prompts(names: &[&str]) -> Vec<String> {
    let folder = shared_folder().join("clients/claude-code");
    let read = |name: &&str| -> Vec<Value> {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let sent = names.iter().flat_map(read).filter_map(|s| s["send"].as_str().map(|t| t.trim().to_string()));
    sent.filter(|t| t.starts_with("SCENARIO:")).collect()
}

fn to_strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Session, turn and text of each prompt.
fn prompt_turns(prompts: &[Value]) -> Vec<(&str, u64, &str)> {
    prompts.iter().map(|p| (text(p, "session_id"), p["turn"].as_u64().unwrap(), text(p, "text"))).collect()
}

fn session_of<'a>(prompts: &'a [Value], start: &str) -> &'a str {
    let found = prompts.iter().find(|p| text(p, "text").starts_with(start));
    text(found.unwrap_or_else(|| panic!("no prompt starts with {start}")), "session_id")
}

fn is_main(record: &Value) -> bool {
    record["agent_id"].is_null()
}

// ---- prompts

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn each_typed_prompt_is_listed_once() {
    for version in all_stores() {
        let (home, _) = open_store(version);
        let prompts = home.prompts();
        let expected = match version {
            NEW => prompts_new(),
            "2.1.325-tui" => tui_prompts(&["tui_steps2.json"]),
            "2.1.325-tui3" => tui_prompts(&["tui_steps3.json", "tui_steps4.json"]),
            old if OLD.contains(&old) => to_strings(PROMPTS_OLD),
            _ => Raw::read(home.path()).marked_prompts(),
        };
        assert_eq!(sorted(texts(&prompts, "text")), sorted(expected), "{version}");
        assert!(prompts.iter().all(is_main), "{version}: a prompt has an agent ID");
        assert!(prompts.iter().all(|p| p["kind"] == "prompt" && p["role"] == "user"), "{version}");
        assert_unique(&prompts, "id", version);
        if version.starts_with(NEW) {
            let marked = Raw::read(home.path()).marked_prompts();
            assert_eq!(sorted(texts(&prompts, "text")), sorted(marked), "{version}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn resume_continues_or_starts_a_session_depending_on_the_version() {
    for version in OLD.iter().chain([&NEW]) {
        let (home, _) = open_store(version);
        let prompts = home.prompts();
        let (first, resumed) =
            (session_of(&prompts, "SCENARIO:basic"), session_of(&prompts, "SCENARIO:hello2 follow-up"));
        assert_eq!(first != resumed, RESUME_STARTS_SESSION.contains(version), "{version}");
        let tools = home.tools();
        assert!(tools.iter().all(|t| text(t, "session_id") != resumed) || first == resumed, "{version}");
        assert_unique(&tools, "id", version);
        assert_unique(&home.messages(), "id", version);
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_fork_has_only_its_own_prompt_and_reply() {
    for (version, prompt) in
        [(NEW, "SCENARIO:hello2 fork question"), ("2.1.325-tui3", "SCENARIO:hello2 after /branch")]
    {
        let (home, _) = open_store(version);
        let fork = session_of(&home.prompts(), prompt).to_string();
        let own = |args: &[&str]| home.run(&[args, &["--session", &fork]].concat()).records;
        assert_eq!(texts(&own(&["query", "user-messages"]), "text"), [prompt], "{version}");
        let replies = own(&["query", "assistant-messages"]);
        assert_eq!(
            texts(&replies, "text"),
            ["Second prompt answered, the earlier answer was known."],
            "{version}"
        );
        assert!(own(&["query", "tools"]).is_empty(), "{version}");
        let turns = own(&["query", "turns"]);
        assert_eq!(texts(&turns, "prompt"), [prompt], "{version}");
        assert_eq!(usage_counts(&own(&["usage", "--by", "total"])[0])[0], 1, "{version}");
    }
}

/// Not covered by the scripts: `do it` is interrupted and typed again, and the session is forked before a reply comes.
#[test]
fn a_prompt_typed_twice_counts_twice_and_a_copied_one_once() {
    for version in ["1.0.90", NEW] {
        let home = Home::new();
        let folder = home.path().join(".claude/projects/-w");
        fs::create_dir_all(&folder).unwrap();
        let user = |session: &str, id: &str, second: u8, text: &str| {
            serde_json::json!({"type": "user", "uuid": id, "sessionId": session, "cwd": "/w", "version": version,
                "timestamp": format!("2026-11-14T23:18:0{second}.000Z"),
                "message": {"role": "user", "content": text}})
        };
        let common_entries = |session: &str| {
            let stop = "[Request interrupted by user]";
            vec![
                user(session, "u1", 1, "do it"),
                user(session, "u2", 2, stop),
                user(session, "u3", 3, "do it"),
            ]
        };
        let reply = serde_json::json!({"type": "assistant", "uuid": "a1", "sessionId": "fork", "cwd": "/w",
            "version": version, "timestamp": "2026-11-14T23:18:09.000Z",
            "message": {"role": "assistant", "id": "m1", "model": "m", "content": [{"type": "text", "text": "done"}]}});
        let forked = [common_entries("fork"), vec![user("fork", "u4", 8, "go on"), reply]].concat();
        for (name, entries) in [("first", common_entries("first")), ("fork", forked)] {
            let lines: Vec<String> = entries.iter().map(ToString::to_string).collect();
            fs::write(folder.join(format!("{name}.jsonl")), lines.join("\n") + "\n").unwrap();
        }
        let prompts = home.prompts();
        let found: Vec<_> = prompts.iter().map(|p| (text(p, "session_id"), text(p, "text"))).collect();
        assert_eq!(found, [("first", "do it"), ("first", "do it"), ("fork", "go on")], "{version}");
        assert_eq!(home.messages().len(), 5, "{version}");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_rewind_leaves_an_abandoned_branch() {
    let (home, _) = open_store("2.1.325-tui3");
    for view in ["user-messages", "turns"] {
        let key = if view == "turns" { "prompt" } else { "text" };
        let records = home.all(&["query", view]);
        let abandoned: Vec<&Value> = records.iter().filter(|r| r["abandoned"] == true).collect();
        assert_eq!(abandoned.len(), 1, "{view}");
        assert_eq!(text(abandoned[0], key), "SCENARIO:hello first branch");
    }
    let replies = home.all(&["query", "assistant-messages"]);
    let abandoned: Vec<&Value> = replies.iter().filter(|r| r["abandoned"] == true).collect();
    assert_eq!(abandoned.iter().map(|r| text(r, "text")).collect::<Vec<_>>(), ["Hello from stub"]);
    for version in all_stores().filter(|v| *v != "2.1.325-tui3") {
        let (home, _) = open_store(version);
        assert!(home.messages().iter().all(|m| m["abandoned"].is_null()), "{version}");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn text_generated_by_the_client_is_not_a_prompt() {
    for version in all_stores() {
        let (home, _) = open_store(version);
        let messages = home.messages();
        let of_kind = |kind: &str| messages.iter().filter(|m| m["kind"] == kind).collect::<Vec<_>>();
        assert_eq!(
            of_kind("compaction_summary").len(),
            Raw::read(home.path()).count_summaries(),
            "{version}"
        );
        assert!(of_kind("compaction_summary").iter().all(|m| m["role"] == "user"), "{version}");
        for message in &messages {
            let content = text(message, "text");
            let is_wrapper =
                content.starts_with('<') || content.starts_with("Caveat:") || content.starts_with("[Request");
            assert!(!is_wrapper || message["kind"] != "prompt", "{version}: {content}");
            assert_ne!(content, "Warmup", "{version}");
        }
        if version == NEW {
            // One from a background agent and one from a background shell.
            assert_eq!(of_kind("notification").len(), 2);
        }
        if version == "2.1.325-tui" {
            assert_eq!(
                (of_kind("shell").len(), of_kind("shell_output").len(), of_kind("interruption").len()),
                (1, 1, 1)
            );
        }
    }
    let (home, _) = open_store("2.0.13");
    let summary = home.messages().into_iter().find(|m| m["kind"] == "compaction_summary").unwrap();
    assert!(text(&summary, "text").contains("STUB-COMPACT-SUMMARY"));
}

// ---- calls

/// Tool and status of each call of a scenario in a version.
fn expected_ends(script: &Script, version: &str, name: &str) -> Vec<(String, String)> {
    let mut calls = script.calls(name);
    let differs = DEVIATIONS.iter().filter(|(versions, of, ..)| *of == name && versions.contains(&version));
    differs.for_each(|(_, _, at, _)| calls[*at].fails = true);
    if NO_SECOND_TURN.contains(&version) {
        calls.retain(|c| c.turn != 1);
    }
    calls.iter().map(super::script::PlannedCall::end).collect()
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn calls_match_the_script_in_order_and_status() {
    for version in OLD.iter().chain([&NEW]) {
        let (home, script) = open_store(version);
        let (tools, prompts) = (home.tools(), home.prompts());
        let mut matched = 0;
        for (session, turn, prompt) in prompt_turns(&prompts) {
            let calls: Vec<&Value> = tools
                .iter()
                .filter(|t| text(t, "session_id") == session && t["turn"] == turn && is_main(t))
                .collect();
            matched += calls.len();
            let name = scenario_name(prompt).unwrap();
            assert_eq!(call_outcomes(calls), expected_ends(&script, version, name), "{version}: {prompt}");
        }
        assert_eq!(
            matched,
            tools.iter().filter(|t| is_main(t)).count(),
            "{version}: calls that belong to no prompt"
        );
        for (versions, name, _, message) in DEVIATIONS.iter().filter(|(v, ..)| v.contains(version)) {
            let session = session_of(&prompts, &format!("SCENARIO:{name} ")).to_string();
            let errors = tools.iter().filter(|t| text(t, "session_id") == session).map(|t| text(t, "error"));
            assert!(errors.into_iter().any(|e| e.contains(message)), "{versions:?} {name}: {message}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn subagents_have_their_own_calls_and_their_parents_session() {
    for version in OLD.iter().chain([&NEW, &"2.1.325-plugin"]) {
        let (home, script) = open_store(version);
        let tools = home.tools();
        let mut expected: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for call in tools.iter().filter(|t| ["Task", "Agent"].contains(&text(t, "tool"))) {
            if text(call, "status") == "success" {
                let name = scenario_name(text(&call["input"], "prompt")).unwrap();
                expected.push((text(call, "session_id").to_string(), script.ends(name)));
            }
        }
        let mut agents: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
        for call in tools.iter().filter(|t| !is_main(t)) {
            agents.entry((text(call, "session_id"), text(call, "agent_id"))).or_default().push(call);
        }
        let mut found: Vec<_> = agents
            .iter()
            .map(|((session, _), calls)| (session.to_string(), call_outcomes(calls.clone())))
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{version}");
        assert_eq!(expected.is_empty(), *version == "0.2.114", "{version}");

        // Transcripts of warm-up calls are not sessions.
        let sessions: Vec<Value> = home.sessions().into_iter().filter(|s| !is_main(s)).collect();
        let named = |s: &Value| (text(s, "session_id").to_string(), text(s, "agent_id").to_string());
        let known: BTreeSet<_> = sessions.iter().map(named).collect();
        assert_eq!(known, agents.keys().map(|(s, a)| (s.to_string(), a.to_string())).collect(), "{version}");
        for session in &sessions {
            assert_eq!(session["parent_session_id"], session["session_id"], "{version}");
            assert_eq!(session["turns"], u64::from(*version != NO_TASKS), "{version}");
        }
        for (session, agent) in agents.keys() {
            for name in [agent.to_string(), format!("agent-{agent}")] {
                let own = home.run(&["query", "tools", "--session", &name]).records;
                assert_eq!(own.len(), agents[&(*session, *agent)].len(), "{version}: {name}");
                assert!(own.iter().all(|t| text(t, "agent_id") == *agent), "{version}");
            }
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn calls_of_a_killed_client_are_failed_or_pending() {
    let (home, _) = open_store("2.1.325-kill");
    let tools = home.tools();
    for (folder, expected) in [
        ("proj-sig-INT", &[("error", None)][..]),
        ("proj-sig-TERM", &[("error", Some(137))]),
        ("proj-sig-KILL", &[("pending", None)]),
    ] {
        let calls = tools.iter().filter(|t| text(t, "project").ends_with(folder));
        let found: Vec<_> = calls.map(|t| (text(t, "status"), t["exit_code"].as_i64())).collect();
        assert_eq!(found, expected, "{folder}");
    }
    let pending: Vec<&Value> = tools.iter().filter(|t| t["status"] == "pending").collect();
    assert_eq!(pending.len(), 2);
    assert!(pending.iter().all(|t| t["output"].is_null() && t["error"].is_null()));
    let rejected = tools.iter().find(|t| text(t, "project").ends_with("INT")).unwrap();
    assert!(text(rejected, "error").starts_with("The user doesn't want to proceed"));
    let interruption = home.messages().into_iter().find(|m| m["kind"] == "interruption").unwrap();
    assert_eq!(interruption["session_id"], rejected["session_id"]);
}

// ---- failures

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn errors_are_exactly_the_failed_calls_and_provider_errors() {
    for version in all_stores() {
        let (home, _) = open_store(version);
        let (errors, tools) = (home.errors(), home.tools());
        let failed: Vec<Value> = tools.into_iter().filter(|t| t["status"] == "error").collect();
        let (api, calls): (Vec<Value>, Vec<Value>) = errors.into_iter().partition(|e| e["tool"] == "api");
        assert_eq!(sorted(texts(&calls, "id")), sorted(texts(&failed, "id")), "{version}");
        assert_eq!(api.len(), Raw::read(home.path()).count_api_errors(), "{version}");
        for error in &calls {
            let suffix = text(error, "message").strip_prefix("Exit code ");
            let code = suffix.and_then(|s| s.lines().next()?.parse::<i64>().ok());
            assert_eq!(error["exit_code"].as_i64(), code, "{version}: {error}");
            let call = failed.iter().find(|t| t["id"] == error["id"]).unwrap();
            assert_eq!(call["error_signature"], error["signature"], "{version}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn only_equal_failures_share_a_signature() {
    for version in OLD.iter().chain([&NEW]) {
        let (home, _) = open_store(version);
        let basic = session_of(&home.prompts(), "SCENARIO:basic").to_string();
        let errors = home.run(&["query", "errors", "--session", &basic]).records;
        let mut by_signature: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for error in errors.iter().filter(|e| e["tool"] != "api") {
            by_signature.entry(text(error, "signature")).or_default().push(error);
        }
        let repeated: Vec<_> = by_signature.values().filter(|all| all.len() > 1).collect();
        assert_eq!((repeated.len(), repeated[0].len()), (1, 3), "{version}: {by_signature:?}");
        let code = if NO_EXIT_CODE.contains(version) { None } else { Some(3) };
        for error in repeated[0] {
            assert_eq!((text(error, "tool"), error["exit_code"].as_i64()), ("Bash", code), "{version}");
            assert!(text(error, "message").contains("AssertionError: expected 42 got 41"), "{version}");
        }
        let signature = text(repeated[0][0], "signature");
        let named = home.all(&["query", "errors", "--signature", signature]);
        assert_eq!(named.len(), 3, "{version}");
        assert_eq!(home.all(&["query", "context", "--signature", signature]).len(), 3, "{version}");
        let groups = home.all(&["analyze", "errors"]);
        let group = groups.iter().find(|g| text(g, "signature") == signature).unwrap();
        assert_eq!(group["count"], 3, "{version}");
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn provider_errors_occur_where_the_script_causes_them() {
    let (home, _) = open_store(NEW);
    let prompts = home.prompts();
    let scenarios: BTreeMap<&str, &str> =
        prompts.iter().map(|p| (text(p, "session_id"), scenario_name(text(p, "text")).unwrap())).collect();
    let errors = home.all(&["query", "errors", "--tool", "api", "--reverse"]);
    let found: Vec<_> =
        errors.iter().map(|e| (scenarios[text(e, "session_id")], text(e, "message"))).collect();
    let expected = [
        ("err529once", "529 Overloaded"),
        ("err529", "API Error: 529 Overloaded"),
        ("err400", "Prompt is too long"),
        ("err401", "401 invalid x-api-key"),
        ("err401", "Invalid API key"),
        ("err429", "API Error: Request rejected (429)"),
        ("ssecut", "Connection dropped"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((scenario, message), (wanted, start)) in found.iter().zip(expected) {
        assert!(*scenario == wanted && message.starts_with(start), "{scenario}: {message}");
    }
}

// ---- tokens

/// The rules of `usage --explain`, and whether the tokens they apply to are counted.
const RULES: &[(&str, bool)] = &[
    ("reply", true),
    ("sidechain", true),
    ("warm_up", true),
    ("streamed_block", false),
    ("replayed", false),
    ("synthetic", false),
];

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn tokens_match_the_transcripts_and_count_each_reply_once() {
    for version in all_stores() {
        let (home, _) = open_store(version);
        let expected = Raw::read(home.path()).total();
        assert_eq!(home.total_usage(), expected, "{version}");
        for by in ["day", "session", "model", "project", "source"] {
            let groups = home.all(&["usage", "--by", by]);
            assert_eq!(sum_counts(groups.iter().map(usage_counts)), expected, "{version} by {by}");
        }
        let explained = home.all(&["usage", "--explain"]);
        let (rules, rows): (Vec<&Value>, Vec<&Value>) =
            explained.iter().partition(|r| !r["meaning"].is_null());
        let listed: Vec<_> = rules.iter().map(|r| (text(r, "rule"), r["counted"] == true)).collect();
        assert_eq!(listed, RULES, "{version}");
        let counted = |r: &&&Value| r["counted"] == true;
        assert_eq!(sum_counts(rules.iter().filter(counted).map(|r| usage_counts(r))), expected, "{version}");
        let row = |r: &&Value| {
            let [_, input, output, read, write] = usage_counts(r);
            [1, input, output, read, write]
        };
        assert_eq!(sum_counts(rows.iter().filter(counted).map(row)), expected, "{version}");
    }
}

fn sum_counts(all: impl Iterator<Item = [u64; 5]>) -> [u64; 5] {
    all.fold([0; 5], |sum, one| std::array::from_fn(|i| sum[i] + one[i]))
}

// ---- titles, projects, session IDs

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_title_given_by_the_user_takes_precedence() {
    for (version, expected) in [
        (NEW, &["My named session"][..]),
        ("2.1.325-tui", &["renamed-session", "renamed-session"]), // `/clear` keeps it
        ("2.1.325-tui3", &["SCENARIO:basic_tui please add a helper (Branch)"]),
    ] {
        let (home, _) = open_store(version);
        let sessions = home.sessions();
        let custom: Vec<Value> = sessions.into_iter().filter(|s| s["title_origin"] == "custom").collect();
        assert_eq!(texts(&custom, "title"), expected, "{version}");
    }
    for version in OLD {
        let (home, _) = open_store(version);
        for session in home.sessions().iter().filter(|s| is_main(s)) {
            assert!(text(session, "title").starts_with("SCENARIO:"), "{version}: {session}");
        }
    }
}

/// Session IDs by working directory, read from the raw files. A worktree has an entry of its own.
fn sessions_by_project(home: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in list_transcripts(&home.join(".claude/projects")) {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let lines = fs::read_to_string(&path).unwrap();
        let mut entries = lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        if !stem.starts_with("agent-") {
            let cwd = entries.find_map(|e| e["cwd"].as_str().map(String::from)).unwrap();
            found.entry(cwd).or_default().push(stem);
        }
    }
    found
}

fn main_session_ids(sessions: &[Value]) -> Vec<String> {
    let main = sessions.iter().filter(|s| is_main(s));
    sorted(main.map(|s| text(s, "session_id").to_string()).collect())
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_project_is_its_working_directory_for_any_path() {
    let (home, _) = open_store(NEW);
    let projects = sessions_by_project(home.path());
    let unusual = projects.keys().filter(|p| p.contains("/paths/")).count();
    assert_eq!(unusual, 12);
    for (cwd, expected) in &projects {
        let mut expected = sorted(expected.clone());
        if cwd.ends_with("/proj-main") {
            let worktree = projects.iter().find(|(p, _)| p.contains("worktrees")).unwrap();
            expected.extend(worktree.1.clone());
            expected.sort();
        }
        let response = home.run(&["query", "sessions", "--project", cwd]);
        assert_eq!(response.code, 0, "{cwd}: {}", response.stderr);
        assert_eq!(main_session_ids(&response.records), expected, "{cwd}");
    }
    let parent = home.run(&["query", "sessions", "--project", "/home/dev/work/cc-2.1.325/paths"]);
    assert_eq!(main_session_ids(&parent.records).len(), 13);
    let other = home.run(&["query", "sessions", "--project", "/home/dev/work/cc-2.1.325/paths/My"]);
    assert_eq!((other.code, other.records.len()), (2, 0));
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn two_projects_in_one_transcript_folder_are_kept_apart() {
    let (home, _) = open_store(NEW);
    let (original, other) = ("日本語プロジェクト", "!@#$%^&()");
    let file = list_transcripts(&home.path().join(".claude/projects"))
        .into_iter()
        .find(|f| fs::read_to_string(f).unwrap().contains(original))
        .unwrap();
    // Claude Code names the folder of both projects alike: add a session of the other project to it.
    let lines = fs::read_to_string(&file).unwrap().replace(original, other);
    let entries: Vec<String> =
        lines.lines().map(|l| change_ids(serde_json::from_str(l).unwrap()).to_string()).collect();
    let old = file.file_stem().unwrap().to_str().unwrap().to_string();
    let new = change_id(&old);
    fs::write(file.with_file_name(format!("{new}.jsonl")), entries.join("\n") + "\n").unwrap();
    for (name, id) in [(original, old), (other, new)] {
        let path = format!("/home/dev/work/cc-2.1.325/paths/{name}");
        let found = home.run(&["query", "sessions", "--project", &path]).records;
        assert_eq!(texts(&found, "session_id"), [id], "{name}");
        assert_eq!(texts(&found, "project"), [path]);
    }
}

fn change_id(id: &str) -> String {
    format!("c0111de5{}", &id[8..])
}

/// The entry with all its IDs changed.
fn change_ids(mut entry: Value) -> Value {
    for key in ["uuid", "parentUuid", "sessionId", "leafUuid"] {
        if let Some(id) = entry[key].as_str().map(change_id) {
            entry[key] = Value::String(id);
        }
    }
    if let Some(id) = entry["message"]["id"].as_str().map(change_id) {
        entry["message"]["id"] = Value::String(id);
    }
    entry
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn a_session_is_found_by_its_id_prefix() {
    for version in ["1.0.30", "2.0.76", NEW] {
        let (home, _) = open_store(version);
        let tools = home.tools();
        for session in home.sessions().iter().filter(|s| is_main(s)) {
            let id = text(session, "session_id");
            let found = home.run(&["query", "tools", "--session", &id[..8], "--reverse"]).records;
            let expected: Vec<&Value> = tools.iter().filter(|t| text(t, "session_id") == id).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{version}: {id}");
            let named = home.run(&["query", "sessions", "--session", &id[..8]]).records;
            assert_eq!(main_session_ids(&named), [id], "{version}");
        }
        let missing = home.run(&["query", "tools", "--session", "no-such-session"]);
        assert_eq!((missing.code, text(&missing.records[0], "code")), (1, "SESSION_NOT_FOUND"));
    }
}
