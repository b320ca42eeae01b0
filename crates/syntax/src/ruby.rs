//! Ruby: modules, classes, methods, constants and attributes, at the level of declarations.
//!
//! Does not know methods that a program defines while it runs, other than by `attr_reader` and its siblings.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{
    DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, Head, HeadRules, LazyDialect, Role, TokenRule, Walk,
    child_of_kind, children_of_kind, named_children_of, node_span, other_spans,
};
use facts::{MemberKind, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Ruby",
    level: Level::Declarations,
    extensions: &["rb", "rake", "gemspec", "ru"],
    grammar: || grammars::ruby().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::FreeItems)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("body_statement", Role::Transparent),
        ("block_body", Role::Transparent),
        ("if", Role::Transparent),
        ("unless", Role::Transparent),
        ("if_modifier", Role::Transparent),
        ("unless_modifier", Role::Transparent),
        ("then", Role::Transparent),
        ("else", Role::Transparent),
        ("begin", Role::Transparent),
        ("module", Role::Custom),
        ("class", Role::Custom),
        ("singleton_class", Role::Custom),
        ("method", Role::Custom),
        ("singleton_method", Role::Custom),
        ("alias", Role::Member(MemberKind::Method)),
        ("assignment", Role::Custom),
        ("call", Role::Custom),
        ("identifier", Role::Custom),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("string", TokenRule::Whole),
        ("regex", TokenRule::Whole),
        ("heredoc_body", TokenRule::Whole),
        ("string_array", TokenRule::Whole),
        ("symbol_array", TokenRule::Whole),
        ("program", TokenRule::LineTerminated),
        ("body_statement", TokenRule::LineTerminated),
        ("then", TokenRule::LineTerminated),
        ("do", TokenRule::LineTerminated),
    ],
    is_stylistic: |mark, _| mark.kind() == ";",
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules {
    names: &["identifier", "constant", "simple_symbol", "hash_key_symbol"],
    bases: &["superclass"],
    visibility: &[
        ("public", Visibility::Public),
        ("protected", Visibility::Protected),
        ("private", Visibility::Private),
    ],
    ..DEFAULT_HEAD_RULES
};

/// Calls that declare attributes.
const ATTRIBUTE_CALLS: &[&str] = &["attr", "attr_reader", "attr_writer", "attr_accessor"];

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = walk.read_table_head(node);
    if head.body.is_none() {
        head.excluded.extend(child_of_kind(node, "end").map(node_span));
    }
    if node.kind() == "class" {
        head.bases.extend(head.body.map(|body| mixins(walk, body)).unwrap_or_default());
    }
    if node.kind() == "alias" {
        // `alias new old`: the grammar's field `name` is the new one
        head.body = node.child_by_field_name("alias");
    }
    head
}

/// The modules that a class includes: their methods become its own.
fn mixins<'a>(walk: &Walk<'a>, body: Node<'a>) -> Vec<Node<'a>> {
    let is_mixin = |call: &Node<'a>| {
        let method = call.child_by_field_name("method").map_or("", |method| walk.node_text(method));
        call.child_by_field_name("receiver").is_none() && matches!(method, "include" | "extend" | "prepend")
    };
    let calls = children_of_kind(body, "call").into_iter().filter(is_mixin);
    let names = calls.filter_map(|call| call.child_by_field_name("arguments")).flat_map(named_children_of);
    names.filter(|it| matches!(it.kind(), "constant" | "scope_resolution")).collect()
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        _ if !walk.declaring => walk.visit_non_declaring(cursor),
        "module" | "class" => read_container(walk, node),
        "singleton_class" => read_singleton_class(walk, node),
        "method" | "singleton_method" => read_method(walk, node),
        "assignment" => read_constant(walk, cursor),
        "call" => read_call(walk, cursor),
        _ => {
            let section = HEAD_RULES.visibility_of(walk.node_text(node));
            walk.section = section.or(walk.section);
        }
    }
}

/// Reads a module or a class. `class A::B` declares `B` in `A`.
fn read_container<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(name) = node.child_by_field_name("name") else { return walk.visit_children(&mut node.walk()) };
    let words = walk.name_words(name).unwrap_or_default();
    let Some((last, around)) = words.split_last() else { return };
    let section = walk.section.take();
    if node.kind() == "module" && walk.owner.is_none() {
        read_module(walk, node, name, &words);
    } else if around.is_empty() || walk.owner.is_some() {
        read_class(walk, node, last);
    } else {
        walk.read_in_scope(around, |walk| read_class(walk, node, last));
    }
    walk.section = section;
}

/// Reads a module as a namespace with methods of its own.
fn read_module<'a>(walk: &mut Walk<'a>, node: Node<'a>, name: Node<'a>, words: &[&'a str]) {
    walk.mark_declared_at(name.end_byte() - words.last().map_or(0, |word| word.len()));
    if let Some(body) = node.child_by_field_name("body") {
        walk.read_nested_scope(words, Visibility::Public, node, body);
    }
}

/// Reads a class, or a module in a class.
fn read_class<'a>(walk: &mut Walk<'a>, node: Node<'a>, name: &str) {
    let mut head = read_head(walk, node);
    name.clone_into(&mut head.name);
    let at = walk.facts.types.len();
    walk.read_type_part(TypeKind::Class, node, &head, |walk, body| walk.visit_children(&mut body.walk()));
    if head.body.is_none() {
        let header = &mut walk.facts.types[at].header_text;
        header.truncate(header.trim_end_matches("end").trim_end().len());
    }
}

/// `class << self`: its methods belong to the type, and its sections end with it.
fn read_singleton_class<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let section = walk.section.take();
    if let Some(body) = node.child_by_field_name("body") {
        walk.visit_children(&mut body.walk());
    }
    walk.section = section;
}

fn is_in_singleton_class<'a>(walk: &Walk<'a>, node: Node<'a>) -> bool {
    let around = walk.parent_of(node).and_then(|body| walk.parent_of(body));
    around.is_some_and(|around| around.kind() == "singleton_class")
}

fn read_method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    if head.name.is_empty() {
        return walk.visit_non_declaring(&mut node.walk());
    }
    let is_singleton = node.kind() == "singleton_method";
    head.is_static = is_singleton || is_in_singleton_class(walk, node);
    if is_singleton {
        // sections do not apply to `def self.name`
        head.visibility = Some(Visibility::Public);
        "self.".clone_into(&mut head.qualifier);
    }
    let kind = match walk.owner {
        Some(_) if head.name == "initialize" => MemberKind::Constructor,
        None if walk.scope == 0 => MemberKind::Function,
        _ => MemberKind::Method,
    };
    walk.add_member(kind, node, &head);
}

/// `NAME = value` declares a constant.
fn read_constant<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    let name = node.child_by_field_name("left").filter(|left| left.kind() == "constant");
    let Some(name) = name else { return walk.visit_non_declaring(cursor) };
    let mut head = read_head(walk, node);
    head.set_name(walk, Some(name));
    head.visibility = Some(Visibility::Public);
    head.body = node.child_by_field_name("right");
    head.is_static = true;
    walk.add_member(MemberKind::Constant, node, &head);
}

/// Calls that declare: attributes, and `private` before a definition or with names.
fn read_call<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    let has_receiver = node.child_by_field_name("receiver").is_some();
    let method = node.child_by_field_name("method").filter(|_| !has_receiver);
    let method = method.map_or("", |method| walk.node_text(method));
    let arguments = node.child_by_field_name("arguments").map(named_children_of).unwrap_or_default();
    if ATTRIBUTE_CALLS.contains(&method) {
        return read_attributes(walk, node, &arguments);
    }
    if let Some(block) = node.child_by_field_name("block") {
        // `helpers do … end`: what a block declares belongs to what is around it
        let section = walk.section;
        walk.visit_children(&mut block.walk());
        walk.section = section;
        return;
    }
    let visibility = HEAD_RULES.visibility_of(method).filter(|_| !arguments.is_empty());
    let Some(visibility) = visibility else { return walk.visit_non_declaring(cursor) };
    let section = walk.section.replace(visibility);
    for argument in &arguments {
        if argument.kind() == "simple_symbol" {
            hide_method(walk, walk.node_text(*argument), visibility);
        } else {
            walk.visit(&mut argument.walk(), node);
        }
    }
    walk.section = section;
}

/// `private :name` changes a method that is declared already.
fn hide_method(walk: &mut Walk, symbol: &str, visibility: Visibility) {
    let Some(owner) = walk.owner else { return };
    for at in walk.members_named(owner, symbol.strip_prefix(':').unwrap_or(symbol)) {
        walk.facts.types[owner as usize].members[at].visibility = visibility;
    }
}

fn read_attributes<'a>(walk: &mut Walk<'a>, node: Node<'a>, names: &[Node<'a>]) {
    let mut head = read_head(walk, node);
    head.body = None;
    let symbols: Vec<Node> = names.iter().copied().filter(|name| name.kind() == "simple_symbol").collect();
    walk.read_names(node, &head, symbols.len(), |walk, at, mut head| {
        let name = symbols[at];
        head.name = walk.node_text(name).trim_start_matches(':').to_owned();
        head.excluded.extend(other_spans(names, name));
        walk.add_member(MemberKind::Property, node, &head);
        walk.mark_declared_at(name.start_byte() + 1);
    });
}
