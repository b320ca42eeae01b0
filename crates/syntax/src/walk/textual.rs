//! Collects the names of a file as textual references: every identifier outside of comments and strings that declares nothing.
//!
//! Does not know what a name refers to, nor the local variables: a usage found this way is only possible.

use super::{HeadRules, Walk, is_word_char, node_span};
use facts::Span;
use facts::{MemberReference, ReceiverExpr};
use tree_sitter::Node;

impl<'a> Walk<'a> {
    /// Collects the names of the tree, and those in text that was hidden from the grammar.
    pub(super) fn collect_textual_references(&mut self, rules: &HeadRules, hidden: &[Span]) {
        for span in hidden {
            self.read_raw_words(*span);
        }
        self.read_leaves(rules);
        self.facts.member_references.sort_by_key(|it| it.at);
    }

    fn read_leaves(&mut self, rules: &HeadRules) {
        let mut cursor = self.root.walk();
        loop {
            if cursor.goto_first_child() {
                continue;
            }
            self.read_leaf(rules, cursor.node());
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn read_leaf(&mut self, rules: &HeadRules, node: Node<'a>) {
        if self.tables.names.get(node.kind_id() as usize).copied().unwrap_or(false) {
            // `:name` and `@name` are names with a mark
            let text = self.node_text(node);
            let name = text.trim_start_matches(|c| !is_word_char(c)).trim_start_matches('$');
            let at = node.end_byte() - name.len();
            self.push_textual_reference(name.trim_end_matches('`'), at);
        } else if rules.raw_text.contains(&node.kind()) {
            self.read_raw_words(node_span(node));
        }
    }

    /// The words of text that the grammar does not parse, without strings.
    fn read_raw_words(&mut self, span: Span) {
        let (mut at, mut quote) = (span.from as usize, None);
        for piece in span.text_in(self.source.text).split_inclusive(|c| !is_word_char(c)) {
            let word = piece.trim_end_matches(|c| !is_word_char(c));
            if quote.is_none() {
                self.push_textual_reference(word, at);
            }
            match (quote, piece[word.len()..].chars().next()) {
                (None, Some(mark @ ('"' | '\''))) => quote = Some(mark),
                (Some(open), Some(mark)) if open == mark => quote = None,
                _ => {}
            }
            at += piece.len();
        }
    }

    fn push_textual_reference(&mut self, name: &'a str, at: usize) {
        let is_name = name.starts_with(|c: char| is_word_char(c) && !c.is_ascii_digit());
        if !is_name || self.declared_names.contains(&(at as u32)) {
            return;
        }
        let word = self.intern_word(name);
        self.facts.member_references.push(MemberReference {
            word,
            at: at as u32,
            receiver: ReceiverExpr::Unknown,
            argument_count: None,
            arity: 0,
        });
    }
}
