//! Tokenizes C# in one pass and evaluates `#if` on the way.
//!
//! Does not know the grammar: `async` is always a word. Invalid text still becomes tokens: an unclosed string ends with its line.

use crate::preprocessor::{ConditionStack, Symbols};
use crate::token::{Token, TokenKind};
use facts::Span;

/// Multi-character punctuation, longest first. `>` is always a separate token, because `>>` may close two type argument lists.
const PUNCTUATION: &[&str] = &[
    "<<=", "??=", "++", "--", "&&", "||", "==", "!=", "<=", "<<", "??", "?.", "=>", "->", "::", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "..",
];

pub fn tokenize(text: &str, symbols: &Symbols) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        text,
        at: 0,
        at_line_start: true,
        tokens: Vec::with_capacity(text.len() / 5),
        conditions: ConditionStack::new(symbols),
        nesting: 0,
        plain_until: 0,
    };
    lexer.run();
    lexer.tokens
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    /// Whether only whitespace precedes this position on its line, so that a `#` starts a directive.
    at_line_start: bool,
    tokens: Vec<Token>,
    conditions: ConditionStack,
    /// How many interpolations are open around this position.
    nesting: u32,
    /// Up to here, no `$` or `@` starts a string.
    plain_until: usize,
}

/// Interpolations nested more deeply are text.
const MAX_NESTING: u32 = 100;

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.at_line_start = true;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' if self.at_line_start => self.lex_directive(),
                _ => {
                    if let Some(wide) = self.wide_space_len() {
                        self.at += wide;
                    } else {
                        self.at_line_start = false;
                        self.lex_token(byte);
                    }
                }
            }
        }
    }

    fn lex_token(&mut self, byte: u8) {
        let from = self.at;
        let kind = match byte {
            b'/' if matches!(self.peek(1), Some(b'/' | b'*')) => self.lex_comment(),
            b'"' => self.lex_string(0, false),
            b'\'' => self.lex_char(),
            b'$' | b'@' if self.is_string_start() => self.lex_prefixed_string(),
            b'0'..=b'9' => self.lex_number(),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.lex_number(),
            b'@' | b'_' | b'\\' | 0x80.. => self.lex_word(),
            _ if byte.is_ascii_alphabetic() => self.lex_word(),
            _ => self.lex_punctuation(),
        };
        self.push(kind, from);
    }

    fn push(&mut self, kind: TokenKind, from: usize) {
        self.tokens.push(Token { kind, span: Span::new(from, self.at) });
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn starts_with(&self, with: &str) -> bool {
        self.bytes[self.at..].starts_with(with.as_bytes())
    }

    /// The length of a byte order mark, a no-break or an ideographic space.
    fn wide_space_len(&self) -> Option<usize> {
        ["\u{feff}", "\u{a0}", "\u{3000}"]
            .iter()
            .find(|blank| self.starts_with(blank))
            .map(|blank| blank.len())
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn lex_comment(&mut self) -> TokenKind {
        if self.starts_with("//") {
            let doc = self.starts_with("///") && !self.starts_with("////");
            self.skip_line();
            return if doc { TokenKind::Doc } else { TokenKind::Comment };
        }
        let doc = self.starts_with("/**") && !self.starts_with("/***") && !self.starts_with("/**/");
        let rest = &self.bytes[self.at + 2..];
        self.at += memchr::memmem::find(rest, b"*/").map_or(rest.len() + 2, |end| end + 4);
        if doc { TokenKind::Doc } else { TokenKind::Comment }
    }

    fn lex_word(&mut self) -> TokenKind {
        self.at += 1;
        while self.peek(0).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\\' | 0x80..))
            && self.wide_space_len().is_none()
        {
            self.at += 1;
        }
        TokenKind::Word
    }

    fn lex_number(&mut self) -> TokenKind {
        let hex = self.starts_with("0x") || self.starts_with("0X");
        while let Some(byte) = self.peek(0) {
            let next = self.peek(1);
            let point = byte == b'.' && next.is_some_and(|next| next.is_ascii_digit());
            let exponent = !hex && matches!(byte, b'e' | b'E') && matches!(next, Some(b'+' | b'-'));
            if exponent {
                self.at += 2;
            } else if byte.is_ascii_alphanumeric() || byte == b'_' || point {
                self.at += 1;
            } else {
                break;
            }
        }
        TokenKind::Number
    }

    fn lex_punctuation(&mut self) -> TokenKind {
        let known = PUNCTUATION.iter().find(|mark| self.starts_with(mark));
        // `a ?.5 : b` is a conditional expression, not a member access
        let conditional = known == Some(&"?.") && self.peek(2).is_some_and(|next| next.is_ascii_digit());
        self.at += if conditional { 1 } else { known.map_or(1, |mark| mark.len()) };
        TokenKind::Punctuation
    }

    fn lex_char(&mut self) -> TokenKind {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => break,
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        TokenKind::Literal
    }

    /// Whether the `$` or `@` here starts a string: `$"`, `@"`, `$@"`, `@$"`, `$$"""`.
    fn is_string_start(&mut self) -> bool {
        if self.at < self.plain_until {
            return false;
        }
        let rest = &self.bytes[self.at..];
        let prefix = rest.iter().take_while(|b| matches!(b, b'$' | b'@')).count();
        let is_start = rest.get(prefix) == Some(&b'"');
        if !is_start {
            self.plain_until = self.at + prefix;
        }
        is_start
    }

    fn lex_prefixed_string(&mut self) -> TokenKind {
        let from = self.at;
        while matches!(self.peek(0), Some(b'$' | b'@')) {
            self.at += 1;
        }
        let prefix = &self.bytes[from..self.at];
        let holes = memchr::memchr_iter(b'$', prefix).count();
        let verbatim = prefix.contains(&b'@');
        self.lex_string(holes, verbatim)
    }

    /// Lexes a string from its first quote; `holes` is the number of braces that open an interpolation, 0 if it has none.
    fn lex_string(&mut self, holes: usize, verbatim: bool) -> TokenKind {
        let quotes = self.bytes[self.at..].iter().take_while(|b| **b == b'"').count();
        if quotes >= 3 && !verbatim {
            self.at += quotes;
            self.lex_raw_string_body(quotes, holes);
        } else {
            self.at += 1;
            self.lex_string_body(holes > 0, verbatim);
        }
        if self.starts_with("u8") {
            self.at += 2;
        }
        TokenKind::Literal
    }

    fn lex_string_body(&mut self, holes: bool, verbatim: bool) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' if verbatim && self.peek(1) == Some(b'"') => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' if !verbatim => self.at = (self.at + 2).min(self.bytes.len()),
                b'\n' if !verbatim => return,
                b'{' if holes && self.peek(1) == Some(b'{') => self.at += 2,
                b'{' if holes => {
                    self.at += 1;
                    self.lex_interpolation(1);
                }
                _ => self.at += 1,
            }
        }
    }

    fn lex_raw_string_body(&mut self, quotes: usize, holes: usize) {
        while let Some(byte) = self.peek(0) {
            let run = |of: u8| self.bytes[self.at..].iter().take_while(|b| **b == of).count();
            match byte {
                b'"' => {
                    let found = run(b'"');
                    self.at += found;
                    if found >= quotes {
                        return;
                    }
                }
                b'{' if holes > 0 => {
                    let found = run(b'{');
                    self.at += found;
                    if found >= holes {
                        self.lex_interpolation(holes);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Lexes an interpolation including its closing braces. A `:` outside brackets starts a format specifier, in which quotes are
    /// literal: `{time:yyyy-MM-dd'T'HH}`.
    fn lex_interpolation(&mut self, closing: usize) {
        if self.nesting < MAX_NESTING {
            self.nesting += 1;
            self.lex_hole(closing);
            self.nesting -= 1;
        }
    }

    fn lex_hole(&mut self, closing: usize) {
        let mut depth = 0usize;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'}' if depth == 0 => {
                    let found = self.bytes[self.at..].iter().take_while(|b| **b == b'}').count();
                    self.at += found.min(closing);
                    return;
                }
                b'(' | b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                b':' if depth == 0 && self.peek(1) == Some(b':') => self.at += 2,
                b':' if depth == 0 => {
                    while self.peek(0).is_some_and(|b| b != b'}' && b != b'"') {
                        self.at += 1;
                    }
                    if self.peek(0) == Some(b'"') {
                        return;
                    }
                }
                b'"' => {
                    self.lex_string(0, false);
                }
                b'\'' => {
                    self.lex_char();
                }
                b'$' | b'@' if self.is_string_start() => {
                    self.lex_prefixed_string();
                }
                b'/' if matches!(self.peek(1), Some(b'/' | b'*')) => {
                    self.lex_comment();
                }
                _ => self.at += 1,
            }
        }
    }

    fn lex_directive(&mut self) {
        let from = self.at;
        self.skip_line();
        let line = self.text.get(from..self.at).unwrap_or_default();
        self.conditions.process_directive(line);
        self.push(TokenKind::Directive, from);
        if !self.conditions.is_active() {
            self.skip_inactive();
        }
    }

    /// Skips inactive lines up to and including the directive that makes text active again.
    fn skip_inactive(&mut self) {
        let from = self.at;
        while !self.conditions.is_active() && self.at < self.bytes.len() {
            self.at += 1;
            let start = self.at;
            self.skip_line();
            let line = self.text.get(start..self.at).unwrap_or_default().trim_start();
            if !line.starts_with('#') {
                continue;
            }
            self.conditions.process_directive(line);
            if self.conditions.is_active() {
                let line_end = self.at;
                self.at = start;
                self.push(TokenKind::Inactive, from);
                self.at = line_end;
                self.push(TokenKind::Directive, start);
                self.at_line_start = true;
                return;
            }
        }
        self.push(TokenKind::Inactive, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_texts(text: &str) -> Vec<&str> {
        tokenize(text, &Symbols::from_names(&["YES"])).iter().map(|token| token.span.text_in(text)).collect()
    }

    #[test]
    fn a_string_with_interpolations_is_one_token() {
        for text in [
            r#""a \" b""#,
            r#"@"c:\x ""y"" ""#,
            r#"$"{a["k"]} {{ {(b ? "x" : "y")} {t:yyyy-MM-dd'T'HH}""#,
            r#"$@"""{x}"" and {y}""#,
            "\"\"\"a \"\" b\n c\"\"\"",
            "$$\"\"\"{ {{x}} \"\"\"",
            "\"u\"u8",
            "'\\''",
            r#"$"{$"{x}"}""#,
        ] {
            assert_eq!(token_texts(&format!("a {text} b")), ["a", text, "b"]);
        }
    }

    #[test]
    fn punctuation_is_matched_greedily_except_for_closing_angle_brackets() {
        assert_eq!(token_texts("a?.b ?? c>>d"), ["a", "?.", "b", "??", "c", ">", ">", "d"]);
        assert_eq!(token_texts("1.5e-3f..2 .5 0x1F"), ["1.5e-3f", "..", "2", ".5", "0x1F"]);
    }

    #[test]
    fn doc_comments_are_distinguished_from_plain_comments() {
        let kinds = |text| tokenize(text, &Symbols::default()).iter().map(|t| t.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("/// a\n//// b\n// c\n/** d */ /**/ /*** e */"),
            [
                TokenKind::Doc,
                TokenKind::Comment,
                TokenKind::Comment,
                TokenKind::Doc,
                TokenKind::Comment,
                TokenKind::Comment
            ]
        );
    }

    #[test]
    fn an_inactive_branch_is_one_token() {
        let text = "a\n#if NO\n\" ' b\n#if YES\nc\n#endif\n#elif YES\nd\n#else\ne\n#endif\nf";
        let words: Vec<&str> = tokenize(text, &Symbols::from_names(&["YES"]))
            .iter()
            .filter(|token| token.kind.is_significant())
            .map(|token| token.span.text_in(text))
            .collect();
        assert_eq!(words, ["a", "d", "f"]);
    }

    #[test]
    fn tokens_of_invalid_text_stay_within_the_text() {
        for text in
            ["\"", "$\"{", "@\"", "'", "/*", "#if", "#if X\n", "$$\"\"\"{{", "a\\", "'\\", "\"\\", "$\"{x:"]
        {
            let tokens = tokenize(text, &Symbols::default());
            assert!(
                tokens.iter().all(|t| t.span.from <= t.span.to && t.span.to as usize <= text.len()),
                "{text}"
            );
        }
    }
}
