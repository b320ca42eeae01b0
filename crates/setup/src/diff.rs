//! Unified diffs.
//!
//! Does not know files, and shows only the lines near a change.

use std::fmt::Write;

/// Context lines on each side of a change.
const AROUND: usize = 3;
/// Limit for comparing line by line; a longer middle part is shown as replaced.
const MOST: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Same,
    Less,
    More,
}

pub(crate) fn unified(before: &str, after: &str) -> String {
    let (old, new) = (lines(before), lines(after));
    let steps = steps(&old, &new);
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = steps[at..].iter().position(|step| *step != Step::Same).map(|n| at + n) {
        let start = first.saturating_sub(AROUND).max(at);
        let end = hunk_end(&steps, first);
        hunk(&old, &new, &steps, start, end, &mut out);
        at = end;
    }
    out
}

/// Splits into lines. A last line without a line ending differs from the same line with one.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The end of the hunk: after the last change near enough to the one before, plus context.
fn hunk_end(steps: &[Step], first: usize) -> usize {
    let mut last = first;
    for (at, step) in steps.iter().enumerate().skip(first) {
        if *step != Step::Same {
            last = at;
        } else if at > last + 2 * AROUND {
            break;
        }
    }
    (last + AROUND + 1).min(steps.len())
}

fn hunk(old: &[&str], new: &[&str], steps: &[Step], start: usize, end: usize, out: &mut String) {
    let count = |range: &[Step], but: Step| range.iter().filter(|step| **step != but).count();
    let (mut o, mut n) = (count(&steps[..start], Step::More), count(&steps[..start], Step::Less));
    let (olds, news) = (count(&steps[start..end], Step::More), count(&steps[start..end], Step::Less));
    let from = |at: usize, count: usize| if count == 0 { at } else { at + 1 };
    let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", from(o, olds), from(n, news));
    for step in &steps[start..end] {
        let (sign, line) = match step {
            Step::Same => (' ', old[o]),
            Step::Less => ('-', old[o]),
            Step::More => ('+', new[n]),
        };
        o += usize::from(*step != Step::More);
        n += usize::from(*step != Step::Less);
        let _ = writeln!(out, "{sign}{}", line.trim_end_matches(['\r', '\n']));
        if !line.ends_with('\n') {
            out.push_str("\\ no line end\n");
        }
    }
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut steps = vec![Step::Same; head];
    steps.extend(middle(&old[..old.len() - tail], &new[..new.len() - tail]));
    steps.extend(vec![Step::Same; tail]);
    steps
}

/// Longest common subsequence by dynamic programming.
fn middle(old: &[&str], new: &[&str]) -> Vec<Step> {
    if old.len() > MOST || new.len() > MOST {
        return [vec![Step::Less; old.len()], vec![Step::More; new.len()]].concat();
    }
    let mut common = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for (o, n) in (0..old.len()).rev().flat_map(|o| (0..new.len()).rev().map(move |n| (o, n))) {
        common[o][n] =
            if old[o] == new[n] { common[o + 1][n + 1] + 1 } else { common[o + 1][n].max(common[o][n + 1]) };
    }
    let (mut o, mut n, mut steps) = (0, 0, Vec::new());
    while o < old.len() || n < new.len() {
        let step = if o < old.len() && n < new.len() && old[o] == new[n] {
            Step::Same
        } else if n == new.len() || (o < old.len() && common[o + 1][n] >= common[o][n + 1]) {
            Step::Less
        } else {
            Step::More
        };
        o += usize::from(step != Step::More);
        n += usize::from(step != Step::Less);
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_are_shown_with_context() {
        for (before, after, shown) in [
            ("a\n", "a\n", ""),
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
            ("a", "a\nb\n", "@@ -1,1 +1,2 @@\n-a\n\\ no line end\n+a\n+b\n"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n"),
            ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ] {
            assert_eq!(unified(before, after), shown, "{before:?} {after:?}");
        }
        let long: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let (mut twice, before) = (long.clone(), long.join("\n"));
        twice.insert(2, "x".to_string());
        twice.insert(25, "y".to_string());
        let shown = unified(&before, &twice.join("\n"));
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(!shown.contains("\n 12\n"), "{shown}");
    }
}
