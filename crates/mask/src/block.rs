//! Private keys written over many lines: PEM, OpenSSH, PGP and `PuTTY`. Also with a number or a diff's sign before each
//! line, with `\n` for the end of a line, and cut short by whoever printed them.
//!
//! Does not know whether a key is valid: what stands behind such a header in base64 is taken for one.

use std::ops::Range;

/// Less than this is an ellipsis or a sentence about keys. The shortest real key, Ed25519, has 64 characters.
const LEAST: usize = 40;

/// A line of base64 is at least so long, but for the last.
const LINE: usize = 16;

/// So much of a line is read at once. The longest key in use, RSA with 16384 bits, has 12 700 characters.
const WIDEST: usize = 16 << 10;

/// How far behind something unreadable the END line may be: someone left out the middle.
const ELLIPSIS: usize = 4096;

/// The private key that begins at a word of its header.
pub(crate) fn private(text: &str, word: Range<usize>) -> Option<(Range<usize>, &'static str)> {
    let (start, kind) = header(text, word.start)?;
    let body = Body::read(text, start);
    (body.base64.len() >= LEAST).then_some((word.start..body.end, kind))
}

/// What is the same in a key however it was wrapped, to tell that it is the same key. Nothing for other secrets.
pub(crate) fn essence(secret: &str) -> Option<String> {
    let (start, _) = header(secret, 0)?;
    Some(Body::read(secret, start).base64)
}

/// Where the header that stands at `at` ends, if it is of a private key.
fn header(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let rest = &text[at..];
    if let Some(lines) = rest.strip_prefix("Private-Lines:") {
        let number = lines.bytes().take(8).take_while(|byte| matches!(byte, b' ' | b'0'..=b'9')).count();
        return Some((text.len() - lines.len() + number, "putty-private-key"));
    }
    let label = rest.strip_prefix("-----BEGIN ")?;
    let length =
        label.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b' ').count();
    let closed = label[length..].starts_with("-----") && label[..length].contains("PRIVATE KEY");
    let kind = if label.starts_with("PGP") { "pgp-private-key" } else { "private-key" };
    closed.then(|| (text.len() - label.len() + length + 5, kind))
}

/// The lines of a key: where they end, and their letters, digits and slashes. A plus is left out: at the beginning of a
/// line it may be a diff's.
struct Body {
    end: usize,
    base64: String,
}

impl Body {
    fn read(text: &str, start: usize) -> Body {
        let mut body = Body { end: start, base64: String::new() };
        let mut at = start;
        while at < text.len() {
            if let Some(end) = footer(text, at) {
                body.end = end;
                return body;
            }
            let line = &text[at..at + line(text, at)];
            if !body.take(line, at) {
                break;
            }
            let length = line.len() + line_end(text, at + line.len());
            // Another header, or a footer that was cut short.
            if length == 0 {
                break;
            }
            at += length;
        }
        if body.base64.len() >= LEAST
            && let Some(end) = footer_nearby(text, body.end)
        {
            body.end = end;
        }
        body
    }

    /// Takes a line in; false when it is not of the key any more.
    fn take(&mut self, line: &str, at: usize) -> bool {
        let content = unmarked(line);
        if content.contains(": ") {
            return content.len() < 128
                && ["Proc-Type", "DEK-Info", "Version", "Comment"]
                    .iter()
                    .any(|name| content.starts_with(name));
        }
        let mut pieces = content.split(' ').filter(|piece| !piece.is_empty()).peekable();
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none() && !self.base64.is_empty();
            if !piece.bytes().all(of_base64) || (piece.len() < LINE && !last) {
                return false;
            }
            self.base64.extend(piece.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '/'));
            self.end = at + (piece.as_ptr() as usize - line.as_ptr() as usize) + piece.len();
        }
        true
    }
}

fn of_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A line without what a tool or a language put around it: `   12\t`, `  12→`, `+`, `> `, `"…" +`.
fn unmarked(line: &str) -> &str {
    let quiet = |c: char| {
        matches!(c, ' ' | '\t' | '\r' | '"' | '\'' | '>' | ',' | ';' | '.' | '+' | '-' | '`' | '(' | ')')
    };
    // The number first: the tab behind it would be trimmed as the end of the line.
    let line = line.trim_start_matches([' ', '\t']);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let unnumbered =
        if number.len() < line.len() { number.strip_prefix(['\t', '→', ':', '|']) } else { None };
    let content = unnumbered.unwrap_or(line).trim_start_matches(quiet);
    content.trim_end_matches(|c| quiet(c) && c != '+')
}

/// How long the line is that begins at `at`: up to its end, an escaped end, a footer or another header. Not farther:
/// of a hundred thousand headers on one line, each would be read to the end of all.
fn line(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..text.floor_char_boundary((at + WIDEST).min(text.len()))];
    let ends = |at: &usize| rest[*at] != b'-' || rest[*at..].starts_with(b"-----");
    let end = memchr::memchr3_iter(b'\n', b'\\', b'-', rest).find(ends);
    // One that is longer goes on behind its last whole piece.
    let cut = || memchr::memrchr(b' ', rest).filter(|_| at + rest.len() < text.len()).map(|at| at + 1);
    end.or_else(cut).unwrap_or(rest.len())
}

/// `\n`, and `\\r\\n` as strings inside strings have it.
fn line_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let slashes = rest.iter().take(16).take_while(|byte| **byte == b'\\').count();
    match rest.get(slashes) {
        Some(b'\n') => slashes + 1,
        Some(b'n' | b'r' | b't' | b'/' | b'"') if slashes > 0 => slashes + usize::from(rest[slashes] != b'/'),
        _ => slashes,
    }
}

fn footer(text: &str, at: usize) -> Option<usize> {
    let label = text[at..].strip_prefix("-----END ")?;
    let length =
        label.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b' ').count();
    label[length..].starts_with("-----").then(|| text.len() - label.len() + length + 5)
}

fn footer_nearby(text: &str, from: usize) -> Option<usize> {
    let near = &text[from..text.floor_char_boundary((from + ELLIPSIS).min(text.len()))];
    let end = near.find("-----END ")?;
    (!near[..end].contains("-----BEGIN")).then(|| footer(text, from + end)).flatten()
}
