//! Rust: structs, enums, unions, traits and aliases; an `impl` is a further part of its type, and free items belong to their
//! module.
//!
//! Does not expand macros: names in a macro invocation are recorded as written.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{ModulePath, path_segments};
use crate::walk::{
    AccessRule, DEFAULT_DIALECT, DEFAULT_MEMBER_ACCESS, Dialect, DocStyle, Head, LazyDialect,
    MemberAccessRules, Role, TokenRule, Walk, child_of_kind, named_children_of, node_span, plain_member,
};
use facts::Span;
use facts::{MemberKind, Position, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Rust",
    level: Level::Resolved,
    extensions: &["rs"],
    grammar: || grammars::rust().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(module_path_of),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("line_comment", Role::Skip),
        ("block_comment", Role::Skip),
        ("string_literal", Role::Skip),
        ("lifetime", Role::Skip),
        ("declaration_list", Role::Transparent),
        ("field_declaration_list", Role::Transparent),
        ("enum_variant_list", Role::Transparent),
        ("foreign_mod_item", Role::Transparent),
        ("struct_item", Role::Type(TypeKind::Struct)),
        ("enum_item", Role::Type(TypeKind::Enum)),
        ("union_item", Role::Type(TypeKind::Union)),
        ("trait_item", Role::Type(TypeKind::Trait)),
        ("type_item", Role::Custom),
        ("impl_item", Role::Custom),
        ("mod_item", Role::Custom),
        ("ordered_field_declaration_list", Role::Custom),
        ("attribute_item", Role::Custom),
        ("inner_attribute_item", Role::Skip),
        ("function_item", Role::Custom),
        ("function_signature_item", Role::Custom),
        ("const_item", Role::Member(MemberKind::Constant)),
        ("static_item", Role::Member(MemberKind::Field)),
        ("field_declaration", Role::Member(MemberKind::Field)),
        ("enum_variant", Role::Member(MemberKind::EnumValue)),
        ("associated_type", Role::Member(MemberKind::AssociatedType)),
        ("macro_definition", Role::Member(MemberKind::Macro)),
        ("use_declaration", Role::Custom),
        ("extern_crate_declaration", Role::Import),
        ("type_identifier", Role::Name(Position::Type)),
        ("scoped_type_identifier", Role::Name(Position::Type)),
        ("scoped_identifier", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    token_rules: &[
        ("line_comment", TokenRule::Comment),
        ("block_comment", TokenRule::Comment),
        ("string_literal", TokenRule::Whole),
        ("raw_string_literal", TokenRule::Whole),
        ("char_literal", TokenRule::Whole),
        ("lifetime", TokenRule::Whole),
    ],
    doc_style: DocStyle::Marked(&["///", "//!", "/**", "/*!"]),
    member_access: MEMBER_ACCESS,
    tuples: &["tuple_expression", "tuple_type", "tuple_pattern"],
    inherits_imports: false,
    is_stylistic: is_stylistic_token,
    head: read_head,
    import: read_extern_crate,
    custom: read_custom,
    finish: |_| {},
    ..DEFAULT_DIALECT
});

/// Folders in which each file is a separate crate.
const CRATE_FOLDERS: &[&str] = &["tests", "examples", "benches", "bin"];

/// `src/a/mod.rs` and `src/a.rs` are the module `a`; each test, example and binary is a separate crate.
fn module_path_of(project: &str, path: &str) -> ModulePath {
    let mut steps = path_segments(path.strip_prefix("src/").unwrap_or(path));
    let own = steps.len() > 1 && CRATE_FOLDERS.contains(&steps[0].as_str());
    let root = if own { steps.drain(..2).nth(1).unwrap_or_default() } else { project.replace('-', "_") };
    if steps.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        steps.pop();
    }
    let root = vec![if root.is_empty() { "crate".to_owned() } else { root }];
    let module: Vec<String> = root.iter().cloned().chain(steps).collect();
    ModulePath { folder: module.clone(), module, root, ..ModulePath::default() }
}

/// Attributes that are not part of the contract with callers.
const IGNORED_ATTRIBUTES: &[&str] = &["inline", "cold", "allow", "expect", "warn", "deny", "doc", "rustfmt"];

/// Depending on the line width, rustfmt adds braces around the value of a match arm or closure, and a comma after an arm.
fn is_stylistic_token(mark: Node, around: &[Node]) -> bool {
    let Some((parent, above)) = around.split_last() else { return false };
    match (mark.kind(), parent.kind()) {
        (",", "match_arm") => true,
        ("{" | "}", "block") => {
            let around = above.last().map_or("", |around| around.kind());
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

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    read_attributes(walk, &mut head, node);
    let word = child_of_kind(node, "visibility_modifier");
    head.visibility = word.map(|word| parse_visibility(walk.node_text(word)));
    head.excluded.extend(word.map(node_span));
    head.excluded.extend(ignored_modifiers(node));
    head.qualifier = trait_qualifier(walk, node);
    match node.kind() {
        "trait_item" => {
            head.bases = node.child_by_field_name("bounds").map(named_children_of).unwrap_or_default();
            head.bases.retain(|it| it.kind() != "lifetime");
        }
        "enum_variant" => head.body = None,
        "const_item" => head.is_inlined = true,
        "macro_definition" => {
            head.body = node.child(2);
            let exported = head.attributes.iter().any(|it| walk.node_text(*it).contains("macro_export"));
            head.visibility = exported.then_some(Visibility::Public);
        }
        _ => {}
    }
    let declares_type = walk.role_of(node) != Role::Other && matches!(walk.role_of(node), Role::Type(_));
    if head.visibility.is_none() && (declares_type || !inherits_visibility(walk, node)) {
        head.visibility = Some(Visibility::Private);
    }
    head
}

/// Modifiers to exclude from the signature: only `default` of specialisation. `async` and `unsafe` stay, because they affect
/// callers.
fn ignored_modifiers(node: Node) -> Vec<Span> {
    let modifiers = child_of_kind(node, "function_modifiers");
    let word = modifiers.and_then(|modifiers| child_of_kind(modifiers, "default"));
    word.map(node_span).into_iter().collect()
}

/// Variants, and members of a trait or of its implementation, have the visibility of the item that contains them.
fn inherits_visibility<'a>(walk: &Walk<'a>, node: Node<'a>) -> bool {
    if node.kind() == "enum_variant" {
        return true;
    }
    let around = walk.parent_of(node).and_then(|list| walk.parent_of(list));
    around.is_some_and(|it| {
        it.kind() == "trait_item" || (it.kind() == "impl_item" && it.child_by_field_name("trait").is_some())
    })
}

fn parse_visibility(word: &str) -> Visibility {
    let inner: String = word.chars().filter(|letter| !letter.is_whitespace()).collect();
    match inner.as_str() {
        "pub" => Visibility::Public,
        "pub(crate)" | "crate" => Visibility::Crate,
        "pub(self)" => Visibility::Private,
        _ => Visibility::Restricted,
    }
}

/// Collects attributes, which precede their item as siblings in the tree.
fn read_attributes<'a>(walk: &Walk<'a>, head: &mut Head<'a>, node: Node<'a>) {
    for sibling in walk.siblings_before(node) {
        match sibling.kind() {
            "attribute_item" => {
                head.start = sibling.start_byte();
                let name = walk
                    .source
                    .tokens_in(node_span(sibling))
                    .nth(2)
                    .map_or("", |token| walk.source.text_of(token));
                if IGNORED_ATTRIBUTES.contains(&name) {
                    head.excluded.push(node_span(sibling));
                } else {
                    head.attributes.push(sibling);
                }
            }
            "line_comment" | "block_comment" => {}
            _ => break,
        }
    }
    head.attributes.reverse();
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        // already read as part of its item
        "attribute_item" if walk.declaring => {}
        "use_declaration" => read_use(walk, node),
        "mod_item" if walk.declaring => read_module(walk, node),
        "impl_item" if walk.declaring => read_impl(walk, node),
        "ordered_field_declaration_list" if walk.declaring => read_tuple_fields(walk, node),
        "function_item" | "function_signature_item" if walk.declaring => {
            let kind = if walk.owner.is_some() { MemberKind::Method } else { MemberKind::Function };
            let mut head = read_head(walk, node);
            let takes_self =
                head.parameters.iter().any(|list| child_of_kind(*list, "self_parameter").is_some());
            head.is_static = !takes_self;
            walk.add_member(kind, node, &head);
        }
        "type_item" if walk.declaring => {
            let mut head = read_head(walk, node);
            head.body = None;
            match walk.owner {
                Some(_) => walk.add_member(MemberKind::AssociatedType, node, &head),
                None => walk.read_type_part(TypeKind::Alias, node, &head, |_, _| {}),
            }
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

/// Qualifier that distinguishes `from` in `impl From<A>` from `from` in `impl From<B>`, independent of the path to the trait.
fn trait_qualifier<'a>(walk: &Walk<'a>, node: Node<'a>) -> String {
    let around = walk.parent_of(node).and_then(|list| walk.parent_of(list));
    let Some(implemented) = around.and_then(|it| it.child_by_field_name("trait")) else {
        return String::new();
    };
    let text = walk.join_tokens(node_span(implemented), &[]);
    let name_end = text.find('<').unwrap_or(text.len());
    let name = text[..name_end].rfind("::").map_or(0, |at| at + 2);
    format!("{}::", &text[name..])
}

/// `extern crate a as b`.
fn read_extern_crate<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(name) = node.child_by_field_name("name").map(|name| walk.node_text(name)) else { return };
    let alias = node.child_by_field_name("alias").map_or(name, |alias| walk.node_text(alias));
    walk.add_import(Some(alias), (Some("global"), &[name]));
}

/// `pub use` is part of the interface of a module; other `use` declarations only import names.
fn read_use<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    if child_of_kind(node, "visibility_modifier").is_none() {
        walk.claim_range(node.start_byte(), node.end_byte());
    }
    if let Some(argument) = node.child_by_field_name("argument") {
        read_use_tree(walk, argument, &[]);
    }
}

fn read_use_tree<'a>(walk: &mut Walk<'a>, node: Node<'a>, before: &[&'a str]) {
    let joined = |walk: &Walk<'a>, path: Option<Node<'a>>| -> Vec<&'a str> {
        let more = path.and_then(|path| walk.name_words(path)).unwrap_or_default();
        before.iter().copied().chain(more).collect()
    };
    match node.kind() {
        "use_list" => {
            for each in named_children_of(node) {
                walk.descend(each, |walk| read_use_tree(walk, each, before));
            }
        }
        "scoped_use_list" => {
            let path = joined(walk, node.child_by_field_name("path"));
            if let Some(list) = node.child_by_field_name("list") {
                read_use_tree(walk, list, &path);
            }
        }
        "use_as_clause" => {
            let path = joined(walk, node.child_by_field_name("path"));
            let alias = node.child_by_field_name("alias").map(|alias| walk.node_text(alias));
            add_use(walk, alias, &path);
        }
        "use_wildcard" => {
            let path = joined(walk, node.named_child(0));
            add_use(walk, None, &path);
        }
        // `a::{self}` imports `a`
        "self" => add_use(walk, before.last().copied(), before),
        _ => {
            let path = joined(walk, Some(node));
            add_use(walk, path.last().copied(), &path);
        }
    }
}

fn add_use<'a>(walk: &mut Walk<'a>, alias: Option<&'a str>, path: &[&'a str]) {
    let (root, words) = walk.split_path_root(path);
    walk.add_import(alias.filter(|name| *name != "_"), (root, &words));
}

fn read_module<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
    else {
        return;
    };
    let name = walk.node_text(name);
    let seen = child_of_kind(node, "visibility_modifier")
        .map_or(Visibility::Private, |word| parse_visibility(walk.node_text(word)));
    walk.read_nested_scope(&[name], seen, node, body);
}

/// Adds the members of an `impl` to its type, which may be declared in another file.
fn read_impl<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    let target = node.child_by_field_name("type");
    let implemented = node.child_by_field_name("trait");
    head.visibility = None;
    head.bases.extend(implemented);
    let from = walk.facts.references.len();
    let at = walk.facts.types.len();
    let plain = target.map(|target| plain_name(target));
    head.name = plain.and_then(|node| walk.name_words(node)?.last().copied()).map_or_else(
        || target.map_or_else(String::new, |target| walk.join_tokens(node_span(target), &[])),
        str::to_owned,
    );
    if implemented.is_none() && child_of_kind(node, "where_clause").is_none() {
        // moving methods between inherent impl blocks changes nothing for callers
        head.excluded
            .push(Span::new(node.start_byte(), head.body.map_or(node.end_byte(), |body| body.start_byte())));
    }
    walk.read_type_part(TypeKind::Impl, node, &head, Walk::read_body);
    let place = plain.map_or(0, |node| node.start_byte() as u32);
    let found =
        walk.facts.references[from..].iter().position(|it| it.at == place && it.position == Position::Type);
    walk.facts.types[at].extended_type = found.map(|found| (from + found) as u32);
}

/// The name inside `&'a mut A<T>`.
fn plain_name(node: Node<'_>) -> Node<'_> {
    let mut name = node;
    while matches!(name.kind(), "generic_type" | "reference_type" | "pointer_type") {
        let Some(inner) = name.child_by_field_name("type") else { break };
        name = inner;
    }
    name
}

/// Reads the fields of a tuple struct, which are named by their index.
fn read_tuple_fields<'a>(walk: &mut Walk<'a>, list: Node<'a>) {
    let Some(owner) = walk.owner else { return };
    let from = walk.facts.references.len();
    walk.visit_non_declaring(&mut list.walk());
    let mut seen = Visibility::Private;
    let mut cursor = list.walk();
    let children: Vec<Node> = list.named_children(&mut cursor).collect();
    let mut number = 0;
    for node in children {
        match node.kind() {
            "visibility_modifier" => seen = parse_visibility(walk.node_text(node)),
            "attribute_item" | "line_comment" | "block_comment" => {}
            _ => {
                let mut member = plain_member(number.to_string(), MemberKind::Field, node);
                member.visibility = std::mem::replace(&mut seen, Visibility::Private);
                member.shape = walk.shape_of(node_span(node), from, &[]);
                member.signature_text = format!("{number}: {}", walk.join_tokens(node_span(node), &[]));
                walk.push_member(owner, member);
                number += 1;
            }
        }
    }
}

/// How Rust accesses members.
const MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[
        ("identifier", AccessRule::Name),
        ("self", AccessRule::Name),
        ("field_expression", AccessRule::Member("value", "field")),
        ("scoped_identifier", AccessRule::Member("path", "name")),
        ("call_expression", AccessRule::Call("function", "arguments")),
        ("struct_expression", AccessRule::Construct("name", "body")),
        ("struct_pattern", AccessRule::StructPattern("type")),
        ("type_cast_expression", AccessRule::Typed("type")),
        ("parenthesized_expression", AccessRule::Transparent),
        ("reference_expression", AccessRule::Transparent),
        ("let_declaration", AccessRule::Variable("pattern", "type", "value")),
        ("let_condition", AccessRule::Variable("pattern", "type", "value")),
        ("parameter", AccessRule::Variable("pattern", "type", "value")),
        ("for_expression", AccessRule::Variable("pattern", "type", "")),
        ("match_pattern", AccessRule::Variable("", "type", "")),
        ("block", AccessRule::Scope),
        ("impl_item", AccessRule::RebindsSelf),
        ("trait_item", AccessRule::RebindsSelf),
        ("function_item", AccessRule::Scope),
        ("closure_expression", AccessRule::Scope),
        ("match_arm", AccessRule::Scope),
        ("use_declaration", AccessRule::Import),
        ("extern_crate_declaration", AccessRule::Import),
        ("mod_item", AccessRule::Module),
        ("token_tree", AccessRule::TokenTree),
    ],
    self_words: &["self", "Self"],
    path_roots: &["crate", "self", "super"],
    hoisted: &[("function_item", "name"), ("const_item", "name"), ("static_item", "name")],
    prelude: &["Some", "None", "Ok", "Err"],
    ..DEFAULT_MEMBER_ACCESS
};
