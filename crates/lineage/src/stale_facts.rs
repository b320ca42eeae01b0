//! Which facts of a repository no longer describe its code, for lists that name many facts at once.
//!
//! A fact rests on the symbols that it names. It is stale if somebody else than its own sessions changed one of them since: the commit's
//! lines tell whose it is. What was found is kept until HEAD or the facts change. Does not know how code is parsed: its caller compares
//! two texts of a file.

use crate::RunGit;
use crate::fact_check::{last_name, words_of};
use history::file_calls::FileCalls;
use history::{History, home, scope};
use provenance::commit::attribute_commit;
use provenance::patch::{Commit, LOG_FORMAT, parse_log};
use provenance::pool::{Edit, Pool};
use serde::{Deserialize, Serialize};
use sources::edit::{may_edit, read_edits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A fact, as far as this needs it.
#[derive(Clone, Debug)]
pub struct FactView<'f> {
    pub id: &'f str,
    pub text: &'f str,
    pub symbols: &'f BTreeSet<String>,
    pub sessions: BTreeSet<&'f str>,
    /// When the last of its sessions ended, in milliseconds.
    pub ended_at: i64,
}

/// A text of a file, and its path then.
pub type FileText<'t> = (&'t str, &'t str);

/// What the caller knows about source text.
pub struct CompareTexts<'c> {
    /// Whether a text declares a symbol that the fact names.
    pub declares: &'c dyn Fn(&FactView<'_>, FileText<'_>) -> bool,
    /// Whether one of these symbols has another contract or visible behaviour in the second text, or is gone.
    pub differs: &'c dyn Fn(&FactView<'_>, FileText<'_>, FileText<'_>) -> bool,
}

/// The newest facts that are looked at, the words that git looks for, and the files that are parsed.
const MAX_FACTS: usize = 100;
const MAX_WORDS: usize = 80;
const MAX_FILES: usize = 40;
/// A larger file is not parsed.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Later commits of a file that are looked at, and calls on it.
const MAX_COMMITS: &str = "-n40";
const MAX_CALLS: u32 = 200;

/// Repositories that are looked at unasked.
const MAX_PROJECTS: usize = 8;

/// The first repositories among projects.
pub fn latest_projects<'p>(projects: impl Iterator<Item = &'p str>) -> Vec<&'p Path> {
    let mut found: Vec<&Path> = Vec::new();
    for root in projects.map(Path::new) {
        if found.len() < MAX_PROJECTS && !found.contains(&root) && root.join(".git").exists() {
            found.push(root);
        }
    }
    found
}

/// What was found about a repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Checked {
    /// HEAD, and the facts.
    key: String,
    changed: BTreeSet<String>,
}

/// The IDs of facts that were stale when they were last checked. For hooks: runs nothing.
pub fn known_stale(history: &History<'_>, root: &Path) -> BTreeSet<String> {
    let checked = load(history).remove(&*root.to_string_lossy());
    checked.map(|checked| checked.changed).unwrap_or_default()
}

/// A list of facts, one in each line after a heading, without those that have one of these texts.
pub fn without_stale(facts: &str, stale: &[String]) -> String {
    let ends =
        stale.iter().map(|text| format!(": {}", text.split_whitespace().collect::<Vec<_>>().join(" ")));
    let ends: Vec<String> = ends.collect();
    let is_current = |line: &&str| !ends.iter().any(|end| line.ends_with(end.as_str()));
    let lines: Vec<&str> = facts.lines().filter(is_current).collect();
    // The heading alone says nothing.
    if lines.len() < 2 { String::new() } else { lines.join("\n") + "\n" }
}

fn load(history: &History<'_>) -> BTreeMap<String, Checked> {
    let bytes = history.home().and_then(|home| std::fs::read(home.fact_checks()).ok());
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// The IDs of the facts of a repository that are stale; the facts are given newest first.
pub fn find_stale(
    history: &History<'_>,
    root: &Path,
    git: RunGit<'_>,
    facts: &[FactView<'_>],
    compare: &CompareTexts<'_>,
) -> BTreeSet<String> {
    let facts = &facts[..facts.len().min(MAX_FACTS)];
    let Ok(head) = git(&["rev-parse", "--verify", "--quiet", "HEAD"], Vec::new()) else {
        return BTreeSet::new();
    };
    let texts: Vec<&str> = facts.iter().flat_map(|fact| [fact.id, fact.text]).collect();
    let digest = provenance::note::sha256_hex(texts.join("\n").as_bytes());
    let key = format!("{} {digest}", String::from_utf8_lossy(&head).trim());
    let (mut known, place) = (load(history), root.to_string_lossy().into_owned());
    if let Some(checked) = known.get(&place).filter(|checked| checked.key == key) {
        return checked.changed.clone();
    }
    let changed = check_facts(history, root, git, facts, compare);
    known.insert(place, Checked { key, changed: changed.clone() });
    if let (Some(home), Ok(bytes)) = (history.home(), serde_json::to_vec(&known)) {
        let file = home.fact_checks();
        let made = file.parent().map_or(Ok(()), home::create_private_dir);
        // Without it, the next request checks again.
        let _ = made.and_then(|()| home::replace_file(&file, &bytes));
    }
    changed
}

fn check_facts(
    history: &History<'_>,
    root: &Path,
    git: RunGit<'_>,
    facts: &[FactView<'_>],
    compare: &CompareTexts<'_>,
) -> BTreeSet<String> {
    let folders = scope::project_folders(history, root);
    let mut changed = BTreeSet::new();
    for path in find_files(git, facts) {
        let Some(now) = read_text(&root.join(&path)) else { continue };
        let is_open = |fact: &&FactView<'_>| {
            !changed.contains(fact.id) && (compare.declares)(fact, (path.as_str(), now.as_str()))
        };
        let meant: Vec<&FactView<'_>> = facts.iter().filter(is_open).collect();
        let Some(since) = meant.iter().map(|fact| fact.ended_at).min() else { continue };
        let commits = later_commits(git, &path, since);
        let calls =
            (!commits.is_empty()).then(|| FileCalls::load(*history, &folders, &path, MAX_CALLS)).flatten();
        for fact in meant {
            let Some(old) = text_before_others(git, &path, &commits, calls.as_ref(), fact) else { continue };
            if (compare.differs)(fact, (path.as_str(), old.as_str()), (path.as_str(), now.as_str())) {
                changed.insert(fact.id.to_string());
            }
        }
    }
    changed
}

/// The files that contain a name of a fact.
fn find_files(git: RunGit<'_>, facts: &[FactView<'_>]) -> Vec<String> {
    let is_name = |word: &&str| {
        let name = last_name(word);
        name.len() >= 3
            && (name.len() < word.len() || name.contains('_') || name.chars().skip(1).any(char::is_uppercase))
    };
    let named = |fact: &FactView<'_>| -> Vec<String> {
        let words =
            words_of(fact.text, fact.symbols).filter(|word| fact.symbols.contains(*word) || is_name(word));
        words
            .map(|word| last_name(word.trim_end_matches("()")).to_string())
            .filter(|name| name.len() >= 3)
            .collect()
    };
    let words: BTreeSet<String> = facts.iter().flat_map(named).take(MAX_WORDS).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut args = vec!["grep", "-l", "-z", "-I", "-w", "-F"];
    args.extend(words.iter().flat_map(|word| ["-e", word.as_str()]));
    let printed = git(&args, Vec::new()).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    printed.split('\0').filter(|path| !path.is_empty()).take(MAX_FILES).map(str::to_string).collect()
}

fn read_text(path: &Path) -> Option<String> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let is_read = metadata.is_file() && metadata.len() <= MAX_FILE_BYTES;
    String::from_utf8(is_read.then(|| std::fs::read(path).ok())??).ok()
}

/// The commits of a file whose authors made them after a time, oldest first.
fn later_commits(git: RunGit<'_>, path: &str, since: i64) -> Vec<Commit> {
    let after = format!("--since=@{}", since / 1000);
    let form = ["log", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", MAX_COMMITS, LOG_FORMAT];
    let printed = git(&[&form[..], &[&after, "--", path]].concat(), Vec::new()).unwrap_or_default();
    let mut commits = parse_log(&String::from_utf8_lossy(&printed));
    commits.retain(|commit| commit.authored_at > since);
    commits.reverse();
    commits
}

/// The file before the first later commit that is not the fact's own work; None if there is none.
fn text_before_others(
    git: RunGit<'_>,
    path: &str,
    commits: &[Commit],
    calls: Option<&FileCalls<'_>>,
    fact: &FactView<'_>,
) -> Option<String> {
    let mut pool = Pool::default();
    let own = calls.iter().flat_map(|calls| calls.calls.iter().map(move |call| (calls, call)));
    for (calls, call) in
        own.filter(|(_, call)| fact.sessions.contains(call.session_id.as_str()) && may_edit(&call.tool))
    {
        for edit in calls.read_call(&call.row).map(|read| read_edits(&read)).unwrap_or_default() {
            let (before, after) = (edit.before.as_deref(), edit.after.as_str());
            pool.add(Edit { session: 0, at: call.row.at.0, path: &edit.path, before, after });
        }
    }
    let is_own = |commit: &Commit| {
        let found = attribute_commit(&pool, commit, &[], &|_| true, |_, _, _| {});
        found.lines > 0 && 2 * found.explained >= found.lines
    };
    let first = commits.iter().find(|commit| commit.authored_at > fact.ended_at && !is_own(commit))?;
    let show =
        |version: String| git(&["show", "--no-textconv", &format!("{version}:./{path}")], Vec::new()).ok();
    // A file that got its name in this commit is taken as it was then.
    let old = show(format!("{}^", first.hash)).or_else(|| show(first.hash.clone()))?;
    String::from_utf8(old).ok()
}

/// Whether all files that a fact names by path are gone. `None`: it names none, or its project is not on this machine.
pub fn are_files_gone(project: &str, symbols: &BTreeSet<String>) -> Option<bool> {
    let root = Path::new(project);
    let is_path = |symbol: &&String| {
        symbol.contains('/') && symbol.rsplit('/').next().is_some_and(|last| last.contains('.'))
    };
    let paths: Vec<&String> = symbols.iter().filter(is_path).collect();
    if paths.is_empty() || project.is_empty() || !root.is_dir() {
        return None;
    }
    Some(paths.iter().all(|path| !root.join(path).exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_facts_leave_a_list_and_their_heading_alone() {
        let list = "Decided:\n- rule of 2026-01-01: keep it simple\n- decision of 2026-01-02: Store.flush retries twice\n";
        let stale = ["Store.flush  retries\ntwice".to_string()];
        assert_eq!(without_stale(list, &stale), "Decided:\n- rule of 2026-01-01: keep it simple\n");
        assert_eq!(without_stale(list, &[]), list);
        assert_eq!(without_stale("Decided:\n- a: b\n", &["b".to_string()]), "");
    }
}
