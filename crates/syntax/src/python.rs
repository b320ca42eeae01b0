//! Python: classes and modules.
//!
//! Does not know attributes assigned to `self` in a body, or how decorators transform a function.

use crate::facts::{MemberKind, Position, TypeKind, Visibility};
use crate::language::{Language, Manner};
use crate::module_path::{Home, steps};
use crate::walk::{
    self, Asked, Asks, Dialect, Docs, Head, PLAIN, Piece, Reading, Role, Walk, child, children, named,
};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Python",
    endings: &["py", "pyi"],
    grammar: || tree_sitter_python::LANGUAGE.into(),
    manner: Manner::Table(&READING),
    home: Some(home),
};

static READING: Reading = Reading::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("if_statement", Role::Through),
        ("elif_clause", Role::Through),
        ("else_clause", Role::Through),
        ("try_statement", Role::Through),
        ("except_clause", Role::Through),
        ("finally_clause", Role::Through),
        ("with_statement", Role::Through),
        ("block", Role::Through),
        ("import_statement", Role::Import),
        ("import_from_statement", Role::Import),
        ("future_import_statement", Role::Import),
        ("decorated_definition", Role::Own),
        ("class_definition", Role::Type(TypeKind::Class)),
        ("function_definition", Role::Own),
        ("expression_statement", Role::Own),
        ("type_alias_statement", Role::Own),
        ("type", Role::Own),
        ("attribute", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    pieces: &[
        ("comment", Piece::Comment),
        ("string", Piece::Whole),
        ("module", Piece::Lines),
        ("block", Piece::Lines),
    ],
    docs: Docs::Inside,
    groups: &[
        "argument_list",
        "assert_statement",
        "assignment",
        "augmented_assignment",
        "default_parameter",
        "elif_clause",
        "expression_statement",
        "for_in_clause",
        "for_statement",
        "if_clause",
        "if_statement",
        "keyword_argument",
        "lambda",
        "list",
        "pair",
        "return_statement",
        "type",
        "typed_default_parameter",
        "while_statement",
        "with_item",
    ],
    tuples: &["tuple", "tuple_pattern", "expression_list", "pattern_list"],
    quotes_alike: true,
    is_doc: is_doc,
    is_taste: |mark, _| mark.kind() == ";",
    head: head,
    import: import,
    own: own,
    finish: |_| {},
    asks: ASKS,
    ..PLAIN
});

/// Folders that contain packages but are not packages themselves.
const HOLDERS: &[&str] = &["src/", "lib/", "python/"];

fn home(_: &str, path: &str) -> Home {
    let inner = HOLDERS.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path);
    let mut module = steps(inner);
    let name = module.pop().unwrap_or_default();
    let folder = module.clone();
    if name != "__init__" {
        module.push(name);
    }
    Home { module, folder, root: Vec::new() }
}

/// Whether a node is a docstring: a string that comes first in a module, class or function.
fn is_doc(node: Node) -> bool {
    if node.kind() != "expression_statement" || node.child_count() != 1 {
        return false;
    }
    let is_text = node.child(0).is_some_and(|only| matches!(only.kind(), "string" | "concatenated_string"));
    let Some(parent) = node.parent().filter(|_| is_text) else { return false };
    let first = parent.named_children(&mut parent.walk()).find(|it| it.kind() != "comment") == Some(node);
    let documented = match parent.kind() {
        "module" => true,
        "block" => {
            parent.parent().is_some_and(|it| matches!(it.kind(), "class_definition" | "function_definition"))
        }
        _ => false,
    };
    first && documented
}

fn head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(visibility(&head.name));
    if let Some(around) = node.parent().filter(|it| it.kind() == "decorated_definition") {
        head.whole = around;
        head.from = around.start_byte();
        head.attributes = children(around, "decorator");
    }
    if let Some(list) = node.child_by_field_name("superclasses") {
        head.bases = named(list);
        head.bases.retain(|it| it.kind() != "keyword_argument");
    }
    head
}

/// A leading underscore means private by convention; names such as `__init__` are reserved by the language and public.
fn visibility(name: &str) -> Visibility {
    let special = name.starts_with("__") && name.ends_with("__");
    if name.starts_with('_') && !special { Visibility::Private } else { Visibility::Public }
}

fn import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let from = node.child_by_field_name("module_name");
    let (root, before) = from.map_or((None, Vec::new()), |from| module(walk, from));
    if child(node, "wildcard_import").is_some() {
        return walk.add_import(None, (root, &before));
    }
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    for name in names {
        let path = name.child_by_field_name("name").unwrap_or(name);
        let alias = name.child_by_field_name("alias").map(|alias| walk.text(alias));
        let words = walk.chain(path).unwrap_or_default();
        if from.is_none() && alias.is_none() {
            // `import a.b` binds `a`
            words.first().into_iter().for_each(|first| walk.bring(first));
        } else {
            let path: Vec<&str> = before.iter().chain(&words).copied().collect();
            walk.add_import(alias.or(words.last().copied()), (root, &path));
        }
    }
}

/// The root and the words of the module in `from … import`; a leading dot is the folder of this file.
fn module<'a>(walk: &Walk<'a>, node: Node<'a>) -> (Option<&'a str>, Vec<&'a str>) {
    if node.kind() != "relative_import" {
        return (Some("global"), walk.chain(node).unwrap_or_default());
    }
    let dots = walk.text(node).bytes().take_while(|byte| *byte == b'.').count();
    let words = child(node, "dotted_name").and_then(|name| walk.chain(name)).unwrap_or_default();
    (Some(walk::FOLDERS[(dots - 1).min(walk::FOLDERS.len() - 1)]), words)
}

fn own<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "type" => annotation(walk, node),
        "decorated_definition" if walk.declaring => {
            if let Some(definition) = node.child_by_field_name("definition") {
                walk.visit(&mut definition.walk(), node);
            }
        }
        "function_definition" if walk.declaring => function(walk, node),
        "expression_statement" if walk.declaring => match child(node, "assignment") {
            Some(assignment) if is_field(assignment) => field(walk, node, assignment),
            _ => walk.inside(cursor),
        },
        "type_alias_statement" if walk.declaring => {
            let mut head = head(walk, node);
            let words = node.child_by_field_name("left").map(|left| walk.text(left));
            let name = words.unwrap_or_default().split('[').next().unwrap_or_default();
            name.clone_into(&mut head.name);
            head.visibility = Some(visibility(name));
            let generic = node.child_by_field_name("left").and_then(|left| left.named_child(0));
            head.type_parameters = generic.and_then(|it| child(it, "type_parameter"));
            walk.part(TypeKind::Alias, node, &head, |_, _| {});
        }
        _ => walk.inside(cursor),
    }
}

fn function<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = head(walk, node);
    let decorators: Vec<&str> =
        head.attributes.iter().map(|it| walk.text(*it).trim_start_matches('@')).collect();
    let has = |word: &str| decorators.contains(&word);
    head.is_static = has("staticmethod") || has("classmethod");
    let accessor = decorators.iter().any(|it| it.ends_with(".setter") || it.ends_with(".deleter"));
    let kind = match walk.owner {
        Some(_) if accessor || has("property") || has("cached_property") => MemberKind::Property,
        Some(_) if head.name == "__init__" => MemberKind::Constructor,
        Some(_) => MemberKind::Method,
        None => MemberKind::Function,
    };
    walk.add_member(kind, node, &head);
}

/// Whether an assignment declares a field: `a = 1` or `a: int` with a plain name as its target.
fn is_field(assignment: Node) -> bool {
    assignment.child_by_field_name("left").is_some_and(|left| left.kind() == "identifier")
}

fn field<'a>(walk: &mut Walk<'a>, node: Node<'a>, assignment: Node<'a>) {
    let mut head = Head::new(walk, assignment);
    head.whole = node;
    head.name = assignment.child_by_field_name("left").map_or("", |left| walk.text(left)).to_owned();
    head.visibility = Some(visibility(&head.name));
    head.body = assignment.child_by_field_name("right");
    head.is_static = true;
    let constant = !head.name.bytes().any(|byte| byte.is_ascii_lowercase());
    let kind = if constant { MemberKind::Constant } else { MemberKind::Field };
    walk.add_member(kind, assignment, &head);
}

/// Records the names in an annotation as types; a quoted name is a forward reference.
fn annotation<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    match node.kind() {
        "identifier" | "attribute" if walk.name(node, Position::Type) => {}
        "string" => {
            let Some(content) = child(node, "string_content") else { return };
            let words: Vec<&str> = walk.text(content).split('.').collect();
            let plain =
                |word: &&str| !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || it == '_');
            if words.iter().all(plain) {
                walk.refer(content, &words, Position::Type);
            }
        }
        _ => {
            for inner in named(node) {
                annotation(walk, inner);
            }
        }
    }
}

/// How Python accesses members.
const ASKS: Asks = Asks {
    rows: &[
        ("identifier", Asked::Name),
        ("attribute", Asked::Member("object", "attribute")),
        ("call", Asked::Call("function", "arguments")),
        ("parenthesized_expression", Asked::Same),
        ("typed_parameter", Asked::Variable("name", "type", "")),
        ("typed_default_parameter", Asked::Variable("name", "type", "value")),
        ("for_statement", Asked::Variable("left", "", "")),
        ("function_definition", Asked::Scope),
        ("class_definition", Asked::Rebinds),
        ("lambda", Asked::Scope),
    ],
    own: &["self", "cls"],
    sight: false,
};
