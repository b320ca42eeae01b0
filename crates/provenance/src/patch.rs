//! Reads what `git log -p` prints: commits, the files they changed, and the added and removed lines of each hunk.
//!
//! Does not run git.

use crate::line::Line;
use rustc_hash::{FxHashMap, FxHashSet};

/// What precedes the fields of a commit in [`LOG_FORMAT`]: no line of a patch starts with it.
const MARK: char = '\u{1}';

/// The format that [`parse_log`] reads: hash, time of the commit, time of its author, and subject.
pub const LOG_FORMAT: &str = "--format=%x01%H %ct %at %s";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    /// Milliseconds. A rebase changes the time of the commit and keeps the author's.
    pub at: i64,
    pub authored_at: i64,
    pub subject: String,
    pub files: Vec<FilePatch>,
}

impl Commit {
    /// An edit that was made later cannot be its cause.
    pub fn until(&self) -> i64 {
        self.at.max(self.authored_at)
    }

    pub fn short_hash(&self) -> &str {
        self.hash.get(..10).unwrap_or(&self.hash)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    /// The name before a rename.
    pub old_path: Option<String>,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The lines of the new text, and whether each was added.
    pub lines: Vec<(String, bool)>,
    pub removed: Vec<String>,
    /// The first line of the new text, counted from 1.
    pub start: u32,
}

impl Hunk {
    /// Which lines were added but say what a removed line said: a formatter or an indentation moved them. If there are more of a text than were
    /// removed, some are new, and which ones is not known: a formatter that wraps calls adds `assertThrows(` where others were before.
    pub fn moved_lines(&self) -> Vec<bool> {
        let mut left: FxHashMap<u64, i64> = FxHashMap::default();
        self.removed.iter().for_each(|text| *left.entry(Line::new(text).hash).or_default() += 1);
        for (text, _) in self.lines.iter().filter(|(_, added)| *added) {
            left.entry(Line::new(text).hash).and_modify(|left| *left -= 1);
        }
        let is_moved = |text: &str| left.get(&Line::new(text).hash).is_some_and(|left| *left >= 0);
        self.lines.iter().map(|(text, added)| *added && is_moved(text)).collect()
    }

    pub fn count_added(&self) -> usize {
        self.lines.iter().filter(|(_, added)| *added).count()
    }
}

/// Of whole commits, marks as added only the lines that the same commits in `ranged` added; the others become their surroundings.
pub fn narrow_commits(whole: &mut [Commit], ranged: &[Commit]) {
    for commit in whole {
        let Some(named) = ranged.iter().find(|it| it.hash == commit.hash) else { continue };
        let lines = named.files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines);
        let meant: FxHashSet<&str> =
            lines.filter(|(_, added)| *added).map(|(text, _)| text.as_str()).collect();
        for (text, added) in
            commit.files.iter_mut().flat_map(|file| &mut file.hunks).flat_map(|hunk| &mut hunk.lines)
        {
            *added &= meant.contains(text.as_str());
        }
    }
}

/// Parses the output of `git log -p` with [`LOG_FORMAT`]; newest first, as git prints it.
pub fn parse_log(text: &str) -> Vec<Commit> {
    let mut found: Vec<Commit> = Vec::new();
    let mut in_hunk = false;
    for line in text.split('\n') {
        if let Some(head) = line.strip_prefix(MARK) {
            found.push(parse_head(head));
            in_hunk = false;
        } else if let Some(commit) = found.last_mut() {
            in_hunk = add_line(commit, line, in_hunk);
        }
    }
    found
}

fn parse_head(head: &str) -> Commit {
    let mut words = head.splitn(4, ' ');
    let hash = words.next().unwrap_or_default().to_string();
    let mut time = || words.next().and_then(|word| word.parse::<i64>().ok()).unwrap_or(0) * 1000;
    let (at, authored_at) = (time(), time());
    Commit { hash, at, authored_at, subject: words.next().unwrap_or_default().to_string(), files: Vec::new() }
}

/// Adds a line of a patch; returns whether the next one is inside a hunk.
fn add_line(commit: &mut Commit, line: &str, in_hunk: bool) -> bool {
    if line.starts_with("diff --git ") || line.starts_with("diff --cc ") {
        commit.files.push(FilePatch::default());
        return false;
    }
    let Some(file) = commit.files.last_mut() else { return false };
    if line.starts_with("@@") {
        file.hunks.push(Hunk { start: new_start(line), ..Hunk::default() });
        return true;
    }
    if in_hunk && let Some(hunk) = file.hunks.last_mut() {
        match line.split_at_checked(1) {
            Some(("+", text)) => hunk.lines.push((text.to_string(), true)),
            Some(("-", text)) => hunk.removed.push(text.to_string()),
            Some((" ", text)) => hunk.lines.push((text.to_string(), false)),
            _ => {}
        }
        return true;
    }
    if let Some(old) = line.strip_prefix("rename from ") {
        file.old_path = Some(old.to_string());
    } else if let Some(new) = line.strip_prefix("rename to ") {
        file.path = new.to_string();
    } else if let Some(old) = line.strip_prefix("--- a/") {
        file.path = old.to_string();
    } else if let Some(new) = line.strip_prefix("+++ b/") {
        let old = std::mem::replace(&mut file.path, new.to_string());
        if !old.is_empty() && old != file.path {
            file.old_path.get_or_insert(old);
        }
    }
    false
}

fn new_start(header: &str) -> u32 {
    let new = header.split(' ').find_map(|word| word.strip_prefix('+'));
    new.and_then(|word| word.split(',').next()?.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_only_moved_are_told_from_new_ones() {
        let line = |text: &str, added| (text.to_string(), added);
        let lines = vec![line("if x:", true), line("        send(x)", true), line("kept", false)];
        let hunk = Hunk { lines, removed: vec!["    send(x)".to_string(), "kept".to_string()], start: 1 };
        assert_eq!(hunk.moved_lines(), [false, true, false]);
        let lines = vec![line("send(x)", true), line("  send(x)", true)];
        let hunk = Hunk { lines, removed: vec!["    send(x)".to_string()], start: 1 };
        assert_eq!(hunk.moved_lines(), [false, false], "one of them is new");
    }

    #[test]
    fn a_range_keeps_its_surroundings() {
        let log = |body: &str| {
            parse_log(&format!(
                "\u{1}abc 1 1 x\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,3 @@\n{body}"
            ))
        };
        let mut whole = log("+one\n+two\n+three\n");
        narrow_commits(&mut whole, &log("+two\n"));
        let added: Vec<bool> = whole[0].files[0].hunks[0].lines.iter().map(|(_, added)| *added).collect();
        assert_eq!(added, [false, true, false]);
    }

    #[test]
    fn commits_files_and_hunks_are_read() {
        let log = "\u{1}abc 20 10 Fix a: b\n\ndiff --git a/old.rs b/new.rs\nsimilarity index 90%\nrename from old.rs\nrename to new.rs\n\
                   --- a/old.rs\n+++ b/new.rs\n@@ -1,3 +1,3 @@ fn x\n one\n-two\n+2\n \n--- not a header\n\
                   diff --git a/n.rs b/n.rs\nnew file mode 100644\n--- /dev/null\n+++ b/n.rs\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n\
                   \u{1}def 5 5 First\n";
        let found = parse_log(log);
        assert_eq!(found.len(), 2);
        let [first, second] = [&found[0], &found[1]];
        assert_eq!((first.hash.as_str(), first.at, first.authored_at), ("abc", 20_000, 10_000));
        assert_eq!((first.subject.as_str(), first.until()), ("Fix a: b", 20_000));
        assert_eq!(first.files[0].path, "new.rs");
        assert_eq!(first.files[0].old_path.as_deref(), Some("old.rs"));
        let hunk = &first.files[0].hunks[0];
        assert_eq!(hunk.removed, ["two", "-- not a header"]);
        assert_eq!((hunk.count_added(), hunk.start, hunk.lines.len()), (1, 1, 3));
        assert_eq!(first.files[1].path, "n.rs");
        assert_eq!(first.files[1].hunks[0].lines, [("n".to_string(), true)]);
        assert!(second.files.is_empty());
    }
}
