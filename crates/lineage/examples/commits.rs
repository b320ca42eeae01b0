//! Measures commit → session on a repository whose commits name the checkpoint of their session (Entire's own, for example):
//!
//!     git clone --mirror https://github.com/entireio/cli entire.git
//!     cargo run --release --workspace --example commits -- entire.git HOME [OTHER.git]
//!
//! The largest transcript of each session is laid out below HOME as Claude Code does, read with Loci's own reader, and every
//! commit is attributed by its lines alone; its trailer is only compared afterwards. OTHER is a repository that none of the sessions
//! touched. Does not measure lines or symbols: the example `symbols` does.

// The pedantic lints are for shipped code.
#![allow(clippy::pedantic, clippy::print_stdout)]

use api::{Progress, ViewRequest};
use history::History;
use loci_lineage::session_edits::SessionEdits;
use provenance::line::Line;
use provenance::pool::Pool;
use provenance::{Commit, attribute_commit, parse_log};
use record::Clock;
use serde_json::Value;
use sources::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const BRANCH: &str = "entire/checkpoints/v1";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [repo, home, others @ ..] = &args[..] else {
        report("usage: commits REPO HOME [OTHER]".to_string());
        return;
    };
    let (repo, home) = (Path::new(repo), std::fs::canonicalize(home).unwrap_or_else(|_| PathBuf::from(home)));
    let checkpoints = lay_out(repo, &home);
    let edits = read_edits(&home);
    let pool = edits.to_pool();
    report(format!("{} sessions with {} edits", edits.sessions.len(), pool.len()));
    let number_of: BTreeMap<&str, u32> = (0..).zip(&edits.sessions).map(|(n, (id, _))| (&**id, n)).collect();
    let first_edit = edits.edits.iter().map(|edit| edit.row.at.0).min().unwrap_or(0);
    let commits = read_commits(repo, &["--all", "--no-merges", "--grep=Entire-Checkpoint"]);
    let (mut all, mut recorded) = (Measured::default(), Measured::default());
    for commit in &commits {
        let Some(sessions) = checkpoints.get(&checkpoint_of(repo, &commit.hash)) else { continue };
        let truth: BTreeSet<u32> =
            sessions.iter().filter_map(|id| number_of.get(id.as_str()).copied()).collect();
        all.add(&pool, commit, &truth);
        if has_written(&pool, commit, &truth) {
            recorded.add(&pool, commit, &truth);
        }
    }
    report("all commits whose transcript is there".to_string());
    all.print();
    report("commits of which the named session wrote at least one line".to_string());
    recorded.print();
    let older: Vec<Commit> = read_commits(repo, &["--all", "--no-merges"])
        .into_iter()
        .filter(|it| it.until() < first_edit)
        .collect();
    report(format!(
        "commits older than any edit: {} of {} answered",
        count_answered(&pool, &older),
        older.len()
    ));
    for other in others {
        let mut commits = read_commits(Path::new(other), &["HEAD", "--no-merges", "-n150", "--", "*.go"]);
        // Nothing but the text may tell that no session made them.
        commits.iter_mut().for_each(|commit| commit.at = i64::MAX);
        report(format!("{other}: {} of {} answered", count_answered(&pool, &commits), commits.len()));
    }
}

fn report(line: String) {
    println!("{line}");
}

fn git(repo: &Path, args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("git starts");
    let mut input = child.stdin.take().expect("git has an input");
    let bytes = stdin.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().expect("git ends");
    let _ = writer.join();
    output.stdout
}

/// Go files, as the first measurement of these data had it; all files of another repository are Go as well.
fn read_commits(repo: &Path, which: &[&str]) -> Vec<Commit> {
    let args = ["log", "-p", "-M", "-m", "--first-parent", provenance::patch::LOG_FORMAT];
    let mut commits = parse_log(&String::from_utf8_lossy(&git(repo, &[&args, which].concat(), b"")));
    commits.iter_mut().for_each(|commit| commit.files.retain(|file| file.path.ends_with(".go")));
    commits.retain(|commit| !commit.files.is_empty());
    commits
}

/// Whether one of the sessions wrote a line of the commit, of 12 characters and more. The trailer names whatever session was open
/// when a person committed: often another one wrote all of it, or none did.
fn has_written(pool: &Pool, commit: &Commit, truth: &BTreeSet<u32>) -> bool {
    let hunks = commit.files.iter().flat_map(|file| &file.hunks);
    let mut added =
        hunks.flat_map(|hunk| &hunk.lines).filter(|(_, added)| *added).map(|(text, _)| Line::new(text));
    added.any(|line| line.length >= 12 && pool.writers(line, commit.until()).any(|it| truth.contains(&it)))
}

fn checkpoint_of(repo: &Path, commit: &str) -> String {
    static KNOWN: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let format = "--format=%H %(trailers:key=Entire-Checkpoint,valueonly,separator=%x20)";
        let text = git(repo, &["log", "--all", "--grep=Entire-Checkpoint", format], b"");
        let text = String::from_utf8_lossy(&text).into_owned();
        let pair =
            |line: &str| line.split_once(' ').map(|(hash, id)| (hash.to_string(), id.trim().to_string()));
        text.lines().filter_map(pair).collect()
    });
    known.get(commit).cloned().unwrap_or_default()
}

/// Writes the largest transcript of each session below a home directory; returns the sessions of each checkpoint.
fn lay_out(repo: &Path, home: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let listed = git(repo, &["ls-tree", "-r", "-l", BRANCH], b"");
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut checkpoints: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut largest: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut sizes: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for line in listed.lines() {
        let Some((head, path)) = line.split_once('\t') else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        if let [_, _, blob, size] = words[..] {
            sizes.insert(path, (size.parse().unwrap_or(0), blob));
        }
    }
    // A stored copy of a repository can lack its largest files.
    let asked: String = sizes.values().map(|(_, blob)| format!("{blob}\n")).collect();
    let checked = git(repo, &["cat-file", "--batch-check"], asked.as_bytes());
    let checked = String::from_utf8_lossy(&checked).into_owned();
    let missing: BTreeSet<&str> = checked.lines().filter_map(|line| line.strip_suffix(" missing")).collect();
    for (path, (_, blob)) in &sizes {
        let parts: Vec<&str> = path.split('/').collect();
        let [two, ten, number, "metadata.json"] = parts[..] else { continue };
        let metadata: Value =
            serde_json::from_slice(&git(repo, &["cat-file", "blob", blob], b"")).unwrap_or_default();
        let Some(session) = metadata["session_id"].as_str() else { continue };
        // Older checkpoints put the date before the ID.
        let session = session.get(session.len().saturating_sub(36)..).unwrap_or(session).to_string();
        let transcript = format!("{two}/{ten}/{number}/full.jsonl");
        if let Some((size, blob)) = sizes.get(transcript.as_str()).filter(|(_, blob)| !missing.contains(blob))
        {
            checkpoints.entry(format!("{two}{ten}")).or_default().insert(session.clone());
            let best = largest.entry(session).or_default();
            if *size > best.0 {
                *best = (*size, (*blob).to_string());
            }
        }
    }
    let folder = home.join(".claude/projects/-work-cli");
    std::fs::create_dir_all(&folder).expect("a folder for transcripts");
    for (session, (_, blob)) in &largest {
        let file = folder.join(format!("{session}.jsonl"));
        if !file.exists() {
            std::fs::write(&file, git(repo, &["cat-file", "blob", blob], b"")).expect("a transcript");
        }
    }
    checkpoints
}

fn read_edits(home: &Path) -> SessionEdits {
    let places = Environment { home: home.to_path_buf(), ..Environment::default() };
    let (progress, masker) = (Progress::default(), OnceLock::new());
    let history = History {
        also: &[],
        places: &places,
        clock: Clock::System,
        cwd: home,
        threads: 2,
        masked: true,
        progress: &progress,
        masker: &masker,
        forget_elsewhere: |_, _| Ok(()),
        watched: None,
        snapshots: None,
    };
    let request = ViewRequest { all_projects: true, ..ViewRequest::default() };
    SessionEdits::read_matching(&history, &request, &[]).expect("the transcripts")
}

/// A commit is answered if one session explains this share of its lines.
const SHARES: [f64; 3] = [0.3, 0.5, 0.7];

#[derive(Default)]
struct Measured {
    commits: u32,
    unusable: u32,
    first: u32,
    answered: [u32; 3],
    right: [u32; 3],
    without: [u32; 3],
    lines: u64,
    explained: u64,
}

impl Measured {
    fn add(&mut self, pool: &Pool, commit: &Commit, truth: &BTreeSet<u32>) {
        let found = attribute_commit(pool, commit, &[], &|_| true, |_, _, _| {});
        if truth.is_empty() || found.lines == 0 {
            self.unusable += 1;
            return;
        }
        self.commits += 1;
        self.lines += u64::from(found.lines);
        self.explained += u64::from(found.explained);
        let top = found.sessions.first();
        let is_right = top.is_some_and(|(session, _)| truth.contains(session));
        self.first += u32::from(is_right);
        let without = attribute_commit(pool, commit, &[], &|session| !truth.contains(&session), |_, _, _| {});
        for (at, share) in SHARES.into_iter().enumerate() {
            let answers = |top: Option<&(u32, u32)>| {
                top.is_some_and(|it| f64::from(it.1) >= share * f64::from(found.lines))
            };
            self.answered[at] += u32::from(answers(top));
            self.right[at] += u32::from(answers(top) && is_right);
            self.without[at] += u32::from(answers(without.sessions.first()));
        }
    }

    fn print(&self) {
        let percent = |n: u64, of: u64| 100.0 * n as f64 / of.max(1) as f64;
        let all = u64::from(self.commits);
        report(format!("{} commits, {} without transcript or lines", self.commits, self.unusable));
        report(format!("lines explained: {:.1} %", percent(self.explained, self.lines)));
        report(format!("true session first: {:.1} %", percent(u64::from(self.first), all)));
        for (at, share) in SHARES.into_iter().enumerate() {
            let (answered, right) = (u64::from(self.answered[at]), u64::from(self.right[at]));
            report(format!(
                "at {:.0} % of the lines: answered {:.1} %, right {:.1} %; without the true session {:.1} %",
                share * 100.0,
                percent(answered, all),
                percent(right, answered),
                percent(u64::from(self.without[at]), all)
            ));
        }
    }
}

fn count_answered(pool: &Pool, commits: &[Commit]) -> usize {
    let is_answered = |commit: &&Commit| {
        let found = attribute_commit(pool, commit, &[], &|_| true, |_, _, _| {});
        found.sessions.first().is_some_and(|top| f64::from(top.1) >= SHARES[0] * f64::from(found.lines))
    };
    commits.iter().filter(is_answered).count()
}
