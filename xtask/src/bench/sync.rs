//! `cargo xtask bench sync`: what it costs a new device to fetch a history, against copying the archive with rclone and indexing it.
//!
//! The storage is a folder: the cost of a network is the same for both. Does not know what travels.

use super::black_hole;
use super::goal::judge;
use super::large_space;
use super::measure::{Case, children_cpu};
use super::workspace::{Binaries, Workspace, describe_machine};
use crate::Outcome;
use crate::args::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const VALUES: [&str; 7] = ["size", "many", "rounds", "loci", "keep", "devices", "days"];
const MAX_RATIO: f64 = 1.5;
const MAX_MEMORY: f64 = 200e6;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &VALUES, &["black-hole", "strict"])?;
    if args.has_switch("black-hole") {
        return black_hole::run(&args);
    }
    if args.text_value("devices").is_some() {
        return large_space::run(&args);
    }
    let size = args.size_value("size")?.unwrap_or(1_000_000_000);
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, false)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let corpus = work.open_corpus(&binaries, "sync", size, 7, "")?;
    println!("{}\n{corpus}", describe_machine());
    let folder = |name: &str| empty_folder(&work.corpus_folder(&format!("sync-{name}")));
    let (bucket, fetched, copied) = (folder("bucket")?, folder("fetched")?, folder("copied")?);
    let loci = |home: &Path, line: &[&str]| Case::new(&line.join(" "), &binaries.loci, home, line);

    let _ = fs::remove_dir_all(corpus.home.join(".local/share/loci/sync"));
    loci(&corpus.home, &["index"]).run_for_output()?;
    let url = bucket.to_string_lossy().into_owned();
    let started = loci(&corpus.home, &["sync", "init", "--show-phrase", &url]).run_for_output()?;
    let (sending, _) = measure(&loci(&corpus.home, &["sync", "now"]))?;
    println!("       sending takes {sending:.1} s of CPU");

    let phrase = read_phrase(&started)?;
    // The phrase is no argument.
    let program = binaries.loci.to_string_lossy().into_owned();
    let join = ["-c", "echo \"$0\" | \"$1\" sync join \"$2\"", &phrase, &program, &url];
    Case::new("sync join", Path::new("sh"), &fetched, &join).run_for_output()?;
    let (fetching, peak) = measure(&loci(&fetched, &["sync", "now"]))?;

    let archive = ".local/share/loci/archive";
    let (from, to) = (corpus.home.join(archive), copied.join(archive));
    let copy = ["copy", &from.to_string_lossy(), &to.to_string_lossy()];
    let (copying, _) = measure(&Case::new("rclone", Path::new("rclone"), &copied, &copy))?;
    let (indexing, _) = measure(&loci(&copied, &["index"]))?;
    println!("       fetching {fetching:.1} s; rclone {copying:.1} s and indexing {indexing:.1} s");

    let bytes = folder_bytes(&bucket) as f64 / folder_bytes(&from) as f64;
    let passed = [
        judge(
            "CPU of the first fetch to rclone and indexing",
            fetching / (copying + indexing),
            MAX_RATIO,
            "",
        ),
        judge("bytes in the storage to those of the archive", bytes, MAX_RATIO, ""),
        judge("peak memory of the first fetch", peak / 1e6, MAX_MEMORY / 1e6, " MB"),
    ];
    Ok(passed.iter().all(|passed| *passed) || !args.has_switch("strict"))
}

fn empty_folder(path: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.to_path_buf())
}

fn read_phrase(started: &str) -> Result<String, String> {
    let answer: Value = serde_json::from_str(started).map_err(|error| error.to_string())?;
    answer["phrase"].as_str().map(str::to_owned).ok_or_else(|| format!("no phrase: {started}"))
}

/// Seconds of CPU of a command and everything it started, and its peak memory in bytes.
fn measure(case: &Case) -> Result<(f64, f64), String> {
    let before = children_cpu()?;
    let peak = case.peak_memory(None)?;
    Ok((children_cpu()? - before, peak as f64))
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => folder_bytes(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}
