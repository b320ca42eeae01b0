//! Where in a session each word is said, so that "said before" and "said again" cost one lookup per word. Collecting the
//! words of all other turns for each candidate took 8 seconds for a session of 2,000 turns.
//!
//! Does not know what the words mean.

use super::Turn;
use super::sentence::Words;
use record::Role;
use std::collections::BTreeMap;

#[derive(Clone, Copy)]
struct Span {
    first: usize,
    /// The last turn of a person and of the agent.
    last_of: [Option<usize>; 2],
}

/// The first and last turns in which each word is said.
pub(crate) struct Mentions {
    spans: BTreeMap<String, Span>,
}

impl Mentions {
    pub(crate) fn new(turns: &[Turn<'_>]) -> Mentions {
        let mut spans: BTreeMap<String, Span> = BTreeMap::new();
        for (at, turn) in turns.iter().enumerate() {
            for word in &turn.words {
                let span = spans.entry(word.clone()).or_insert(Span { first: at, last_of: [None; 2] });
                span.last_of[side_of(turn.role)] = Some(at);
            }
        }
        Mentions { spans }
    }

    /// The share of the words that were said before a turn, in percent.
    pub(crate) fn share_before(&self, words: &Words, at: usize) -> u8 {
        self.share(words, |span| span.first < at)
    }

    /// The share of the words that are said after a turn, in percent.
    pub(crate) fn share_after(&self, words: &Words, at: usize) -> u8 {
        self.share(words, |span| span.last_of.iter().flatten().any(|last| *last > at))
    }

    /// The share of the words that one side says after a turn, in percent.
    pub(crate) fn share_after_by(&self, words: &Words, at: usize, role: Role) -> u8 {
        self.share(words, |span| span.last_of[side_of(role)].is_some_and(|last| last > at))
    }

    fn share(&self, words: &Words, is_said: impl Fn(&Span) -> bool) -> u8 {
        let said = words.iter().filter(|word| self.spans.get(*word).is_some_and(&is_said)).count();
        (said * 100).checked_div(words.len()).unwrap_or(0) as u8
    }
}

fn side_of(role: Role) -> usize {
    usize::from(role != Role::User)
}
