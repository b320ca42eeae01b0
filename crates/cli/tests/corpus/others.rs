//! Codex, Gemini CLI and `OpenCode` through the command line. A table for each agent lists the expected results,
//! derived from the scripts and from what each version does with them. The tests of the sources check more detail.

use crate::script::scenario_name;
use serde_json::Value;
use std::collections::BTreeMap;
use testutil::Home;
use testutil::corpus::{assert_unique, sorted, text, texts, usage_counts};

struct Store {
    client: &'static str,
    version: &'static str,
    /// The version in `loci sources`; the formats of Gemini and of the oldest Codex do not contain it.
    reported_version: &'static str,
    prompts: &'static [&'static str],
    /// Scenario of a session, or `subagent`, and its calls: tool, status, exit code.
    calls: &'static [(&'static str, &'static str)],
    /// Beginnings of the provider's error messages.
    api_errors: &'static [&'static str],
    /// Number of replies; input, output, cache read and cache write tokens.
    total: [u64; 5],
}

const CODEX: &[Store] = &[
    Store {
        client: "codex",
        version: "0.21.0",
        reported_version: "unknown",
        prompts: &[
            "SCENARIO:basic_shell Please add a helper and test it.",
            "SCENARIO:hello look at the picture",
            "[image: image/png]",
        ],
        calls: &[("basic_shell", "shell ok 0, update_plan ok")],
        api_errors: &[],
        total: [0; 5],
    },
    Store {
        client: "codex",
        version: "0.45.0",
        reported_version: "0.45.0",
        prompts: &[
            "SCENARIO:basic_shell Please add a helper and test it.",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:hello look at the picture",
            "[image: image/png]",
        ],
        calls: &[(
            "basic_shell",
            "shell ok 0, update_plan error, apply_patch error, shell error, shell error 3, shell error 3, \
             shell error 3, shell ok 0, shell ok 0, view_image ok, no_such_tool error",
        )],
        api_errors: &[],
        total: [14, 56039, 758, 56030, 0],
    },
    Store {
        client: "codex",
        version: "0.80.0",
        reported_version: "0.80.0",
        prompts: &[
            "SCENARIO:basic_shell Please add a helper and test it.",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:hello look at the picture\n[image: image/png]",
        ],
        calls: &[(
            "basic_shell",
            "shell ok 0, update_plan ok, apply_patch error, shell error, shell error 3, shell error 3, shell error 3, \
             shell ok 0, shell ok 0, shell ok 0, view_image ok, no_such_tool error",
        )],
        api_errors: &[],
        total: [14, 71607, 766, 71599, 0],
    },
    Store {
        client: "codex",
        version: "0.120.0",
        reported_version: "0.120.0",
        prompts: &[
            "SCENARIO:basic_exec_command Please add a helper and test it.",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:hello look at the picture\n[image: pic.png]",
            "SCENARIO:err please",
            "SCENARIO:cut please",
            "SCENARIO:spawn please",
            "SCENARIO:mcp please",
            "SCENARIO:slow please",
            "SCENARIO:slow please",
        ],
        calls: &[
            (
                "basic_exec_command",
                "exec_command ok 0, update_plan ok, apply_patch error, exec_command error, exec_command error 3, \
                 exec_command error 3, exec_command error 3, exec_command ok 0, exec_command ok 0, \
                 exec_command ok 0, view_image ok, no_such_tool error",
            ),
            ("mcp", "mcp__mem__recall ok, mcp__mem__recall error, mcp__mem__recall error"),
            ("slow", "exec_command error"),
            ("slow", "exec_command pending"),
            ("spawn", "spawn_agent error, wait_agent error"),
        ],
        api_errors: &[],
        total: [23, 138_397, 1225, 138_384, 0],
    },
    Store {
        client: "codex",
        version: "0.140.0",
        reported_version: "0.140.0",
        prompts: &[
            "SCENARIO:basic_exec_command Please add a helper and test it.",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:hello look at the picture\n[image: pic.png]",
            "SCENARIO:err please",
            "SCENARIO:cut please",
            "SCENARIO:spawn please",
            "SCENARIO:mcp please",
            "SCENARIO:slow please",
            "SCENARIO:slow please",
        ],
        calls: &[
            (
                "basic_exec_command",
                "exec_command ok 0, update_plan ok, apply_patch ok 0, exec_command ok 0, exec_command error 3, \
                 exec_command error 3, exec_command error 3, exec_command ok 0, exec_command ok 0, \
                 exec_command ok 0, view_image ok, no_such_tool error",
            ),
            ("mcp", "mcp__mem__recall error, mcp__mem__recall ok, mcp__mem__recall error"),
            ("slow", "exec_command error"),
            ("slow", "exec_command pending"),
            ("spawn", "spawn_agent ok, wait_agent ok"),
            ("subagent", "exec_command ok 0"),
        ],
        api_errors: &[],
        total: [23, 142_672, 1225, 142_665, 0],
    },
    Store {
        client: "codex",
        version: "0.166.0",
        reported_version: "0.166.0",
        prompts: &[
            "SCENARIO:basic_exec_command Please add a helper and test it.",
            "SCENARIO:hello2 follow-up",
            "[image: pic.png]\nSCENARIO:hello look at the picture",
            "SCENARIO:hello2 forked",
            "SCENARIO:err please",
            "SCENARIO:cut please",
            "SCENARIO:spawn please",
            "SCENARIO:mcp please",
            "SCENARIO:slow please",
            "SCENARIO:slow please",
        ],
        calls: &[
            (
                "basic_exec_command",
                "exec_command ok 0, update_plan error, apply_patch ok 0, exec_command ok 0, exec_command error 3, \
                 exec_command error 3, exec_command error 3, exec_command ok 0, exec_command ok 0, \
                 exec_command ok 0, view_image ok, no_such_tool error",
            ),
            ("mcp", "mcp__mem__recall error, mcp__mem__recall ok, mcp__mem__recall error"),
            ("slow", "exec_command error"),
            ("slow", "exec_command pending"),
            ("spawn", "spawn_agent ok, wait_agent ok"),
            ("subagent", "exec_command error"),
        ],
        api_errors: &["We’re currently experiencing high demand", "stream disconnected"],
        total: [25, 152_621, 1325, 152_609, 0],
    },
    Store {
        client: "codex",
        version: "0.166.0-tui",
        reported_version: "0.166.0",
        prompts: &["SCENARIO:hello first turn", "SCENARIO:hello2 after compact"],
        calls: &[],
        api_errors: &[],
        total: [3, 20088, 150, 20087, 0],
    },
];

const GEMINI: &[Store] = &[
    Store {
        client: "gemini-cli",
        version: "0.11.3",
        reported_version: "unknown",
        prompts: &[
            "SCENARIO:basic Please add a helper and test it.",
            "SCENARIO:hello hi",
            "SCENARIO:sub please",
            "SCENARIO:hello look at @pic.png\n--- Content from referenced files ---<image/png>\n--- End of content ---",
            "SCENARIO:err please",
        ],
        calls: &[
            (
                "basic",
                "run_shell_command error, read_file error, write_file error, replace error, grep_search error, \
                 search_file_content ok, glob ok, run_shell_command error 3, run_shell_command error 3, \
                 read_file error, write_todos error, save_memory ok, no_such_tool error",
            ),
            ("sub", "codebase_investigator error, invoke_agent error, generalist error"),
        ],
        api_errors: &[],
        total: [6, 25304, 376, 25301, 0],
    },
    Store {
        client: "gemini-cli",
        version: "0.30.1",
        reported_version: "unknown",
        prompts: &[
            "SCENARIO:basic Please add a helper and test it.",
            "SCENARIO:hello hi",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:sub please",
            "SCENARIO:hello look at @pic.png\n[image: image/png]",
            "SCENARIO:err please",
        ],
        calls: &[
            (
                "basic",
                "run_shell_command ok, read_file ok, write_file ok, replace ok, grep_search ok, \
                 search_file_content ok, glob ok, run_shell_command error 3, run_shell_command error 3, \
                 read_file error, write_todos ok, save_memory ok, no_such_tool error",
            ),
            ("sub", "codebase_investigator ok, invoke_agent error, generalist error"),
        ],
        api_errors: &[],
        total: [7, 34010, 436, 34008, 0],
    },
    Store {
        client: "gemini-cli",
        version: "0.61.0",
        reported_version: "unknown",
        prompts: &[
            "SCENARIO:basic Please add a helper and test it.",
            "SCENARIO:hello hi",
            "SCENARIO:hello2 follow-up",
            "SCENARIO:sub please",
            "SCENARIO:hello look at @pic.png\n[image: image/png]",
            "SCENARIO:err please",
        ],
        calls: &[
            (
                "basic",
                "run_shell_command ok, read_file ok, write_file ok, replace ok, grep_search ok, \
                 search_file_content ok, glob ok, run_shell_command error 3, run_shell_command error 3, \
                 read_file error, write_todos ok, save_memory error, no_such_tool error",
            ),
            ("sub", "codebase_investigator error, invoke_agent ok, generalist error"),
            ("subagent", "complete_task error"),
        ],
        api_errors: &[],
        total: [24, 149_006, 1540, 148_994, 0],
    },
];

const OPENCODE: &[Store] = &[
    Store {
        client: "opencode",
        version: "1.0.0",
        reported_version: "1.0.0",
        prompts: &[
            "SCENARIO:basic Please add a helper and test it.\n",
            "SCENARIO:hello2 follow-up\n",
            "SCENARIO:sub please\n",
        ],
        calls: &[
            (
                "basic",
                "bash ok 0, read ok, write ok, edit ok, grep ok, glob ok, bash error 3, bash error 3, read error, \
                 todowrite ok, invalid error",
            ),
            ("sub", "task ok"),
            ("subagent", "bash ok 0"),
        ],
        api_errors: &[],
        total: [17, 187, 502, 184_959, 1768],
    },
    // This version keeps the quotes of the command line.
    Store {
        client: "opencode",
        version: "1.18.33",
        reported_version: "1.18.33",
        prompts: &[
            "\"SCENARIO:basic Please add a helper and test it.\"",
            "\"SCENARIO:hello2 follow-up\"",
            "\"SCENARIO:hello2 forked\"",
            "\"SCENARIO:sub please\"",
            "[image: image/png]\n\"SCENARIO:hello look\"",
            "\"SCENARIO:err please\"",
        ],
        calls: &[
            (
                "basic",
                "bash ok 0, read ok, write ok, edit ok, grep ok, glob ok, bash error 3, bash error 3, read error, \
                 todowrite ok, invalid error",
            ),
            ("sub", "task ok"),
            ("subagent", "bash ok 0"),
        ],
        api_errors: &["stub boom"],
        total: [19, 201, 516, 153_437, 1968],
    },
];

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn codex_stores_match_their_table() {
    CODEX.iter().for_each(check_store);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn gemini_stores_match_their_table() {
    GEMINI.iter().for_each(check_store);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn opencode_stores_match_their_table() {
    OPENCODE.iter().for_each(check_store);
}

fn check_store(store: &Store) {
    let home = Home::of_recorded(store.client, store.version);
    let label = format!("{} {}", store.client, store.version);
    let prompts = home.prompts();
    let expected = store.prompts.iter().map(ToString::to_string).collect();
    assert_eq!(sorted(texts(&prompts, "text")), sorted(expected), "{label}");
    assert_unique(&prompts, "id", &label);

    let tools = home.tools();
    assert_unique(&tools, "id", &label);
    assert_eq!(describe_calls(&tools, &prompts), to_owned_pairs(store.calls), "{label}");
    assert!(tools.iter().all(|t| t["exit_code"] != 3 || t["status"] == "error"), "{label}");
    for tool in tools.iter().filter(|t| text(t, "tool").starts_with("mcp__")) {
        assert_eq!(text(tool, "mcp_server"), "mem", "{label}");
    }

    let (api, errors): (Vec<Value>, Vec<Value>) = home.errors().into_iter().partition(|e| e["tool"] == "api");
    let failed_calls: Vec<Value> = tools.iter().filter(|t| t["status"] == "error").cloned().collect();
    assert_eq!(sorted(texts(&errors, "id")), sorted(texts(&failed_calls, "id")), "{label}");
    assert_eq!(api.len(), store.api_errors.len(), "{label}: {api:?}");
    assert!(
        api.iter().zip(store.api_errors).all(|(e, s)| text(e, "message").starts_with(s)),
        "{label}: {api:?}"
    );
    let exits: Vec<&Value> = errors.iter().filter(|e| e["exit_code"] == 3).collect();
    assert!(exits.windows(2).all(|pair| pair[0]["signature"] == pair[1]["signature"]), "{label}");

    assert_eq!(home.total_usage(), store.total, "{label}");
    let explained = home.all(&["usage", "--explain"]);
    let rows = explained.iter().filter(|r| r["meaning"].is_null() && r["counted"] == true);
    let sum = rows
        .map(usage_counts)
        .fold([0; 4], |sum: [u64; 4], one| std::array::from_fn(|i| sum[i] + one[i + 1]));
    assert_eq!(sum, store.total[1..], "{label}");

    let sources = home.run(&["sources"]).records;
    let found: Vec<_> = sources.iter().filter(|s| s["found"] != false).collect();
    assert_eq!(found.len(), 1, "{label}");
    assert_eq!(
        (text(found[0], "source"), text(found[0], "version")),
        (store.client, store.reported_version),
        "{label}"
    );
    assert!(tools.iter().chain(&prompts).all(|r| text(r, "source") == store.client), "{label}");
    let chosen = home.all(&["query", "user-messages", "--source", store.client, "--reverse"]);
    assert_eq!(chosen, prompts, "{label}");
    let other = home.run(&["query", "user-messages", "--all-projects", "--source", "claude-code"]);
    assert_eq!((other.code, other.records.len()), (2, 0), "{label}");
}

/// For each session, the scenario of the first prompt that names one, and its calls as text.
fn describe_calls(tools: &[Value], prompts: &[Value]) -> Vec<(String, String)> {
    let mut sessions: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for tool in tools {
        sessions.entry(text(tool, "session_id")).or_default().push(tool);
    }
    let mut found: Vec<(String, String)> = sessions
        .into_iter()
        .map(|(session, mut calls)| {
            calls.sort_by_key(|c| (c["turn"].as_u64(), c["sequence"].as_u64()));
            let mut own = prompts.iter().filter(|p| text(p, "session_id") == session);
            let name = own.find_map(|p| scenario_name(text(p, "text"))).unwrap_or("subagent");
            assert_eq!(calls.iter().all(|c| c["agent_id"].is_string()), name == "subagent");
            (name.to_string(), calls.iter().map(|c| describe_call(c)).collect::<Vec<_>>().join(", "))
        })
        .collect();
    found.sort();
    found
}

fn describe_call(call: &Value) -> String {
    let status = text(call, "status").replace("success", "ok");
    let code = call["exit_code"].as_i64().map_or(String::new(), |code| format!(" {code}"));
    format!("{} {status}{code}", text(call, "tool"))
}

fn to_owned_pairs(calls: &[(&str, &str)]) -> Vec<(String, String)> {
    calls.iter().map(|(name, calls)| (name.to_string(), calls.to_string())).collect()
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn sources_can_be_selected_among_several_in_one_home() {
    let names = ["claude-code", "codex", "gemini-cli", "opencode"];
    let versions = ["2.1.170", "0.166.0", "0.61.0", "1.18.33"];
    let home = Home::new();
    for (client, version) in names.into_iter().zip(versions) {
        home.add_recorded(client, version);
    }
    let all = home.prompts();
    let mut parts = 0;
    for name in names {
        let own = home.all(&["query", "user-messages", "--source", name]);
        assert!(!own.is_empty() && own.iter().all(|p| text(p, "source") == name), "{name}");
        parts += own.len();
    }
    assert_eq!(parts, all.len());
    let two = home.all(&["query", "user-messages", "--source", "codex,opencode"]);
    let expected = all.iter().filter(|p| ["codex", "opencode"].contains(&text(p, "source"))).count();
    assert_eq!(two.len(), expected);
    let wrong = home.run(&["query", "tools", "--all-projects", "--source", "nobody"]);
    assert_eq!((wrong.code, text(&wrong.records[0], "code")), (1, "INVALID_ARGUMENT"));
    let found: Vec<_> = home.run(&["sources"]).records.into_iter().filter(|s| s["found"] != false).collect();
    assert_eq!(texts(&found, "source"), names);
    let by: Vec<Value> = home.all(&["usage", "--by", "source"]);
    assert_eq!(texts(&by, "source"), names);
}
