//! Tokenizes C# in one pass and evaluates `#if` on the way.
//!
//! Does not know the grammar: `async` is always a word. Invalid text still becomes tokens: an unclosed string ends with its line.

use crate::preprocessor::{Conditions, Symbols};
use crate::token::{Lexeme, Span, Token};

/// Multi-character punctuation, longest first. `>` is always a separate token, because `>>` may close two type argument lists.
const MARKS: &[&str] = &[
    "<<=", "??=", "++", "--", "&&", "||", "==", "!=", "<=", "<<", "??", "?.", "=>", "->", "::", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "..",
];

pub(crate) fn lex(text: &str, symbols: &Symbols) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        text,
        at: 0,
        fresh_line: true,
        tokens: Vec::with_capacity(text.len() / 5),
        conditions: Conditions::new(symbols),
    };
    lexer.run();
    lexer.tokens
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    /// Whether only whitespace precedes this position on its line, so that a `#` starts a directive.
    fresh_line: bool,
    tokens: Vec<Token>,
    conditions: Conditions,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.fresh_line = true;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' if self.fresh_line => self.directive(),
                _ => {
                    if let Some(wide) = self.wide_blank() {
                        self.at += wide;
                    } else {
                        self.fresh_line = false;
                        self.token(byte);
                    }
                }
            }
        }
    }

    fn token(&mut self, byte: u8) {
        let from = self.at;
        let kind = match byte {
            b'/' if matches!(self.peek(1), Some(b'/' | b'*')) => self.comment(),
            b'"' => self.quoted(0, false),
            b'\'' => self.character(),
            b'$' | b'@' if self.opens_string() => self.prefixed(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
            b'@' | b'_' | b'\\' | 0x80.. => self.word(),
            _ if byte.is_ascii_alphabetic() => self.word(),
            _ => self.mark(),
        };
        self.push(kind, from);
    }

    fn push(&mut self, kind: Lexeme, from: usize) {
        self.tokens.push(Token { kind, span: Span::new(from, self.at) });
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn starts(&self, with: &str) -> bool {
        self.bytes[self.at..].starts_with(with.as_bytes())
    }

    /// The length of a byte order mark, a no-break or an ideographic space.
    fn wide_blank(&self) -> Option<usize> {
        ["\u{feff}", "\u{a0}", "\u{3000}"].iter().find(|blank| self.starts(blank)).map(|blank| blank.len())
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn comment(&mut self) -> Lexeme {
        if self.starts("//") {
            let doc = self.starts("///") && !self.starts("////");
            self.skip_line();
            return if doc { Lexeme::Doc } else { Lexeme::Comment };
        }
        let doc = self.starts("/**") && !self.starts("/***") && !self.starts("/**/");
        let rest = &self.bytes[self.at + 2..];
        self.at += memchr::memmem::find(rest, b"*/").map_or(rest.len() + 2, |end| end + 4);
        if doc { Lexeme::Doc } else { Lexeme::Comment }
    }

    fn word(&mut self) -> Lexeme {
        self.at += 1;
        while self.peek(0).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\\' | 0x80..))
            && self.wide_blank().is_none()
        {
            self.at += 1;
        }
        Lexeme::Word
    }

    fn number(&mut self) -> Lexeme {
        let hex = self.starts("0x") || self.starts("0X");
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
        Lexeme::Number
    }

    fn mark(&mut self) -> Lexeme {
        let known = MARKS.iter().find(|mark| self.starts(mark));
        // `a ?.5 : b` is a conditional expression, not a member access
        let conditional = known == Some(&"?.") && self.peek(2).is_some_and(|next| next.is_ascii_digit());
        self.at += if conditional { 1 } else { known.map_or(1, |mark| mark.len()) };
        Lexeme::Mark
    }

    fn character(&mut self) -> Lexeme {
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
        Lexeme::Text
    }

    /// Whether the `$` or `@` here starts a string: `$"`, `@"`, `$@"`, `@$"`, `$$"""`.
    fn opens_string(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let prefix = rest.iter().take_while(|b| matches!(b, b'$' | b'@')).count();
        rest.get(prefix) == Some(&b'"')
    }

    fn prefixed(&mut self) -> Lexeme {
        let from = self.at;
        while matches!(self.peek(0), Some(b'$' | b'@')) {
            self.at += 1;
        }
        let prefix = &self.bytes[from..self.at];
        let holes = memchr::memchr_iter(b'$', prefix).count();
        let verbatim = prefix.contains(&b'@');
        self.quoted(holes, verbatim)
    }

    /// Lexes a string from its first quote; `holes` is the number of braces that open an interpolation, 0 if it has none.
    fn quoted(&mut self, holes: usize, verbatim: bool) -> Lexeme {
        let quotes = self.bytes[self.at..].iter().take_while(|b| **b == b'"').count();
        if quotes >= 3 && !verbatim {
            self.at += quotes;
            self.raw(quotes, holes);
        } else {
            self.at += 1;
            self.plain(holes > 0, verbatim);
        }
        if self.starts("u8") {
            self.at += 2;
        }
        Lexeme::Text
    }

    fn plain(&mut self, holes: bool, verbatim: bool) {
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
                    self.hole(1);
                }
                _ => self.at += 1,
            }
        }
    }

    fn raw(&mut self, quotes: usize, holes: usize) {
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
                        self.hole(holes);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Lexes an interpolation including its closing braces. A `:` outside brackets starts a format specifier, in which quotes are
    /// literal: `{time:yyyy-MM-dd'T'HH}`.
    fn hole(&mut self, closing: usize) {
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
                    self.quoted(0, false);
                }
                b'\'' => {
                    self.character();
                }
                b'$' | b'@' if self.opens_string() => {
                    self.prefixed();
                }
                b'/' if matches!(self.peek(1), Some(b'/' | b'*')) => {
                    self.comment();
                }
                _ => self.at += 1,
            }
        }
    }

    fn directive(&mut self) {
        let from = self.at;
        self.skip_line();
        let line = self.text.get(from..self.at).unwrap_or_default();
        self.conditions.line(line);
        self.push(Lexeme::Directive, from);
        if !self.conditions.active() {
            self.skip();
        }
    }

    /// Skips inactive lines up to and including the directive that makes text active again.
    fn skip(&mut self) {
        let from = self.at;
        while !self.conditions.active() && self.at < self.bytes.len() {
            self.at += 1;
            let start = self.at;
            self.skip_line();
            let line = self.text.get(start..self.at).unwrap_or_default().trim_start();
            if !line.starts_with('#') {
                continue;
            }
            self.conditions.line(line);
            if self.conditions.active() {
                let line_end = self.at;
                self.at = start;
                self.push(Lexeme::Inactive, from);
                self.at = line_end;
                self.push(Lexeme::Directive, start);
                self.fresh_line = true;
                return;
            }
        }
        self.push(Lexeme::Inactive, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<&str> {
        lex(text, &Symbols::of(&["YES"])).iter().map(|token| token.span.of(text)).collect()
    }

    #[test]
    fn a_string_is_one_token_whatever_is_in_it() {
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
            assert_eq!(told(&format!("a {text} b")), ["a", text, "b"]);
        }
    }

    #[test]
    fn marks_are_as_long_as_can_be_but_for_what_may_close_a_list() {
        assert_eq!(told("a?.b ?? c>>d"), ["a", "?.", "b", "??", "c", ">", ">", "d"]);
        assert_eq!(told("1.5e-3f..2 .5 0x1F"), ["1.5e-3f", "..", "2", ".5", "0x1F"]);
    }

    #[test]
    fn comments_know_whether_they_document() {
        let kinds = |text| lex(text, &Symbols::default()).iter().map(|t| t.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("/// a\n//// b\n// c\n/** d */ /**/ /*** e */"),
            [Lexeme::Doc, Lexeme::Comment, Lexeme::Comment, Lexeme::Doc, Lexeme::Comment, Lexeme::Comment]
        );
    }

    #[test]
    fn what_a_condition_leaves_out_is_one_token() {
        let text = "a\n#if NO\n\" ' b\n#if YES\nc\n#endif\n#elif YES\nd\n#else\ne\n#endif\nf";
        let words: Vec<&str> = lex(text, &Symbols::of(&["YES"]))
            .iter()
            .filter(|token| token.kind.counts())
            .map(|token| token.span.of(text))
            .collect();
        assert_eq!(words, ["a", "d", "f"]);
    }

    #[test]
    fn tokens_lie_in_order_and_within_the_text_whatever_it_is() {
        for text in
            ["\"", "$\"{", "@\"", "'", "/*", "#if", "#if X\n", "$$\"\"\"{{", "a\\", "'\\", "\"\\", "$\"{x:"]
        {
            let tokens = lex(text, &Symbols::default());
            assert!(
                tokens.iter().all(|t| t.span.from <= t.span.to && t.span.to as usize <= text.len()),
                "{text}"
            );
        }
    }
}
