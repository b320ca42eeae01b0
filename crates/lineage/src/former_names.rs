//! The names that a symbol had before, by the lines that declare it.
//!
//! A commit renames a symbol if it replaces a line that has its name by one that differs in this name alone. Does not parse code: whether the
//! rest of the symbol stayed as it was, its caller compares.

use crate::fact_check::last_name;
use api::why::WhyFound;
use provenance::patch::{Commit, Hunk};

/// The names of the symbol of an answer, the present one first.
pub fn names_of(found: &WhyFound) -> Vec<&str> {
    std::iter::once(last_name(&found.target)).chain(found.former_names.iter().map(String::as_str)).collect()
}

/// Each former name, and the present one.
pub fn renames_of(found: &WhyFound) -> Vec<(String, String)> {
    let now = last_name(&found.target);
    found.former_names.iter().map(|old| (old.clone(), now.to_string())).collect()
}

/// The former names of a symbol, latest first. The commits are those that touched its lines, newest first.
pub fn find_former_names(commits: &[Commit], name: &str) -> Vec<String> {
    let mut names = vec![name.to_string()];
    for hunk in commits.iter().flat_map(|commit| &commit.files).flat_map(|file| &file.hunks) {
        let former = names.last().and_then(|name| renamed_from(hunk, name));
        names.extend(former.filter(|former| !names.contains(former)));
    }
    names.split_off(1)
}

fn renamed_from(hunk: &Hunk, name: &str) -> Option<String> {
    let added = hunk.lines.iter().filter(|(_, added)| *added).map(|(text, _)| words_of(text));
    added.filter(|words| words.contains(&name)).find_map(|new| {
        hunk.removed.iter().find_map(|old| replaced_word(&words_of(old), &new, name)).map(str::to_string)
    })
}

/// The word in place of a name, if two lines are the same but for it.
fn replaced_word<'t>(old: &[&'t str], new: &[&str], name: &str) -> Option<&'t str> {
    let mut differing = old.iter().zip(new).filter(|(old, new)| old != new);
    let (former, now) = differing.next().filter(|_| old.len() == new.len())?;
    let is_same = |(other, changed): (&&str, &&str)| other == former && *changed == name;
    let is_name = former.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (*now == name && is_name && differing.all(is_same)).then_some(*former)
}

/// The words of a line, and each other character that is no blank.
fn words_of(line: &str) -> Vec<&str> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_letter(c)).filter(|_| is_letter(first));
        let length = if is_letter(first) { length.unwrap_or(rest.len()) } else { first.len_utf8() };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use provenance::parse_log;

    fn log(hunks: &str) -> Vec<Commit> {
        parse_log(&format!("\u{1}abc 1 1 x\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n{hunks}"))
    }

    #[test]
    fn names_are_followed_from_commit_to_commit() {
        let mut commits = log("@@ -1,2 +1,2 @@\n-def middle(n):\n+def last(n):\n     return n\n");
        commits.extend(log("@@ -1,2 +1,2 @@\n-def first(n):\n+def middle(n):\n     return n\n"));
        assert_eq!(find_former_names(&commits, "last"), ["middle", "first"]);
        assert_eq!(find_former_names(&commits, "other"), Vec::<String>::new());
    }

    #[test]
    fn a_changed_line_is_not_a_renamed_one() {
        for body in [
            "-def first(n):\n+def last(n, m):\n",
            "-x = 1\n+last = 2\n",
            "-call(1)\n+last(2)\n",
            "+def last(n):\n",
        ] {
            let commits = log(&format!("@@ -1,1 +1,1 @@\n{body}"));
            assert_eq!(find_former_names(&commits, "last"), Vec::<String>::new(), "{body}");
        }
    }
}
