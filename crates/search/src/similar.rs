//! Finds words in the index that are nearly equal to those of a query: misspelled ones, and longer ones with the same
//! beginning.
//!
//! Does not know what a word means: for related words see `related`.

use crate::error::Error;
use crate::index::Index;
use crate::query::{Form, Terms, Word, is_single_cjk};
use crate::schema::Part;
use crate::token::{Kind, Scratch, Tokens};
use crate::writer::Doc;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tantivy::Term;
use tantivy::query::FuzzyTermQuery;
use tantivy::termdict::TermDictionary;

/// The maximum number of forms per word, the nearest and then the most frequent.
const MAX_FORMS: usize = 24;
/// The forms that are named to the reader in place of a misspelt word.
const MAX_NAMED: usize = 2;
/// The weight of a form by edit distance, and of a longer word with the same beginning.
const DISTANCE_WEIGHTS: [f32; 3] = [1.0, 0.6, 0.35];
const LONGER_WEIGHT: f32 = 0.3;
/// The weight of a stem that begins the word: stemming does not find the stem of a misspelled word.
const SHORTER_WEIGHT: f32 = 0.4;
/// The maximum length of an ending, and the minimum length of a stem.
const MAX_ENDING: usize = 4;
const MIN_STEM: usize = 4;

/// The allowed edit distance: none in a short word, where every neighbour is another word.
fn max_distance(term: &str) -> u8 {
    match term.chars().count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// Adds nearly equal forms to every word of a query.
pub(crate) fn add_similar_forms(
    index: Option<&Index>,
    extra: &[Doc],
    terms: &mut Terms,
) -> Result<(), Error> {
    let all: Vec<usize> = (0..terms.words.len()).collect();
    add_forms(index, extra, terms, &all)
}

/// Adds nearly equal forms to the words at these indexes; returns each word as typed with the best of them.
pub(crate) fn correct_words(
    index: Option<&Index>,
    extra: &[Doc],
    terms: &mut Terms,
    wrong: &[usize],
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let known: Vec<usize> = wrong.iter().map(|at| terms.words[*at].forms.len()).collect();
    add_forms(index, extra, terms, wrong)?;
    let describe = |(at, known): (&usize, &usize)| {
        let (typed, added) = terms.words[*at].forms.split_at(*known);
        let typed = typed.last().map_or_else(String::new, |form| form.term.clone());
        (typed, added.iter().take(MAX_NAMED).map(|form| form.term.clone()).collect())
    };
    Ok(wrong.iter().zip(&known).map(describe).collect())
}

fn add_forms(index: Option<&Index>, extra: &[Doc], terms: &mut Terms, words: &[usize]) -> Result<(), Error> {
    let added = try_add_forms(index, extra, terms, words);
    added.map_err(|error| {
        index.map_or_else(|| Error::damaged("".as_ref(), &error), |index| index.engine_error(&error))
    })
}

fn try_add_forms(
    index: Option<&Index>,
    extra: &[Doc],
    terms: &mut Terms,
    words: &[usize],
) -> tantivy::Result<()> {
    let known = index.map(open_dictionaries).transpose()?;
    let handed = count_terms(extra, terms.plain);
    let is_meant = |(at, word): &(usize, &mut Word)| words.contains(at) && word.kind != Kind::Cjk;
    for (_, word) in terms.words.iter_mut().enumerate().filter(is_meant) {
        let mut found: FxHashMap<String, (f32, u32)> = FxHashMap::default();
        for term in word.forms.iter().map(|form| form.term.as_str()) {
            for inverted in known.iter().flatten() {
                collect_similar(inverted.terms(), term, &mut found)?;
            }
            for (other, frequency) in &handed {
                if let Some(weight) = similarity_weight(term, other) {
                    add_similar(&mut found, other, weight, *frequency);
                }
            }
        }
        keep_best(word, found);
    }
    Ok(())
}

/// A single CJK character is indexed only where it occurs alone, so the pairs that contain it are added as forms.
pub(crate) fn add_pairs(index: Option<&Index>, terms: &mut Terms) -> Result<(), Error> {
    let Some(index) = index else { return Ok(()) };
    for word in terms.words.iter_mut().filter(|word| is_single_cjk(word)) {
        let mut found: FxHashMap<String, (f32, u32)> = FxHashMap::default();
        let known = open_dictionaries(index).map_err(|error| index.engine_error(&error))?;
        for inverted in &known {
            // All CJK terms, beginning with the first kana.
            let stream = inverted.terms().range().ge("\u{3040}").into_stream();
            let mut stream = stream.map_err(|error| index.engine_error(&error.into()))?;
            while let Some((key, info)) = stream.next() {
                let pair = std::str::from_utf8(key).ok();
                if let Some(pair) = pair.filter(|pair| pair.contains(word.forms[0].term.as_str())) {
                    add_similar(&mut found, pair, 1.0, info.doc_freq);
                }
            }
        }
        keep_best(word, found);
    }
    Ok(())
}

type Dictionaries = Vec<std::sync::Arc<tantivy::InvertedIndexReader>>;

fn open_dictionaries(index: &Index) -> tantivy::Result<Dictionaries> {
    let fields = Part::ALL.map(|part| index.fields.parts[part as usize]);
    index.segments.iter().flat_map(|segment| fields.map(|field| segment.inverted_index(field))).collect()
}

fn count_terms(extra: &[Doc], plain: bool) -> FxHashMap<String, u32> {
    let mut found = FxHashMap::default();
    let mut scratch = Scratch::without_stems(plain);
    for doc in extra {
        let mut tokens = Tokens::new(doc.text, &mut scratch);
        while let Some(token) = tokens.advance() {
            *found.entry(token.text.to_owned()).or_default() += 1;
        }
    }
    found
}

fn collect_similar(
    terms: &TermDictionary,
    term: &str,
    found: &mut FxHashMap<String, (f32, u32)>,
) -> tantivy::Result<()> {
    let mut note = |key: &[u8], frequency: u32| {
        if let Some((other, weight)) =
            std::str::from_utf8(key).ok().and_then(|other| Some((other, similarity_weight(term, other)?)))
        {
            add_similar(found, other, weight, frequency);
        }
    };
    let distance = max_distance(term);
    if distance > 0 {
        // The field of the term does not matter: only its automaton is used.
        let query = FuzzyTermQuery::new(
            Term::from_field_text(tantivy::schema::Field::from_field_id(0), term),
            distance,
            true,
        );
        let mut stream = terms.search(query.automaton()?).into_stream()?;
        while let Some((key, info)) = stream.next() {
            note(key, info.doc_freq);
        }
    }
    for (at, _) in term.char_indices().skip(MIN_STEM) {
        if at + MAX_ENDING >= term.len()
            && let Some(info) = terms.get(&term[..at])?
        {
            note(&term.as_bytes()[..at], info.doc_freq);
        }
    }
    if term.chars().count() >= 3 {
        let end = [term.as_bytes(), &[0xff]].concat();
        let mut stream = terms.range().ge(term).lt(end).into_stream()?;
        let mut left = MAX_FORMS * 8;
        while let Some((key, info)) = stream.next() {
            note(key, info.doc_freq);
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    Ok(())
}

fn add_similar(found: &mut FxHashMap<String, (f32, u32)>, term: &str, weight: f32, frequency: u32) {
    let entry = found.entry(term.to_owned()).or_default();
    *entry = (entry.0.max(weight), entry.1 + frequency);
}

fn keep_best(word: &mut Word, found: FxHashMap<String, (f32, u32)>) {
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|(a, x), (b, y)| y.0.total_cmp(&x.0).then(y.1.cmp(&x.1)).then(a.cmp(b)));
    for (term, (weight, _)) in found.into_iter().take(MAX_FORMS) {
        if word.forms.iter().all(|form| form.term != term) {
            word.forms.push(Form { term, weight });
        }
    }
}

/// The weight of another word in place of this one; `None` if it is not near.
fn similarity_weight(term: &str, other: &str) -> Option<f32> {
    if let Some(distance) = edit_distance(term, other, usize::from(max_distance(term))) {
        return Some(DISTANCE_WEIGHTS[distance.min(2)]);
    }
    if term.chars().count() >= 3 && other.starts_with(term) {
        return Some(LONGER_WEIGHT);
    }
    let shorter =
        other.len() >= MIN_STEM && other.len() + MAX_ENDING >= term.len() && term.starts_with(other);
    shorter.then_some(SHORTER_WEIGHT)
}

/// The number of letters removed, added, changed or swapped, if at most `most`.
fn edit_distance(one: &str, other: &str, most: usize) -> Option<usize> {
    if one.chars().count().abs_diff(other.chars().count()) > most {
        return None;
    }
    Some(strsim::osa_distance(one, other)).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_are_bounded() {
        for (one, other, apart) in [
            ("cache", "cache", Some(0)),
            ("cache", "cahce", Some(1)),
            ("cache", "cach", Some(1)),
            ("tantivy", "tanitvi", Some(2)),
            ("cache", "queue", None),
            ("", "ab", Some(2)),
        ] {
            assert_eq!(edit_distance(one, other, 2), apart, "{one} {other}");
        }
    }

    #[test]
    fn short_words_have_no_neighbours() {
        assert_eq!(similarity_weight("css", "cs"), None);
        assert_eq!(similarity_weight("css", "cssom"), Some(LONGER_WEIGHT));
        assert_eq!(similarity_weight("cache", "cahce"), Some(0.6));
        assert_eq!(similarity_weight("evicton", "evict"), Some(SHORTER_WEIGHT));
        assert_eq!(similarity_weight("evicton", "evi"), None);
    }
}
