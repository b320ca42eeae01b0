//! Unified diffs.
//!
//! Does not know files, and shows only the lines near a change.

use std::fmt::Write;

/// Context lines on each side of a change.
const CONTEXT_LINES: usize = 3;
/// Limit for comparing line by line; a longer middle part is shown as replaced.
const MAX_COMPARED_LINES: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep,
    Remove,
    Add,
}

pub(crate) fn unified_diff(before: &str, after: &str) -> String {
    let (old, new) = (split_lines(before), split_lines(after));
    let steps = diff_steps(&old, &new);
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = steps[at..].iter().position(|step| *step != Step::Keep).map(|n| at + n) {
        let start = first.saturating_sub(CONTEXT_LINES).max(at);
        let end = hunk_end(&steps, first);
        write_hunk(&old, &new, &steps, start, end, &mut out);
        at = end;
    }
    out
}

/// Splits into lines. A last line without a line ending differs from the same line with one.
fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The end of the hunk: after the last change near enough to the one before, plus context.
fn hunk_end(steps: &[Step], first: usize) -> usize {
    let mut last = first;
    for (at, step) in steps.iter().enumerate().skip(first) {
        if *step != Step::Keep {
            last = at;
        } else if at > last + 2 * CONTEXT_LINES {
            break;
        }
    }
    (last + CONTEXT_LINES + 1).min(steps.len())
}

fn write_hunk(old: &[&str], new: &[&str], steps: &[Step], start: usize, end: usize, out: &mut String) {
    let count = |range: &[Step], but: Step| range.iter().filter(|step| **step != but).count();
    let (mut o, mut n) = (count(&steps[..start], Step::Add), count(&steps[..start], Step::Remove));
    let (olds, news) = (count(&steps[start..end], Step::Add), count(&steps[start..end], Step::Remove));
    let from = |at: usize, count: usize| if count == 0 { at } else { at + 1 };
    let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", from(o, olds), from(n, news));
    for step in &steps[start..end] {
        let (sign, line) = match step {
            Step::Keep => (' ', old[o]),
            Step::Remove => ('-', old[o]),
            Step::Add => ('+', new[n]),
        };
        o += usize::from(*step != Step::Add);
        n += usize::from(*step != Step::Remove);
        let _ = writeln!(out, "{sign}{}", line.trim_end_matches(['\r', '\n']));
        if !line.ends_with('\n') {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

fn diff_steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut steps = vec![Step::Keep; head];
    steps.extend(diff_middle(&old[..old.len() - tail], &new[..new.len() - tail]));
    steps.extend(vec![Step::Keep; tail]);
    steps
}

/// Longest common subsequence by dynamic programming.
fn diff_middle(old: &[&str], new: &[&str]) -> Vec<Step> {
    if old.len() > MAX_COMPARED_LINES || new.len() > MAX_COMPARED_LINES {
        return [vec![Step::Remove; old.len()], vec![Step::Add; new.len()]].concat();
    }
    let mut common = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for (o, n) in (0..old.len()).rev().flat_map(|o| (0..new.len()).rev().map(move |n| (o, n))) {
        common[o][n] =
            if old[o] == new[n] { common[o + 1][n + 1] + 1 } else { common[o + 1][n].max(common[o][n + 1]) };
    }
    let (mut o, mut n, mut steps) = (0, 0, Vec::new());
    while o < old.len() || n < new.len() {
        let step = if o < old.len() && n < new.len() && old[o] == new[n] {
            Step::Keep
        } else if n == new.len() || (o < old.len() && common[o + 1][n] >= common[o][n + 1]) {
            Step::Remove
        } else {
            Step::Add
        };
        o += usize::from(step != Step::Add);
        n += usize::from(step != Step::Remove);
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::unified_diff;

    #[test]
    fn changes_are_shown_with_context() {
        for (before, after, shown) in [
            ("a\n", "a\n", ""),
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
            ("a", "a\nb\n", "@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n"),
            ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ] {
            assert_eq!(unified_diff(before, after), shown, "{before:?} {after:?}");
        }
        let long: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let (mut twice, before) = (long.clone(), long.join("\n"));
        twice.insert(2, "x".to_string());
        twice.insert(25, "y".to_string());
        let shown = unified_diff(&before, &twice.join("\n"));
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(!shown.contains("\n 12\n"), "{shown}");
    }
}
