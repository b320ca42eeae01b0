//! Days of work, one after the other in minutes: sessions that come and go on, edits, searches, consolidation, messages. What
//! the daemon holds must not grow with them, and at rest nothing runs below it.

use crate::dispatch;
use crate::fixture::{Fixture, Line, rounds, until_within};
use crate::lifecycle::children;
use crate::misuse::memory;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use testutil::{Session, write_file};

/// What a person does in a day; at sixty times their pace a day has 24 minutes, and here it has no pauses.
const SESSIONS_A_DAY: usize = 25;
/// What may be held more at the end than in the first half, whatever was done between: the allocator's own slack. Pages of files
/// are the kernel's, and come back when somebody needs room.
const SLACK: u64 = 32 << 20;
/// What is derived and kept may take so many times the transcripts, and a base that does not depend on them.
const TIMES: u64 = 12;
const BASE: u64 = 16 << 20;

struct Sample {
    at: Duration,
    held: u64,
    files: usize,
}

#[test]
fn days_of_work_leave_it_as_it_was() {
    let fixture = dispatch::fixture();
    let child = dispatch::serve(&fixture);
    let longest = Duration::from_secs(rounds("LOCI_SOAK_SECONDS", 40) as u64);
    let (began, mut day, mut samples) = (Instant::now(), 0, Vec::new());
    while began.elapsed() < longest {
        work_a_day(&fixture, day, began + longest);
        day += 1;
        samples.push(Sample {
            at: began.elapsed(),
            held: memory(child.id(), "RssAnon:"),
            files: files(child.id()),
        });
    }
    let rests = || fixture.status()["in_flight"] == 0 && children(child.id()).is_empty();
    assert!(until_within(Duration::from_mins(2), rests), "{:?} run at rest", children(child.id()));
    let (first, last) = halves(&samples);
    let (history, own) = (size(&fixture.path().join(".claude")), own_size(fixture.path()));
    let told = format!(
        "{day} days in {:?}: {} then {} MB, {} then {} files open, {} kB of transcripts, {} kB derived and kept, \
         slope {:.1} MB an hour\n",
        began.elapsed(),
        first.0 >> 20,
        last.0 >> 20,
        first.1,
        last.1,
        history >> 10,
        own >> 10,
        slope(&samples)
    );
    let _ = std::io::stderr().write_all(told.as_bytes());
    assert!(last.0 <= first.0 + SLACK, "{told}");
    // A sample may fall into work; one that is never closed does not go at rest either.
    let closed = || files(child.id()) <= first.1 + 4;
    assert!(until_within(Duration::from_mins(1), closed), "{} open at rest, {told}", files(child.id()));
    assert!(own <= TIMES * history + BASE, "{told}");
    assert_eq!(fixture.status()["failed"], 0, "{}", fixture.status());
}

/// A day: each session has a prompt and goes on once; code is edited and asked about; at night memory is consolidated.
fn work_a_day(fixture: &Fixture, day: usize, until: Instant) {
    let mut line = fixture.line().unwrap();
    for n in 0..SESSIONS_A_DAY {
        if Instant::now() > until {
            return;
        }
        let number = day * SESSIONS_A_DAY + n;
        converse(fixture, number, 1);
        if number > 0 {
            converse(fixture, number - 1, 2);
        }
        write_file(
            &fixture.path().join("tree/a.rs"),
            format!("pub struct First {{ pub n{number}: u32 }}\n").as_bytes(),
        );
        ask(&mut line, "search_conversations", json!({"intent_query": format!("walrus number{number}")}));
        ask(
            &mut line,
            "get_outline",
            json!({"path": "First", "_meta": {"cwd": fixture.path().join("tree")}}),
        );
    }
    ask(&mut line, "consolidate", json!({"no_model": true}));
    fixture.loci(&["dispatch", "agent0", &format!("day {day}"), "--wait-seconds", "60"]).expect(0);
}

fn converse(fixture: &Fixture, number: usize, turns: usize) {
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

fn ask(line: &mut Line, method: &str, params: Value) {
    let said = line.ask(method, params).unwrap();
    assert!(said.get("error").is_none(), "{method}: {said}");
}

/// What was held in the first half, and in the last quarter: the most memory, and the fewest open files. While the index is
/// written there are 53, at rest 15, and a sample falls where it falls; a file that is never closed raises the fewest.
fn halves(samples: &[Sample]) -> ((u64, usize), (u64, usize)) {
    let quarter = samples.len().div_ceil(4);
    let held = |part: &[Sample]| {
        let most = part.iter().map(|sample| sample.held).max().unwrap_or(0);
        (most, part.iter().map(|sample| sample.files).min().unwrap_or(0))
    };
    (held(&samples[..(2 * quarter).min(samples.len())]), held(&samples[samples.len() - quarter..]))
}

/// By the least squares, after the first quarter, in megabytes an hour.
fn slope(samples: &[Sample]) -> f64 {
    let warm = &samples[samples.len() / 4..];
    let points: Vec<(f64, f64)> =
        warm.iter().map(|sample| (sample.at.as_secs_f64() / 3600.0, sample.held as f64 / 1e6)).collect();
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let above: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let below: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

fn files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn own_size(home: &Path) -> u64 {
    [".local/share/loci", ".cache/loci", ".local/state/loci"]
        .iter()
        .map(|below| size(&home.join(below)))
        .sum()
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(one).sum()
}
