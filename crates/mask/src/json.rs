//! Finds the strings in a JSON text, their positions, and the key of each value.
//!
//! Does not know what a secret is. Nesting uses heap memory, never the stack.

use std::borrow::Cow;
use std::ops::Range;

/// A string without its quotes.
pub(crate) struct JsonString {
    pub(crate) at: Range<usize>,
    /// For a value of an object, the index of the preceding string that is its key.
    pub(crate) key: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Next,
}

/// All strings in the text, in order; `None` if the text is not JSON.
pub(crate) fn find_strings(json: &str) -> Option<Vec<JsonString>> {
    let mut reader = Reader {
        json: json.as_bytes(),
        at: 0,
        inside: Vec::new(),
        expected: Expected::Value,
        key: None,
        texts: Vec::new(),
    };
    while reader.read_token()? {}
    Some(reader.texts)
}

struct Reader<'a> {
    json: &'a [u8],
    at: usize,
    /// The open containers: `true` for an object, `false` for an array.
    inside: Vec<bool>,
    expected: Expected,
    key: Option<usize>,
    texts: Vec<JsonString>,
}

impl Reader<'_> {
    /// Reads one token; false at the end, `None` if the token is invalid here.
    fn read_token(&mut self) -> Option<bool> {
        self.skip_blanks();
        let Some(&byte) = self.json.get(self.at) else {
            return (self.expected == Expected::Next && self.inside.is_empty()).then_some(false);
        };
        match (self.expected, byte) {
            (Expected::Next, b',') if !self.inside.is_empty() => {
                self.at += 1;
                self.expected =
                    if self.inside.last() == Some(&true) { Expected::Key } else { Expected::Value };
            }
            (Expected::Next | Expected::KeyOrEnd, b'}') if self.inside.last() == Some(&true) => {
                self.close_container();
            }
            (Expected::Next | Expected::ValueOrEnd, b']') if self.inside.last() == Some(&false) => {
                self.close_container();
            }
            (Expected::Key | Expected::KeyOrEnd, b'"') => self.read_key()?,
            (Expected::Value | Expected::ValueOrEnd, _) => self.read_value(byte)?,
            _ => return None,
        }
        Some(true)
    }

    fn skip_blanks(&mut self) {
        let rest = &self.json[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
    }

    fn close_container(&mut self) {
        self.at += 1;
        self.inside.pop();
        self.key = None;
        self.expected = Expected::Next;
    }

    fn read_key(&mut self) -> Option<()> {
        let at = self.read_string()?;
        self.texts.push(JsonString { at, key: None });
        self.key = Some(self.texts.len() - 1);
        self.skip_blanks();
        (self.json.get(self.at) == Some(&b':')).then_some(())?;
        self.at += 1;
        self.expected = Expected::Value;
        Some(())
    }

    fn read_value(&mut self, byte: u8) -> Option<()> {
        let key = self.key.take();
        self.expected = Expected::Next;
        match byte {
            b'"' => {
                let at = self.read_string()?;
                self.texts.push(JsonString { at, key });
            }
            b'{' | b'[' => {
                self.at += 1;
                self.inside.push(byte == b'{');
                self.expected = if byte == b'{' { Expected::KeyOrEnd } else { Expected::ValueOrEnd };
            }
            b'-' | b'0'..=b'9' => self.read_number()?,
            _ => {
                let word = [&b"true"[..], b"false", b"null"]
                    .into_iter()
                    .find(|word| self.json[self.at..].starts_with(word))?;
                self.at += word.len();
            }
        }
        Some(())
    }

    fn read_string(&mut self) -> Option<Range<usize>> {
        let from = self.at + 1;
        let mut at = from;
        loop {
            let stop = at + memchr::memchr2(b'"', b'\\', &self.json[at..])?;
            if self.json[at..stop].iter().any(|byte| *byte < b' ') {
                return None;
            }
            if self.json[stop] == b'"' {
                self.at = stop + 1;
                return Some(from..stop);
            }
            at = stop + escape_length(&self.json[stop..])?;
        }
    }

    fn read_number(&mut self) -> Option<()> {
        let digits = |reader: &mut Self| {
            let count = reader.json[reader.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            reader.at += count;
            (count > 0).then_some(())
        };
        let take = |reader: &mut Self, any: &[u8]| {
            let there = reader.json.get(reader.at).is_some_and(|byte| any.contains(byte));
            reader.at += usize::from(there);
            there
        };
        take(self, b"-");
        if !take(self, b"0") {
            digits(self)?;
        }
        if take(self, b".") {
            digits(self)?;
        }
        if take(self, b"eE") {
            take(self, b"+-");
            digits(self)?;
        }
        Some(())
    }
}

/// The length of the escape at the start of the bytes.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// One character of an escaped string, and its length there in bytes.
fn read_char(raw: &str) -> Option<(char, usize)> {
    let bytes = raw.as_bytes();
    if bytes.first()? != &b'\\' {
        return raw.chars().next().map(|c| (c, c.len_utf8()));
    }
    let hex = |at: usize| u32::from_str_radix(raw.get(at..at + 4)?, 16).ok();
    let plain = match bytes.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = hex(2)?;
            let second = raw.get(6..8).filter(|mark| *mark == "\\u").and_then(|_| hex(8));
            let pair =
                second.filter(|low| (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(low));
            if let Some(low) = pair {
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00)).map(|c| (c, 12));
            }
            return Some((char::from_u32(first).unwrap_or('\u{fffd}'), 6));
        }
        other => char::from(*other),
    };
    Some((plain, 2))
}

/// The string with its escapes decoded.
pub(crate) fn decode_string(raw: &str) -> Cow<'_, str> {
    let Some(mut escape) = memchr::memchr(b'\\', raw.as_bytes()) else { return Cow::Borrowed(raw) };
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    // Copied piece by piece: character by character took a tenth of masking.
    while let Some((c, width)) = read_char(&rest[escape..]) {
        text.push_str(&rest[..escape]);
        text.push(c);
        rest = &rest[escape + width..];
        escape = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
    }
    text.push_str(&rest[..escape]);
    Cow::Owned(text)
}

/// Translates positions in the decoded string into positions in the escaped one. They must be sorted: the string is
/// traversed once.
pub(crate) fn to_escaped_positions(raw: &str, places: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut decoded_len, mut at) = (0, 0);
    let one = |place: usize| {
        while decoded_len < place
            && let Some((c, width)) = read_char(&raw[at..])
        {
            decoded_len += c.len_utf8();
            at += width;
        }
        at
    };
    places.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_distinguished_from_other_text() {
        for json in
            ["1", "-0.5e+3", "\"a\"", "[]", "{}", " [1, {\"a\": null}, true] ", r#"{"a":{"b":["\u00e9\n"]}}"#]
        {
            assert!(find_strings(json).is_some(), "{json}");
        }
        for text in [
            "",
            "01",
            "1.",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "[1}",
            "\"a",
            "\"\\x\"",
            "{} {}",
            "nul",
            "\"\n\"",
        ] {
            assert!(find_strings(text).is_none(), "{text}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(find_strings(&deep).is_some());
    }

    #[test]
    fn a_value_knows_its_key() {
        let json = r#"{"a": "x", "b": ["y"], "c": {"d": "z"}}"#;
        let texts = find_strings(json).unwrap();
        let keys: Vec<_> = texts
            .iter()
            .filter_map(|it| Some((&json[it.at.clone()], &json[texts[it.key?].at.clone()])))
            .collect();
        assert_eq!(keys, [("x", "a"), ("z", "d")]);
    }

    #[test]
    fn decoded_positions_map_to_escaped_positions() {
        let raw = r"a\u00e9\nb\ud83d\ude00c";
        assert_eq!(decode_string(raw), "aé\nb😀c");
        let places = to_escaped_positions(raw, [4, 9, 10].into_iter());
        assert_eq!(&raw[places[0]..places[1]], r"b\ud83d\ude00");
        assert_eq!(&raw[places[1]..places[2]], "c");
    }
}
