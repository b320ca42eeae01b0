//! How git says a piece of code came about: the commits that touched lines of a file, and who last changed each line.
//!
//! Does not know sessions.

use crate::RunGit;
use crate::kept_git::KeptGit;
use provenance::commit::names_of;
use provenance::diff::match_lines;
use provenance::line::{Line, lines_of};
use provenance::patch::{Commit, LOG_FORMAT, parse_log};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The history of some lines of a file.
#[derive(Debug, Default)]
pub struct CodeHistory {
    /// Newest first.
    pub commits: Vec<Commit>,
    /// The same commits with nothing but the lines that were asked for, before and after; none for a whole file.
    pub ranged: Vec<Commit>,
    /// The commits of the file with all they changed in it, newest first: what they brought, an edit brings no second time.
    pub of_file: Vec<Commit>,
    /// The lines now, and where each comes from; None if it is not committed.
    pub lines: Vec<(Line, Option<Origin>)>,
    /// The commit that wrote each of these lines: unlike the commit of its origin, it did more than indent it.
    pub written_in: Vec<Option<String>>,
    /// The whole file now, and which of its lines are asked for and not committed.
    pub text: Vec<Line>,
    pub uncommitted: Vec<bool>,
    /// Lines that are committed but no longer there.
    pub removed: Vec<Line>,
}

/// A line in the commit that last changed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub commit: String,
    /// The file and the line, counted from 1, in that commit.
    pub path: String,
    pub line: u32,
}

/// An old file has thousands of commits, and an answer shows a few.
const MAX_COMMITS: &str = "-n300";

impl CodeHistory {
    /// The history of the lines `from` to `to`, counted from 1. A folder without a repository has none. Without `is_noted`, the origin of a line is
    /// the commit that wrote it: only notes name lines by the commit that last indented them, and each blame takes as long as the log.
    pub fn read(
        git: &KeptGit<'_>,
        file: &str,
        now: &str,
        (from, to): (u32, u32),
        is_noted: bool,
    ) -> CodeHistory {
        let old = git.run(&["show", &format!("HEAD:./{file}")]).unwrap_or_default();
        let old = String::from_utf8_lossy(&old).into_owned();
        let (old_lines, text) = (lines_of(&old), lines_of(now));
        let matched = match_lines(&old_lines, &text);
        let range = from.saturating_sub(1) as usize..(to as usize).min(text.len());
        let uncommitted: Vec<bool> =
            matched.iter().enumerate().map(|(at, old)| old.is_none() && range.contains(&at)).collect();
        let in_old: Vec<u32> = matched.get(range.clone()).into_iter().flatten().flatten().copied().collect();
        let span = in_old.iter().min().zip(in_old.iter().max()).map(|(min, max)| (min + 1, max + 1));
        let is_whole = range.len() == text.len();
        let first = span.map_or(0, |(first, _)| first - 1);
        let blame = |how: &[&str]| span.map_or_else(Vec::new, |span| read_blame(git, file, span, how));
        let written = blame(&["-w"]);
        let blamed = if is_noted { blame(&[]) } else { written.clone() };
        let mut writers = Writers::default();
        for (line, origin) in old_lines.iter().skip(first as usize).zip(&written) {
            let (lines, paths) = writers.entry(&origin.commit).or_default();
            lines.insert(line.hash);
            paths.insert(&origin.path);
        }
        let of_file =
            if span.is_some() { read_log(git, &["--follow", MAX_COMMITS, "--", file]) } else { Vec::new() };
        let (commits, ranged) = match span {
            Some(span) if !is_whole => read_commits(git, file, span, &writers),
            _ => (of_file.clone(), Vec::new()),
        };
        let blame_of = |at: u32| blamed.get((at - first) as usize).cloned();
        let written_of = |at: u32| written.get((at - first) as usize).map(|origin| origin.commit.clone());
        let written_in = range.clone().map(|at| matched[at].and_then(written_of)).collect();
        let lines = range.map(|at| (text[at], matched[at].and_then(blame_of))).collect();
        let kept: FxHashSet<u32> = matched.iter().flatten().copied().collect();
        let removed = (0..).zip(&old_lines).filter(|(at, line)| !kept.contains(at) && !line.is_blank());
        let removed = removed.map(|(_, line)| *line).collect();
        CodeHistory { commits, ranged, of_file, lines, written_in, text, uncommitted, removed }
    }
}

/// The lines that each commit wrote, by hash, and the paths of the file then.
type Writers<'b> = FxHashMap<&'b str, (FxHashSet<u64>, BTreeSet<&'b str>)>;

/// The commits that touched the lines, and those that wrote them: git loses lines at a commit that indents a whole file. Then the same
/// with the lines alone, as far as git followed them.
fn read_commits(
    git: &KeptGit<'_>,
    file: &str,
    (from, to): (u32, u32),
    writers: &Writers<'_>,
) -> (Vec<Commit>, Vec<Commit>) {
    let ranged = read_log(git, &[MAX_COMMITS, &format!("-L{from},{to}:{file}")]);
    // Git prints the lines of the range alone, and their neighbours are evidence.
    let mut names: BTreeSet<String> =
        ranged.iter().flat_map(|commit| &commit.files).flat_map(names_of).collect();
    names.extend(writers.values().flat_map(|(_, paths)| paths).map(ToString::to_string));
    let mut hashes: BTreeSet<&str> = writers.keys().copied().collect();
    hashes.extend(ranged.iter().map(|commit| commit.hash.as_str()));
    // Not from the log of the file: it follows copies, and shows of a file that was split off only what differs.
    let mut what = vec!["--no-walk=unsorted", "-m", "--first-parent"];
    what.extend(&hashes);
    what.push("--");
    what.extend(names.iter().map(String::as_str));
    let mut whole = if hashes.is_empty() { Vec::new() } else { read_log(git, &what) };
    for commit in &mut whole {
        narrow(commit, &ranged, writers);
    }
    // Newest first; of commits of the same second as git lists them.
    let place = |commit: &Commit| ranged.iter().position(|it| it.hash == commit.hash);
    whole.sort_by_key(|commit| (std::cmp::Reverse(commit.at), place(commit)));
    (whole, ranged)
}

fn read_log(git: &KeptGit<'_>, what: &[&str]) -> Vec<Commit> {
    let form = ["log", LOG_FORMAT, "--no-color", "--no-ext-diff", "--no-textconv", "-M", "-p", "-U3"];
    let printed = git.run(&[&form, what].concat()).unwrap_or_default();
    parse_log(&String::from_utf8_lossy(&printed))
}

/// Marks as added only the lines that were asked for; the others become their surroundings.
fn narrow(commit: &mut Commit, ranged: &[Commit], writers: &Writers<'_>) {
    let hunks = |commit: &'_ Commit| -> Vec<String> {
        let lines = commit.files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines);
        lines.filter(|(_, added)| *added).map(|(text, _)| text.clone()).collect()
    };
    let named = ranged.iter().find(|it| it.hash == commit.hash);
    let meant: FxHashSet<String> = named.map(hunks).unwrap_or_default().into_iter().collect();
    let own = writers.get(commit.hash.as_str()).map(|(lines, _)| lines);
    for (text, added) in
        commit.files.iter_mut().flat_map(|file| &mut file.hunks).flat_map(|hunk| &mut hunk.lines)
    {
        let is_own = own.is_some_and(|own| own.contains(&Line::new(text).hash));
        *added &= is_own || meant.contains(text.as_str());
    }
}

/// Where each line comes from.
fn read_blame(git: &KeptGit<'_>, file: &str, (from, to): (u32, u32), how: &[&str]) -> Vec<Origin> {
    let range = format!("-L{from},{to}");
    let args = ["blame", "--no-textconv", "--porcelain", "--root"];
    let printed = git.run(&[&args[..], how, &[&range, "HEAD", "--", file]].concat()).unwrap_or_default();
    parse_blame(&String::from_utf8_lossy(&printed))
}

/// Reads `git blame --porcelain`: a head with the line in its commit, what is new about the commit, and the text after a tab.
fn parse_blame(text: &str) -> Vec<Origin> {
    let mut found = Vec::new();
    let mut names: FxHashMap<String, String> = FxHashMap::default();
    let mut at = Origin::default();
    let mut is_head = true;
    for line in text.split('\n') {
        if line.starts_with('\t') {
            at.path = names.get(&at.commit).cloned().unwrap_or_default();
            found.push(at.clone());
            is_head = true;
        } else if is_head {
            let mut words = line.split(' ');
            at.commit = words.next().unwrap_or_default().to_string();
            at.line = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            is_head = false;
        } else if let Some(name) = line.strip_prefix("filename ") {
            names.insert(at.commit.clone(), name.to_string());
        }
    }
    found
}

/// One commit with its patch against its first parent; None if there is no such commit.
pub fn read_commit(git: RunGit<'_>, named: &str) -> Option<Commit> {
    let commit = format!("{named}^{{commit}}");
    let hash = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], Vec::new()).ok()?;
    let hash = String::from_utf8_lossy(&hash).trim().to_string();
    let args =
        ["log", "-1", "-p", "-M", "-m", "--first-parent", "--no-color", "--no-ext-diff", "--no-textconv"];
    let printed = git(&[&args[..], &[LOG_FORMAT, &hash]].concat(), Vec::new()).ok()?;
    parse_log(&String::from_utf8_lossy(&printed)).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_from_a_line_of_their_commit() {
        let text = "aa 3 1 2\nauthor A\nfilename old.rs\n\tfilename x\naa 4 2\n\t\tlet a;\nbb 9 3 1\nfilename new.rs\n\tb\n";
        let found = parse_blame(text);
        let found: Vec<_> = found.iter().map(|it| (it.commit.as_str(), it.path.as_str(), it.line)).collect();
        assert_eq!(found, [("aa", "old.rs", 3), ("aa", "old.rs", 4), ("bb", "new.rs", 9)]);
    }
}
