//! With and without the daemon: the same bytes and the same exit codes.

use crate::fixture::{Fixture, signal, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use testutil::write_file;

#[test]
fn responses_are_the_same_with_and_without_the_daemon() {
    let fixture = Fixture::with_sessions();
    write_file(
        &fixture.path().join("src/a.rs"),
        b"/// Keeps.\npub struct Keeper { n: u32 }\nimpl Keeper { pub fn take(&self) -> u32 { self.n } }\n",
    );
    fixture.loci_without_daemon(&["index"]).expect(0);
    fixture.loci_without_daemon(&["code", "index"]);
    let _child = fixture.serve();
    for line in [
        "sessions --json",
        "sessions --limit 2 -o text",
        "sessions --limit 2 --jq .chatId",
        "sessions --hybrid",
        "sessions --since nonsense",
        "search walrus --json",
        "search walrus -o text",
        "search number3 --stats-only",
        "search zebra --json",
        "show 00000001 --json",
        "show 00000001 -o text",
        "show ffffffff --json",
        "resolve 0000 --json",
        "archive --json",
        "secrets --json",
        "code outline Keeper -o text",
        "code outline Keeper --json",
        "code search Kee --json",
        "code usages Keeper --json",
        "code graph --json",
        "code outline Nobody --json",
        "query messages --all-projects -o jsonl",
        "query messages --all-projects -o tsv",
        "query messages --all-projects -o text",
        "query messages --all-projects --limit 2 --jq .",
        "query messages --all-projects --hybrid",
        "query messages",
        "query errors --all-projects",
        "query tools --all-projects --since nonsense",
        "analyze sequences --all-projects",
        "stats --all-projects",
        "stats --all-projects --hybrid",
        "sources -o text",
        "sources --problems",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let (with, without) = (fixture.loci(&args), fixture.loci_without_daemon(&args));
        assert_eq!(with.code, without.code, "{line}");
        assert_eq!(with.stderr, without.stderr, "{line}");
        let (with, without) = (strip_timestamps(with.text()), strip_timestamps(without.text()));
        let difference =
            with.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(40);
        assert!(
            with == without,
            "{line}: from {}",
            &with[difference..].chars().take(200).collect::<String>()
        );
    }
    let calls = fixture.status()["calls"].as_u64().unwrap();
    assert!(calls >= 28, "the daemon served {calls} calls");
}

/// More output than the buffers of pipes and sockets hold.
fn fixture_with_long_history() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..200 {
        fixture.add_session(n, &format!("number{n} {}", "of the walrus ".repeat(1_500)));
    }
    fixture
}

/// Reads some records, ends the daemon in the middle, and reads the rest with a pause after each buffer.
fn read_across_daemon_exit(
    fixture: &Fixture,
    args: &[&str],
    pause: u64,
    end_daemon: impl FnOnce(&Child),
) -> Vec<u8> {
    let mut daemon = fixture.serve();
    let mut reader = fixture.command(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = reader.stdout.take().unwrap();
    let mut output = vec![0; 100_000];
    stdout.read_exact(&mut output).unwrap();
    assert_eq!(fixture.connect().unwrap().request("daemon", json!({})).unwrap()["result"]["in_flight"], 1);
    end_daemon(&daemon);
    let mut buffer = [0; 16 << 10];
    while let n @ 1.. = stdout.read(&mut buffer).unwrap() {
        output.extend_from_slice(&buffer[..n]);
        std::thread::sleep(Duration::from_millis(pause));
    }
    daemon.wait().unwrap();
    assert_eq!(reader.wait().unwrap().code(), Some(0));
    output
}

#[test]
fn records_are_complete_although_the_daemon_exits_in_the_middle() {
    let fixture = fixture_with_long_history();
    // After SIGTERM the daemon continues for two seconds. A slow reader must not mistake what it has by then for all.
    for (format, signal, pause) in [("jsonl", "-KILL", 0), ("tsv", "-KILL", 0), ("jsonl", "-TERM", 15)] {
        let args = ["query", "messages", "--all-projects", "-o", format];
        let expected = fixture.loci_without_daemon(&args).expect(0).stdout;
        assert!(expected.len() > 2 << 20, "{}", expected.len());
        let output = read_across_daemon_exit(&fixture, &args, pause, |daemon| self::signal(daemon, signal));
        assert!(output == expected, "{format} {signal}: {} bytes of {}", output.len(), expected.len());
    }
}

/// Agents write new messages while the reader pages through the records.
#[test]
fn no_record_is_repeated_or_missing_although_new_ones_arrive() {
    let fixture = fixture_with_long_history();
    let args = ["query", "messages", "--all-projects", "-o", "jsonl", "--reverse"];
    let before = fixture.loci_without_daemon(&args).expect(0).stdout;
    let output = read_across_daemon_exit(&fixture, &args, 0, |daemon| {
        signal(daemon, "-KILL");
        fixture.add_session(199, "said meanwhile, at the end of the one that was told first");
        fixture.add_session(500, "in a conversation of its own");
    });
    let lines = |bytes: &[u8]| -> BTreeSet<String> {
        String::from_utf8_lossy(bytes).lines().map(str::to_string).collect()
    };
    let (seen, known) = (lines(&output), lines(&before));
    assert_eq!(seen.len(), output.iter().filter(|b| **b == b'\n').count(), "a record was repeated");
    let missing = known.difference(&seen).filter(|line| !line.contains("00000199-")).count();
    assert_eq!(missing, 0, "of {}", known.len());
    assert!(seen.iter().any(|line| line.contains("in a conversation of its own")));
}

/// Requests that depend on the environment or working directory of the command are not sent to the daemon.
#[test]
fn requests_that_depend_on_the_environment_bypass_the_daemon() {
    let fixture = Fixture::with_sessions();
    let _child = fixture.serve();
    let run_with_and_without = |variable: (&str, &str), args: &[&str]| {
        [true, false].map(|with| {
            let mut command = fixture.command(args);
            command.env(variable.0, variable.1).current_dir(fixture.path());
            if !with {
                command.env("LOCI_DAEMON", "off");
            }
            let output = testutil::run_command(command);
            (output.code, output.stdout, output.stderr)
        })
    };
    for (variable, args) in [
        (
            ("TZ", "XXX-14"),
            vec!["query", "messages", "--all-projects", "--since", "2026-03-04", "--until", "2026-03-04"],
        ),
        (("CLAUDE_CONFIG_DIR", "/nowhere:.claude"), vec!["query", "messages", "--all-projects"]),
        (("CHATWISE_DB_PATH", "nothing.db"), vec!["sources"]),
    ] {
        let [with, without] = run_with_and_without(variable, &args);
        assert_eq!(with, without, "{variable:?}");
        assert!(variable.0 == "TZ" || with.0 == Some(0), "{variable:?} {with:?}");
    }
}

#[test]
fn unreadable_data_is_reported_to_a_reader_that_stops_early() {
    let fixture = fixture_with_long_history();
    write_file(
        &fixture.path().join(".claude/projects/-srv-demo-alpha/bad.jsonl"),
        b"{\"type\":\"user\",\nno\n",
    );
    let args = ["query", "messages", "--all-projects", "-o", "jsonl"];
    let read_beginning = |daemon: &str| {
        let mut command = fixture.command(&args);
        command.env("LOCI_DAEMON", daemon).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut reader = command.spawn().unwrap();
        reader.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let output = reader.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let _child = fixture.serve();
    let (with, without) = (read_beginning("use"), read_beginning("off"));
    assert_eq!(with, without);
    assert_eq!(with.0, Some(3), "{with:?}");
}

/// A daemon of the same version but another build may not know every parameter.
#[test]
fn a_daemon_that_rejects_a_request_is_bypassed() {
    let fixture = Fixture::with_sessions();
    let child = fixture.serve();
    let socket = fixture.socket();
    let zone = fixture.connect().unwrap().request("hello", json!({})).unwrap()["result"]["zone"].take();
    signal(&child, "-KILL");
    drop(child);
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600)).unwrap();
    let rejected = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&rejected);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
                let request: Value = serde_json::from_str(&line).unwrap();
                let is_hello = request["method"] == "hello";
                count.fetch_add(usize::from(!is_hello), Relaxed);
                let response = if is_hello {
                    json!({"jsonrpc": "2.0", "id": request["id"], "result": {"version": env!("CARGO_PKG_VERSION"), "protocol": 1, "zone": zone}})
                } else {
                    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "`_meta`: unknown field"}})
                };
                (&stream).write_all(format!("{response}\n").as_bytes()).unwrap();
                line.clear();
            }
        }
    });
    for args in
        [vec!["sessions", "--json"], vec!["query", "messages", "--all-projects"], vec!["search", "walrus"]]
    {
        fixture.loci(&args).expect(0);
    }
    assert_eq!(rejected.load(Relaxed), 3);
}

/// A closed pipe cancels the request in the daemon.
#[test]
fn a_reader_that_stops_early_cancels_the_request() {
    let fixture = fixture_with_long_history();
    let _child = fixture.serve();
    let args = ["query", "messages", "--all-projects", "-o", "jsonl"];
    let mut reader = fixture.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 100];
    reader.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert!(wait_until(|| fixture.status()["in_flight"] == json!(0)), "{}", fixture.status());
}

/// Removes the timestamps of a response and of its data, which are the only difference.
fn strip_timestamps(text: &str) -> String {
    let strip_after = |text: String, mark: &str| match text.split_once(mark) {
        Some((before, after)) => {
            format!(
                "{before}{}",
                after.trim_start_matches(|c: char| c.is_ascii_digit() || "-:.TZ".contains(c))
            )
        }
        None => text,
    };
    strip_after(strip_after(text.to_string(), "\"as_of\":\""), "\"asOf\":")
}
