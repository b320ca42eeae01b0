//! Soak test: days of work compressed into minutes, with new and continued sessions, edits, searches, consolidation and
//! messages. The memory and open files of the daemon must not grow, and at rest it has no subprocess.

use crate::dispatch;
use crate::fixture::{Connection, Fixture, rounds, wait_until_within};
use crate::lifecycle::children;
use crate::misuse::memory_bytes;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use testutil::{Session, write_file};

/// A user's sessions in a day. At sixty times their pace a day takes 24 minutes; here it has no pauses.
const SESSIONS_PER_DAY: usize = 25;
/// How much more memory may be in use at the end than in the first half: slack of the allocator. Only anonymous memory
/// counts, because the kernel reclaims file-backed pages when memory is short.
const MEMORY_SLACK: u64 = 32 << 20;
/// Derived data may take this many times the size of the transcripts, plus a constant.
const DERIVED_FACTOR: u64 = 12;
const DERIVED_BASE: u64 = 16 << 20;

struct Sample {
    at: Duration,
    memory: u64,
    open_files: usize,
}

#[test]
fn memory_and_open_files_do_not_grow_over_days_of_work() {
    let fixture = dispatch::fixture_with_agents();
    let child = dispatch::serve_with_clients(&fixture);
    let duration = Duration::from_secs(rounds("LOCI_SOAK_SECONDS", 40) as u64);
    let (began, mut day, mut samples) = (Instant::now(), 0, Vec::new());
    while began.elapsed() < duration {
        simulate_day(&fixture, day, began + duration);
        day += 1;
        samples.push(Sample {
            at: began.elapsed(),
            memory: memory_bytes(child.id(), "RssAnon:"),
            open_files: count_open_files(child.id()),
        });
    }
    let is_idle = || fixture.status()["in_flight"] == 0 && children(child.id()).is_empty();
    assert!(
        wait_until_within(Duration::from_mins(2), is_idle),
        "subprocesses at rest: {:?}",
        children(child.id())
    );
    let (first, last) = summarize_periods(&samples);
    let (transcripts, derived) = (folder_size(&fixture.path().join(".claude")), derived_size(fixture.path()));
    let summary = format!(
        "{day} days in {:?}: {} then {} MB, {} then {} open files, {} kB of transcripts, {} kB of derived data, \
         slope {:.1} MB per hour\n",
        began.elapsed(),
        first.0 >> 20,
        last.0 >> 20,
        first.1,
        last.1,
        transcripts >> 10,
        derived >> 10,
        slope(&samples)
    );
    let _ = std::io::stderr().write_all(summary.as_bytes());
    assert!(last.0 <= first.0 + MEMORY_SLACK, "{summary}");
    // A sample may be taken during work, but a leaked file stays open at rest, too.
    let are_closed = || count_open_files(child.id()) <= first.1 + 4;
    assert!(
        wait_until_within(Duration::from_mins(1), are_closed),
        "{} open files at rest, {summary}",
        count_open_files(child.id())
    );
    assert!(derived <= DERIVED_FACTOR * transcripts + DERIVED_BASE, "{summary}");
    assert_eq!(fixture.status()["failed"], 0, "{}", fixture.status());
}

/// Each session gets a prompt and is continued once, code is edited and queried, and at the end memory is consolidated.
fn simulate_day(fixture: &Fixture, day: usize, deadline: Instant) {
    let mut connection = fixture.connect().unwrap();
    for n in 0..SESSIONS_PER_DAY {
        if Instant::now() > deadline {
            return;
        }
        let number = day * SESSIONS_PER_DAY + n;
        add_session(fixture, number, 1);
        if number > 0 {
            add_session(fixture, number - 1, 2);
        }
        write_file(
            &fixture.path().join("tree/a.rs"),
            format!("pub struct First {{ pub n{number}: u32 }}\n").as_bytes(),
        );
        request(
            &mut connection,
            "search_conversations",
            json!({"intent_query": format!("walrus number{number}")}),
        );
        request(
            &mut connection,
            "get_outline",
            json!({"path": "First", "_meta": {"cwd": fixture.path().join("tree")}}),
        );
    }
    request(&mut connection, "consolidate", json!({"no_model": true}));
    fixture.loci(&["dispatch", "agent0", &format!("day {day}"), "--wait-seconds", "60"]).expect(0);
}

fn add_session(fixture: &Fixture, number: usize, turns: usize) {
    let id = format!("{number:08}-1111-4222-8333-444444444444");
    let mut session = Session::new(&id, "/srv/demo/alpha", "2026-03-04T09:00:00Z");
    for turn in 0..turns {
        session.prompt(&format!(
            "subject number{number} of the walrus, part {turn}: we decided to keep it in room {number}"
        ));
        session.did("Bash", json!({"command": "cargo test"}), &"a line of output\n".repeat(40));
        session.reply(&["It is done, and the tests pass."]);
    }
    fixture.home.add(&session);
}

fn request(connection: &mut Connection, method: &str, params: Value) {
    let response = connection.request(method, params).unwrap();
    assert!(response.get("error").is_none(), "{method}: {response}");
}

/// Peak memory and the lowest number of open files, in the first half and in the last quarter. There are 53 open files
/// while the index is written and 15 at rest, and samples are taken at any time. A leaked file raises the minimum.
fn summarize_periods(samples: &[Sample]) -> ((u64, usize), (u64, usize)) {
    let quarter = samples.len().div_ceil(4);
    let extremes = |part: &[Sample]| {
        let peak = part.iter().map(|sample| sample.memory).max().unwrap_or(0);
        (peak, part.iter().map(|sample| sample.open_files).min().unwrap_or(0))
    };
    (extremes(&samples[..(2 * quarter).min(samples.len())]), extremes(&samples[samples.len() - quarter..]))
}

/// Slope of the memory after the first quarter by least squares, in megabytes per hour.
fn slope(samples: &[Sample]) -> f64 {
    let warm = &samples[samples.len() / 4..];
    let points: Vec<(f64, f64)> =
        warm.iter().map(|sample| (sample.at.as_secs_f64() / 3600.0, sample.memory as f64 / 1e6)).collect();
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let numerator: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let denominator: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

fn count_open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn derived_size(home: &Path) -> u64 {
    [".local/share/loci", ".cache/loci", ".local/state/loci"]
        .iter()
        .map(|below| folder_size(&home.join(below)))
        .sum()
}

fn folder_size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(one).sum()
}
