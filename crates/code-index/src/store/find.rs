//! Finds symbols by name, by part of a name or by several words, of all kinds or of one.
//!
//! Does not know what the words mean: `bind json` finds `bindJSON` and `JsonBinding`, not a parser.

use super::folders::FileFilter;
use super::locate::{Located, NameResolution, locate};
use super::{Store, StoreError};
use code::investigation::{split_words, strip_suffix};
use code::{MatchKind, Symbol, SymbolIndex, TypeNames};
use code::{MemberSummary, TypeSummary};
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
    /// Finds symbols, best first: what the text names, then what it is a part of. Words that no name has together are names of
    /// several symbols. `recency` ranks equally good candidates.
    pub fn find_symbols(
        &self,
        text: &str,
        wanted: SymbolFilter<'_>,
        limit: usize,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<NameResolution, StoreError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut found = match words[..] {
            [name] => self.find_name(name, recency)?,
            _ => self.find_words(&words)?,
        };
        if words.len() > 1 && found.candidates.iter().all(|(_, fit)| is_near(*fit)) {
            let each = self.find_each(&words, recency)?;
            found = if each.candidates.is_empty() { found } else { each };
        }
        let mut kept = Vec::new();
        let mut summaries: BTreeMap<TypeId, Option<TypeSummary>> = BTreeMap::new();
        for (at, fit) in std::mem::take(&mut found.candidates) {
            if kept.len() >= limit {
                break;
            }
            let fits = wanted.is_any() || {
                let summary = match summaries.entry(at.of) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(self.type_summary(at.of)?),
                };
                summary.as_ref().is_some_and(|of| wanted.accepts(of, at.member))
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
        if name.contains(['*', '?']) && found.candidates.len() > 1 {
            found.resolved.clear();
        }
        Ok(found)
    }

    /// What each of several names refers to, or if that is nothing, the names that contain it; in the order of the names.
    fn find_each(
        &self,
        names: &[&str],
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<NameResolution, StoreError> {
        let mut all = NameResolution::default();
        for name in names {
            let exact = self.resolve_name(name, recency)?;
            let is_known = exact.candidates.iter().any(|(_, fit)| !is_near(*fit));
            let found = if is_known { exact } else { self.find_name(name, recency)? };
            for (at, fit) in found.candidates.into_iter().filter(|(_, fit)| !is_near(*fit)) {
                if all.candidates.iter().all(|(known, _)| *known != at) {
                    all.candidates.push((at, fit));
                }
            }
        }
        Ok(all)
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

/// Which symbols are asked for.
#[derive(Clone, Copy, Default)]
pub struct SymbolFilter<'a> {
    /// One of the names in [`is_of_kind`].
    pub kind: Option<&'a str>,
    pub files: FileFilter<'a>,
}

impl SymbolFilter<'_> {
    fn is_any(&self) -> bool {
        self.kind.is_none() && self.files.under.is_empty() && !self.files.without_tests
    }

    fn accepts(&self, of: &TypeSummary, member: Option<u32>) -> bool {
        let member = member.and_then(|at| of.members.get(at as usize));
        let is_in_file = |file: &String| self.files.accepts(file);
        let is_here = match member {
            Some(member) => is_in_file(&of.files[member.range.file as usize]),
            None => of.files.iter().any(is_in_file),
        };
        is_here && self.kind.is_none_or(|kind| is_of_kind(kind, of, member))
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
