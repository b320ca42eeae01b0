//! Describes a value near a word that announces a secret, as numbers: the value's shape, what joins the two, the name
//! around the word, and the rest of the line.
//!
//! Does not know what the numbers amount to; the trees of `classifier` decide.

use crate::cues::{CUES, Cue, is_common_word};
use crate::line::{self, LineWords};
use crate::shape::{self, Shape};
use crate::tokens::{self, DIGIT, HIGH, LINK, LOWER, SIGN, Token, Tokens, UPPER};
use crate::{assignment, plausible};
use std::cell::OnceCell;
use std::ops::Range;

const BEFORE: usize = 60;
const MAX_NAME: usize = 48;
/// How much of a value is looked at, and how long it can be.
const MAX_SAMPLE: usize = 128;
const MAX_VALUE: usize = 4096;

/// Features that cost little, and that decide most cases.
pub const QUICK: usize = 32;

/// The features of a value; the first [`QUICK`] are quick to determine.
#[rustfmt::skip]
pub const FEATURES: [&str; 51] = [
    "cue", "plural", "name_length", "prefix", "suffix", "flag", "capitals", "call", "before", "distance",
    "words", "odd", "lines", "first_join", "last_join", "quote", "next", "length", "digits", "upper",
    "lower", "signs", "separators", "slashes", "other", "transitions", "distinct", "wordy", "bigrams", "first",
    "last", "continues",
    "harmless", "credential", "copula", "format", "placeholder", "stand_in", "meta", "spaces", "harm_words", "login_words",
    "error_words", "prompt", "line_length", "previous", "word", "option", "argument", "strong", "pair",
];

pub type Features = [u8; FEATURES.len()];

/// A place where a secret may be, and its description.
pub struct Evidence {
    pub at: Range<usize>,
    pub kind: &'static str,
    pub features: Features,
    /// Whether it is said outright that this is the password, and it looks like one that a person made of words.
    pub is_stated: bool,
}

/// Receives evidence: decides by the quick features whether the others are worth determining.
pub trait EvidenceCollector {
    fn wants(&self, features: &Features) -> bool;
    fn add(&mut self, evidence: Evidence);
}

/// Describes the values near the cues of one text. The cues have to be passed in text order.
///
/// The range of a cue ends where the next one of its sort begins: each byte is described once per sort, however many
/// cues there are. A megabyte of `pw=` took 22 seconds when each of them described all that follows.
pub struct CueReader<'t, 'c, C> {
    text: &'t str,
    collector: &'c mut C,
    /// For each sort of cue the last one, whose range is still open.
    open: [Option<Name<'t>>; Cue::COUNT],
    /// Where the ranges of a sort begin at the earliest: behind the cue before.
    from: [usize; Cue::COUNT],
    /// The last value that was longer than what is looked at.
    followed: Range<usize>,
}

impl<'t, 'c, C: EvidenceCollector> CueReader<'t, 'c, C> {
    pub fn new(text: &'t str, collector: &'c mut C) -> CueReader<'t, 'c, C> {
        CueReader { text, collector, open: Default::default(), from: [0; Cue::COUNT], followed: 0..0 }
    }

    /// Takes the next cue, by its position and its number in the table.
    pub fn read_cue(&mut self, word: Range<usize>, number: usize) {
        let cue = CUES[number].1;
        let is_known = self.open[cue as usize].as_ref().is_some_and(|open| word.start < open.at.end);
        if is_known || is_common_word(cue, &self.text.as_bytes()[word.end..]) {
            return;
        }
        let name = Name::around(self.text, word, number);
        if let Some(before) = self.open[cue as usize].take() {
            self.from[cue as usize] = before.at.end;
            self.collect_after(&before, name.at.start);
        }
        if cue.is_strong() {
            self.collect_before(&name, self.from[cue as usize]);
        }
        self.open[cue as usize] = Some(name);
    }

    /// Describes what follows the last cue of each sort.
    pub fn finish(mut self) {
        for name in std::mem::take(&mut self.open).iter().flatten() {
            self.collect_after(name, self.text.len());
        }
    }

    fn collect_after(&mut self, name: &Name<'t>, limit: usize) {
        let (text, start) = (self.text, name.at.end);
        let (bytes, words) = name.cue.reach();
        let to = text.floor_char_boundary((start + bytes).min(text.len()));
        let window = &text[start..to];
        let window = &window[..third_line(window)];
        let end = start + window.len();
        let cut = end < text.len() && text.as_bytes()[end] != b'\n';
        let mut place = Place::default();
        for token in Tokens::new(window) {
            if start + token.at.start >= limit || place.words > words {
                break;
            }
            let at =
                if cut && token.at.end == window.len() { extend(text, start, token.at) } else { token.at };
            let after = &text[start..end.max(start + at.end)];
            let (quote, whole) = tokens::quoted(after, &at);
            place.quote = quote;
            if let Some(whole) = whole.filter(|it| place.words < 3 && is_phrase(&after[it.clone()])) {
                self.describe(name, start + whole.start..start + whole.end, &place, &after[..whole.start]);
            }
            let value = tokens::value_of(after, at);
            let written = &after[value.clone()];
            let odd = token.classes & (DIGIT | SIGN | UPPER | HIGH | LINK) != 0 && tokens::is_odd(written);
            let is_next = start + value.start >= limit;
            if written.len() >= 4 && !is_next && (odd || is_worth_a_look(name, &place, after, &value)) {
                self.describe(name, start + value.start..start + value.end, &place, &after[..value.start]);
            }
            place.odd += u8::from(odd);
            place.words += u8::from(token.classes & (LOWER | UPPER | DIGIT | HIGH) != 0);
        }
    }

    fn collect_before(&mut self, name: &Name<'t>, limit: usize) {
        let text = self.text;
        let from = text.floor_char_boundary(name.at.start.saturating_sub(BEFORE));
        let line = memchr::memrchr(b'\n', &text.as_bytes()[from..name.at.start]);
        let (from, whole) = line.map_or((from, from == 0), |at| (from + at + 1, true));
        let before = &text[from..name.at.start];
        let all: Vec<Token> = Tokens::new(before).collect();
        for (words, token) in all.iter().rev().take(7).enumerate() {
            // The first word may be cut.
            let is_cut = (token.at.start == 0 && !whole) || from + token.at.start < limit;
            if is_cut || token.classes & (DIGIT | SIGN | LINK | HIGH) == 0 {
                continue;
            }
            let value = tokens::value_of(before, token.at.clone());
            if value.len() >= 6 && tokens::is_odd(&before[value.clone()]) {
                let (quote, _) = tokens::quoted(before, &token.at);
                let place = Place { words: words as u8, odd: 0, quote, before: true };
                self.describe(name, from + value.start..from + value.end, &place, &before[value.end..]);
            }
        }
    }

    /// Passes on the value, if it is wanted. The end of a long value is not described again as another one.
    fn describe(&mut self, name: &Name<'t>, at: Range<usize>, place: &Place, between: &str) {
        if at.len() >= MAX_SAMPLE && self.followed.contains(&at.start) {
            return;
        }
        let value = &self.text[at.clone()];
        let mut features = [0; FEATURES.len()];
        let shape = Shape::of(value);
        features[..QUICK].copy_from_slice(&name.describe_quickly(&at, place, between, value, &shape));
        let at = if at.len() >= MAX_SAMPLE { self.follow(at) } else { at };
        let harmless = || name.qualifiers().0 && matches!(name.cue, Cue::Token | Cue::Key | Cue::Session);
        let is_stated =
            name.is_of_password() && plausible::is_made_of_words(value) && name.states(place, between);
        if (is_stated || self.collector.wants(&features)) && !harmless() && !is_public(value) {
            features[QUICK..].copy_from_slice(&name.describe_fully(&at, between, value, &shape));
            self.collector.add(Evidence { at, kind: name.cue.kind(), features, is_stated });
        }
    }

    /// The value up to its end, where only its begin was looked at.
    fn follow(&mut self, at: Range<usize>) -> Range<usize> {
        let rest = &self.text[at.end..];
        let rest = &rest[..rest.floor_char_boundary(MAX_VALUE.min(rest.len()))];
        self.followed = at.start..at.end + rest.find(tokens::is_break).unwrap_or(rest.len());
        self.followed.clone()
    }
}

/// Whether a value is no secret wherever it stands: a public key, or words about passwords.
fn is_public(value: &str) -> bool {
    let speaks = || {
        let lower = value.to_lowercase();
        CUES.iter().any(|(word, cue)| *cue == Cue::Password && lower.contains(word))
    };
    plausible::is_public_key(value) || value.contains(' ') && speaks()
}

/// A comma or many words make a sentence.
fn is_phrase(text: &str) -> bool {
    !text.contains(", ") && text.matches(' ').count() <= 6
}

/// Whether a number or an ordinary word stands where a value does.
fn is_worth_a_look(name: &Name<'_>, place: &Place, after: &str, value: &Range<usize>) -> bool {
    let written = &after[value.clone()];
    (place.words < 4 && tokens::is_short_number(written))
        || (place.words < 3 && tokens::is_long_word(written) && is_joined(name, after, value.start))
}

/// Whether a sign, a quote or a verb joins the name and what follows.
fn is_joined(name: &Name<'_>, after: &str, start: usize) -> bool {
    let between = &after[..start];
    between.ends_with(['"', '\'', '`', '“', '„', '「', '«'])
        || name.is_option()
        || between.trim_end().ends_with(['=', ':', '：', '>', '|', '('])
        || line::has_copula(between)
}

/// A token that reaches the end of the window, up to its own end or as far as is looked at.
fn extend(text: &str, from: usize, token: Range<usize>) -> Range<usize> {
    let rest = &text[from + token.end..];
    let most = (MAX_SAMPLE + 4).saturating_sub(token.len());
    let rest = &rest[..rest.floor_char_boundary(most.min(rest.len()))];
    token.start..token.end + rest.find(tokens::is_break).unwrap_or(rest.len())
}

/// Where a value stands relative to the name: the words and unusual words between them, and the quote before it.
#[derive(Default)]
struct Place {
    words: u8,
    odd: u8,
    quote: u8,
    before: bool,
}

fn third_line(text: &str) -> usize {
    text.match_indices('\n').nth(2).map_or(text.len(), |(at, _)| at)
}

/// The name that contains the word.
struct Name<'a> {
    text: &'a str,
    at: Range<usize>,
    word: Range<usize>,
    cue: Cue,
    number: u8,
    qualifiers: OnceCell<(bool, bool)>,
}

impl<'a> Name<'a> {
    fn around(text: &'a str, word: Range<usize>, number: usize) -> Name<'a> {
        let (cue, number) = (CUES[number].1, number.min(127) as u8);
        let bytes = text.as_bytes();
        let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let tail = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if cue == Cue::Flag || !bytes[word.start].is_ascii() {
            return Name { text, at: word.clone(), word, cue, number, qualifiers: OnceCell::new() };
        }
        let ends = bytes[word.end - 1].is_ascii_alphanumeric() || !bytes[word.end - 1].is_ascii();
        let before =
            bytes[word.start.saturating_sub(MAX_NAME)..word.start].iter().rev().take_while(part).count();
        let after = if ends { bytes[word.end..].iter().take(MAX_NAME).take_while(tail).count() } else { 0 };
        // A separator that belongs to the cue is not part of the name.
        let end = if ends { word.end + after } else { word.end - 1 };
        Name { text, at: word.start - before..end, word, cue, number, qualifiers: OnceCell::new() }
    }

    /// `-p`, `--password`: an option of a command.
    fn is_option(&self) -> bool {
        self.cue == Cue::Flag || self.text.as_bytes()[self.at.start] == b'-'
    }

    fn is_of_password(&self) -> bool {
        let word = &self.text[self.word.clone()];
        self.cue == Cue::Password || self.cue == Cue::Pass && (word.contains("pw") || word.contains("clave"))
    }

    /// Whether nothing but a sign, a quote or a verb is between the word for a password and what follows.
    fn states(&self, place: &Place, between: &str) -> bool {
        let joins = between.trim_matches([' ', '\t', '"', '\'', '`', '*', '„', '“', '”', '«', '「', '：']);
        let is_masked = between.contains("***");
        let is_sign = matches!(joins, ":" | "=") || joins.is_empty() && between.contains('：');
        !place.before
            && !is_masked
            && place.words <= 2
            && !between.contains('\n')
            && !self.is_option()
            && (is_sign || line::has_copula(between))
            && !self.qualifiers().0
    }

    /// Whether a word of the name takes its meaning away (`public_key`), and whether one makes it a credential.
    fn qualifiers(&self) -> (bool, bool) {
        *self.qualifiers.get_or_init(|| {
            let name = &self.text[self.at.clone()];
            (assignment::is_harmless_name(self.text, &self.word), assignment::is_credential_name(name))
        })
    }

    fn describe_quickly(
        &self,
        at: &Range<usize>,
        place: &Place,
        between: &str,
        value: &str,
        shape: &Shape,
    ) -> [u8; QUICK] {
        let (name, rest) = (&self.text[self.at.clone()], &self.text[at.end..]);
        let trimmed = between.trim_matches([' ', '"', '\'', '`', '\t']);
        let join = |c: Option<char>| c.map_or(0, line::join_class);
        [
            self.cue as u8,
            u8::from(self.text.as_bytes().get(self.word.end) == Some(&b's')),
            cap(name.len(), 40),
            cap(self.word.start - self.at.start, 20),
            cap(self.at.end.saturating_sub(self.word.end), 20),
            u8::from(name.starts_with('-')),
            u8::from(name.bytes().all(|byte| !byte.is_ascii_lowercase())),
            u8::from(self.text.as_bytes().get(self.at.end) == Some(&b'(')),
            u8::from(place.before),
            cap(between.len(), 80),
            place.words,
            place.odd,
            cap(memchr::memchr_iter(b'\n', between.as_bytes()).count(), 3),
            join(trimmed.chars().next()),
            join(trimmed.chars().next_back()),
            place.quote,
            rest.chars().next().map_or(0, line::next_class),
            cap(at.len(), 80),
            shape.digits,
            shape.upper,
            shape.lower,
            shape.signs,
            shape.separators,
            shape.slashes,
            shape.other,
            shape.transitions,
            shape.distinct,
            shape.wordy,
            shape.bigrams,
            line::char_class(value.chars().next()),
            line::char_class(value.chars().next_back()),
            line::continuation_class(rest),
        ]
    }

    fn describe_fully(
        &self,
        at: &Range<usize>,
        between: &str,
        value: &str,
        shape: &Shape,
    ) -> [u8; FEATURES.len() - QUICK] {
        let line = line::line_around(self.text, at);
        let before = &self.text[line.start..at.start.min(line.end)];
        let words = LineWords::of(before);
        let (harmless, credential) = self.qualifiers();
        let own = plausible::own_words(value);
        [
            u8::from(harmless),
            u8::from(credential),
            u8::from(line::has_copula(between)),
            shape::format_class(value, shape),
            u8::from(plausible::is_placeholder(value)),
            u8::from(own.all_meta),
            u8::from(own.any_meta),
            cap(value.matches(' ').count(), 12),
            words.harmless,
            words.login,
            words.error,
            u8::from(line::is_prompt(&self.text[line.clone()])),
            cap(line.len() / 8, 40),
            words.previous,
            self.number,
            line::option_class(before),
            line::argument_index(before),
            words.strong,
            line::pair_class(before),
        ]
    }
}

pub(crate) fn cap(number: usize, most: usize) -> u8 {
    number.min(most) as u8
}
