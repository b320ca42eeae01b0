//! Archived copies that are lost: every reader says so, what can be read is archived again, and the loss is named until it is mended
//! or dismissed.

use std::fs;
use std::path::{Path, PathBuf};
use testutil::{ALPHA, Home, Session, run_line};

const READERS: &[&str] =
    &["query user-messages --all-projects", "search walrus", "sessions", "show 00000001", "index"];

fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn session(number: usize, turns: usize) -> Session {
    let mut session = Session::new(&id(number), ALPHA, "2026-03-01T10:00:00Z");
    for turn in 0..turns {
        session.prompt(&format!("lostneedle{number}x{turn}q: a walrus is kept")).reply(&["Noted."]);
    }
    session
}

fn packed(home: &Home) -> PathBuf {
    home.path().join(".local/share/loci/archive/packed.db")
}

/// Without what SQLite keeps beside it.
fn put(path: &Path, bytes: Option<&[u8]>) {
    for ending in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_os_string();
        file.push(ending);
        let _ = fs::remove_file(file);
    }
    if let Some(bytes) = bytes {
        fs::write(path, bytes).unwrap();
    }
}

/// Session 0 is only in the archive, 1 is also there as a transcript.
fn home_with_copies() -> (Home, PathBuf, Vec<u8>) {
    let home = Home::new();
    let gone = home.add(&session(0, 3));
    let live = home.add(&session(1, 3));
    run_line(&home, "index").expect(0);
    fs::remove_file(gone).unwrap();
    run_line(&home, "index").expect(0);
    let bytes = fs::read(packed(&home)).unwrap();
    (home, live, bytes)
}

fn assert_codes(home: &Home, code: i32, step: &str) {
    for line in READERS {
        let ended = run_line(home, line);
        assert_eq!(ended.code, Some(code), "{step}: {line}: {} {}", ended.text(), ended.stderr);
        if code == 3 && *line != "index" {
            assert!(
                ended.stderr.contains("doctor") || ended.stderr.contains("sources --problems"),
                "{}",
                ended.stderr
            );
        }
    }
}

fn losses(home: &Home) -> String {
    let report = run_line(home, "doctor --json").records().remove(0);
    let findings = report["findings"].as_array().unwrap().iter();
    let losses = findings.filter(|one| one["check"] == "losses" && one["severity"] == "problem");
    losses.map(|one| format!("{}\n", one["message"])).collect()
}

#[test]
fn a_lost_copy_is_said_by_every_reader_until_it_is_back() {
    let (home, live, bytes) = home_with_copies();
    put(&packed(&home), None);
    // Also before an update has looked.
    let ended = run_line(&home, "query user-messages --all-projects");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    run_line(&home, "index").expect(3);
    assert_codes(&home, 3, "lost");
    assert!(losses(&home).contains(&id(0)), "{}", losses(&home));
    assert!(!losses(&home).contains(&id(1)), "its transcript was archived again: {}", losses(&home));
    let problems = run_line(&home, "sources --problems").text().to_string();
    assert!(problems.contains("\"problem\":\"lost-copy\""), "{problems}");
    fs::remove_file(live).unwrap();
    run_line(&home, "index").expect(3);
    let shown = run_line(&home, "show 00000001").text().to_string();
    assert!(shown.contains("lostneedle1x2q"), "{shown}");
    // The right file is put back.
    put(&packed(&home), Some(&bytes));
    run_line(&home, "index").expect(0);
    assert_codes(&home, 0, "mended");
    assert_eq!(losses(&home), "");
    let shown = run_line(&home, "query user-messages --all-projects").text().to_string();
    assert!(shown.contains("lostneedle0x2q") && shown.contains("lostneedle1x2q"), "{shown}");
}

#[test]
fn a_lost_copy_is_not_named_after_it_was_dismissed_or_forgotten() {
    for is_forgotten in [false, true] {
        let (home, ..) = home_with_copies();
        put(&packed(&home), None);
        run_line(&home, "index").expect(3);
        if is_forgotten {
            // The catalogue no longer has the session, so that only the list of copies can name it.
            run_line(&home, &format!("forget {} --yes", id(1)));
            assert!(losses(&home).contains(&id(0)), "{}", losses(&home));
            continue;
        }
        assert_eq!(run_line(&home, "doctor --dismiss nothing").code, Some(1));
        run_line(&home, "doctor --dismiss lost-copy");
        assert_eq!(losses(&home), "");
        run_line(&home, "index").expect(0);
        assert_codes(&home, 0, "dismissed");
        let report = run_line(&home, "doctor -o text").text().to_string();
        assert!(report.contains("1 dismissed"), "{report}");
        // Another loss is another problem.
        put(&packed(&home), None);
        fs::remove_file(home.transcript_path(&session(1, 3))).unwrap();
        run_line(&home, "index").expect(3);
        assert!(losses(&home).contains(&id(1)), "{}", losses(&home));
    }
}

#[test]
fn what_only_a_lost_copy_had_of_a_transcript_that_is_there_is_named() {
    let home = Home::new();
    let whole = session(1, 10);
    home.add(&whole);
    run_line(&home, "index").expect(0);
    let mut cut = whole.clone();
    cut.lines.truncate(4);
    home.add(&cut);
    run_line(&home, "index").expect(3);
    run_line(&home, "doctor --dismiss shortened");
    run_line(&home, "index").expect(0);
    put(&packed(&home), None);
    run_line(&home, "index").expect(3);
    assert!(losses(&home).contains("fewer entries") && losses(&home).contains(&id(1)), "{}", losses(&home));
    // It stands, whatever comes after.
    run_line(&home, "index").expect(3);
    home.add(&session(2, 2));
    run_line(&home, "index").expect(3);
    run_line(&home, "doctor --dismiss lost-entries");
    assert_eq!(losses(&home), "");
    run_line(&home, "index").expect(0);
}

#[test]
fn an_older_archive_that_was_put_back_is_named_and_brings_no_forgotten_text_back() {
    let home = Home::new();
    let transcript = home.add(&session(1, 3));
    let doomed = home.add(&session(5, 3));
    run_line(&home, "index").expect(0);
    let older = fs::read(packed(&home)).unwrap();
    home.add(&session(1, 9));
    run_line(&home, &format!("forget {} --yes", id(5))).expect(0);
    run_line(&home, "index").expect(0);
    fs::remove_file(doomed).unwrap();
    fs::remove_file(transcript).unwrap();
    run_line(&home, "index").expect(0);
    put(&packed(&home), Some(&older));
    let ended = run_line(&home, "query user-messages --all-projects");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    run_line(&home, "index").expect(3);
    assert!(losses(&home).contains(&id(1)), "{}", losses(&home));
    assert!(!losses(&home).contains(&id(5)), "{}", losses(&home));
    for line in ["query user-messages --all-projects", "sessions", "archive --json"] {
        let ended = run_line(&home, line);
        assert!(!ended.text().contains("lostneedle5") && !ended.text().contains(&id(5)), "{line}");
    }
    let list = fs::read_to_string(home.path().join(".local/share/loci/archive.list")).unwrap();
    assert!(!list.contains(&id(5)), "{list}");
    run_line(&home, "doctor --dismiss lost-entries");
    run_line(&home, "index").expect(0);
}

#[test]
fn a_forgotten_session_is_not_named_for_what_its_transcript_lost() {
    let home = Home::new();
    home.add(&session(2, 2));
    let mut cut = session(1, 10);
    home.add(&cut);
    run_line(&home, "index").expect(0);
    cut.lines.truncate(4);
    home.add(&cut);
    run_line(&home, "index").expect(3);
    assert!(losses(&home).contains(&id(1)), "{}", losses(&home));
    run_line(&home, &format!("forget {} --yes", id(1))).expect(0);
    assert_eq!(losses(&home), "");
    run_line(&home, "index").expect(0);
}
