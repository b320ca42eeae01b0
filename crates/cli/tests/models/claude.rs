//! The `claude` command as a model: a stand-in that shows what it is given and misbehaves, and the real one against a scripted
//! provider, where it is installed.

use crate::fixture::{FIRST, Fixture, files, good, session};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::clients::{CLAUDE, Clients};
use testutil::{ALPHA, Home, binary};

/// A fixture whose `claude` is this script.
fn fake(script: &str, more: &str) -> Fixture {
    let fixture = Fixture::new(&format!("[model]\nprovider = \"claude\"\n{more}\n"));
    let program = fixture.path("bin/claude");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture
}

fn command(fixture: &Fixture, line: &str) -> Command {
    let mut command = fixture.command(line);
    command.env("PATH", format!("{}:/usr/bin:/bin", fixture.path("bin").display()));
    command
}

#[track_caller]
fn consolidate(fixture: &Fixture, code: i32) -> Value {
    let mut command = command(fixture, "memory consolidate -o json");
    command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "outer").env("SOMETHING", "private");
    command.env("ANTHROPIC_API_KEY", "k-5678");
    testutil::run_command(command).expect(code).records().remove(0)["model"].clone()
}

fn result(more: &[(&str, Value)]) -> String {
    let mut whole = json!({"type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": 0.25,
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 20}});
    for (name, value) in more {
        whole[*name] = value.clone();
    }
    whole.to_string()
}

#[test]
fn the_command_gets_what_it_needs_and_nothing_else() {
    let said = result(&[("structured_output", good("Keep things in pages"))]);
    let fixture = fake(
        &format!(
            "pwd > $HOME/cwd; ls -a . > $HOME/folder; env > $HOME/env; cat > $HOME/stdin; printf '%s\\n' \"$@\" > $HOME/args\ncat <<'END'\n{said}\nEND"
        ),
        "jobs_per_run = 1",
    );
    let run = consolidate(&fixture, 0);
    assert_eq!(
        (&run["answered"], &run["tokensIn"], &run["tokensOut"]),
        (&json!(1), &json!(150), &json!(20)),
        "{run}"
    );
    assert_eq!(run["cost"], json!(0.25), "what it says itself");
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
    for given in ["LOCI_WITHIN=1", "ANTHROPIC_API_KEY=k-5678", "CLAUDE_CODE_MAX_RETRIES=1"] {
        assert!(env.lines().any(|line| line == given), "{given}: {env}");
    }
    for kept in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "SOMETHING", "CLAUDE_CONFIG_DIR"] {
        assert!(!env.contains(kept), "{kept}: {env}");
    }
}

#[test]
fn another_login_is_used_if_the_configuration_says_so() {
    let fixture = fake("env > $HOME/env; exit 1", "jobs_per_run = 1\nconfig_dir = \"~/other\"");
    consolidate(&fixture, 3);
    let env = std::fs::read_to_string(fixture.path("env")).unwrap();
    assert!(env.contains(&format!("CLAUDE_CONFIG_DIR={}", fixture.path("other").display())), "{env}");
}

#[test]
fn what_the_command_says_is_told_apart() {
    let error = |words: &str| result(&[("is_error", json!(true)), ("result", json!(words))]);
    for (about, script, class, stops) in [
        (
            "a limit",
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
            "an answer that is none",
            format!("cat <<'END'\n{}\nEND", result(&[("result", json!("I would call it Pages"))])),
            "poison",
            false,
        ),
        ("a crash", "kill -9 $$".to_string(), "transient", false),
        (
            "too much",
            "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done".to_string(),
            "poison",
            false,
        ),
    ] {
        let fixture = fake(&script, "jobs_per_run = 2");
        let run = consolidate(&fixture, 3);
        assert_eq!(run["failed"], json!(if stops { 1 } else { 2 }), "{about}: {run}");
        let jobs = fixture.answer("memory jobs", 0);
        let classes: Vec<&Value> = jobs["jobs"].as_array().unwrap().iter().map(|job| &job["class"]).collect();
        assert!(classes.iter().all(|found| **found == json!(class)), "{about}: {jobs}");
    }
}

#[test]
fn a_command_that_is_not_there_is_said_so() {
    let fixture = Fixture::new("[model]\nprovider = \"claude\"");
    let run = fixture.consolidate("", 3);
    assert!(run["why"].as_str().unwrap().contains("program `claude` not found"), "{run}");
    let costs = fixture.answer("memory costs", 0);
    let total = &costs["total"];
    assert_eq!((&total["calls"], &total["failed"]), (&json!(1), &json!(1)), "{costs}");
    for nought in [&total["bytesSent"], &total["tokensIn"], &costs["usedToday"], &run["tokensIn"]] {
        assert_eq!(*nought, json!(0), "nothing was sent: {costs} {run}");
    }
}

/// Forks, leaves its group and its session, ignores what it is asked.
const WILD: &str =
    "trap '' TERM HUP INT; sleep 300 & (setsid sh -c 'trap \"\" TERM; sleep 300; :' &) ; touch $HOME/begun
while :; do sleep 1; done";

fn alive(home: &Path) -> Vec<String> {
    let mark = format!("HOME={}", home.display());
    let marked = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    });
    let told =
        |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
    marked.map(told).filter(|line| !line.is_empty()).collect()
}

fn begun(fixture: &Fixture) {
    let until = Instant::now() + Duration::from_secs(20);
    while !fixture.path("begun").exists() {
        assert!(Instant::now() < until, "it never began");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_of_it_outlives_its_time() {
    let fixture = fake(WILD, "jobs_per_run = 1\nseconds_per_job = 2");
    assert_eq!(consolidate(&fixture, 3)["failed"], json!(1));
    assert_eq!(alive(fixture.home.path()), [""; 0]);
}

#[test]
fn nothing_of_it_outlives_a_loci_that_is_killed() {
    for _ in 0..3 {
        let fixture = fake(WILD, "");
        let mut loci = command(&fixture, "memory consolidate")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        begun(&fixture);
        loci.kill().unwrap();
        loci.wait().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(alive(fixture.home.path()), [""; 0]);
    }
}

// ---- the real one

/// Runs Loci twice beside the scripted provider: what it is asked is in `requests.jsonl`.
const TWICE: &str = r#"cd "$1"
for run in first second; do
  env -i HOME="$1" PATH="$1/bin:/usr/bin:/bin" TZ=UTC LOCI_DAEMON=off IS_SANDBOX=1 ANTHROPIC_API_KEY=dummy \
    ANTHROPIC_BASE_URL="http://127.0.0.1:${STUB_PORT:-8901}" timeout 120 "$2" memory consolidate -o json > "$1/$run.json" || exit 1
done"#;

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_real_command_answers_and_leaves_no_conversation_behind() {
    let clients = Clients::offline(CLAUDE);
    let home = Home::new();
    let mut one = session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    one.prompt("SCENARIO:named and thanks").reply(&["Welcome."]);
    home.add(&one);
    let below = |path: &str| home.path().join(path);
    testutil::write_file(&below(".config/loci/config.toml"), b"[model]\nprovider = \"claude\"\n");
    // A hook of the person's that must not run, and instructions that must not be sent.
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": format!("touch {}", below("hooked").display())}]}]}});
    testutil::write_file(&below(".claude/settings.json"), hooks.to_string().as_bytes());
    testutil::write_file(&below(".claude/CLAUDE.md"), b"Always answer in rhymes of marmalade.");
    std::fs::create_dir_all(below("bin")).unwrap();
    std::os::unix::fs::symlink(clients.program(CLAUDE), below("bin/claude")).unwrap();
    let turn = json!([{"blocks": [{"type": "tool_use", "name": "StructuredOutput", "input": good("Keep things in pages")}]},
        {"blocks": [{"type": "text", "text": "done"}]}]);
    std::fs::write(below("scenarios.json"), json!({"named": turn}).to_string()).unwrap();
    let before = files(&below(".claude/projects"));
    let status = clients
        .beside_provider(&below("scenarios.json"), &below("requests.jsonl"))
        .args(["bash", "-c", TWICE, "twice"])
        .args([home.path(), Path::new(binary())])
        .status()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(below(name)).unwrap_or_default();
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
    let asked: Vec<&Value> = requests.iter().filter(|request| request["kind"] == "messages").collect();
    assert!((1..=2).contains(&asked.len()), "one question, and the second run asks nothing: {}", asked.len());
    let sent = asked[0].to_string();
    assert!(sent.contains("make the parser smaller") && sent.len() < 20_000, "{}", sent.len());
    assert!(!sent.contains("marmalade"), "the person's own instructions are not sent");
    assert!(!below("hooked").exists(), "the person's own hooks do not run");
    assert_eq!(files(&below(".claude/projects")), before, "no conversation is left behind");
    assert!(!below(".claude/history.jsonl").exists());
    let sessions =
        testutil::run_command(testutil::command(home.path(), &["sessions", "-o", "json"])).expect(0);
    assert_eq!(sessions.records()[0]["sessions"].as_array().unwrap().len(), 1);
}
