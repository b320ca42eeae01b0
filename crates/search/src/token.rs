//! Splits a text into tokens in one pass: words, identifiers with their parts, pairs of CJK characters.
//!
//! Does not know which words matter: a stop word is a token like any other, and is handled when a query is parsed.

use crate::fold::{is_cjk, push_folded};
use crate::stem::StemCache;
use std::ops::Range;

/// Longer runs are base64, image hashes and signatures, which no one types.
const MAX_TOKEN_BYTES: usize = 64;
/// An identifier with more parts than this is a minified line or a key, and is indexed only as a whole.
const MAX_PARTS: usize = 8;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word by itself, stemmed if it consists of plain English letters.
    Word,
    /// An identifier of several parts, joined and in lower case: `fooBar`, `foo_bar` and `foo-bar` are equal.
    Whole,
    /// One part of such an identifier.
    Piece,
    /// Two neighbouring CJK characters, or a single one that occurs alone.
    Cjk,
}

/// A token and its position.
#[derive(Debug)]
pub struct Token<'a> {
    pub text: &'a str,
    pub kind: Kind,
    pub place: Range<usize>,
}

/// Reusable state of the tokeniser: buffers and cached stems.
#[derive(Clone, Default)]
pub struct Scratch {
    /// Parts of the last identifier, in reverse order.
    pending: Vec<(Range<usize>, Kind)>,
    parts: Vec<Range<usize>>,
    buffer: String,
    spare: String,
    stems: StemCache,
    plain: bool,
}

impl Scratch {
    /// `plain`: words as written, in lower case, without stemming; for the ablation.
    pub fn without_stems(plain: bool) -> Scratch {
        Scratch { plain, ..Scratch::default() }
    }
}

/// The tokens of one text, in order.
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The last CJK character, and whether it was already part of a pair.
    cjk: Option<(usize, bool)>,
    scratch: &'a mut Scratch,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str, scratch: &'a mut Scratch) -> Tokens<'a> {
        scratch.pending.clear();
        Tokens { text, at: 0, cjk: None, scratch }
    }

    /// The next token; its text is valid until the next call.
    pub fn advance(&mut self) -> Option<Token<'_>> {
        let (kind, place) = self.next_place()?;
        Some(Token { text: &self.scratch.buffer, kind, place })
    }

    /// As `advance`, with the text left in the buffer.
    fn next_place(&mut self) -> Option<(Kind, Range<usize>)> {
        loop {
            let (place, kind) = match self.scratch.pending.pop() {
                Some(next) => next,
                None => match self.read_next()? {
                    (Some(place), kind) => (place, kind),
                    (None, _) => continue,
                },
            };
            self.scratch.fill_buffer(&self.text[place.clone()], kind);
            if !self.scratch.buffer.is_empty() {
                return Some((kind, place));
            }
        }
    }

    /// The text of the last token.
    pub(crate) fn current_text(&self) -> &str {
        &self.scratch.buffer
    }

    /// Reads one run or one CJK character. `Some((None, _))`: no token here, continue.
    fn read_next(&mut self) -> Option<(Option<Range<usize>>, Kind)> {
        if self.cjk.is_none() {
            let rest = &self.text.as_bytes()[self.at..];
            self.at +=
                rest.iter().take_while(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).count();
        }
        let Some(next) = self.text[self.at..].chars().next() else {
            return self.lone_cjk().map(|place| (Some(place), Kind::Cjk));
        };
        if is_cjk(next) {
            let from = self.at;
            self.at += next.len_utf8();
            let pair = self.cjk.replace((from, self.cjk.is_some()));
            return Some((pair.map(|(before, _)| before..self.at), Kind::Cjk));
        }
        if let Some(place) = self.lone_cjk() {
            return Some((Some(place), Kind::Cjk));
        }
        if !next.is_alphanumeric() {
            self.at += next.len_utf8();
            return Some((None, Kind::Word));
        }
        Some((self.read_word(), Kind::Word))
    }

    /// A CJK character that occurs alone is a token; one that was part of a pair is not repeated.
    fn lone_cjk(&mut self) -> Option<Range<usize>> {
        let (from, paired) = self.cjk.take()?;
        let length = self.text[from..].chars().next().map_or(0, char::len_utf8);
        (!paired).then_some(from..from + length)
    }

    /// Reads a run of word characters and joints. Returns a plain word; the whole and the parts of an identifier are
    /// left pending.
    fn read_word(&mut self) -> Option<Range<usize>> {
        let Scratch { parts, pending, .. } = &mut *self.scratch;
        parts.clear();
        let (place, next) = read_run(self.text, self.at, parts);
        self.at = next;
        if parts.len() <= 1 {
            return (place.len() <= MAX_TOKEN_BYTES && !place.is_empty()).then_some(place);
        }
        let fitting = parts.drain(..).rev().filter(|part| (2..=MAX_TOKEN_BYTES).contains(&part.len()));
        pending.extend(fitting.map(|part| (part, Kind::Piece)));
        if place.len() <= MAX_TOKEN_BYTES {
            pending.push((place, Kind::Whole));
        }
        None
    }
}

/// The first word of a text that is indexed under this term, as written: an index has only stems.
pub fn find_written<'t>(text: &'t str, term: &str) -> Option<&'t str> {
    let mut scratch = Scratch::default();
    let mut tokens = Tokens::new(text, &mut scratch);
    while let Some(token) = tokens.advance() {
        if token.text == term {
            return Some(&text[token.place]);
        }
    }
    None
}

impl Scratch {
    /// Puts a token's text into the buffer: lower case, without joints and accents, stemmed where applicable.
    fn fill_buffer(&mut self, text: &str, kind: Kind) {
        self.buffer.clear();
        match kind {
            Kind::Cjk => self.buffer.push_str(text),
            Kind::Whole => fill_whole(text, &mut self.buffer),
            Kind::Word | Kind::Piece => {
                push_folded(text, &mut self.buffer);
                if !self.plain && is_stemmable(&self.buffer) {
                    self.spare.clear();
                    self.stems.push_stem(&self.buffer, &mut self.spare);
                    std::mem::swap(&mut self.buffer, &mut self.spare);
                }
            }
        }
    }
}

/// English letters only, and enough of them to have an ending: `css` and `aws` are not stemmed.
fn is_stemmable(word: &str) -> bool {
    word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Removes joints, so that all spellings of a name are equal, except between digits: 1.23 is not 12.3.
fn fill_whole(text: &str, buffer: &mut String) {
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
    push_folded(text, buffer);
    if !numeric {
        buffer.retain(char::is_alphanumeric);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Joint,
    Other,
}

/// Reads a run of word characters: returns its range and where to continue; its parts are put into `parts`.
fn read_run(text: &str, from: usize, parts: &mut Vec<Range<usize>>) -> (Range<usize>, usize) {
    if let Some(end) = plain_word(text.as_bytes(), from) {
        return (from..end, end);
    }
    let end = run_end(text, from);
    let (stop, next) = split_apostrophe(text, from, end);
    split_identifier(text, &(from..stop), parts);
    (from..stop, next)
}

/// The end of a plain word, without decoding characters for the common case: letters of which at most the first is a
/// capital, followed by nothing that would make an identifier.
fn plain_word(bytes: &[u8], from: usize) -> Option<usize> {
    let capital = usize::from(bytes[from].is_ascii_uppercase());
    let end =
        from + capital + bytes[from + capital..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let at = |place: usize| bytes.get(place).copied().unwrap_or(b' ');
    let ends = |byte: u8| {
        byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'.' | b'\'')
    };
    let ended = ends(at(end)) || (matches!(at(end), b'.' | b'-') && ends(at(end + 1)));
    (end > from && ended).then_some(end)
}

fn char_class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '_' | '-' | '.' => Class::Joint,
        _ if is_cjk(c) => Class::Other,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphanumeric() => Class::Lower,
        _ => Class::Other,
    }
}

/// The end of word characters joined by single joints.
fn run_end(text: &str, from: usize) -> usize {
    let mut end = from;
    let mut rest = text[from..].char_indices().peekable();
    while let Some((offset, c)) = rest.next() {
        match char_class(c) {
            Class::Other => break,
            Class::Joint => {
                let follows = rest.peek().map_or(Class::Other, |(_, c)| char_class(*c));
                // `__init__` and `a__b` are one name, `wait...` and `a--b` are not.
                let holds = if c == '_' { follows != Class::Other } else { follows != Class::Joint };
                if !holds || follows == Class::Other {
                    break;
                }
            }
            _ => end = from + offset + c.len_utf8(),
        }
    }
    end
}

/// `Anna's` becomes Anna, `we'll` becomes we, and `don't` is dropped, because no one searches for it. Returns the end
/// of the word and where to continue.
fn split_apostrophe(text: &str, from: usize, end: usize) -> (usize, usize) {
    let rest = &text[end..];
    let mark = rest.chars().next().filter(|c| matches!(c, '\'' | '’')).map_or(0, char::len_utf8);
    if mark == 0 || !text[from..end].bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return (end, end);
    }
    let tail = &rest[mark..];
    let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
    if letters == 1 && matches!(tail.as_bytes()[0], b't' | b'T') {
        return (from, end + mark + letters);
    }
    let known = ["s", "re", "ve", "ll", "d", "m"];
    if letters > 0 && known.iter().any(|ending| ending.eq_ignore_ascii_case(&tail[..letters])) {
        return (end, end + mark + letters);
    }
    (end, end)
}

/// Splits an identifier into parts; one or none if there is nothing to split.
fn split_identifier(text: &str, place: &Range<usize>, parts: &mut Vec<Range<usize>>) {
    let word = &text[place.clone()];
    if is_uuid(word) {
        parts.extend([place.start..place.start + 8, place.end..place.end]);
        return;
    }
    let mut from = place.start;
    for piece in word.split(['_', '-', '.']) {
        split_camel_case(text, from..from + piece.len(), parts);
        from += piece.len() + 1;
    }
}

/// Splits before a capital that begins a word, and between letters and digits.
fn split_camel_case(text: &str, place: Range<usize>, found: &mut Vec<Range<usize>>) {
    if place.is_empty() {
        return;
    }
    let before = found.len();
    let mut from = place.start;
    let mut digits = 0;
    let mut last = Class::Other;
    for (offset, c) in text[place.clone()].char_indices() {
        let at = place.start + offset;
        let now = char_class(c);
        let border = match (last, now) {
            (Class::Lower, Class::Upper) => true,
            (Class::Digit, Class::Upper | Class::Lower) | (Class::Upper | Class::Lower, Class::Digit) => {
                digits += 1;
                true
            }
            // The last capital of `HTTPServer` belongs to the next part.
            (Class::Upper, Class::Lower) => {
                let capital = text[..at].chars().next_back().map_or(at, |c| at - c.len_utf8());
                if capital > from {
                    found.push(from..capital);
                    from = capital;
                }
                false
            }
            _ => false,
        };
        if border && at > from {
            found.push(from..at);
            from = at;
        }
        last = now;
    }
    found.push(from..place.end);
    let many = found.len() - before;
    // Alternating letters and digits are a hash, and many short parts are base64: only the whole is useful.
    if digits > 2 || many > MAX_PARTS || (many > 3 && place.len() * 2 < many * 5) {
        found.truncate(before);
        found.push(place);
    }
}

/// Sessions and messages have such IDs; people type the first eight characters.
fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all_tokens(text: &str) -> Vec<String> {
        let mut scratch = Scratch::default();
        let mut tokens = Tokens::new(text, &mut scratch);
        let mut found = Vec::new();
        while let Some(token) = tokens.advance() {
            found.push(token.text.to_owned());
        }
        found
    }

    #[test]
    fn texts_are_split_into_tokens() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("The caching layers", &["the", "cach", "layer"]),
            ("getUserById", &["getuserbyid", "get", "user", "by", "id"]),
            ("get_user_by_id", &["getuserbyid", "get", "user", "by", "id"]),
            ("dry-run", &["dryrun", "dry", "run"]),
            ("--dry-run", &["dryrun", "dry", "run"]),
            ("HTTPServer", &["httpserver", "http", "server"]),
            ("parseJSON", &["parsejson", "pars", "json"]),
            ("log4j", &["log4j", "log"]),
            ("utf8", &["utf8", "utf"]),
            ("http2xx", &["http2xx", "http", "xx"]),
            ("crates/search/src/lib.rs:12", &["crate", "search", "src", "librs", "lib", "rs", "12"]),
            ("std::collections::HashMap", &["std", "collect", "hashmap", "hash", "map"]),
            ("tokio.spawn()", &["tokiospawn", "tokio", "spawn"]),
            ("127.0.0.1", &["127.0.0.1", "127"]),
            ("v0.27.0", &["v0270", "27"]),
            ("2026-11-15", &["2026-11-15", "2026", "11", "15"]),
            ("a3f9c2d4e5", &["a3f9c2d4e5"]),
            ("aGVsbG8gd29ybGQ", &["agvsbg8gd29ybgq"]),
            ("Anna's dog didn't, we'll", &["anna", "dog", "we"]),
            ("end. Next", &["end", "next"]),
            ("wait...what", &["wait", "what"]),
            ("__init__.py", &["initpy", "init", "py"]),
            ("虚拟列表", &["虚拟", "拟列", "列表"]),
            ("卡", &["卡"]),
            ("React组件", &["react", "组件"]),
            ("用React写", &["用", "react", "写"]),
            ("上限改为512，否则", &["上限", "限改", "改为", "512", "否则"]),
            ("Café Zürich", &["cafe", "zurich"]),
            ("Привет мир", &["привет", "мир"]),
            ("aws css ios", &["aws", "css", "ios"]),
            ("0f8fad5b-d9cb-469f-a165-70867728950e", &["0f8fad5bd9cb469fa16570867728950e", "0f8fad5b"]),
        ];
        for (text, tokens) in cases {
            assert_eq!(all_tokens(text), *tokens, "{text}");
        }
    }

    #[test]
    fn runs_that_no_one_types_are_skipped() {
        assert_eq!(all_tokens(&format!("a {} b", "Q".repeat(70))), ["a", "b"]);
        assert_eq!(all_tokens(&format!("a {} b", "é".repeat(40))), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn positions_are_inside_the_text(text in "[a-zA-Z0-9_.'’é虚拟卡 /-]{0,60}|.{0,40}") {
            let mut scratch = Scratch::default();
            let mut tokens = Tokens::new(&text, &mut scratch);
            while let Some(token) = tokens.advance() {
                prop_assert!(text.get(token.place.clone()).is_some());
                prop_assert!(!token.text.is_empty());
            }
        }

        #[test]
        fn a_word_yields_the_same_token_alone_and_in_a_text(word in "[a-z]{1,12}|[\u{4e00}-\u{4eff}]{2}") {
            let (alone, within) = (all_tokens(&word), all_tokens(&format!("x, {word} y")));
            prop_assert_eq!(within.get(1), alone.first());
        }
    }
}
