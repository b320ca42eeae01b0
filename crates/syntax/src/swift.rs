//! Swift: classes, structs, enumerations, actors, protocols, extensions, functions and properties, at the level of declarations.
//!
//! Does not know where a module ends: types of one project share one namespace. Labels and default values of parameters are part of
//! the signature.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{
    DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, DocStyle, Head, HeadRules, LazyDialect, Role, TokenRule,
    Walk, child_of_kind, children_of_kind, find_part, other_spans,
};
use facts::Span;
use facts::{MemberKind, Position, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Swift",
    level: Level::Declarations,
    extensions: &["swift"],
    grammar: || grammars::swift().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::FreeItems)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("multiline_comment", Role::Skip),
        ("import_declaration", Role::Import),
        ("class_body", Role::Transparent),
        ("class_declaration", Role::Custom),
        ("protocol_declaration", Role::Custom),
        ("typealias_declaration", Role::Type(TypeKind::Alias)),
        ("associatedtype_declaration", Role::Member(MemberKind::AssociatedType)),
        ("function_declaration", Role::Custom),
        ("protocol_function_declaration", Role::Custom),
        ("init_declaration", Role::Member(MemberKind::Constructor)),
        ("deinit_declaration", Role::Member(MemberKind::Destructor)),
        ("subscript_declaration", Role::Member(MemberKind::Indexer)),
        ("property_declaration", Role::Custom),
        ("protocol_property_declaration", Role::Custom),
        ("enum_entry", Role::Custom),
        ("macro_declaration", Role::Member(MemberKind::Macro)),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("multiline_comment", TokenRule::Comment),
        ("line_string_literal", TokenRule::Whole),
        ("multi_line_string_literal", TokenRule::Whole),
        ("raw_string_literal", TokenRule::Whole),
        ("source_file", TokenRule::LineTerminated),
        ("statements", TokenRule::LineTerminated),
        ("class_body", TokenRule::LineTerminated),
        ("enum_class_body", TokenRule::LineTerminated),
        ("protocol_body", TokenRule::LineTerminated),
    ],
    doc_style: DocStyle::Marked(&["///", "/**"]),
    is_stylistic: |mark, _| mark.kind() == ";",
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules {
    names: &["simple_identifier", "type_identifier"],
    body: &["body", "computed_property", "protocol_property_requirements"],
    parameters: &[],
    bases: &["inheritance_specifier"],
    attributes: &["attribute"],
    modifiers: &["modifiers"],
    visibility: &[
        ("open", Visibility::Public),
        ("public", Visibility::Public),
        ("package", Visibility::Package),
        ("internal", Visibility::Internal),
        ("fileprivate", Visibility::File),
        ("private", Visibility::Private),
    ],
    default_visibility: Visibility::Internal,
    static_words: &["static", "class"],
    ..DEFAULT_HEAD_RULES
};

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = walk.read_table_head(node);
    match node.kind() {
        "init_declaration" => "init".clone_into(&mut head.name),
        "deinit_declaration" => "deinit".clone_into(&mut head.name),
        "subscript_declaration" => "subscript".clone_into(&mut head.name),
        "macro_declaration" => head.set_name(walk, child_of_kind(node, "simple_identifier")),
        _ => {}
    }
    head.labels = parameter_labels(walk, node);
    head
}

/// `(_:by:)`: functions that differ in their labels are different functions.
fn parameter_labels(walk: &Walk, node: Node) -> String {
    let parameters = children_of_kind(node, "parameter");
    let label = |parameter: &Node| {
        let name = find_part(*parameter, &["external_name", "name"]);
        name.map_or("_", |name| walk.node_text(name)).to_owned() + ":"
    };
    if parameters.is_empty() {
        return String::new();
    }
    format!("({})", parameters.iter().map(label).collect::<String>())
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        _ if !walk.declaring => walk.visit_non_declaring(cursor),
        "class_declaration" | "protocol_declaration" => read_type(walk, node),
        "function_declaration" | "protocol_function_declaration" => read_function(walk, node),
        "enum_entry" => read_enum_entry(walk, node),
        _ => read_property(walk, node),
    }
}

fn read_type<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    let keyword = node.child_by_field_name("declaration_kind").map_or("", |it| walk.node_text(it));
    let kind = match keyword {
        "struct" => TypeKind::Struct,
        "enum" => TypeKind::Enum,
        "extension" => TypeKind::Impl,
        "protocol" => TypeKind::Interface,
        _ => TypeKind::Class,
    };
    if head.name.is_empty() {
        return walk.visit_children(&mut node.walk());
    }
    let extended = walk.facts.references.len() as u32;
    if kind == TypeKind::Impl {
        extend_type(walk, node, &mut head);
    }
    let at = walk.facts.types.len();
    // members of a protocol, cases of an enumeration and members of a public extension are as visible as it is
    let section = head.visibility.filter(|_| matches!(kind, TypeKind::Impl | TypeKind::Interface));
    walk.read_type_part(kind, node, &head, |walk, body| {
        walk.section = section;
        walk.visit_children(&mut body.walk());
    });
    if kind == TypeKind::Impl && (extended as usize) < walk.facts.references.len() {
        walk.facts.types[at].extended_type = Some(extended);
    }
}

/// Names an extension after the type that it extends, which is a reference and not a declaration.
fn extend_type<'a>(walk: &mut Walk<'a>, node: Node<'a>, head: &mut Head<'a>) {
    let name = head.name_node.take();
    if let Some(words) = name.and_then(|name| walk.name_words(name)) {
        walk.push_reference(name.unwrap_or(node), &words, Position::Type);
        words.last().copied().unwrap_or_default().clone_into(&mut head.name);
    }
}

fn read_function<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let head = read_head(walk, node);
    let is_operator = !head.name.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '`'));
    let kind = match walk.owner {
        _ if is_operator && !head.name.is_empty() => MemberKind::Operator,
        Some(_) => MemberKind::Method,
        None => MemberKind::Function,
    };
    walk.add_member(kind, node, &head);
}

/// `case a, b(Int)` declares two values.
fn read_enum_entry<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let names = names_of(node);
    let mut head = read_head(walk, node);
    head.is_inlined = true;
    head.visibility = walk.owner.and_then(|owner| walk.facts.types[owner as usize].visibility);
    head.is_static = true;
    walk.read_names(node, &head, names.len(), |walk, at, mut head| {
        head.set_name(walk, Some(names[at].pattern));
        head.body = names[at].value;
        head.excluded.extend(spans_of_others(&names, at, node));
        walk.add_member(MemberKind::EnumValue, node, &head);
    });
}

/// Reads a property, stored or computed; a pattern may declare several.
fn read_property<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let patterns = names_of(node);
    let bound: Vec<Vec<Node>> = patterns.iter().map(|it| bound_names(it.pattern, 0)).collect();
    let names: Vec<(usize, Node)> =
        bound.iter().enumerate().flat_map(|(at, names)| names.iter().map(move |name| (at, *name))).collect();
    let observers = child_of_kind(node, "willset_didset_block");
    let head = read_head(walk, node);
    walk.read_names(node, &head, names.len(), |walk, at, mut head| {
        let (pattern, name) = names[at];
        head.set_name(walk, Some(name));
        head.excluded.extend(spans_of_others(&patterns, pattern, node));
        head.excluded.extend(other_spans(&bound[pattern], name));
        let value = patterns[pattern].value;
        head.extra_body = observers.filter(|_| value.is_some());
        head.body = value.or(patterns[pattern].computed_value).or(observers);
        let kind = if walk.owner.is_some() { MemberKind::Property } else { MemberKind::Field };
        walk.add_member(kind, node, &head);
    });
}

/// One of the names in a declaration, or a pattern with several.
struct DeclaredPattern<'a> {
    pattern: Node<'a>,
    /// Where it begins, with the comma before it.
    comma: usize,
    value: Option<Node<'a>>,
    computed_value: Option<Node<'a>>,
}

/// The names in a declaration, each with its value.
fn names_of(node: Node<'_>) -> Vec<DeclaredPattern<'_>> {
    let mut names: Vec<DeclaredPattern> = Vec::new();
    let mut comma = None;
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    while more {
        let child = cursor.node();
        match (cursor.field_name(), names.last_mut()) {
            (Some("name"), _) => names.push(DeclaredPattern {
                pattern: child,
                comma: comma.unwrap_or(child.start_byte()),
                value: None,
                computed_value: None,
            }),
            (Some("value" | "raw_value"), Some(last)) => last.value = last.value.or(Some(child)),
            (Some("computed_value"), Some(last)) => last.computed_value = last.computed_value.or(Some(child)),
            _ => {}
        }
        comma = (child.kind() == ",").then_some(child.start_byte());
        more = cursor.goto_next_sibling();
    }
    names
}

/// The spans of the other names in a declaration, with their values: of `b` in `a = 1, b = 2, c`, those of `a = 1,` and `, c`.
fn spans_of_others(names: &[DeclaredPattern], at: usize, node: Node) -> [Span; 2] {
    let after = names.get(at + 1).map_or(node.end_byte(), |next| next.comma);
    [
        Span::new(names[0].pattern.start_byte(), names[at].pattern.start_byte()),
        Span::new(after, node.end_byte()),
    ]
}

fn bound_names(pattern: Node<'_>, depth: u32) -> Vec<Node<'_>> {
    if pattern.kind() == "simple_identifier" {
        return vec![pattern];
    }
    let mut cursor = pattern.walk();
    let inner: Vec<Node> = pattern.named_children(&mut cursor).filter(|_| depth < 8).collect();
    inner.into_iter().flat_map(|it| bound_names(it, depth + 1)).collect()
}
