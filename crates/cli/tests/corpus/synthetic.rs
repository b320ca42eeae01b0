//! The synthetic corpus: sessions, prompts, calls, failures, tokens and searches against each agent's `expected.json`.

use crate::coverage::VIEWS;
use crate::raw::Raw;
use serde_json::Value;
use std::collections::BTreeMap;
use testutil::Home;
use testutil::corpus::{SYNTHETIC, assert_unique, counts, expected, sorted, text, texts};

/// Runs a check on each agent's home.
fn each(check: impl Fn(&str, &Home, &Value)) {
    assert_eq!(SYNTHETIC.len(), 5);
    for agent in SYNTHETIC {
        check(agent, &Home::of_synthetic(agent), &expected(agent));
    }
}

fn list<'a>(expected: &'a Value, key: &str) -> &'a Vec<Value> {
    expected[key].as_array().unwrap_or_else(|| panic!("{key} is not a list"))
}

/// The exit code of a run over everything: a damaged line makes a response incomplete, an unfinished one is still being written.
fn code(expected: &Value) -> i32 {
    if expected["lines"]["bad"] == 0 { 0 } else { 3 }
}

#[test]
fn every_line_is_accounted_for() {
    each(|agent, home, expected| {
        let answer = home.run(&["sources"]);
        assert_eq!(answer.code, code(expected), "{agent}: {}", answer.complaint);
        let found: Vec<_> = answer.records.iter().filter(|r| r["found"] != false).collect();
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
fn every_view_answers_over_every_agent() {
    each(|agent, home, expected| {
        for view in VIEWS {
            let words: Vec<&str> = view.split(' ').chain(["--all-projects"]).collect();
            let answer = home.run(&words);
            let code = if answer.records.is_empty() && code(expected) == 0 { 2 } else { code(expected) };
            assert_eq!(answer.code, code, "{agent}: {view}: {}", answer.complaint);
        }
    });
}

#[test]
fn sessions_and_subagents_are_those_of_the_transcripts() {
    each(|agent, home, expected| {
        let found = home.sessions();
        let wanted = list(expected, "sessions");
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
    each(|agent, home, expected| {
        let prompts = home.prompts();
        let found =
            prompts.iter().map(|p| format!("{} {}", text(p, "session_id"), text(p, "text"))).collect();
        let pair = |p: &Value| format!("{} {}", p[0].as_str().unwrap(), p[1].as_str().unwrap());
        assert_eq!(sorted(found), sorted(list(expected, "prompts").iter().map(pair).collect()), "{agent}");
        assert_unique(&home.messages(), "id", agent);
        assert!(prompts.iter().all(|p| p["agent_id"].is_null() && p["kind"] == "prompt"), "{agent}");
    });
}

#[test]
fn calls_are_listed_in_order_with_status_and_exit_code() {
    each(|agent, home, expected| {
        let tools = home.tools();
        assert_unique(&tools, "id", agent);
        let mut found: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
        for tool in &tools {
            found.entry((text(tool, "session_id"), text(tool, "agent_id"))).or_default().push(tool);
        }
        let wanted = list(expected, "calls");
        assert_eq!(found.len(), wanted.len(), "{agent}: {:?}", found.keys());
        for row in wanted {
            let key = (row[0].as_str().unwrap(), row[1].as_str().unwrap_or(""));
            let mut calls = found.get(&key).unwrap_or_else(|| panic!("{agent}: no calls of {key:?}")).clone();
            calls.sort_by_key(|c| (c["turn"].as_u64(), c["sequence"].as_u64()));
            let said = |call: &&Value| {
                let code = call["exit_code"].as_i64().map_or(String::new(), |code| format!(" {code}"));
                Value::String(format!("{} {}{code}", text(call, "tool"), text(call, "status")))
            };
            assert_eq!(Value::Array(calls.iter().map(said).collect()), row[2], "{agent}: {key:?}");
        }
    });
}

#[test]
fn errors_are_the_failed_calls_and_the_failures_of_the_provider() {
    each(|agent, home, expected| {
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
    each(|agent, home, expected| {
        let wanted: [u64; 5] = serde_json::from_value(expected["total"].clone()).unwrap();
        assert_eq!(home.total(), wanted, "{agent}");
        for by in ["day", "session", "model", "project", "source"] {
            let groups = home.all(&["usage", "--by", by]);
            let sum = groups
                .iter()
                .map(counts)
                .fold([0; 5], |sum: [u64; 5], one| std::array::from_fn(|i| sum[i] + one[i]));
            assert_eq!(sum, wanted, "{agent} by {by}");
        }
        if *agent == *"claude-code" {
            assert_eq!(Raw::read(home.path()).total(), wanted);
        }
    });
}

#[test]
fn a_large_output_is_whole() {
    each(|agent, home, expected| {
        let large = &expected["large_output"];
        let longest = |t: &Value| t["output"].as_str().map_or(0, str::len);
        let most = home.tools().into_iter().max_by_key(longest).unwrap();
        if large.is_object() {
            assert_eq!(most["tool"], large["tool"], "{agent}");
            assert!(longest(&most) as u64 >= large["bytes"].as_u64().unwrap(), "{agent}: {}", longest(&most));
        } else {
            assert!(longest(&most) < 1000, "{agent} is said to have no large output");
        }
    });
}

#[test]
fn a_search_finds_the_session_that_was_meant() {
    each(|agent, home, expected| {
        for row in list(expected, "found_by") {
            let words = row[0].as_str().unwrap();
            let answer = home.run(&["search", words, "--json"]);
            assert_eq!(answer.records.len(), 1, "{agent}: {words}: {}", answer.complaint);
            let first = &answer.records[0]["results"][0];
            assert_eq!(first["chatId"], row[1], "{agent}: {words}: {first}");
        }
    });
}

#[test]
fn several_agents_in_one_home_are_told_apart_by_source() {
    let home = Home::new();
    SYNTHETIC.iter().for_each(|agent| home.add_synthetic(agent));
    let all = home.prompts();
    assert_eq!(
        all.len(),
        SYNTHETIC.iter().map(|agent| list(&expected(agent), "prompts").len()).sum::<usize>()
    );
    for agent in SYNTHETIC {
        let own = home.all(&["query", "user-messages", "--source", agent]);
        assert_eq!(own.len(), list(&expected(agent), "prompts").len(), "{agent}");
        assert!(own.iter().all(|p| text(p, "source") == *agent), "{agent}");
    }
    let found: Vec<_> = home.run(&["sources"]).records.into_iter().filter(|s| s["found"] != false).collect();
    assert_eq!(sorted(texts(&found, "source")), sorted(SYNTHETIC.iter().map(ToString::to_string).collect()));
}

#[test]
fn damaged_and_unfinished_lines_are_named_with_their_places() {
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
        let (home, expected) = (Home::of_synthetic(agent), expected(agent));
        let tools = home.tools();
        for session in list(&expected, "sessions").iter().filter(|s| s["agent_id"].is_null()) {
            let id = text(session, "session_id");
            let found = home.run(&["query", "tools", "--session", &id[..8]]).records;
            let own: Vec<&Value> = tools.iter().filter(|t| text(t, "session_id") == id).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), own, "{agent}: {id}");
            let named = home.run(&["query", "sessions", "--session", &id[..8]]).records;
            let main: Vec<_> = named.into_iter().filter(|s| s["agent_id"].is_null()).collect();
            assert_eq!(texts(&main, "session_id"), [id], "{agent}");
        }
    }
}
