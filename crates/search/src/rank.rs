//! Scores chats by all their words and by their best passage.
//!
//! Does not know where an occurrence comes from: it receives counts.

use crate::occurrences::{MessageInfo, Occurrence, Place, WordCount};
use crate::query::Terms;
use crate::schema::{PARTS, Part};

/// The parameters of the ranking, tuned on the benchmark set (`cargo xtask quality`).
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The weight of an occurrence, by part.
    pub parts: [f32; PARTS],
    /// Saturation and length normalisation for a whole chat.
    pub k1: f32,
    pub b: f32,
    /// The same for a passage.
    pub passage_k1: f32,
    pub passage_b: f32,
    /// The weight of a neighbouring message in a passage.
    pub decay: f32,
    /// The share of the passage in the score.
    pub passage: f32,
    /// The bonus for words that are close together.
    pub proximity_bonus: f32,
    /// The penalty for a user's question: the answer is wanted, not the message with the question.
    pub question_penalty: f32,
    /// The bonus for a chat from the time that the query names, as a share of the query's rarity.
    pub date_bonus: f32,
}

pub const TUNING: Tuning = Tuning {
    parts: [1.0, 0.9, 0.6, 2.0, 0.6, 0.6, 0.5],
    k1: 1.2,
    b: 0.5,
    passage_k1: 1.2,
    passage_b: 0.6,
    decay: 0.5,
    passage: 0.5,
    proximity_bonus: 0.3,
    question_penalty: 0.15,
    date_bonus: 0.1,
};

/// The number of messages on both sides that belong to a passage.
const PASSAGE_REACH: u64 = 2;

/// A message with the query words it contains.
#[derive(Clone, Debug)]
pub(crate) struct MatchedMessage {
    pub(crate) place: Place,
    pub(crate) part: Part,
    pub(crate) message: MessageInfo,
    /// Word and weighted count.
    pub(crate) words: Vec<(u16, f32)>,
    pub(crate) score: f32,
}

/// The rarity of a word: among chats, and among messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rarity {
    pub(crate) chats: f32,
    pub(crate) messages: f32,
}

pub(crate) fn word_rarity(count: &WordCount, chats: usize, messages: u64) -> Rarity {
    let idf = |all: f32, with: f32| (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
    Rarity {
        chats: idf(chats as f32, count.chats as f32),
        messages: idf(messages as f32, count.messages as f32),
    }
}

/// BM25 over the whole chat, with occurrences weighted by part.
pub(crate) fn chat_score(
    tuning: &Tuning,
    terms: &Terms,
    counts: &[WordCount],
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

/// The total rarity of the typed words that pass.
pub(crate) fn total_rarity(terms: &Terms, rare: &[Rarity], mut passes: impl FnMut(usize) -> bool) -> f32 {
    let typed = terms.words.iter().zip(rare).enumerate().filter(|(_, (word, _))| !word.related);
    typed.filter(|(at, _)| passes(*at)).map(|(_, (word, rare))| word.weight * rare.messages).sum()
}

/// The best message first; of equal ones the earliest. Their place in the index depends on what was indexed before.
pub(crate) fn compare_messages(a: &MatchedMessage, b: &MatchedMessage) -> std::cmp::Ordering {
    let position = |matched: &MatchedMessage| (matched.message.at, matched.message.turn, matched.place);
    b.score.total_cmp(&a.score).then_with(|| position(a).cmp(&position(b)))
}

/// Groups the occurrences in one chat by message, in order.
pub(crate) fn group_by_message(
    tuning: &Tuning,
    hits: &[Occurrence],
    mut message: impl FnMut(Place) -> MessageInfo,
) -> Vec<MatchedMessage> {
    let mut found: Vec<MatchedMessage> = Vec::new();
    for hit in hits {
        let times = hit.times * tuning.parts[hit.part as usize];
        match found.last_mut().filter(|last| last.place == hit.place) {
            Some(last) => match last.words.last_mut().filter(|(word, _)| *word == hit.word) {
                Some((_, sum)) => *sum += times,
                None => last.words.push((hit.word, times)),
            },
            None => found.push(MatchedMessage {
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

/// Scores every message together with its neighbours; returns the best score.
pub(crate) fn score_passages(
    tuning: &Tuning,
    terms: &Terms,
    rare: &[Rarity],
    messages: &mut [MatchedMessage],
    average: f32,
) -> f32 {
    let mut best: f32 = 0.0;
    let mut strength = vec![0.0; terms.words.len()];
    for at in 0..messages.len() {
        strength.fill(0.0);
        let middle = messages[at].message.turn;
        let from = messages[..at]
            .iter()
            .rposition(|other| other.message.turn + PASSAGE_REACH < middle)
            .map_or(0, |p| p + 1);
        let near = messages[from..].iter().take_while(|other| other.message.turn <= middle + PASSAGE_REACH);
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
