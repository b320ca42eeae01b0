//! C++: what C declares, and namespaces, classes, templates, aliases and concepts, at the level of declarations. Headers (`.h`) are
//! read as C++, which accepts C.
//!
//! Does not run the preprocessor, and does not instantiate templates.

use crate::c;
use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{DEFAULT_DIALECT, Dialect, Head, HeadRules, LazyDialect, Walk};
use facts::Visibility;
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "C++",
    level: Level::Declarations,
    extensions: &["cpp", "cc", "cxx", "h", "hpp", "hh", "hxx", "ipp", "inl"],
    grammar: || grammars::cpp().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::OutsideNamespaces)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: c::ROLES,
    token_rules: c::TOKEN_RULES,
    has_overloads: true,
    is_stylistic: c::is_stylistic,
    blank_rules: |_| c::BLANK_RULES,
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules {
    names: &["identifier", "field_identifier", "type_identifier", "namespace_identifier"],
    bases: &["base_class_clause"],
    visibility: &[
        ("public", Visibility::Public),
        ("protected", Visibility::Protected),
        ("private", Visibility::Private),
    ],
    keywords: "namespace template typename explicit virtual friend class public private protected module",
    ..c::HEAD_RULES
};

/// The parameters of a template belong to what it declares.
fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = c::read_head(walk, node);
    let template =
        |it: &Node<'a>| walk.parent_of(*it).filter(|around| around.kind() == "template_declaration");
    let around = std::iter::successors(template(&node), template).last();
    if let Some(around) = around {
        head.declaration = around;
        head.start = around.start_byte();
        head.type_parameters = around.child_by_field_name("parameters");
    }
    head
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "namespace_definition" if walk.declaring => read_namespace(walk, node),
        "access_specifier" if walk.declaring => {
            walk.section = HEAD_RULES.visibility_of(walk.node_text(node));
        }
        _ => c::read_custom(walk, cursor),
    }
}

/// What an unnamed namespace declares is local to the file.
fn read_namespace<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(body) = node.child_by_field_name("body") else { return };
    let words = node.child_by_field_name("name").and_then(|name| walk.name_words(name)).unwrap_or_default();
    if words.is_empty() {
        let section = walk.section.replace(Visibility::File);
        walk.visit_children(&mut body.walk());
        walk.section = section;
    } else {
        walk.read_nested_scope(&words, Visibility::Public, node, body);
    }
}
