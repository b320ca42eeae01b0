//! The filter language that selects types for a pack: `namespace:Memo.* AND !tag:generated`.
//!
//! Does not know types: the caller answers for each type whether a term matches.

use std::fmt;

/// The property of a type that a term tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Namespace,
    Type,
    Access,
    Tag,
    /// The type uses a type with this name.
    Depends,
}

/// Each field with its key and an example of its value.
pub const FIELDS: &[(Field, &str, &str)] = &[
    (Field::Namespace, "namespace", "Memo.Core or Memo.*"),
    (Field::Type, "type", "NodeStore or *Store"),
    (Field::Access, "access", "public or internal"),
    (Field::Tag, "tag", "generated or test"),
    (Field::Depends, "depends", "Node or *Store"),
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    /// The value is in lower case and may contain `*` and `?`.
    Is(Field, String),
}

/// A syntax error in a filter: where it is, and what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct FilterError {
    /// Character offset, from 0.
    pub position: usize,
    pub hint: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "at character {}: {}", self.position + 1, self.hint)
    }
}

/// Deeper nesting is a mistake or an attack.
const MAX_DEPTH: usize = 64;

impl Filter {
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let mut parser = Parser { tokens: tokenize(text)?, at: 0, end: text.chars().count(), depth: 0 };
        let filter = parser.parse_or()?;
        match parser.peek() {
            None => Ok(filter),
            Some(word) => {
                Err(error_at(word.at, "unexpected text after the end of the filter; is a bracket missing?"))
            }
        }
    }

    /// Evaluates the filter; `is` decides each term.
    pub fn matches(&self, is: &dyn Fn(Field, &str) -> bool) -> bool {
        match self {
            Filter::Any(all) => all.iter().any(|one| one.matches(is)),
            Filter::All(all) => all.iter().all(|one| one.matches(is)),
            Filter::Not(inner) => !inner.matches(is),
            Filter::Is(field, word) => is(*field, word),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum TokenKind {
    Open,
    Close,
    Not,
    And,
    Or,
    Is(Field, String),
}

#[derive(Clone, Debug)]
struct Token {
    at: usize,
    kind: TokenKind,
}

fn error_at(position: usize, hint: impl Into<String>) -> FilterError {
    FilterError { position, hint: hint.into() }
}

fn tokenize(text: &str) -> Result<Vec<Token>, FilterError> {
    let chars: Vec<char> = text.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at) {
        let kind = match c {
            c if c.is_whitespace() => {
                at += 1;
                continue;
            }
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '!' => TokenKind::Not,
            _ => {
                let length =
                    chars[at..].iter().take_while(|c| !c.is_whitespace() && !"()!".contains(**c)).count();
                let word: String = chars[at..at + length].iter().collect();
                words.push(Token { at, kind: parse_term(&word, at)? });
                at += length;
                continue;
            }
        };
        words.push(Token { at, kind });
        at += 1;
    }
    Ok(words)
}

fn parse_term(word: &str, at: usize) -> Result<TokenKind, FilterError> {
    match word {
        "AND" | "and" | "&&" => return Ok(TokenKind::And),
        "OR" | "or" | "||" => return Ok(TokenKind::Or),
        _ => {}
    }
    let known = || FIELDS.iter().map(|(_, name, _)| format!("{name}:")).collect::<Vec<_>>().join(", ");
    let Some((name, value)) = word.split_once(':') else {
        return Err(error_at(
            at,
            format!("`{word}` has no filter key: use one of {}, for example type:{word}", known()),
        ));
    };
    let Some((field, _, example)) = FIELDS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name))
    else {
        return Err(error_at(at, format!("unknown filter key `{name}:`: use one of {}", known())));
    };
    let value_at = at + name.chars().count() + 1;
    if value.is_empty() {
        return Err(error_at(value_at, format!("`{name}:` needs a value, for example {example}")));
    }
    let allowed = |c: char| c.is_alphanumeric() || "_.*+?-`".contains(c);
    if let Some(n) = value.chars().position(|c| !allowed(c)) {
        return Err(error_at(value_at + n, "invalid character: use letters, digits and _ . * + ? -"));
    }
    Ok(TokenKind::Is(*field, value.to_lowercase()))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// Length of the text in characters.
    end: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn accept(&mut self, kind: &TokenKind) -> bool {
        let fits = self.peek().is_some_and(|word| word.kind == *kind);
        self.at += usize::from(fits);
        fits
    }

    fn parse_or(&mut self) -> Result<Filter, FilterError> {
        let mut all = vec![self.parse_and()?];
        while self.accept(&TokenKind::Or) {
            all.push(self.parse_and()?);
        }
        Ok(if all.len() == 1 { all.swap_remove(0) } else { Filter::Any(all) })
    }

    /// Terms without an operator between them are joined with AND.
    fn parse_and(&mut self) -> Result<Filter, FilterError> {
        let mut all = vec![self.parse_unary()?];
        loop {
            let has_operator = self.accept(&TokenKind::And);
            let next = self.peek().map(|word| word.kind.clone());
            match next {
                Some(TokenKind::Not | TokenKind::Open | TokenKind::Is(..)) => all.push(self.parse_unary()?),
                _ if has_operator => return Err(self.expected_term()),
                _ => break,
            }
        }
        Ok(if all.len() == 1 { all.swap_remove(0) } else { Filter::All(all) })
    }

    fn parse_unary(&mut self) -> Result<Filter, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error_at(self.position(), "brackets are nested too deeply"));
        }
        let filter = match self.peek().map(|word| word.kind.clone()) {
            Some(TokenKind::Not) => {
                self.at += 1;
                Filter::Not(Box::new(self.parse_unary()?))
            }
            Some(TokenKind::Open) => {
                self.at += 1;
                let inner = self.parse_or()?;
                if !self.accept(&TokenKind::Close) {
                    return Err(error_at(self.position(), "missing `)`"));
                }
                inner
            }
            Some(TokenKind::Is(field, word)) => {
                self.at += 1;
                Filter::Is(field, word)
            }
            _ => return Err(self.expected_term()),
        };
        self.depth -= 1;
        Ok(filter)
    }

    fn position(&self) -> usize {
        self.peek().map_or(self.end, |word| word.at)
    }

    fn expected_term(&self) -> FilterError {
        error_at(self.position(), "expected a term such as namespace:Memo.*")
    }
}
