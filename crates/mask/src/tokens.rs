//! Splits a text into words as they stand in prose, code and logs, and finds the value in each.
//!
//! Does not know which value is a secret.

use std::ops::Range;

pub(crate) const LOWER: u8 = 1;
pub(crate) const UPPER: u8 = 2;
pub(crate) const DIGIT: u8 = 4;
pub(crate) const LINK: u8 = 8;
pub(crate) const SIGN: u8 = 16;
pub(crate) const HIGH: u8 = 32;
const BREAK: u8 = 64;

/// The class of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [SIGN; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' | b'.' | b'/' => LINK,
            0..=b' '
            | b'"'
            | b'\''
            | b'`'
            | b','
            | b';'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'<'
            | b'>'
            | b'|'
            | 127 => BREAK,
            128.. => HIGH,
            _ => SIGN,
        };
        byte += 1;
    }
    classes
};

/// A word and the classes of its bytes.
pub(crate) struct Token {
    pub(crate) at: Range<usize>,
    pub(crate) classes: u8,
}

/// Words of a text, split at blanks, quotes, brackets and commas.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }
}

/// Marks of other scripts that separate words.
const WIDE_BREAKS: &str = "«»„“”「」『』：，。、（）【】\u{a0}\u{3000}";

pub(crate) fn is_break(c: char) -> bool {
    if c.is_ascii() { CLASSES[c as usize] == BREAK } else { WIDE_BREAKS.contains(c) }
}

pub(crate) fn is_break_byte(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == BREAK
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        let (mut start, mut classes) = (None, 0);
        while let Some(&byte) = bytes.get(self.at) {
            let class = CLASSES[usize::from(byte)];
            let wide = class == HIGH && self.text[self.at..].starts_with(is_break);
            if class == BREAK || wide {
                if let Some(start) = start {
                    return Some(Token { at: start..self.at, classes });
                }
            } else {
                start.get_or_insert(self.at);
                classes |= class;
            }
            self.at += if class == HIGH { char_length(byte) } else { 1 };
        }
        start.map(|start| Token { at: start..self.at, classes })
    }
}

fn char_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    }
}

/// The value in a token: `user:value`, `name=value`, without the punctuation of a sentence.
pub(crate) fn value_of(text: &str, token: Range<usize>) -> Range<usize> {
    let written = &text[token.clone()];
    let end = written.trim_end_matches(['.', ',', ':', ';']).len();
    let body = written[..end].trim_end_matches('=');
    let skip = body
        .rfind(['=', ':'])
        .filter(|at| at + 4 < end && !body[*at..].starts_with(":/"))
        .map_or(0, |at| at + 1);
    let skip =
        skip + (written[skip..end].len() - written[skip..end].trim_start_matches(['=', ':', '\\']).len());
    token.start + skip..token.start + end.max(skip)
}

/// The quote before a token, and the whole text between the quotes when it is more than the token.
pub(crate) fn quoted(text: &str, token: &Range<usize>) -> (u8, Option<Range<usize>>) {
    let Some(open) = text[..token.start].chars().next_back() else { return (0, None) };
    let (kind, close) = match open {
        '"' => (1, '"'),
        '\'' => (2, '\''),
        '`' => (3, '`'),
        '„' | '“' => (4, '”'),
        '「' => (4, '」'),
        '«' => (4, '»'),
        '>' => (5, '<'),
        _ => return (0, None),
    };
    let rest = &text[token.start..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let end = line.find(close).map(|length| token.start + length);
    let whole = end.filter(|end| *end > token.end && *end - token.start <= 72).map(|end| token.start..end);
    (kind, whole)
}

/// Whether a word is unlike those of prose and code: a digit or a sign among letters, or a capital in the middle.
pub(crate) fn is_odd(value: &str) -> bool {
    let classes = value.bytes().fold(0, |all, byte| all | CLASSES[usize::from(byte)]);
    let letters = classes & (LOWER | UPPER | HIGH) != 0;
    let mixed = LOWER | UPPER | LINK;
    value.len() >= 5
        && ((letters && classes & (DIGIT | SIGN | BREAK) != 0)
            || classes & mixed == mixed
            || (classes & DIGIT != 0 && value.len() >= 8))
}

/// A PIN or a one-time code.
pub(crate) fn is_short_number(value: &str) -> bool {
    value.len() <= 8 && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether an ordinary word is long enough for a password.
pub(crate) fn is_long_word(value: &str) -> bool {
    value.len() >= 6 && value.chars().any(char::is_alphabetic)
}
