//! Derives tokens from a tree: its leaves, with strings and comments as single tokens, without stylistic punctuation, and with an
//! empty token at line ends that terminate a statement.
//!
//! Does not know the meaning of the tokens.

use super::{Dialect, LazyDialect, Tables, TokenRule};
use crate::effort::EffortLimit;
use crate::token::{Token, TokenKind};
use facts::Span;
use tree_sitter::{Node, Tree, TreeCursor};

pub(crate) fn tokenize(reading: &LazyDialect, tree: &Tree, text: &str, budget: &EffortLimit) -> Vec<Token> {
    let (dialect, tables) = (&reading.dialect, reading.tables_for(tree));
    let tokens = Vec::with_capacity(text.len() / 5);
    let (open, rules) = (Vec::new(), Vec::new());
    let mut out = Tokenizer { dialect, tables, text, tokens, end: 0, open, rules, budget };
    let mut cursor = tree.walk();
    loop {
        if !budget.spend(1) {
            return out.tokens;
        }
        if out.enter_node(&cursor) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                out.push_text_between(text.len());
                return out.tokens;
            }
            out.leave_node(cursor.node());
        }
    }
}

struct Tokenizer<'a, 't> {
    dialect: &'a Dialect,
    tables: &'a Tables,
    text: &'a str,
    tokens: Vec<Token>,
    /// End of the last leaf.
    end: usize,
    /// The enclosing nodes, outermost first, and the rule of each.
    open: Vec<Node<'t>>,
    rules: Vec<OpenRule>,
    budget: &'a EffortLimit<'a>,
}

struct OpenRule {
    rule: TokenRule,
    /// Whether it has a named child other than a comment that was entered already.
    has_child: bool,
}

impl<'t> Tokenizer<'_, 't> {
    /// Processes a node; returns true if its children must be visited.
    fn enter_node(&mut self, cursor: &TreeCursor<'t>) -> bool {
        let node = cursor.node();
        let piece = self.token_rule(node);
        let is_first = self.enter_child(node, piece);
        if matches!(piece, TokenRule::Descend | TokenRule::LineTerminated) && node.child_count() > 0 {
            if is_first && (self.dialect.is_doc)(node, &self.open) {
                self.push_token(TokenKind::Doc, node);
                return false;
            }
            self.open.push(node);
            self.rules.push(OpenRule { rule: piece, has_child: false });
            return true;
        }
        self.push_text_between(node.start_byte());
        match piece {
            TokenRule::Comment => self.push_comment(node),
            TokenRule::Whole => self.push_token(TokenKind::Literal, node),
            _ => self.push_leaf(node),
        }
        if node.is_named() && piece != TokenRule::Comment {
            self.push_line_end(node);
        }
        false
    }

    /// Whether a node is the first named child of its parent that is no comment.
    fn enter_child(&mut self, node: Node<'t>, piece: TokenRule) -> bool {
        let counts = node.is_named() && piece != TokenRule::Comment;
        let around = self.rules.last_mut().filter(|_| counts);
        around.is_some_and(|around| !std::mem::replace(&mut around.has_child, true))
    }

    fn leave_node(&mut self, node: Node) {
        self.open.pop();
        self.rules.pop();
        if node.is_named() {
            self.push_line_end(node);
        }
    }

    fn token_rule(&self, node: Node) -> TokenRule {
        self.tables.token_rules.get(node.kind_id() as usize).copied().unwrap_or(TokenRule::Descend)
    }

    /// Adds an empty token at the end of a statement that has no terminator. It is placed at the last byte, inside the node.
    fn push_line_end(&mut self, node: Node) {
        if self.rules.last().is_some_and(|around| around.rule == TokenRule::LineTerminated)
            && node.end_byte() > node.start_byte()
        {
            let last = self.tokens.last().map_or(0, |token| token.span.from as usize);
            let at = last.max(node.end_byte() - 1);
            self.tokens.push(Token { kind: TokenKind::Punctuation, span: Span::new(at, at) });
        }
    }

    fn push_token(&mut self, kind: TokenKind, node: Node) {
        self.end = self.end.max(node.end_byte());
        if node.end_byte() > node.start_byte() {
            self.tokens.push(Token { kind, span: Span::new(node.start_byte(), node.end_byte()) });
        }
    }

    fn push_comment(&mut self, node: Node) {
        let text = Span::new(node.start_byte(), node.end_byte()).text_in(self.text);
        let kind = if self.dialect.doc_style.is_doc(text) { TokenKind::Doc } else { TokenKind::Comment };
        self.push_token(kind, node);
    }

    fn push_leaf(&mut self, node: Node) {
        let text = Span::new(node.start_byte(), node.end_byte()).text_in(self.text);
        // between JSX elements, a CRLF line ending is a separate text node
        if text.trim().is_empty() && !text.is_empty() {
            return;
        }
        let kind = match text.bytes().next() {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..) => TokenKind::Word,
            Some(b'0'..=b'9') => TokenKind::Number,
            _ => TokenKind::Punctuation,
        };
        if kind == TokenKind::Punctuation && self.is_stylistic(text, node) {
            self.end = self.end.max(node.end_byte());
            return;
        }
        self.push_token(kind, node);
    }

    fn is_stylistic(&mut self, text: &str, node: Node) -> bool {
        let Some(parent) = self.open.last().copied() else { return false };
        if matches!(text, ")" | "]" | "}" | ">") {
            self.drop_trailing_comma(parent);
        }
        (matches!(text, "(" | ")") && self.is_redundant_paren(parent))
            || (self.dialect.is_stylistic)(node, &self.open)
    }

    /// Whether parentheses are redundant because the context accepts only a whole expression. They are needed around an expression
    /// that would otherwise start a block or continue after a comma.
    fn is_redundant_paren(&self, parent: Node) -> bool {
        let around = self.open.iter().rev().nth(1);
        let whole = around.is_some_and(|node| self.dialect.redundant_parens.contains(&node.kind()));
        if !whole || parent.kind() != "parenthesized_expression" {
            return false;
        }
        let inner = parent.named_child(0).map_or("", |inner| inner.kind());
        !matches!(inner, "object" | "sequence_expression" | "function_expression" | "class")
    }

    /// Drops a trailing comma, unless it makes a tuple with one element or follows a hole.
    fn drop_trailing_comma(&mut self, list: Node) {
        let is = |token: &Token, mark: &str| token.span.text_in(self.text) == mark;
        let counted: Vec<usize> = (0..self.tokens.len())
            .rev()
            .take_while(|_| self.budget.spend(1))
            .filter(|at| {
                self.tokens[*at].kind.is_significant()
                    && self.tokens[*at].span.from < self.tokens[*at].span.to
            })
            .take(2)
            .collect();
        let [last, before] = counted[..] else { return };
        let hole = is(&self.tokens[before], ",") || is(&self.tokens[before], "[");
        let single = self.dialect.tuples.contains(&list.kind()) && list.named_child_count() == 1;
        if is(&self.tokens[last], ",") && !hole && !single {
            self.tokens.remove(last);
        }
    }

    /// Adds non-blank text between leaves as a token, so that text missing from a damaged tree still affects hashes.
    fn push_text_between(&mut self, until: usize) {
        let gap = self.text.get(self.end..until).unwrap_or_default();
        if !gap.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b'\\') {
            let from = self.end + (gap.len() - gap.trim_start().len());
            let gap = gap.trim();
            if !gap.is_empty() && gap != "\u{feff}" {
                self.tokens.push(Token { kind: TokenKind::Literal, span: Span::new(from, from + gap.len()) });
            }
        }
        self.end = self.end.max(until);
    }
}
