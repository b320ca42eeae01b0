//! `cargo xtask bench files`: memory and disk per transcript, for histories of very many tiny ones.
//!
//! Both are counts, not times, so the goals hold on any machine and are always judged. Does not know how long anything
//! takes.

use super::measure::Case;
use super::workspace::Workspace;
use crate::Outcome;
use crate::args::Args;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const VALUES: [&str; 3] = ["count", "loci", "keep"];
/// Transcripts per project folder.
const FOLDER_SIZE: usize = 200;

/// Allocated blocks of everything that Loci stores, per transcript.
const MAX_DISK: u64 = 1_500;
/// What a command may use for any history: the buffers of `SQLite` and tantivy, and the program.
const BASE_MEMORY: u64 = 100_000_000;
/// What it may use for each transcript: 150 MB in all for 200,000.
const MAX_MEMORY: u64 = 250;
/// Files and pages that exist for any history.
const BASE_DISK: u64 = 1_000_000;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &VALUES, &["empty"])?;
    let count = args.number_value("count", 200_000)?.max(1);
    let loci = find_loci(args.path_value("loci"))?;
    let workspace = Workspace::new(args.path_value("keep").as_deref())?;
    let kind = if args.has_switch("empty") { "empty" } else { "tiny" };
    let home = workspace.corpus_folder(&format!("{kind}-{count}"));
    write_transcripts(&home, count as usize, kind == "tiny").map_err(|error| error.to_string())?;
    println!("{}", super::workspace::describe_machine());
    let mut passed = true;
    for line in ["index", "index", "stats --all-projects", "doctor"] {
        passed &= judge_memory(&loci, &home, line, count)?;
    }
    Ok(judge_disk(&home, count) && passed)
}

/// The release build beside this program. A debug build has other costs, and is measured only if it is named.
fn find_loci(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let release = this.parent().map(|own| own.with_file_name("release").join("loci"));
    let path = named.or(release).unwrap_or_default();
    fs::canonicalize(&path)
        .map_err(|error| format!("{}: {error}; build it or name it with --loci", path.display()))
}

fn judge_memory(loci: &Path, home: &Path, line: &str, count: u64) -> Result<bool, String> {
    let mut case = Case::new(line, loci, home, &line.split(' ').collect::<Vec<_>>());
    // `doctor` reports what a bare home lacks, and `stats` that empty transcripts have no sessions.
    case.accepted_exit = Some(if line == "doctor" { 1 } else { 2 });
    let peak = case.peak_memory(None)?;
    let limit = BASE_MEMORY + MAX_MEMORY * count;
    Ok(print_goal(&format!("peak memory of `loci {line}`, {count} transcripts, MB"), peak, limit, 1_000_000))
}

fn judge_disk(home: &Path, count: u64) -> bool {
    let stored = allocated_bytes(&home.join(".cache")) + allocated_bytes(&home.join(".local"));
    print_goal("disk per transcript, bytes", stored, BASE_DISK + MAX_DISK * count, count)
}

fn print_goal(what: &str, found: u64, limit: u64, unit: u64) -> bool {
    let passed = found <= limit;
    println!("{} {what}: {} of {}", if passed { "ok    " } else { "MISSED" }, found / unit, limit / unit);
    passed
}

/// As `du` counts: whole blocks, folders included.
fn allocated_bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    meta.blocks() * 512 + below.map(|entry| allocated_bytes(&entry.path())).sum::<u64>()
}

/// Writes transcripts of one prompt each, or of nothing, unless an earlier run has.
fn write_transcripts(home: &Path, count: usize, has_prompt: bool) -> io::Result<()> {
    for stored in [".cache", ".local"] {
        let _ = fs::remove_dir_all(home.join(stored));
    }
    if home.join("done").exists() {
        return Ok(());
    }
    for n in 0..count {
        let cwd = format!("-srv-p{}", n / FOLDER_SIZE);
        let folder = home.join(".claude/projects").join(&cwd);
        if n % FOLDER_SIZE == 0 {
            fs::create_dir_all(&folder)?;
        }
        let session = format!("{n:08x}-0000-4000-8000-{n:012x}");
        let text = if has_prompt { prompt_line(n, &session, &cwd.replace('-', "/")) } else { String::new() };
        fs::write(folder.join(format!("{session}.jsonl")), text)?;
    }
    fs::write(home.join("done"), "")
}

fn prompt_line(n: usize, session: &str, cwd: &str) -> String {
    let (month, day) = (1 + n % 9, 1 + n / 9 % 28);
    format!(
        "{{\"type\":\"user\",\"cwd\":\"{cwd}\",\"sessionId\":\"{session}\",\"version\":\"2.1.96\",\
         \"uuid\":\"{n:08x}-0001-4000-8000-000000000000\",\"timestamp\":\"2026-{month:02}-{day:02}T08:00:00.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"why does job {n} fail in step s{}\"}}}}\n",
        n % 977
    )
}
