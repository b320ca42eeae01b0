//! New lines of an agent appear by themselves, and an idle browser costs nothing.

use crate::{WIDE, open, open_sample};
use std::io::Write;
use std::time::{Duration, Instant};
use testutil::{ALPHA, Home, Screen, Session};

#[test]
fn a_new_session_and_new_lines_appear_without_a_key() {
    let (home, screen) = open_sample(WIDE);
    screen.wait_for("4 sessions");
    let mut session = Session::new("ffff1111-0000-4000-8000-000000000000", ALPHA, "2026-03-05T10:00:00Z");
    session.prompt("A session that begins while the browser is open");
    let started = Instant::now();
    home.add(&session);
    screen.wait_for("A session that begins while");
    eprintln!("a new session appeared after {:?}", started.elapsed());

    screen.send("\to");
    screen.wait_for("begins while the browser is open");
    session.reply(&["A reply that comes later."]);
    let line = session.lines.last().unwrap();
    let path = home.transcript_path(&session);
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    let started = Instant::now();
    writeln!(file, "{line}").unwrap();
    screen.wait_for("A reply that comes later.");
    eprintln!("a new line appeared after {:?}", started.elapsed());
}

#[test]
fn a_session_in_a_new_project_appears() {
    let home = Home::new();
    let mut first = Session::new("ffff2222-0000-4000-8000-000000000000", ALPHA, "2026-03-05T10:00:00Z");
    first.prompt("The first project");
    home.add(&first);
    let screen = open(&home, WIDE);
    screen.wait_for("The first project");
    // The watcher may still be starting: keep writing until the change is noticed.
    let noticed = (0..600).any(|n| {
        let id = format!("ffff3333-0000-4000-8000-{n:012}");
        let mut other = Session::new(&id, &format!("/srv/demo/new{n}"), "2026-03-06T10:00:00Z");
        other.prompt("The second project");
        home.add(&other);
        appears(&screen, "The second project")
    });
    assert!(noticed, "{}", screen.text());
}

fn appears(screen: &Screen, text: &str) -> bool {
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        if screen.text().contains(text) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Clock ticks of processor time, from /proc.
fn processor_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn an_idle_browser_uses_no_processor_time() {
    let (_home, screen) = open_sample(WIDE);
    screen.wait_for("4 sessions");
    // Starting may still go on for a moment after the first frame: look for a quiet period.
    let is_quiet = (0..10).any(|_| {
        let before = processor_ticks(screen.pid());
        std::thread::sleep(Duration::from_secs(2));
        processor_ticks(screen.pid()) == before
    });
    assert!(is_quiet, "it used processor time in every period of two seconds");
}
