//! Documentation of declarations, from comments and docstrings.
//!
//! Does not know markup beyond comment marks at the start of lines and tags such as `@param`.

use super::{Head, Walk, span};
use crate::digest::Digest;
use crate::facts::Doc;
use crate::token::{Lexeme, Span, Token};
use tree_sitter::Node;

/// Where documentation is written in a language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Docs {
    /// In comments before the declaration that start with one of these marks.
    Marked(&'static [&'static str]),
    /// In any comments that end on the line above.
    Above,
    /// In a docstring: a string that comes first in a body.
    Inside,
}

/// Marks of comments that document the enclosing item.
const INNER: &[&str] = &["//!", "/*!"];

/// Marks that a line of documentation may start with.
const MARKS: &[&str] = &["/**", "/*!", "///", "//!", "//", "*/", "*", "r\"\"\"", "\"\"\"", "'''"];

impl Docs {
    pub(super) fn is_doc(self, comment: &str) -> bool {
        match self {
            Docs::Marked(marks) => {
                let plain = comment.starts_with("////") || comment.starts_with("/***") || comment == "/**/";
                !plain && marks.iter().any(|mark| comment.starts_with(mark))
            }
            Docs::Above | Docs::Inside => false,
        }
    }
}

impl<'a> Walk<'a> {
    /// The documentation of a declaration.
    pub(crate) fn doc(&self, head: &Head<'a>) -> Option<Doc> {
        match self.dialect.docs {
            Docs::Marked(_) => {
                let from = self.with_comments(head.from);
                let to = head.signature(self).from as usize;
                said(&self.comments(Span::new(from, to), |token, text| {
                    token.kind == Lexeme::Doc && !is_inner(text)
                }))
            }
            Docs::Above => said(&self.above(head.from)),
            Docs::Inside => head.body.and_then(|body| self.first_text(body)),
        }
    }

    pub(super) fn module_doc(&self, node: Node<'a>) -> Option<Doc> {
        match self.dialect.docs {
            Docs::Marked(_) => {
                let inside = |token: &Token, text: &str| token.kind == Lexeme::Doc && is_inner(text);
                let first =
                    self.source.within(span(node)).next().map_or(node.end_byte() as u32, |it| it.span.from);
                let outer = node.parent().map_or(first, |_| node.end_byte() as u32);
                said(&self.comments(Span { from: node.start_byte() as u32, to: outer }, inside))
            }
            Docs::Above => {
                let first = self.source.within(span(node)).next()?;
                said(&self.above(first.span.from as usize))
            }
            Docs::Inside => self.first_text(node),
        }
    }

    fn comments(&self, range: Span, wanted: impl Fn(&Token, &str) -> bool) -> Vec<&'a str> {
        let tokens = &self.source.tokens[self.source.index(range.from)..];
        let within = tokens.iter().take_while(|token| token.span.from < range.to);
        within
            .map(|token| (token, self.source.of(token)))
            .filter(|(token, text)| wanted(token, text))
            .map(|it| it.1)
            .collect()
    }

    /// The comments that end on the line above a byte, and above each other.
    fn above(&self, byte: usize) -> Vec<&'a str> {
        let index = self.source.index(byte as u32);
        let mut next = byte;
        let mut found = Vec::new();
        for token in self.source.tokens[..index].iter().rev().filter(|it| it.span.from < it.span.to) {
            let gap = self.source.text.get(token.span.to as usize..next).unwrap_or_default();
            let adjacent = gap.matches('\n').count() == 1;
            if token.kind != Lexeme::Comment || !adjacent {
                break;
            }
            // `//go:embed` is a directive, not documentation
            let text = self.source.of(token);
            if !text.starts_with("//go:") {
                found.push(text);
            }
            next = token.span.from as usize;
        }
        found.reverse();
        found
    }

    /// The docstring of a body.
    fn first_text(&self, body: Node<'a>) -> Option<Doc> {
        let index = self.source.index(body.start_byte() as u32);
        let token = self.source.tokens[index..].iter().find(|token| token.kind != Lexeme::Comment)?;
        let inside = token.kind == Lexeme::Doc && token.span.to as usize <= body.end_byte();
        if inside { said(&[self.source.of(token)]) } else { None }
    }
}

fn is_inner(comment: &str) -> bool {
    INNER.iter().any(|mark| comment.starts_with(mark))
}

fn said(texts: &[&str]) -> Option<Doc> {
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines().map(without_marks)).collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    if words.is_empty() {
        return None;
    }
    Some(Doc { summary: summary(&lines), digest: Digest::of(words.join(" ").as_bytes()) })
}

fn without_marks(line: &str) -> &str {
    let line = line.trim();
    let line = MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    line.trim_end_matches("*/").trim_end_matches("\"\"\"").trim_end_matches("'''").trim()
}

/// The first sentence of the first paragraph, up to the first tag.
fn summary(lines: &[&str]) -> String {
    let first = lines.iter().skip_while(|line| line.is_empty());
    let paragraph = first.take_while(|line| !line.is_empty() && !line.starts_with('@'));
    let words = paragraph.flat_map(|line| line.split_whitespace());
    let text = without_braces(&words.collect::<Vec<_>>().join(" "));
    text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}."))
}

/// Replaces `{@link A#b}` with `A#b`.
fn without_braces(text: &str) -> String {
    let mut pieces = text.split("{@");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let linked = piece.split_once(' ').map_or(piece, |(_, rest)| rest);
        out.push_str(&linked.replacen('}', "", 1));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence_without_marks() {
        for (texts, summary) in [
            (&["/// One. Two."][..], "One."),
            (&["/** One\n * two\n * @param a b\n */"], "One two"),
            (&["// One", "// two.", "//", "// Three"], "One two."),
            (&["/** Makes {@link A#b}s of {x}. */"], "Makes A#bs of {x}."),
            (&["\"\"\"One.\n\n    Two.\n    \"\"\""], "One."),
        ] {
            assert_eq!(said(texts).unwrap().summary, summary);
        }
        assert_eq!(said(&["//", "/** */"]), None);
    }
}
