//! Checks the text of the best messages: are the words close together, and is it a statement or a question? The index
//! stores no positions.
//!
//! Does not know more of a chat than the given messages.

use crate::query::Terms;
use crate::rank::Rarity;
use crate::token::{Scratch, Tokens};
use rustc_hash::FxHashMap;

/// Words farther apart than this are unrelated.
const MAX_DISTANCE: usize = 12;

/// The maximum number of positions compared per word, and of bytes read: a log of a megabyte must not cost more than
/// the search.
const MAX_POSITIONS: usize = 64;
const MAX_BYTES: usize = 64 << 10;

/// The result of reading a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextCheck {
    /// The rarity of the words that are in query order, adjacent or nearly so.
    pub(crate) proximity: f32,
    /// Whether the text is only a question.
    pub(crate) is_question: bool,
}

pub(crate) fn check_text(
    text: &str,
    terms: &Terms,
    by_term: &FxHashMap<&str, Vec<(usize, f32)>>,
    rare: &[Rarity],
    scratch: &mut Scratch,
) -> TextCheck {
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); terms.words.len()];
    let mut tokens = Tokens::new(&text[..text.floor_char_boundary(MAX_BYTES)], scratch);
    let (mut nth, mut last) = (0, usize::MAX);
    while let Some(token) = tokens.advance() {
        // The parts of an identifier share its position.
        if token.place.start != last {
            nth += 1;
            last = token.place.start;
        }
        for (word, weight) in by_term.get(token.text).into_iter().flatten() {
            if *weight >= 0.5 && places[*word].len() < MAX_POSITIONS {
                places[*word].push(nth);
            }
        }
    }
    TextCheck { proximity: score_proximity(terms, rare, &places), is_question: is_question(text) }
}

/// Scores neighbours in the query that are neighbours in the text.
fn score_proximity(terms: &Terms, rare: &[Rarity], places: &[Vec<usize>]) -> f32 {
    let mut sum = 0.0;
    for at in 1..terms.words.len() {
        let (before, word) = (&terms.words[at - 1], &terms.words[at]);
        if before.intent != word.intent || word.related {
            continue;
        }
        if let Some(apart) = smallest_distance(&places[at - 1], &places[at]) {
            let weight = before.weight.min(word.weight) * rare[at - 1].messages.min(rare[at].messages);
            sum += weight / apart as f32;
        }
    }
    sum
}

/// The smallest distance of two words; the wrong order counts as one more.
fn smallest_distance(first: &[usize], second: &[usize]) -> Option<usize> {
    let distance = |one: &usize, other: &usize| {
        if other >= one { (other - one).max(1) } else { one - other + 1 }
    };
    let all = first.iter().flat_map(|one| second.iter().map(move |other| distance(one, other)));
    all.min().filter(|distance| *distance <= MAX_DISTANCE)
}

/// Whether a text ends in a question mark, or in a particle that makes a Chinese sentence a question.
fn is_question(text: &str) -> bool {
    let end = text.trim_end().trim_end_matches(['"', '”', '」', ')', '）']);
    end.ends_with(['?', '？', '吗', '呢'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognised_by_their_end() {
        for (text, expected) in
            [("Why?", true), ("为什么很卡？", true), ("修好了吗", true), ("Why? Because.", false)]
        {
            assert_eq!(is_question(text), expected, "{text}");
        }
    }

    #[test]
    fn the_smallest_distance_counts() {
        assert_eq!(smallest_distance(&[1, 40], &[20, 41]), Some(1));
        assert_eq!(smallest_distance(&[5], &[4]), Some(2));
        assert_eq!(smallest_distance(&[5], &[50]), None);
        assert_eq!(smallest_distance(&[], &[5]), None);
    }
}
