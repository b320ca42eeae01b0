//! Finds secrets in text and replaces them with typed placeholders.
//!
//! Does not know where the text comes from or where it goes.
//!
//! Rules find what has a form of its own: tokens of vendors (`rules`), values assigned to names (`assignment`), some
//! commands and statements (`context`), passwords in addresses (`address`), keys that span lines (`block`). Where only a
//! word nearby announces a secret (`cues`), the value and its surroundings are described as numbers (`evidence`, with
//! `tokens`, `shape` and `line`), and small trees that were trained on examples decide (`classifier`).
//!
//! Known misses: secrets without a word that announces them, passphrases of ordinary words without quotes, numeric
//! passwords in JSON, secrets that are encoded again or split over two strings. `tests/blind.rs` measures how many.

mod address;
mod assignment;
mod bigrams;
mod block;
#[doc(hidden)]
pub mod classifier;
mod codes;
mod context;
mod cues;
#[doc(hidden)]
pub mod evidence;
mod json;
mod keywords;
mod line;
mod patterns;
mod phrase;
mod placeholder;
mod plausible;
mod rules;
mod scalar;
mod scan;
mod shape;
#[doc(hidden)]
pub mod specimen;
mod tokens;
mod words;

pub use rules::{RULES_VERSION, secret_kinds};
#[doc(hidden)]
pub use scan::{collect_evidence, find_by_rules};

use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// Replaces secrets with placeholders. The rules are compiled once per process, on first use.
pub struct Masker {
    key: [u8; 32],
}

/// The position and kind of a secret. Never its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecretMatch {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
}

/// The minimum length of a secret together with the text that reveals it.
const MIN_LENGTH: usize = 8;

/// How often a masked JSON text is masked again at most. The limit keeps a text that is made to need more from taking
/// quadratic time.
const MAX_REPEATS: usize = 8;

impl Masker {
    /// Uses the key of this installation: the same secret gets the same placeholder here, and a different one
    /// elsewhere.
    pub fn new(key: [u8; 32]) -> Masker {
        Masker { key }
    }

    /// Replaces each secret with its placeholder; borrows the text if there is none.
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let places = self
            .find_secrets(text)
            .into_iter()
            .map(|it| (it.from..it.to, self.placeholder_for(&text[it.from..it.to], it.kind)));
        replace_ranges(text, places)
    }

    /// The same for JSON text: secrets inside strings, keys and values, are masked, and everything else is kept byte
    /// for byte. A key provides context for its value. Text that is not JSON is masked as plain text.
    ///
    /// A placeholder in a key or a value changes the context of the rest, so that more may be found there: masking is
    /// repeated until nothing is. Without this it was idempotent in all but about one of 10,000 random values.
    pub fn mask_json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let Cow::Owned(mut masked) = self.mask_json_once(json) else { return Cow::Borrowed(json) };
        for _ in 0..MAX_REPEATS {
            let Cow::Owned(again) = self.mask_json_once(&masked) else { break };
            masked = again;
        }
        Cow::Owned(masked)
    }

    fn mask_json_once<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let (seen, hidden) = (scan::keyword_positions(json), hides_words(json));
        if seen.is_empty() && !hidden {
            return Cow::Borrowed(json);
        }
        let Some(strings) = json::find_strings(json) else { return self.mask_text(json) };
        let worth = |at: &Range<usize>| hidden || any_within(&seen, at);
        let mut places = Vec::new();
        for string in &strings {
            let raw = &json[string.at.clone()];
            let key = string.key.map(|at| strings[at].at.clone()).filter(worth);
            if key.is_none() && !worth(&string.at) {
                continue;
            }
            let text = json::decode_string(raw);
            let key = key.map(|at| json::decode_string(&json[at]));
            let found = self.find_in_json_string(key.as_deref(), &text);
            let ends = found.iter().flat_map(|it| [it.from, it.to]);
            let ends = json::to_escaped_positions(raw, ends).into_iter().map(|at| string.at.start + at);
            for (it, at) in found.iter().zip(pair_up(ends)) {
                places.push((at, self.placeholder_for(&text[it.from..it.to], it.kind)));
            }
        }
        replace_ranges(json, places.into_iter())
    }

    /// Finds secrets and their kinds, in order and without overlaps.
    ///
    /// Secrets and existing placeholders split the text, and the remaining parts are searched again until nothing is
    /// found. This makes masking idempotent.
    #[allow(clippy::unused_self)] // part of the interface: custom rules will be stored in the masker
    pub fn find_secrets(&self, text: &str) -> Vec<SecretMatch> {
        if text.len() < MIN_LENGTH {
            return Vec::new();
        }
        let whole = remaining_ranges(0..text.len(), placeholder::find_placeholders(text).into_iter());
        let mut found = Vec::new();
        let mut open: Vec<_> = whole.into_iter().map(Part::from_range).collect();
        while let Some(part) = open.pop() {
            let mut here = scan::scan_text(&text[part.at.clone()], &part.places);
            for it in &mut here {
                it.from += part.at.start;
                it.to += part.at.start;
            }
            if !here.is_empty() {
                let left = remaining_ranges(part.at.clone(), here.iter().map(|it| it.from..it.to));
                open.extend(left.into_iter().map(|left| Part::beside_secret(left, &part.at)));
            }
            found.extend(here);
        }
        found.sort_unstable_by_key(|it| it.from);
        found
    }

    /// Secrets in a JSON string: those it would have as plain text, or else the one that its key announces.
    fn find_in_json_string(&self, key: Option<&str>, text: &str) -> Vec<SecretMatch> {
        let found = self.find_secrets(text);
        if !found.is_empty() {
            return found;
        }
        let announced = key.and_then(|key| assignment::find_in_pair(key, text));
        announced.into_iter().map(|(at, kind)| SecretMatch { from: at.start, to: at.end, kind }).collect()
    }

    fn placeholder_for(&self, secret: &str, kind: &'static str) -> String {
        let essence = block::key_material(secret);
        placeholder::format_placeholder(&self.key, kind, essence.as_deref().unwrap_or(secret).as_bytes())
    }
}

/// Whether one of the sorted positions is within the part.
fn any_within(places: &[usize], part: &Range<usize>) -> bool {
    let first = places.partition_point(|place| *place < part.start);
    places.get(first).is_some_and(|place| *place < part.end)
}

/// Whether escapes may hide a keyword: a letter written as `\u0061`, a slash written as `\/`.
fn hides_words(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"\\u00").is_some() || memmem::find(json.as_bytes(), b"\\/").is_some()
}

/// The parts of a range that remain when some places are removed.
fn remaining_ranges(part: Range<usize>, taken: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    let mut from = part.start;
    for place in taken {
        left.push(from..place.start);
        from = place.end;
    }
    left.push(from..part.end);
    left.retain(|part| part.len() >= MIN_LENGTH);
    left
}

/// A part of a text, and the places in it that have to be searched.
struct Part {
    at: Range<usize>,
    places: Vec<Range<usize>>,
}

impl Part {
    fn from_range(at: Range<usize>) -> Part {
        Part { places: std::iter::once(0..at.len()).collect(), at }
    }

    /// The remainder next to a secret: only near the cut can there be a secret that was not found before.
    fn beside_secret(at: Range<usize>, whole: &Range<usize>) -> Part {
        let near = scan::MAX_REACH.min(at.len());
        let mut places = Vec::new();
        if at.start > whole.start {
            places.push(0..near);
        }
        if at.end < whole.end {
            let searched = places.last().map_or(0, |place: &Range<usize>| place.end);
            places.push((at.len() - near).max(searched)..at.len());
        }
        Part { at, places }
    }
}

/// Consecutive pairs as ranges.
fn pair_up(mut ends: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || Some(ends.next()?..ends.next()?))
}

fn replace_ranges(text: &str, places: impl Iterator<Item = (Range<usize>, String)>) -> Cow<'_, str> {
    let (mut masked, mut from) = (String::new(), 0);
    for (place, placeholder) in places {
        masked.push_str(&text[from..place.start]);
        masked.push_str(&placeholder);
        from = place.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[from..]);
    Cow::Owned(masked)
}
