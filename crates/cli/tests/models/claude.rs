//! The `claude` command as a model: fake commands that record their input or misbehave, and the real one against a
//! scripted provider, where it is installed.

use crate::fixture::{FIRST, Fixture, list_files, sample_session, valid_response};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::clients::{CLAUDE, Clients};
use testutil::{ALPHA, Home, binary};

/// A fixture whose `claude` command is this script.
fn fixture_with_command(script: &str, more: &str) -> Fixture {
    let fixture = Fixture::new(&format!("[model]\nprovider = \"claude\"\n{more}\n"));
    let program = fixture.path("bin/claude");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture
}

fn loci_command(fixture: &Fixture, line: &str) -> Command {
    let mut command = fixture.command(line);
    command.env("PATH", format!("{}:/usr/bin:/bin", fixture.path("bin").display()));
    command
}

#[track_caller]
fn consolidate(fixture: &Fixture, code: i32) -> Value {
    let mut command = loci_command(fixture, "memory consolidate -o json");
    command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "outer").env("SOMETHING", "private");
    command.env("ANTHROPIC_API_KEY", "k-5678");
    testutil::run_command(command).expect(code).records().remove(0)["model"].clone()
}

/// The output of `claude --output-format json` with some fields replaced.
fn command_output(more: &[(&str, Value)]) -> String {
    let mut whole = json!({"type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": 0.25,
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 20}});
    for (name, value) in more {
        whole[*name] = value.clone();
    }
    whole.to_string()
}

#[test]
fn the_command_gets_what_it_needs_and_nothing_else() {
    let output = command_output(&[("structured_output", valid_response("Keep things in pages"))]);
    let fixture = fixture_with_command(
        &format!(
            "pwd > $HOME/cwd; ls -a . > $HOME/folder; env > $HOME/env; cat > $HOME/stdin; printf '%s\\n' \"$@\" > $HOME/args\ncat <<'END'\n{output}\nEND"
        ),
        "jobs_per_run = 1",
    );
    let run = consolidate(&fixture, 0);
    assert_eq!(
        (&run["answered"], &run["tokensIn"], &run["tokensOut"]),
        (&json!(1), &json!(150), &json!(20)),
        "{run}"
    );
    assert_eq!(run["cost"], json!(0.25), "the cost reported by the command");
    let read = |name: &str| std::fs::read_to_string(fixture.path(name)).unwrap();
    assert_eq!(
        read("cwd").trim(),
        fixture.path(".cache/loci/nowhere").canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(read("folder"), ".\n..\n");
    assert!(read("stdin").contains("make the report smaller"), "{}", read("stdin"));
    let args = read("args");
    for flag in [
        "--no-session-persistence",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--json-schema",
        "--system-prompt",
    ] {
        assert!(args.lines().any(|line| line == flag), "{flag}: {args}");
    }
    for pair in [
        "--tools\n\n",
        "--setting-sources\n\n",
        "--settings\n{\"disableAllHooks\":true}\n",
        "--model\nhaiku\n",
    ] {
        assert!(args.contains(pair), "{pair:?}: {args}");
    }
    let env = read("env");
    for passed in ["LOCI_WITHIN=1", "ANTHROPIC_API_KEY=k-5678", "CLAUDE_CODE_MAX_RETRIES=1"] {
        assert!(env.lines().any(|line| line == passed), "{passed}: {env}");
    }
    for removed in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "SOMETHING", "CLAUDE_CONFIG_DIR"] {
        assert!(!env.contains(removed), "{removed}: {env}");
    }
}

#[test]
fn config_dir_selects_another_login() {
    let fixture =
        fixture_with_command("env > $HOME/env; exit 1", "jobs_per_run = 1\nconfig_dir = \"~/other\"");
    consolidate(&fixture, 3);
    let env = std::fs::read_to_string(fixture.path("env")).unwrap();
    assert!(env.contains(&format!("CLAUDE_CONFIG_DIR={}", fixture.path("other").display())), "{env}");
}

#[test]
fn command_failures_are_classified() {
    let error = |words: &str| command_output(&[("is_error", json!(true)), ("result", json!(words))]);
    for (label, script, class, stops_run) in [
        (
            "a usage limit",
            format!("cat <<'END'\n{}\nEND\nexit 1", error("You've hit your weekly limit · resets in 2 days")),
            "quota",
            true,
        ),
        (
            "no login",
            format!("cat <<'END'\n{}\nEND\nexit 1", error("Invalid API key · Please run /login")),
            "auth",
            true,
        ),
        ("prose", "echo 'Here you are!'".to_string(), "transient", false),
        (
            "an unstructured response",
            format!("cat <<'END'\n{}\nEND", command_output(&[("result", json!("I would call it Pages"))])),
            "poison",
            false,
        ),
        ("a crash", "kill -9 $$".to_string(), "transient", false),
        (
            "too much output",
            "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done".to_string(),
            "poison",
            false,
        ),
    ] {
        let fixture = fixture_with_command(&script, "jobs_per_run = 2");
        let run = consolidate(&fixture, 3);
        assert_eq!(run["failed"], json!(if stops_run { 1 } else { 2 }), "{label}: {run}");
        let jobs = fixture.run_json("memory jobs", 0);
        let classes: Vec<&Value> = jobs["jobs"].as_array().unwrap().iter().map(|job| &job["class"]).collect();
        assert!(classes.iter().all(|found| **found == json!(class)), "{label}: {jobs}");
    }
}

#[test]
fn a_missing_command_is_reported() {
    let fixture = Fixture::new("[model]\nprovider = \"claude\"");
    let run = fixture.consolidate("", 3);
    assert!(run["why"].as_str().unwrap().contains("program `claude` not found"), "{run}");
    let costs = fixture.run_json("memory costs", 0);
    let total = &costs["total"];
    assert_eq!((&total["calls"], &total["failed"]), (&json!(1), &json!(1)), "{costs}");
    for amount in [&total["bytesSent"], &total["tokensIn"], &costs["usedToday"], &run["tokensIn"]] {
        assert_eq!(*amount, json!(0), "nothing was sent: {costs} {run}");
    }
}

/// Forks, leaves its process group and its session, ignores signals.
const UNRULY_SCRIPT: &str =
    "trap '' TERM HUP INT; sleep 300 & (setsid sh -c 'trap \"\" TERM; sleep 300; :' &) ; touch $HOME/begun
while :; do sleep 1; done";

/// The command lines of the running processes with this `HOME`.
fn running_processes(home: &Path) -> Vec<String> {
    let marker = format!("HOME={}", home.display());
    let with_marker = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes())
    });
    let command_line =
        |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
    with_marker.map(command_line).filter(|line| !line.is_empty()).collect()
}

fn wait_until_started(fixture: &Fixture) {
    let until = Instant::now() + Duration::from_secs(20);
    while !fixture.path("begun").exists() {
        assert!(Instant::now() < until, "the command did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_process_of_the_command_outlives_its_time_limit() {
    let fixture = fixture_with_command(UNRULY_SCRIPT, "jobs_per_run = 1\nseconds_per_job = 2");
    assert_eq!(consolidate(&fixture, 3)["failed"], json!(1));
    assert_eq!(running_processes(fixture.home.path()), [""; 0]);
}

#[test]
fn no_process_of_the_command_outlives_a_killed_loci() {
    for _ in 0..3 {
        let fixture = fixture_with_command(UNRULY_SCRIPT, "");
        let mut loci = loci_command(&fixture, "memory consolidate")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until_started(&fixture);
        loci.kill().unwrap();
        loci.wait().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(running_processes(fixture.home.path()), [""; 0]);
    }
}

// ---- the real command

/// Runs Loci twice against the scripted provider, which logs its requests to `requests.jsonl`.
const TWICE: &str = r#"cd "$1"
for run in first second; do
  env -i HOME="$1" PATH="$1/bin:/usr/bin:/bin" TZ=UTC LOCI_DAEMON=off IS_SANDBOX=1 ANTHROPIC_API_KEY=dummy \
    ANTHROPIC_BASE_URL="http://127.0.0.1:${STUB_PORT:-8901}" timeout 120 "$2" memory consolidate -o json > "$1/$run.json" || exit 1
done"#;

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_real_command_responds_and_leaves_no_session_behind() {
    let clients = Clients::offline(CLAUDE);
    let home = Home::new();
    let mut scripted = sample_session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    scripted.prompt("SCENARIO:named and thanks").reply(&["Welcome."]);
    home.add(&scripted);
    let path_in_home = |path: &str| home.path().join(path);
    testutil::write_file(&path_in_home(".config/loci/config.toml"), b"[model]\nprovider = \"claude\"\n");
    // A hook of the user that must not run, and instructions that must not be sent.
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": format!("touch {}", path_in_home("hooked").display())}]}]}});
    testutil::write_file(&path_in_home(".claude/settings.json"), hooks.to_string().as_bytes());
    testutil::write_file(&path_in_home(".claude/CLAUDE.md"), b"Always answer in rhymes of marmalade.");
    std::fs::create_dir_all(path_in_home("bin")).unwrap();
    std::os::unix::fs::symlink(clients.program(CLAUDE), path_in_home("bin/claude")).unwrap();
    let turn = json!([{"blocks": [{"type": "tool_use", "name": "StructuredOutput", "input": valid_response("Keep things in pages")}]},
        {"blocks": [{"type": "text", "text": "done"}]}]);
    std::fs::write(path_in_home("scenarios.json"), json!({"named": turn}).to_string()).unwrap();
    let before = list_files(&path_in_home(".claude/projects"));
    let status = clients
        .command_with_provider(&path_in_home("scenarios.json"), &path_in_home("requests.jsonl"))
        .args(["bash", "-c", TWICE, "twice"])
        .args([home.path(), Path::new(binary())])
        .status()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(path_in_home(name)).unwrap_or_default();
    assert!(status.success(), "{} {}", read("first.json"), read("second.json"));
    let first: Value = serde_json::from_str(&read("first.json")).unwrap();
    assert_eq!(
        (&first["model"]["answered"], &first["model"]["provider"]),
        (&json!(1), &json!("claude")),
        "{first}"
    );
    assert_eq!(first["sessions"][0]["name"], json!("Keep things in pages"), "{first}");
    let second: Value = serde_json::from_str(&read("second.json")).unwrap();
    assert_eq!(second["model"]["answered"], json!(0), "{second}");

    let requests: Vec<Value> =
        read("requests.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls: Vec<&Value> = requests.iter().filter(|request| request["kind"] == "messages").collect();
    assert!((1..=2).contains(&calls.len()), "the first run makes all calls: {}", calls.len());
    let sent = calls[0].to_string();
    assert!(sent.contains("make the parser smaller") && sent.len() < 20_000, "{}", sent.len());
    assert!(!sent.contains("marmalade"), "the user's instructions were sent");
    assert!(!path_in_home("hooked").exists(), "the user's hook ran");
    assert_eq!(list_files(&path_in_home(".claude/projects")), before, "a session was left behind");
    assert!(!path_in_home(".claude/history.jsonl").exists());
    let sessions =
        testutil::run_command(testutil::command(home.path(), &["sessions", "-o", "json"])).expect(0);
    assert_eq!(sessions.records()[0]["sessions"].as_array().unwrap().len(), 1);
}
