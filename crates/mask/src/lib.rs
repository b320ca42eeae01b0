//! Which parts of a text are secrets, and what stands in their place.
//!
//! Does not know where the text came from or where it goes.
//!
//! Four layers, each in its file: shapes that vendors gave their tokens (`rules`), names that give their value away
//! (`assigned`), passwords in addresses (`address`), keys over many lines (`block`). Randomness counts only where one of
//! these says that a secret may stand there (`plausible`).
//!
//! Missed knowingly: passphrases of ordinary words, passwords of letters alone or beyond ASCII, numbers as passwords in JSON,
//! `-p` and other one-letter flags, `{"name": "PASSWORD", "value": …}`, secrets encoded once more or divided over two
//! strings, random tokens without a name or a shape.

mod address;
mod assigned;
mod block;
mod hunt;
mod json;
mod plausible;
mod rules;
#[doc(hidden)]
pub mod specimen;
mod tag;
mod words;

pub use rules::{RULES_VERSION, kinds};

use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// Puts placeholders in the place of secrets. The rules are compiled when the first text is read, once a process.
pub struct Masker {
    key: [u8; 32],
}

/// Where a secret stands, and of which kind it is. Never the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
}

/// No secret is shorter, with what gives it away.
const LEAST: usize = 8;

impl Masker {
    /// With the key of this installation: the same secret then has the same placeholder, here and nowhere else.
    pub fn new(key: [u8; 32]) -> Masker {
        Masker { key }
    }

    /// Text with each secret replaced by its placeholder; borrowed when there is none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let places = self
            .find(text)
            .into_iter()
            .map(|it| (it.from..it.to, self.placeholder(&text[it.from..it.to], it.kind)));
        replaced(text, places)
    }

    /// The same for JSON text: what its strings say is masked, keys and values, and everything else stays byte for byte.
    /// A key counts for its value. What is not JSON is masked as plain text.
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let (seen, hidden) = (hunt::places(json), hides_words(json));
        if seen.is_empty() && !hidden {
            return Cow::Borrowed(json);
        }
        let Some(strings) = json::strings(json) else { return self.text(json) };
        let worth = |at: &Range<usize>| hidden || any_within(&seen, at);
        let mut places = Vec::new();
        for string in &strings {
            let raw = &json[string.at.clone()];
            let key = string.key.map(|at| strings[at].at.clone()).filter(worth);
            if key.is_none() && !worth(&string.at) {
                continue;
            }
            let said = json::decoded(raw);
            let key = key.map(|at| json::decoded(&json[at]));
            let found = self.find_under(key.as_deref(), &said);
            let ends = found.iter().flat_map(|it| [it.from, it.to]);
            let ends = json::written(raw, ends).into_iter().map(|at| string.at.start + at);
            for (it, at) in found.iter().zip(pairs(ends)) {
                places.push((at, self.placeholder(&said[it.from..it.to], it.kind)));
            }
        }
        replaced(json, places.into_iter())
    }

    /// Where secrets are and of which kind, in order, not overlapping.
    ///
    /// What was found, or masked before, divides the text, and the parts are searched again until nothing is found in
    /// any: that is what makes masking twice the same as masking once.
    #[allow(clippy::unused_self)] // part of the interface: rules of one's own will live in the masker
    pub fn find(&self, text: &str) -> Vec<Found> {
        if text.len() < LEAST {
            return Vec::new();
        }
        let mut found = Vec::new();
        let whole = between(0..text.len(), tag::placeholders(text).into_iter());
        let mut open: Vec<_> = whole.into_iter().map(Part::untouched).collect();
        while let Some(part) = open.pop() {
            let mut here = hunt::hunt(&text[part.at.clone()], &part.places);
            for it in &mut here {
                it.from += part.at.start;
                it.to += part.at.start;
            }
            if !here.is_empty() {
                let left = between(part.at.clone(), here.iter().map(|it| it.from..it.to));
                open.extend(left.into_iter().map(|left| Part::cut_out(left, &part.at)));
            }
            found.extend(here);
        }
        found.sort_unstable_by_key(|it| it.from);
        found
    }

    /// Secrets of a JSON string: those it would have as a text, or else the one its key promises.
    fn find_under(&self, key: Option<&str>, said: &str) -> Vec<Found> {
        let found = self.find(said);
        if !found.is_empty() {
            return found;
        }
        let promised = key.and_then(|key| assigned::pair(key, said));
        promised.into_iter().map(|(at, kind)| Found { from: at.start, to: at.end, kind }).collect()
    }

    fn placeholder(&self, secret: &str, kind: &'static str) -> String {
        let essence = block::essence(secret);
        tag::placeholder(&self.key, kind, essence.as_deref().unwrap_or(secret).as_bytes())
    }
}

/// Whether one of the places, which are in order, lies in the part.
fn any_within(places: &[usize], part: &Range<usize>) -> bool {
    let first = places.partition_point(|place| *place < part.start);
    places.get(first).is_some_and(|place| *place < part.end)
}

/// Whether escapes may hide a word of the table: a letter written as `\u0061`, a slash written as `\/`.
fn hides_words(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"\\u00").is_some() || memmem::find(json.as_bytes(), b"\\/").is_some()
}

/// What is left of a part when some places in it are taken away.
fn between(part: Range<usize>, taken: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    let mut from = part.start;
    for place in taken {
        left.push(from..place.start);
        from = place.end;
    }
    left.push(from..part.end);
    left.retain(|part| part.len() >= LEAST);
    left
}

/// A part of a text, and the places in it that have to be searched.
struct Part {
    at: Range<usize>,
    places: Vec<Range<usize>>,
}

impl Part {
    fn untouched(at: Range<usize>) -> Part {
        Part { places: std::iter::once(0..at.len()).collect(), at }
    }

    /// What is left beside a secret: only near where it was cut can anything be found that was not found before.
    fn cut_out(at: Range<usize>, whole: &Range<usize>) -> Part {
        let near = hunt::REACH.min(at.len());
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

/// Each two that follow each other, as a range.
fn pairs(mut ends: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || Some(ends.next()?..ends.next()?))
}

fn replaced(text: &str, places: impl Iterator<Item = (Range<usize>, String)>) -> Cow<'_, str> {
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
