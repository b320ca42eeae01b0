//! What a search has open is kept between calls while nothing changes: the daemon answers as a command without it does, whatever happened a moment ago.

use crate::fixture::{Fixture, rounds, wait_until};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use testutil::{Finished, Rollout, Session};

fn start(fixture: &Fixture) -> std::process::Child {
    fixture.loci_without_daemon(&["index"]).expect(0);
    let child = fixture.serve();
    assert!(wait_until(|| reused_after_search(fixture)), "{}", fixture.status());
    child
}

fn reused(fixture: &Fixture) -> u64 {
    fixture.status()["snapshots_reused"].as_u64().unwrap()
}

/// Searches twice; the second time nothing has changed.
fn reused_after_search(fixture: &Fixture) -> bool {
    let before = reused(fixture);
    for _ in 0..2 {
        fixture.loci(&["search", "walrus", "--json"]);
    }
    reused(fixture) > before
}

fn assert_same(fixture: &Fixture, step: &str) {
    for words in ["walrus", "okapi"] {
        let args = ["search", words, "--json", "--limit", "100"];
        let (with, without) = (fixture.loci(&args), fixture.loci_without_daemon(&args));
        assert_eq!(found_sessions(&with), found_sessions(&without), "{words} after {step}");
    }
}

/// The sessions that were found. Their order and counts depend on whether the daemon has indexed a change yet.
fn found_sessions(answer: &Finished) -> BTreeSet<String> {
    let found = answer.records().remove(0);
    let chats = found["results"].as_array().unwrap().iter();
    chats.map(|chat| chat["chatId"].to_string()).collect()
}

/// A word in letters only: digits would be words of their own.
fn unique_word(n: usize) -> String {
    let letters: String = format!("{n:04}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    format!("zyx{letters}")
}

fn append(path: &Path, n: usize) {
    let id = path.file_stem().unwrap().to_str().unwrap();
    let word = unique_word(n);
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"okapi{n}\",\"sessionId\":\"{id}\",\"timestamp\":\"2026-03-04T10:00:00.000Z\",\"cwd\":\"/srv/demo/alpha\",\"message\":{{\"role\":\"user\",\"content\":\"the okapi number{n} arrives with {word}\"}}}}\n"
    );
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

/// Codex has a folder for each day.
fn add_rollout(fixture: &Fixture, n: usize, day: &str) {
    let id = format!("01890000-0000-7000-8000-{n:012}");
    let mut rollout = Rollout::new(&id, "/srv/demo/alpha", "2026-03-04T09:00:00Z");
    rollout.prompt("the walrus of another agent");
    let folder = fixture.path().join(".codex/sessions").join(day);
    let name = format!("rollout-2026-03-04T09-00-00-{id}.jsonl");
    testutil::write_file(&folder.join(name), (rollout.lines.join("\n") + "\n").as_bytes());
}

/// `LOCI_TRIALS=200` runs the long form.
#[test]
fn every_change_is_seen_by_the_next_search() {
    let fixture = Fixture::with_sessions();
    let path = fixture.add_session(9, "where is the walrus");
    add_rollout(&fixture, 1, "2026/03/04");
    let _child = start(&fixture);
    for n in 0..rounds("LOCI_TRIALS", 4) {
        append(&path, n);
        assert_eq!(found_sessions(&fixture.loci(&["search", &unique_word(n), "--json"])).len(), 1, "{n}");
        assert_same(&fixture, "an appended line");
        fixture.add_session(100 + n, &format!("a new walrus number{n}"));
        assert_same(&fixture, "a new transcript");
        let mut session = Session::new(
            &format!("{n:08}-2222-4222-8333-444444444444"),
            &format!("/srv/new{n}"),
            "2026-03-04T09:00:00Z",
        );
        session.prompt("the walrus of a new project").reply(&["yes"]);
        let added = fixture.home.add(&session);
        assert_same(&fixture, "a new folder");
        append(&added, 1000 + n);
        let words = unique_word(1000 + n);
        assert_eq!(found_sessions(&fixture.loci(&["search", &words, "--json"])).len(), 1, "{words}");
        assert_same(&fixture, "a line in a new folder");
        add_rollout(&fixture, 100 + n, &format!("2026/0{}/{:02}", 4 + n % 5, 1 + n % 28));
        assert_same(&fixture, "a folder of another day");
        fs::remove_file(&added).unwrap();
        assert_same(&fixture, "a deleted transcript");
        fs::write(&path, fs::read(&path).unwrap()).unwrap();
        assert_same(&fixture, "a rewritten transcript");
    }
    assert!(reused_after_search(&fixture), "{}", fixture.status());
}

/// A store that did not exist when the daemon started.
#[test]
fn a_new_agent_is_seen_by_the_next_search() {
    let fixture = Fixture::with_sessions();
    let _child = start(&fixture);
    add_rollout(&fixture, 1, "2026/03/04");
    assert_same(&fixture, "a new store");
}

/// Commands without the daemon change catalogue, index and archive beside it.
#[test]
fn what_other_processes_store_is_seen_by_the_next_search() {
    let fixture = Fixture::with_sessions();
    let path = fixture.add_session(9, "where is the walrus");
    let _child = start(&fixture);
    append(&path, 1);
    fixture.loci_without_daemon(&["index"]).expect(0);
    assert_same(&fixture, "an index of another process");
    fs::remove_file(&path).unwrap();
    fixture.loci_without_daemon(&["index"]).expect(0);
    assert_same(&fixture, "an archived transcript");
    fixture.loci_without_daemon(&["forget", "00000009-1111-4222-8333-444444444444", "--yes"]);
    assert_same(&fixture, "a forgotten session");
    fixture.loci_without_daemon(&["index", "--rebuild"]).expect(0);
    assert_same(&fixture, "another catalogue");
}

/// A caller whose agents write elsewhere gets nothing that was kept for the others, and leaves nothing for them.
#[test]
fn another_configuration_has_its_own_history() {
    let (fixture, other) = (Fixture::with_sessions(), Fixture::new());
    let path = other.add_session(1, "the okapi of another place");
    let _child = start(&fixture);
    for n in 0..rounds("LOCI_TRIALS", 3) {
        append(&path, n);
        let mut command = fixture.command(&["search", &unique_word(n), "--json"]);
        command.env("CLAUDE_CONFIG_DIR", other.path().join(".claude"));
        assert_eq!(found_sessions(&testutil::run_command(command)).len(), 1, "{n}");
        assert_same(&fixture, "a search elsewhere");
    }
}

/// A deleted file stays on the disk as long as somebody has it open.
#[test]
#[ignore = "takes minutes: stores are closed after one"]
fn the_stores_of_the_last_search_are_closed_after_a_minute() {
    let fixture = Fixture::with_sessions();
    let child = start(&fixture);
    let has_stores_open = || {
        let files = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path.ends_with("catalogue.db"))
    };
    assert!(has_stores_open());
    let until = Instant::now() + Duration::from_mins(2);
    while has_stores_open() {
        assert!(Instant::now() < until, "still open");
        std::thread::sleep(Duration::from_secs(1));
    }
}
