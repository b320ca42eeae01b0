//! A lazy look at one JSON record: walk its keys, take the few values that matter, step over the rest
//! without decoding them. Step-over is a loop, not a recursion: two million brackets cost no stack.
//!
//! Forgiving on purpose (it does not judge numbers or match bracket kinds): a record that a strict parser
//! refuses may still hold a tool call. Never crosses a line end.

use memchr::{memchr, memchr2};
use serde_json::value::RawValue;
use std::fmt::Write;

/// The bytes are not the JSON they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

pub type Look<T> = Result<T, Broken>;

#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    #[inline]
    pub fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn blank(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Steps into an object. Follow with `key` until it answers None.
    #[inline]
    pub fn object(&mut self) -> Look<()> {
        self.blank();
        self.expect(b'{')
    }

    /// The next key of the object the cursor is in, its value to be taken next.
    #[inline]
    pub fn key(&mut self) -> Look<Option<&'a [u8]>> {
        loop {
            self.blank();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(None);
                }
                _ => break,
            }
        }
        let key = self.string()?;
        self.blank();
        self.expect(b':')?;
        self.blank();
        Ok(Some(key))
    }

    /// Steps into an array; false if the value is something else, which is then still to be taken.
    pub fn array(&mut self) -> bool {
        self.blank();
        if self.peek() == b'[' {
            self.at += 1;
            return true;
        }
        false
    }

    /// Whether the array the cursor is in has another item, to be taken next.
    pub fn item(&mut self) -> Look<bool> {
        if self.at > 0 && self.bytes.get(self.at - 1) == Some(&b'"') {
            self.after_string()?;
        }
        loop {
            self.blank();
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(false);
                }
                0 => return Err(Broken),
                _ => return Ok(true),
            }
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Look<()> {
        if self.peek() == byte {
            self.at += 1;
            return Ok(());
        }
        Err(Broken)
    }

    /// The inside of a string, escapes untouched. Looks only for quotes: whether one is escaped is told by
    /// the backslashes before it, so that the `\n`s of tool output do not stop the vector search.
    #[inline]
    pub fn string(&mut self) -> Look<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        if let Some(end) = short_end(&self.bytes[start..]) {
            self.at = start + end + 1;
            return Ok(&self.bytes[start..start + end]);
        }
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).ok_or(Broken)?;
            let quote = from + memchr2(b'"', b'\n', rest).ok_or(Broken)?;
            if self.bytes[quote] == b'\n' {
                return Err(Broken);
            }
            if quote == start || self.bytes[quote - 1] != b'\\' || !is_escaped(&self.bytes[start..quote]) {
                self.at = quote + 1;
                return Ok(&self.bytes[start..quote]);
            }
            from = quote + 1;
        }
    }

    /// Letters behind a string mean that a splice has turned the insides of strings out.
    #[inline]
    fn after_string(&self) -> Look<()> {
        match self.peek() {
            b',' | b':' | b']' | b'}' | b'"' | b' ' | b'\t' | b'\r' => Ok(()),
            _ => Err(Broken),
        }
    }

    /// A string's inside, or empty for any other value (which is stepped over).
    pub fn string_or_skip(&mut self) -> Look<&'a [u8]> {
        self.blank();
        if self.peek() == b'"' {
            return self.string();
        }
        self.skip()?;
        Ok(b"")
    }

    pub fn number(&mut self) -> Look<f64> {
        let raw = self.skip()?;
        Ok(std::str::from_utf8(raw).ok().and_then(|s| s.parse().ok()).unwrap_or(0.0))
    }

    pub fn truth(&mut self) -> Look<bool> {
        Ok(self.skip()? == b"true")
    }

    /// Steps over any value and hands out its bytes.
    pub fn skip(&mut self) -> Look<&'a [u8]> {
        self.blank();
        let start = self.at;
        match self.peek() {
            b'"' => drop(self.string()?),
            b'{' | b'[' => self.skip_nested()?,
            _ => self.skip_plain()?,
        }
        Ok(&self.bytes[start..self.at])
    }

    fn skip_nested(&mut self) -> Look<()> {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                b'"' => {
                    self.string()?;
                    self.after_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'\n' | 0 => return Err(Broken),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_plain(&mut self) -> Look<()> {
        let start = self.at;
        while !matches!(
            self.peek(),
            b',' | b'}' | b']' | b'\n' | b' ' | b'\r' | b'\t' | b'"' | b'{' | b'[' | 0
        ) {
            self.at += 1;
        }
        if self.at == start { Err(Broken) } else { Ok(()) }
    }

    /// After the record: nothing but blanks up to the line's end.
    pub fn at_line_end(&mut self) -> bool {
        self.blank();
        self.at >= self.bytes.len() || self.bytes[self.at] == b'\n'
    }
}

/// Where a string of less than 16 bytes ends, if it is one without escapes. Keys and words are that short, and
/// two words of eight bytes are looked through in a quarter of the time that calling the vector search takes.
#[inline]
fn short_end(bytes: &[u8]) -> Option<usize> {
    for (n, word) in bytes.get(..16)?.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let quote = first(word, b'"');
        if first(word, b'\\').min(first(word, b'\n')) < quote {
            return None;
        }
        if quote < 8 {
            return Some(n * 8 + quote);
        }
    }
    None
}

/// The place of the first such byte among eight, or 8.
#[inline]
fn first(word: u64, byte: u8) -> usize {
    let differs = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    let zeros = differs.wrapping_sub(0x0101_0101_0101_0101) & !differs & 0x8080_8080_8080_8080;
    zeros.trailing_zeros() as usize / 8
}

/// Whether what follows these bytes of a string is escaped: by an odd number of backslashes.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

/// Steps over the whole value at the start of `bytes`.
pub fn whole(bytes: &[u8]) -> Look<&[u8]> {
    Cursor::new(bytes, 0).skip()
}

/// The value of one key of an object, without looking further.
pub fn get<'a>(object: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut cursor = Cursor::new(object, 0);
    cursor.object().ok()?;
    while let Some(found) = cursor.key().ok()? {
        let value = cursor.skip().ok()?;
        if found == key {
            return Some(value);
        }
    }
    None
}

/// The decoded text of one key, if it is a string.
pub fn get_text(object: &[u8], key: &[u8]) -> Option<String> {
    let raw = get(object, key)?;
    (raw.first() == Some(&b'"')).then(|| text(inside(raw)))
}

/// A string value without its quotes; any other value as it is.
pub fn inside(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|r| r.strip_suffix(b"\"")).unwrap_or(raw)
}

/// Decodes the inside of a JSON string. What is not Unicode (bad UTF-8, half a surrogate pair) becomes U+FFFD.
pub fn text(raw: &[u8]) -> String {
    if memchr(b'\\', raw).is_none() {
        return decoded(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(slash) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..slash]);
        rest = unescape(&rest[slash + 1..], &mut out);
    }
    out.extend_from_slice(rest);
    match String::from_utf8(out) {
        Ok(text) => text,
        Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
    }
}

/// Bytes as text. Checking first is several times as fast as replacing, and nearly always enough.
fn decoded(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_string(),
        Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}

/// One escape, the backslash gone already; hands back what follows it.
fn unescape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(&c) = rest.first() else { return rest };
    let plain = match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' => return unescape_unicode(&rest[1..], out),
        other => other,
    };
    out.push(plain);
    &rest[1..]
}

fn unescape_unicode<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(high) = hex4(rest) else {
        out.extend_from_slice("\u{fffd}".as_bytes());
        return rest;
    };
    let after = &rest[4..];
    let (code, rest) = match (high, after) {
        (0xd800..=0xdbff, [b'\\', b'u', low @ ..]) => match hex4(low) {
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

fn hex4(b: &[u8]) -> Option<u32> {
    let digits = b.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Nested deeper than this, a value is more than most readers of JSON can take.
const DEEPEST: usize = 500;

/// A value's bytes as JSON text that may be printed. What is not Unicode is replaced, raw control characters are
/// escaped; what is no JSON after that, or nested beyond reason, becomes a string of its text.
pub fn printable(raw: &[u8]) -> String {
    let text = decoded(raw);
    let is_string = raw.len() > 1 && raw.starts_with(b"\"") && raw.ends_with(b"\"");
    if is_string && is_plain(raw) {
        return text;
    }
    printable_after_all(raw, text, is_string)
}

/// Whether a text has no control character, and no escape but the commonest. Said of nearly every text. Each byte is
/// held against the one behind it, without a branch and in blocks of a fixed size, which the compiler turns into
/// vector instructions. A backslash that is itself escaped can raise a false alarm, never hide a true one.
fn is_plain(raw: &[u8]) -> bool {
    let (here, next) = (&raw[..raw.len() - 1], &raw[1..]);
    let (blocks, rest) = here.as_chunks::<64>();
    let (next_blocks, next_rest) = next.as_chunks::<64>();
    blocks.iter().zip(next_blocks).all(|(a, b)| !has_odd(a, b))
        && rest.iter().zip(next_rest).all(|(a, b)| odd(*a, *b) == 0)
}

#[inline]
fn has_odd(here: &[u8; 64], next: &[u8; 64]) -> bool {
    let mut found = 0;
    for i in 0..64 {
        found |= odd(here[i], next[i]);
    }
    found != 0
}

#[inline]
fn odd(here: u8, next: u8) -> u8 {
    let same = |byte: u8| u8::from(next == byte);
    let known = same(b'n') | same(b'"') | same(b'\\') | same(b't') | same(b'r');
    u8::from(here < 0x20) | (u8::from(here == b'\\') & (known ^ 1))
}

fn printable_after_all(raw: &[u8], mut text: String, is_string: bool) -> String {
    if text.bytes().any(|b| b < 0x20) {
        text = escape_controls(&text);
    }
    let (sound, halves) = look_at_escapes(text.as_bytes());
    if halves {
        text = without_half_pairs(text);
    }
    if is_string {
        return if sound { text } else { quoted(&self::text(inside(raw))) };
    }
    if depth(&text) <= DEEPEST && serde_json::from_str::<&RawValue>(&text).is_ok() {
        return text;
    }
    quoted(&String::from_utf8_lossy(raw))
}

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

/// Calls `each` with the place of every backslash that begins an escape, and takes the escape's length from it.
fn escapes(text: &[u8], mut each: impl FnMut(usize) -> usize) {
    let mut at = 0;
    while let Some(slash) = text.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += slash;
        at += each(at);
    }
}

/// Half a surrogate pair is valid in JSON's grammar, and many readers refuse it.
fn without_half_pairs(text: String) -> String {
    let bytes = text.as_bytes();
    let code = |at: usize| match bytes.get(at..at + 2) {
        Some(b"\\u") => hex4(&bytes[at + 2..]),
        _ => None,
    };
    let mut halves = Vec::new();
    escapes(bytes, |at| match (code(at), code(at + 6)) {
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

/// Whether every escape is one that JSON knows, and whether any could be half of a pair (`\\ud800` to `\\udfff`).
fn look_at_escapes(bytes: &[u8]) -> (bool, bool) {
    let (mut sound, mut halves) = (true, false);
    escapes(bytes, |at| {
        match bytes.get(at + 1) {
            Some(b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f') => {}
            Some(b'u') => {
                sound &= hex4(&bytes[at + 2..]).is_some();
                halves |= matches!(bytes.get(at + 2), Some(b'd' | b'D'));
            }
            _ => sound = false,
        }
        2
    });
    (sound, halves)
}

/// How deeply a value is nested, or more: brackets inside strings are counted only where there are many.
fn depth(text: &str) -> usize {
    let opening = |b: &u8| matches!(b, b'[' | b'{');
    if text.bytes().filter(opening).take(DEEPEST + 1).count() <= DEEPEST {
        return 0;
    }
    let (mut depth, mut deepest, mut cursor) = (0usize, 0, Cursor::new(text.as_bytes(), 0));
    while cursor.at < text.len() {
        match cursor.peek() {
            b'"' if cursor.string().is_ok() => continue,
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
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(line: &[u8]) -> Look<Vec<(String, String)>> {
        let mut cursor = Cursor::new(line, 0);
        cursor.object()?;
        let mut out = Vec::new();
        while let Some(key) = cursor.key()? {
            out.push((text(key), String::from_utf8_lossy(cursor.skip()?).into_owned()));
        }
        if cursor.at_line_end() { Ok(out) } else { Err(Broken) }
    }

    #[test]
    fn walks_keys_and_steps_over_values() {
        let line = br#" {"a" : "x\"}\\", "b":[1,{"c":"]"}], "d":null,"e":-1.5e3 } "#;
        let found = keys(line).unwrap();
        assert_eq!(found[0], ("a".into(), r#""x\"}\\""#.into()));
        assert_eq!(found[1].1, r#"[1,{"c":"]"}]"#);
        assert_eq!(found[2].1, "null");
        assert_eq!(found[3].1, "-1.5e3");
    }

    #[test]
    fn damage_is_noticed() {
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
            assert!(keys(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        for depth in [127, 128, 1000, 100_000, 2_000_000] {
            let line = format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(keys(line.as_bytes()).unwrap().len(), 1);
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
            assert_eq!(text(raw.as_bytes()), decoded, "{raw}");
        }
        assert_eq!(text(b"a\xff\\nb"), "a\u{fffd}\nb");
    }

    #[test]
    fn printable_is_valid_json() {
        let raw = b"\"a\x00b\xffc\"";
        let shown = printable(raw);
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
            assert_eq!(printable(raw.as_bytes()), shown, "{raw}");
        }
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(printable(nested(DEEPEST).as_bytes()), nested(DEEPEST));
        assert_eq!(printable(nested(100_000).as_bytes()), quoted(&nested(100_000)));
        let wide = format!("[{}\"[[\"]", "[],\"[\",".repeat(DEEPEST));
        assert_eq!(printable(wide.as_bytes()), wide);
    }
}
