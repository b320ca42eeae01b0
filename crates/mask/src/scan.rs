//! Searches a text for secrets: one pass finds the keywords without which there is no secret, and only their
//! surroundings are examined.
//!
//! Does not know what replaces a secret, nor that a text may already be masked: the caller passes the parts between
//! placeholders.

use crate::evidence::{CueReader, Evidence, EvidenceCollector, Features};
use crate::keywords::KeywordTable;
use crate::rules::{Anchor, RULES, Rule};
use crate::{
    SecretMatch, address, assignment, block, classifier, codes, context, cues, patterns, phrase, plausible,
    scalar, tokens,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// The check to run at a keyword.
#[derive(Clone, Copy)]
enum Check {
    Rule(usize),
    Context(usize),
    Cue(usize),
    Assigned,
    Bearer,
    Basic,
    Address,
    UserFlag,
    Block,
    Putty,
    Phrase,
    Scalar,
    Codes,
}

/// Keywords of the formats that are parsed by hand. They are common in code, so the text after them is checked byte by
/// byte before anything more expensive.
const PARSED_KEYWORDS: &[(&str, Check)] = &[
    ("bearer", Check::Bearer),
    ("basic", Check::Basic),
    ("://", Check::Address),
    (" -u", Check::UserFlag),
    (" --user", Check::UserFlag),
    ("-----begin", Check::Block),
    ("private-lines:", Check::Putty),
    ("phrase", Check::Phrase),
    ("sync join", Check::Phrase),
    (": >", Check::Scalar),
    (": |", Check::Scalar),
];

/// A possible secret and the rank of its rule: of two that overlap, the lower rank wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Candidate {
    rank: usize,
    from: usize,
    to: usize,
    kind: &'static str,
}

const BLOCK_RANK: usize = 0;
const CONTEXT_RANK: usize = 1 + RULES.len();

/// The maximum length of a secret in a vendor's format: tokens with embedded claims can be long.
const MAX_SECRET: usize = 8 << 10;

struct Scanner {
    words: KeywordTable,
    /// For each word its length and check.
    checks: Vec<(usize, Check)>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let rows = RULES.iter().enumerate().flat_map(|(at, rule)| {
        let searched = !matches!(rule.anchor, Anchor::ByName | Anchor::Parsed);
        rule.words.iter().filter(move |_| searched).map(move |word| (*word, Check::Rule(at)))
    });
    let names = assignment::NAME_WORDS.iter().map(|word| (*word, Check::Assigned));
    let announced = cues::CUES.iter().enumerate().map(|(at, (word, _))| (*word, Check::Cue(at)));
    let lists = codes::WORDS.iter().map(|word| (*word, Check::Codes));
    let contexts = context::keywords().map(|(word, at)| (word, Check::Context(at)));
    let all: Vec<(&str, Check)> = names
        .chain(PARSED_KEYWORDS.iter().copied())
        .chain(lists)
        .chain(rows)
        .chain(contexts)
        .chain(announced)
        .collect();
    Scanner {
        words: KeywordTable::new(all.iter().map(|(word, _)| *word).collect()),
        checks: all.iter().map(|(word, act)| (word.len(), *act)).collect(),
    }
});

/// The maximum distance from a keyword at which text is read, with a margin: text farther away has no effect.
pub(crate) const MAX_REACH: usize = MAX_SECRET + 512;

/// All secrets revealed by a keyword within the given ranges, in order and without overlaps.
pub(crate) fn scan_text(text: &str, places: &[Range<usize>]) -> Vec<SecretMatch> {
    scan_with(text, places, |_| true)
}

/// The same without the trees, which are trained on what is left.
pub fn find_by_rules(text: &str) -> Vec<SecretMatch> {
    scan_with(text, std::slice::from_ref(&(0..text.len())), |check| !matches!(check, Check::Cue(_)))
}

fn scan_with(text: &str, places: &[Range<usize>], runs: impl Fn(Check) -> bool) -> Vec<SecretMatch> {
    let scanner = &*SCANNER;
    let mut candidates = Vec::new();
    // A text of nothing but `password` would otherwise take two seconds for a megabyte.
    let mut tried: Vec<(usize, usize)> = Vec::new();
    let mut tries = RunTries::default();
    let mut announced = SecretCollector::default();
    let mut reader = CueReader::new(text, &mut announced);
    for part in places {
        scanner.words.find_each(&text.as_bytes()[part.clone()], |at, number| {
            let (length, act) = scanner.checks[number];
            let at = part.start + at;
            let word = at..at + length;
            match act {
                act if !runs(act) => {}
                Check::Cue(_) if assignment::is_reference(text.as_bytes(), word.start) => {}
                Check::Cue(cue) => reader.read_cue(word, cue),
                Check::Context(_) | Check::Phrase | Check::Codes
                    if !is_first_in_block(&mut tried, number, at) => {}
                Check::Rule(_) if !tries.allow(text, number, at) => {}
                act => check_keyword(text, word, act, &mut candidates),
            }
        });
        push_found(phrase::find_grouped(text, part), CONTEXT_RANK, &mut candidates);
    }
    reader.finish();
    candidates.append(&mut announced.found);
    resolve_overlaps(candidates)
}

/// Whether the keyword was not yet seen in this block of the text.
fn is_first_in_block(tried: &mut Vec<(usize, usize)>, number: usize, at: usize) -> bool {
    let block = at / context::BLOCK;
    if let Some((_, last)) = tried.iter_mut().find(|(known, _)| *known == number) {
        return std::mem::replace(last, block) != block;
    }
    tried.push((number, block));
    true
}

/// Counts how often a keyword occurs in a run of text without blanks, quotes and commas. A real token has its keyword at the begin and
/// perhaps once or twice more; in a megabyte of `--eyJ`, reading up to the end at each took 20 seconds.
#[derive(Default)]
struct RunTries {
    /// For each keyword where its last run ends, and the number of tries in it.
    runs: Vec<(usize, usize, u32)>,
}

impl RunTries {
    const MAX_TRIES: u32 = 8;

    fn allow(&mut self, text: &str, number: usize, at: usize) -> bool {
        let known = self.runs.iter().position(|(known, ..)| *known == number);
        let index = known.unwrap_or_else(|| {
            self.runs.push((number, 0, 0));
            self.runs.len() - 1
        });
        let (_, end, tries) = &mut self.runs[index];
        if at >= *end {
            let rest = &text.as_bytes()[at..(at + MAX_SECRET).min(text.len())];
            *end = at + rest.iter().position(|byte| tokens::is_break_byte(*byte)).unwrap_or(rest.len());
            *tries = 0;
        }
        *tries += 1;
        *tries <= Self::MAX_TRIES
    }
}

/// All evidence in a text, for training.
pub fn collect_evidence(text: &str, collector: &mut impl EvidenceCollector) {
    static TABLE: LazyLock<KeywordTable> =
        LazyLock::new(|| KeywordTable::new(cues::CUES.iter().map(|(word, _)| *word).collect()));
    let mut reader = CueReader::new(text, collector);
    TABLE.find_each(text.as_bytes(), |at, number| {
        reader.read_cue(at..at + cues::CUES[number].0.len(), number);
    });
    reader.finish();
}

/// The positions of keywords, so that only their surroundings have to be read.
pub(crate) fn keyword_positions(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    SCANNER.words.find_each(text.as_bytes(), |at, _| places.push(at));
    let phrases = phrase::find_grouped(text, &(0..text.len()));
    if !phrases.is_empty() {
        places.extend(phrases.into_iter().map(|(at, _)| at.start));
        places.sort_unstable();
    }
    places
}

/// Runs the check of a keyword and collects its candidates.
fn check_keyword(text: &str, word: Range<usize>, act: Check, found: &mut Vec<Candidate>) {
    let context = match act {
        Check::Rule(at) => return match_rule(text, word, at, found),
        Check::Context(row) => {
            return push_found(context::find_secrets(text, &word, row), CONTEXT_RANK + 1, found);
        }
        Check::Phrase => return push_found(phrase::find_near(text, &word), CONTEXT_RANK, found),
        Check::Scalar => return push_found(scalar::find_lines(text, &word), CONTEXT_RANK + 1, found),
        Check::Codes => return push_found(codes::find_codes(text, &word), CONTEXT_RANK + 1, found),
        Check::Cue(_) => return, // `CueReader` needs them all
        Check::Assigned => assignment::find_value(text, word),
        Check::Bearer => assignment::find_bearer(text, word.end),
        Check::Basic => assignment::find_basic(text, word.end),
        Check::Address => address::find_url_password(text, word),
        Check::UserFlag => address::find_user_password(text, word),
        Check::Block | Check::Putty => block::find_private_key(text, word),
    };
    let rank = if matches!(act, Check::Block | Check::Putty) { BLOCK_RANK } else { CONTEXT_RANK };
    found.extend(context.map(|(at, kind)| Candidate { rank, from: at.start, to: at.end, kind }));
}

fn push_found(secrets: Vec<(Range<usize>, &'static str)>, rank: usize, found: &mut Vec<Candidate>) {
    let candidate = |(at, kind): (Range<usize>, _)| Candidate { rank, from: at.start, to: at.end, kind };
    found.extend(secrets.into_iter().map(candidate));
}

/// Collects the values near a cue that the classifier takes for secrets.
#[derive(Default)]
struct SecretCollector {
    found: Vec<Candidate>,
}

impl EvidenceCollector for SecretCollector {
    fn wants(&self, features: &Features) -> bool {
        classifier::may_be_secret(features)
    }

    fn add(&mut self, it: Evidence) {
        if it.is_stated || classifier::is_secret(&it.features) {
            let (from, to, kind) = (it.at.start, it.at.end, it.kind);
            self.found.push(Candidate { rank: CONTEXT_RANK + 2, from, to, kind });
        }
    }
}

/// Collects the matches of a rule near a keyword.
fn match_rule(text: &str, word: Range<usize>, at: usize, found: &mut Vec<Candidate>) {
    let rule = &RULES[at];
    let Some(window) = search_window(text, &word, rule) else { return };
    let Some(pattern) = patterns::rule_pattern(at) else { return };
    let part = &text[window.clone()];
    for hit in pattern.captures_iter(part) {
        let Some(whole) = hit.get(0) else { continue };
        let secret = hit.get(1).unwrap_or(whole);
        let (from, to) = (window.start + whole.start(), window.start + whole.end());
        let covers = !matches!(rule.anchor, Anchor::Inside(_)) || (from <= word.start && to >= word.end);
        let by_chance = rule.anchor == Anchor::AtStart
            && word.len() < 5
            && is_joined_left(text.as_bytes(), word.start)
            && !is_mixed(&text.as_bytes()[word.end..to]);
        if covers
            && !by_chance
            && is_isolated(text.as_bytes(), from, to)
            && !plausible::is_documented(secret.as_str())
        {
            let (from, to) = (window.start + secret.start(), window.start + secret.end());
            found.push(Candidate { rank: 1 + at, from, to, kind: rule.kind });
        }
    }
}

/// The part of the text in which a rule's pattern is tried.
fn search_window(text: &str, word: &Range<usize>, rule: &Rule) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let cut = |at: usize| text.floor_char_boundary(at.min(text.len()));
    match rule.anchor {
        Anchor::AtStart => {
            let written = &bytes[word.clone()];
            let same = rule.words.iter().any(|known| known.as_bytes() == written);
            let free = same && is_free_left(bytes, word.start);
            free.then(|| word.start..cut(word.start + MAX_SECRET))
        }
        Anchor::Inside(before) => {
            let same = rule.words.iter().any(|known| known.as_bytes() == &bytes[word.clone()]);
            same.then(|| cut(word.start.saturating_sub(before))..cut(word.end + 256))
        }
        Anchor::Near(around) => {
            let (from, to) = (cut(word.start.saturating_sub(around)), cut(word.end + around));
            let from = memchr::memrchr(b'\n', &bytes[from..word.start]).map_or(from, |at| from + at + 1);
            let to = memchr::memchr(b'\n', &bytes[word.end..to]).map_or(to, |at| word.end + at);
            Some(from..to)
        }
        Anchor::ByName | Anchor::Parsed => None,
    }
}

/// Whether neither neighbour could belong to it.
fn is_isolated(bytes: &[u8], from: usize, to: usize) -> bool {
    is_free_left(bytes, from) && !bytes.get(to).is_some_and(u8::is_ascii_alphanumeric)
}

/// A letter before it is allowed if it ends an escape: `\n` inside a string, `%3D` inside an address.
fn is_free_left(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| bytes[at]);
    !before(1).is_ascii_alphanumeric()
        || (matches!(before(1), b'n' | b'r' | b't') && before(2) == b'\\')
        || (before(1).is_ascii_hexdigit() && before(2).is_ascii_hexdigit() && before(3) == b'%')
}

/// Thirty letters of both cases and digits without a sign: part of a token, not of a hash in which `-` and `_` occur, nor of a name.
fn is_mixed(body: &[u8]) -> bool {
    let has = |is_meant: fn(&u8) -> bool| body.iter().any(is_meant);
    body.len() >= 30
        && body.iter().all(u8::is_ascii_alphanumeric)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

/// `a-fw_`: in hashes of letters, digits, `-` and `_`, a short word occurs by chance.
fn is_joined_left(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| bytes[at]);
    matches!(before(1), b'-' | b'_') && before(2).is_ascii_alphanumeric()
}

/// Of overlapping candidates the most certain, then the longest; in text order.
fn resolve_overlaps(mut candidates: Vec<Candidate>) -> Vec<SecretMatch> {
    if candidates.is_empty() {
        return Vec::new();
    }
    candidates.sort_unstable_by_key(|it| (it.rank, it.from, usize::MAX - it.to));
    // Keyed by position: keeping a sorted list would shift it for each of a hundred thousand candidates.
    let mut kept: BTreeMap<usize, Candidate> = BTreeMap::new();
    for candidate in candidates {
        // Kept candidates do not overlap, so only the neighbours need to be checked.
        let before = kept.range(..candidate.from).next_back().is_none_or(|(_, it)| it.to <= candidate.from);
        let after = kept.range(candidate.from..).next().is_none_or(|(from, _)| candidate.to <= *from);
        if before && after {
            kept.insert(candidate.from, candidate);
        }
    }
    kept.values().map(|it| SecretMatch { from: it.from, to: it.to, kind: it.kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_searched_rule_has_words_of_three_letters() {
        for rule in RULES {
            assert!(rule.words.iter().all(|word| word.len() >= 3), "{}", rule.kind);
            assert_eq!(rule.words.is_empty(), rule.anchor == Anchor::Parsed, "{}", rule.kind);
        }
    }

    #[test]
    fn a_preceding_escape_is_not_a_letter() {
        for (text, free) in
            [("ab", false), (r"\nb", true), ("%3Db", true), ("nb", false), ("_b", true), ("b", true)]
        {
            assert_eq!(is_free_left(text.as_bytes(), text.len() - 1), free, "{text}");
        }
    }
}
