//! PHP: classes, interfaces, traits, enumerations and functions, at the level of declarations.
//!
//! Does not know properties that are only assigned, nor constants that `define` makes.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{
    DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, DocStyle, Head, HeadRules, LazyDialect, Role, TokenRule,
    Walk, child_of_kind, children_of_kind, find_part, named_children_of, other_spans,
};
use facts::{MemberKind, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "PHP",
    level: Level::Declarations,
    extensions: &["php"],
    grammar: || grammars::php().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::FreeItems)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("php_tag", Role::Import),
        ("namespace_use_declaration", Role::Import),
        ("declare_statement", Role::Transparent),
        ("if_statement", Role::Transparent),
        ("compound_statement", Role::Transparent),
        ("namespace_definition", Role::Custom),
        ("class_declaration", Role::Type(TypeKind::Class)),
        ("interface_declaration", Role::Type(TypeKind::Interface)),
        ("trait_declaration", Role::Type(TypeKind::Trait)),
        ("enum_declaration", Role::Type(TypeKind::Enum)),
        ("function_definition", Role::Member(MemberKind::Function)),
        ("method_declaration", Role::Custom),
        ("enum_case", Role::Member(MemberKind::EnumValue)),
        ("const_declaration", Role::Custom),
        ("property_declaration", Role::Custom),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("string", TokenRule::Whole),
        ("encapsed_string", TokenRule::Whole),
        ("heredoc", TokenRule::Whole),
        ("nowdoc", TokenRule::Whole),
        ("variable_name", TokenRule::Whole),
        ("text", TokenRule::Whole),
    ],
    doc_style: DocStyle::Marked(&["/**"]),
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules {
    names: &["name"],
    bases: &["base_clause", "class_interface_clause"],
    attributes: &["attribute_list"],
    modifiers: &["visibility_modifier", "static_modifier"],
    visibility: &[
        ("public", Visibility::Public),
        ("protected", Visibility::Protected),
        ("private", Visibility::Private),
    ],
    ..DEFAULT_HEAD_RULES
};

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = walk.read_table_head(node);
    // the methods of a trait become methods of the class that uses it
    let traits = head.body.map(|body| children_of_kind(body, "use_declaration")).unwrap_or_default();
    head.bases.extend(traits.into_iter().flat_map(named_children_of).filter(|it| it.kind() != "use_list"));
    if node.kind() == "enum_case" {
        head.body = node.child_by_field_name("value");
        head.is_static = true;
    }
    head
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        _ if !walk.declaring => walk.visit_non_declaring(cursor),
        "namespace_definition" => read_namespace(walk, node),
        "method_declaration" => read_method(walk, node),
        "const_declaration" => read_values(walk, node, "const_element", MemberKind::Constant),
        _ => read_values(walk, node, "property_element", MemberKind::Property),
    }
}

fn read_namespace<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let words: Vec<&str> = node
        .child_by_field_name("name")
        .map(|name| walk.node_text(name).split('\\').map(str::trim).collect())
        .unwrap_or_default();
    if let Some(body) = node.child_by_field_name("body") {
        walk.read_nested_scope(&words, Visibility::Public, node, body);
    } else {
        walk.claim_range(node.start_byte(), node.end_byte());
        walk.enter_file_module(&words);
    }
}

/// Reads a method; parameters of a constructor with a visibility are properties.
fn read_method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let head = read_head(walk, node);
    let is_constructor = head.name == "__construct";
    let kind = if is_constructor { MemberKind::Constructor } else { MemberKind::Method };
    walk.add_member(kind, node, &head);
    let list = head.parameters.first().copied();
    for parameter in list.map(|it| children_of_kind(it, "property_promotion_parameter")).unwrap_or_default() {
        let mut head = read_head(walk, parameter);
        set_variable_name(walk, &mut head, parameter);
        head.body = parameter.child_by_field_name("default_value");
        walk.add_member(MemberKind::Property, parameter, &head);
    }
}

/// Names a property without the mark of variables: it is used as `$this->name`.
fn set_variable_name<'a>(walk: &Walk<'a>, head: &mut Head<'a>, element: Node<'a>) {
    let variable = find_part(element, &["name"]);
    head.name_node = variable.and_then(|it| child_of_kind(it, "name")).or(variable);
    head.name = head.name_node.map_or_else(String::new, |name| walk.node_text(name).to_owned());
}

/// `const A = 1, B = 2;` and `private $a, $b;` declare two members each.
fn read_values<'a>(walk: &mut Walk<'a>, node: Node<'a>, element: &str, kind: MemberKind) {
    let elements = children_of_kind(node, element);
    let head = read_head(walk, node);
    walk.read_names(node, &head, elements.len(), |walk, at, mut head| {
        let element = elements[at];
        set_variable_name(walk, &mut head, element);
        head.excluded.extend(other_spans(&elements, element));
        head.is_inlined = kind == MemberKind::Constant;
        head.is_static |= head.is_inlined;
        let value = named_children_of(element).into_iter().nth(1);
        head.body = element.child_by_field_name("default_value").or(value);
        walk.add_member(kind, node, &head);
    });
}
