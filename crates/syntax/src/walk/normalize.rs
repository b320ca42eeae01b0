//! Normalizes declarations, independent of layout: the contract as a `Shape`, the behaviour as bytes to hash, and one line of text
//! for display.
//!
//! Does not know how the three are used.

use super::{Head, Walk, span};
use crate::facts::Shape;
use crate::token::{Lexeme, Span, Token};
use std::borrow::Cow;

/// Separates tokens in hashed bytes; does not occur in source outside of strings.
const BETWEEN: u8 = 0x1f;

impl<'a> Walk<'a> {
    /// The tokens of a range, with a placeholder for each name of a type; `without` is excluded.
    pub(crate) fn shape(&self, range: Span, from: usize, without: &[Span]) -> Shape {
        let mut shape = Shape::default();
        let mut resume = 0;
        for token in self.source.within(range) {
            if token.span.from < resume || is_in(token, without) {
                continue;
            }
            match self.reference_at(token.span.from, from).filter(|_| token.kind == Lexeme::Word) {
                Some(reference) => {
                    shape.push_name(reference);
                    resume = self.facts.references[reference as usize].until;
                }
                None if token.span.from < token.span.to => shape.push(&self.spelled(token)),
                None => {}
            }
        }
        shape
    }

    /// A token as it is hashed: formatters may change the quotes of a string, and a checkout its line endings.
    fn spelled(&self, token: &Token) -> Cow<'a, str> {
        let text = self.source.of(token);
        if token.kind != Lexeme::Text {
            return without_returns(text);
        }
        if self.dialect.quotes_alike {
            return alike(text).map_or_else(|| without_returns(text), Cow::Owned);
        }
        // where quotes are not interchangeable, join a continued line to the next without its indentation
        if text.contains("\\\n") { Cow::Owned(joined(text)) } else { without_returns(text) }
    }

    pub(crate) fn tokens_into(&self, out: &mut Vec<u8>, range: Span) {
        let mut last: Option<Cow<str>> = None;
        for token in self.source.within(range) {
            let text = self.spelled(token);
            // adjacent strings are one: formatters split and join them by line width
            let one = last.as_deref().filter(|_| token.kind == Lexeme::Text && self.dialect.quotes_alike);
            if let Some(one) = one.and_then(|last| one_string(last, &text)) {
                last = Some(Cow::Owned(one));
                continue;
            }
            written(out, last.replace(text));
        }
        written(out, last);
    }

    /// Attributes, decorators or annotations, sorted: their order is assumed to be insignificant.
    pub(super) fn attributes(&self, head: &Head<'a>, from: usize) -> Vec<Shape> {
        let mut found: Vec<(String, Shape)> = head
            .attributes
            .iter()
            .map(|node| (self.glued(span(*node), &[]), self.shape(span(*node), from, &[])))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.into_iter().map(|(_, shape)| shape).collect()
    }

    /// Joins tokens for display, with a space where the source has whitespace.
    pub(crate) fn glued(&self, range: Span, without: &[Span]) -> String {
        let mut out = String::new();
        let mut end = range.from;
        for token in self.source.within(range).filter(|token| token.span.from < token.span.to) {
            if is_in(token, without) {
                continue;
            }
            let text = self.spelled(token);
            let text = text.as_ref();
            let gap = Span { from: end, to: token.span.from };
            let broken = gap.of(self.source.text).contains('\n');
            // line breaks inside a type list are insignificant
            let types = broken && (out.ends_with('<') || text == ">");
            let tight = out.ends_with(['(', '[']) || matches!(text, ")" | "]" | "," | ";") || types;
            if !out.is_empty() && token.span.from > end && !tight {
                out.push(' ');
            }
            out.push_str(text);
            end = token.span.to;
        }
        out.trim_end_matches([' ', '=', ';', ':', '{']).to_owned()
    }
}

fn without_returns(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace('\r', "")) } else { Cow::Borrowed(text) }
}

fn joined(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// A string as it would be in double quotes: `f'a'` becomes `f"a"`, and `'it\'s'` becomes `"it's"`. `None` if it has no quotes to
/// change.
fn alike(text: &str) -> Option<String> {
    let start = text.find(['\'', '"'])?;
    let (prefix, quoted) = text.split_at(start);
    if !prefix.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let quote = &quoted[..1];
    let quote = if quoted.len() >= 6 && quoted.starts_with(&quote.repeat(3)) {
        quote.repeat(3)
    } else {
        quote.to_owned()
    };
    let inner = quoted.strip_prefix(quote.as_str())?.strip_suffix(quote.as_str())?;
    let raw = prefix.contains(['r', 'R']);
    let inner = if raw { inner.to_owned() } else { inner.replace("\\'", "'").replace("\\\"", "\"") };
    let mark = "\"".repeat(quote.len());
    Some(format!("{}{mark}{}{mark}", prefix.to_ascii_lowercase(), inner.replace('\r', "")))
}

fn written(out: &mut Vec<u8>, text: Option<Cow<str>>) {
    if let Some(text) = text {
        out.extend(text.as_bytes());
        out.push(BETWEEN);
    }
}

fn is_in(token: &Token, without: &[Span]) -> bool {
    without.iter().any(|it| it.overlaps(token.span))
}

/// Merges two normalized strings; `None` if one of them is not a string.
fn one_string(one: &str, other: &str) -> Option<String> {
    let ((first, one), (second, other)) = (parts(one)?, parts(other)?);
    // braces are literal in a plain string, so escape them when the result is an f-string
    let spliced = first.contains('f') || second.contains('f');
    let escaped = |prefix: &str, text: &str| {
        let plain = spliced && !prefix.contains('f');
        if plain { text.replace('{', "{{").replace('}', "}}") } else { text.to_owned() }
    };
    let prefix = if first.len() < second.len() { second } else { first };
    Some(format!("{prefix}\"{}{}\"", escaped(first, one), escaped(second, other)))
}

/// The prefix and the contents of a normalized string.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (prefix, rest) = text.split_once('"')?;
    let plain = prefix.bytes().all(|byte| byte.is_ascii_alphabetic());
    Some((prefix, rest.strip_suffix('"')?)).filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_alike_and_what_they_hold_is_not() {
        for (one, other, same) in [
            ("'a'", "\"a\"", true),
            ("f'a'", "F\"a\"", true),
            ("'it\\'s'", "\"it's\"", true),
            ("\"say \\\"a\\\"\"", "'say \"a\"'", true),
            ("'''a'''", "\"\"\"a\"\"\"", true),
            ("''", "\"\"", true),
            ("'a'", "'b'", false),
            ("'a'", "b'a'", false),
            ("r'\\''", "'\\''", false),
        ] {
            assert_eq!(alike(one) == alike(other), same, "{one} {other}");
        }
        assert_eq!(one_string("\"a \"", "f\"{b}\"").as_deref(), Some("f\"a {b}\""));
        assert_eq!(one_string("f\"{a}\"", "\"{b}\"").as_deref(), Some("f\"{a}{{b}}\""));
        assert_eq!(one_string("a", "\"b\""), None);
        assert_eq!(joined("\"a \\\n   b\""), "\"a b\"");
    }
}
