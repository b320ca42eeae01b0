//! Declarations in one spelling, whatever their layout: what a user may rely on as a `Shape`, what is behaviour as bytes to be
//! hashed, and a line for a reader.
//!
//! Does not know which of the three matters to whom.

use super::{Head, Walk, span};
use crate::file::Shape;
use crate::token::{Lexeme, Span, Token};
use std::borrow::Cow;

/// What separates tokens in what is hashed; no source has it outside of strings.
const BETWEEN: u8 = 0x1f;

impl<'a> Walk<'a> {
    /// The tokens of a range, with a place for each name of a type; `without` is left out.
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

    /// A token as it is hashed: a formatter may change the quotes of a string, and a checkout the ends of its lines.
    fn spelled(&self, token: &Token) -> Cow<'a, str> {
        let text = self.source.of(token);
        if token.kind != Lexeme::Text {
            return Cow::Borrowed(text);
        }
        let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        match inner.filter(|inner| self.dialect.quotes_alike && !inner.contains(['"', '\\', '\''])) {
            Some(inner) => Cow::Owned(format!("\"{inner}\"")),
            None if text.contains('\r') => Cow::Owned(text.replace('\r', "")),
            None => Cow::Borrowed(text),
        }
    }

    pub(crate) fn tokens_into(&self, out: &mut Vec<u8>, range: Span) {
        for token in self.source.within(range) {
            out.extend(self.spelled(token).as_bytes());
            out.push(BETWEEN);
        }
    }

    /// Attributes, decorators or annotations, sorted: their order is taken to mean nothing.
    pub(super) fn attributes(&self, head: &Head<'a>, from: usize) -> Vec<Shape> {
        let mut found: Vec<(String, Shape)> = head
            .attributes
            .iter()
            .map(|node| (self.glued(span(*node), &[]), self.shape(span(*node), from, &[])))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.into_iter().map(|(_, shape)| shape).collect()
    }

    /// Tokens with blanks only where a reader wants them: where the source has some.
    pub(crate) fn glued(&self, range: Span, without: &[Span]) -> String {
        let mut out = String::new();
        let mut end = range.from;
        for token in self.source.within(range).filter(|token| token.span.from < token.span.to) {
            if is_in(token, without) {
                continue;
            }
            let text = self.source.of(token);
            let tight = out.ends_with(['(', '[']) || matches!(text, ")" | "]" | "," | ";");
            if !out.is_empty() && token.span.from > end && !tight {
                out.push(' ');
            }
            out.push_str(text);
            end = token.span.to;
        }
        out.trim_end_matches([' ', '=', ';', ':', '{']).to_owned()
    }
}

fn is_in(token: &Token, without: &[Span]) -> bool {
    without.iter().any(|it| it.overlaps(token.span))
}
