//! Texts of transcripts never reach the terminal as control sequences.

use crate::{WIDE, open};
use serde_json::json;
use testutil::{ALPHA, Home, Session};

const HOSTILE: &str = "\x1b]0;owned\x07\x1b[2J\x1b[31mred \u{202e}txet\u{2066} \u{9b}5n\x08\x0e end";

#[test]
fn control_sequences_and_direction_marks_are_removed_everywhere() {
    let home = Home::new();
    let mut session = Session::new("ffff0000-0000-4000-8000-000000000000", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("needle {HOSTILE}")).reply(&[HOSTILE]);
    session.did("Bash", json!({"command": HOSTILE}), HOSTILE);
    session.failed("Bash", json!({"command": HOSTILE}), &format!("Exit code 1 {HOSTILE}"));
    home.add(&session);
    let screen = open(&home, WIDE);
    for (keys, shown) in [
        ("needle", "1 session "),
        ("\x0f", "▸ Bash"),
        ("z", "▾ Bash"),
        ("q\t2", "sessions, newest first"),
        ("4", "signature"),
        ("1/\r", "Resume this session?"),
    ] {
        screen.send(keys);
        screen.wait_for(shown);
    }
    let raw = screen.raw();
    let text = String::from_utf8_lossy(&raw);
    for bad in ["\x1b]0;", "\x1b[2J\x1b[31m", "\u{202e}", "\u{2066}", "\u{9b}", "\x08", "\x0e"] {
        assert!(!text.contains(bad), "{bad:?} reached the terminal");
    }
}
