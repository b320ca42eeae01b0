//! The syntax nodes of one file, in source order, for edits that need the shape of a construct: the items of a parameter list,
//! the statement around a name.
//!
//! Does not know what a node means: kinds and fields are those of the grammar.

use crate::parsed::ParsedText;
use crate::reader::LANGUAGES;
use facts::Span;
use std::sync::OnceLock;
use tree_sitter::{Language, TreeCursor};

/// A syntax node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxNode {
    pub kind: &'static str,
    /// Its field in the parent; empty if it has none.
    pub field: &'static str,
    pub span: Span,
    pub parent: u32,
    /// The index after its last descendant.
    pub end: u32,
    /// Whether the grammar does not understand it, or something in it.
    pub is_broken: bool,
}

impl ParsedText {
    /// All nodes, parents before children; the first is the root.
    pub fn nodes(&self) -> Vec<SyntaxNode> {
        let mut found = Vec::new();
        let mut cursor = self.tree.walk();
        let Some(grammar) = static_grammar(self.language) else { return found };
        let mut open = vec![push(&mut found, &cursor, 0, grammar)];
        loop {
            if cursor.goto_first_child() {
                let parent = open.last().copied().unwrap_or(0);
                open.push(push(&mut found, &cursor, parent, grammar));
                continue;
            }
            while !cursor.goto_next_sibling() {
                let count = found.len() as u32;
                let Some(closed) = open.pop() else { return found };
                found[closed as usize].end = count;
                if !cursor.goto_parent() {
                    return found;
                }
            }
            let count = found.len() as u32;
            let Some(closed) = open.pop() else { return found };
            found[closed as usize].end = count;
            let parent = open.last().copied().unwrap_or(0);
            open.push(push(&mut found, &cursor, parent, grammar));
        }
    }
}

/// The grammar of a language, kept so that the names of its nodes outlive a tree.
fn static_grammar(name: &str) -> Option<&'static Language> {
    static KEPT: [OnceLock<Language>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];
    let at = LANGUAGES.iter().position(|it| it.name == name)?;
    Some(KEPT[at].get_or_init(|| (LANGUAGES[at].grammar)()))
}

fn push(
    found: &mut Vec<SyntaxNode>,
    cursor: &TreeCursor<'_>,
    parent: u32,
    grammar: &'static Language,
) -> u32 {
    let field = cursor.field_id().and_then(|id| grammar.field_name_for_id(id.get()));
    let node = cursor.node();
    found.push(SyntaxNode {
        kind: grammar.node_kind_for_id(node.kind_id()).unwrap_or(""),
        field: field.unwrap_or(""),
        span: Span::new(node.start_byte(), node.end_byte()),
        parent,
        end: 0,
        is_broken: node.has_error() || node.is_missing(),
    });
    found.len() as u32 - 1
}
