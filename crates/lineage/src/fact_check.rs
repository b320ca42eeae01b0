//! Whether code has changed under a fact since the session that stated it.
//!
//! The fact is compared with the code as its session left it: what the session itself commits afterwards is its own work, not a
//! change under it. Does not know how code is parsed: its caller compares two versions of a file.

use crate::RunGit;
use api::Error;
use api::why::Landed;
use std::collections::{BTreeMap, BTreeSet};

/// An old file has thousands of commits; beyond this many, a fact is compared with the oldest of them.
const MAX_COMMITS: &str = "-n1000";

/// A commit that touched a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommit {
    pub hash: String,
    /// When its author made it, in milliseconds: a rebase does not change it.
    pub at: i64,
    /// The path of the file in it.
    pub path: String,
}

/// The commits that touched a file, newest first, across renames. The error is what git said.
pub fn read_file_commits(git: RunGit<'_>, file: &str) -> Result<Vec<FileCommit>, String> {
    let format = "--format=%x01%H %at";
    let args = ["log", "--follow", "--relative", "--name-only", "-z", MAX_COMMITS, format, "--", file];
    let printed = git(&args, Vec::new())?;
    Ok(String::from_utf8_lossy(&printed).split('\u{1}').filter_map(parse_file_commit).collect())
}

fn parse_file_commit(entry: &str) -> Option<FileCommit> {
    let mut words = entry.split(['\0', '\n']).filter(|word| !word.is_empty());
    let (hash, seconds) = words.next()?.split_once(' ')?;
    let path = words.next()?.to_string();
    Some(FileCommit { hash: hash.to_string(), at: seconds.parse::<i64>().ok()? * 1000, path })
}

/// The version of a file that a fact is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub commit: String,
    pub path: String,
}

/// The last version before somebody else changed the file: before the first commit that was made after the session ended and that
/// the session did not write. A file that was not committed then is taken as it was first committed. None: nobody else committed
/// anything since.
pub fn version_left_by(commits: &[FileCommit], ended_at: i64, own: &BTreeSet<&str>) -> Option<Version> {
    let is_own = |commit: &FileCommit| own.iter().any(|hash| commit.hash.starts_with(hash));
    let first = commits.iter().rposition(|commit| commit.at > ended_at && !is_own(commit))?;
    let before = commits.get(first + 1).or_else(|| commits.get(first))?;
    Some(Version { commit: before.hash.clone(), path: before.path.clone() })
}

/// The version of a file when a session ended. Of a file that has another name since, or whose commits were rebased, the whole history
/// is read, which takes ten times as long. None: nobody committed anything since.
pub fn version_at(git: RunGit<'_>, file: &str, ended_at: i64) -> Result<Option<Version>, String> {
    let until = format!("--until=@{}", ended_at / 1000);
    let printed = git(&["log", "-1", "--format=%H", &until, "--", file], Vec::new())?;
    let commit = String::from_utf8_lossy(&printed).trim().to_string();
    if !commit.is_empty() {
        return Ok(Some(Version { commit, path: file.to_string() }));
    }
    Ok(version_left_by(&read_file_commits(git, file)?, ended_at, &BTreeSet::new()))
}

/// A symbol whose contract or visible behaviour changed, or which was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolChange {
    pub symbol: String,
    /// `Structure`, `PublicBehavior` or `Removed`.
    pub class: String,
}

/// Compares a version of the file with the present one.
type Compare<'c> = &'c dyn Fn(&Version) -> Result<Vec<SymbolChange>, Error>;

/// Checks the facts about one file; versions are compared once.
pub struct FactCheck<'c> {
    commits: Vec<FileCommit>,
    landed: &'c [Landed],
    compare: Compare<'c>,
    compared: BTreeMap<Version, Vec<SymbolChange>>,
}

impl<'c> FactCheck<'c> {
    /// `landed` says which commits are whose work.
    pub fn new(commits: Vec<FileCommit>, landed: &'c [Landed], compare: Compare<'c>) -> FactCheck<'c> {
        FactCheck { commits, landed, compare, compared: BTreeMap::new() }
    }

    /// The change that concerns a fact which mentions these names and was stated in these sessions, and the version it was true of.
    pub fn find_change(
        &mut self,
        names: &BTreeSet<&str>,
        sessions: &BTreeSet<&str>,
        ended_at: i64,
    ) -> Result<Option<(SymbolChange, Version)>, Error> {
        let own = self.landed.iter().filter(|landed| sessions.contains(landed.session_id.as_str()));
        let own = own.map(|landed| landed.commit.as_str()).collect();
        let Some(version) = version_left_by(&self.commits, ended_at, &own) else { return Ok(None) };
        if !self.compared.contains_key(&version) {
            self.compared.insert(version.clone(), (self.compare)(&version)?);
        }
        let is_meant = |change: &&SymbolChange| names.iter().any(|name| means(name, &change.symbol));
        let found = self.compared[&version].iter().find(is_meant).cloned();
        Ok(found.map(|change| (change, version)))
    }
}

/// The last part of a symbol's name: `flush` of `Store.flush(items)`.
pub fn last_name(symbol: &str) -> &str {
    symbol.split('(').next().unwrap_or(symbol).rsplit(['.', ':']).next().unwrap_or(symbol)
}

/// Whether a word of a fact ends in a name: a fact says `flush`, `Store.flush` or `src/store.py`.
pub fn is_end(word: &str, name: &str) -> bool {
    let above = word.trim_end_matches("()").strip_suffix(name);
    above.is_some_and(|above| above.is_empty() || above.ends_with(['.', ':', '/', '#']))
}

/// The names and the words of a fact.
pub fn words_of<'f>(text: &'f str, symbols: &'f BTreeSet<String>) -> impl Iterator<Item = &'f str> {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '#' | '-');
    let words = text.split(move |c| !is_letter(c)).map(|word| word.trim_end_matches(['.', ':']));
    symbols.iter().map(String::as_str).chain(words)
}

/// Whether a fact mentions a file, or one of the names of a symbol.
pub fn mentions_any(text: &str, symbols: &BTreeSet<String>, file: &str, names: &[&str]) -> bool {
    let file_name = file.rsplit('/').next().unwrap_or_default();
    words_of(text, symbols).any(|word| is_end(word, file_name) || names.iter().any(|name| is_end(word, name)))
}

/// The names by which a fact is compared with changes: those it states, and the first of the names of a symbol, its present one, if it
/// mentions any of them.
pub fn compared_names<'f>(
    text: &'f str,
    symbols: &'f BTreeSet<String>,
    names: &[&'f str],
) -> BTreeSet<&'f str> {
    let is_named = |word: &&str| names.iter().any(|name| is_end(word, name));
    let named: Vec<&str> = words_of(text, symbols).filter(is_named).collect();
    let now = named.first().and(names.first()).copied();
    symbols.iter().map(String::as_str).chain(named).chain(now).collect()
}

/// Whether a name as people write it means a symbol: its parts are the last parts of the symbol's. `Store.flush` is not another
/// `flush` of the same file.
pub fn means(name: &str, symbol: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let text = text.split('(').next().unwrap_or(text);
        text.split(['.', ':', '#', '/']).filter(|part| !part.is_empty()).map(str::to_string).collect()
    };
    let (name, symbol) = (parts(name), parts(symbol));
    !name.is_empty() && symbol.ends_with(&name)
}

/// Whether a fact names a symbol of a file: with its type, or by a name that is not an ordinary word, or in backticks beside its
/// type or file.
pub fn names_symbol(text: &str, symbols: &BTreeSet<String>, symbol: &str, path: &str) -> bool {
    let words = || words_of(text, symbols);
    let name = last_name(symbol);
    let around = symbol.strip_suffix(name).map(|above| above.trim_end_matches('.')).unwrap_or_default();
    let file_name = path.rsplit('/').next().unwrap_or_default();
    let is_placed = || {
        words().any(|word| is_end(word, file_name) || (!around.is_empty() && is_end(word, last_name(around))))
    };
    let is_qualified = |word: &str| word.contains(['.', ':', '#']) && means(word, symbol);
    words().any(is_qualified)
        || (is_unusual(name) && words().any(|word| means(word, name)))
        || (symbols.iter().any(|word| means(word, name)) && is_placed())
}

/// Whether a name cannot be a word of a sentence: it is made of several.
fn is_unusual(name: &str) -> bool {
    name.trim_matches('_').contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits() -> Vec<FileCommit> {
        let of =
            |(hash, at, path): (&str, i64, &str)| FileCommit { hash: hash.into(), at, path: path.into() };
        [("c3", 30, "b.py"), ("c2", 20, "a.py"), ("c1", 10, "a.py")].map(of).to_vec()
    }

    #[test]
    fn a_fact_is_about_the_version_before_the_first_foreign_commit() {
        let left = |at, own: &[&'static str]| {
            version_left_by(&commits(), at, &own.iter().copied().collect()).map(|version| version.commit)
        };
        assert_eq!(left(15, &[]), Some("c1".into()));
        assert_eq!(left(15, &["c2"]), Some("c2".into()), "the session's own commit is not a change under it");
        assert_eq!(left(15, &["c2", "c3"]), None);
        assert_eq!(left(35, &[]), None, "nothing was committed since");
        assert_eq!(left(5, &[]), Some("c1".into()), "the file was committed later");
    }

    #[test]
    fn a_name_means_a_symbol_whose_last_parts_it_has() {
        for (name, symbol, expected) in [
            ("flush", "store.Store.flush", true),
            ("Store::flush()", "store.Store.flush", true),
            ("Cache.flush", "store.Store.flush", false),
            ("Store", "store.Store.flush", false),
            ("lush", "store.Store.flush", false),
        ] {
            assert_eq!(means(name, symbol), expected, "{name}");
        }
    }

    #[test]
    fn entries_of_a_log_are_read_with_the_path_of_their_time() {
        let found = parse_file_commit("abc 12\0\nold name.py\0");
        assert_eq!(found, Some(FileCommit { hash: "abc".into(), at: 12_000, path: "old name.py".into() }));
    }
}
