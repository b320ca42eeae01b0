//! Measures line → session on the history of a repository, in which each commit is drawn as a recorded session, a change by shell, or a
//! person:
//!
//!     cargo run --example lines -- REPO [SUFFIX] [COMMITS]
//!
//! The matcher sees the recorded edits and git's history; the truth is which kind of commit `git blame` names for a line. Kinder than life:
//! one edit for each file and commit, no abandoned edits, branches or worktrees. Does not read transcripts.

// The pedantic lints are for shipped code.
#![allow(clippy::pedantic, clippy::print_stdout)]

use loci_provenance::patch::LOG_FORMAT;
use loci_provenance::{Commit, Edit, Pool, attribute_commit, line::Line, parse_log};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(repo) = args.first().map(Path::new) else {
        println!("usage: lines REPO [SUFFIX] [COMMITS]");
        return;
    };
    let suffix = args.get(1).map_or(".py", String::as_str);
    let count = args.get(2).map_or("300", String::as_str);
    let log = ["log", "--first-parent", "-m", "-p", "-M", LOG_FORMAT, &format!("-n{count}"), "HEAD"];
    let mut commits = parse_log(&git(repo, &log));
    commits.iter_mut().for_each(|commit| commit.files.retain(|file| file.path.ends_with(suffix)));
    let kinds: BTreeMap<&str, Kind> = commits.iter().map(|it| (it.hash.as_str(), draw(&it.hash))).collect();
    let pool = record_edits(repo, &commits, &kinds);
    let mut claimed: BTreeMap<(&str, u64), u32> = BTreeMap::new();
    for commit in &commits {
        attribute_commit(&pool, commit, &[], &|_| true, |_, hunk, claims| {
            for ((text, _), claim) in hunk.lines.iter().zip(claims) {
                if let Some(claim) = claim {
                    claimed.insert((&commit.hash, Line::new(text).hash), pool.session_of(claim.edit));
                }
            }
        });
    }
    let mut counts = Counts::default();
    for file in git(repo, &["ls-tree", "-r", "--name-only", "HEAD"]).lines().filter(|it| it.ends_with(suffix))
    {
        let blame = git(repo, &["blame", "--first-parent", "-s", "-l", "--root", "HEAD", "--", file]);
        for line in blame.lines() {
            let Some((hash, rest)) = line.split_once(' ') else { continue };
            let text = rest.split_once(") ").map_or("", |(_, text)| text);
            let Some((number, commit)) = commits.iter().enumerate().find(|(_, it)| it.hash == hash) else {
                continue;
            };
            let line = Line::new(text);
            if !line.is_blank() {
                let found = claimed.get(&(hash, line.hash)).copied();
                counts.add(kinds[commit.hash.as_str()], number as u32, found);
            }
        }
    }
    counts.print();
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Recorded,
    Unrecorded,
}

/// 60 % of the commits are recorded; the rest are a shell's or a person's. The hash decides, so that every run is the same.
fn draw(hash: &str) -> Kind {
    let number = u32::from_str_radix(&hash[..6], 16).unwrap_or(0);
    if number % 100 < 60 { Kind::Recorded } else { Kind::Unrecorded }
}

fn git(repo: &Path, args: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(repo).args(args).output().expect("git runs");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// One edit for each file of each recorded commit, with the whole text before and after. The number of a session is that of its commit.
fn record_edits(repo: &Path, commits: &[Commit], kinds: &BTreeMap<&str, Kind>) -> Pool {
    let mut pool = Pool::default();
    for (session, commit) in commits.iter().enumerate().rev() {
        if kinds[commit.hash.as_str()] != Kind::Recorded {
            continue;
        }
        for file in &commit.files {
            let old = file.old_path.as_ref().unwrap_or(&file.path);
            let before = git(repo, &["show", &format!("{}^:{old}", commit.hash)]);
            let after = git(repo, &["show", &format!("{}:{}", commit.hash, file.path)]);
            let (at, path) = (commit.until() - 1, file.path.as_str());
            pool.add(Edit { session: session as u32, at, path, before: Some(&before), after: &after });
        }
    }
    pool
}

#[derive(Default)]
struct Counts {
    right: u32,
    another: u32,
    unexplained: u32,
    unrecorded: u32,
    claimed_falsely: u32,
}

impl Counts {
    fn add(&mut self, kind: Kind, session: u32, found: Option<u32>) {
        match (kind, found) {
            (Kind::Recorded, Some(found)) if found == session => self.right += 1,
            (Kind::Recorded, Some(_)) => self.another += 1,
            (Kind::Recorded, None) => self.unexplained += 1,
            (Kind::Unrecorded, found) => {
                self.unrecorded += 1;
                self.claimed_falsely += u32::from(found.is_some());
            }
        }
    }

    fn print(&self) {
        let recorded = self.right + self.another + self.unexplained;
        let percent = |n: u32, of: u32| 100.0 * f64::from(n) / f64::from(of.max(1));
        println!("{recorded} lines of recorded commits: right {:.2} %", percent(self.right, recorded));
        println!("another session {:.2} %", percent(self.another, recorded));
        println!("unexplained {:.2} %", percent(self.unexplained, recorded));
        println!(
            "{} other lines: claimed {:.2} %",
            self.unrecorded,
            percent(self.claimed_falsely, self.unrecorded)
        );
    }
}
