//! Describes what stands around a value on its line: signs, options, arguments, words.
//!
//! Does not know the value.

use crate::keywords::KeywordTable;
use crate::words::{WordTable, for_each_word};
use std::ops::Range;
use std::sync::LazyLock;

/// The line of a value, as far as it is near.
pub(crate) fn line_around(text: &str, at: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let from = at.start.saturating_sub(160);
    let start = memchr::memrchr(b'\n', &bytes[from..at.start]).map_or(from, |found| from + found + 1);
    let to = (at.end + 120).min(bytes.len());
    let end = memchr::memchr(b'\n', &bytes[at.end..to]).map_or(to, |found| at.end + found);
    text.ceil_char_boundary(start)..text.floor_char_boundary(end)
}

/// Whether a line is typed into a shell.
pub(crate) fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("$ ") || line.starts_with("# ") || line.starts_with("> ") || line.starts_with("❯")
}

/// The sign or letter at one end of the text between a name and a value.
pub(crate) fn join_class(c: char) -> u8 {
    match c {
        '=' => 1,
        ':' | '：' => 2,
        ',' | '，' => 3,
        '(' => 4,
        '>' => 5,
        '|' => 6,
        '-' => 7,
        '{' | '[' => 8,
        '\n' => 9,
        '.' | '。' => 10,
        '0'..='9' => 11,
        'a'..='z' | 'A'..='Z' => 12,
        '\\' => 13,
        '/' => 14,
        '?' => 15,
        c if c.is_alphabetic() => 16,
        ')' | ']' | '}' => 17,
        ';' => 18,
        '#' | '*' => 19,
        _ => 20,
    }
}

/// The sign right after a value.
pub(crate) fn next_class(c: char) -> u8 {
    match c {
        ' ' | '\t' => 1,
        '\n' | '\r' => 2,
        '"' | '\'' | '`' => 3,
        '(' => 4,
        '.' => 5,
        ',' => 6,
        ';' => 7,
        ')' => 8,
        '}' | ']' => 9,
        '<' => 10,
        '|' => 11,
        '[' | '{' => 12,
        '@' => 13,
        '>' => 14,
        c if !c.is_ascii() => 15,
        _ => 16,
    }
}

/// What follows after blanks: an operator says that the value was an expression.
pub(crate) fn continuation_class(rest: &str) -> u8 {
    let rest = rest.trim_start_matches([' ', '"', '\'', '`']);
    match rest.chars().next() {
        None | Some('\n') => 0,
        Some('=' | '+' | '*' | '/' | '?' | '&') => 1,
        Some('(' | '[' | '{') => 2,
        Some('a'..='z') => 3,
        Some('A'..='Z') => 4,
        Some('0'..='9') => 5,
        Some('-') => 6,
        Some('.' | ',' | ';') => 7,
        Some(')' | ']' | '}') => 8,
        Some('|' | '>' | '<') => 9,
        Some(':') => 10,
        Some(_) => 11,
    }
}

/// The first or last character of a value.
pub(crate) fn char_class(c: Option<char>) -> u8 {
    match c {
        None => 0,
        Some('a'..='z') => 1,
        Some('A'..='Z') => 2,
        Some('0'..='9') => 3,
        Some('-') => 4,
        Some('_') => 5,
        Some('$' | '%') => 6,
        Some('#' | '@') => 7,
        Some('/' | '\\' | '~') => 8,
        Some('.' | ':') => 9,
        Some('*') => 10,
        Some('!' | '?' | '+' | '^') => 11,
        Some('=' | '&') => 12,
        Some(c) if !c.is_ascii() => 13,
        Some(_) => 14,
    }
}

#[rustfmt::skip]
const COPULAS: &[&str] = &[" is ", " are ", " was ", " to ", " ist ", " lautet", " lauten", " es ", " est ", " è ", " é ", " jest ", " to: ", "是", "为", "為", "は", "는", "은", "를", " — ", " это ", " - ", " called ", " auf ", " as ", " with ", " mit ", "が"];

/// Whether the text between says that the one is the other.
pub(crate) fn has_copula(between: &str) -> bool {
    static TABLE: LazyLock<KeywordTable> = LazyLock::new(|| KeywordTable::new(COPULAS.to_vec()));
    between.len() >= 3 && TABLE.any(between.as_bytes())
}

/// The option of a command right before the value: `-p`, `--secret`.
pub(crate) fn option_class(before: &str) -> u8 {
    let before = before.trim_end_matches([' ', '"', '\'', '=', ',']);
    let last = before.rsplit([' ', '"', '\'', '\t']).next().unwrap_or_default();
    match last.as_bytes() {
        [b'-', b'-', ..] => 2,
        [b'-', letter] => match letter {
            b'p' => 3,
            b'P' => 4,
            b'a' => 5,
            b'A' => 6,
            b'k' => 7,
            b'w' => 8,
            b'x' | b'X' => 9,
            b'u' | b'U' => 10,
            b't' | b'T' => 11,
            _ => 12,
        },
        [b'-', ..] => 13,
        [b'/', _, b':', ..] => 14,
        _ => 0,
    }
}

/// The position among the arguments of a call; 0 outside of one.
pub(crate) fn argument_index(before: &str) -> u8 {
    before.rfind('(').map_or(0, |open| (1 + before[open..].matches(',').count()).min(6) as u8)
}

/// What stands before a value that is the second of a pair: `user:`, `admin / `.
pub(crate) fn pair_class(before: &str) -> u8 {
    let trimmed = before.trim_end_matches([' ', '"', '\'', '`']);
    let spaced = u8::from(trimmed.len() < before.len());
    match trimmed.as_bytes() {
        [.., b'/'] => 1 + spaced,
        [.., letter, b':'] if letter.is_ascii_alphanumeric() => 3 + spaced,
        [.., b'|'] => 5,
        [.., b'>'] => 6,
        [.., b'('] => 7,
        [.., b','] => 8 + spaced,
        [] => 10,
        _ => 0,
    }
}

/// Words of the line before the value that speak for or against a secret.
#[derive(Default)]
pub(crate) struct LineWords {
    pub(crate) harmless: u8,
    pub(crate) login: u8,
    pub(crate) error: u8,
    pub(crate) previous: u8,
    pub(crate) strong: u8,
}

const ST: u8 = 1;
const HA: u8 = 2;
const LO: u8 = 4;
const ER: u8 = 8;

/// Words of a line, sorted: what they speak for (a secret, something harmless, a login, an error or code), and their
/// number where it matters that they stand right before the value.
#[rustfmt::skip]
const LINE_WORDS: &[(&str, u8, u8)] = &[
    ("a", 0, 20), ("accessor", HA, 0), ("account", LO, 0), ("admin", LO, 27), ("and", 0, 21), ("apikey", ST, 0),
    ("as", 0, 17), ("at", 0, 24), ("auth", 0, 16), ("benutzer", LO, 0), ("branch", HA, 0), ("build", HA, 0),
    ("by", 0, 29), ("cache", HA, 0), ("cannot", ER, 0), ("check", ER, 0), ("checked", HA, 0), ("checksum", HA, 0),
    ("class", HA, 0), ("client", LO, 0), ("column", HA, 0), ("commit", HA, 4), ("connect", LO, 0), ("const", ER, 0),
    ("contenthash", HA, 0), ("count", HA, 0), ("credentials", ST, 0), ("creds", ST, 0), ("curl", LO, 0), ("database", LO, 0),
    ("db", LO, 0), ("def", ER, 0), ("default", 0, 26), ("digest", HA, 0), ("email", LO, 0), ("enc", HA, 0),
    ("env", LO, 0), ("error", ER, 0), ("es", 0, 36), ("est", 0, 37), ("etag", HA, 0), ("example", HA, 0),
    ("expected", ER, 0), ("expired", ER, 0), ("expires", HA, 0), ("export", LO, 0), ("failed", ER, 0), ("file", HA, 0),
    ("fingerprint", HA, 0), ("fn", HA, 0), ("for", 0, 7), ("foreign", HA, 0), ("forgot", ER, 0), ("from", 0, 23),
    ("function", HA, 0), ("hash", HA, 0), ("host", LO, 0), ("http", HA, 0), ("id", HA, 6), ("ids", HA, 0),
    ("if", ER, 0), ("import", HA, 0), ("in", 0, 8), ("index", HA, 0), ("integrity", HA, 0), ("interface", HA, 0),
    ("invalid", ER, 0), ("is", 0, 1), ("ist", 0, 31), ("kb", HA, 0), ("kennwort", ST, 0), ("key", 0, 13),
    ("lautet", 0, 32), ("ldap", LO, 0), ("lease", HA, 0), ("let", ER, 0), ("line", HA, 0), ("login", LO, 0),
    ("max", HA, 0), ("mb", HA, 0), ("md5", HA, 0), ("mdp", ST, 0), ("merkle", HA, 0), ("missing", ER, 0),
    ("mit", 0, 33), ("ms", HA, 0), ("must", ER, 0), ("mysql", LO, 0), ("name", HA, 0), ("new", 0, 38),
    ("nonce", HA, 0), ("of", 0, 22), ("pass", ST, 11), ("passphrase", ST, 0), ("passwd", ST, 0), ("password", ST, 12),
    ("passwort", ST, 0), ("path", HA, 0), ("policy", HA, 0), ("port", HA, 0), ("primary", HA, 0), ("psql", LO, 0),
    ("pub", HA, 0), ("public", HA, 0), ("pw", ST, 30), ("pwd", ST, 0), ("redis", LO, 0), ("req", HA, 0),
    ("request", HA, 0), ("require", HA, 0), ("required", ER, 0), ("reset", ER, 0), ("resolved", HA, 0), ("return", ER, 0),
    ("root", LO, 28), ("row", HA, 0), ("secret", ST, 15), ("senha", ST, 0), ("serial", HA, 0), ("server", LO, 0),
    ("set", 0, 35), ("sha", HA, 0), ("sha1", HA, 0), ("sha256", HA, 3), ("sha512", HA, 0), ("should", ER, 0),
    ("site", HA, 0), ("sitekey", HA, 0), ("size", HA, 0), ("smtp", LO, 0), ("span", HA, 0), ("ssh", LO, 0),
    ("stored", HA, 0), ("string", 0, 39), ("submodule", HA, 0), ("test", HA, 0), ("the", 0, 19), ("to", 0, 2),
    ("token", ST, 14), ("total", HA, 0), ("trace", HA, 0), ("type", HA, 0), ("uid", LO, 0), ("unexpected", ER, 0),
    ("usage", HA, 0), ("use", 0, 34), ("user", LO, 9), ("username", LO, 0), ("usr", LO, 0), ("usuario", LO, 0),
    ("utente", LO, 0), ("uuid", HA, 0), ("validate", ER, 0), ("value", 0, 18), ("vault", HA, 0), ("version", HA, 5),
    ("was", 0, 25), ("wifi", LO, 0), ("with", 0, 10), ("wlan", LO, 0), ("wrong", ER, 0), ("用户", LO, 0),
    ("账号", LO, 0),
];

impl LineWords {
    pub(crate) fn of(line: &str) -> LineWords {
        static TABLE: LazyLock<WordTable> =
            LazyLock::new(|| WordTable::new(LINE_WORDS.iter().map(|(word, _, _)| *word)));
        let mut words = LineWords::default();
        for_each_word(line, false, |word| {
            let (bits, number) = TABLE.find(word).map_or((0, 0), |at| (LINE_WORDS[at].1, LINE_WORDS[at].2));
            words.harmless = (words.harmless + u8::from(bits & HA != 0)).min(3);
            words.strong = (words.strong + u8::from(bits & ST != 0)).min(3);
            words.login = (words.login + u8::from(bits & LO != 0)).min(3);
            words.error = (words.error + u8::from(bits & ER != 0)).min(3);
            words.previous = number;
        });
        words
    }
}
