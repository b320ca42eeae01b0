//! `cargo xtask bench ui`: how soon the browser answers a key, what a frame costs, and what it needs at rest.
//!
//! The browser runs on a pseudo-terminal, and a key counts as answered when the results are on its screen. Does not know how the
//! browser works.

use super::fixtures;
use super::goal::judge;
use super::measure::median;
use super::workspace::{Binaries, Workspace, describe_machine};
use crate::Outcome;
use crate::args::Args;
use api::sessions::SessionLine;
use record::{Clock, Stamp};
use render::RenderOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::Screen;
use tui::measure::Frames;

const VALUES: [&str; 6] = ["size", "many", "rounds", "idle", "loci", "keep"];
const SIZE: (u16, u16) = (120, 40);
/// What is typed, one key at a time.
const WORDS: &[&str] = &["checked number", "closed gate", "compile error", "daemon socket", "flaky test"];

/// Goals: milliseconds from a key to its results, bytes beside the index, the share of a core at rest, and how much more a frame of
/// many rows may cost.
const MAX_MEDIAN: f64 = 50.0;
const MAX_P95: f64 = 120.0;
const MAX_MEMORY: f64 = 80e6;
const MAX_IDLE: f64 = 0.005;
const MAX_FRAME_RATIO: f64 = 1.5;
/// Seconds until what an agent has written is shown.
const MAX_DELAY: f64 = 2.0;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &VALUES, &["strict"])?;
    let size = args.size_value("size")?.unwrap_or(1_000_000_000);
    let many = args.number_value("many", 10_000)? as usize;
    let rounds = args.number_value("rounds", 3)?.max(1) as usize;
    let idle = Duration::from_secs(args.number_value("idle", 20)?);
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, false)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let corpus = work.open_corpus(&binaries, "ui", size, 7, "")?;
    fixtures::write_many_sessions(&corpus.home, many).map_err(|error| error.to_string())?;
    println!("{}\n{corpus}, and {many} short sessions", describe_machine());
    time_command(&binaries.loci, &corpus.home, &["index"])?;
    let passed = [
        measure_frames(many),
        measure_keys(&binaries.loci, &corpus.home, rounds)?,
        measure_rest(&binaries.loci, &corpus.home, idle)?,
        measure_delay(&binaries.loci, &corpus.home, rounds)?,
    ];
    Ok(passed.iter().all(|passed| *passed) || !args.has_switch("strict"))
}

/// Milliseconds of a command.
fn time_command(loci: &Path, home: &Path, args: &[&str]) -> Result<f64, String> {
    let mut command = Command::new(loci);
    command.env_clear().env("HOME", home).env("LOCI_DAEMON", "off").args(args).current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    command.status().map_err(|error| format!("{}: {error}", loci.display()))?;
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

// ---- keys

fn open_browser(loci: &Path, home: &Path) -> Screen {
    let screen = Screen::spawn(loci, &["ui"], home, SIZE, &[]);
    screen.wait_until("sessions", is_answered);
    screen
}

/// Whether the last line counts sessions and no request is outstanding.
fn is_answered(text: &str) -> bool {
    text.lines().last().is_some_and(|line| line.contains(" session") && !line.contains('…'))
}

fn measure_keys(loci: &Path, home: &Path, rounds: usize) -> Result<bool, String> {
    let screen = open_browser(loci, home);
    let (mut keys, mut searches) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for words in WORDS {
            keys.extend(type_words(&screen, words));
            searches.push(time_command(loci, home, &["search", words, "--limit", "30", "--json"])?);
        }
    }
    keys.sort_by(f64::total_cmp);
    let p95 = keys[(keys.len() * 95 / 100).min(keys.len() - 1)];
    let (middle, search) = (median(keys.clone()), median(searches));
    println!("{} keys; one `loci search` takes {search:.1} ms", keys.len());
    println!("       a key is answered in {:.2} of one search", middle / search);
    let on_median = judge("key to results, median", middle, MAX_MEDIAN, " ms");
    Ok(judge("key to results, 95th percentile", p95, MAX_P95, " ms") && on_median)
}

/// Types words, waits for the results of each key, and clears the input. Returns the milliseconds of each key.
fn type_words(screen: &Screen, words: &str) -> Vec<f64> {
    let mut took = Vec::new();
    for end in 1..=words.len() {
        let shown = format!("search: {}", words[..end].trim_end());
        let started = Instant::now();
        screen.send(&words[end - 1..end]);
        screen.wait_until("results", |text| text.contains(&shown) && is_answered(text));
        took.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    screen.send("\x15");
    screen.wait_until("an empty input", |text| text.contains("search:\n") && is_answered(text));
    took
}

// ---- frames

fn measure_frames(many: usize) -> bool {
    let (few, most) = (time_frame(100), time_frame(many.max(100)));
    println!("       a frame takes {few:.3} ms with 100 rows, {most:.3} ms with {many}");
    judge(&format!("cost of a frame of {many} rows to one of 100"), most / few, MAX_FRAME_RATIO, "")
}

const FRAMES: usize = 1000;

/// Milliseconds per frame of a list that is scrolled to its end and back.
fn time_frame(rows: usize) -> f64 {
    let session = |n: usize| SessionLine {
        chat_id: format!("{n:08}"),
        title: format!("Session number {n} about 虚拟列表 and sockets"),
        source: "claude-code".to_owned(),
        turns: n as u64 % 40,
        ..SessionLine::default()
    };
    let options = RenderOptions::plain(Clock::At(Stamp(0)), "");
    let mut frames = Frames::new((0..rows).map(session).collect(), options, SIZE.0, SIZE.1);
    let started = Instant::now();
    for at in 0..FRAMES {
        let by = (rows / 100).max(1) as isize;
        frames.scroll(if at / 99 % 2 == 0 { by } else { -by });
    }
    started.elapsed().as_secs_f64() * 1000.0 / FRAMES as f64
}

// ---- new sessions

/// The longest time from a new session to its title on the screen.
fn measure_delay(loci: &Path, home: &Path, rounds: usize) -> Result<bool, String> {
    let screen = open_browser(loci, home);
    // the watcher starts after the first frame
    std::thread::sleep(Duration::from_secs(1));
    let mut longest = 0.0_f64;
    for round in 0..rounds {
        // Short enough for the list, and another one in each run: the corpus may be kept.
        let title = format!("Begun {} {round}", std::process::id());
        let started = Instant::now();
        fixtures::write_new_session(home, round, &title).map_err(|error| error.to_string())?;
        screen.wait_for(&title);
        longest = longest.max(started.elapsed().as_secs_f64());
    }
    Ok(judge("a new session is shown after", longest, MAX_DELAY, " s"))
}

// ---- rest

fn measure_rest(loci: &Path, home: &Path, idle: Duration) -> Result<bool, String> {
    let screen = open_browser(loci, home);
    type_words(&screen, WORDS[0]);
    let before = processor_ticks(screen.pid())?;
    std::thread::sleep(idle);
    let ticks = processor_ticks(screen.pid())? - before;
    let seconds = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    let memory = own_memory(screen.pid())?;
    let is_small = judge("memory without mapped files", memory / 1e6, MAX_MEMORY / 1e6, " MB");
    Ok(judge("share of a core at rest", seconds / idle.as_secs_f64(), MAX_IDLE, "") && is_small)
}

fn read_proc(pid: u32, name: &str) -> Result<String, String> {
    std::fs::read_to_string(format!("/proc/{pid}/{name}")).map_err(|_| "requires /proc (Linux)".to_owned())
}

fn processor_ticks(pid: u32) -> Result<u64, String> {
    let stat = read_proc(pid, "stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    field(11).zip(field(12)).map(|(user, system)| user + system).ok_or("unexpected format of stat".to_owned())
}

/// Bytes that are not backed by files: the index is mapped.
fn own_memory(pid: u32) -> Result<f64, String> {
    let status = read_proc(pid, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse::<f64>().ok());
    kilobytes.map(|n| n * 1024.0).ok_or("no RssAnon".to_owned())
}
