//! Investigations: ranks the symbols that may answer a question about a codebase.
//!
//! Does not understand the question: it matches its words against names.

use crate::symbol::TypeNames;
use std::collections::BTreeMap;
use syntax::Visibility;

/// Stop words: they do not narrow down which code is meant.
#[rustfmt::skip] // a table
const STOP_WORDS: &[&str] = &[
    "the", "and", "for", "how", "are", "does", "what", "where", "which", "who", "why", "when", "with", "from", "that", "this",
    "these", "those", "into", "can", "could", "should", "would", "will", "all", "any", "has", "have", "had", "not", "but", "its",
    "our", "you", "your", "they", "them", "there", "then", "than", "was", "were", "been", "being", "about", "code", "class",
    "classes", "type", "types", "method", "methods", "function", "functions", "work", "works", "happen", "happens", "use",
    "used", "uses", "using", "get", "gets", "set", "sets", "one", "two", "some", "each", "other", "between", "did", "done",
];

/// The search terms of a question, without duplicates and stop words.
pub fn search_terms(question: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in question.split(|c: char| !c.is_alphanumeric()).flat_map(split_words) {
        let is_new = !found.contains(&word);
        if is_new && is_long_enough(&word) && !STOP_WORDS.contains(&word.as_str()) {
            found.push(word);
        }
    }
    found
}

/// In most scripts, two letters are too short for a search term; in Chinese they are not.
fn is_long_enough(word: &str) -> bool {
    word.chars().count() > if word.contains(is_unspaced_script) { 1 } else { 2 }
}

/// Scripts without spaces between words: Chinese, Japanese, and Korean as used in names.
fn is_unspaced_script(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// Splits `NodeStore`, `node_store` and `HTTPServer2` into words.
pub fn split_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut found = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || after.is_some_and(|after| after.is_lowercase())
            });
        let turns = before.is_some_and(|before| {
            before.is_ascii_digit() != letter.is_ascii_digit()
                || is_unspaced_script(before) != is_unspaced_script(*letter)
        });
        if !letter.is_alphanumeric() || begins || turns {
            found.push(String::new());
        }
        if let Some(word) = found.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// Strips common English suffixes.
pub fn strip_suffix(word: &str) -> &str {
    let ends = ["ations", "ation", "ings", "ing", "ies", "ers", "er", "ed", "es", "s", "y"];
    ends.iter().find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() > 2)).unwrap_or(word)
}

fn matches_word(part: &str, word: &str) -> bool {
    part == word
        || strip_suffix(part) == strip_suffix(word)
        || contains_unspaced(word, part)
        || contains_unspaced(part, word)
        || word.len() > 3 && part.starts_with(strip_suffix(word)) && strip_suffix(word).len() > 3
}

/// Substring match for scripts without spaces: `客户` in `客户在哪里保存`.
fn contains_unspaced(whole: &str, part: &str) -> bool {
    part.contains(is_unspaced_script) && is_long_enough(part) && whole.contains(part)
}

/// The weight of a match in a type's own name, in its members' names, and in the enclosing namespaces and types. The weight of
/// the own name is so high that a word shared by three types (a factor of 0.48) still outweighs that word and a rarer one in
/// members.
const NAME_WEIGHTS: [f64; 3] = [7.0, 2.0, 0.5];
/// Factor for private types: they say less about how something is done; an alias within a file is not the answer.
const PRIVATE_FACTOR: f64 = 0.5;
/// The part of a name's weight that does not depend on the other words in the name: `Masker` is masking and nothing else,
/// `MaskedPrompt` is a prompt.
const BASE_SHARE: f64 = 0.7;

/// Ranks the types whose names, or whose members' names, contain words of a question, best first. A word is weighted by how rare
/// it is in the same kind of name or a stronger one: that all types of a crate called `mask` contain it in their path does not
/// make it common in type names, and a word in a member's name is not rare if types are called that.
pub fn rank_types(words: &[String], types: &[TypeNames]) -> Vec<usize> {
    let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
    let named: Vec<NameWords> = types.iter().map(NameWords::from_names).collect();
    for word in words {
        let met: Vec<[f64; 3]> = named.iter().map(|parts| parts.match_word(word)).collect();
        for (place, worth) in NAME_WEIGHTS.iter().enumerate() {
            let many = met.iter().filter(|fit| fit[..=place].iter().any(|it| *it > 0.0)).count();
            let weight = 1.0 / (1.0 + (many.max(1) as f64).ln());
            for (at, fit) in met.iter().enumerate().filter(|(_, fit)| fit[place] > 0.0) {
                *scores.entry(at).or_default() += fit[place] * worth * weight * named[at].factor;
            }
        }
    }
    let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
    found.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(types[*one].name.cmp(&types[*other].name)));
    found.into_iter().map(|(at, _)| at).collect()
}

struct NameWords {
    own: Vec<String>,
    members: Vec<String>,
    enclosing: Vec<String>,
    factor: f64,
}

impl NameWords {
    fn from_names(named: &TypeNames) -> NameWords {
        let simple = named.simple_name();
        let around = named.name.strip_suffix(simple).unwrap_or("");
        let members = named.members.iter().flat_map(|member| split_words(&member.name)).collect();
        let standing = if named.visibility >= Visibility::PrivateProtected { PRIVATE_FACTOR } else { 1.0 };
        NameWords { own: split_words(simple), members, enclosing: split_words(around), factor: standing }
    }

    /// How well a word matches each kind of name in `NAME_WEIGHTS`, from 0 to 1.
    fn match_word(&self, word: &str) -> [f64; 3] {
        let has = |list: &[String]| list.iter().filter(|part| matches_word(part, word)).count();
        let some = |list: &[String]| if has(list) > 0 { 1.0 } else { 0.0 };
        let share = has(&self.own) as f64 / self.own.len().max(1) as f64;
        [
            some(&self.own) * (BASE_SHARE + (1.0 - BASE_SHARE) * share),
            some(&self.members),
            some(&self.enclosing),
        ]
    }
}
