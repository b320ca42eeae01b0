//! Finds what a session comes back to: words that both sides repeat, and the sentences made of them. A name or a summary
//! that is made of these says what the session was about, also if its first sentence does not.
//!
//! Does not know how often a word is used in other sessions.

use super::Talk;
use super::sentence::{Sentence, Words};
use crate::prose::is_han;
use record::Role;
use std::collections::BTreeMap;

/// The weight of each word: the number of turns it occurs in, if both sides use it or one insists.
pub(crate) struct Central {
    weights: BTreeMap<String, u32>,
}

impl Central {
    pub(crate) fn new(talk: &Talk) -> Central {
        let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for turn in &talk.turns {
            for word in &turn.words {
                let (person, agent) = counts.entry(word).or_default();
                *(if turn.role == Role::User { person } else { agent }) += 1;
            }
        }
        let repeated = counts
            .into_iter()
            .filter(|(_, (person, agent))| person + agent > 1 && person * agent + person > 1);
        Central {
            weights: repeated.map(|(word, (person, agent))| (word.to_string(), person + agent)).collect(),
        }
    }

    /// How much of the session the words stand for.
    pub(crate) fn weigh(&self, words: &Words) -> u32 {
        words.iter().filter_map(|word| self.weights.get(word)).sum()
    }

    /// The weight of a sentence in relation to its length: a long one repeats more words.
    pub(crate) fn density(&self, sentence: &Sentence) -> f32 {
        self.weigh(&sentence.words) as f32 / (sentence.words.len() as f32 + 4.0).sqrt()
    }

    /// The words with the most weight that a text lacks, as they are written in the session.
    pub(crate) fn missing_from(&self, text: &str, talk: &Talk, most: usize) -> Vec<String> {
        let low = text.to_lowercase();
        let mut missing: Vec<(&String, &u32)> = self
            .weights
            .iter()
            .filter(|(word, weight)| **weight >= MIN_TURNS && !low.contains(word.as_str()))
            .collect();
        missing.sort_by(|a, b| b.1.cmp(a.1).then(b.0.len().cmp(&a.0.len())).then(a.0.cmp(b.0)));
        let mut shown: Vec<String> = Vec::new();
        for (word, _) in missing {
            let form = find_form(talk, word);
            let overlaps = |other: &String| other.chars().any(|c| is_han(c) && form.contains(c));
            if form.chars().count() > 1 && !shown.iter().any(overlaps) {
                shown.push(form);
            }
            if shown.len() == most {
                break;
            }
        }
        shown
    }
}

/// A word that a name may end with occurs in at least this many turns.
const MIN_TURNS: u32 = 3;

/// The word as it is written first, whole: a stem has lost its ending.
fn find_form(talk: &Talk, word: &str) -> String {
    if word.chars().all(is_han) {
        return word.to_string();
    }
    let is_letter = |c: char| c.is_alphanumeric() && !is_han(c) || "_-.".contains(c);
    let texts = talk.turns.iter().flat_map(|turn| &turn.sentences).map(|sentence| sentence.text.as_str());
    let mut forms = texts.flat_map(|text| text.split(move |c: char| !is_letter(c)));
    let found = forms.find(|form| form.to_lowercase().starts_with(word) && form.len() < word.len() + 4);
    found.map_or_else(|| word.to_string(), |form| form.trim_matches(['.', '-', '_']).to_string())
}
