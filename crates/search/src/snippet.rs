//! Extracts the densest match from a text, with its surroundings.
//!
//! Does not know colours: it returns the positions of the words, and the caller decides how to display them.

use crate::query::Terms;
use crate::token::{Kind, Scratch, Tokens};
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub text: String,
    /// Bytes of `text`, in order, not overlapping.
    pub highlights: Vec<Range<usize>>,
}

struct Match {
    place: Range<usize>,
    word: usize,
    weight: f32,
}

/// The densest match with `window` characters on both sides; `…` marks omitted text. The beginning of the text if
/// nothing matches.
pub fn snippet(text: &str, terms: &Terms, window: usize) -> Snippet {
    let matches = find_matches(text, terms);
    let (from, to) = densest_run(&matches, (window * 3).max(24));
    let first = matches.get(from).map_or(0, |found| found.place.start);
    let last = matches.get(to).map_or(first, |found| found.place.end);
    let start = chars_before(text, first, window);
    let end = chars_after(text, last, window);
    extract_snippet(text, start..end, &matches)
}

fn find_matches(text: &str, terms: &Terms) -> Vec<Match> {
    let by_term = terms.by_term();
    let mut scratch = Scratch::without_stems(terms.plain);
    let mut found = Vec::new();
    for stretch in candidate_ranges(text, by_term.keys().copied()) {
        let mut tokens = Tokens::new(&text[stretch.clone()], &mut scratch);
        while let Some(token) = tokens.advance() {
            for (word, near) in by_term.get(token.text).into_iter().flatten() {
                let whole = if token.kind == Kind::Whole { 2.0 } else { 1.0 };
                let weight = terms.words[*word].weight * near * whole;
                let place = stretch.start + token.place.start..stretch.start + token.place.end;
                found.push(Match { place, word: *word, weight });
            }
        }
    }
    found
}

/// A shorter text is tokenised as a whole.
const SHORT_TEXT: usize = 4096;
/// The number of bytes read around a possible match.
const CONTEXT_BYTES: usize = 160;

/// The parts of a long text in which a word may occur: tokenising all of it would cost more than everything else in a
/// response. Each part ends between words. The whole text if nothing is found: a word may be written with accents.
fn candidate_ranges<'t>(text: &str, terms: impl Iterator<Item = &'t str>) -> Vec<Range<usize>> {
    let whole = std::iter::once(0..text.len()).collect();
    if text.len() < SHORT_TEXT {
        return whole;
    }
    let lower = text.to_ascii_lowercase();
    let mut places: Vec<usize> = Vec::new();
    for term in terms {
        // Stemming changes the end of a word.
        let cut = if term.is_ascii() && term.len() > 4 { term.len() - 2 } else { term.len() };
        places.extend(memchr::memmem::find_iter(lower.as_bytes(), &term.as_bytes()[..cut]).take(64));
    }
    places.sort_unstable();
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for at in places {
        let (start, end) = (
            word_boundary(text, at.saturating_sub(CONTEXT_BYTES), false),
            word_boundary(text, at + CONTEXT_BYTES, true),
        );
        match stretches.last_mut().filter(|last| start <= last.end) {
            Some(last) => last.end = last.end.max(end),
            None => stretches.push(start..end),
        }
    }
    if stretches.is_empty() { whole } else { stretches }
}

/// The nearest word boundary before or after a position.
fn word_boundary(text: &str, at: usize, behind: bool) -> usize {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let bytes = text.as_bytes();
    if behind {
        let at = at.min(bytes.len());
        return bytes[at..].iter().position(blank).map_or(bytes.len(), |n| at + n);
    }
    bytes[..at].iter().rposition(blank).map_or(0, |n| n + 1)
}

/// The run of matches within `width` bytes with the most different words; the first of several.
fn densest_run(matches: &[Match], width: usize) -> (usize, usize) {
    let (mut best, mut range) = (0.0, (0, 0));
    for from in 0..matches.len() {
        let (mut score, mut seen) = (0.0, Vec::new());
        for (to, found) in matches.iter().enumerate().skip(from) {
            if found.place.end - matches[from].place.start > width {
                break;
            }
            let is_repeated = seen.contains(&found.word);
            score += if is_repeated { found.weight * 0.1 } else { found.weight };
            seen.push(found.word);
            if score > best {
                (best, range) = (score, (from, to));
            }
        }
    }
    range
}

fn chars_before(text: &str, from: usize, chars: usize) -> usize {
    text[..from].char_indices().rev().take(chars).last().map_or(from, |(at, _)| at)
}

fn chars_after(text: &str, from: usize, chars: usize) -> usize {
    text[from..].char_indices().nth(chars).map_or(text.len(), |(at, _)| from + at)
}

fn extract_snippet(text: &str, place: Range<usize>, matches: &[Match]) -> Snippet {
    let mut output = String::with_capacity(place.len() + 6);
    if place.start > 0 {
        output.push('…');
    }
    let shift = output.len();
    output.push_str(&text[place.clone()]);
    if place.end < text.len() {
        output.push('…');
    }
    let mut highlights: Vec<Range<usize>> = Vec::new();
    for found in
        matches.iter().filter(|found| place.start <= found.place.start && found.place.end <= place.end)
    {
        let range = found.place.start - place.start + shift..found.place.end - place.start + shift;
        match highlights.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => highlights.push(range),
        }
    }
    Snippet { text: output, highlights }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_densest_match_is_shown() {
        let text = format!(
            "{}cache {}the cache eviction policy{}",
            "x ".repeat(99),
            "y ".repeat(99),
            " z".repeat(99)
        );
        let result = snippet(&text, &Terms::new(&["cache eviction"]), 8);
        assert_eq!(result.text, "…y y the cache eviction policy …");
        let words: Vec<&str> = result.highlights.iter().map(|range| &result.text[range.clone()]).collect();
        assert_eq!(words, ["cache", "eviction"]);
    }

    #[test]
    fn adjacent_pairs_are_one_highlight() {
        let result = snippet("昨天虚拟列表滚动很卡", &Terms::new(&["虚拟列表"]), 2);
        assert_eq!(result.text, "昨天虚拟列表滚动…");
        assert_eq!(&result.text[result.highlights[0].clone()], "虚拟列表");
    }

    proptest! {
        #[test]
        fn highlights_are_inside_the_snippet(text in "[a-c卡é …]{0,80}", query in "[a-c卡]{1,3}", window in 0_usize..20) {
            let result = snippet(&text, &Terms::new(&[query]), window);
            for range in result.highlights {
                prop_assert!(result.text.get(range).is_some());
            }
        }
    }
}
