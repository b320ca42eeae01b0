//! Reads the head of a declaration by a table: where a grammar puts names, bodies, parameters, bases and modifiers. The languages
//! that are read at the level of declarations share it.
//!
//! Does not know which nodes are declarations: the roles of the dialect say so.

use super::{Head, Walk, child_of_kind, named_children_of, node_span};
use facts::Visibility;
use tree_sitter::Node;

/// Fields or kinds of children; the first that a node has is used.
pub(crate) type Parts = &'static [&'static str];

/// How declarations are laid out in a language that is read at the level of declarations.
pub(crate) struct HeadRules {
    /// Leaves that are names: each one that declares nothing is a textual reference.
    pub(crate) names: Parts,
    /// Leaves that the grammar does not parse, such as the body of a macro: their words are textual references.
    pub(crate) raw_text: Parts,
    /// Whether the grammar does not recover from errors, so that damage is hidden from it.
    pub(crate) skips_damage: bool,
    /// Words that are no names even where the parser takes them for one.
    pub(crate) keywords: &'static str,
    pub(crate) name: Parts,
    pub(crate) body: Parts,
    pub(crate) parameters: Parts,
    pub(crate) type_parameters: Parts,
    /// Kinds of children that list base types.
    pub(crate) bases: Parts,
    /// Kinds of attributes, as children or below `modifiers`.
    pub(crate) attributes: Parts,
    /// Kinds of children that are modifiers or contain them.
    pub(crate) modifiers: Parts,
    /// The visibility that a modifier or the keyword of a section stands for.
    pub(crate) visibility: &'static [(&'static str, Visibility)],
    pub(crate) default_visibility: Visibility,
    /// Modifiers of members that belong to the type.
    pub(crate) static_words: Parts,
}

/// Defaults: the field names that most grammars use, and everything public.
pub(crate) const DEFAULT_HEAD_RULES: HeadRules = HeadRules {
    names: &["identifier"],
    raw_text: &[],
    skips_damage: false,
    keywords: "",
    name: &["name"],
    body: &["body"],
    parameters: &["parameters"],
    type_parameters: &["type_parameters"],
    bases: &[],
    attributes: &[],
    modifiers: &[],
    visibility: &[],
    default_visibility: Visibility::Public,
    static_words: &["static"],
};

impl HeadRules {
    /// The visibility that a modifier stands for.
    pub(crate) fn visibility_of(&self, word: &str) -> Option<Visibility> {
        self.visibility.iter().find(|(known, _)| *known == word).map(|(_, visibility)| *visibility)
    }
}

/// The first of some fields or kinds of children that a node has.
pub(crate) fn find_part<'a>(node: Node<'a>, parts: &[&str]) -> Option<Node<'a>> {
    parts.iter().find_map(|part| field_of(node, part).or_else(|| child_of_kind(node, part)))
}

/// A field of a node. Rules write an empty name where there is none, which tree-sitter's C code must not get.
pub(crate) fn field_of<'a>(node: Node<'a>, name: &str) -> Option<Node<'a>> {
    (!name.is_empty()).then(|| node.child_by_field_name(name)).flatten()
}

impl<'a> Walk<'a> {
    /// Reads a head by the rules of the dialect. A modifier decides the visibility, then the section around it, then the default.
    pub(crate) fn read_table_head(&self, node: Node<'a>) -> Head<'a> {
        let mut head = Head::new(self, node);
        let Some(rules) = self.dialect.head_rules else { return head };
        head.set_name(self, find_part(node, rules.name));
        head.body = find_part(node, rules.body);
        head.parameters = find_part(node, rules.parameters).into_iter().collect();
        head.type_parameters = find_part(node, rules.type_parameters);
        head.value_type = None;
        for child in node.children(&mut node.walk()) {
            if rules.attributes.contains(&child.kind()) {
                head.attributes.push(child);
            } else if rules.bases.contains(&child.kind()) {
                head.bases.extend(self.base_names(child));
            } else if rules.modifiers.contains(&child.kind()) {
                self.apply_modifiers(&mut head, rules, child);
            }
        }
        head.visibility = head.visibility.or(self.section).or(Some(rules.default_visibility));
        head
    }

    /// Applies a modifier, or all modifiers in a list.
    fn apply_modifiers(&self, head: &mut Head<'a>, rules: &HeadRules, node: Node<'a>) {
        let listed = named_children_of(node);
        for modifier in if listed.is_empty() { vec![node] } else { listed } {
            if rules.attributes.contains(&modifier.kind()) {
                head.attributes.push(modifier);
                continue;
            }
            let word = self.node_text(modifier);
            if let Some(visibility) = rules.visibility_of(word) {
                head.visibility = Some(visibility);
                head.excluded.push(node_span(modifier));
            }
            head.is_static |= rules.static_words.contains(&word);
        }
    }

    /// The names in a list of base types; arguments of their constructors and modifiers stay in the header.
    fn base_names(&self, list: Node<'a>) -> Vec<Node<'a>> {
        named_children_of(list).into_iter().filter_map(|base| self.plain_name(base, 0)).collect()
    }

    fn plain_name(&self, node: Node<'a>, depth: u32) -> Option<Node<'a>> {
        let is_name = self.name_words(node).is_some_and(|words| !words.is_empty());
        match is_name {
            true => Some(node).filter(|node| node.kind() != "access_specifier"),
            false if depth < 4 => self.plain_name(node.named_child(0)?, depth + 1),
            false => None,
        }
    }
}

impl<'a> Head<'a> {
    pub(crate) fn set_name(&mut self, walk: &Walk<'a>, name: Option<Node<'a>>) {
        // Kotlin and Swift quote names that are keywords or contain spaces
        let text = name.map_or("", |name| walk.node_text(name));
        text.trim_matches('`').clone_into(&mut self.name);
        self.name_node = name;
    }
}
