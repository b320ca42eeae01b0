//! Rust: structs, enums, unions, traits and aliases; an `impl` is a further part of its type, and free items belong to their
//! module.
//!
//! Does not expand macros: names in a macro invocation are recorded as written.

use crate::facts::{MemberKind, Position, TypeKind, Visibility};
use crate::language::{Language, Manner};
use crate::module_path::{Home, steps};
use crate::token::Span;
use crate::walk::{
    Asked, Asks, Dialect, Docs, Head, PLAIN, Piece, Reading, Role, Walk, child, named, span, value_member,
};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Rust",
    endings: &["rs"],
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    manner: Manner::Table(&READING),
    home: Some(home),
};

static READING: Reading = Reading::new(Dialect {
    roles: &[
        ("line_comment", Role::Skip),
        ("block_comment", Role::Skip),
        ("string_literal", Role::Skip),
        ("lifetime", Role::Skip),
        ("declaration_list", Role::Through),
        ("field_declaration_list", Role::Through),
        ("enum_variant_list", Role::Through),
        ("foreign_mod_item", Role::Through),
        ("struct_item", Role::Type(TypeKind::Struct)),
        ("enum_item", Role::Type(TypeKind::Enum)),
        ("union_item", Role::Type(TypeKind::Union)),
        ("trait_item", Role::Type(TypeKind::Trait)),
        ("type_item", Role::Own),
        ("impl_item", Role::Own),
        ("mod_item", Role::Own),
        ("ordered_field_declaration_list", Role::Own),
        ("attribute_item", Role::Own),
        ("inner_attribute_item", Role::Skip),
        ("function_item", Role::Own),
        ("function_signature_item", Role::Own),
        ("const_item", Role::Member(MemberKind::Constant)),
        ("static_item", Role::Member(MemberKind::Field)),
        ("field_declaration", Role::Member(MemberKind::Field)),
        ("enum_variant", Role::Member(MemberKind::EnumValue)),
        ("associated_type", Role::Member(MemberKind::AssociatedType)),
        ("macro_definition", Role::Member(MemberKind::Macro)),
        ("use_declaration", Role::Own),
        ("extern_crate_declaration", Role::Import),
        ("type_identifier", Role::Name(Position::Type)),
        ("scoped_type_identifier", Role::Name(Position::Type)),
        ("scoped_identifier", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    pieces: &[
        ("line_comment", Piece::Comment),
        ("block_comment", Piece::Comment),
        ("string_literal", Piece::Whole),
        ("raw_string_literal", Piece::Whole),
        ("char_literal", Piece::Whole),
        ("lifetime", Piece::Whole),
    ],
    docs: Docs::Marked(&["///", "//!", "/**", "/*!"]),
    asks: ASKS,
    tuples: &["tuple_expression", "tuple_type", "tuple_pattern"],
    sees_outer: false,
    is_taste: is_taste,
    head: head,
    import: |walk, node| {
        if let Some(argument) = node.child_by_field_name("argument") {
            import(walk, argument, &[]);
        }
    },
    own: own,
    finish: |_| {},
    ..PLAIN
});

/// Folders in which each file is a separate crate.
const CRATES: &[&str] = &["tests", "examples", "benches", "bin"];

/// `src/a/mod.rs` and `src/a.rs` are the module `a`; each test, example and binary is a separate crate.
fn home(project: &str, path: &str) -> Home {
    let mut steps = steps(path.strip_prefix("src/").unwrap_or(path));
    let own = steps.len() > 1 && CRATES.contains(&steps[0].as_str());
    let root = if own { steps.drain(..2).nth(1).unwrap_or_default() } else { project.replace('-', "_") };
    if steps.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        steps.pop();
    }
    let root = vec![if root.is_empty() { "crate".to_owned() } else { root }];
    let module: Vec<String> = root.iter().cloned().chain(steps).collect();
    Home { folder: module.clone(), module, root }
}

/// Attributes that are not part of the contract with callers.
const IGNORED: &[&str] = &["inline", "cold", "allow", "expect", "warn", "deny", "doc", "rustfmt"];

/// Depending on the line width, rustfmt adds braces around the value of a match arm or closure, and a comma after an arm.
fn is_taste(mark: Node, parent: Node) -> bool {
    match (mark.kind(), parent.kind()) {
        (",", "match_arm") => true,
        ("{" | "}", "block") => {
            let around = parent.parent().map_or("", |around| around.kind());
            let arm = matches!(around, "match_arm" | "closure_expression");
            let only = parent
                .named_child(0)
                .filter(|_| parent.named_child_count() == 1 && parent.child_count() == 3);
            arm && only
                .is_some_and(|only| !only.kind().ends_with("_item") && only.kind() != "let_declaration")
        }
        _ => false,
    }
}

fn head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    beside(walk, &mut head, node);
    let word = child(node, "visibility_modifier");
    head.visibility = word.map(|word| visibility(walk.text(word)));
    head.apart.extend(word.map(span));
    head.apart.extend(function_words(node));
    head.qualifier = qualifier(walk, node);
    match node.kind() {
        "trait_item" => {
            head.bases = node.child_by_field_name("bounds").map(named).unwrap_or_default();
            head.bases.retain(|it| it.kind() != "lifetime");
        }
        "enum_variant" => head.body = None,
        "const_item" => head.is_inlined = true,
        "macro_definition" => {
            head.body = node.child(2);
            let exported = head.attributes.iter().any(|it| walk.text(*it).contains("macro_export"));
            head.visibility = exported.then_some(Visibility::Public);
        }
        _ => {}
    }
    let declares_type = walk.role(node) != Role::Other && matches!(walk.role(node), Role::Type(_));
    if head.visibility.is_none() && (declares_type || !shares_visibility(node)) {
        head.visibility = Some(Visibility::Private);
    }
    head
}

/// Modifiers to exclude from the signature: only `default` of specialisation. `async` and `unsafe` stay, because they affect
/// callers.
fn function_words(node: Node) -> Vec<Span> {
    let modifiers = child(node, "function_modifiers");
    let word = modifiers.and_then(|modifiers| child(modifiers, "default"));
    word.map(span).into_iter().collect()
}

/// Variants, and members of a trait or of its implementation, have the visibility of the item that contains them.
fn shares_visibility(node: Node) -> bool {
    if node.kind() == "enum_variant" {
        return true;
    }
    let around = node.parent().and_then(|list| list.parent());
    around.is_some_and(|it| {
        it.kind() == "trait_item" || (it.kind() == "impl_item" && it.child_by_field_name("trait").is_some())
    })
}

fn visibility(word: &str) -> Visibility {
    let inner: String = word.chars().filter(|letter| !letter.is_whitespace()).collect();
    match inner.as_str() {
        "pub" => Visibility::Public,
        "pub(crate)" | "crate" => Visibility::Crate,
        "pub(self)" => Visibility::Private,
        _ => Visibility::Restricted,
    }
}

/// Collects attributes, which precede their item as siblings in the tree.
fn beside<'a>(walk: &Walk<'a>, head: &mut Head<'a>, node: Node<'a>) {
    let mut at = node.prev_sibling();
    while let Some(sibling) = at {
        match sibling.kind() {
            "attribute_item" => {
                head.from = sibling.start_byte();
                let name = walk.source.within(span(sibling)).nth(2).map_or("", |token| walk.source.of(token));
                if IGNORED.contains(&name) {
                    head.apart.push(span(sibling));
                } else {
                    head.attributes.push(sibling);
                }
            }
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        at = sibling.prev_sibling();
    }
    head.attributes.reverse();
}

fn own<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        // already read as part of its item
        "attribute_item" if walk.declaring => {}
        "use_declaration" => use_declaration(walk, node),
        "mod_item" if walk.declaring => module(walk, node),
        "impl_item" if walk.declaring => implementation(walk, node),
        "ordered_field_declaration_list" if walk.declaring => tuple(walk, node),
        "function_item" | "function_signature_item" if walk.declaring => {
            let kind = if walk.owner.is_some() { MemberKind::Method } else { MemberKind::Function };
            let mut head = head(walk, node);
            let takes_self = head.parameters.iter().any(|list| child(*list, "self_parameter").is_some());
            head.is_static = !takes_self;
            walk.add_member(kind, node, &head);
        }
        "type_item" if walk.declaring => {
            let mut head = head(walk, node);
            head.body = None;
            match walk.owner {
                Some(_) => walk.add_member(MemberKind::AssociatedType, node, &head),
                None => walk.part(TypeKind::Alias, node, &head, |_, _| {}),
            }
        }
        _ => walk.inside(cursor),
    }
}

/// Qualifier that distinguishes `from` in `impl From<A>` from `from` in `impl From<B>`, independent of the path to the trait.
fn qualifier<'a>(walk: &Walk<'a>, node: Node<'a>) -> String {
    let around = node.parent().and_then(|list| list.parent());
    let Some(implemented) = around.and_then(|it| it.child_by_field_name("trait")) else {
        return String::new();
    };
    let text = walk.glued(span(implemented), &[]);
    let name_end = text.find('<').unwrap_or(text.len());
    let name = text[..name_end].rfind("::").map_or(0, |at| at + 2);
    format!("{}::", &text[name..])
}

/// `pub use` is part of the interface of a module; other `use` declarations only import names.
fn use_declaration<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    if child(node, "visibility_modifier").is_none() {
        walk.take(node.start_byte(), node.end_byte());
    }
    if let Some(argument) = node.child_by_field_name("argument") {
        import(walk, argument, &[]);
    }
}

fn import<'a>(walk: &mut Walk<'a>, node: Node<'a>, before: &[&'a str]) {
    let joined = |walk: &Walk<'a>, path: Option<Node<'a>>| -> Vec<&'a str> {
        let more = path.and_then(|path| walk.chain(path)).unwrap_or_default();
        before.iter().copied().chain(more).collect()
    };
    match node.kind() {
        "use_list" => named(node).into_iter().for_each(|each| import(walk, each, before)),
        "scoped_use_list" => {
            let path = joined(walk, node.child_by_field_name("path"));
            if let Some(list) = node.child_by_field_name("list") {
                import(walk, list, &path);
            }
        }
        "use_as_clause" => {
            let path = joined(walk, node.child_by_field_name("path"));
            let alias = node.child_by_field_name("alias").map(|alias| walk.text(alias));
            bring(walk, alias, &path);
        }
        "use_wildcard" => {
            let path = joined(walk, node.named_child(0));
            bring(walk, None, &path);
        }
        // `a::{self}` imports `a`
        "self" => bring(walk, before.last().copied(), before),
        _ => {
            let path = joined(walk, Some(node));
            bring(walk, path.last().copied(), &path);
        }
    }
}

fn bring<'a>(walk: &mut Walk<'a>, alias: Option<&'a str>, path: &[&'a str]) {
    let (root, words) = walk.rooted(path);
    walk.add_import(alias.filter(|name| *name != "_"), (root, &words));
}

fn module<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
    else {
        return;
    };
    let name = walk.text(name);
    let seen =
        child(node, "visibility_modifier").map_or(Visibility::Private, |word| visibility(walk.text(word)));
    walk.nested_scope(&[name], seen, node, body);
}

/// Adds the members of an `impl` to its type, which may be declared in another file.
fn implementation<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    let target = node.child_by_field_name("type");
    let implemented = node.child_by_field_name("trait");
    head.visibility = None;
    head.bases.extend(implemented);
    let from = walk.facts.references.len();
    let at = walk.facts.types.len();
    let plain = target.map(|target| plain_name(target));
    head.name = plain.and_then(|node| walk.chain(node)?.last().copied()).map_or_else(
        || target.map_or_else(String::new, |target| walk.glued(span(target), &[])),
        str::to_owned,
    );
    if implemented.is_none() && child(node, "where_clause").is_none() {
        // moving methods between inherent impl blocks changes nothing for callers
        head.apart
            .push(Span::new(node.start_byte(), head.body.map_or(node.end_byte(), |body| body.start_byte())));
    }
    walk.part(TypeKind::Impl, node, &head, Walk::body);
    let place = plain.map_or(0, |node| node.start_byte() as u32);
    let found =
        walk.facts.references[from..].iter().position(|it| it.at == place && it.position == Position::Type);
    walk.facts.types[at].extends = found.map(|found| (from + found) as u32);
}

/// The name inside `&'a mut A<T>`.
fn plain_name(node: Node<'_>) -> Node<'_> {
    let inner = match node.kind() {
        "generic_type" | "reference_type" | "pointer_type" => node.child_by_field_name("type"),
        _ => None,
    };
    inner.map_or(node, plain_name)
}

/// Reads the fields of a tuple struct, which are named by their index.
fn tuple<'a>(walk: &mut Walk<'a>, list: Node<'a>) {
    let Some(owner) = walk.owner else { return };
    let from = walk.facts.references.len();
    walk.inside(&mut list.walk());
    let mut seen = Visibility::Private;
    let mut cursor = list.walk();
    let children: Vec<Node> = list.named_children(&mut cursor).collect();
    let mut number = 0;
    for node in children {
        match node.kind() {
            "visibility_modifier" => seen = visibility(walk.text(node)),
            "attribute_item" | "line_comment" | "block_comment" => {}
            _ => {
                let mut member = value_member(number.to_string(), MemberKind::Field, node);
                member.visibility = std::mem::replace(&mut seen, Visibility::Private);
                member.shape = walk.shape(span(node), from, &[]);
                member.shown = format!("{number}: {}", walk.glued(span(node), &[]));
                walk.push_member(owner, member);
                number += 1;
            }
        }
    }
}

/// How Rust accesses members.
const ASKS: Asks = Asks {
    rows: &[
        ("identifier", Asked::Name),
        ("self", Asked::Name),
        ("field_expression", Asked::Member("value", "field")),
        ("scoped_identifier", Asked::Member("path", "name")),
        ("call_expression", Asked::Call("function", "arguments")),
        ("struct_expression", Asked::Made("name", "body")),
        ("type_cast_expression", Asked::Typed("type")),
        ("parenthesized_expression", Asked::Same),
        ("reference_expression", Asked::Same),
        ("let_declaration", Asked::Variable("pattern", "type", "value")),
        ("let_condition", Asked::Variable("pattern", "type", "value")),
        ("parameter", Asked::Variable("pattern", "type", "value")),
        ("for_expression", Asked::Variable("pattern", "type", "")),
        ("match_pattern", Asked::Variable("", "type", "")),
        ("block", Asked::Scope),
        ("impl_item", Asked::Rebinds),
        ("trait_item", Asked::Rebinds),
        ("function_item", Asked::Scope),
        ("closure_expression", Asked::Scope),
        ("match_arm", Asked::Scope),
    ],
    own: &["self", "Self"],
    sight: false,
};
