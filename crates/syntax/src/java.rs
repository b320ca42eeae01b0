//! Java: classes, interfaces, enumerations, records and annotations.
//!
//! Does not resolve inherited members.

use crate::facts::{MemberKind, Position, TypeKind, Visibility};
use crate::language::{Language, Manner};
use crate::walk::{
    Asked, Asks, Dialect, Docs, Head, PLAIN, Piece, Reading, Role, Rule, Walk, child, children, is_word,
    named, others, span,
};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Java",
    endings: &["java"],
    grammar: || tree_sitter_java::LANGUAGE.into(),
    manner: Manner::Table(&READING),
    home: None,
};

/// `Object @Nullable ... rest`: the grammar does not accept an annotation there.
const UNREADABLE: &[Rule] = &[Rule {
    mark: "...",
    blank: |before, _| {
        let name = before.trim_end().trim_end_matches(is_word);
        name.ends_with('@').then(|| name.len() as isize - 1 - before.len() as isize..0)
    },
}];

static READING: Reading = Reading::new(Dialect {
    roles: &[
        ("line_comment", Role::Skip),
        ("block_comment", Role::Skip),
        ("package_declaration", Role::Own),
        ("import_declaration", Role::Import),
        ("class_declaration", Role::Type(TypeKind::Class)),
        ("interface_declaration", Role::Type(TypeKind::Interface)),
        ("enum_declaration", Role::Type(TypeKind::Enum)),
        ("record_declaration", Role::Own),
        ("annotation_type_declaration", Role::Type(TypeKind::Annotation)),
        ("enum_body_declarations", Role::Through),
        ("field_declaration", Role::Own),
        ("constant_declaration", Role::Own),
        ("method_declaration", Role::Member(MemberKind::Method)),
        ("annotation_type_element_declaration", Role::Member(MemberKind::Method)),
        ("constructor_declaration", Role::Member(MemberKind::Constructor)),
        ("compact_constructor_declaration", Role::Member(MemberKind::Constructor)),
        ("static_initializer", Role::Own),
        ("block", Role::Own),
        ("enum_constant", Role::Member(MemberKind::EnumValue)),
        ("annotation", Role::Own),
        ("marker_annotation", Role::Own),
        ("type_identifier", Role::Name(Position::Type)),
        ("scoped_type_identifier", Role::Name(Position::Type)),
        ("field_access", Role::Name(Position::Value)),
        ("scoped_identifier", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    pieces: &[
        ("line_comment", Piece::Comment),
        ("block_comment", Piece::Comment),
        ("string_literal", Piece::Whole),
        ("character_literal", Piece::Whole),
    ],
    docs: Docs::Marked(&["/**"]),
    groups: &[
        "argument_list",
        "assignment_expression",
        "lambda_expression",
        "return_statement",
        "throw_statement",
        "variable_declarator",
    ],
    overloads: true,
    head: head,
    import: import,
    own: own,
    finish: |_| {},
    unreadable: |_| UNREADABLE,
    asks: ASKS,
    ..PLAIN
});

/// Annotations that are not part of the contract with callers.
const IGNORED: &[&str] = &["@Override", "@SuppressWarnings", "@Generated"];

/// Modifiers that describe the implementation, not the interface.
const OF_BODIES: &[&str] = &["synchronized", "native", "strictfp"];

fn head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(default_visibility(node));
    if let Some(modifiers) = child(node, "modifiers") {
        let mut cursor = modifiers.walk();
        for word in modifiers.children(&mut cursor) {
            modifier(walk, &mut head, word);
        }
    }
    match node.kind() {
        "enum_constant" => {
            // constructor arguments and class body are both behaviour
            let arguments = node.child_by_field_name("arguments");
            head.more = head.body.filter(|_| arguments.is_some());
            head.body = arguments.or(head.body);
            head.is_static = true;
        }
        "annotation_type_element_declaration" => head.body = node.child_by_field_name("value"),
        _ => {}
    }
    for list in ["superclass", "super_interfaces", "extends_interfaces"] {
        let found = child(node, list).map(|list| child(list, "type_list").unwrap_or(list));
        head.bases.extend(found.map(named).unwrap_or_default());
    }
    head
}

fn modifier<'a>(walk: &Walk<'a>, head: &mut Head<'a>, word: Node<'a>) {
    match word.kind() {
        "public" => head.visibility = Some(Visibility::Public),
        "protected" => head.visibility = Some(Visibility::Protected),
        "private" => head.visibility = Some(Visibility::Private),
        "static" => head.is_static = true,
        "annotation" | "marker_annotation" => {
            let name = walk.text(word).split('(').next().unwrap_or_default().trim();
            head.overrides |= name == "@Override";
            if IGNORED.contains(&name) {
                head.apart.push(span(word));
            } else {
                head.attributes.push(word);
            }
        }
        _ => {}
    }
    if matches!(word.kind(), "public" | "protected" | "private") || OF_BODIES.contains(&word.kind()) {
        head.apart.push(span(word));
    }
}

/// Members of interfaces and annotations, and enum constants, are public by default.
fn default_visibility(node: Node) -> Visibility {
    let around = node.parent().map_or("", |parent| parent.kind());
    match (node.kind(), around) {
        ("enum_constant", _) | (_, "interface_body" | "annotation_type_body") => Visibility::Public,
        _ => Visibility::Package,
    }
}

fn import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(path) = child(node, "scoped_identifier").or_else(|| child(node, "identifier")) else { return };
    let words = walk.chain(path).unwrap_or_default();
    let all = child(node, "asterisk").is_some();
    let name = words.last().copied().filter(|_| !all);
    walk.add_import(name, (Some("global"), &words));
}

fn own<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "package_declaration" => {
            let name = child(node, "scoped_identifier").or_else(|| child(node, "identifier"));
            let words = name.and_then(|name| walk.chain(name)).unwrap_or_default();
            walk.rest_in(&words);
            walk.take(node.start_byte(), node.end_byte());
        }
        "annotation" | "marker_annotation" => {
            if let Some(name) = node.child_by_field_name("name") {
                walk.name(name, Position::Type);
            }
            if let Some(arguments) = node.child_by_field_name("arguments") {
                walk.inside(&mut arguments.walk());
            }
        }
        "field_declaration" | "constant_declaration" if walk.declaring => fields(walk, node),
        "record_declaration" if walk.declaring => record(walk, node),
        "static_initializer" | "block" if walk.declaring => {
            let mut head = head(walk, node);
            let is_static = node.kind() == "static_initializer";
            if is_static { "static {}" } else { "{}" }.clone_into(&mut head.name);
            head.is_static = is_static;
            head.visibility = Some(Visibility::Private);
            head.body = if is_static { child(node, "block") } else { Some(node) };
            walk.add_member(MemberKind::Constructor, node, &head);
        }
        _ => walk.inside(cursor),
    }
}

fn fields<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let declarators = children(node, "variable_declarator");
    for declarator in &declarators {
        let mut head = head(walk, node);
        head.name = declarator.child_by_field_name("name").map_or("", |name| walk.text(name)).to_owned();
        head.body = declarator.child_by_field_name("value");
        head.apart.extend(others(&declarators, *declarator));
        let constant = node.kind() == "constant_declaration" || is_constant(node);
        head.is_static |= constant;
        let literal = head.body.is_some_and(|value| value.kind().ends_with("literal"));
        head.is_inlined = constant && literal;
        walk.add_member(if constant { MemberKind::Constant } else { MemberKind::Field }, node, &head);
    }
}

fn is_constant(node: Node) -> bool {
    child(node, "modifiers").is_some_and(|it| child(it, "static").is_some() && child(it, "final").is_some())
}

/// Reads a record; its components are public properties.
fn record<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    let components =
        head.parameters.first().map(|list| children(*list, "formal_parameter")).unwrap_or_default();
    // component names are the names of the accessors, so they belong to the members, not to the header
    head.parameters.clear();
    walk.part(TypeKind::Record, node, &head, |walk, body| {
        for component in components {
            let mut head = Head::new(walk, component);
            head.body = None;
            walk.add_member(MemberKind::Property, component, &head);
        }
        walk.below(&mut body.walk());
    });
}

/// How Java accesses members.
const ASKS: Asks = Asks {
    rows: &[
        ("identifier", Asked::Name),
        ("this", Asked::Name),
        ("field_access", Asked::Member("object", "field")),
        ("method_invocation", Asked::Method("object", "name", "arguments")),
        ("object_creation_expression", Asked::Typed("type")),
        ("cast_expression", Asked::Typed("type")),
        ("parenthesized_expression", Asked::Same),
        ("formal_parameter", Asked::Variable("name", "type", "")),
        ("catch_formal_parameter", Asked::Variable("name", "type", "")),
        ("variable_declarator", Asked::Variable("name", "type", "value")),
        ("resource", Asked::Variable("name", "type", "value")),
        ("enhanced_for_statement", Asked::Variable("name", "type", "")),
        ("block", Asked::Scope),
        ("class_body", Asked::Rebinds),
        ("method_declaration", Asked::Scope),
        ("constructor_declaration", Asked::Scope),
        ("lambda_expression", Asked::Scope),
        ("for_statement", Asked::Scope),
        ("catch_clause", Asked::Scope),
    ],
    own: &["this"],
    sight: true,
};
