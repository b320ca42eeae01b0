//! The synthetic corpus: sessions, prompts, calls, failures, tokens and searches against each agent's `expected.json`.

use crate::coverage::VIEWS;
use crate::raw::Raw;
use serde_json::Value;
use std::collections::BTreeMap;
use testutil::Home;
use testutil::corpus::{SYNTHETIC_AGENTS, assert_unique, load_expected, sorted, text, texts, usage_counts};

/// Runs a check on each agent's home.
fn for_each_agent(check: impl Fn(&str, &Home, &Value)) {
    assert_eq!(SYNTHETIC_AGENTS.len(), 5);
    for agent in SYNTHETIC_AGENTS {
        check(agent, &Home::of_synthetic(agent), &load_expected(agent));
    }
}

fn expected_list<'a>(expected: &'a Value, key: &str) -> &'a Vec<Value> {
    expected[key].as_array().unwrap_or_else(|| panic!("{key} is not a list"))
}

/// The expected exit code over all projects. A damaged line makes a response incomplete; an unfinished line does not,
/// because it is still being written.
fn expected_code(expected: &Value) -> i32 {
    if expected["lines"]["bad"] == 0 { 0 } else { 3 }
}

#[test]
fn every_line_is_accounted_for() {
    for_each_agent(|agent, home, expected| {
        let response = home.run(&["sources"]);
        assert_eq!(response.code, expected_code(expected), "{agent}: {}", response.stderr);
        let found: Vec<_> = response.records.iter().filter(|r| r["found"] != false).collect();
        assert_eq!(found.len(), 1, "{agent}: {found:?}");
        let n = |key: &str| found[0][key].as_u64().unwrap();
        let kinds = ["understood", "ignored", "unknown", "bad", "blank", "unfinished"].map(n);
        assert_eq!(n("lines"), kinds.iter().sum::<u64>(), "{agent}: {}", found[0]);
        assert!(n("lines") > 5 && n("unknown") == 0, "{agent}: {}", found[0]);
        assert!(
            found[0]["unknown_types"].is_null() && found[0]["unknown_fields"].is_null(),
            "{agent}: {}",
            found[0]
        );
        for key in ["bad", "unfinished"] {
            assert_eq!(found[0][key], expected["lines"][key], "{agent}: {key}");
        }
        for key in ["source", "version"] {
            assert_eq!(found[0][key], expected[key], "{agent}: {key}");
        }
    });
}

#[test]
fn every_view_works_for_every_agent() {
    for_each_agent(|agent, home, expected| {
        for view in VIEWS {
            let words: Vec<&str> = view.split(' ').chain(["--all-projects"]).collect();
            let response = home.run(&words);
            let code = if response.records.is_empty() && expected_code(expected) == 0 {
                2
            } else {
                expected_code(expected)
            };
            assert_eq!(response.code, code, "{agent}: {view}: {}", response.stderr);
        }
    });
}

#[test]
fn sessions_and_subagents_are_those_of_the_transcripts() {
    for_each_agent(|agent, home, expected| {
        let found = home.sessions();
        let wanted = expected_list(expected, "sessions");
        assert_eq!(found.len(), wanted.len(), "{agent}: {found:?}");
        for session in wanted {
            let same =
                |r: &&Value| r["session_id"] == session["session_id"] && r["agent_id"] == session["agent_id"];
            let record =
                found.iter().find(same).unwrap_or_else(|| panic!("{agent}: no {session} in {found:?}"));
            for (key, value) in session.as_object().unwrap() {
                assert_eq!(&record[key], value, "{agent}: {key} of {record}");
            }
        }
    });
}

#[test]
fn each_prompt_is_listed_once_although_a_fork_repeats_it() {
    for_each_agent(|agent, home, expected| {
        let prompts = home.prompts();
        let found =
            prompts.iter().map(|p| format!("{} {}", text(p, "session_id"), text(p, "text"))).collect();
        let pair = |p: &Value| format!("{} {}", p[0].as_str().unwrap(), p[1].as_str().unwrap());
        assert_eq!(
            sorted(found),
            sorted(expected_list(expected, "prompts").iter().map(pair).collect()),
            "{agent}"
        );
        assert_unique(&home.messages(), "id", agent);
        assert!(prompts.iter().all(|p| p["agent_id"].is_null() && p["kind"] == "prompt"), "{agent}");
    });
}

#[test]
fn calls_are_listed_in_order_with_status_and_exit_code() {
    for_each_agent(|agent, home, expected| {
        let tools = home.tools();
        assert_unique(&tools, "id", agent);
        let mut found: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
        for tool in &tools {
            found.entry((text(tool, "session_id"), text(tool, "agent_id"))).or_default().push(tool);
        }
        let wanted = expected_list(expected, "calls");
        assert_eq!(found.len(), wanted.len(), "{agent}: {:?}", found.keys());
        for row in wanted {
            let key = (row[0].as_str().unwrap(), row[1].as_str().unwrap_or(""));
            let mut calls = found.get(&key).unwrap_or_else(|| panic!("{agent}: no calls of {key:?}")).clone();
            calls.sort_by_key(|c| (c["turn"].as_u64(), c["sequence"].as_u64()));
            let describe_call = |call: &&Value| {
                let code = call["exit_code"].as_i64().map_or(String::new(), |code| format!(" {code}"));
                Value::String(format!("{} {}{code}", text(call, "tool"), text(call, "status")))
            };
            assert_eq!(Value::Array(calls.iter().map(describe_call).collect()), row[2], "{agent}: {key:?}");
        }
    });
}

#[test]
fn errors_are_the_failed_calls_and_the_failures_of_the_provider() {
    for_each_agent(|agent, home, expected| {
        let (api, calls): (Vec<Value>, Vec<Value>) =
            home.errors().into_iter().partition(|e| e["tool"] == "api");
        let failed: Vec<Value> = home.tools().into_iter().filter(|t| t["status"] == "error").collect();
        assert!(!failed.is_empty(), "{agent}");
        assert_eq!(sorted(texts(&calls, "id")), sorted(texts(&failed, "id")), "{agent}");
        assert_eq!(Value::from(texts(&api, "message")), expected["api_errors"], "{agent}");
        for error in &calls {
            let call = failed.iter().find(|call| call["id"] == error["id"]).unwrap();
            assert_eq!(call["error_signature"], error["signature"], "{agent}");
            assert!(!text(error, "message").is_empty(), "{agent}: {error}");
        }
    });
}

#[test]
fn tokens_are_counted_once_per_reply() {
    for_each_agent(|agent, home, expected| {
        let wanted: [u64; 5] = serde_json::from_value(expected["total"].clone()).unwrap();
        assert_eq!(home.total_usage(), wanted, "{agent}");
        for by in ["day", "session", "model", "project", "source"] {
            let groups = home.all(&["usage", "--by", by]);
            let sum = groups
                .iter()
                .map(usage_counts)
                .fold([0; 5], |sum: [u64; 5], one| std::array::from_fn(|i| sum[i] + one[i]));
            assert_eq!(sum, wanted, "{agent} by {by}");
        }
        if *agent == *"claude-code" {
            assert_eq!(Raw::read(home.path()).total(), wanted);
        }
    });
}

#[test]
fn a_large_output_is_complete() {
    for_each_agent(|agent, home, expected| {
        let large = &expected["large_output"];
        let longest = |t: &Value| t["output"].as_str().map_or(0, str::len);
        let largest = home.tools().into_iter().max_by_key(longest).unwrap();
        if large.is_object() {
            assert_eq!(largest["tool"], large["tool"], "{agent}");
            assert!(
                longest(&largest) as u64 >= large["bytes"].as_u64().unwrap(),
                "{agent}: {}",
                longest(&largest)
            );
        } else {
            assert!(longest(&largest) < 1000, "{agent} is expected to have no large output");
        }
    });
}

#[test]
fn a_search_finds_the_expected_session() {
    for_each_agent(|agent, home, expected| {
        for row in expected_list(expected, "found_by") {
            let words = row[0].as_str().unwrap();
            let response = home.run(&["search", words, "--json"]);
            assert_eq!(response.records.len(), 1, "{agent}: {words}: {}", response.stderr);
            let first = &response.records[0]["results"][0];
            assert_eq!(first["chatId"], row[1], "{agent}: {words}: {first}");
        }
    });
}

#[test]
fn several_agents_in_one_home_are_distinguished_by_source() {
    let home = Home::new();
    SYNTHETIC_AGENTS.iter().for_each(|agent| home.add_synthetic(agent));
    let all = home.prompts();
    assert_eq!(
        all.len(),
        SYNTHETIC_AGENTS
            .iter()
            .map(|agent| expected_list(&load_expected(agent), "prompts").len())
            .sum::<usize>()
    );
    for agent in SYNTHETIC_AGENTS {
        let own = home.all(&["query", "user-messages", "--source", agent]);
        assert_eq!(own.len(), expected_list(&load_expected(agent), "prompts").len(), "{agent}");
        assert!(own.iter().all(|p| text(p, "source") == *agent), "{agent}");
    }
    let found: Vec<_> = home.run(&["sources"]).records.into_iter().filter(|s| s["found"] != false).collect();
    assert_eq!(
        sorted(texts(&found, "source")),
        sorted(SYNTHETIC_AGENTS.iter().map(ToString::to_string).collect())
    );
}

#[test]
fn damaged_and_unfinished_lines_are_reported_with_their_offsets() {
    let home = Home::of_synthetic("claude-code");
    let problems = home.run(&["sources", "--problems"]).records;
    assert_eq!(texts(&problems, "problem"), ["bad_line", "unfinished"], "{problems:?}");
    for problem in &problems {
        let bytes = std::fs::read(text(problem, "file")).unwrap();
        let rest = &bytes[problem["offset"].as_u64().unwrap() as usize..];
        assert_eq!(rest.contains(&b'\n'), problem["problem"] == "bad_line", "{problem}");
        let line = rest.split(|byte| *byte == b'\n').next().unwrap();
        assert!(!line.is_empty() && serde_json::from_slice::<Value>(line).is_err(), "{problem}");
    }
}

#[test]
fn a_session_is_found_by_a_prefix_of_its_id() {
    for agent in ["claude-code", "codex", "gemini-cli"] {
        let (home, expected) = (Home::of_synthetic(agent), load_expected(agent));
        let tools = home.tools();
        for session in expected_list(&expected, "sessions").iter().filter(|s| s["agent_id"].is_null()) {
            let id = text(session, "session_id");
            let found = home.run(&["query", "tools", "--reverse", "--session", &id[..8]]).records;
            let own: Vec<&Value> = tools.iter().filter(|t| text(t, "session_id") == id).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), own, "{agent}: {id}");
            let named = home.run(&["query", "sessions", "--session", &id[..8]]).records;
            let main: Vec<_> = named.into_iter().filter(|s| s["agent_id"].is_null()).collect();
            assert_eq!(texts(&main, "session_id"), [id], "{agent}");
        }
    }
}
