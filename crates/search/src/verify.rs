//! Do the words stand together, and is it said or asked? Read from the text of the few best, since the index keeps no
//! positions.
//!
//! Does not know more of a chat than the messages it is handed.

use crate::query::Terms;
use crate::rank::Rarity;
use crate::token::{Scratch, Tokens};
use rustc_hash::FxHashMap;

/// Words farther apart than this have nothing to do with each other.
const NEAR: usize = 12;

/// As many places of a word are compared, and so much of a text is read: a log of a megabyte must not cost more than
/// the search.
const MOST: usize = 64;
const BYTES: usize = 64 << 10;

/// What a text shows when it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    /// The rarity of the words that stand as they do in the query, next to each other or nearly.
    pub(crate) together: f32,
    /// Nothing but a question.
    pub(crate) asks: bool,
}

pub(crate) fn read(
    text: &str,
    terms: &Terms,
    by_term: &FxHashMap<&str, Vec<(usize, f32)>>,
    rare: &[Rarity],
    scratch: &mut Scratch,
) -> Read {
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); terms.words.len()];
    let mut tokens = Tokens::new(&text[..text.floor_char_boundary(BYTES)], scratch);
    let (mut nth, mut last) = (0, usize::MAX);
    while let Some(token) = tokens.advance() {
        // The parts of an identifier stand where it stands.
        if token.place.start != last {
            nth += 1;
            last = token.place.start;
        }
        for (word, weight) in by_term.get(token.text).into_iter().flatten() {
            if *weight >= 0.5 && places[*word].len() < MOST {
                places[*word].push(nth);
            }
        }
    }
    Read { together: together(terms, rare, &places), asks: asks(text) }
}

/// Neighbours in the query that are neighbours in the text.
fn together(terms: &Terms, rare: &[Rarity], places: &[Vec<usize>]) -> f32 {
    let mut sum = 0.0;
    for at in 1..terms.words.len() {
        let (before, word) = (&terms.words[at - 1], &terms.words[at]);
        if before.intent != word.intent || word.related {
            continue;
        }
        if let Some(apart) = apart(&places[at - 1], &places[at]) {
            let weight = before.weight.min(word.weight) * rare[at - 1].messages.min(rare[at].messages);
            sum += weight / apart as f32;
        }
    }
    sum
}

/// How far two words are apart where they are nearest; in the wrong order it counts as one farther.
fn apart(first: &[usize], second: &[usize]) -> Option<usize> {
    let distance = |one: &usize, other: &usize| {
        if other >= one { (other - one).max(1) } else { one - other + 1 }
    };
    let all = first.iter().flat_map(|one| second.iter().map(move |other| distance(one, other)));
    all.min().filter(|distance| *distance <= NEAR)
}

/// A text that ends in a question mark, or in the particle that makes a Chinese sentence one.
fn asks(text: &str) -> bool {
    let end = text.trim_end().trim_end_matches(['"', '”', '」', ')', '）']);
    end.ends_with(['?', '？', '吗', '呢'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_by_their_end() {
        for (text, asked) in
            [("Why?", true), ("为什么很卡？", true), ("修好了吗", true), ("Why? Because.", false)]
        {
            assert_eq!(asks(text), asked, "{text}");
        }
    }

    #[test]
    fn words_are_together_where_they_are_nearest() {
        assert_eq!(apart(&[1, 40], &[20, 41]), Some(1));
        assert_eq!(apart(&[5], &[4]), Some(2));
        assert_eq!(apart(&[5], &[50]), None);
        assert_eq!(apart(&[], &[5]), None);
    }
}
