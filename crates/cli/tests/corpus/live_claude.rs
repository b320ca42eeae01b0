//! Drives the real Claude Code with a scripted provider on loopback, without a network and in its own home. `loci` must
//! report what the script made it do.

use crate::raw::Raw;
use crate::script::{Script, scenario_name};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use testutil::Home;
use testutil::clients::{CLAUDE, Clients};
use testutil::corpus::{call_outcomes, sorted, text, texts};

/// Each `run` is a separate process: a name and its arguments.
const RUN: &str = r##"#!/bin/bash
. "$CLIENTS/env.sh"
home="$1"; work="$2"; out="$3"; mkdir -p "$home" "$work/src" "$out"; cd "$work" || exit 9
echo "# demo" > README.md; echo "print(1)" > src/main.py
run() { local name="$1"; shift; CL_EXTRA="CLAUDE_CODE_MAX_RETRIES=1" CL_TIMEOUT=40 cl "$home" "$@" \
  --dangerously-skip-permissions --output-format json > "$out/$name.json" 2> "$out/$name.err" < /dev/null; }
tools="Bash,Read,Write,Edit,Grep,Glob,Task"
run basic -p "SCENARIO:basic Please add a helper." --tools "$tools"
first=$(grep -o '"session_id":"[^"]*"' "$out/basic.json" | head -1 | cut -d'"' -f4)
run resume -p "SCENARIO:hello2 follow-up question" --resume "$first"
run fork -p "SCENARIO:hello2 fork question" --resume "$first" --fork-session
run subagent -p "SCENARIO:subagent please" --tools "$tools"
run err400 -p "SCENARIO:err400 please"
exit 0
"##;

const PROMPTS: &[&str] = &[
    "SCENARIO:basic Please add a helper.",
    "SCENARIO:hello2 follow-up question",
    "SCENARIO:hello2 fork question",
    "SCENARIO:subagent please",
    "SCENARIO:err400 please",
];

/// Runs the client and returns the folder with the JSON output of each run.
fn drive(clients: &Clients, home: &Home) -> PathBuf {
    let out = home.path().join("out");
    let scenarios = clients.scripts.join("claude-code/claude_scenarios.json");
    let args = [home.path().to_path_buf(), home.path().join("work"), out.clone()];
    clients.run_script(&scenarios, &home.path().join("requests.jsonl"), RUN, &args);
    out
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn reports_match_what_the_script_made_the_client_do() {
    let clients = Clients::offline(CLAUDE);
    let home = Home::new();
    let out = drive(&clients, &home);
    let script = Script::claude(&clients.scripts);
    let read_output = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(out.join(format!("{name}.json"))).unwrap()).unwrap()
    };
    let session = |name: &str| text(&read_output(name), "session_id").to_string();

    let prompts = home.prompts();
    assert_eq!(sorted(texts(&prompts, "text")), sorted(PROMPTS.iter().map(ToString::to_string).collect()));
    for (name, typed) in ["basic", "resume", "fork", "subagent", "err400"].iter().zip(PROMPTS) {
        let prompt = prompts.iter().find(|p| text(p, "text") == *typed).unwrap();
        assert_eq!(text(prompt, "session_id"), session(name), "{name}");
    }
    assert!(session("basic") == session("resume") && session("basic") != session("fork"));

    let tools = home.tools();
    let ends_of_calls = |id: &str, agent: Option<&str>| -> Vec<(String, String)> {
        call_outcomes(
            tools.iter().filter(|t| text(t, "session_id") == id && t["agent_id"].as_str() == agent).collect(),
        )
    };
    assert_eq!(ends_of_calls(&session("basic"), None), script.ends("basic"));
    assert_eq!(ends_of_calls(&session("subagent"), None), script.ends("subagent"));
    assert!(
        ends_of_calls(&session("fork"), None).is_empty()
            && ends_of_calls(&session("err400"), None).is_empty()
    );
    let agents: BTreeSet<&str> = tools.iter().filter_map(|t| t["agent_id"].as_str()).collect();
    let mut found: Vec<_> =
        agents.iter().map(|agent| ends_of_calls(&session("subagent"), Some(agent))).collect();
    let agent_calls = tools.iter().filter(|t| text(t, "tool") == "Agent");
    let mut planned: Vec<_> =
        agent_calls.map(|t| script.ends(scenario_name(text(&t["input"], "prompt")).unwrap())).collect();
    found.sort();
    planned.sort();
    assert_eq!(found, planned);
    assert_eq!(found.len(), 3);

    let errors = home.errors();
    let (api, failed): (Vec<&Value>, Vec<&Value>) = errors.iter().partition(|e| e["tool"] == "api");
    assert_eq!(failed.len(), tools.iter().filter(|t| t["status"] == "error").count());
    assert_eq!(failed.iter().filter(|e| e["exit_code"] == 3).count(), 3);
    assert_eq!(failed.iter().filter(|e| e["exit_code"] == 7).count(), 1);
    assert_eq!(api.len(), 1);
    assert_eq!(text(api[0], "session_id"), session("err400"));
    assert!(text(api[0], "message").starts_with("Prompt is too long"), "{}", api[0]);

    let raw = Raw::read(home.path());
    assert_eq!((raw.torn, raw.unfinished), (0, 0));
    assert_eq!(home.total_usage(), raw.total());
    check_tokens_against_client(&home, &read_output);
    let sources = home.run(&["sources", "--source", "claude-code"]);
    assert_eq!((sources.code, sources.records.len()), (0, 1));
    assert!(sources.records[0]["unknown_types"].is_null(), "{}", sources.records[0]);
}

/// Compares tokens with the totals that the client reports. A resumed or forked run adds to the total it starts with.
fn check_tokens_against_client(home: &Home, read_output: &dyn Fn(&str) -> Value) {
    let sum = |run: &str| -> [u64; 4] {
        let keys = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
        let models = read_output(run)["modelUsage"].clone();
        let models = models.as_object().unwrap().values();
        models.fold([0; 4], |sum, m| std::array::from_fn(|i| sum[i] + m[keys[i]].as_u64().unwrap()))
    };
    let by = home.all(&["usage", "--by", "session"]);
    for (run, initial) in [("resume", [0; 4]), ("fork", sum("resume")), ("subagent", [0; 4])] {
        let reported = by.iter().find(|u| u["session"] == read_output(run)["session_id"]).unwrap();
        let reported =
            ["input", "output", "cache_read", "cache_write"].map(|k| reported[k].as_u64().unwrap());
        assert_eq!(reported, std::array::from_fn(|i| sum(run)[i] - initial[i]), "{run}");
    }
}
