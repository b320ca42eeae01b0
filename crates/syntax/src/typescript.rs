//! TypeScript and JavaScript: classes, interfaces, enums, aliases and modules.
//!
//! Does not know path mappings in a package manifest, or members added at run time.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{ModulePath, name_segments, path_segments};
use crate::walk::{
    AccessRule, BlankRange, BlankRule, DEFAULT_DIALECT, DEFAULT_MEMBER_ACCESS, Dialect, DocStyle,
    FOLDER_ROOTS, Head, LazyDialect, MemberAccessRules, Role, TokenRule, Walk, child_of_kind,
    children_of_kind, is_word_char, named_children_of, node_span, plain_member, starts_uppercase,
};
use facts::{MemberKind, Position, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "TypeScript",
    level: Level::Resolved,
    extensions: &["ts", "mts", "cts"],
    grammar: || grammars::typescript().into(),
    extraction: Extraction::Table(&TYPESCRIPT_DIALECT),
    module_path: Some(module_path_of),
};

/// JavaScript is parsed with the TSX grammar, which accepts all of it.
pub(crate) const JAVASCRIPT: Language = Language {
    name: "JavaScript",
    level: Level::Resolved,
    extensions: &["js", "jsx", "tsx", "mjs", "cjs"],
    grammar: || grammars::tsx().into(),
    extraction: Extraction::Table(&TSX_DIALECT),
    module_path: Some(module_path_of),
};

/// Constructs that the grammar does not support yet.
const TYPESCRIPT_BLANK_RULES: &[BlankRule] = &[
    // `export type * from "a"`
    BlankRule {
        mark: "type * ",
        range: |before, mark| {
            let exported = before.trim_end().ends_with("export") && mark.contains("from");
            exported.then_some(0..4)
        },
    },
    // `<in T, out U>`
    BlankRule { mark: "in ", range: |before, mark| modifier_variance(before, mark, 2) },
    BlankRule { mark: "out ", range: |before, mark| modifier_variance(before, mark, 3) },
];

/// Flow types without a TypeScript equivalent: `opaque type A`, `{+a: B, ...}`, `component(...props: any)`.
const FLOW_BLANK_RULES: &[BlankRule] = &[
    BlankRule { mark: "opaque type ", range: |before, _| (!before.ends_with(is_word_char)).then_some(0..6) },
    BlankRule {
        mark: "...",
        range: |_, mark| {
            let rest = mark[3..].trim_start().trim_start_matches(',').trim_start();
            rest.starts_with('}').then_some(0..3)
        },
    },
    BlankRule { mark: "+", range: flow_variance },
    BlankRule { mark: "-", range: flow_variance },
    // blanking `component(...props: any)` leaves the type `any`
    BlankRule { mark: "component(...props: any)", range: |_, _| Some(0..20) },
    BlankRule { mark: "any)", range: |before, _| before.ends_with("component(...props: ").then_some(3..4) },
];

/// Flow's variance sigils: `{+a: B}` and `<+T>`.
fn flow_variance(before: &str, mark: &str) -> Option<BlankRange> {
    let listed = before.trim_end().ends_with(['{', ',', '<', '|', ';']);
    let rest = mark[1..].trim_start_matches(is_word_char);
    let typed = rest.starts_with([':', '>', '[', ',']) || rest.starts_with("?:");
    (listed && typed && mark[1..].starts_with(|it| is_word_char(it) || it == '[')).then_some(0..1)
}

/// A variance modifier (`in`, `out`) before the name of a type parameter.
fn modifier_variance(before: &str, mark: &str, word: isize) -> Option<BlankRange> {
    let before = before.trim_end();
    let listed = ["<", ",", "<in", ", in", "*/"].iter().any(|it| before.ends_with(it));
    let rest = mark[word as usize..].trim_start();
    (listed && (starts_uppercase(rest) || rest.starts_with("out "))).then_some(0..word)
}

static TYPESCRIPT_DIALECT: LazyDialect =
    LazyDialect::new(Dialect { blank_rules: |_| TYPESCRIPT_BLANK_RULES, ..DIALECT });
static TSX_DIALECT: LazyDialect = LazyDialect::new(Dialect {
    blank_rules: |text| if text.contains("@flow") { FLOW_BLANK_RULES } else { TYPESCRIPT_BLANK_RULES },
    ..DIALECT
});

const DIALECT: Dialect = Dialect {
    roles: ROLES,
    token_rules: TOKEN_RULES,
    doc_style: DocStyle::Marked(&["/**"]),
    redundant_parens: &[
        "arguments",
        "array",
        "arrow_function",
        "assignment_expression",
        "pair",
        "parenthesized_expression",
        "public_field_definition",
        "return_statement",
        "throw_statement",
        "variable_declarator",
    ],
    interchangeable_quotes: true,
    has_overloads: true,
    is_stylistic: is_stylistic_token,
    head: read_head,
    import: read_import,
    custom: read_custom,
    finish: apply_export_clauses,
    member_access: MEMBER_ACCESS,
    ..DEFAULT_DIALECT
};

const ROLES: &[(&str, Role)] = &[
    ("comment", Role::Skip),
    ("import_statement", Role::Import),
    ("export_statement", Role::Custom),
    ("ambient_declaration", Role::Custom),
    ("expression_statement", Role::Custom),
    ("internal_module", Role::Custom),
    ("module", Role::Custom),
    ("class_declaration", Role::Type(TypeKind::Class)),
    ("abstract_class_declaration", Role::Type(TypeKind::Class)),
    ("interface_declaration", Role::Type(TypeKind::Interface)),
    ("enum_declaration", Role::Type(TypeKind::Enum)),
    ("type_alias_declaration", Role::Custom),
    ("enum_body", Role::Custom),
    ("enum_assignment", Role::Member(MemberKind::EnumValue)),
    ("function_declaration", Role::Member(MemberKind::Function)),
    ("generator_function_declaration", Role::Member(MemberKind::Function)),
    ("function_signature", Role::Member(MemberKind::Function)),
    ("lexical_declaration", Role::Custom),
    ("variable_declaration", Role::Custom),
    ("decorator", Role::Custom),
    ("method_definition", Role::Custom),
    ("class_static_block", Role::Custom),
    ("public_field_definition", Role::Member(MemberKind::Field)),
    ("method_signature", Role::Member(MemberKind::Method)),
    ("abstract_method_signature", Role::Member(MemberKind::Method)),
    ("property_signature", Role::Member(MemberKind::Property)),
    ("index_signature", Role::Member(MemberKind::Indexer)),
    ("call_signature", Role::Member(MemberKind::Method)),
    ("construct_signature", Role::Member(MemberKind::Constructor)),
    ("jsx_opening_element", Role::Custom),
    ("jsx_self_closing_element", Role::Custom),
    ("type_identifier", Role::Name(Position::Type)),
    ("nested_type_identifier", Role::Name(Position::Type)),
    ("member_expression", Role::Name(Position::Value)),
    ("nested_identifier", Role::Name(Position::Value)),
    ("identifier", Role::Word),
];

const TOKEN_RULES: &[(&str, TokenRule)] = &[
    ("comment", TokenRule::Comment),
    ("string", TokenRule::Whole),
    ("string_fragment", TokenRule::Whole),
    ("regex", TokenRule::Whole),
    ("program", TokenRule::LineTerminated),
    ("statement_block", TokenRule::LineTerminated),
    ("class_body", TokenRule::LineTerminated),
    ("interface_body", TokenRule::LineTerminated),
    ("object_type", TokenRule::LineTerminated),
    ("switch_case", TokenRule::LineTerminated),
];

fn module_path_of(project: &str, path: &str) -> ModulePath {
    let root = name_segments(project);
    let mut folder: Vec<String> = root.iter().cloned().chain(path_segments(path)).collect();
    let name = folder.pop().unwrap_or_default();
    let mut module = folder.clone();
    if name != "index" {
        module.push(name);
    }
    ModulePath { module, folder, root, ..ModulePath::default() }
}

/// Semicolons at line ends, member separators, and parentheses around a single untyped parameter.
fn is_stylistic_token(mark: Node, around: &[Node]) -> bool {
    let Some((parent, above)) = around.split_last() else { return false };
    match (mark.kind(), parent.kind()) {
        (";", kind) => kind != "for_statement",
        // leading operator of a union or intersection laid out over several lines
        ("|", "union_type") | ("&", "intersection_type") => parent.child(0) == Some(mark),
        (",", "interface_body" | "object_type") => true,
        ("(" | ")", "formal_parameters") => {
            let arrow = above.last().filter(|it| it.kind() == "arrow_function");
            let typed = arrow.is_some_and(|it| it.child_by_field_name("return_type").is_some());
            let lone = parent.named_child(0).filter(|_| parent.named_child_count() == 1);
            let plain =
                lone.is_some_and(|it| it.child_count() <= 1 && it.named_child(0).is_none_or(is_identifier));
            arrow.is_some() && !typed && plain
        }
        _ => false,
    }
}

fn is_identifier(node: Node) -> bool {
    node.kind() == "identifier"
}

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    let nameless = match node.kind() {
        "index_signature" => "[]",
        "call_signature" => "()",
        "construct_signature" => "new",
        _ => "default",
    };
    if head.name.is_empty() || nameless == "[]" {
        nameless.clone_into(&mut head.name);
    }
    head.attributes = children_of_kind(node, "decorator");
    let around = walk.parent_of(node);
    if around.is_some_and(|it| matches!(it.kind(), "class_body" | "interface_body" | "object_type")) {
        read_member_modifiers(walk, &mut head, node);
    } else {
        read_export_wrappers(walk, &mut head, node);
    }
    head.bases = base_nodes(node);
    head
}

/// Reads the wrappers of a top-level declaration: `export`, `declare`, decorators.
fn read_export_wrappers<'a>(walk: &Walk<'a>, head: &mut Head<'a>, node: Node<'a>) {
    let mut around = walk.parent_of(node);
    let is_wrap = |it: &Node| matches!(it.kind(), "export_statement" | "ambient_declaration");
    let mut seen = false;
    while let Some(wrap) = around.filter(is_wrap) {
        head.declaration = wrap;
        head.start = wrap.start_byte();
        head.attributes.splice(0..0, children_of_kind(wrap, "decorator"));
        head.excluded.extend(child_of_kind(wrap, "export").map(node_span));
        seen |= wrap.kind() == "export_statement";
        around = walk.parent_of(wrap);
    }
    head.visibility = Some(if seen { Visibility::Public } else { Visibility::Private });
}

fn read_member_modifiers<'a>(walk: &Walk<'a>, head: &mut Head<'a>, node: Node<'a>) {
    let word = child_of_kind(node, "accessibility_modifier");
    head.visibility = Some(match word.map(|word| walk.node_text(word)) {
        Some("private") => Visibility::Private,
        Some("protected") => Visibility::Protected,
        _ if head.name.starts_with('#') => Visibility::Private,
        _ => Visibility::Public,
    });
    head.excluded.extend(word.map(node_span));
    head.excluded.extend(child_of_kind(node, "async").map(node_span));
    head.is_static = child_of_kind(node, "static").is_some();
    let mut before = Vec::new();
    for sibling in walk.siblings_before(node).take_while(|it| matches!(it.kind(), "decorator" | "comment")) {
        if sibling.kind() == "decorator" {
            head.start = sibling.start_byte();
            before.push(sibling);
        }
    }
    head.attributes.splice(0..0, before.into_iter().rev());
}

fn base_nodes(node: Node<'_>) -> Vec<Node<'_>> {
    let heritage = child_of_kind(node, "class_heritage");
    let lists = heritage.map_or_else(Vec::new, |it| {
        [children_of_kind(it, "extends_clause"), children_of_kind(it, "implements_clause")].concat()
    });
    let lists = lists.into_iter().chain(child_of_kind(node, "extends_type_clause"));
    lists.flat_map(named_children_of).filter(|it| it.kind() != "type_arguments").collect()
}

fn read_import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(clause) = child_of_kind(node, "import_clause") else { return };
    let Some(source) = node.child_by_field_name("source") else { return };
    let (root, path) = split_module_path(walk.node_text(source).trim_matches(['"', '\'']));
    for each in named_children_of(clause) {
        match each.kind() {
            // assume that a default export is imported under its own name
            "identifier" => {
                let name = walk.node_text(each);
                walk.add_import(Some(name), (root, &[&path[..], &[name]].concat()));
            }
            "namespace_import" => {
                let name = each.named_child(0).map(|name| walk.node_text(name));
                walk.add_import(name, (root, &path));
            }
            _ => add_specifiers(walk, children_of_kind(each, "import_specifier"), (root, &path)),
        }
    }
}

/// The root and the words of a module path: `./a` is in the folder of this file, `pkg/a` in a package.
fn split_module_path(path: &str) -> (Option<&'static str>, Vec<&str>) {
    let words: Vec<&str> = path.split('/').collect();
    let ups =
        words.iter().take_while(|word| matches!(**word, "." | "..")).filter(|word| **word == "..").count();
    let root = if path.starts_with('.') { FOLDER_ROOTS[ups.min(FOLDER_ROOTS.len() - 1)] } else { "global" };
    let words = words.into_iter().filter(|word| !matches!(*word, "." | ".." | "index" | "index.js" | ""));
    (Some(root), words.map(|word| word.trim_end_matches(".js").trim_end_matches(".ts")).collect())
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if node.kind().starts_with("jsx_") {
        if let Some(name) = node.child_by_field_name("name") {
            walk.record_name(name, Position::Bare);
        }
        return walk.visit_non_declaring(cursor);
    }
    if !walk.declaring {
        return walk.visit_non_declaring(cursor);
    }
    match node.kind() {
        // already read as part of its declaration
        "decorator" => {}
        "export_statement" | "ambient_declaration" => read_export(walk, cursor),
        "expression_statement" => match child_of_kind(node, "internal_module") {
            Some(module) => read_namespace(walk, module),
            None => walk.visit_non_declaring(cursor),
        },
        "internal_module" | "module" => read_namespace(walk, node),
        "type_alias_declaration" => read_alias(walk, node),
        "enum_body" => read_enum_values(walk, node),
        "lexical_declaration" | "variable_declaration" => read_variables(walk, node),
        "method_definition" => read_method(walk, node),
        "class_static_block" => {
            let mut head = read_head(walk, node);
            "static {}".clone_into(&mut head.name);
            head.visibility = Some(Visibility::Private);
            walk.add_member(MemberKind::Constructor, node, &head);
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

/// `export … from` re-exports names of another module.
fn read_reexport<'a>(walk: &mut Walk<'a>, node: Node<'a>, source: Node<'a>) {
    let (root, path) = split_module_path(walk.node_text(source).trim_matches(['"', '\'']));
    if let Some(namespace) = child_of_kind(node, "namespace_export") {
        let name = namespace.named_child(0).map(|name| walk.node_text(name));
        walk.add_import(name, (root, &path));
    } else if let Some(clause) = child_of_kind(node, "export_clause") {
        add_specifiers(walk, children_of_kind(clause, "export_specifier"), (root, &path));
    } else {
        walk.add_import(None, (root, &path));
    }
}

/// Imports the names of `{ a, b as c }` from a module.
fn add_specifiers<'a>(
    walk: &mut Walk<'a>,
    specifiers: Vec<Node<'a>>,
    (root, path): (Option<&'a str>, &[&'a str]),
) {
    for specifier in specifiers {
        let name = specifier.child_by_field_name("name").map_or("", |name| walk.node_text(name));
        let alias = specifier.child_by_field_name("alias").map_or(name, |alias| walk.node_text(alias));
        walk.add_import(Some(alias), (root, &[path, &[name]].concat()));
    }
}

fn read_export<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if let Some(source) = node.child_by_field_name("source") {
        return read_reexport(walk, node, source);
    }
    for specifier in children_of_kind(node, "export_clause")
        .into_iter()
        .flat_map(|clause| children_of_kind(clause, "export_specifier"))
    {
        // `export { a as b }` gives `a` a second name
        let names = ["name", "alias"].map(|field| specifier.child_by_field_name(field));
        if let [Some(name), Some(alias)] = names.map(|name| name.map(|name| walk.node_text(name))) {
            walk.add_import(Some(alias), (Some("self"), &[name]));
        }
    }
    let declaration = node.child_by_field_name("declaration").or_else(|| {
        let inner = named_children_of(node).into_iter().find(|it| walk.role_of(*it) != Role::Other);
        inner.filter(|_| node.kind() == "ambient_declaration")
    });
    if let Some(declaration) = declaration {
        return walk.visit(&mut declaration.walk(), node);
    }
    match node.child_by_field_name("value") {
        Some(value) if matches!(value.kind(), "function_expression" | "class" | "arrow_function") => {
            let head = read_head(walk, value);
            if value.kind() == "class" {
                walk.read_type_part(TypeKind::Class, value, &head, Walk::read_body);
            } else {
                walk.add_member(MemberKind::Function, value, &head);
            }
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

fn read_namespace<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
    else {
        return;
    };
    let words = if name.kind() == "string" {
        vec![walk.node_text(name).trim_matches(['"', '\''])]
    } else {
        walk.name_words(name).unwrap_or_default()
    };
    let seen = walk.parent_of(node).is_some_and(|it| it.kind() == "export_statement");
    walk.read_nested_scope(&words, if seen { Visibility::Public } else { Visibility::Private }, node, body);
}

/// An alias of an object type has the members of that type.
fn read_alias<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    head.body = node.child_by_field_name("value").filter(|value| value.kind() == "object_type");
    walk.read_type_part(TypeKind::Alias, node, &head, Walk::read_body);
}

fn read_enum_values<'a>(walk: &mut Walk<'a>, body: Node<'a>) {
    let Some(owner) = walk.owner else { return };
    let mut before = 0;
    for node in named_children_of(body) {
        if node.kind() == "enum_assignment" {
            before = 0;
            let head = Head { is_inlined: true, ..Head::new(walk, node) };
            walk.add_member(MemberKind::EnumValue, node, &head);
            continue;
        }
        let mut member = plain_member(walk.node_text(node).to_owned(), MemberKind::EnumValue, node);
        // an implicit value derives from the last explicit one
        member.shape.push_token(&format!("+{before}"));
        member.signature_text.clone_from(&member.name);
        member.doc = walk.read_doc(&Head::new(walk, node));
        walk.push_member(owner, member);
        before += 1;
    }
}

/// `const a = 1, b = 2` declares two members; a variable whose value is a function counts as a function.
fn read_variables<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let declarators = children_of_kind(node, "variable_declarator");
    let (shared, constant) = (read_head(walk, node), child_of_kind(node, "const").is_some());
    for declarator in &declarators {
        // a copy of the head
        if !walk.budget.spend(1 + shared.attributes.len()) {
            break;
        }
        let value = declarator.child_by_field_name("value");
        let function = value.filter(|it| matches!(it.kind(), "arrow_function" | "function_expression"));
        let mut head = shared.clone();
        // a pattern such as `{ a, b }` serves as the name, independent of its layout
        let name = declarator.child_by_field_name("name");
        head.name =
            name.map_or_else(String::new, |name| walk.join_tokens(node_span(name), &[]).replace(' ', ""));
        head.body = value;
        if let Some(function) = function {
            head.parameters = function.child_by_field_name("parameters").into_iter().collect();
            head.type_parameters = function.child_by_field_name("type_parameters");
            head.body = function.child_by_field_name("body");
        }
        if declarators.len() > 1 {
            head.declaration = *declarator;
            head.start = declarator.start_byte();
        }
        let kind = match function {
            Some(_) => MemberKind::Function,
            None if constant => MemberKind::Constant,
            None => MemberKind::Field,
        };
        walk.add_member(kind, *declarator, &head);
    }
    walk.claim_range(node.start_byte(), node.end_byte());
}

fn read_method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let head = read_head(walk, node);
    let kind = match head.name.as_str() {
        "constructor" => MemberKind::Constructor,
        _ if child_of_kind(node, "get").is_some() || child_of_kind(node, "set").is_some() => {
            MemberKind::Property
        }
        _ => MemberKind::Method,
    };
    walk.add_member(kind, node, &head);
}

/// Applies `export { a, b }` to declarations elsewhere in the file. In a file without imports and exports everything is public.
fn apply_export_clauses(walk: &mut Walk) {
    let root = walk.root;
    let statements = named_children_of(root);
    let is_module = statements.iter().any(|it| matches!(it.kind(), "export_statement" | "import_statement"));
    let own = statements
        .iter()
        .filter(|it| it.kind() == "export_statement" && it.child_by_field_name("source").is_none());
    let clauses = own
        .flat_map(|it| children_of_kind(*it, "export_clause"))
        .flat_map(|it| children_of_kind(it, "export_specifier"));
    let mut names: Vec<&str> =
        clauses.filter_map(|it| it.child_by_field_name("name")).map(|name| walk.node_text(name)).collect();
    let values =
        statements.iter().filter_map(|it| it.child_by_field_name("value")).filter(|it| is_identifier(*it));
    names.extend(values.map(|name| walk.node_text(name)));
    let is_exported = |name: &str| !is_module || names.contains(&name);
    for part in walk.facts.types.iter_mut().filter(|part| part.scope == 0 && part.outer.is_none()) {
        if part.kind == TypeKind::Module {
            part.members
                .iter_mut()
                .filter(|it| is_exported(&it.name))
                .for_each(|it| it.visibility = Visibility::Public);
        } else if is_exported(&part.name) {
            part.visibility = Some(Visibility::Public);
        }
    }
}

/// How TypeScript and JavaScript access members.
const MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[
        ("identifier", AccessRule::Name),
        ("this", AccessRule::Name),
        ("shorthand_property_identifier", AccessRule::Shorthand),
        ("pair", AccessRule::Keyed("key")),
        ("lookup_type", AccessRule::Lookup),
        ("import_statement", AccessRule::Import),
        ("export_statement", AccessRule::ReExport("source")),
        ("internal_module", AccessRule::Module),
        ("catch_clause", AccessRule::Variable("parameter", "type", "")),
        ("member_expression", AccessRule::Member("object", "property")),
        ("call_expression", AccessRule::Call("function", "arguments")),
        ("new_expression", AccessRule::Typed("constructor")),
        ("parenthesized_expression", AccessRule::Transparent),
        ("non_null_expression", AccessRule::Transparent),
        ("required_parameter", AccessRule::Variable("pattern", "type", "value")),
        ("optional_parameter", AccessRule::Variable("pattern", "type", "value")),
        ("variable_declarator", AccessRule::Variable("name", "type", "value")),
        ("for_in_statement", AccessRule::Variable("left", "", "")),
        ("statement_block", AccessRule::Scope),
        ("object", AccessRule::RebindsSelf),
        ("class_body", AccessRule::RebindsSelf),
        ("function_expression", AccessRule::RebindsSelf),
        ("function_declaration", AccessRule::Scope),
        ("method_definition", AccessRule::Scope),
        ("arrow_function", AccessRule::Scope),
    ],
    self_words: &["this"],
    hoisted: &[("function_declaration", "name"), ("generator_function_declaration", "name")],
    prelude: &["undefined"],
    ..DEFAULT_MEMBER_ACCESS
};
