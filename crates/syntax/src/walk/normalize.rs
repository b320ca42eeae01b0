//! Normalizes declarations, independent of layout: the contract as a `Shape`, the behaviour as bytes to hash, and one line of text
//! for display.
//!
//! Does not know how the three are used.

use super::{Head, SortedSpans, Walk, node_span};
use crate::token::{Token, TokenKind};
use facts::Shape;
use facts::Span;
use std::borrow::Cow;

/// Separates tokens in hashed bytes; does not occur in source outside of strings.
const TOKEN_SEPARATOR: u8 = 0x1f;

impl<'a> Walk<'a> {
    /// The tokens of a range, with a placeholder for each name of a type; `without` is excluded.
    pub(crate) fn shape_of(&self, range: Span, from: usize, without: &[Span]) -> Shape {
        let mut shape = Shape::default();
        let mut resume = 0;
        for token in self.tokens_without(range, without) {
            if token.span.from < resume {
                continue;
            }
            match self.reference_at(token.span.from, from).filter(|_| token.kind == TokenKind::Word) {
                Some(reference) => {
                    shape.push_name(reference);
                    resume = self.facts.references[reference as usize].name_end;
                }
                None if token.span.from < token.span.to => shape.push_token(&self.normalize_token(token)),
                None => {}
            }
        }
        shape
    }

    /// A token as it is hashed: formatters may change the quotes of a string, and a checkout its line endings.
    fn normalize_token(&self, token: &Token) -> Cow<'a, str> {
        let text = self.source.text_of(token);
        if token.kind != TokenKind::Literal {
            return strip_carriage_returns(text);
        }
        if self.dialect.interchangeable_quotes {
            return normalize_quotes(text).map_or_else(|| strip_carriage_returns(text), Cow::Owned);
        }
        // where quotes are not interchangeable, join a continued line to the next without its indentation
        if text.contains("\\\n") {
            Cow::Owned(join_continued_lines(text))
        } else {
            strip_carriage_returns(text)
        }
    }

    /// The significant tokens that start inside a range and do not overlap some spans.
    fn tokens_without<'w>(
        &'w self,
        range: Span,
        without: &[Span],
    ) -> impl Iterator<Item = &'a Token> + use<'a, 'w> {
        let tokens = self.source.tokens;
        let mut next = self.source.token_index(range.from);
        let without = SortedSpans::new(without.to_vec());
        std::iter::from_fn(move || {
            while let Some(token) = tokens.get(next).filter(|token| token.span.from < range.to) {
                if !self.budget.spend(1) {
                    return None;
                }
                next += 1;
                let apart = without.reach_before(token.span.to.max(token.span.from));
                if apart <= token.span.from {
                    if token.kind.is_significant() {
                        return Some(token);
                    }
                } else if without.reach_before(token.span.from) == apart {
                    // of a declaration with thousands of names, each leaves out the others
                    next = next.max(self.source.token_index(apart));
                }
            }
            None
        })
    }

    pub(crate) fn push_tokens(&self, out: &mut Vec<u8>, range: Span) {
        let mut last: Option<Cow<str>> = None;
        for token in self.tokens_without(range, &[]) {
            let text = self.normalize_token(token);
            // adjacent strings are one: formatters split and join them by line width
            let one = last
                .as_deref()
                .filter(|_| token.kind == TokenKind::Literal && self.dialect.interchangeable_quotes);
            if let Some(one) = one.and_then(|last| merge_strings(last, &text)) {
                last = Some(Cow::Owned(one));
                continue;
            }
            push_separated(out, last.replace(text));
        }
        push_separated(out, last);
    }

    /// Attributes, decorators or annotations, sorted: their order is assumed to be insignificant.
    pub(super) fn attribute_shapes(&self, head: &Head<'a>, from: usize) -> Vec<Shape> {
        if let Some(shared) = &self.shared {
            return shared.attributes.clone();
        }
        let mut found: Vec<(String, Shape)> = head
            .attributes
            .iter()
            .map(|node| (self.join_tokens(node_span(*node), &[]), self.shape_of(node_span(*node), from, &[])))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.into_iter().map(|(_, shape)| shape).collect()
    }

    /// Joins tokens for display, with a space where the source has whitespace.
    pub(crate) fn join_tokens(&self, range: Span, without: &[Span]) -> String {
        let mut out = String::new();
        let mut end = range.from;
        for token in self.tokens_without(range, without).filter(|token| token.span.from < token.span.to) {
            let text = self.normalize_token(token);
            let text = text.as_ref();
            let gap = Span { from: end, to: token.span.from };
            // line breaks inside a type list are insignificant
            let types = (out.ends_with('<') || text == ">") && gap.text_in(self.source.text).contains('\n');
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

fn strip_carriage_returns(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace('\r', "")) } else { Cow::Borrowed(text) }
}

fn join_continued_lines(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// A string as it would be in double quotes: `f'a'` becomes `f"a"`, and `'it\'s'` becomes `"it's"`. `None` if it has no quotes to
/// change.
fn normalize_quotes(text: &str) -> Option<String> {
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

fn push_separated(out: &mut Vec<u8>, text: Option<Cow<str>>) {
    if let Some(text) = text {
        out.extend(text.as_bytes());
        out.push(TOKEN_SEPARATOR);
    }
}

/// Merges two normalized strings; `None` if one of them is not a string.
fn merge_strings(one: &str, other: &str) -> Option<String> {
    let ((first, one), (second, other)) = (split_string_prefix(one)?, split_string_prefix(other)?);
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
fn split_string_prefix(text: &str) -> Option<(&str, &str)> {
    let (prefix, rest) = text.split_once('"')?;
    let plain = prefix.bytes().all(|byte| byte.is_ascii_alphabetic());
    Some((prefix, rest.strip_suffix('"')?)).filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_interchangeable_but_contents_are_not() {
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
            assert_eq!(normalize_quotes(one) == normalize_quotes(other), same, "{one} {other}");
        }
        assert_eq!(merge_strings("\"a \"", "f\"{b}\"").as_deref(), Some("f\"a {b}\""));
        assert_eq!(merge_strings("f\"{a}\"", "\"{b}\"").as_deref(), Some("f\"{a}{{b}}\""));
        assert_eq!(merge_strings("a", "\"b\""), None);
        assert_eq!(join_continued_lines("\"a \\\n   b\""), "\"a b\"");
    }
}
