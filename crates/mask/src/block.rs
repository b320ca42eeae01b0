//! Private keys that span lines: PEM, OpenSSH, PGP and `PuTTY`. Also with a line number or diff marker before each line,
//! with `\n` escapes for line ends, and truncated.
//!
//! Does not validate keys: base64 after such a header is taken for one.

use std::ops::Range;

/// Anything shorter is an ellipsis or a sentence about keys. The shortest real key, Ed25519, has 64 characters.
const MIN_KEY_LENGTH: usize = 40;

/// The minimum length of a base64 line, except the last.
const MIN_LINE: usize = 16;

/// The maximum number of bytes read as one line. The longest key in use, RSA with 16384 bits, has 12 700 characters.
const MAX_LINE: usize = 16 << 10;

/// The maximum distance of the END line after unreadable text, for keys with the middle left out.
const MAX_ELLIPSIS: usize = 4096;

/// The private key whose header begins at `word`.
pub(crate) fn find_private_key(text: &str, word: Range<usize>) -> Option<(Range<usize>, &'static str)> {
    let (start, kind) = parse_header(text, word.start)?;
    let body = Body::read(text, start);
    (body.base64.len() >= MIN_KEY_LENGTH).then_some((word.start..body.end, kind))
}

/// The part of a key that does not depend on its wrapping, to recognise the same key. `None` for other secrets.
pub(crate) fn key_material(secret: &str) -> Option<String> {
    let (start, _) = parse_header(secret, 0)?;
    Some(Body::read(secret, start).base64)
}

/// The end of the header at `at`, if it is that of a private key.
fn parse_header(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let rest = &text[at..];
    if let Some(lines) = rest.strip_prefix("Private-Lines:") {
        let number = lines.bytes().take(8).take_while(|byte| matches!(byte, b' ' | b'0'..=b'9')).count();
        let ends = lines.as_bytes().get(number).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
        return ends.then(|| (text.len() - lines.len() + number, "putty-private-key"));
    }
    let label = rest.strip_prefix("-----BEGIN ")?;
    let length =
        label.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b' ').count();
    let closed = label[length..].starts_with("-----") && is_secret_label(&label[..length]);
    let kind = if label.starts_with("PGP") { "pgp-private-key" } else { "private-key" };
    closed.then(|| (text.len() - label.len() + length + 5, kind))
}

/// Any key but a public one: `PRIVATE KEY`, `OpenVPN Static key V1`.
fn is_secret_label(label: &str) -> bool {
    let words = || label.split(' ').map(str::to_ascii_lowercase);
    words().any(|word| word == "key")
        && !words().any(|word| matches!(word.as_str(), "public" | "certificate"))
}

/// The lines of a key: where they end, and their letters, digits and slashes. A plus is skipped, because at the
/// beginning of a line it may be a diff marker.
struct Body {
    end: usize,
    base64: String,
}

impl Body {
    fn read(text: &str, start: usize) -> Body {
        let mut body = Body { end: start, base64: String::new() };
        let mut at = start;
        while at < text.len() {
            if let Some(end) = parse_footer(text, at) {
                body.end = end;
                return body;
            }
            let line = &text[at..at + line_length(text, at)];
            if !body.take_line(line, at) {
                break;
            }
            let length = line.len() + line_end_length(text, at + line.len());
            // Another header, or a truncated footer.
            if length == 0 {
                break;
            }
            at += length;
        }
        if body.base64.len() >= MIN_KEY_LENGTH
            && let Some(end) = find_footer_nearby(text, body.end)
        {
            body.end = end;
        }
        body
    }

    /// Adds a line; returns false if it does not belong to the key.
    fn take_line(&mut self, line: &str, at: usize) -> bool {
        let content = strip_decoration(line);
        if content.contains(": ") {
            return content.len() < 128
                && ["Proc-Type", "DEK-Info", "Version", "Comment"]
                    .iter()
                    .any(|name| content.starts_with(name));
        }
        let mut pieces = content.split(' ').filter(|piece| !piece.is_empty()).peekable();
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none() && !self.base64.is_empty();
            if !piece.bytes().all(is_base64) || (piece.len() < MIN_LINE && !last) {
                return false;
            }
            self.base64.extend(piece.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '/'));
            self.end = at + (piece.as_ptr() as usize - line.as_ptr() as usize) + piece.len();
        }
        true
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A line without the decoration of a tool or language: `   12\t`, `  12→`, `+`, `> `, `"…" +`.
fn strip_decoration(line: &str) -> &str {
    let quiet = |c: char| {
        matches!(c, ' ' | '\t' | '\r' | '"' | '\'' | '>' | ',' | ';' | '.' | '+' | '-' | '`' | '(' | ')')
    };
    // The number first: the tab after it would be trimmed as the end of the line.
    let line = line.trim_start_matches([' ', '\t']);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let unnumbered =
        if number.len() < line.len() { number.strip_prefix(['\t', '→', ':', '|']) } else { None };
    let content = unnumbered.unwrap_or(line).trim_start_matches(quiet);
    content.trim_end_matches(|c| quiet(c) && c != '+')
}

/// The length of the line that begins at `at`: up to a line end, an escaped line end, a footer or another header, but
/// at most `MAX_LINE`. Otherwise each of a hundred thousand headers on one line would be read to the end of all.
fn line_length(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..text.floor_char_boundary((at + MAX_LINE).min(text.len()))];
    let ends = |at: &usize| rest[*at] != b'-' || rest[*at..].starts_with(b"-----");
    let end = memchr::memchr3_iter(b'\n', b'\\', b'-', rest).find(ends);
    // A longer line is continued after its last complete piece.
    let cut = || memchr::memrchr(b' ', rest).filter(|_| at + rest.len() < text.len()).map(|at| at + 1);
    end.or_else(cut).unwrap_or(rest.len())
}

/// `\n`, and `\\r\\n` as in strings inside strings.
fn line_end_length(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let slashes = rest.iter().take(16).take_while(|byte| **byte == b'\\').count();
    match rest.get(slashes) {
        Some(b'\n') => slashes + 1,
        Some(b'n' | b'r' | b't' | b'/' | b'"') if slashes > 0 => slashes + usize::from(rest[slashes] != b'/'),
        _ => slashes,
    }
}

fn parse_footer(text: &str, at: usize) -> Option<usize> {
    let label = text[at..].strip_prefix("-----END ")?;
    let length =
        label.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b' ').count();
    label[length..].starts_with("-----").then(|| text.len() - label.len() + length + 5)
}

fn find_footer_nearby(text: &str, from: usize) -> Option<usize> {
    let near = &text[from..text.floor_char_boundary((from + MAX_ELLIPSIS).min(text.len()))];
    let end = near.find("-----END ")?;
    (!near[..end].contains("-----BEGIN")).then(|| parse_footer(text, from + end)).flatten()
}
