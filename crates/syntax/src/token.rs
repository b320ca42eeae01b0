//! Tokens of source text: words, strings, punctuation, comments. Hashes cover tokens, so indentation and line breaks do not affect
//! them, but a space inside a string does.
//!
//! Does not know how a language is tokenized: each lexer does.

use facts::Span;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    Word,
    Number,
    /// A string or character literal, including its quotes and interpolations.
    Literal,
    Punctuation,
    Comment,
    /// A documentation comment.
    Doc,
    /// A preprocessor directive.
    Directive,
    /// Text excluded by the preprocessor.
    Inactive,
}

impl TokenKind {
    /// Whether the token reaches the compiler.
    pub fn is_significant(self) -> bool {
        matches!(self, TokenKind::Word | TokenKind::Number | TokenKind::Literal | TokenKind::Punctuation)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Counts the lines of a text; the last one may lack a line ending.
pub(crate) fn count_lines(text: &str) -> u32 {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u32;
    ends + u32::from(!text.is_empty() && !text.ends_with('\n'))
}

/// A text with its tokens in source order.
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token],
}

impl<'a> Source<'a> {
    pub(crate) fn text_of(&self, token: &Token) -> &'a str {
        token.span.text_in(self.text)
    }

    /// The index of the first token that starts at or after a byte.
    pub(crate) fn token_index(&self, byte: u32) -> usize {
        self.tokens.partition_point(|token| token.span.from < byte)
    }

    /// The significant tokens that start inside a range.
    pub(crate) fn tokens_in(&self, span: Span) -> impl Iterator<Item = &'a Token> + use<'a> {
        let tokens = &self.tokens[self.token_index(span.from)..];
        tokens
            .iter()
            .take_while(move |token| token.span.from < span.to)
            .filter(|token| token.kind.is_significant())
    }
}

/// Text rewritten so that the grammar accepts it, with every byte offset unchanged, and its tokens.
pub(crate) struct PreparedText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tokens: Vec<Token>,
    /// What was hidden from the grammar, in a language with textual references.
    pub(crate) hidden: Vec<Span>,
}
