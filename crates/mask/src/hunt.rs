//! Where in a text there might be a secret, and which row of the table says so: one pass over the text for the words
//! that no secret is without, and a closer look only around those.
//!
//! Does not know what replaces a secret, nor that a text may have been masked before: it is handed the parts between.

use crate::rules::{Look, RULES, Rule};
use crate::words::Words;
use crate::{Found, address, assigned, block, plausible};
use regex::{Regex, RegexBuilder};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// What is done where a word was seen.
#[derive(Clone, Copy)]
enum Act {
    Row(usize),
    Assigned,
    Bearer,
    Basic,
    Address,
    User,
    Block,
    Putty,
}

/// Words of the grammars that are read by hand. They are common in code, so what follows them is looked at byte by
/// byte before anything dearer.
const BY_HAND: &[(&str, Act)] = &[
    ("pass", Act::Assigned),
    ("pwd", Act::Assigned),
    ("secret", Act::Assigned),
    ("token", Act::Assigned),
    ("key", Act::Assigned),
    ("auth", Act::Assigned),
    ("cred", Act::Assigned),
    ("bearer", Act::Bearer),
    ("basic", Act::Basic),
    ("://", Act::Address),
    (" -u", Act::User),
    (" --user", Act::User),
    ("-----begin", Act::Block),
    ("private-lines:", Act::Putty),
];

/// A secret that was found, and how sure its rule is: where two overlap, the lower one stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Candidate {
    rank: usize,
    from: usize,
    to: usize,
    kind: &'static str,
}

const BLOCKS: usize = 0;
const CONTEXT: usize = 1 + RULES.len();

/// The longest secret of a vendor's shape that is looked for: tokens with claims inside can be long.
const LONGEST: usize = 8 << 10;

struct Hunter {
    words: Words,
    /// For each word its length and what to do.
    acts: Vec<(usize, Act)>,
    /// Compiled when the first word of its row is seen; most never are.
    patterns: Vec<OnceLock<Option<Regex>>>,
}

static HUNTER: LazyLock<Hunter> = LazyLock::new(|| {
    let rows = RULES.iter().enumerate().flat_map(|(at, rule)| {
        let searched = !matches!(rule.look, Look::Named | Look::ByHand);
        rule.words.iter().filter(move |_| searched).map(move |word| (*word, Act::Row(at)))
    });
    let all: Vec<(&str, Act)> = BY_HAND.iter().copied().chain(rows).collect();
    Hunter {
        words: Words::new(all.iter().map(|(word, _)| *word).collect()),
        acts: all.iter().map(|(word, act)| (word.len(), *act)).collect(),
        patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// How far from a word anything is read, and a little more: what happens farther away changes nothing here.
pub(crate) const REACH: usize = LONGEST + 512;

/// Every secret in the text that a word at one of the places gives away, in order, not overlapping.
pub(crate) fn hunt(text: &str, places: &[Range<usize>]) -> Vec<Found> {
    let hunter = &*HUNTER;
    let mut candidates = Vec::new();
    for part in places {
        hunter.words.each(&text.as_bytes()[part.clone()], |at, number| {
            let (length, act) = hunter.acts[number];
            let at = part.start + at;
            hunter.look(text, at..at + length, act, &mut candidates);
        });
    }
    best(candidates)
}

/// Where words of the table stand, so that only what is around them has to be read.
pub(crate) fn places(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    HUNTER.words.each(text.as_bytes(), |at, _| places.push(at));
    places
}

/// Whether a name in small letters has a word that promises a secret.
pub(crate) fn promises(name: &[u8]) -> bool {
    let mut words = BY_HAND.iter().filter(|(_, act)| matches!(act, Act::Assigned));
    words.any(|(word, _)| memchr::memmem::find(name, word.as_bytes()).is_some())
}

/// The kind of a value that was set under a name, if a row knows that name and the value's shape.
pub(crate) fn named(context: &str, value: &str) -> Option<&'static str> {
    let hunter = &*HUNTER;
    let fits = |(at, rule): (usize, &Rule)| {
        let said = rule.look == Look::Named && rule.words.iter().any(|word| context.contains(word));
        said && hunter.pattern(at).is_some_and(|pattern| pattern.is_match(value))
    };
    let at = (0..RULES.len()).find(|&at| fits((at, &RULES[at])))?;
    (!plausible::documented(value) && !plausible::stand_in(value)).then_some(RULES[at].kind)
}

impl Hunter {
    fn look(&self, text: &str, word: Range<usize>, act: Act, found: &mut Vec<Candidate>) {
        let context = match act {
            Act::Row(at) => return self.row(text, word, at, found),
            Act::Assigned => assigned::value(text, word),
            Act::Bearer => assigned::bearer(text, word.end),
            Act::Basic => assigned::basic(text, word.end),
            Act::Address => address::password(text, word),
            Act::User => address::user(text, word),
            Act::Block | Act::Putty => block::private(text, word),
        };
        let rank = if matches!(act, Act::Block | Act::Putty) { BLOCKS } else { CONTEXT };
        found.extend(context.map(|(at, kind)| Candidate { rank, from: at.start, to: at.end, kind }));
    }

    fn row(&self, text: &str, word: Range<usize>, at: usize, found: &mut Vec<Candidate>) {
        let rule = &RULES[at];
        let Some(window) = window(text, &word, rule) else { return };
        let Some(pattern) = self.pattern(at) else { return };
        let part = &text[window.clone()];
        for hit in pattern.captures_iter(part) {
            let Some(whole) = hit.get(0) else { continue };
            let secret = hit.get(1).unwrap_or(whole);
            let (from, to) = (window.start + whole.start(), window.start + whole.end());
            let covers = !matches!(rule.look, Look::Back(_)) || (from <= word.start && to >= word.end);
            if covers && alone(text.as_bytes(), from, to) && !plausible::documented(secret.as_str()) {
                let (from, to) = (window.start + secret.start(), window.start + secret.end());
                found.push(Candidate { rank: 1 + at, from, to, kind: rule.kind });
            }
        }
    }

    fn pattern(&self, at: usize) -> Option<&Regex> {
        let compile = || {
            let rule = &RULES[at];
            let pattern = match rule.look {
                Look::Here => format!("^(?:{})", rule.pattern),
                Look::Named => format!("^(?:{})$", rule.pattern),
                _ => rule.pattern.to_owned(),
            };
            // A test compiles every row, so none is lost here in silence.
            RegexBuilder::new(&pattern).unicode(false).build().ok()
        };
        self.patterns[at].get_or_init(compile).as_ref()
    }
}

/// The part of the text in which a row's pattern is tried.
fn window(text: &str, word: &Range<usize>, rule: &Rule) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let cut = |at: usize| text.floor_char_boundary(at.min(text.len()));
    match rule.look {
        Look::Here => {
            let written = &bytes[word.clone()];
            let same = rule.words.iter().any(|known| known.as_bytes() == written);
            let free =
                same && free_left(bytes, word.start) && !(word.len() < 5 && joined_left(bytes, word.start));
            free.then(|| word.start..cut(word.start + LONGEST))
        }
        Look::Back(before) => {
            let same = rule.words.iter().any(|known| known.as_bytes() == &bytes[word.clone()]);
            same.then(|| cut(word.start.saturating_sub(before))..cut(word.end + 256))
        }
        Look::Near(around) => {
            let (from, to) = (cut(word.start.saturating_sub(around)), cut(word.end + around));
            let from = memchr::memrchr(b'\n', &bytes[from..word.start]).map_or(from, |at| from + at + 1);
            let to = memchr::memchr(b'\n', &bytes[word.end..to]).map_or(to, |at| word.end + at);
            Some(from..to)
        }
        Look::Named | Look::ByHand => None,
    }
}

/// Whether nothing that could belong to it stands on either side.
fn alone(bytes: &[u8], from: usize, to: usize) -> bool {
    free_left(bytes, from) && !bytes.get(to).is_some_and(u8::is_ascii_alphanumeric)
}

/// A letter in front is allowed when it ends an escape: `\n` inside a string, `%3D` inside an address.
fn free_left(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| bytes[at]);
    !before(1).is_ascii_alphanumeric()
        || (matches!(before(1), b'n' | b'r' | b't') && before(2) == b'\\')
        || (before(1).is_ascii_hexdigit() && before(2).is_ascii_hexdigit() && before(3) == b'%')
}

/// `a-fw_`: in hashes written in letters, digits, `-` and `_`, a short word occurs by chance.
fn joined_left(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| bytes[at]);
    matches!(before(1), b'-' | b'_') && before(2).is_ascii_alphanumeric()
}

/// Of what overlaps, the surest, then the longest; in the order of the text.
fn best(mut candidates: Vec<Candidate>) -> Vec<Found> {
    candidates.sort_unstable_by_key(|it| (it.rank, it.from, usize::MAX - it.to));
    // By their places: a list kept in order would be moved for every one of a hundred thousand.
    let mut kept: BTreeMap<usize, Candidate> = BTreeMap::new();
    for candidate in candidates {
        // They do not overlap, so only the neighbours can be overlapped.
        let before = kept.range(..candidate.from).next_back().is_none_or(|(_, it)| it.to <= candidate.from);
        let after = kept.range(candidate.from..).next().is_none_or(|(from, _)| candidate.to <= *from);
        if before && after {
            kept.insert(candidate.from, candidate);
        }
    }
    kept.values().map(|it| Found { from: it.from, to: it.to, kind: it.kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let hunter = &*HUNTER;
        for (at, rule) in RULES.iter().enumerate() {
            assert!(hunter.pattern(at).is_some(), "{}", rule.kind);
        }
    }

    #[test]
    fn every_searched_row_has_words_of_three_letters() {
        for rule in RULES {
            assert!(rule.words.iter().all(|word| word.len() >= 3), "{}", rule.kind);
            assert_eq!(rule.words.is_empty(), rule.look == Look::ByHand, "{}", rule.kind);
        }
    }

    #[test]
    fn an_escape_in_front_is_no_letter() {
        for (text, free) in
            [("ab", false), (r"\nb", true), ("%3Db", true), ("nb", false), ("_b", true), ("b", true)]
        {
            assert_eq!(free_left(text.as_bytes(), text.len() - 1), free, "{text}");
        }
    }
}
