//! Lazy parsing of one JSON record: iterate over its keys, take the few values that matter, skip the rest
//! without decoding. Skipping is a loop, not a recursion: two million brackets use no stack.
//!
//! Lenient on purpose (does not validate numbers or match kinds of brackets): a record that a strict parser
//! rejects may still contain a tool call. Never crosses a line end.

use memchr::{memchr, memchr2};
use serde_json::value::RawValue;
use std::fmt::Write;

/// The bytes are not valid JSON at the position where they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

pub type JsonResult<T> = Result<T, Malformed>;

#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    #[inline]
    pub fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Enters an object. Call `next_key` until it returns None.
    #[inline]
    pub fn enter_object(&mut self) -> JsonResult<()> {
        self.skip_blanks();
        self.expect_byte(b'{')
    }

    /// The next key of the object the cursor is in; the cursor is then at its value.
    #[inline]
    pub fn next_key(&mut self) -> JsonResult<Option<&'a [u8]>> {
        loop {
            self.skip_blanks();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(None);
                }
                _ => break,
            }
        }
        let key = self.read_string()?;
        self.skip_blanks();
        self.expect_byte(b':')?;
        self.skip_blanks();
        Ok(Some(key))
    }

    /// Enters an array; false if the value is not one, and then it is not consumed.
    #[inline]
    pub fn enter_array(&mut self) -> bool {
        self.skip_blanks();
        if self.peek() == b'[' {
            self.at += 1;
            return true;
        }
        false
    }

    /// Whether the array the cursor is in has another item; the cursor is then at it.
    #[inline]
    pub fn next_item(&mut self) -> JsonResult<bool> {
        if self.at > 0 && self.bytes.get(self.at - 1) == Some(&b'"') {
            self.check_after_string()?;
        }
        loop {
            self.skip_blanks();
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(false);
                }
                0 => return Err(Malformed),
                _ => return Ok(true),
            }
        }
    }

    #[inline]
    fn expect_byte(&mut self, byte: u8) -> JsonResult<()> {
        if self.peek() == byte {
            self.at += 1;
            return Ok(());
        }
        Err(Malformed)
    }

    /// The content of a string, escapes untouched. Searches only for quotes: the backslashes before a quote
    /// show whether it is escaped, so that the `
    /// `s of tool output do not stop the vector search.
    #[inline]
    pub fn read_string(&mut self) -> JsonResult<&'a [u8]> {
        self.expect_byte(b'"')?;
        let start = self.at;
        if let Some(end) = short_string_end(&self.bytes[start..]) {
            self.at = start + end + 1;
            return Ok(&self.bytes[start..start + end]);
        }
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).ok_or(Malformed)?;
            let quote = from + memchr2(b'"', b'\n', rest).ok_or(Malformed)?;
            if self.bytes[quote] == b'\n' {
                return Err(Malformed);
            }
            if quote == start || self.bytes[quote - 1] != b'\\' || !is_escaped(&self.bytes[start..quote]) {
                self.at = quote + 1;
                return Ok(&self.bytes[start..quote]);
            }
            from = quote + 1;
        }
    }

    /// Letters behind a string mean that a splice has swapped the inside and outside of strings.
    #[inline]
    fn check_after_string(&self) -> JsonResult<()> {
        match self.peek() {
            b',' | b':' | b']' | b'}' | b'"' | b' ' | b'\t' | b'\r' => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// The content of a string, or empty for any other value (which is skipped).
    #[inline]
    pub fn string_or_skip(&mut self) -> JsonResult<&'a [u8]> {
        self.skip_blanks();
        if self.peek() == b'"' {
            return self.read_string();
        }
        self.skip_value()?;
        Ok(b"")
    }

    #[inline]
    pub fn read_number(&mut self) -> JsonResult<f64> {
        let raw = self.skip_value()?;
        Ok(std::str::from_utf8(raw).ok().and_then(|s| s.parse().ok()).unwrap_or(0.0))
    }

    #[inline]
    pub fn read_bool(&mut self) -> JsonResult<bool> {
        Ok(self.skip_value()? == b"true")
    }

    /// Skips any value and returns its bytes.
    #[inline]
    pub fn skip_value(&mut self) -> JsonResult<&'a [u8]> {
        self.skip_blanks();
        let start = self.at;
        match self.peek() {
            b'"' => drop(self.read_string()?),
            b'{' | b'[' => self.skip_nested()?,
            _ => self.skip_scalar()?,
        }
        Ok(&self.bytes[start..self.at])
    }

    #[inline]
    fn skip_nested(&mut self) -> JsonResult<()> {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                b'"' => {
                    self.read_string()?;
                    self.check_after_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'\n' | 0 => return Err(Malformed),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    #[inline]
    fn skip_scalar(&mut self) -> JsonResult<()> {
        let start = self.at;
        while !matches!(
            self.peek(),
            b',' | b'}' | b']' | b'\n' | b' ' | b'\r' | b'\t' | b'"' | b'{' | b'[' | 0
        ) {
            self.at += 1;
        }
        if self.at == start { Err(Malformed) } else { Ok(()) }
    }

    /// Whether only blanks follow up to the end of the line.
    #[inline]
    pub fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        self.at >= self.bytes.len() || self.bytes[self.at] == b'\n'
    }
}

/// The end of a string of less than 16 bytes without escapes. Keys and words are that short, and checking two
/// words of eight bytes takes a quarter of the time of a call to the vector search.
#[inline]
fn short_string_end(bytes: &[u8]) -> Option<usize> {
    for (n, word) in bytes.get(..16)?.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let quote = find_byte_in_word(word, b'"');
        if find_byte_in_word(word, b'\\').min(find_byte_in_word(word, b'\n')) < quote {
            return None;
        }
        if quote < 8 {
            return Some(n * 8 + quote);
        }
    }
    None
}

/// The index of the first such byte among eight, or 8.
#[inline]
fn find_byte_in_word(word: u64, byte: u8) -> usize {
    let differs = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    let zeros = differs.wrapping_sub(0x0101_0101_0101_0101) & !differs & 0x8080_8080_8080_8080;
    zeros.trailing_zeros() as usize / 8
}

/// Whether the character after these bytes of a string is escaped: by an odd number of backslashes.
#[inline]
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

/// The bytes of the complete value at the start of `bytes`.
#[inline]
pub fn first_value(bytes: &[u8]) -> JsonResult<&[u8]> {
    Cursor::new(bytes, 0).skip_value()
}

/// The value of one key of an object; stops at the first match.
#[inline]
pub fn get_value<'a>(object: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut cursor = Cursor::new(object, 0);
    cursor.enter_object().ok()?;
    while let Some(found) = cursor.next_key().ok()? {
        let value = cursor.skip_value().ok()?;
        if found == key {
            return Some(value);
        }
    }
    None
}

/// The decoded text of one key, if it is a string.
#[inline]
pub fn get_text(object: &[u8], key: &[u8]) -> Option<String> {
    let raw = get_value(object, key)?;
    (raw.first() == Some(&b'"')).then(|| decode_string(strip_quotes(raw)))
}

/// A string value without its quotes; any other value as it is.
#[inline]
pub fn strip_quotes(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|r| r.strip_suffix(b"\"")).unwrap_or(raw)
}

/// Decodes the content of a JSON string. Invalid Unicode (bad UTF-8, half a surrogate pair) becomes U+FFFD.
#[inline]
pub fn decode_string(raw: &[u8]) -> String {
    if memchr(b'\\', raw).is_none() {
        return decode_utf8(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(slash) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..slash]);
        rest = push_unescaped(&rest[slash + 1..], &mut out);
    }
    out.extend_from_slice(rest);
    match String::from_utf8(out) {
        Ok(text) => text,
        Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
    }
}

/// Bytes as text. Validating first is several times as fast as replacing, and nearly always enough.
#[inline]
fn decode_utf8(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_string(),
        Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}

/// Decodes one escape, whose backslash is already consumed; returns the bytes after it.
#[inline]
fn push_unescaped<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(&c) = rest.first() else { return rest };
    let plain = match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' => return push_unescaped_unicode(&rest[1..], out),
        other => other,
    };
    out.push(plain);
    &rest[1..]
}

#[inline]
fn push_unescaped_unicode<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(high) = parse_hex4(rest) else {
        out.extend_from_slice("\u{fffd}".as_bytes());
        return rest;
    };
    let after = &rest[4..];
    let (code, rest) = match (high, after) {
        (0xd800..=0xdbff, [b'\\', b'u', low @ ..]) => match parse_hex4(low) {
            Some(low_half @ 0xdc00..=0xdfff) => {
                (0x10000 + ((high - 0xd800) << 10) + (low_half - 0xdc00), &low[4..])
            }
            _ => (high, after),
        },
        _ => (high, after),
    };
    let c = char::from_u32(code).unwrap_or('\u{fffd}');
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

#[inline]
fn parse_hex4(b: &[u8]) -> Option<u32> {
    let digits = b.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Values nested deeper than this are more than most JSON parsers accept.
const MAX_DEPTH: usize = 500;

/// A value's bytes as JSON text that may be printed. Invalid Unicode is replaced, raw control characters are
/// escaped; a value that still is not JSON, or is nested too deeply, becomes a string of its text.
#[inline]
pub fn to_printable(raw: &[u8]) -> String {
    let text = decode_utf8(raw);
    let is_string = raw.len() > 1 && raw.starts_with(b"\"") && raw.ends_with(b"\"");
    if is_string && is_plain_string(raw) {
        return text;
    }
    repair_printable(raw, text, is_string)
}

/// Whether a text has no control character, and no escape but the commonest. True for nearly every text.
/// Compares each byte with the next without a branch and in blocks of a fixed size, which the compiler
/// vectorises. A backslash that is itself escaped can cause a false positive, never a false negative.
#[inline]
fn is_plain_string(raw: &[u8]) -> bool {
    let (here, next) = (&raw[..raw.len() - 1], &raw[1..]);
    let (blocks, rest) = here.as_chunks::<64>();
    let (next_blocks, next_rest) = next.as_chunks::<64>();
    blocks.iter().zip(next_blocks).all(|(a, b)| !has_unusual_byte(a, b))
        && rest.iter().zip(next_rest).all(|(a, b)| unusual_byte(*a, *b) == 0)
}

#[inline]
fn has_unusual_byte(here: &[u8; 64], next: &[u8; 64]) -> bool {
    let mut found = 0;
    for i in 0..64 {
        found |= unusual_byte(here[i], next[i]);
    }
    found != 0
}

#[inline]
fn unusual_byte(here: u8, next: u8) -> u8 {
    let same = |byte: u8| u8::from(next == byte);
    let known = same(b'n') | same(b'"') | same(b'\\') | same(b't') | same(b'r');
    u8::from(here < 0x20) | (u8::from(here == b'\\') & (known ^ 1))
}

#[inline]
fn repair_printable(raw: &[u8], mut text: String, is_string: bool) -> String {
    if text.bytes().any(|b| b < 0x20) {
        text = escape_controls(&text);
    }
    let (sound, halves) = check_escapes(text.as_bytes());
    if halves {
        text = replace_lone_surrogates(text);
    }
    if is_string {
        return if sound { text } else { to_json_string(&self::decode_string(strip_quotes(raw))) };
    }
    if nesting_depth(&text) <= MAX_DEPTH && serde_json::from_str::<&RawValue>(&text).is_ok() {
        return text;
    }
    to_json_string(&String::from_utf8_lossy(raw))
}

#[inline]
fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if (c as u32) < 0x20 {
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

/// Calls `each` with the position of every backslash that begins an escape; `each` returns the length of the
/// escape.
#[inline]
fn for_each_escape(text: &[u8], mut each: impl FnMut(usize) -> usize) {
    let mut at = 0;
    while let Some(slash) = text.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += slash;
        at += each(at);
    }
}

/// Half a surrogate pair is valid in JSON's grammar, but many parsers reject it.
#[inline]
fn replace_lone_surrogates(text: String) -> String {
    let bytes = text.as_bytes();
    let code = |at: usize| match bytes.get(at..at + 2) {
        Some(b"\\u") => parse_hex4(&bytes[at + 2..]),
        _ => None,
    };
    let mut halves = Vec::new();
    for_each_escape(bytes, |at| match (code(at), code(at + 6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(0xd800..=0xdfff), _) => {
            halves.push(at);
            6
        }
        _ => 2,
    });
    let mut text = text;
    for at in halves {
        text.replace_range(at + 2..at + 6, "fffd");
    }
    text
}

/// Whether every escape is valid JSON, and whether any could be half of a pair (`\\ud800` to `\\udfff`).
#[inline]
fn check_escapes(bytes: &[u8]) -> (bool, bool) {
    let (mut sound, mut halves) = (true, false);
    for_each_escape(bytes, |at| {
        match bytes.get(at + 1) {
            Some(b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f') => {}
            Some(b'u') => {
                sound &= parse_hex4(&bytes[at + 2..]).is_some();
                halves |= matches!(bytes.get(at + 2), Some(b'd' | b'D'));
            }
            _ => sound = false,
        }
        2
    });
    (sound, halves)
}

/// An upper bound of the nesting depth: brackets inside strings are excluded only if there are many brackets.
#[inline]
fn nesting_depth(text: &str) -> usize {
    let opening = |b: &u8| matches!(b, b'[' | b'{');
    if text.bytes().filter(opening).take(MAX_DEPTH + 1).count() <= MAX_DEPTH {
        return 0;
    }
    let (mut depth, mut deepest, mut cursor) = (0usize, 0, Cursor::new(text.as_bytes(), 0));
    while cursor.at < text.len() {
        match cursor.peek() {
            b'"' if cursor.read_string().is_ok() => continue,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        cursor.at += 1;
    }
    deepest
}

/// Text as a JSON string.
#[inline]
pub fn to_json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_keys(line: &[u8]) -> JsonResult<Vec<(String, String)>> {
        let mut cursor = Cursor::new(line, 0);
        cursor.enter_object()?;
        let mut out = Vec::new();
        while let Some(key) = cursor.next_key()? {
            out.push((decode_string(key), String::from_utf8_lossy(cursor.skip_value()?).into_owned()));
        }
        if cursor.at_line_end() { Ok(out) } else { Err(Malformed) }
    }

    #[test]
    fn keys_are_read_and_values_skipped() {
        let line = br#" {"a" : "x\"}\\", "b":[1,{"c":"]"}], "d":null,"e":-1.5e3 } "#;
        let found = read_keys(line).unwrap();
        assert_eq!(found[0], ("a".into(), r#""x\"}\\""#.into()));
        assert_eq!(found[1].1, r#"[1,{"c":"]"}]"#);
        assert_eq!(found[2].1, "null");
        assert_eq!(found[3].1, "-1.5e3");
    }

    #[test]
    fn damage_is_detected() {
        for bad in [
            r#"{"a":1"#,
            r#"{"a":"#,
            r#"{"a"}"#,
            r#"{"a":"x}"#,
            r#"{"a":1}{"b":2}"#,
            "",
            "[1]",
            r#"{"a":[1,2}"#,
            "{\"a\":\"x\ny\"}",
            r#"{"a":,}"#,
            r#"{"a":["x"y]}"#,
            r#"{"a":{"x":"1{"b":"2"}}"#,
            "\0\0",
        ] {
            assert!(read_keys(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        for depth in [127, 128, 1000, 100_000, 2_000_000] {
            let line = format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(read_keys(line.as_bytes()).unwrap().len(), 1);
        }
    }

    #[test]
    fn text_is_decoded_and_never_fails() {
        for (raw, decoded) in [
            (r"a\n\t\u00e9\\", "a\n\té\\"),
            (r"\ud83d\ude80", "🚀"),
            (r"\ud83d!", "\u{fffd}!"),
            (r"\ude80", "\u{fffd}"),
            (r"\u12", "\u{fffd}12"),
            ("日本", "日本"),
            ("\\", ""),
        ] {
            assert_eq!(decode_string(raw.as_bytes()), decoded, "{raw}");
        }
        assert_eq!(decode_string(b"a\xff\\nb"), "a\u{fffd}\nb");
    }

    #[test]
    fn printable_is_valid_json() {
        let raw = b"\"a\x00b\xffc\"";
        let shown = to_printable(raw);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), "a\0b\u{fffd}c");
        for (raw, shown) in [
            (r#"{"a":[1,"x\n\u00e9\ud83d\ude80"]}"#, r#"{"a":[1,"x\n\u00e9\ud83d\ude80"]}"#),
            (r#"{"a":"\ud83d","b":"\\ud83d\udc00"}"#, r#"{"a":"\ufffd","b":"\\ud83d\ufffd"}"#),
            (r#""\ud83d\ud83d\ude80""#, r#""\ufffd\ud83d\ude80""#),
            (r#""a\qb\u12""#, "\"aqb\u{fffd}12\""),
            (r"[1}", r#""[1}""#),
            (r#"{"a":NaN}"#, r#""{\"a\":NaN}""#),
            (r#"""#, r#""\"""#),
            ("1e9999", "1e9999"),
        ] {
            assert_eq!(to_printable(raw.as_bytes()), shown, "{raw}");
        }
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(to_printable(nested(MAX_DEPTH).as_bytes()), nested(MAX_DEPTH));
        assert_eq!(to_printable(nested(100_000).as_bytes()), to_json_string(&nested(100_000)));
        let wide = format!("[{}\"[[\"]", "[],\"[\",".repeat(MAX_DEPTH));
        assert_eq!(to_printable(wide.as_bytes()), wide);
    }
}
