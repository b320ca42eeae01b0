//! Keys and mouse: moving, filters, export, copying, resuming, help.

use crate::{WIDE, open, open_sample};
use testutil::{Home, Screen, Session, sample_home};

/// The line of the selected row.
fn selected(screen: &Screen) -> String {
    let marked = |line: &&String| line.starts_with('>');
    screen.lines().iter().find(marked).cloned().unwrap_or_default()
}

#[track_caller]
fn wait_selected(screen: &Screen, title: &str) {
    let is_selected = |text: &str| text.lines().any(|line| line.starts_with('>') && line.contains(title));
    screen.wait_until(&format!("selection of `{title}`"), is_selected);
}

#[test]
fn vi_keys_and_arrows_move_the_selection() {
    let (_home, screen) = open_sample(WIDE);
    wait_selected(&screen, "Codex, list");
    screen.send("\x1b[B"); // down, while typing
    wait_selected(&screen, "Beta asks");
    screen.send("\tj");
    wait_selected(&screen, "Second day");
    screen.send("k");
    wait_selected(&screen, "Beta asks");
    screen.send("G");
    wait_selected(&screen, "Please fix");
    screen.send("g");
    wait_selected(&screen, "Codex, list");
    screen.send("\x04"); // Ctrl-D
    wait_selected(&screen, "Please fix");
    screen.send("\x1b[5~"); // page up
    wait_selected(&screen, "Codex, list");
    assert!(!selected(&screen).is_empty());
}

#[test]
fn help_lists_the_keys() {
    let (_home, screen) = open_sample((100, 60));
    screen.send("\t?");
    let text = screen.wait_for("Keys");
    for help in ["Export the session to a file", "Copy the ID to the clipboard", "Filter by agent", "Quit"] {
        assert!(text.contains(help), "{help}: {text}");
    }
    screen.send("?");
    screen.wait_until("closed help", |text| !text.contains("Filter by agent"));
}

#[test]
fn filters_limit_what_is_shown() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("\ta");
    screen.wait_for("│> everything");
    screen.wait_for("│  codex");
    let down = "j".repeat(if is_before(&screen, "claude-code", "codex") { 2 } else { 1 });
    screen.send(&format!("{down}\r"));
    screen.wait_for("agent:codex");
    let text = screen.wait_for("1 session ");
    assert!(text.contains("Codex, list") && !text.contains("Beta"), "{text}");
    screen.send("x");
    screen.wait_for("4 sessions");
    screen.send("t");
    screen.wait_for("last 7 days");
    screen.send("jjj\r");
    screen.wait_for("time:7d");
    screen.wait_until("no session", |text| !text.contains("Codex, list"));
    screen.send("x");
    screen.wait_for("4 sessions");
    screen.send("p");
    screen.wait_for("│  /srv/demo/beta");
    screen.send("G\r");
    screen.wait_for("project:/srv/demo");
    screen.send("x/socket");
    screen.wait_for("search: socket");
    screen.wait_for("1 session ");
    screen.send("\tc");
    screen.wait_for("titles of sessions");
    screen.send("jjj\r"); // replies of agents
    screen.wait_for("kind:replies");
    let text = screen.wait_for("Done with the socket");
    assert!(text.contains("1 session"), "{text}");
}

/// Whether a label is above another one in the menu, which covers the middle of the screen.
fn is_before(screen: &Screen, one: &str, other: &str) -> bool {
    let lines = screen.lines();
    let menu = |label: &str| {
        lines.iter().position(|line| line.contains('│') && line.contains(&format!("  {label}")))
    };
    menu(one) < menu(other)
}

#[test]
fn a_session_is_exported_to_a_new_file() {
    let (home, screen) = open_sample(WIDE);
    wait_selected(&screen, "Codex, list");
    screen.send("\te");
    screen.wait_for("session-cccc1111.md");
    screen.send("\r");
    screen.wait_for("wrote ");
    let written = std::fs::read_to_string(home.path().join("session-cccc1111.md")).unwrap();
    assert!(written.contains("Codex, list the files"), "{written}");
    screen.send("e");
    screen.wait_for("Export to a new file");
    screen.send("\r");
    screen.wait_for("File exists");
    screen.send("e");
    screen.wait_for("Export to a new file");
    screen.send("\x15other.html\r");
    screen.wait_for("other.html");
    wait_for_file(&home, "other.html", "<!doctype html>");
}

fn wait_for_file(home: &Home, name: &str, start: &str) {
    let path = home.path().join(name);
    for _ in 0..6000 {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.to_lowercase().starts_with(start) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{name} was not written");
}

#[test]
fn y_copies_the_id_with_osc_52() {
    let (_home, screen) = open_sample(WIDE);
    wait_selected(&screen, "Codex, list");
    screen.send("\ty");
    screen.wait_for("copied cccc1111-0000-4000-8000-000000000004");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    // base64 of the ID
    assert!(raw.contains("\x1b]52;c;Y2NjYzExMTEtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDA0\x07"), "{raw:?}");
}

/// A program that stands for the agent, on the path of the browser.
fn agent_home() -> (Home, String) {
    let home = sample_home();
    let folder = home.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let script = "#!/bin/sh\necho \"the agent runs: $*\"\n";
    let path = testutil::write_file(&folder.join("codex"), script.as_bytes());
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    (home, path)
}

#[test]
fn enter_resumes_after_confirmation_in_the_same_process() {
    let (home, path) = agent_home();
    let mut screen = Screen::open(home.path(), &["ui"], WIDE, &[("PATH", &path)]);
    screen.wait_for("4 sessions");
    let pid = screen.pid();
    screen.send("\r");
    screen.wait_for("Resume this session?");
    screen.wait_for("codex resume cccc1111-0000-4000-8000-000000000004");
    screen.send("n");
    screen.wait_until("closed question", |text| !text.contains("Resume this session?"));
    screen.send("\r");
    screen.wait_for("Resume this session?");
    screen.send("y");
    screen.wait_for("the agent runs: resume cccc1111-0000-4000-8000-000000000004");
    assert_eq!((screen.wait_for_exit(), screen.pid()), (Some(0), pid));
    assert!(!screen.inspect(vt100_alternate), "the alternate screen was left");
}

fn vt100_alternate(screen: &testutil::VtScreen) -> bool {
    screen.alternate_screen()
}

#[test]
fn the_mouse_selects_opens_scrolls_and_switches_screens() {
    let (_home, screen) = open_sample(WIDE);
    wait_selected(&screen, "Codex, list");
    screen.send("\x1b[<0;10;4M"); // second row of the list
    wait_selected(&screen, "Beta asks");
    screen.send("\x1b[<0;10;4M");
    screen.wait_for("And a second one");
    screen.send("q");
    screen.wait_for("search:");
    screen.send("\x1b[<64;10;4M"); // wheel up
    wait_selected(&screen, "Codex, list");
    let column = screen.lines()[0].find("2 Sessions").unwrap() + 1;
    screen.send(&format!("\x1b[<0;{column};1M"));
    screen.wait_for("sessions, newest first");
}

#[test]
fn tab_leads_through_all_screens() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("\x1b");
    screen.wait_for("q quit");
    for (keys, shown) in [
        ("\t", "sessions, newest first"),
        ("\t", "memory (current)"),
        ("\t", "errors by signature"),
        ("\t", "tokens and cost by day"),
        ("\t", "why:"),
    ] {
        screen.send(keys);
        screen.wait_for(shown);
    }
}

#[test]
fn many_rows_are_loaded_while_scrolling() {
    let home = Home::new();
    for n in 0..450 {
        let id = format!("dddd{n:04}-0000-4000-8000-000000000000");
        let mut session = Session::new(&id, testutil::ALPHA, "2026-03-01T10:00:00Z");
        session.wait_minutes(n);
        session.prompt(&format!("Number {n} of many"));
        home.add(&session);
    }
    let screen = open(&home, WIDE);
    screen.send("\t2");
    screen.wait_for("200 of 450 sessions");
    wait_selected(&screen, "Number 449 of many");
    screen.send("G");
    screen.wait_for("400 of 450 sessions");
    screen.send("G");
    screen.wait_until("all sessions", |text| text.lines().any(|line| line.starts_with("450 sessions  ")));
    screen.send("G");
    wait_selected(&screen, "Number 0 of many");
}
