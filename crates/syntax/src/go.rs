//! Go: types, methods declared anywhere in the package, and package-level functions and values.
//!
//! Does not know which types satisfy an interface: Go source does not declare it.

use crate::facts::{MemberKind, Position, TypeKind, Visibility};
use crate::language::{Language, Manner};
use crate::module_path::{Home, steps, steps_of};
use crate::walk::{
    Asked, Asks, Dialect, Head, PLAIN, Piece, Reading, Role, Walk, child, empty_part, is_capital, named,
    others, span,
};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Go",
    endings: &["go"],
    grammar: || tree_sitter_go::LANGUAGE.into(),
    manner: Manner::Table(&READING),
    home: Some(home),
};

static READING: Reading = Reading::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("type_declaration", Role::Through),
        ("const_declaration", Role::Through),
        ("var_declaration", Role::Through),
        ("var_spec_list", Role::Through),
        ("field_declaration_list", Role::Through),
        ("package_clause", Role::Import),
        ("import_declaration", Role::Import),
        ("type_spec", Role::Own),
        ("type_alias", Role::Own),
        ("method_declaration", Role::Own),
        ("const_spec", Role::Own),
        ("var_spec", Role::Own),
        ("field_declaration", Role::Own),
        ("type_elem", Role::Own),
        ("function_declaration", Role::Member(MemberKind::Function)),
        ("method_elem", Role::Member(MemberKind::Method)),
        ("type_identifier", Role::Name(Position::Type)),
        ("qualified_type", Role::Name(Position::Type)),
        ("selector_expression", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    pieces: &[
        ("comment", Piece::Comment),
        ("interpreted_string_literal", Piece::Whole),
        ("raw_string_literal", Piece::Whole),
        ("rune_literal", Piece::Whole),
        ("source_file", Piece::Lines),
        ("statement_list", Piece::Lines),
        ("field_declaration_list", Piece::Lines),
        ("interface_type", Piece::Lines),
    ],
    is_taste: |mark, parent| mark.kind() == ";" && parent.kind() != "for_clause",
    head: head,
    import: import,
    own: own,
    finish: |_| {},
    asks: ASKS,
    ..PLAIN
});

/// A folder is a package; other files import it by the module's path followed by the folder's path.
fn home(project: &str, path: &str) -> Home {
    let mut folders = steps(path);
    folders.pop();
    let root = steps_of(project);
    let module: Vec<String> = root.iter().cloned().chain(folders).collect();
    Home { folder: module.clone(), module, root }
}

fn head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(visibility(&head.name));
    let named = ["receiver", "result"].map(|field| node.child_by_field_name(field));
    head.parameters.extend(named.into_iter().flatten().filter(|list| list.kind() == "parameter_list"));
    head.value_type = node.child_by_field_name("type").or_else(|| node.child_by_field_name("result"));
    head
}

fn visibility(name: &str) -> Visibility {
    if is_capital(name) { Visibility::Public } else { Visibility::Package }
}

/// The node that carries the documentation: `type A int` is documented before `type`, each entry of `type ( … )` by itself.
fn alone(node: Node<'_>) -> Node<'_> {
    match node.parent() {
        Some(parent) if parent.named_child_count() == 1 && child(parent, "(").is_none() => {
            match parent.kind() {
                "type_declaration" | "const_declaration" | "var_declaration" => parent,
                _ => node,
            }
        }
        _ => node,
    }
}

fn import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    if node.kind() == "import_spec" {
        return one_import(walk, node);
    }
    for inner in named(node).into_iter().filter(|it| matches!(it.kind(), "import_spec" | "import_spec_list"))
    {
        import(walk, inner);
    }
}

fn one_import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let words: Vec<&str> = walk.text(path).trim_matches(['"', '`']).split('/').collect();
    let name = node.child_by_field_name("name");
    match name.map(|name| (name.kind(), walk.text(name))) {
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

fn own<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if !walk.declaring {
        return walk.inside(cursor);
    }
    match node.kind() {
        "type_spec" | "type_alias" => declared_type(walk, node),
        "method_declaration" => method(walk, node),
        "const_spec" => values(walk, node, MemberKind::Constant),
        "var_spec" => values(walk, node, MemberKind::Field),
        "field_declaration" => fields(walk, node),
        // already read as part of the interface's head
        _ => {}
    }
}

fn declared_type<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    head.whole = alone(node);
    head.from = head.whole.start_byte();
    let made_of = node.child_by_field_name("type");
    let kind = match made_of.map(|it| it.kind()) {
        Some("struct_type") => TypeKind::Struct,
        Some("interface_type") => TypeKind::Interface,
        _ => TypeKind::Alias,
    };
    head.body = made_of.filter(|_| kind != TypeKind::Alias);
    head.bases = head
        .body
        .map(|body| embedded(child(body, "field_declaration_list").unwrap_or(body)))
        .unwrap_or_default();
    walk.part(kind, node, &head, Walk::body);
}

/// The types that a struct or an interface embeds.
fn embedded(body: Node<'_>) -> Vec<Node<'_>> {
    named(body)
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
fn method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    let Some(receiver) = node.child_by_field_name("receiver") else { return };
    head.type_parameters = descendant(receiver, "type_arguments");
    let words: Vec<&str> = walk.source.within(span(receiver)).map(|token| walk.source.of(token)).collect();
    let list = words.iter().position(|word| *word == "[").unwrap_or(words.len() - 1);
    let Some(name) = words[..list].last() else { return };
    let at = walk.facts.types.len();
    let mut part = empty_part(TypeKind::Impl, walk.scope);
    (*name).clone_into(&mut part.name);
    part.span = span(node);
    part.signature = part.span;
    walk.facts.types.push(part);
    let outer = walk.owner.replace(at as u32);
    walk.add_member(MemberKind::Method, node, &head);
    walk.owner = outer;
    walk.facts.types[at].raw = walk.bytes_of(node);
    walk.take_type(node.start_byte(), node.end_byte());
}

fn descendant<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .find_map(|it| if it.kind() == kind { Some(it) } else { descendant(it, kind) })
}

/// `a, b = 1, 2` declares two members. A constant without a value derives it from its position in the group.
fn values<'a>(walk: &mut Walk<'a>, node: Node<'a>, kind: MemberKind) {
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    for name in names.iter().filter(|name| name.kind() != ",") {
        let mut head = head(walk, node);
        walk.text(*name).clone_into(&mut head.name);
        head.visibility = Some(visibility(&head.name));
        head.whole = alone(node);
        head.from = head.whole.start_byte();
        head.apart.extend(others(&names, *name));
        head.is_inlined = kind == MemberKind::Constant;
        head.is_static = true;
        walk.add_member(kind, node, &head);
        if kind == MemberKind::Constant && (head.body.is_none() || walk.text(node).contains("iota")) {
            let place = std::iter::successors(node.prev_named_sibling(), Node::prev_named_sibling);
            let place = place.filter(|it| it.kind() == "const_spec").count();
            walk.amend(|member| member.shape.push(&format!("+{place}")));
        }
    }
}

fn fields<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    let made_of = node.child_by_field_name("type");
    if names.is_empty() {
        let mut head = head(walk, node);
        let words = made_of.and_then(|it| walk.chain(it.child_by_field_name("type").unwrap_or(it)));
        words.unwrap_or_default().last().copied().unwrap_or_default().clone_into(&mut head.name);
        head.visibility = Some(visibility(&head.name));
        return walk.add_member(MemberKind::Field, node, &head);
    }
    for name in names.iter().filter(|name| name.kind() != ",") {
        let mut head = head(walk, node);
        walk.text(*name).clone_into(&mut head.name);
        head.visibility = Some(visibility(&head.name));
        head.apart.extend(others(&names, *name));
        walk.add_member(MemberKind::Field, node, &head);
    }
}

/// How Go accesses members.
const ASKS: Asks = Asks {
    rows: &[
        ("identifier", Asked::Name),
        ("selector_expression", Asked::Member("operand", "field")),
        ("call_expression", Asked::Call("function", "arguments")),
        ("composite_literal", Asked::Made("type", "body")),
        ("type_assertion_expression", Asked::Typed("type")),
        ("parenthesized_expression", Asked::Same),
        ("unary_expression", Asked::Same),
        ("expression_list", Asked::Same),
        ("parameter_declaration", Asked::Variable("name", "type", "")),
        ("var_spec", Asked::Variable("name", "type", "value")),
        ("short_var_declaration", Asked::Variable("left", "", "right")),
        ("range_clause", Asked::Variable("left", "", "")),
        ("block", Asked::Scope),
        ("function_declaration", Asked::Scope),
        ("method_declaration", Asked::Scope),
        ("func_literal", Asked::Scope),
        ("for_statement", Asked::Scope),
        ("if_statement", Asked::Scope),
    ],
    own: &[],
    sight: false,
};
