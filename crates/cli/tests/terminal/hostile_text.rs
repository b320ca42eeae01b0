//! Texts of transcripts never reach the terminal as control sequences.

use crate::screens::{ask_why, repository};
use crate::{WIDE, open};
use serde_json::json;
use testutil::{ALPHA, Home, Screen, Session, run_loci};

const HOSTILE: &str = "\x1b]0;owned\x07\x1b[2J\x1b[31mred \u{202e}txet\u{2066} \u{9b}5n\x08\x0e end";

#[track_caller]
fn check_output(screen: &Screen) {
    let raw = screen.raw();
    let text = String::from_utf8_lossy(&raw);
    for bad in ["\x1b]0;", "\x1b[2J\x1b[31m", "\u{202e}", "\u{2066}", "\u{9b}", "\x08", "\x0e"] {
        assert!(!text.contains(bad), "{bad:?} reached the terminal");
    }
}

/// A session with hostile text in prompts, replies, calls, results and errors.
fn hostile_session() -> Session {
    let mut session = Session::new("ffff0000-0000-4000-8000-000000000000", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("needle {HOSTILE}")).reply(&[HOSTILE]);
    session.did("Bash", json!({"command": HOSTILE}), HOSTILE);
    session.failed("Bash", json!({"command": HOSTILE}), &format!("Exit code 1 {HOSTILE}"));
    session
}

/// A session whose model has a hostile name.
fn session_of_hostile_model() -> Session {
    let mut session = Session::new("ffff1111-0000-4000-8000-000000000000", ALPHA, "2026-02-01T10:00:00Z");
    session.prompt("hello").reply(&["hello"]);
    let model = json!(format!("hostile-model {HOSTILE}")).to_string();
    session.lines.iter_mut().for_each(|line| *line = line.replace("\"claude-sonnet-4-5\"", &model));
    session
}

#[test]
fn control_sequences_and_direction_marks_are_removed_everywhere() {
    let home = Home::new();
    home.add(&hostile_session());
    home.add(&session_of_hostile_model());
    run_loci(&home, &["memory", "add", &format!("Deploy needle {HOSTILE}"), "--project", ALPHA]).expect(0);
    let screen = open(&home, WIDE);
    for (keys, shown) in [
        ("needle", "1 session "),
        ("\x0f", "▸ Bash"),
        ("z", "▾ Bash"),
        ("q\t2", "sessions, newest first"),
        ("4", "signature"),
        ("3", "Deploy needle"),
        ("E", "Text of the fact"),
    ] {
        screen.send(keys);
        screen.wait_for(shown);
    }
    screen.send("\x1b");
    screen.wait_until("closed dialog", |text| !text.contains("Text of the fact"));
    for (keys, shown) in [("5", "by day"), ("vvv", "hostile-model"), ("1/\r", "Resume this session?")] {
        screen.send(keys);
        screen.wait_for(shown);
    }
    check_output(&screen);
}

#[test]
fn why_shows_no_control_sequences() {
    let home = repository(&format!("Write the total {HOSTILE}"));
    let screen = ask_why(&home);
    screen.wait_for("Write the total");
    screen.send("o");
    screen.wait_for("It returns forty-two.");
    check_output(&screen);
}
