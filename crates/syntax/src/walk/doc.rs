//! Documentation of declarations, from comments and docstrings.
//!
//! Does not know markup beyond comment marks at the start of lines and tags such as `@param`.

use super::{Head, Walk, node_span};
use crate::token::{Token, TokenKind};
use facts::Digest;
use facts::Doc;
use facts::Span;
use tree_sitter::Node;

/// Where documentation is written in a language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DocStyle {
    /// In comments before the declaration that start with one of these marks.
    Marked(&'static [&'static str]),
    /// In any comments that end on the line above.
    Above,
    /// In a docstring: a string that comes first in a body.
    Inside,
}

/// Marks of comments that document the enclosing item.
const INNER_DOC_MARKS: &[&str] = &["//!", "/*!"];

/// Marks that a line of documentation may start with.
const COMMENT_MARKS: &[&str] = &["/**", "/*!", "///", "//!", "//", "*/", "*", "r\"\"\"", "\"\"\"", "'''"];

/// A longer summary ends with `…`. It is kept for each name of a declaration.
const MAX_SUMMARY_LEN: usize = 2000;

impl DocStyle {
    pub(super) fn is_doc(self, comment: &str) -> bool {
        match self {
            DocStyle::Marked(marks) => {
                let plain = comment.starts_with("////") || comment.starts_with("/***") || comment == "/**/";
                !plain && marks.iter().any(|mark| comment.starts_with(mark))
            }
            DocStyle::Above | DocStyle::Inside => false,
        }
    }
}

impl<'a> Walk<'a> {
    /// The documentation of a declaration.
    pub(crate) fn read_doc(&self, head: &Head<'a>) -> Option<Doc> {
        match self.dialect.doc_style {
            DocStyle::Marked(_) => {
                let from = self.start_with_comments(head.start);
                let to = head.signature_span(self).from as usize;
                build_doc(&self.comments_in(Span::new(from, to), |token, text| {
                    token.kind == TokenKind::Doc && !is_inner(text)
                }))
            }
            DocStyle::Above => build_doc(&self.comments_above(head.start)),
            DocStyle::Inside => head.body.and_then(|body| self.read_docstring(body)),
        }
    }

    pub(super) fn read_module_doc(&self, node: Node<'a>) -> Option<Doc> {
        match self.dialect.doc_style {
            DocStyle::Marked(_) => {
                let inside = |token: &Token, text: &str| token.kind == TokenKind::Doc && is_inner(text);
                let first = self
                    .source
                    .tokens_in(node_span(node))
                    .next()
                    .map_or(node.end_byte() as u32, |it| it.span.from);
                let outer = if node == self.root { first } else { node.end_byte() as u32 };
                build_doc(&self.comments_in(Span { from: node.start_byte() as u32, to: outer }, inside))
            }
            // the first comment of a C file is a licence, or documents the first declaration
            DocStyle::Above if self.dialect.head_rules.is_some() && node == self.root => None,
            DocStyle::Above => {
                let first = self.source.tokens_in(node_span(node)).next()?;
                build_doc(&self.comments_above(first.span.from as usize))
            }
            DocStyle::Inside => self.read_docstring(node),
        }
    }

    fn comments_in(&self, range: Span, wanted: impl Fn(&Token, &str) -> bool) -> Vec<&'a str> {
        let tokens = &self.source.tokens[self.source.token_index(range.from)..];
        let within = tokens.iter().take_while(|token| token.span.from < range.to && self.budget.spend(1));
        within
            .map(|token| (token, self.source.text_of(token)))
            .filter(|(token, text)| wanted(token, text))
            .map(|it| it.1)
            .collect()
    }

    /// The comments that end on the line above a byte, and above each other.
    fn comments_above(&self, byte: usize) -> Vec<&'a str> {
        let index = self.source.token_index(byte as u32);
        let mut next = byte;
        let mut found = Vec::new();
        for token in self.source.tokens[..index].iter().rev().filter(|it| it.span.from < it.span.to) {
            if !self.budget.spend(1) {
                break;
            }
            let gap = self.source.text.get(token.span.to as usize..next).unwrap_or_default();
            let adjacent = gap.matches('\n').count() == 1 && !self.is_trailing(token);
            if token.kind != TokenKind::Comment || !adjacent {
                break;
            }
            // `//go:embed` is a directive, not documentation
            let text = self.source.text_of(token);
            if !text.starts_with("//go:") {
                // Go has hardly any block comments, C hardly any others
                let block = text.strip_prefix("/*").filter(|rest| !rest.starts_with(['*', '!']));
                found.push(block.filter(|_| self.dialect.head_rules.is_some()).unwrap_or(text));
            }
            next = token.span.from as usize;
        }
        found.reverse();
        found
    }

    /// Whether a comment follows code on its line. In C, it then describes that code, not the next line.
    fn is_trailing(&self, comment: &Token) -> bool {
        let before = self.source.text.get(..comment.span.from as usize).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        self.budget.spend(line.len() / 16);
        self.dialect.head_rules.is_some() && !line.trim().is_empty()
    }

    /// The docstring of a body.
    fn read_docstring(&self, body: Node<'a>) -> Option<Doc> {
        let index = self.source.token_index(body.start_byte() as u32);
        let token = self.source.tokens[index..].iter().find(|token| token.kind != TokenKind::Comment)?;
        let inside = token.kind == TokenKind::Doc && token.span.to as usize <= body.end_byte();
        if inside { build_doc(&[self.source.text_of(token)]) } else { None }
    }
}

fn is_inner(comment: &str) -> bool {
    INNER_DOC_MARKS.iter().any(|mark| comment.starts_with(mark))
}

fn build_doc(texts: &[&str]) -> Option<Doc> {
    let lines: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.lines().map(|line| strip_line(line, text.starts_with('#'))))
        .collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    if words.is_empty() {
        return None;
    }
    Some(Doc { summary: first_sentence(&lines), digest: Digest::of_bytes(words.join(" ").as_bytes()) })
}

/// A line without comment marks; `#` is one only in languages that have no other.
fn strip_line(line: &str, is_hash: bool) -> &str {
    if is_hash { line.trim().trim_start_matches('#').trim() } else { strip_comment_marks(line) }
}

fn strip_comment_marks(line: &str) -> &str {
    let line = line.trim();
    let line = COMMENT_MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    line.trim_end_matches("*/").trim_end_matches("\"\"\"").trim_end_matches("'''").trim()
}

/// The first sentence of the first paragraph, up to the first tag.
fn first_sentence(lines: &[&str]) -> String {
    let first = lines.iter().skip_while(|line| line.is_empty());
    let paragraph = first.take_while(|line| !line.is_empty() && !line.starts_with('@'));
    let words = paragraph.flat_map(|line| line.split_whitespace());
    let text = strip_inline_tags(&words.collect::<Vec<_>>().join(" "));
    let sentence = text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}."));
    match sentence.char_indices().nth(MAX_SUMMARY_LEN) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence,
    }
}

/// Replaces `{@link A#b}` with `A#b`.
fn strip_inline_tags(text: &str) -> String {
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
    fn a_summary_is_the_first_sentence_without_comment_marks() {
        for (texts, summary) in [
            (&["/// One. Two."][..], "One."),
            (&["/** One\n * two\n * @param a b\n */"], "One two"),
            (&["// One", "// two.", "//", "// Three"], "One two."),
            (&["/** Makes {@link A#b}s of {x}. */"], "Makes A#bs of {x}."),
            (&["# One", "#", "# Two"], "One"),
            (&["\"\"\"One.\n\n    Two.\n    \"\"\""], "One."),
        ] {
            assert_eq!(build_doc(texts).unwrap().summary, summary);
        }
        assert_eq!(build_doc(&["//", "/** */"]), None);
    }
}
