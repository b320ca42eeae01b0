//! With the daemon and without it: the same bytes, the same exit codes.

use crate::fixture::{Fixture, signal, until};
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
fn operations_answer_the_same_with_the_daemon_and_without() {
    let fixture = Fixture::with_sessions();
    write_file(
        &fixture.path().join("src/a.rs"),
        b"/// Keeps.\npub struct Keeper { n: u32 }\nimpl Keeper { pub fn take(&self) -> u32 { self.n } }\n",
    );
    fixture.alone(&["index"]).expect(0);
    fixture.alone(&["code", "index"]);
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
        let (with, without) = (fixture.loci(&args), fixture.alone(&args));
        assert_eq!(with.code, without.code, "{line}");
        assert_eq!(with.stderr, without.stderr, "{line}");
        let (with, without) = (undated(with.text()), undated(without.text()));
        let apart = with.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(40);
        assert!(with == without, "{line}: from {}", &with[apart..].chars().take(200).collect::<String>());
    }
    let calls = fixture.status()["calls"].as_u64().unwrap();
    assert!(calls >= 28, "the daemon was asked {calls} times");
}

/// More than pipes and sockets hold.
fn talkative() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..200 {
        fixture.converse(n, &format!("number{n} {}", "of the walrus ".repeat(1_500)));
    }
    fixture
}

/// Somebody reads the records, has the daemon end in the middle, and reads on at leisure.
fn read_through(fixture: &Fixture, args: &[&str], pause: u64, end: impl FnOnce(&Child)) -> Vec<u8> {
    let mut daemon = fixture.serve();
    let mut reader = fixture.command(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut from = reader.stdout.take().unwrap();
    let mut told = vec![0; 100_000];
    from.read_exact(&mut told).unwrap();
    assert_eq!(fixture.line().unwrap().ask("daemon", json!({})).unwrap()["result"]["in_flight"], 1);
    end(&daemon);
    let mut some = [0; 16 << 10];
    while let n @ 1.. = from.read(&mut some).unwrap() {
        told.extend_from_slice(&some[..n]);
        std::thread::sleep(Duration::from_millis(pause));
    }
    daemon.wait().unwrap();
    assert_eq!(reader.wait().unwrap().code(), Some(0));
    told
}

#[test]
fn records_are_whole_though_the_daemon_goes_in_the_middle() {
    let fixture = talkative();
    // Told to end, it goes on for two seconds; whoever reads meanwhile must not take what it has by then for everything.
    for (format, signal, pause) in [("jsonl", "-KILL", 0), ("tsv", "-KILL", 0), ("jsonl", "-TERM", 15)] {
        let args = ["query", "messages", "--all-projects", "-o", format];
        let whole = fixture.alone(&args).expect(0).stdout;
        assert!(whole.len() > 2 << 20, "{}", whole.len());
        let told = read_through(&fixture, &args, pause, |daemon| self::signal(daemon, signal));
        assert!(told == whole, "{format} {signal}: {} bytes of {}", told.len(), whole.len());
    }
}

/// Agents go on writing while somebody pages through.
#[test]
fn no_record_is_told_twice_or_left_out_though_others_came_meanwhile() {
    let fixture = talkative();
    let args = ["query", "messages", "--all-projects", "-o", "jsonl", "--reverse"];
    let before = fixture.alone(&args).expect(0).stdout;
    let told = read_through(&fixture, &args, 0, |daemon| {
        signal(daemon, "-KILL");
        fixture.converse(199, "said meanwhile, at the end of the one that was told first");
        fixture.converse(500, "in a conversation of its own");
    });
    let lines = |bytes: &[u8]| -> BTreeSet<String> {
        String::from_utf8_lossy(bytes).lines().map(str::to_string).collect()
    };
    let (seen, known) = (lines(&told), lines(&before));
    assert_eq!(seen.len(), told.iter().filter(|b| **b == b'\n').count(), "something was told twice");
    let missing = known.difference(&seen).filter(|line| !line.contains("00000199-")).count();
    assert_eq!(missing, 0, "of {}", known.len());
    assert!(seen.iter().any(|line| line.contains("in a conversation of its own")));
}

/// What the environment and the directory of whoever asks would mean elsewhere is not asked elsewhere.
#[test]
fn what_looks_different_from_where_the_daemon_is_is_answered_here() {
    let fixture = Fixture::with_sessions();
    let _child = fixture.serve();
    let asked = |set: (&str, &str), args: &[&str]| {
        [true, false].map(|with| {
            let mut command = fixture.command(args);
            command.env(set.0, set.1).current_dir(fixture.path());
            if !with {
                command.env("LOCI_DAEMON", "off");
            }
            let ended = testutil::run_command(command);
            (ended.code, ended.stdout, ended.stderr)
        })
    };
    for (set, args) in [
        (
            ("TZ", "XXX-14"),
            vec!["query", "messages", "--all-projects", "--since", "2026-03-04", "--until", "2026-03-04"],
        ),
        (("CLAUDE_CONFIG_DIR", "/nowhere:.claude"), vec!["query", "messages", "--all-projects"]),
        (("CHATWISE_DB_PATH", "nothing.db"), vec!["sources"]),
    ] {
        let [with, without] = asked(set, &args);
        assert_eq!(with, without, "{set:?}");
        assert!(set.0 == "TZ" || with.0 == Some(0), "{set:?} {with:?}");
    }
}

#[test]
fn what_could_not_be_read_is_told_to_whoever_reads_only_the_beginning() {
    let fixture = talkative();
    write_file(
        &fixture.path().join(".claude/projects/-srv-demo-alpha/bad.jsonl"),
        b"{\"type\":\"user\",\nno\n",
    );
    let args = ["query", "messages", "--all-projects", "-o", "jsonl"];
    let begun = |daemon: &str| {
        let mut command = fixture.command(&args);
        command.env("LOCI_DAEMON", daemon).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut reader = command.spawn().unwrap();
        reader.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let ended = reader.wait_with_output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let _child = fixture.serve();
    let (with, without) = (begun("use"), begun("off"));
    assert_eq!(with, without);
    assert_eq!(with.0, Some(3), "{with:?}");
}

/// A daemon of the same version and another build may not know everything that is said to it.
#[test]
fn a_daemon_that_does_not_understand_is_done_without() {
    let fixture = Fixture::with_sessions();
    let child = fixture.serve();
    let socket = fixture.socket();
    let zone = fixture.line().unwrap().ask("hello", json!({})).unwrap()["result"]["zone"].take();
    signal(&child, "-KILL");
    drop(child);
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600)).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
                let said: Value = serde_json::from_str(&line).unwrap();
                let hello = said["method"] == "hello";
                count.fetch_add(usize::from(!hello), Relaxed);
                let answer = if hello {
                    json!({"jsonrpc": "2.0", "id": said["id"], "result": {"version": env!("CARGO_PKG_VERSION"), "protocol": 1, "zone": zone}})
                } else {
                    json!({"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32602, "message": "`_meta`: unknown field"}})
                };
                (&stream).write_all(format!("{answer}\n").as_bytes()).unwrap();
                line.clear();
            }
        }
    });
    for args in
        [vec!["sessions", "--json"], vec!["query", "messages", "--all-projects"], vec!["search", "walrus"]]
    {
        fixture.loci(&args).expect(0);
    }
    assert_eq!(asked.load(Relaxed), 3);
}

/// Whoever has read enough is no reason to work on.
#[test]
fn records_that_nobody_reads_any_more_are_called_off() {
    let fixture = talkative();
    let _child = fixture.serve();
    let args = ["query", "messages", "--all-projects", "-o", "jsonl"];
    let mut reader = fixture.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 100];
    reader.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = reader.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    assert!(until(|| fixture.status()["in_flight"] == json!(0)), "{}", fixture.status());
}

/// When an answer was given, and up to when it knows, is the only thing that differs.
fn undated(text: &str) -> String {
    let without = |text: String, mark: &str| match text.split_once(mark) {
        Some((before, after)) => {
            format!(
                "{before}{}",
                after.trim_start_matches(|c: char| c.is_ascii_digit() || "-:.TZ".contains(c))
            )
        }
        None => text,
    };
    without(without(text.to_string(), "\"as_of\":\""), "\"asOf\":")
}
