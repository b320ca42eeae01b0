//! TypeScript and JavaScript: classes, interfaces, enums, aliases and modules.
//!
//! Does not know path mappings in a package manifest, or members added at run time.

use crate::facts::{MemberKind, Position, TypeKind, Visibility};
use crate::language::{Language, Manner};
use crate::module_path::{Home, steps, steps_of};
use crate::walk::{
    Asked, Asks, Blank, Dialect, Docs, FOLDERS, Head, PLAIN, Piece, Reading, Role, Rule, Walk, child,
    children, is_capital, is_word, named, span, value_member,
};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "TypeScript",
    endings: &["ts", "mts", "cts"],
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    manner: Manner::Table(&TYPED),
    home: Some(home),
};

/// JavaScript is parsed with the TSX grammar, which accepts all of it.
pub(crate) const WITH_MARKUP: Language = Language {
    name: "JavaScript",
    endings: &["js", "jsx", "tsx", "mjs", "cjs"],
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    manner: Manner::Table(&MARKUP),
    home: Some(home),
};

/// Constructs that the grammar does not support yet.
const UNREADABLE: &[Rule] = &[
    // `export type * from "a"`
    Rule {
        mark: "type * ",
        blank: |before, mark| {
            let exported = before.trim_end().ends_with("export") && mark.contains("from");
            exported.then_some(0..4)
        },
    },
    // `<in T, out U>`
    Rule { mark: "in ", blank: |before, mark| variance(before, mark, 2) },
    Rule { mark: "out ", blank: |before, mark| variance(before, mark, 3) },
];

/// Flow types without a TypeScript equivalent: `opaque type A`, `{+a: B, ...}`, `component(...props: any)`.
const FLOW: &[Rule] = &[
    Rule { mark: "opaque type ", blank: |before, _| (!before.ends_with(is_word)).then_some(0..6) },
    Rule {
        mark: "...",
        blank: |_, mark| {
            let rest = mark[3..].trim_start().trim_start_matches(',').trim_start();
            rest.starts_with('}').then_some(0..3)
        },
    },
    Rule { mark: "+", blank: sign },
    Rule { mark: "-", blank: sign },
    // blanking `component(...props: any)` leaves the type `any`
    Rule { mark: "component(...props: any)", blank: |_, _| Some(0..20) },
    Rule { mark: "any)", blank: |before, _| before.ends_with("component(...props: ").then_some(3..4) },
];

/// Flow's variance sigils: `{+a: B}` and `<+T>`.
fn sign(before: &str, mark: &str) -> Option<Blank> {
    let listed = before.trim_end().ends_with(['{', ',', '<', '|', ';']);
    let rest = mark[1..].trim_start_matches(is_word);
    let typed = rest.starts_with([':', '>', '[', ',']) || rest.starts_with("?:");
    (listed && typed && mark[1..].starts_with(|it| is_word(it) || it == '[')).then_some(0..1)
}

/// A variance modifier (`in`, `out`) before the name of a type parameter.
fn variance(before: &str, mark: &str, word: isize) -> Option<Blank> {
    let before = before.trim_end();
    let listed = ["<", ",", "<in", ", in", "*/"].iter().any(|it| before.ends_with(it));
    let rest = mark[word as usize..].trim_start();
    (listed && (is_capital(rest) || rest.starts_with("out "))).then_some(0..word)
}

static TYPED: Reading = Reading::new(Dialect { unreadable: |_| UNREADABLE, ..DIALECT });
static MARKUP: Reading = Reading::new(Dialect {
    unreadable: |text| if text.contains("@flow") { FLOW } else { UNREADABLE },
    ..DIALECT
});

const DIALECT: Dialect = Dialect {
    roles: ROLES,
    pieces: PIECES,
    docs: Docs::Marked(&["/**"]),
    groups: &[
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
    quotes_alike: true,
    overloads: true,
    is_taste: is_taste,
    head: head,
    import: import,
    own: own,
    finish: finish,
    asks: ASKS,
    ..PLAIN
};

const ROLES: &[(&str, Role)] = &[
    ("comment", Role::Skip),
    ("import_statement", Role::Import),
    ("export_statement", Role::Own),
    ("ambient_declaration", Role::Own),
    ("expression_statement", Role::Own),
    ("internal_module", Role::Own),
    ("module", Role::Own),
    ("class_declaration", Role::Type(TypeKind::Class)),
    ("abstract_class_declaration", Role::Type(TypeKind::Class)),
    ("interface_declaration", Role::Type(TypeKind::Interface)),
    ("enum_declaration", Role::Type(TypeKind::Enum)),
    ("type_alias_declaration", Role::Own),
    ("enum_body", Role::Own),
    ("enum_assignment", Role::Member(MemberKind::EnumValue)),
    ("function_declaration", Role::Member(MemberKind::Function)),
    ("generator_function_declaration", Role::Member(MemberKind::Function)),
    ("function_signature", Role::Member(MemberKind::Function)),
    ("lexical_declaration", Role::Own),
    ("variable_declaration", Role::Own),
    ("decorator", Role::Own),
    ("method_definition", Role::Own),
    ("class_static_block", Role::Own),
    ("public_field_definition", Role::Member(MemberKind::Field)),
    ("method_signature", Role::Member(MemberKind::Method)),
    ("abstract_method_signature", Role::Member(MemberKind::Method)),
    ("property_signature", Role::Member(MemberKind::Property)),
    ("index_signature", Role::Member(MemberKind::Indexer)),
    ("call_signature", Role::Member(MemberKind::Method)),
    ("construct_signature", Role::Member(MemberKind::Constructor)),
    ("jsx_opening_element", Role::Own),
    ("jsx_self_closing_element", Role::Own),
    ("type_identifier", Role::Name(Position::Type)),
    ("nested_type_identifier", Role::Name(Position::Type)),
    ("member_expression", Role::Name(Position::Value)),
    ("nested_identifier", Role::Name(Position::Value)),
    ("identifier", Role::Word),
];

const PIECES: &[(&str, Piece)] = &[
    ("comment", Piece::Comment),
    ("string", Piece::Whole),
    ("string_fragment", Piece::Whole),
    ("regex", Piece::Whole),
    ("program", Piece::Lines),
    ("statement_block", Piece::Lines),
    ("class_body", Piece::Lines),
    ("interface_body", Piece::Lines),
    ("object_type", Piece::Lines),
    ("switch_case", Piece::Lines),
];

fn home(project: &str, path: &str) -> Home {
    let root = steps_of(project);
    let mut folder: Vec<String> = root.iter().cloned().chain(steps(path)).collect();
    let name = folder.pop().unwrap_or_default();
    let mut module = folder.clone();
    if name != "index" {
        module.push(name);
    }
    Home { module, folder, root }
}

/// Semicolons at line ends, member separators, and parentheses around a single untyped parameter.
fn is_taste(mark: Node, parent: Node) -> bool {
    match (mark.kind(), parent.kind()) {
        (";", kind) => kind != "for_statement",
        // leading operator of a union or intersection laid out over several lines
        ("|", "union_type") | ("&", "intersection_type") => parent.child(0) == Some(mark),
        (",", "interface_body" | "object_type") => true,
        ("(" | ")", "formal_parameters") => {
            let arrow = parent.parent().filter(|it| it.kind() == "arrow_function");
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

fn head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
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
    head.attributes = children(node, "decorator");
    let around = node.parent();
    if around.is_some_and(|it| matches!(it.kind(), "class_body" | "interface_body" | "object_type")) {
        member_words(walk, &mut head, node);
    } else {
        exported(&mut head, node);
    }
    head.bases = bases(node);
    head
}

/// Reads the wrappers of a top-level declaration: `export`, `declare`, decorators.
fn exported<'a>(head: &mut Head<'a>, node: Node<'a>) {
    let mut around = node.parent();
    let is_wrap = |it: &Node| matches!(it.kind(), "export_statement" | "ambient_declaration");
    let mut seen = false;
    while let Some(wrap) = around.filter(is_wrap) {
        head.whole = wrap;
        head.from = wrap.start_byte();
        head.attributes.splice(0..0, children(wrap, "decorator"));
        head.apart.extend(child(wrap, "export").map(span));
        seen |= wrap.kind() == "export_statement";
        around = wrap.parent();
    }
    head.visibility = Some(if seen { Visibility::Public } else { Visibility::Private });
}

fn member_words<'a>(walk: &Walk<'a>, head: &mut Head<'a>, node: Node<'a>) {
    let word = child(node, "accessibility_modifier");
    head.visibility = Some(match word.map(|word| walk.text(word)) {
        Some("private") => Visibility::Private,
        Some("protected") => Visibility::Protected,
        _ if head.name.starts_with('#') => Visibility::Private,
        _ => Visibility::Public,
    });
    head.apart.extend(word.map(span));
    head.apart.extend(child(node, "async").map(span));
    head.is_static = child(node, "static").is_some();
    let mut at = node.prev_sibling();
    while let Some(sibling) = at.filter(|it| matches!(it.kind(), "decorator" | "comment")) {
        if sibling.kind() == "decorator" {
            head.from = sibling.start_byte();
            head.attributes.insert(0, sibling);
        }
        at = sibling.prev_sibling();
    }
}

fn bases(node: Node<'_>) -> Vec<Node<'_>> {
    let heritage = child(node, "class_heritage");
    let lists = heritage.map_or_else(Vec::new, |it| {
        [children(it, "extends_clause"), children(it, "implements_clause")].concat()
    });
    let lists = lists.into_iter().chain(child(node, "extends_type_clause"));
    lists.flat_map(named).filter(|it| it.kind() != "type_arguments").collect()
}

fn import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let Some(clause) = child(node, "import_clause") else { return };
    let Some(source) = node.child_by_field_name("source") else { return };
    let (root, path) = module(walk.text(source).trim_matches(['"', '\'']));
    for each in named(clause) {
        match each.kind() {
            // assume that a default export is imported under its own name
            "identifier" => {
                let name = walk.text(each);
                walk.add_import(Some(name), (root, &[&path[..], &[name]].concat()));
            }
            "namespace_import" => {
                let name = each.named_child(0).map(|name| walk.text(name));
                walk.add_import(name, (root, &path));
            }
            _ => renamed(walk, children(each, "import_specifier"), (root, &path)),
        }
    }
}

/// The root and the words of a module path: `./a` is in the folder of this file, `pkg/a` in a package.
fn module(path: &str) -> (Option<&'static str>, Vec<&str>) {
    let words: Vec<&str> = path.split('/').collect();
    let ups =
        words.iter().take_while(|word| matches!(**word, "." | "..")).filter(|word| **word == "..").count();
    let root = if path.starts_with('.') { FOLDERS[ups.min(FOLDERS.len() - 1)] } else { "global" };
    let words = words.into_iter().filter(|word| !matches!(*word, "." | ".." | "index" | "index.js" | ""));
    (Some(root), words.map(|word| word.trim_end_matches(".js").trim_end_matches(".ts")).collect())
}

fn own<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if node.kind().starts_with("jsx_") {
        if let Some(name) = node.child_by_field_name("name") {
            walk.name(name, Position::Bare);
        }
        return walk.inside(cursor);
    }
    if !walk.declaring {
        return walk.inside(cursor);
    }
    match node.kind() {
        // already read as part of its declaration
        "decorator" => {}
        "export_statement" | "ambient_declaration" => wrapped(walk, cursor),
        "expression_statement" => match child(node, "internal_module") {
            Some(module) => namespace(walk, module),
            None => walk.inside(cursor),
        },
        "internal_module" | "module" => namespace(walk, node),
        "type_alias_declaration" => alias(walk, node),
        "enum_body" => enum_values(walk, node),
        "lexical_declaration" | "variable_declaration" => variables(walk, node),
        "method_definition" => method(walk, node),
        "class_static_block" => {
            let mut head = head(walk, node);
            "static {}".clone_into(&mut head.name);
            head.visibility = Some(Visibility::Private);
            walk.add_member(MemberKind::Constructor, node, &head);
        }
        _ => walk.inside(cursor),
    }
}

/// `export … from` re-exports names of another module.
fn passed_on<'a>(walk: &mut Walk<'a>, node: Node<'a>, source: Node<'a>) {
    let (root, path) = module(walk.text(source).trim_matches(['"', '\'']));
    if let Some(namespace) = child(node, "namespace_export") {
        let name = namespace.named_child(0).map(|name| walk.text(name));
        walk.add_import(name, (root, &path));
    } else if let Some(clause) = child(node, "export_clause") {
        renamed(walk, children(clause, "export_specifier"), (root, &path));
    } else {
        walk.add_import(None, (root, &path));
    }
}

/// Imports the names of `{ a, b as c }` from a module.
fn renamed<'a>(walk: &mut Walk<'a>, specifiers: Vec<Node<'a>>, (root, path): (Option<&'a str>, &[&'a str])) {
    for specifier in specifiers {
        let name = specifier.child_by_field_name("name").map_or("", |name| walk.text(name));
        let alias = specifier.child_by_field_name("alias").map_or(name, |alias| walk.text(alias));
        walk.add_import(Some(alias), (root, &[path, &[name]].concat()));
    }
}

fn wrapped<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    if let Some(source) = node.child_by_field_name("source") {
        return passed_on(walk, node, source);
    }
    let declaration = node.child_by_field_name("declaration").or_else(|| {
        let inner = named(node).into_iter().find(|it| walk.role(*it) != Role::Other);
        inner.filter(|_| node.kind() == "ambient_declaration")
    });
    if let Some(declaration) = declaration {
        return walk.visit(&mut declaration.walk(), node);
    }
    match node.child_by_field_name("value") {
        Some(value) if matches!(value.kind(), "function_expression" | "class" | "arrow_function") => {
            let head = head(walk, value);
            if value.kind() == "class" {
                walk.part(TypeKind::Class, value, &head, Walk::body);
            } else {
                walk.add_member(MemberKind::Function, value, &head);
            }
        }
        _ => walk.inside(cursor),
    }
}

fn namespace<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
    else {
        return;
    };
    let words = if name.kind() == "string" {
        vec![walk.text(name).trim_matches(['"', '\''])]
    } else {
        walk.chain(name).unwrap_or_default()
    };
    let seen = node.parent().is_some_and(|it| it.kind() == "export_statement");
    walk.nested_scope(&words, if seen { Visibility::Public } else { Visibility::Private }, node, body);
}

/// An alias of an object type has the members of that type.
fn alias<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    head.body = node.child_by_field_name("value").filter(|value| value.kind() == "object_type");
    walk.part(TypeKind::Alias, node, &head, Walk::body);
}

fn enum_values<'a>(walk: &mut Walk<'a>, body: Node<'a>) {
    let Some(owner) = walk.owner else { return };
    let mut before = 0;
    for node in named(body) {
        if node.kind() == "enum_assignment" {
            before = 0;
            let head = Head { is_inlined: true, ..Head::new(walk, node) };
            walk.add_member(MemberKind::EnumValue, node, &head);
            continue;
        }
        let mut member = value_member(walk.text(node).to_owned(), MemberKind::EnumValue, node);
        // an implicit value derives from the last explicit one
        member.shape.push(&format!("+{before}"));
        member.shown.clone_from(&member.name);
        member.doc = walk.doc(&Head::new(walk, node));
        walk.push_member(owner, member);
        before += 1;
    }
}

/// `const a = 1, b = 2` declares two members; a variable whose value is a function counts as a function.
fn variables<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let declarators = children(node, "variable_declarator");
    for declarator in &declarators {
        let value = declarator.child_by_field_name("value");
        let function = value.filter(|it| matches!(it.kind(), "arrow_function" | "function_expression"));
        let constant = child(node, "const").is_some();
        let mut head = head(walk, node);
        // a pattern such as `{ a, b }` serves as the name, independent of its layout
        let name = declarator.child_by_field_name("name");
        head.name = name.map_or_else(String::new, |name| walk.glued(span(name), &[]).replace(' ', ""));
        head.body = value;
        if let Some(function) = function {
            head.parameters = function.child_by_field_name("parameters").into_iter().collect();
            head.type_parameters = function.child_by_field_name("type_parameters");
            head.body = function.child_by_field_name("body");
        }
        if declarators.len() > 1 {
            head.whole = *declarator;
            head.from = declarator.start_byte();
        }
        let kind = match function {
            Some(_) => MemberKind::Function,
            None if constant => MemberKind::Constant,
            None => MemberKind::Field,
        };
        walk.add_member(kind, *declarator, &head);
    }
    walk.take(node.start_byte(), node.end_byte());
}

fn method<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let head = head(walk, node);
    let kind = match head.name.as_str() {
        "constructor" => MemberKind::Constructor,
        _ if child(node, "get").is_some() || child(node, "set").is_some() => MemberKind::Property,
        _ => MemberKind::Method,
    };
    walk.add_member(kind, node, &head);
}

/// Applies `export { a, b }` to declarations elsewhere in the file. In a file without imports and exports everything is public.
fn finish(walk: &mut Walk) {
    let root = walk.root;
    let statements = named(root);
    let is_module = statements.iter().any(|it| matches!(it.kind(), "export_statement" | "import_statement"));
    let own = statements
        .iter()
        .filter(|it| it.kind() == "export_statement" && it.child_by_field_name("source").is_none());
    let clauses =
        own.flat_map(|it| children(*it, "export_clause")).flat_map(|it| children(it, "export_specifier"));
    let mut names: Vec<&str> =
        clauses.filter_map(|it| it.child_by_field_name("name")).map(|name| walk.text(name)).collect();
    let values =
        statements.iter().filter_map(|it| it.child_by_field_name("value")).filter(|it| is_identifier(*it));
    names.extend(values.map(|name| walk.text(name)));
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
const ASKS: Asks = Asks {
    rows: &[
        ("identifier", Asked::Name),
        ("this", Asked::Name),
        ("member_expression", Asked::Member("object", "property")),
        ("call_expression", Asked::Call("function", "arguments")),
        ("new_expression", Asked::Typed("constructor")),
        ("parenthesized_expression", Asked::Same),
        ("non_null_expression", Asked::Same),
        ("required_parameter", Asked::Variable("pattern", "type", "value")),
        ("optional_parameter", Asked::Variable("pattern", "type", "value")),
        ("variable_declarator", Asked::Variable("name", "type", "value")),
        ("for_in_statement", Asked::Variable("left", "", "")),
        ("statement_block", Asked::Scope),
        ("object", Asked::Rebinds),
        ("class_body", Asked::Rebinds),
        ("function_expression", Asked::Rebinds),
        ("function_declaration", Asked::Scope),
        ("method_definition", Asked::Scope),
        ("arrow_function", Asked::Scope),
    ],
    own: &["this"],
    sight: false,
};
