//! A daemon that is stopped for a while, as on a suspended machine (R42): it answers at once when it continues, and does
//! not make up for the timers it missed.
//!
//! Does not test what other commands do meanwhile: see `misuse.rs`.

use crate::fixture::{Fixture, rounds, signal, wait_until};
use serde_json::json;
use std::time::{Duration, Instant};

/// How many background updates there may be after the daemon continues: one for what changed, one that was due.
const MAX_UPDATES: usize = 2;

fn count_updates(fixture: &Fixture) -> usize {
    fixture.log().iter().filter(|line| line["what"] == "history").count()
}

/// `LOCI_SUSPEND_SECONDS=60` runs the long form.
#[test]
fn a_suspended_daemon_answers_at_once_and_runs_missed_timers_once() {
    let fixture = Fixture::with_sessions();
    let child = fixture.serve();
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap_or(0) >= 1));
    let mut connection = fixture.connect().unwrap();
    let request = json!({"intent_query": "walrus"});
    let started = Instant::now();
    connection.request("search_conversations", request.clone()).unwrap();
    let usual = started.elapsed();
    let updates = count_updates(&fixture);
    signal(&child, "-STOP");
    fixture.add_session(7, "the okapi came while it was suspended");
    std::thread::sleep(Duration::from_secs(rounds("LOCI_SUSPEND_SECONDS", 3) as u64));
    signal(&child, "-CONT");
    let started = Instant::now();
    let response = connection.request("search_conversations", json!({"intent_query": "okapi"})).unwrap();
    let took = started.elapsed();
    assert!(response.to_string().contains("okapi came"), "{response}");
    // The machine may be as busy as before: the search itself may take several times as long.
    assert!(took < Duration::from_secs(1) + usual * 5, "{took:?}, usually {usual:?}");
    assert!(wait_until(|| fixture.status()["in_flight"] == 0));
    std::thread::sleep(Duration::from_secs(2));
    let more = count_updates(&fixture) - updates;
    assert!(more <= MAX_UPDATES, "{more} updates after it continued");
}
