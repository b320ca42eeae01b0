//! Java: classes, interfaces, enumerations, records and annotations.
//!
//! Does not resolve inherited members.

use crate::language::{Extraction, Language, Level};
use crate::walk::{
    AccessRule, BlankRule, DEFAULT_DIALECT, DEFAULT_MEMBER_ACCESS, Dialect, DocStyle, Head, LazyDialect,
    MemberAccessRules, Role, TokenRule, Walk, child_of_kind, children_of_kind, is_word_char,
    named_children_of, node_span, other_spans,
};
use facts::{MemberKind, Position, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Java",
    level: Level::Resolved,
    extensions: &["java"],
    grammar: || grammars::java().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: None,
};

/// `Object @Nullable ... rest`: the grammar does not accept an annotation there.
const BLANK_RULES: &[BlankRule] = &[BlankRule {
    mark: "...",
    range: |before, _| {
        let name = before.trim_end().trim_end_matches(is_word_char);
        name.ends_with('@').then(|| name.len() as isize - 1 - before.len() as isize..0)
    },
}];

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("line_comment", Role::Skip),
        ("block_comment", Role::Skip),
        ("package_declaration", Role::Custom),
        ("import_declaration", Role::Import),
        ("class_declaration", Role::Type(TypeKind::Class)),
        ("interface_declaration", Role::Type(TypeKind::Interface)),
        ("enum_declaration", Role::Type(TypeKind::Enum)),
        ("record_declaration", Role::Custom),
        ("annotation_type_declaration", Role::Type(TypeKind::Annotation)),
        ("enum_body_declarations", Role::Transparent),
        ("field_declaration", Role::Custom),
        ("constant_declaration", Role::Custom),
        ("method_declaration", Role::Member(MemberKind::Method)),
        ("annotation_type_element_declaration", Role::Member(MemberKind::Method)),
        ("constructor_declaration", Role::Member(MemberKind::Constructor)),
        ("compact_constructor_declaration", Role::Member(MemberKind::Constructor)),
        ("static_initializer", Role::Custom),
        ("block", Role::Custom),
        ("enum_constant", Role::Member(MemberKind::EnumValue)),
        ("annotation", Role::Custom),
        ("marker_annotation", Role::Custom),
        ("type_identifier", Role::Name(Position::Type)),
        ("scoped_type_identifier", Role::Name(Position::Type)),
        ("field_access", Role::Name(Position::Value)),
        ("scoped_identifier", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    token_rules: &[
        ("line_comment", TokenRule::Comment),
        ("block_comment", TokenRule::Comment),
        ("string_literal", TokenRule::Whole),
        ("character_literal", TokenRule::Whole),
    ],
    doc_style: DocStyle::Marked(&["/**"]),
    redundant_parens: &[
        "argument_list",
        "assignment_expression",
        "lambda_expression",
        "return_statement",
        "throw_statement",
        "variable_declarator",
    ],
    has_overloads: true,
    head: read_head,
    import: read_import,
    custom: read_custom,
    finish: |_| {},
    blank_rules: |_| BLANK_RULES,
    member_access: MEMBER_ACCESS,
    ..DEFAULT_DIALECT
});

/// Annotations that are not part of the contract with callers.
const IGNORED_ANNOTATIONS: &[&str] = &["@Override", "@SuppressWarnings", "@Generated"];

/// Modifiers that describe the implementation, not the interface.
const BEHAVIOUR_MODIFIERS: &[&str] = &["synchronized", "native", "strictfp"];

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(default_visibility(walk, node));
    if let Some(modifiers) = child_of_kind(node, "modifiers") {
        let mut cursor = modifiers.walk();
        for word in modifiers.children(&mut cursor) {
            apply_modifier(walk, &mut head, word);
        }
    }
    match node.kind() {
        "enum_constant" => {
            // constructor arguments and class body are both behaviour
            let arguments = node.child_by_field_name("arguments");
            head.extra_body = head.body.filter(|_| arguments.is_some());
            head.body = arguments.or(head.body);
            head.is_static = true;
        }
        "annotation_type_element_declaration" => head.body = node.child_by_field_name("value"),
        _ => {}
    }
    for list in ["superclass", "super_interfaces", "extends_interfaces"] {
        let found = child_of_kind(node, list).map(|list| child_of_kind(list, "type_list").unwrap_or(list));
        head.bases.extend(found.map(named_children_of).unwrap_or_default());
    }
    head
}

fn apply_modifier<'a>(walk: &Walk<'a>, head: &mut Head<'a>, word: Node<'a>) {
    match word.kind() {
        "public" => head.visibility = Some(Visibility::Public),
        "protected" => head.visibility = Some(Visibility::Protected),
        "private" => head.visibility = Some(Visibility::Private),
        "static" => head.is_static = true,
        "annotation" | "marker_annotation" => {
            let name = walk.node_text(word).split('(').next().unwrap_or_default().trim();
            head.is_override |= name == "@Override";
            if IGNORED_ANNOTATIONS.contains(&name) {
                head.excluded.push(node_span(word));
            } else {
                head.attributes.push(word);
            }
        }
        _ => {}
    }
    if matches!(word.kind(), "public" | "protected" | "private") || BEHAVIOUR_MODIFIERS.contains(&word.kind())
    {
        head.excluded.push(node_span(word));
    }
}

/// Members of interfaces and annotations, and enum constants, are public by default.
fn default_visibility<'a>(walk: &Walk<'a>, node: Node<'a>) -> Visibility {
    let around = walk.parent_of(node).map_or("", |parent| parent.kind());
    match (node.kind(), around) {
        ("enum_constant", _) | (_, "interface_body" | "annotation_type_body") => Visibility::Public,
        _ => Visibility::Package,
    }
}

fn read_import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(path) = child_of_kind(node, "scoped_identifier").or_else(|| child_of_kind(node, "identifier"))
    else {
        return;
    };
    let words = walk.name_words(path).unwrap_or_default();
    let all = child_of_kind(node, "asterisk").is_some();
    let name = words.last().copied().filter(|_| !all);
    walk.add_import(name, (Some("global"), &words));
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "package_declaration" => {
            let name = child_of_kind(node, "scoped_identifier").or_else(|| child_of_kind(node, "identifier"));
            let words = name.and_then(|name| walk.name_words(name)).unwrap_or_default();
            walk.enter_file_namespace(&words);
            walk.claim_range(node.start_byte(), node.end_byte());
        }
        "annotation" | "marker_annotation" => {
            if let Some(name) = node.child_by_field_name("name") {
                walk.record_name(name, Position::Type);
            }
            if let Some(arguments) = node.child_by_field_name("arguments") {
                walk.visit_non_declaring(&mut arguments.walk());
            }
        }
        "field_declaration" | "constant_declaration" if walk.declaring => read_fields(walk, node),
        "record_declaration" if walk.declaring => read_record(walk, node),
        "static_initializer" | "block" if walk.declaring => {
            let mut head = read_head(walk, node);
            let is_static = node.kind() == "static_initializer";
            if is_static { "static {}" } else { "{}" }.clone_into(&mut head.name);
            head.is_static = is_static;
            head.visibility = Some(Visibility::Private);
            head.body = if is_static { child_of_kind(node, "block") } else { Some(node) };
            walk.add_member(MemberKind::Constructor, node, &head);
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

fn read_fields<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let declarators = children_of_kind(node, "variable_declarator");
    let head = read_head(walk, node);
    let constant = node.kind() == "constant_declaration" || is_constant(node);
    walk.read_names(node, &head, declarators.len(), |walk, at, mut head| {
        let declarator = declarators[at];
        head.name = declarator.child_by_field_name("name").map_or("", |name| walk.node_text(name)).to_owned();
        head.body = declarator.child_by_field_name("value");
        head.excluded.extend(other_spans(&declarators, declarator));
        head.is_static |= constant;
        let literal = head.body.is_some_and(|value| value.kind().ends_with("literal"));
        head.is_inlined = constant && literal;
        walk.add_member(if constant { MemberKind::Constant } else { MemberKind::Field }, node, &head);
    });
}

fn is_constant(node: Node) -> bool {
    child_of_kind(node, "modifiers")
        .is_some_and(|it| child_of_kind(it, "static").is_some() && child_of_kind(it, "final").is_some())
}

/// Reads a record; its components are public properties.
fn read_record<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    let components =
        head.parameters.first().map(|list| children_of_kind(*list, "formal_parameter")).unwrap_or_default();
    // component names are the names of the accessors, so they belong to the members, not to the header
    head.parameters.clear();
    walk.read_type_part(TypeKind::Record, node, &head, |walk, body| {
        for component in components {
            let mut head = Head::new(walk, component);
            head.body = None;
            walk.add_member(MemberKind::Property, component, &head);
        }
        walk.visit_children(&mut body.walk());
    });
}

/// How Java accesses members.
const MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[
        ("identifier", AccessRule::Name),
        ("this", AccessRule::Name),
        ("field_access", AccessRule::Member("object", "field")),
        ("method_invocation", AccessRule::Method("object", "name", "arguments")),
        ("object_creation_expression", AccessRule::Typed("type")),
        ("cast_expression", AccessRule::Typed("type")),
        ("parenthesized_expression", AccessRule::Transparent),
        ("formal_parameter", AccessRule::Variable("name", "type", "")),
        ("catch_formal_parameter", AccessRule::Variable("name", "type", "")),
        ("variable_declarator", AccessRule::Variable("name", "type", "value")),
        ("resource", AccessRule::Variable("name", "type", "value")),
        ("enhanced_for_statement", AccessRule::Variable("name", "type", "")),
        ("block", AccessRule::Scope),
        ("class_body", AccessRule::RebindsSelf),
        ("method_declaration", AccessRule::Scope),
        ("constructor_declaration", AccessRule::Scope),
        ("lambda_expression", AccessRule::Scope),
        ("for_statement", AccessRule::Scope),
        ("catch_clause", AccessRule::Scope),
        ("method_reference", AccessRule::MethodReference),
        ("import_declaration", AccessRule::Import),
    ],
    self_words: &["this"],
    implicit_self: true,
    ..DEFAULT_MEMBER_ACCESS
};
