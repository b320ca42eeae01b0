//! Messages between agents: none is lost, none is answered twice, whoever is killed.

use crate::fixture::{Fixture, rounds, until_within};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testutil::write_file;

/// A client that writes down what it is told, with where and how it was started, and replies. What begins with a word of
/// its own makes it misbehave.
const CLIENT: &str = r#"#!/bin/sh
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

pub(crate) fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let client = fixture.path().join("bin/claude");
    write_file(&client, CLIENT.as_bytes());
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(fixture.path().join("work")).unwrap();
    for n in 0..6 {
        fixture.loci(&["agent", "add", &format!("agent{n}"), "work"]).expect(0);
    }
    fixture
}

pub(crate) fn serve(fixture: &Fixture) -> Child {
    let path = format!("{}:/usr/bin:/bin", fixture.path().join("bin").display());
    fixture.serve_with(move |command| {
        command.env("PATH", &path);
    })
}

fn heard(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("heard")).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

fn messages(fixture: &Fixture) -> Vec<Value> {
    let ended = fixture.alone(&["agent", "messages", "--limit", "100000", "--json"]);
    ended.records().remove(0)["messages"].as_array().unwrap().clone()
}

#[test]
fn a_message_is_answered_in_the_agents_directory_and_its_conversation_goes_on() {
    let fixture = fixture();
    let _child = serve(&fixture);
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
    let heard = heard(fixture.path());
    assert!(
        heard[0].starts_with(&format!(
            "agent0|1|{}|-p --output-format json|",
            fixture.path().join("work").display()
        )),
        "{heard:?}"
    );
    assert!(heard[0].contains("from me") && heard[1].contains("--resume session-of-agent0|"), "{heard:?}");
    // The same key is the same message, and is not said again.
    for _ in 0..3 {
        let again =
            fixture.loci(&["dispatch", "agent1", "once", "--key", "k1", "--wait-seconds", "30"]).expect(0);
        assert_eq!(again.records()[0]["id"], 3);
    }
    assert_eq!(self::heard(fixture.path()).iter().filter(|line| line.contains("once")).count(), 1);
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

/// It prints as Codex does.
const OTHER: &str = r#"#!/bin/sh
last=$(tail -n 1)
printf '%s\n' '{"type":"thread.started","thread_id":"t1"}' '{"type":"turn.started"}' \
  '{"type":"item.completed","item":{"type":"agent_message","text":"'"codex $* heard: $last"'"}}' '{"type":"turn.completed"}'
"#;

#[test]
fn an_agent_is_spoken_for_by_the_client_it_was_given() {
    let fixture = fixture();
    let client = fixture.path().join("bin/codex");
    write_file(&client, OTHER.as_bytes());
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.loci(&["agent", "add", "other", "work", "--client", "codex"]).expect(0);
    let mut without = fixture.command(&["agent", "add", "other", "work", "--client", "codex", "--json"]);
    without.env("PATH", "/nowhere");
    let noted = testutil::run_command(without).expect(0).records().remove(0);
    assert_eq!(noted["note"], json!("there is no program `codex` on your PATH yet"));
    let ended = fixture.loci(&["agent", "messages", "99", "-o", "text"]).expect(2);
    assert!(ended.text().contains("no matching messages"), "{}", ended.text());
    assert!(
        fixture.loci(&["agent", "add", "x", "work", "--client", "sh"]).expect(1).stderr.contains("codex")
    );
    let _child = serve(&fixture);
    for on in ["", "resume t1 "] {
        let told = fixture.loci(&["dispatch", "other", "one", "--wait-seconds", "30", "--json"]).expect(0);
        let reply = format!("codex exec --json --skip-git-repo-check {on}- heard: one");
        assert_eq!(told.records()[0]["reply"], json!(reply));
    }
    assert!(heard(fixture.path()).is_empty(), "the other one was not asked");
}

/// As a client does that tells its servers nothing of its own environment.
fn dispatched_by_tool(fixture: &Fixture, cwd: &Path, to: &str) -> Value {
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
    let mut said = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let answer = said.find(|said| said["id"] == json!(2)).unwrap();
    drop(stdin);
    server.wait().unwrap();
    answer["result"]["structuredContent"].clone()
}

#[test]
fn whoever_asks_where_an_agent_is_at_work_speaks_for_it() {
    let fixture = fixture();
    let elsewhere = fixture.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    fixture.loci(&["agent", "add", "apart", "elsewhere"]).expect(0);
    let _child = serve(&fixture);
    fixture.loci(&["dispatch", "agent0", "SLOW"]).expect(0);
    assert!(until_within(Duration::from_secs(20), || heard(fixture.path()).len() == 1));
    for (cwd, to, from, hops) in [("work", "apart", "agent0", 2), ("elsewhere", "agent1", "your user", 1)] {
        let told = dispatched_by_tool(&fixture, &fixture.path().join(cwd), to);
        assert!(told.to_string().contains("passed on"), "{told}");
        let all = heard(fixture.path());
        let last = all.last().unwrap();
        assert!(last.starts_with(&format!("{to}|{hops}|")), "{last}");
        assert!(last.contains(&format!("from {from},")), "{last}");
    }
}

#[test]
fn what_cannot_be_answered_says_why() {
    let fixture = fixture();
    let _child = serve(&fixture);
    let refused =
        fixture.loci(&["dispatch", "agent0", "REFUSED", "--wait-seconds", "30", "--json"]).expect(1);
    let refused = refused.records().remove(0);
    assert_eq!(refused["attempts"], 1);
    let error = refused["error"].as_str().unwrap();
    assert!(error.starts_with("no key") && !error.contains("aaaaaaaa"), "a secret is kept: {error}");
    // It may pass: it is tried again later, and the others are not kept waiting by it.
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
    for (args, said) in [
        (vec!["dispatch", "nobody", "x"], "no agent called `nobody`"),
        (vec!["dispatch", "agent0", " "], "empty"),
        (vec!["dispatch", "Agent 0", "x"], "lowercase letters"),
        (vec!["agent", "add", "../x"], "lowercase letters"),
        (vec!["agent", "add", "x", "not/there"], "not a directory"),
        (vec!["agent", "remove", "nobody"], "no agent called"),
        (vec!["agent", "remove", "agent1"], "unanswered messages"),
        (vec!["agent", "messages", "x"], "is not a message ID"),
    ] {
        let refused = fixture.loci(&args).expect(1);
        assert!(refused.stderr.contains(said), "{args:?}: {}", refused.stderr);
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
fn without_a_daemon_a_message_waits_and_is_handed_over_once() {
    let fixture = fixture();
    for n in 0..3 {
        let left = fixture
            .loci(&["dispatch", "agent0", &format!("letter {n}"), "--key", &format!("k{n}"), "--json"])
            .expect(0);
        assert_eq!(left.records()[0]["state"], "spooled");
    }
    let spool = fixture.path().join(".local/share/loci/pending.jsonl");
    let before = std::fs::read(&spool).unwrap();
    assert_eq!(std::fs::metadata(&spool).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fixture.loci(&["agent", "messages", "--json"]).expect(0).records()[0]["spooled"], 3);
    fixture.loci(&["dispatch", "nobody", "x"]).expect(1);
    let told = || fixture.alone(&["doctor", "-o", "text"]).text().to_string();
    assert!(told().contains("3 messages wait for a daemon"), "{}", told());
    // One to an agent that is gone by then is put aside, and told.
    let mut spool_file = std::fs::OpenOptions::new().append(true).open(&spool).unwrap();
    spool_file.write_all(b"{\"key\":\"g\",\"agent\":\"gone\",\"text\":\"x\"}\n").unwrap();
    let mut child = serve(&fixture);
    let all = |fixture: &Fixture| messages(fixture).iter().filter(|m| m["state"] == "answered").count();
    assert!(until_within(Duration::from_secs(30), || all(&fixture) == 3));
    assert_eq!(std::fs::metadata(&spool).unwrap().len(), 0);
    assert!(told().contains("1 messages could not be taken in"), "{}", told());
    // Killed before the lines were taken away: they are known.
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(&spool, &before).unwrap();
    let _child = serve(&fixture);
    assert!(until_within(Duration::from_secs(30), || std::fs::metadata(&spool).unwrap().len() == 0));
    assert_eq!((messages(&fixture).len(), heard(fixture.path()).len()), (3, 3));
}

/// Started on demand by whoever has something to say.
#[test]
fn whoever_has_a_message_starts_the_daemon() {
    let fixture = fixture();
    let mut command = fixture.command(&["dispatch", "agent0", "hello", "--wait-seconds", "30", "--json"]);
    command
        .env_remove("LOCI_DAEMON")
        .env("PATH", format!("{}:/usr/bin:/bin", fixture.path().join("bin").display()));
    let said = testutil::run_command(command).expect(0).records().remove(0);
    assert_eq!(said["reply"], "heard: hello");
    assert_eq!(fixture.status()["running"], true);
}

#[test]
fn a_client_does_not_outlive_the_daemon() {
    let fixture = fixture();
    for how in ["-KILL", "-TERM"] {
        let mut child = serve(&fixture);
        fixture.loci(&["dispatch", "agent0", "SLOW", "--key", how]).expect(0);
        let is_running = || sleepers(fixture.path()) > 0;
        assert!(until_within(Duration::from_secs(20), is_running), "{how}");
        crate::fixture::signal(&child, how);
        child.wait().unwrap();
        // Two seconds, and what a busy machine adds.
        assert!(until_within(Duration::from_secs(10), || !is_running()), "{how}");
    }
}

/// Processes that belong to this fixture.
fn sleepers(home: &Path) -> usize {
    let mark = format!("HOME={}", home.display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let of = |path: std::path::PathBuf| {
        let env = std::fs::read(path.join("environ")).unwrap_or_default();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        env.split(|b| *b == 0).any(|var| var == mark.as_bytes()) && line.starts_with(b"sleep")
    };
    all.filter(|entry| of(entry.path())).count()
}

/// `LOCI_MESSAGES=1000` is the long form.
#[test]
fn whoever_is_killed_every_message_is_delivered_and_answered_once() {
    let fixture = fixture();
    let number = rounds("LOCI_MESSAGES", 60);
    let mut child = serve(&fixture);
    let (mut took, mut kills) = (Vec::new(), 0);
    for n in 0..number {
        let key = format!("key{n}");
        let line = format!("letter{n}");
        let mut command =
            fixture.command(&["dispatch", &format!("agent{}", n % 6), &line, "--key", &key, "--json"]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        if n % 9 == 4 {
            // The one who hands it in is killed, at any moment, and hands it in again.
            let mut hasty = command.stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(n as u64 % 23));
            let _ = hasty.kill();
            hasty.wait().unwrap();
        }
        let began = Instant::now();
        let output = command.stdout(Stdio::piped()).output().unwrap();
        took.push(began.elapsed());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        if n % 13 == 7 {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            child = serve(&fixture);
        }
    }
    let done = || messages(&fixture).iter().filter(|m| m["state"] == "answered").count() == number;
    assert!(until_within(Duration::from_secs(60 + number as u64), done), "{:?}", states(&fixture));
    let all = messages(&fixture);
    assert_eq!(all.len(), number, "a message is there twice");
    let heard = heard(fixture.path());
    for message in &all {
        let text = message["text"].as_str().unwrap();
        assert_eq!(message["reply"], format!("heard: {text}"));
        assert!(heard.iter().any(|line| line.ends_with(&format!(" {text}"))), "{text} was never delivered");
    }
    assert_eq!(
        std::fs::metadata(fixture.path().join(".local/share/loci/pending.jsonl")).map_or(0, |m| m.len()),
        0
    );
    took.sort();
    println!(
        "{number} messages, {kills} kills, {} deliveries; acceptance: median {:?}, p99 {:?}",
        heard.len(),
        took[number / 2],
        took[number * 99 / 100]
    );
}

fn states(fixture: &Fixture) -> BTreeMap<String, usize> {
    messages(fixture).iter().fold(BTreeMap::new(), |mut all, m| {
        *all.entry(m["state"].to_string()).or_default() += 1;
        all
    })
}
