//! Go: types, methods declared anywhere in the package, and package-level functions and values.
//!
//! Does not know which types satisfy an interface: Go source does not declare it.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{ModulePath, name_segments, path_segments};
use crate::walk::{
    AccessRule, DEFAULT_DIALECT, DEFAULT_MEMBER_ACCESS, Dialect, Head, LazyDialect, MemberAccessRules, Role,
    TokenRule, Walk, child_of_kind, empty_part, named_children_of, node_span, other_spans, starts_uppercase,
};
use facts::{MemberKind, Position, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Go",
    level: Level::Resolved,
    extensions: &["go"],
    grammar: || grammars::go().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(module_path_of),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("type_declaration", Role::Transparent),
        ("const_declaration", Role::Transparent),
        ("var_declaration", Role::Transparent),
        ("var_spec_list", Role::Transparent),
        ("field_declaration_list", Role::Transparent),
        ("package_clause", Role::Import),
        ("import_declaration", Role::Import),
        ("type_spec", Role::Custom),
        ("type_alias", Role::Custom),
        ("method_declaration", Role::Custom),
        ("const_spec", Role::Custom),
        ("var_spec", Role::Custom),
        ("field_declaration", Role::Custom),
        ("type_elem", Role::Custom),
        ("function_declaration", Role::Member(MemberKind::Function)),
        ("method_elem", Role::Member(MemberKind::Method)),
        ("type_identifier", Role::Name(Position::Type)),
        ("qualified_type", Role::Name(Position::Type)),
        ("selector_expression", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("interpreted_string_literal", TokenRule::Whole),
        ("raw_string_literal", TokenRule::Whole),
        ("rune_literal", TokenRule::Whole),
        ("source_file", TokenRule::LineTerminated),
        ("statement_list", TokenRule::LineTerminated),
        ("field_declaration_list", TokenRule::LineTerminated),
        ("interface_type", TokenRule::LineTerminated),
    ],
    is_stylistic: |mark, around| {
        mark.kind() == ";" && around.last().is_none_or(|parent| parent.kind() != "for_clause")
    },
    head: read_head,
    import: read_import,
    custom: read_custom,
    finish: |_| {},
    member_access: MEMBER_ACCESS,
    ..DEFAULT_DIALECT
});

/// A folder is a package; other files import it by the module's path followed by the folder's path.
fn module_path_of(project: &str, path: &str) -> ModulePath {
    let mut folders = path_segments(path);
    folders.pop();
    let root = name_segments(project);
    let module: Vec<String> = root.iter().cloned().chain(folders).collect();
    ModulePath { folder: module.clone(), module, root, ..ModulePath::default() }
}

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(visibility_of(&head.name));
    let named = ["receiver", "result"].map(|field| node.child_by_field_name(field));
    head.parameters.extend(named.into_iter().flatten().filter(|list| list.kind() == "parameter_list"));
    head.value_type = node.child_by_field_name("type").or_else(|| node.child_by_field_name("result"));
    head
}

fn visibility_of(name: &str) -> Visibility {
    if starts_uppercase(name) { Visibility::Public } else { Visibility::Package }
}

/// The node that carries the documentation: `type A int` is documented before `type`, each entry of `type ( … )` by itself.
fn documented_node<'a>(walk: &Walk<'a>, node: Node<'a>) -> Node<'a> {
    match walk.parent_of(node) {
        Some(parent) if parent.named_child_count() == 1 && child_of_kind(parent, "(").is_none() => {
            match parent.kind() {
                "type_declaration" | "const_declaration" | "var_declaration" => parent,
                _ => node,
            }
        }
        _ => node,
    }
}

fn read_import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    if node.kind() == "import_spec" {
        return read_import_spec(walk, node);
    }
    for inner in named_children_of(node)
        .into_iter()
        .filter(|it| matches!(it.kind(), "import_spec" | "import_spec_list"))
    {
        read_import(walk, inner);
    }
}

fn read_import_spec<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let words: Vec<&str> = walk.node_text(path).trim_matches(['"', '`']).split('/').collect();
    let name = node.child_by_field_name("name");
    match name.map(|name| (name.kind(), walk.node_text(name))) {
        Some(("dot", _)) => walk.add_import(None, (Some("global"), &words)),
        Some(("blank_identifier", _)) => {}
        Some((_, name)) => walk.add_import(Some(name), (Some("global"), &words)),
        None => {
            // `a/b/v2` is imported as `b`
            let is_version =
                |word: &&&str| word.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
            let name = words.iter().rev().find(|word| !is_version(word)).copied();
            walk.add_import(name, (Some("global"), &words));
        }
    }
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if !walk.declaring {
        return walk.visit_non_declaring(cursor);
    }
    match node.kind() {
        "type_spec" | "type_alias" => read_type(walk, node),
        "method_declaration" => read_method(walk, node),
        "const_spec" => read_values(walk, node, MemberKind::Constant),
        "var_spec" => read_values(walk, node, MemberKind::Field),
        "field_declaration" => read_fields(walk, node),
        // already read as part of the interface's head
        _ => {}
    }
}

fn read_type<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    head.declaration = documented_node(walk, node);
    head.start = head.declaration.start_byte();
    let made_of = node.child_by_field_name("type");
    let kind = match made_of.map(|it| it.kind()) {
        Some("struct_type") => TypeKind::Struct,
        Some("interface_type") => TypeKind::Interface,
        _ => TypeKind::Alias,
    };
    head.body = made_of.filter(|_| kind != TypeKind::Alias);
    head.bases = head
        .body
        .map(|body| embedded_types(child_of_kind(body, "field_declaration_list").unwrap_or(body)))
        .unwrap_or_default();
    walk.read_type_part(kind, node, &head, Walk::read_body);
}

/// The types that a struct or an interface embeds.
fn embedded_types(body: Node<'_>) -> Vec<Node<'_>> {
    named_children_of(body)
        .into_iter()
        .filter_map(|line| match line.kind() {
            "field_declaration" if line.child_by_field_name("name").is_none() => {
                line.child_by_field_name("type")
            }
            "type_elem" => Some(line),
            _ => None,
        })
        .collect()
}

/// Records a method as a part of its receiver's type.
fn read_method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    let Some(receiver) = node.child_by_field_name("receiver") else { return };
    head.type_parameters = find_descendant(receiver, "type_arguments");
    let words: Vec<&str> =
        walk.source.tokens_in(node_span(receiver)).map(|token| walk.source.text_of(token)).collect();
    let list = words.iter().position(|word| *word == "[").unwrap_or(words.len() - 1);
    let Some(name) = words[..list].last() else { return };
    let at = walk.facts.types.len();
    let mut part = empty_part(TypeKind::Impl, walk.scope);
    (*name).clone_into(&mut part.name);
    part.span = node_span(node);
    part.signature = part.span;
    walk.facts.types.push(part);
    let outer = walk.owner.replace(at as u32);
    walk.add_member(MemberKind::Method, node, &head);
    walk.owner = outer;
    walk.facts.types[at].raw_digest = walk.declaration_digest(node);
    walk.claim_type(node.start_byte(), node.end_byte());
}

fn find_descendant<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    let mut cursor = node.walk();
    if !cursor.goto_first_child() {
        return None;
    }
    loop {
        if cursor.node().is_named() && cursor.node().kind() == kind {
            return Some(cursor.node());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// `a, b = 1, 2` declares two members. A constant without a value derives it from its position in the group.
fn read_values<'a>(walk: &mut Walk<'a>, node: Node<'a>, kind: MemberKind) {
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    let names = without_commas(names);
    let place = count_constants_before(walk, node);
    let mut head = read_head(walk, node);
    head.declaration = documented_node(walk, node);
    head.start = head.declaration.start_byte();
    head.is_inlined = kind == MemberKind::Constant;
    head.is_static = true;
    let is_numbered =
        kind == MemberKind::Constant && (head.body.is_none() || walk.node_text(node).contains("iota"));
    // as many values as names: one for each
    let values = head.body.filter(|_| names.len() > 1).map(named_children_of);
    let values = values.filter(|values| values.len() == names.len());
    walk.read_names(node, &head, names.len(), |walk, at, mut head| {
        set_name(walk, &mut head, names[at]);
        head.excluded.extend(other_spans(&names, names[at]));
        if let Some(values) = &values {
            head.body = Some(values[at]);
            head.excluded.extend(other_spans(values, values[at]));
        }
        walk.add_member(kind, node, &head);
        if is_numbered {
            walk.amend_last_member(|member| member.shape.push_token(&format!("+{place}")));
        }
    });
}

/// The field of a name has the commas between names as well.
fn without_commas(mut names: Vec<Node<'_>>) -> Vec<Node<'_>> {
    names.retain(|name| name.kind() != ",");
    names
}

fn set_name<'a>(walk: &Walk<'a>, head: &mut Head<'a>, name: Node<'a>) {
    walk.node_text(name).clone_into(&mut head.name);
    head.visibility = Some(visibility_of(&head.name));
}

/// How many constants are before one in its list.
fn count_constants_before<'a>(walk: &mut Walk<'a>, node: Node<'a>) -> usize {
    let list = walk.parent_of(node).map_or(0, |list| list.id());
    let (before, place) = walk.last_constant;
    let place = if before == list { place + 1 } else { 0 };
    walk.last_constant = (list, place);
    place
}

fn read_fields<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    let made_of = node.child_by_field_name("type");
    if names.is_empty() {
        let mut head = read_head(walk, node);
        let words = made_of.and_then(|it| walk.name_words(it.child_by_field_name("type").unwrap_or(it)));
        words.unwrap_or_default().last().copied().unwrap_or_default().clone_into(&mut head.name);
        head.visibility = Some(visibility_of(&head.name));
        return walk.add_member(MemberKind::Field, node, &head);
    }
    let names = without_commas(names);
    let head = read_head(walk, node);
    walk.read_names(node, &head, names.len(), |walk, at, mut head| {
        set_name(walk, &mut head, names[at]);
        head.excluded.extend(other_spans(&names, names[at]));
        walk.add_member(MemberKind::Field, node, &head);
    });
}

/// How Go accesses members.
const MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[
        ("identifier", AccessRule::Name),
        ("selector_expression", AccessRule::Member("operand", "field")),
        ("call_expression", AccessRule::Call("function", "arguments")),
        ("composite_literal", AccessRule::Construct("type", "body")),
        ("type_assertion_expression", AccessRule::Typed("type")),
        ("parenthesized_expression", AccessRule::Transparent),
        ("unary_expression", AccessRule::Transparent),
        ("expression_list", AccessRule::Transparent),
        ("parameter_declaration", AccessRule::Variable("name", "type", "")),
        ("variadic_parameter_declaration", AccessRule::Variable("name", "type", "")),
        ("var_spec", AccessRule::Variable("name", "type", "value")),
        ("const_spec", AccessRule::Variable("name", "type", "value")),
        ("receive_statement", AccessRule::Variable("left", "", "right")),
        ("type_switch_statement", AccessRule::Variable("alias", "", "value")),
        ("short_var_declaration", AccessRule::Variable("left", "", "right")),
        ("range_clause", AccessRule::Variable("left", "", "")),
        ("block", AccessRule::Scope),
        ("function_declaration", AccessRule::Scope),
        ("method_declaration", AccessRule::Scope),
        ("func_literal", AccessRule::Scope),
        ("for_statement", AccessRule::Scope),
        ("if_statement", AccessRule::Scope),
        ("expression_switch_statement", AccessRule::Scope),
        ("communication_case", AccessRule::Scope),
    ],
    prelude: &["_", "nil", "len", "append", "make", "string", "true", "false"],
    ..DEFAULT_MEMBER_ACCESS
};
