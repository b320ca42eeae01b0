//! Records the names in a tree that may refer to types, each with its syntactic position.
//!
//! Does not resolve them and does not know the variables in scope: a single word counts if its initial is uppercase; the first word
//! of a dotted name also counts if an import binds it.

use super::{Walk, node_span};
use crate::token::TokenKind;
use facts::{Position, Reference};
use tree_sitter::Node;

/// Fields in which a word names a member, label or alias rather than a type.
const MEMBER_NAME_FIELDS: &[&str] = &["name", "property", "attribute", "field", "key", "label", "alias"];

/// Words that are not names.
const KEYWORDS: &[&str] = &["this", "Self", "cls", "undefined", "None", "True", "False"];

impl<'a> Walk<'a> {
    /// Records a simple or dotted name. Returns false if it contains anything but names; the caller must then visit its children.
    pub(crate) fn record_name(&mut self, node: Node<'a>, position: Position) -> bool {
        let Some(words) = self.name_words(node) else { return false };
        let value = matches!(position, Position::Value | Position::Called | Position::Bare);
        let lone = words.len() == 1;
        if words.is_empty()
            || KEYWORDS.contains(&words[0])
            || (lone && self.type_parameters.contains(words[0]))
        {
            return true;
        }
        if value && !self.may_be_type(words[0], node) {
            return true;
        }
        self.push_reference(node, &words, position);
        true
    }

    /// The words of `a.b.c` or `a::b::c`.
    pub(crate) fn name_words(&self, node: Node<'a>) -> Option<Vec<&'a str>> {
        let mut words = Vec::new();
        for token in self.source.tokens_in(node_span(node)) {
            if !self.budget.spend(1) {
                return None;
            }
            match (token.kind, self.source.text_of(token)) {
                (TokenKind::Word, word) => words.push(word),
                (TokenKind::Punctuation, "." | "::" | "") => {}
                _ => return None,
            }
        }
        Some(words)
    }

    fn may_be_type(&self, first: &str, node: Node) -> bool {
        starts_uppercase(first) || self.imported.contains(first) || self.node_text(node).contains("::")
    }

    pub(crate) fn push_reference(&mut self, node: Node<'a>, words: &[&'a str], position: Position) {
        let (alias, words) = self.split_path_root(words);
        if words.is_empty() {
            return;
        }
        let path = self.intern_path(alias, &words);
        let owner = self.owner;
        self.facts.references.push(Reference {
            path,
            at: node.start_byte() as u32,
            name_end: node.end_byte() as u32,
            scope: self.scope,
            owner,
            position,
            is_shadowed: false,
        });
    }

    /// Splits off the root of a path as its alias: `crate`, or `self` and `super` relative to the module of the file.
    pub(crate) fn split_path_root(&mut self, words: &[&'a str]) -> (Option<&'a str>, Vec<&'a str>) {
        match words.first() {
            Some(&"crate") => (Some("crate"), words[1..].to_vec()),
            Some(&("self" | "super")) => {
                let prefix = words.iter().take_while(|word| matches!(**word, "self" | "super")).count();
                let ups = words[..prefix].iter().filter(|word| **word == "super").count();
                let scope = &self.facts.scopes[self.scope as usize].namespace;
                let inline = self.namespace_words(scope);
                let kept = inline.len().saturating_sub(ups);
                let alias = SUPER_ROOTS[(ups.saturating_sub(inline.len())).min(SUPER_ROOTS.len() - 1)];
                (Some(alias), inline[..kept].iter().chain(&words[prefix..]).copied().collect())
            }
            _ => (None, words.to_vec()),
        }
    }

    fn namespace_words(&self, namespace: &[u32]) -> Vec<&'a str> {
        namespace.iter().filter_map(|word| self.interner.word_text(*word)).collect()
    }

    /// Records a single word if it may be a type.
    pub(crate) fn record_lone_word(&mut self, node: Node<'a>, field: &str) {
        let text = self.node_text(node);
        if starts_uppercase(text) && !MEMBER_NAME_FIELDS.contains(&field) {
            self.record_name(node, Position::Bare);
        }
    }

    /// Marks the name at the start of a node as a base; records it first if necessary.
    pub(super) fn mark_as_base(&mut self, node: Node<'a>, from: usize) {
        let at = node.start_byte() as u32;
        match self.first_reference_at(at, from) {
            Some(known) => self.facts.references[known].position = Position::Base,
            None => drop(self.record_name(node, Position::Base)),
        }
    }

    /// The first of the references from an index on that starts at a byte.
    fn first_reference_at(&self, byte: u32, from: usize) -> Option<usize> {
        // what one name of a declaration adds is not for the others
        let shared = self.shared.as_ref().filter(|shared| shared.references.start == from);
        let to = shared.map_or(self.facts.references.len(), |shared| shared.references.end);
        let references = &self.facts.references[..to];
        if references.len() - from <= FEW_REFERENCES {
            return (from..references.len()).find(|at| references[*at].at == byte);
        }
        let mut known = self.reference_order.borrow_mut();
        if (known.from, known.to) != (from, references.len()) {
            self.budget.spend(references.len() - from);
            known.order.clear();
            known.order.extend((from..references.len()).map(|at| (references[at].at, at as u32)));
            known.order.sort_unstable();
            (known.from, known.to) = (from, references.len());
        }
        let first = known.order.partition_point(|(at, _)| *at < byte);
        known.order.get(first).filter(|(at, _)| *at == byte).map(|(_, index)| *index as usize)
    }

    /// The reference to a type that starts at a byte.
    pub(super) fn reference_at(&self, byte: u32, from: usize) -> Option<u32> {
        let at = self.first_reference_at(byte, from)?;
        let position = self.facts.references[at].position;
        matches!(position, Position::Type | Position::Base | Position::Attribute).then_some(at as u32)
    }
}

/// The references since one of them by their positions: a list of parameters has as many names as it has types.
#[derive(Default)]
pub(super) struct ReferenceOrder {
    /// Which references these are.
    from: usize,
    to: usize,
    /// Position and index of each.
    order: Vec<(u32, u32)>,
}

/// Among so few references, one is found sooner without their order.
const FEW_REFERENCES: usize = 16;

/// Path roots by number of levels above the file's own module.
pub(crate) const SUPER_ROOTS: &[&str] = &["self", "super", "super::super", "super::super::super"];

/// Path roots by number of levels above the file's folder.
pub(crate) const FOLDER_ROOTS: &[&str] = &[
    ".",
    "..",
    "../..",
    "../../..",
    "../../../..",
    "../../../../..",
    "../../../../../..",
    "../../../../../../..",
    "../../../../../../../..",
];

pub(crate) fn starts_uppercase(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}
