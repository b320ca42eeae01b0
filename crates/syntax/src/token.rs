//! What a source text is made of, one piece after another: words, strings, marks, comments. Hashes are taken over these, so
//! that indentation and line breaks cannot matter and a space inside a string does.
//!
//! Does not know how any language draws the lines between them: each lexer does.

/// A half-open range of bytes of one text.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Span {
    pub from: u32,
    pub to: u32,
}

impl Span {
    pub fn new(from: usize, to: usize) -> Span {
        Span { from: from as u32, to: to as u32 }
    }

    pub fn of(self, text: &str) -> &str {
        text.get(self.from as usize..self.to as usize).unwrap_or_default()
    }

    pub fn overlaps(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lexeme {
    Word,
    Number,
    /// A string or a character, with its quotes and with whatever is spliced into it.
    Text,
    Mark,
    Comment,
    /// A comment that documents what follows.
    Doc,
    /// A line for the preprocessor.
    Directive,
    /// Text that the preprocessor leaves out.
    Inactive,
}

impl Lexeme {
    /// Whether a compiler would see it.
    pub(crate) fn counts(self) -> bool {
        matches!(self, Lexeme::Word | Lexeme::Number | Lexeme::Text | Lexeme::Mark)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Lexeme,
    pub(crate) span: Span,
}

/// How many lines a text has; the last may lack its end.
pub(crate) fn lines(text: &str) -> u32 {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u32;
    ends + u32::from(!text.is_empty() && !text.ends_with('\n'))
}

/// A text with its tokens, in order.
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token],
}

impl<'a> Source<'a> {
    pub(crate) fn of(&self, token: &Token) -> &'a str {
        token.span.of(self.text)
    }

    /// The index of the first token that begins at or after a byte.
    pub(crate) fn index(&self, byte: u32) -> usize {
        self.tokens.partition_point(|token| token.span.from < byte)
    }

    /// The tokens that begin inside a range and count.
    pub(crate) fn within(&self, span: Span) -> impl Iterator<Item = &'a Token> + use<'a> {
        let tokens = &self.tokens[self.index(span.from)..];
        tokens.iter().take_while(move |token| token.span.from < span.to).filter(|token| token.kind.counts())
    }
}

/// Text as a grammar can take it, every byte in its place, and the tokens it is made of.
pub(crate) struct Prepared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tokens: Vec<Token>,
}
