//! With the daemon and without it: the same bytes, the same exit codes.

use crate::builder::put;
use crate::house::{House, until};
use serde_json::json;
use std::io::Read;
use std::process::Stdio;

#[test]
fn operations_answer_the_same_with_the_daemon_and_without() {
    let house = House::lived_in();
    put(
        &house.path().join("src/a.rs"),
        b"/// Keeps.\npub struct Keeper { n: u32 }\nimpl Keeper { pub fn take(&self) -> u32 { self.n } }\n",
    );
    house.alone(&["index"]).expect(0);
    house.alone(&["code", "index"]);
    let _child = house.serve();
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
        let (with, without) = (house.loci(&args), house.alone(&args));
        assert_eq!(with.code, without.code, "{line}");
        assert_eq!(with.stderr, without.stderr, "{line}");
        let (with, without) = (undated(with.text()), undated(without.text()));
        let apart = with.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(40);
        assert!(with == without, "{line}: from {}", &with[apart..].chars().take(200).collect::<String>());
    }
    let calls = house.status()["calls"].as_u64().unwrap();
    assert!(calls >= 28, "the daemon was asked {calls} times");
}

/// Records that come while somebody reads slowly: the daemon is killed in the middle, and what it told is told once.
#[test]
fn records_are_whole_though_the_daemon_goes_in_the_middle() {
    let house = House::new();
    for n in 0..200 {
        house.converse(n, &format!("number{n} {}", "of the walrus ".repeat(1_500)));
    }
    for format in ["jsonl", "tsv"] {
        let args = ["query", "messages", "--all-projects", "-o", format];
        let whole = house.alone(&args).expect(0).stdout;
        assert!(whole.len() > 2 << 20, "more than pipes and sockets hold: {}", whole.len());
        let mut daemon = house.serve();
        let mut reader = house.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = vec![0; 100_000];
        let mut from = reader.stdout.take().unwrap();
        from.read_exact(&mut told).unwrap();
        assert_eq!(house.line().unwrap().ask("daemon", json!({})).unwrap()["result"]["in_flight"], 1);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        from.read_to_end(&mut told).unwrap();
        assert_eq!(reader.wait().unwrap().code(), Some(0));
        assert!(told == whole, "{format}: {} bytes of {}", told.len(), whole.len());
    }
}

/// Whoever has read enough is no reason to work on.
#[test]
fn records_that_nobody_reads_any_more_are_called_off() {
    let house = House::new();
    for n in 0..200 {
        house.converse(n, &format!("number{n} {}", "of the walrus ".repeat(1_500)));
    }
    let _child = house.serve();
    let args = ["query", "messages", "--all-projects", "-o", "jsonl"];
    let mut reader = house.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 100];
    reader.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = reader.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    assert!(until(|| house.status()["in_flight"] == json!(0)), "{}", house.status());
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
