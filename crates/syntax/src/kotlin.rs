//! Kotlin: classes, interfaces, objects, functions, properties and type aliases, at the level of declarations.
//!
//! Does not know the type that an extension function extends: it belongs to its package.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{
    DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, DocStyle, Head, HeadRules, LazyDialect, Role, TokenRule,
    Walk, child_of_kind, children_of_kind, named_children_of, other_spans,
};
use facts::{MemberKind, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Kotlin",
    level: Level::Declarations,
    extensions: &["kt"],
    grammar: || grammars::kotlin().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::FreeItems)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("line_comment", Role::Skip),
        ("block_comment", Role::Skip),
        ("package_header", Role::Custom),
        ("import", Role::Import),
        ("file_annotation", Role::Import),
        ("class_declaration", Role::Custom),
        ("object_declaration", Role::Type(TypeKind::Class)),
        ("companion_object", Role::Type(TypeKind::Class)),
        ("type_alias", Role::Type(TypeKind::Alias)),
        ("enum_entry", Role::Member(MemberKind::EnumValue)),
        ("function_declaration", Role::Custom),
        ("property_declaration", Role::Custom),
        ("secondary_constructor", Role::Member(MemberKind::Constructor)),
        ("anonymous_initializer", Role::Member(MemberKind::Constructor)),
    ],
    token_rules: &[
        ("line_comment", TokenRule::Comment),
        ("block_comment", TokenRule::Comment),
        ("string_literal", TokenRule::Whole),
        ("multiline_string_literal", TokenRule::Whole),
        ("character_literal", TokenRule::Whole),
        ("source_file", TokenRule::LineTerminated),
        ("block", TokenRule::LineTerminated),
        ("class_body", TokenRule::LineTerminated),
    ],
    doc_style: DocStyle::Marked(&["/**"]),
    has_overloads: true,
    is_stylistic: |mark, _| mark.kind() == ";",
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules {
    skips_damage: true,
    body: &["class_body", "enum_class_body", "function_body", "block", "value_arguments"],
    parameters: &["function_value_parameters"],
    bases: &["delegation_specifiers"],
    attributes: &["annotation"],
    modifiers: &["modifiers"],
    visibility: &[
        ("public", Visibility::Public),
        ("protected", Visibility::Protected),
        ("internal", Visibility::Internal),
        ("private", Visibility::Private),
    ],
    ..DEFAULT_HEAD_RULES
};

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = walk.read_table_head(node);
    match node.kind() {
        "companion_object" if head.name.is_empty() => "Companion".clone_into(&mut head.name),
        "secondary_constructor" => {
            "constructor".clone_into(&mut head.name);
            let delegation = child_of_kind(node, "constructor_delegation_call");
            head.extra_body = head.body.filter(|_| delegation.is_some());
            head.body = delegation.or(head.body);
        }
        "anonymous_initializer" => {
            "init".clone_into(&mut head.name);
            head.visibility = Some(Visibility::Private);
        }
        "type_alias" => head.set_name(walk, node.child_by_field_name("type")),
        "enum_entry" => {
            head.set_name(walk, child_of_kind(node, "identifier"));
            head.extra_body = child_of_kind(node, "value_arguments").and(child_of_kind(node, "class_body"));
            head.body = child_of_kind(node, "value_arguments").or(head.body);
            head.is_static = true;
        }
        _ => {}
    }
    head
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "package_header" => {
            let words = child_of_kind(node, "qualified_identifier").and_then(|name| walk.name_words(name));
            walk.claim_range(node.start_byte(), node.end_byte());
            walk.enter_file_module(&words.unwrap_or_default());
        }
        "class_declaration" if walk.declaring => read_class(walk, node),
        "property_declaration" if walk.declaring => read_property(walk, node),
        "function_declaration" if walk.declaring => {
            let head = read_head(walk, node);
            let kind = if walk.owner.is_some() { MemberKind::Method } else { MemberKind::Function };
            walk.add_member(kind, node, &head);
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

fn kind_of_class(walk: &Walk, node: Node) -> TypeKind {
    let modifiers = child_of_kind(node, "modifiers").map(named_children_of).unwrap_or_default();
    let has = |word: &str| modifiers.iter().any(|it| walk.node_text(*it) == word);
    match () {
        () if child_of_kind(node, "interface").is_some() => TypeKind::Interface,
        () if has("enum") || child_of_kind(node, "enum").is_some() => TypeKind::Enum,
        () if has("annotation") => TypeKind::Annotation,
        () => TypeKind::Class,
    }
}

/// Reads a class; parameters of its constructor with `val` or `var` are properties.
fn read_class<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let head = read_head(walk, node);
    if head.name.is_empty() {
        return walk.visit_children(&mut node.walk());
    }
    let constructor = child_of_kind(node, "primary_constructor");
    let list = constructor.and_then(|it| child_of_kind(it, "class_parameters"));
    let parameters = list.map(|list| children_of_kind(list, "class_parameter")).unwrap_or_default();
    let at = walk.facts.types.len() as u32;
    walk.read_type_part(kind_of_class(walk, node), node, &head, |walk, body| {
        walk.visit_children(&mut body.walk());
    });
    let outer = walk.owner.replace(at);
    for parameter in parameters {
        let is_property = ["val", "var"].iter().any(|word| child_of_kind(parameter, word).is_some());
        if is_property {
            let mut head = read_head(walk, parameter);
            head.set_name(walk, child_of_kind(parameter, "identifier"));
            walk.add_member(MemberKind::Property, parameter, &head);
        }
    }
    walk.owner = outer;
}

/// Reads a property; its initial value and accessors are behaviour, the value of a `const` is not.
fn read_property<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let several = child_of_kind(node, "multi_variable_declaration");
    let names = children_of_kind(several.unwrap_or(node), "variable_declaration");
    let mut head = read_head(walk, node);
    let value = child_of_kind(node, "=").and_then(|mark| walk.named_sibling_after(mark));
    let accessors = ["property_delegate", "getter", "setter"].map(|kind| child_of_kind(node, kind));
    let mut bodies = value.into_iter().chain(accessors.into_iter().flatten());
    (head.body, head.extra_body) = (bodies.next(), bodies.next());
    head.is_inlined = child_of_kind(node, "modifiers")
        .is_some_and(|it| named_children_of(it).iter().any(|word| walk.node_text(*word) == "const"));
    walk.read_names(node, &head, names.len(), |walk, at, mut head| {
        head.set_name(walk, child_of_kind(names[at], "identifier"));
        head.excluded.extend(other_spans(&names, names[at]));
        let kind = match walk.owner {
            _ if head.is_inlined => MemberKind::Constant,
            Some(_) => MemberKind::Property,
            None => MemberKind::Field,
        };
        walk.add_member(kind, node, &head);
    });
}
