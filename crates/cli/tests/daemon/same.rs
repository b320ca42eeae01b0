//! With the daemon and without it: the same bytes, the same exit codes.

use crate::builder::put;
use crate::house::House;

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
        "stats --all-projects",
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
    assert!(calls >= 18, "the daemon was asked {calls} times");
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
