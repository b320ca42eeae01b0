//! Finds symbols by name, by part of a name or by several words, of all kinds or of one.
//!
//! Does not know what the words mean: `bind json` finds `bindJSON` and `JsonBinding`, not a parser.

use super::locate::{Located, NameResolution, locate};
use super::{Store, StoreError};
use crate::investigation::{split_words, strip_suffix};
use crate::symbol::{MatchKind, Symbol, SymbolIndex, TypeNames};
use crate::type_summary::{MemberSummary, TypeSummary};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use syntax::{MemberKind, TypeId, TypeKind};

/// How a word occurs in a name, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordMatch {
    /// In the name of the type or module around it.
    Around,
    /// Anywhere in its own name.
    Within,
    /// As the start of a word of its own name.
    Start,
    /// As a word of its own name.
    Whole,
}

impl Store {
    /// Finds symbols, best first: what the text names, then what it is a part of. `kind` is one of the names in
    /// [`is_of_kind`]; `recency` ranks equally good candidates.
    pub fn find_symbols(
        &self,
        text: &str,
        kind: Option<&str>,
        limit: usize,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<NameResolution, StoreError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut found = match words[..] {
            [name] => self.find_name(name, recency)?,
            _ => self.find_words(&words)?,
        };
        let mut kept = Vec::new();
        let mut summaries: BTreeMap<TypeId, Option<TypeSummary>> = BTreeMap::new();
        for (at, fit) in std::mem::take(&mut found.candidates) {
            if kept.len() >= limit {
                break;
            }
            let fits = match kind {
                None => true,
                Some(kind) => {
                    let summary = match summaries.entry(at.of) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => new.insert(self.type_summary(at.of)?),
                    };
                    summary.as_ref().is_some_and(|of| {
                        is_of_kind(kind, of, at.member.and_then(|member| of.members.get(member as usize)))
                    })
                }
            };
            if fits {
                kept.push((at, fit));
            }
        }
        found.resolved.retain(|at| kept.iter().any(|(kept, _)| kept == at));
        found.candidates = kept;
        Ok(found)
    }

    /// What a name refers to, then all names that contain it.
    fn find_name(&self, name: &str, recency: &dyn Fn(TypeId) -> u64) -> Result<NameResolution, StoreError> {
        let mut found = self.resolve_name(name, recency)?;
        let all = self.all_names()?;
        let similar = SymbolIndex::new(&all, recency).search_text(name, usize::MAX);
        let mut similar: Vec<(Located, MatchKind)> =
            similar.into_iter().map(|(symbol, fit)| (locate(&all, symbol), fit)).collect();
        // a name that is only similar says nothing where another contains the text, or the same one does: `NodeStor`
        if found.candidates.iter().chain(&similar).any(|(_, fit)| !is_near(*fit)) {
            found.candidates.retain(|(_, fit)| !is_near(*fit));
            similar.retain(|(_, fit)| !is_near(*fit));
        }
        let known: Vec<Located> = found.candidates.iter().map(|(at, _)| *at).collect();
        found.candidates.extend(similar.into_iter().filter(|(at, _)| !known.contains(at)));
        Ok(found)
    }

    /// The symbols whose names have most of the words, best first.
    fn find_words(&self, words: &[&str]) -> Result<NameResolution, StoreError> {
        let words: Vec<String> = words.iter().flat_map(|word| split_words(word)).collect();
        let all = self.all_names()?;
        let mut scored: Vec<(WordScore, String, Symbol)> = Vec::new();
        for (of, names) in all.iter().enumerate() {
            let around = split_words(&names.name);
            let own = score_name(&words, names.simple_name(), &around);
            scored
                .extend(own.map(|score| (score, names.name.clone(), Symbol { of: of as u32, member: None })));
            for (at, member) in names.members.iter().enumerate() {
                let symbol = Symbol { of: of as u32, member: Some(at as u32) };
                let score = score_name(&words, &member.name, &around);
                scored.extend(score.map(|score| (score, full_key(names, at), symbol)));
            }
        }
        let best = scored.iter().map(|(score, ..)| score.found).max().unwrap_or(0);
        // half of the words at least: one of five is a coincidence
        scored.retain(|(score, ..)| score.found == best && best * 2 > words.len());
        scored.sort_by(|one, other| (Reverse(one.0), &one.1).cmp(&(Reverse(other.0), &other.1)));
        let fit = if best == words.len() { MatchKind::Wildcard } else { MatchKind::Near(1) };
        let candidates = scored.into_iter().map(|(.., symbol)| (locate(&all, symbol), fit)).collect();
        Ok(NameResolution { candidates, ..NameResolution::default() })
    }
}

fn is_near(fit: MatchKind) -> bool {
    matches!(fit, MatchKind::Near(_))
}

fn full_key(names: &TypeNames, member: usize) -> String {
    format!("{}.{}", names.name, names.members[member].key)
}

/// How well a name has the words, best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WordScore {
    /// How many words it has at all.
    found: usize,
    /// The sum of how they occur.
    quality: usize,
    /// Words of the name that were not asked for, negated.
    others: Reverse<usize>,
}

/// `None` if its own name has none of the words: then something else in its type is meant.
fn score_name(words: &[String], name: &str, around: &[String]) -> Option<WordScore> {
    let own = split_words(name);
    let plain = name.to_lowercase();
    let matches: Vec<WordMatch> =
        words.iter().filter_map(|word| match_word(word, &own, &plain, around)).collect();
    let is_own = matches.iter().any(|it| *it > WordMatch::Around);
    is_own.then(|| WordScore {
        found: matches.len(),
        quality: matches.iter().map(|it| *it as usize).sum(),
        others: Reverse(own.len().saturating_sub(matches.len())),
    })
}

fn match_word(word: &str, own: &[String], plain: &str, around: &[String]) -> Option<WordMatch> {
    let stem = strip_suffix(word);
    let is_same = |part: &String| part == word || stem.len() > 2 && strip_suffix(part) == stem;
    if own.iter().any(is_same) {
        Some(WordMatch::Whole)
    } else if own.iter().any(|part| part.starts_with(word)) {
        Some(WordMatch::Start)
    } else if plain.contains(word) {
        Some(WordMatch::Within)
    } else {
        around.iter().any(is_same).then_some(WordMatch::Around)
    }
}

/// Whether a symbol is of a kind: the name of a kind, `type` for every type except modules, or `function` for methods too.
fn is_of_kind(kind: &str, of: &TypeSummary, member: Option<&MemberSummary>) -> bool {
    match (kind, member) {
        ("type", None) => of.kind != TypeKind::Module,
        ("function", Some(member)) => matches!(member.kind, MemberKind::Function | MemberKind::Method),
        (kind, None) => of.kind.name() == kind,
        (kind, Some(member)) => member.kind.name() == kind,
    }
}
