//! Which sessions explain the lines that a commit added.
//!
//! Does not decide how much of a commit must be explained to name a session: it counts.

use crate::landed::LandedLines;
use crate::line::{Line, lines_of};
use crate::patch::{Commit, FilePatch, Hunk};
use crate::pool::{Claim, Pool, Region};
use rustc_hash::FxHashMap;

/// The added lines of a commit and who wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Added lines that say something new.
    pub lines: u32,
    pub explained: u32,
    /// Lines by session, most first; of equal ones the later session.
    pub sessions: Vec<(u32, u32)>,
}

/// A hunk as a region of lines to explain.
pub fn region_of(hunk: &Hunk, paths: &[String], until: i64) -> Region {
    Region {
        paths: paths.to_vec(),
        lines: hunk.lines.iter().map(|(text, _)| Line::new(text)).collect(),
        wanted: hunk.lines.iter().map(|(_, added)| *added).collect(),
        removed: hunk
            .removed
            .iter()
            .flat_map(|text| lines_of(text))
            .filter(|line| !line.is_blank())
            .collect(),
        until,
    }
}

/// The names of a file in a commit.
pub fn names_of(file: &FilePatch) -> Vec<String> {
    [Some(&file.path), file.old_path.as_ref()].into_iter().flatten().cloned().collect()
}

/// Explains the added lines of a commit; `each` gets every hunk with its claims. `aliases` are names that its files had at other
/// times.
pub fn attribute_commit(
    pool: &Pool,
    commit: &Commit,
    aliases: &[String],
    is_allowed: &dyn Fn(u32) -> bool,
    each: impl FnMut(&FilePatch, &Hunk, &[Option<Claim>]),
) -> Attribution {
    attribute_lines(pool, commit, aliases, is_allowed, &LandedLines::default(), each)
}

/// The same without the lines that earlier commits brought.
pub fn attribute_new_lines(
    pool: &Pool,
    commit: &Commit,
    aliases: &[String],
    landed: &LandedLines,
    each: impl FnMut(&FilePatch, &Hunk, &[Option<Claim>]),
) -> Attribution {
    attribute_lines(pool, commit, aliases, &|_| true, landed, each)
}

/// Adds what a commit brought to the lines that have landed; commits are added oldest first.
pub fn land_commit(pool: &Pool, commit: &Commit, aliases: &[String], landed: &mut LandedLines) {
    let mut brought = Vec::new();
    attribute_new_lines(pool, commit, aliases, landed, |_, hunk, claims| {
        let claimed = hunk.lines.iter().zip(claims).filter_map(|(line, claim)| Some((line, (*claim)?)));
        brought.extend(claimed.map(|((text, _), claim)| (claim.edit, Line::new(text))));
    });
    landed.extend(brought);
}

fn attribute_lines(
    pool: &Pool,
    commit: &Commit,
    aliases: &[String],
    is_allowed: &dyn Fn(u32) -> bool,
    landed: &LandedLines,
    mut each: impl FnMut(&FilePatch, &Hunk, &[Option<Claim>]),
) -> Attribution {
    let (mut found, mut counts) = (Attribution::default(), FxHashMap::<u32, (u32, u32)>::default());
    for file in &commit.files {
        let names = [&names_of(file), aliases].concat();
        for hunk in &file.hunks {
            let region = region_of(hunk, &names, commit.until());
            let claims = pool.explain(&region, is_allowed, landed);
            let asked = region.wanted.iter().zip(hunk.moved_lines()).map(|(wanted, moved)| *wanted && !moved);
            for ((line, asked), claim) in region.lines.iter().zip(asked).zip(&claims) {
                if !asked || line.is_blank() {
                    continue;
                }
                found.lines += 1;
                if let Some(claim) = claim {
                    found.explained += 1;
                    let count = counts.entry(pool.session_of(claim.edit)).or_default();
                    *count = (count.0 + 1, count.1.max(claim.edit));
                }
            }
            each(file, hunk, &claims);
        }
    }
    let mut sessions: Vec<(u32, (u32, u32))> = counts.into_iter().collect();
    sessions.sort_by_key(|(session, (lines, last))| std::cmp::Reverse((*lines, *last, *session)));
    found.sessions = sessions.into_iter().map(|(session, (lines, _))| (session, lines)).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse_log;
    use crate::pool::Edit;

    #[test]
    fn a_commit_is_attributed_by_its_lines() {
        let log = "\u{1}abc 20 20 Add flush\n\ndiff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,0 +1,4 @@\n\
                   +fn flush_all(store: &Store) {\n+    store.write();\n+}\n+let unrelated = human_made();\n";
        let mut pool = Pool::default();
        let after = "fn flush_all(store: &Store) {\n    store.write();\n}\n";
        for (session, path) in [(1, "/w/b.rs"), (2, "/w/a.rs")] {
            pool.add(Edit { session, at: 10, path, before: Some(""), after });
        }
        let commit = &parse_log(log)[0];
        let found = attribute_commit(&pool, commit, &[], &|_| true, |_, _, _| {});
        assert_eq!(found, Attribution { lines: 3, explained: 2, sessions: vec![(2, 2)] });
        let without = attribute_commit(&pool, commit, &[], &|session| session != 2, |_, _, _| {});
        assert_eq!((without.explained, without.sessions.len()), (0, 0));
    }

    fn adding_commit(at: i64, added: &[&str]) -> Commit {
        let lines = added.iter().map(|line| format!("+{line}")).collect::<Vec<_>>().join("\n");
        let log = format!(
            "\u{1}c{at} {at} {at} x\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,9 @@\n{lines}"
        );
        parse_log(&log).remove(0)
    }

    fn count_claimed(pool: &Pool, commit: &Commit, landed: &LandedLines) -> u32 {
        attribute_new_lines(pool, commit, &[], landed, |_, _, _| {}).explained
    }

    #[test]
    fn an_edit_lands_once_unless_its_text_returns_at_length() {
        let body = [
            "let first = compute_value(1);",
            "let second = compute_value(2);",
            "let third = first.max(second);",
        ];
        let long =
            ["let fourth = combine_all(&[first, second, third], 25);", "publish_to_everyone(fourth).await?;"];
        let text = [&body[..], &long[..]].concat().join("\n");
        let mut pool = Pool::default();
        pool.add(Edit { session: 1, at: 10_000, path: "/w/a", before: Some(""), after: &text });
        let mut landed = LandedLines::default();
        let first = adding_commit(20, &[&body[..], &long[..]].concat());
        assert_eq!(count_claimed(&pool, &first, &landed), 5);
        land_commit(&pool, &first, &[], &mut landed);
        let again = adding_commit(30, &body[..1]);
        assert_eq!(
            count_claimed(&pool, &again, &LandedLines::default()),
            1,
            "the line alone is long and rare"
        );
        assert_eq!(count_claimed(&pool, &again, &landed), 0, "somebody else wrote it again");
        assert_eq!(count_claimed(&pool, &first, &landed), 5, "a commit that was picked again");
    }
}
