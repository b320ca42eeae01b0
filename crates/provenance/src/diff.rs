//! Which lines two texts share, in order.
//!
//! Does not know what a line says: lines are compared by hash.

use crate::line::Line;
use rustc_hash::FxHashMap;

/// Above this product of lengths, a table would cost too much: the texts are split at lines that occur once in each.
const MAX_TABLE: usize = 1 << 20;

/// For each line of `after`, the line of `before` that it was, if any.
pub fn match_lines(before: &[Line], after: &[Line]) -> Vec<Option<u32>> {
    let mut matched = vec![None; after.len()];
    match_range(before, after, 0, 0, &mut matched);
    matched
}

fn match_range(before: &[Line], after: &[Line], from: usize, to: usize, matched: &mut [Option<u32>]) {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[Line]| lines.len() - head;
    let tail =
        before[head..].iter().rev().zip(after[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    for at in (0..head).chain(after.len() - tail..after.len()) {
        let old = if at < head { at } else { at + before.len() - after.len() };
        matched[to + at] = Some((from + old) as u32);
    }
    let (old, new) = (&before[head..head + rest(before) - tail], &after[head..head + rest(after) - tail]);
    if old.is_empty() || new.is_empty() {
        return;
    }
    if old.len() * new.len() <= MAX_TABLE {
        match_by_table(old, new, from + head, to + head, matched);
        return;
    }
    let (mut last_old, mut last_new) = (0, 0);
    for (at_old, at_new) in anchors(old, new).into_iter().chain([(old.len(), new.len())]) {
        if (at_old, at_new) != (0, 0) && (at_old > last_old || at_new > last_new) {
            let is_smaller = at_old - last_old < old.len() || at_new - last_new < new.len();
            if is_smaller {
                let (a, b) = (&old[last_old..at_old], &new[last_new..at_new]);
                match_range(a, b, from + head + last_old, to + head + last_new, matched);
            }
        }
        if at_old < old.len() && at_new < new.len() {
            matched[to + head + at_new] = Some((from + head + at_old) as u32);
        }
        (last_old, last_new) = (at_old + 1, at_new + 1);
    }
}

/// The longest common subsequence.
fn match_by_table(old: &[Line], new: &[Line], from: usize, to: usize, matched: &mut [Option<u32>]) {
    let width = new.len() + 1;
    let mut table = vec![0u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i * width + j] = if old[i] == new[j] {
                table[(i + 1) * width + j + 1].saturating_add(1)
            } else {
                table[(i + 1) * width + j].max(table[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            matched[to + j] = Some((from + i) as u32);
            (i, j) = (i + 1, j + 1);
        } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Lines that occur once in each text, the longest run of them in the same order.
fn anchors(old: &[Line], new: &[Line]) -> Vec<(usize, usize)> {
    let mut seen: FxHashMap<u64, (usize, usize, usize, usize)> = FxHashMap::default();
    for (at, line) in old.iter().enumerate() {
        let entry = seen.entry(line.hash).or_default();
        (entry.0, entry.1) = (entry.0 + 1, at);
    }
    for (at, line) in new.iter().enumerate() {
        let entry = seen.entry(line.hash).or_default();
        (entry.2, entry.3) = (entry.2 + 1, at);
    }
    let mut unique: Vec<(usize, usize)> =
        seen.values().filter(|it| it.0 == 1 && it.2 == 1).map(|it| (it.1, it.3)).collect();
    unique.sort_unstable();
    longest_increasing(&unique)
}

fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let (mut tails, mut previous): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, pair) in pairs.iter().enumerate() {
        let place = tails.partition_point(|tail| pairs[*tail].1 < pair.1);
        previous.push(place.checked_sub(1).map(|before| tails[before]));
        if place == tails.len() { tails.push(at) } else { tails[place] = at }
    }
    let mut found = Vec::new();
    let mut next = tails.last().copied();
    while let Some(at) = next {
        found.push(pairs[at]);
        next = previous[at];
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::lines_of;

    fn matched(before: &str, after: &str) -> Vec<Option<u32>> {
        match_lines(&lines_of(before), &lines_of(after))
    }

    #[test]
    fn lines_that_stay_are_matched_in_order() {
        assert_eq!(matched("a1\nb1\nc1", "a1\nx1\nc1"), [Some(0), None, Some(2)]);
        assert_eq!(matched("a1\nb1", "a1\nnew\nb1"), [Some(0), None, Some(1)]);
        assert_eq!(matched("", "a1"), [None]);
        assert_eq!(matched("a1\nb1\nc1\nd1", "c1\nd1\na1"), [Some(2), Some(3), None]);
    }

    #[test]
    fn long_texts_are_split_at_unique_lines() {
        let text = |skip: usize| {
            let lines = (0..4000).filter(|n| n % 100 != skip).map(|n| format!("line {n}"));
            lines.collect::<Vec<String>>().join(
                "
",
            )
        };
        let (before, after) = (text(3) + "\nend", format!("start\n{}", text(5)));
        let found = matched(&before, &after);
        let kept = found.iter().flatten().count();
        assert_eq!(kept, 4000 - 40 - 40);
        assert!(found.iter().flatten().is_sorted());
    }
}
