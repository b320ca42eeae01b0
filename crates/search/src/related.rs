//! Finds related words: from a small vocabulary, and from co-occurrence in the user's own conversations.
//!
//! Does not know spelling: for nearly equal words see `near`.

use crate::fold::is_cjk;
use crate::token::{Kind, Scratch, Tokens};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Groups of words, and for each word the groups that contain it.
struct Vocabulary {
    groups: Vec<Vec<&'static str>>,
    /// By its tokens, joined by a space.
    latin: FxHashMap<String, Vec<usize>>,
    /// As written: Chinese words are searched within the query.
    cjk: Vec<(&'static str, usize)>,
    longest: usize,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let lines = include_str!("vocabulary.txt").lines().filter(|line| !line.starts_with('#'));
    let groups: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    let mut vocabulary =
        Vocabulary { groups: Vec::new(), latin: FxHashMap::default(), cjk: Vec::new(), longest: 1 };
    for (group, words) in groups.iter().enumerate() {
        for word in words {
            if word.starts_with(is_cjk) {
                vocabulary.cjk.push((word, group));
            } else {
                let key = index_terms(&word.replace('_', " "));
                vocabulary.longest = vocabulary.longest.max(key.len());
                vocabulary.latin.entry(key.join(" ")).or_default().push(group);
            }
        }
    }
    vocabulary.groups = groups;
    vocabulary
});

/// The terms of a phrase as indexed, without the parts of identifiers.
fn index_terms(text: &str) -> Vec<String> {
    let mut scratch = Scratch::default();
    let mut tokens = Tokens::new(text, &mut scratch);
    let mut found = Vec::new();
    while let Some(token) = tokens.advance() {
        if matches!(token.kind, Kind::Word | Kind::Whole) {
            found.push(token.text.to_owned());
        }
    }
    found
}

/// The vocabulary words in a phrase, with their synonyms.
pub(crate) fn find_synonyms(phrase: &str) -> BTreeMap<String, Vec<String>> {
    let vocabulary = &*VOCABULARY;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let words = index_terms(phrase);
    for from in 0..words.len() {
        for to in from + 1..=words.len().min(from + vocabulary.longest) {
            let key = words[from..to].join(" ");
            for group in vocabulary.latin.get(&key).into_iter().flatten() {
                add_group(&mut found, &vocabulary.groups[*group], |word| {
                    index_terms(&word.replace('_', " ")).join(" ") == key
                });
            }
        }
    }
    let named: Vec<_> = vocabulary.cjk.iter().filter(|(word, _)| phrase.contains(word)).collect();
    for (word, group) in &named {
        // 虚拟列表 is meant, not 列表.
        let within = named.iter().any(|(longer, _)| longer.len() > word.len() && longer.contains(word));
        if !within {
            add_group(&mut found, &vocabulary.groups[*group], |other| other == *word);
        }
    }
    found
}

/// Adds a group under its word that occurs in the phrase.
fn add_group(found: &mut BTreeMap<String, Vec<String>>, group: &[&str], occurs: impl Fn(&str) -> bool) {
    let Some(word) = group.iter().find(|word| occurs(word)) else { return };
    let others = found.entry(word.replace('_', " ")).or_default();
    for other in group.iter().filter(|other| !occurs(other)) {
        let other = other.replace('_', " ");
        if !others.contains(&other) {
            others.push(other);
        }
    }
}

/// The maximum number of words learned from the user's texts.
const MAX_LEARNED: usize = 4;

/// The words that occur in several of the best hits and rarely elsewhere, as they are written there. `frequency`
/// returns in how many of `all` messages a term occurs.
pub(crate) fn learn_related(
    texts: &[String],
    known: &FxHashSet<String>,
    all: u64,
    plain: bool,
    mut frequency: impl FnMut(&str) -> u64,
) -> Vec<String> {
    let mut seen: FxHashMap<String, (u32, String)> = FxHashMap::default();
    let mut scratch = Scratch::without_stems(plain);
    for text in texts {
        let mut once = FxHashSet::default();
        let mut tokens = Tokens::new(text, &mut scratch);
        while let Some(token) = tokens.advance() {
            let is_candidate =
                token.kind != Kind::Piece && token.text.len() >= 4 && !crate::query::is_stop(token.text);
            if is_candidate && !known.contains(token.text) && once.insert(token.text.to_owned()) {
                let written = text[token.place.clone()].to_owned();
                seen.entry(token.text.to_owned()).or_insert((0, written)).0 += 1;
            }
        }
    }
    let mut scored: Vec<(f32, String)> = Vec::new();
    for (term, (times, written)) in seen.into_iter().filter(|(_, (times, _))| *times >= 2) {
        let rare = (all as f32 / (1.0 + frequency(&term) as f32)).ln();
        if rare > 2.0 {
            scored.push((times as f32 * rare, written));
        }
    }
    scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
    scored.into_iter().take(MAX_LEARNED).map(|(_, written)| written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_are_found_in_the_vocabulary() {
        let found = find_synonyms("虚拟列表滚动很卡");
        assert!(found["虚拟列表"].contains(&"virtual list".to_owned()));
        assert!(found["很卡"].contains(&"stutter".to_owned()));
        assert!(!found.contains_key("列表"));
        let found = find_synonyms("the Virtual List is lagging");
        assert!(found["virtual list"].contains(&"虚拟滚动".to_owned()));
        assert!(found["lag"].contains(&"卡顿".to_owned()));
        assert!(find_synonyms("xyzzy").is_empty());
    }

    #[test]
    fn words_are_learned_from_the_best_hits() {
        let texts = ["the frobnicator uses a glorp", "glorp again, with the frobnicator", "something else"];
        let known = FxHashSet::from_iter(["frobnic".to_owned()]);
        let texts: Vec<String> = texts.map(str::to_owned).to_vec();
        let learned =
            learn_related(&texts, &known, 1000, false, |term| if term == "glorp" { 2 } else { 900 });
        assert_eq!(learned, ["glorp"]);
    }
}
