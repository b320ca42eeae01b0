//! Which conversation is meant? Scores chats by all their words and by their best passage.
//!
//! Does not know where an occurrence comes from: it is handed counts.

use crate::query::Terms;
use crate::schema::Part;
use crate::sweep::{Count, Hit, Message, Place};

/// The numbers of the ranking, found by trying on the benchmark set; `cargo xtask quality --tune` tries others.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// What an occurrence counts for, by part.
    pub parts: [f32; 4],
    /// Saturation and length in a whole chat.
    pub k1: f32,
    pub b: f32,
    /// The same in a passage.
    pub passage_k1: f32,
    pub passage_b: f32,
    /// What a neighbouring message counts for in a passage.
    pub decay: f32,
    /// The passage's share of the score.
    pub passage: f32,
    /// How much a chat suffers from words it does not have.
    pub coverage: f32,
    /// What words that stand close together add.
    pub proximity: f32,
    pub more: [f32; 8],
}

pub const TUNING: Tuning = Tuning {
    parts: [1.0, 0.9, 0.4, 2.0],
    k1: 1.2,
    b: 0.5,
    passage_k1: 1.2,
    passage_b: 0.3,
    decay: 0.5,
    passage: 0.5,
    coverage: 0.5,
    proximity: 0.3,
    more: [0.0; 8],
};

/// How far a passage reaches on both sides of its middle.
const REACH: u32 = 2;

/// A message and what of the query it holds.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    pub(crate) place: Place,
    pub(crate) part: Part,
    pub(crate) message: Message,
    /// Word and weighed count.
    pub(crate) words: Vec<(u16, f32)>,
    pub(crate) score: f32,
}

/// A word's rarity: among chats, and among messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rarity {
    pub(crate) chats: f32,
    pub(crate) messages: f32,
}

pub(crate) fn rarity(count: &Count, chats: usize, messages: u64) -> Rarity {
    let idf = |all: f32, with: f32| (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
    Rarity {
        chats: idf(chats as f32, count.chats as f32),
        messages: idf(messages as f32, count.messages as f32),
    }
}

/// BM25 over the whole chat, with an occurrence weighed by who said it.
pub(crate) fn chat_score(
    tuning: &Tuning,
    terms: &Terms,
    counts: &[Count],
    rare: &[Rarity],
    slot: usize,
    norm: f32,
) -> f32 {
    let mut score = 0.0;
    for ((word, count), rare) in terms.words.iter().zip(counts).zip(rare) {
        let Some(times) = count.times.get(slot) else { continue };
        let times: f32 = times.iter().zip(tuning.parts).map(|(times, weight)| times * weight).sum();
        score += word.weight * rare.chats * times / (times + tuning.k1 * norm);
    }
    score
}

/// The share of a query's rarity that a chat has at all.
pub(crate) fn coverage(terms: &Terms, counts: &[Count], rare: &[Rarity], slot: usize) -> f32 {
    let (mut has, mut all) = (0.0, 0.0);
    for ((word, count), rare) in
        terms.words.iter().zip(counts).zip(rare).filter(|((word, _), _)| !word.related)
    {
        let weight = word.weight * rare.messages;
        all += weight;
        if count.times.get(slot).is_some_and(|times| times.iter().any(|times| *times > 0.0)) {
            has += weight;
        }
    }
    if all > 0.0 { has / all } else { 0.0 }
}

/// Joins the occurrences of one chat to messages, in their order.
pub(crate) fn join(tuning: &Tuning, hits: &[Hit], mut message: impl FnMut(Place) -> Message) -> Vec<Matched> {
    let mut found: Vec<Matched> = Vec::new();
    for hit in hits {
        let times = hit.times * tuning.parts[hit.part as usize];
        match found.last_mut().filter(|last| last.place == hit.place) {
            Some(last) => match last.words.last_mut().filter(|(word, _)| *word == hit.word) {
                Some((_, held)) => *held += times,
                None => last.words.push((hit.word, times)),
            },
            None => found.push(Matched {
                place: hit.place,
                part: hit.part,
                message: message(hit.place),
                words: vec![(hit.word, times)],
                score: 0.0,
            }),
        }
    }
    found.sort_by_key(|matched| (matched.message.turn, matched.place));
    found
}

/// Scores every message with its neighbours; returns the best.
pub(crate) fn passages(
    tuning: &Tuning,
    terms: &Terms,
    rare: &[Rarity],
    messages: &mut [Matched],
    average: f32,
) -> f32 {
    let mut best: f32 = 0.0;
    let mut strength = vec![0.0; terms.words.len()];
    for at in 0..messages.len() {
        strength.fill(0.0);
        let middle = messages[at].message.turn;
        let from =
            messages[..at].iter().rposition(|other| other.message.turn + REACH < middle).map_or(0, |p| p + 1);
        let near = messages[from..].iter().take_while(|other| other.message.turn <= middle + REACH);
        for other in near {
            let decay = tuning.decay.powi(other.message.turn.abs_diff(middle) as i32);
            let norm = 1.0 - tuning.passage_b + tuning.passage_b * other.message.bytes / average;
            for (word, times) in &other.words {
                strength[*word as usize] += decay * times / norm;
            }
        }
        let words = terms.words.iter().zip(rare).zip(&strength);
        let score: f32 = words
            .map(|((word, rare), strength)| {
                word.weight * rare.messages * strength / (strength + tuning.passage_k1)
            })
            .sum();
        messages[at].score = score;
        best = best.max(score);
    }
    best
}
