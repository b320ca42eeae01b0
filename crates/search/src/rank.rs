//! Which conversation is meant? Scores chats by all their words and by their best passage.
//!
//! Does not know where an occurrence comes from: it is handed counts.

use crate::query::Terms;
use crate::schema::{PARTS, Part};
use crate::sweep::{Count, Hit, Message, Place};

/// The numbers of the ranking, found by trying others on the benchmark set (`cargo xtask quality`).
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// What an occurrence counts for, by part.
    pub parts: [f32; PARTS],
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
    /// What words that stand close together add.
    pub together: f32,
    /// What a person's question loses: the answer is meant, not the one who asked.
    pub asked: f32,
    /// What a chat of the time that the query names gains, as a share of the query's rarity.
    pub dated: f32,
}

pub const TUNING: Tuning = Tuning {
    parts: [1.0, 0.9, 0.6, 2.0, 0.6, 0.6, 0.5],
    k1: 1.2,
    b: 0.5,
    passage_k1: 1.2,
    passage_b: 0.6,
    decay: 0.5,
    passage: 0.5,
    together: 0.3,
    asked: 0.15,
    dated: 0.1,
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

/// The rarity of all that was typed, and of what of it passes.
pub(crate) fn mass(terms: &Terms, rare: &[Rarity], mut passes: impl FnMut(usize) -> bool) -> f32 {
    let typed = terms.words.iter().zip(rare).enumerate().filter(|(_, (word, _))| !word.related);
    typed.filter(|(at, _)| passes(*at)).map(|(_, (word, rare))| word.weight * rare.messages).sum()
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
            let norm = 1.0 - tuning.passage_b + tuning.passage_b * (other.message.bytes / average).sqrt();
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
