//! Messages between agents: none is lost and none is answered twice, even if a process is killed.

use crate::fixture::{Fixture, rounds, wait_until_within};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testutil::write_file;

/// A client that records each message, with the folder and arguments it was started with, and replies. Keywords in the
/// message make it misbehave.
const FAKE_CLAUDE: &str = r#"#!/bin/sh
text=$(cat)
printf '%s|%s|%s|%s|%s\n' "$LOCI_AGENT" "$LOCI_HOPS" "$PWD" "$*" "$(printf %s "$text" | tr '\n' ' ')" >> "$HOME/heard"
case "$text" in
  *SLOW*) sleep 30 ;;
  *OVERLOADED*) printf '{"is_error":true,"result":"overloaded","api_error_status":529}'; exit 1 ;;
  *REFUSED*) printf '{"is_error":true,"result":"no key sk-ant-api03-%s","api_error_status":401}' "$(printf 'a%.0s' $(seq 93))AA"; exit 1 ;;
  *LOST*) case "$*" in *--resume*) echo 'No conversation found with session ID: s' >&2; exit 1 ;; esac ;;
esac
last=$(printf %s "$text" | tail -n 1)
printf '{"type":"result","is_error":false,"result":"heard: %s","session_id":"session-of-%s"}' "$last" "$LOCI_AGENT"
"#;

pub(crate) fn fixture_with_agents() -> Fixture {
    let fixture = Fixture::new();
    let client = fixture.path().join("bin/claude");
    write_file(&client, FAKE_CLAUDE.as_bytes());
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(fixture.path().join("work")).unwrap();
    for n in 0..6 {
        fixture.loci(&["agent", "add", &format!("agent{n}"), "work"]).expect(0);
    }
    fixture
}

pub(crate) fn serve_with_clients(fixture: &Fixture) -> Child {
    let path = format!("{}:/usr/bin:/bin", fixture.path().join("bin").display());
    fixture.serve_with(move |command| {
        command.env("PATH", &path);
    })
}

fn read_deliveries(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("heard")).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

fn list_messages(fixture: &Fixture) -> Vec<Value> {
    let output = fixture.loci_without_daemon(&["agent", "messages", "--limit", "100000", "--json"]);
    output.records().remove(0)["messages"].as_array().unwrap().clone()
}

#[test]
fn a_message_is_answered_in_the_agents_directory_and_the_next_resumes_its_session() {
    let fixture = fixture_with_agents();
    let _child = serve_with_clients(&fixture);
    let first =
        fixture.loci(&["dispatch", "agent0", "one", "--wait-seconds", "30", "--from", "me", "--json"]);
    let first = first.expect(0).records().remove(0);
    assert_eq!(
        (first["state"].as_str(), first["reply"].as_str()),
        (Some("answered"), Some("heard: one")),
        "{first}"
    );
    let second = fixture.loci(&["dispatch", "agent0", "two", "--wait-seconds", "30"]).expect(0);
    assert_eq!(second.records()[0]["session"], "session-of-agent0");
    let deliveries = read_deliveries(fixture.path());
    assert!(
        deliveries[0].starts_with(&format!(
            "agent0|1|{}|-p --output-format json|",
            fixture.path().join("work").display()
        )),
        "{deliveries:?}"
    );
    assert!(
        deliveries[0].contains("from me") && deliveries[1].contains("--resume session-of-agent0|"),
        "{deliveries:?}"
    );
    // The same key means the same message, which is not delivered again.
    for _ in 0..3 {
        let again =
            fixture.loci(&["dispatch", "agent1", "once", "--key", "k1", "--wait-seconds", "30"]).expect(0);
        assert_eq!(again.records()[0]["id"], 3);
    }
    assert_eq!(read_deliveries(fixture.path()).iter().filter(|line| line.contains("once")).count(), 1);
    let listed = fixture.loci(&["agent", "messages", "1", "3", "--json"]).expect(0);
    assert_eq!(listed.records()[0]["messages"].as_array().unwrap().len(), 2);
    for (args, number) in
        [(vec!["--agent", "agent0"], 2), (vec!["--state", "answered"], 3), (vec!["--limit", "1"], 1)]
    {
        let all = [vec!["agent", "messages", "--json"], args].concat();
        assert_eq!(
            fixture.loci(&all).expect(0).records()[0]["messages"].as_array().unwrap().len(),
            number,
            "{all:?}"
        );
    }
    fixture.loci(&["agent", "messages", "--state", "failed", "--json"]).expect(2);
}

/// Prints its reply in the format of Codex.
const FAKE_CODEX: &str = r#"#!/bin/sh
last=$(tail -n 1)
printf '%s\n' '{"type":"thread.started","thread_id":"t1"}' '{"type":"turn.started"}' \
  '{"type":"item.completed","item":{"type":"agent_message","text":"'"codex $* heard: $last"'"}}' '{"type":"turn.completed"}'
"#;

#[test]
fn an_agent_uses_its_configured_client() {
    let fixture = fixture_with_agents();
    let client = fixture.path().join("bin/codex");
    write_file(&client, FAKE_CODEX.as_bytes());
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.loci(&["agent", "add", "other", "work", "--client", "codex"]).expect(0);
    let mut without = fixture.command(&["agent", "add", "other", "work", "--client", "codex", "--json"]);
    without.env("PATH", "/nowhere");
    let response = testutil::run_command(without).expect(0).records().remove(0);
    assert_eq!(response["note"], json!("program `codex` is not on PATH"));
    let output = fixture.loci(&["agent", "messages", "99", "-o", "text"]).expect(2);
    assert!(output.text().contains("no matching messages"), "{}", output.text());
    assert!(
        fixture.loci(&["agent", "add", "x", "work", "--client", "sh"]).expect(1).stderr.contains("codex")
    );
    let _child = serve_with_clients(&fixture);
    for resume_args in ["", "resume t1 "] {
        let output = fixture.loci(&["dispatch", "other", "one", "--wait-seconds", "30", "--json"]).expect(0);
        let reply = format!("codex exec --json --skip-git-repo-check {resume_args}- heard: one");
        assert_eq!(output.records()[0]["reply"], json!(reply));
    }
    assert!(read_deliveries(fixture.path()).is_empty(), "the other client was started");
}

/// Dispatches through MCP, as a client that does not pass its environment on to MCP servers.
fn dispatch_through_mcp(fixture: &Fixture, cwd: &Path, to: &str) -> Value {
    let mut command = fixture.command(&["mcp", "--toolsets", "agents"]);
    let mut server = command.current_dir(cwd).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let call =
        json!({"name": "dispatch", "arguments": {"agent": to, "message": "passed on", "wait_seconds": 20}});
    let mut stdin = server.stdin.take().unwrap();
    for line in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    let lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut messages = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let response = messages.find(|message| message["id"] == json!(2)).unwrap();
    drop(stdin);
    server.wait().unwrap();
    response["result"]["structuredContent"].clone()
}

#[test]
fn a_dispatch_from_the_folder_of_a_working_agent_is_sent_in_its_name() {
    let fixture = fixture_with_agents();
    let elsewhere = fixture.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    fixture.loci(&["agent", "add", "apart", "elsewhere"]).expect(0);
    let _child = serve_with_clients(&fixture);
    fixture.loci(&["dispatch", "agent0", "SLOW"]).expect(0);
    assert!(wait_until_within(Duration::from_secs(20), || read_deliveries(fixture.path()).len() == 1));
    for (cwd, to, from, hops) in [("work", "apart", "agent0", 2), ("elsewhere", "agent1", "your user", 1)] {
        let response = dispatch_through_mcp(&fixture, &fixture.path().join(cwd), to);
        assert!(response.to_string().contains("passed on"), "{response}");
        let all = read_deliveries(fixture.path());
        let last = all.last().unwrap();
        assert!(last.starts_with(&format!("{to}|{hops}|")), "{last}");
        assert!(last.contains(&format!("from {from},")), "{last}");
    }
}

#[test]
fn failed_deliveries_and_invalid_requests_say_why() {
    let fixture = fixture_with_agents();
    let _child = serve_with_clients(&fixture);
    let refused =
        fixture.loci(&["dispatch", "agent0", "REFUSED", "--wait-seconds", "30", "--json"]).expect(1);
    let refused = refused.records().remove(0);
    assert_eq!(refused["attempts"], 1);
    let error = refused["error"].as_str().unwrap();
    assert!(error.starts_with("no key") && !error.contains("aaaaaaaa"), "the key is not masked: {error}");
    // An overload is temporary: the message is retried later and does not delay other agents.
    let later =
        fixture.loci(&["dispatch", "agent1", "OVERLOADED", "--wait-seconds", "2", "--json"]).expect(0);
    assert_eq!(later.records()[0]["state"], "waiting", "{later:?}");
    fixture.loci(&["dispatch", "agent2", "LOST", "--wait-seconds", "30"]).expect(0);
    let lost =
        fixture.loci(&["dispatch", "agent2", "LOST again", "--wait-seconds", "30", "--json"]).expect(0);
    assert_eq!(
        (&lost.records()[0]["reply"], &lost.records()[0]["attempts"]),
        (&json!("heard: LOST again"), &json!(2))
    );
    for (args, message) in [
        (vec!["dispatch", "nobody", "x"], "no agent called `nobody`"),
        (vec!["dispatch", "agent0", " "], "missing message"),
        (vec!["dispatch", "Agent 0", "x"], "lowercase letters"),
        (vec!["agent", "add", "../x"], "lowercase letters"),
        (vec!["agent", "add", "x", "not/there"], "not a directory"),
        (vec!["agent", "remove", "nobody"], "no agent called"),
        (vec!["agent", "remove", "agent1"], "unanswered messages"),
        (vec!["agent", "messages", "x"], "is not a message ID"),
    ] {
        let refused = fixture.loci(&args).expect(1);
        assert!(refused.stderr.contains(message), "{args:?}: {}", refused.stderr);
    }
    let mut deep = fixture.command(&["dispatch", "agent0", "x"]);
    deep.env("LOCI_HOPS", "4");
    assert!(testutil::run_command(deep).expect(1).stderr.contains("passed through 4 agents"));
    fixture.loci(&["agent", "remove", "agent3"]).expect(0);
    assert_eq!(
        fixture.loci(&["agent", "list", "--json"]).expect(0).records()[0]["agents"].as_array().unwrap().len(),
        5
    );
}

#[test]
fn without_a_daemon_messages_are_spooled_and_delivered_once() {
    let fixture = fixture_with_agents();
    for n in 0..3 {
        let accepted = fixture
            .loci(&["dispatch", "agent0", &format!("letter {n}"), "--key", &format!("k{n}"), "--json"])
            .expect(0);
        assert_eq!(accepted.records()[0]["state"], "spooled");
    }
    let spool = fixture.path().join(".local/share/loci/pending.jsonl");
    let before = std::fs::read(&spool).unwrap();
    assert_eq!(std::fs::metadata(&spool).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fixture.loci(&["agent", "messages", "--json"]).expect(0).records()[0]["spooled"], 3);
    fixture.loci(&["dispatch", "nobody", "x"]).expect(1);
    let doctor_text = || fixture.loci_without_daemon(&["doctor", "-o", "text"]).text().to_string();
    assert!(doctor_text().contains("3 messages are waiting for the daemon"), "{}", doctor_text());
    // A message to an agent that no longer exists is set aside and reported.
    let mut spool_file = std::fs::OpenOptions::new().append(true).open(&spool).unwrap();
    spool_file.write_all(b"{\"key\":\"g\",\"agent\":\"gone\",\"text\":\"x\"}\n").unwrap();
    let mut child = serve_with_clients(&fixture);
    let count_answered =
        |fixture: &Fixture| list_messages(fixture).iter().filter(|m| m["state"] == "answered").count();
    assert!(wait_until_within(Duration::from_secs(30), || count_answered(&fixture) == 3));
    assert_eq!(std::fs::metadata(&spool).unwrap().len(), 0);
    assert!(doctor_text().contains("1 messages were rejected"), "{}", doctor_text());
    // If the daemon is killed before it empties the spool, it recognizes the messages by their keys.
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(&spool, &before).unwrap();
    let _child = serve_with_clients(&fixture);
    assert!(wait_until_within(Duration::from_secs(30), || std::fs::metadata(&spool).unwrap().len() == 0));
    assert_eq!((list_messages(&fixture).len(), read_deliveries(fixture.path()).len()), (3, 3));
}

#[test]
fn dispatch_starts_the_daemon() {
    let fixture = fixture_with_agents();
    let mut command = fixture.command(&["dispatch", "agent0", "hello", "--wait-seconds", "30", "--json"]);
    command
        .env_remove("LOCI_DAEMON")
        .env("PATH", format!("{}:/usr/bin:/bin", fixture.path().join("bin").display()));
    let response = testutil::run_command(command).expect(0).records().remove(0);
    assert_eq!(response["reply"], "heard: hello");
    assert_eq!(fixture.status()["running"], true);
}

#[test]
fn a_client_does_not_outlive_the_daemon() {
    let fixture = fixture_with_agents();
    for signal in ["-KILL", "-TERM"] {
        let mut child = serve_with_clients(&fixture);
        fixture.loci(&["dispatch", "agent0", "SLOW", "--key", signal]).expect(0);
        let is_running = || count_sleep_processes(fixture.path()) > 0;
        assert!(wait_until_within(Duration::from_secs(20), is_running), "{signal}");
        crate::fixture::signal(&child, signal);
        child.wait().unwrap();
        // Two seconds, plus slack for a busy machine.
        assert!(wait_until_within(Duration::from_secs(10), || !is_running()), "{signal}");
    }
}

/// Number of `sleep` processes that belong to this fixture.
fn count_sleep_processes(home: &Path) -> usize {
    let home_variable = format!("HOME={}", home.display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let is_own_sleep = |path: std::path::PathBuf| {
        let env = std::fs::read(path.join("environ")).unwrap_or_default();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        env.split(|b| *b == 0).any(|var| var == home_variable.as_bytes()) && line.starts_with(b"sleep")
    };
    all.filter(|entry| is_own_sleep(entry.path())).count()
}

/// `LOCI_MESSAGES=1000` runs the long form.
#[test]
fn every_message_is_delivered_and_answered_once_despite_kills() {
    let fixture = fixture_with_agents();
    let number = rounds("LOCI_MESSAGES", 60);
    let mut child = serve_with_clients(&fixture);
    let (mut durations, mut kills) = (Vec::new(), 0);
    for n in 0..number {
        let key = format!("key{n}");
        let line = format!("letter{n}");
        let mut command =
            fixture.command(&["dispatch", &format!("agent{}", n % 6), &line, "--key", &key, "--json"]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        if n % 9 == 4 {
            // Kill the sender after a varying delay, then send the message again.
            let mut killed_sender = command.stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(n as u64 % 23));
            let _ = killed_sender.kill();
            killed_sender.wait().unwrap();
        }
        let began = Instant::now();
        let output = command.stdout(Stdio::piped()).output().unwrap();
        durations.push(began.elapsed());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        if n % 13 == 7 {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            child = serve_with_clients(&fixture);
        }
    }
    let all_answered =
        || list_messages(&fixture).iter().filter(|m| m["state"] == "answered").count() == number;
    assert!(
        wait_until_within(Duration::from_secs(60 + number as u64), all_answered),
        "{:?}",
        count_states(&fixture)
    );
    let all = list_messages(&fixture);
    assert_eq!(all.len(), number, "a message is stored twice");
    let deliveries = read_deliveries(fixture.path());
    for message in &all {
        let text = message["text"].as_str().unwrap();
        assert_eq!(message["reply"], format!("heard: {text}"));
        assert!(
            deliveries.iter().any(|line| line.ends_with(&format!(" {text}"))),
            "{text} was never delivered"
        );
    }
    assert_eq!(
        std::fs::metadata(fixture.path().join(".local/share/loci/pending.jsonl")).map_or(0, |m| m.len()),
        0
    );
    durations.sort();
    println!(
        "{number} messages, {kills} kills, {} deliveries; acceptance: median {:?}, p99 {:?}",
        deliveries.len(),
        durations[number / 2],
        durations[number * 99 / 100]
    );
}

fn count_states(fixture: &Fixture) -> BTreeMap<String, usize> {
    list_messages(fixture).iter().fold(BTreeMap::new(), |mut all, m| {
        *all.entry(m["state"].to_string()).or_default() += 1;
        all
    })
}
