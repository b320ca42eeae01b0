//! A unified diff of edits whose places are known: UTF-8 and LF, whatever the file uses.
//!
//! Does not search for a smallest diff: it shows the lines that the edits touch, without those that stay as they are at either end.

use crate::edit::{FileEdit, TextEdit};
use std::fmt::Write as _;

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// A range of old lines, the new lines that replace them.
struct Replacement {
    from: usize,
    to: usize,
    new: Vec<String>,
}

impl Replacement {
    /// Leaves out the lines that stay as they are: a new body begins and ends with the braces of the old one.
    fn trim_equal(mut self, lines: &[&str]) -> Replacement {
        let equal = |(old, new): &(&&str, &String)| **old == new.as_str();
        let start = lines[self.from..self.to].iter().zip(&self.new).take_while(equal).count();
        self.from += start;
        self.new.drain(..start);
        let end = lines[self.from..self.to].iter().rev().zip(self.new.iter().rev()).take_while(equal).count();
        self.to -= end;
        self.new.truncate(self.new.len() - end);
        self
    }
}

/// The diff of one file.
pub(crate) fn unified_diff(file: &FileEdit, text: &str) -> String {
    let target = file.moved_to.as_ref().unwrap_or(&file.path);
    let from = if file.is_new { "/dev/null".to_owned() } else { format!("a/{}", file.path) };
    let mut out = format!("--- {from}\n+++ b/{target}\n");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let replacements = join_lines(&lines, &file.edits);
    let mut grown: isize = 0;
    let mut at = 0;
    while at < replacements.len() {
        let mut end = at + 1;
        while replacements.get(end).is_some_and(|next| next.from <= replacements[end - 1].to + 2 * CONTEXT) {
            end += 1;
        }
        grown += write_hunk(&mut out, &lines, &replacements[at..end], grown);
        at = end;
    }
    out
}

/// Joins edits that touch the same lines.
fn join_lines(lines: &[&str], edits: &[TextEdit]) -> Vec<Replacement> {
    let mut starts = Vec::with_capacity(lines.len() + 1);
    let mut byte = 0;
    for line in lines {
        starts.push(byte);
        byte += line.len();
    }
    starts.push(byte);
    let line_of = |at: usize| starts[..lines.len()].partition_point(|start| *start <= at).saturating_sub(1);
    let mut groups: Vec<(usize, usize, Vec<&TextEdit>)> = Vec::new();
    for edit in edits {
        let from = line_of(edit.from as usize);
        // an edit that ends at the start of a line leaves that line alone
        let is_line_start = starts[..lines.len()].binary_search(&(edit.to as usize)).is_ok();
        let ends_before = is_line_start && edit.to > edit.from;
        let to = if ends_before { line_of(edit.to as usize) } else { line_of(edit.to as usize) + 1 };
        match groups.last_mut().filter(|(_, end, _)| from < *end) {
            Some(last) => {
                last.1 = last.1.max(to);
                last.2.push(edit);
            }
            None => groups.push((from, to.max(from), vec![edit])),
        }
    }
    let new_lines = |(from, to, edits): (usize, usize, Vec<&TextEdit>)| {
        let (mut new, mut at) = (String::new(), starts[from]);
        let text: String = lines.concat();
        for edit in edits {
            new.push_str(text.get(at..edit.from as usize).unwrap_or_default());
            new.push_str(&edit.text);
            at = edit.to as usize;
        }
        new.push_str(text.get(at..starts[to.min(lines.len())]).unwrap_or_default());
        Replacement {
            from,
            to: to.min(lines.len()),
            new: new.split_inclusive('\n').map(str::to_owned).collect(),
        }
    };
    let all = groups.into_iter().map(new_lines).map(|it| it.trim_equal(lines));
    all.filter(|it| it.from < it.to || !it.new.is_empty()).collect()
}

/// Writes one hunk; returns by how many lines the text grows.
fn write_hunk(out: &mut String, lines: &[&str], group: &[Replacement], grown: isize) -> isize {
    let from = group[0].from.saturating_sub(CONTEXT);
    let to = (group[group.len() - 1].to + CONTEXT).min(lines.len());
    let added: usize = group.iter().map(|it| it.new.len()).sum();
    let removed: usize = group.iter().map(|it| it.to - it.from).sum();
    let (old, new) = (to - from, to - from + added - removed);
    let start = |count: usize, first: isize| if count == 0 { first } else { first + 1 };
    let first = from as isize;
    let _ = writeln!(out, "@@ -{},{old} +{},{new} @@", start(old, first), start(new, first + grown));
    let mut at = from;
    for each in group {
        lines[at..each.from].iter().for_each(|line| write_line(out, ' ', line));
        lines[each.from..each.to].iter().for_each(|line| write_line(out, '-', line));
        each.new.iter().for_each(|line| write_line(out, '+', line));
        at = each.to;
    }
    lines[at..to].iter().for_each(|line| write_line(out, ' ', line));
    added as isize - removed as isize
}

fn write_line(out: &mut String, mark: char, line: &str) {
    let shown = line.trim_end_matches('\n').trim_end_matches('\r').trim_start_matches('\u{feff}');
    let _ = writeln!(out, "{mark}{shown}");
    if !line.ends_with('\n') {
        out.push_str("\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(text: &str, edits: &[(u32, u32, &str)]) -> String {
        let edits =
            edits.iter().map(|(from, to, text)| TextEdit { from: *from, to: *to, text: (*text).into() });
        let file =
            FileEdit { path: "a".into(), digest: 0, edits: edits.collect(), moved_to: None, is_new: false };
        unified_diff(&file, text).lines().skip(2).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn changes_are_shown_with_three_lines_of_context() {
        let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n";
        assert_eq!(diff(text, &[(8, 9, "x")]), "@@ -2,7 +2,7 @@| 2| 3| 4|-5|+x| 6| 7| 8");
        let far = diff(text, &[(0, 1, "x"), (36, 38, "y")]);
        assert_eq!(far, "@@ -1,4 +1,4 @@|-1|+x| 2| 3| 4|@@ -13,4 +13,4 @@| 13| 14| 15|-16|+y");
    }

    #[test]
    fn two_edits_of_a_line_are_one_change() {
        assert_eq!(diff("a b\nc\n", &[(0, 1, "x"), (2, 3, "y")]), "@@ -1,2 +1,2 @@|-a b|+x y| c");
    }

    #[test]
    fn insertions_and_deletions_count_lines() {
        assert_eq!(diff("a\nb\n", &[(2, 2, "x\n")]), "@@ -1,2 +1,3 @@| a|+x| b");
        assert_eq!(diff("a\nb\n", &[(0, 2, "")]), "@@ -1,2 +1,1 @@|-a| b");
        assert_eq!(diff("{\na\n}\n", &[(0, 6, "{\nb\nc\n}\n")]), "@@ -1,3 +1,4 @@| {|-a|+b|+c| }");
        assert_eq!(diff("a\na\n", &[(0, 2, "a\na\n")]), "@@ -1,2 +1,3 @@| a|+a| a");
        assert_eq!(
            diff("a\r\nb", &[(3, 4, "c")]),
            "@@ -1,2 +1,2 @@| a|-b|\\ No newline at end of file|+c|\\ No newline at end of file"
        );
    }
}
