//! Python: classes and modules.
//!
//! Does not know attributes that are set from outside a class, or how decorators transform a function.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{ModulePath, path_segments};
use crate::walk::{
    self, AccessRule, DEFAULT_DIALECT, DEFAULT_MEMBER_ACCESS, Dialect, DocStyle, Head, LazyDialect,
    MemberAccessRules, Role, TokenRule, Walk, child_of_kind, children_of_kind, named_children_of, node_span,
    plain_member,
};
use facts::{MemberKind, Position, TypeKind, Visibility};
use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "Python",
    level: Level::Resolved,
    extensions: &["py", "pyi"],
    grammar: || grammars::python().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(module_path_of),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("if_statement", Role::Transparent),
        ("elif_clause", Role::Transparent),
        ("else_clause", Role::Transparent),
        ("try_statement", Role::Transparent),
        ("except_clause", Role::Transparent),
        ("finally_clause", Role::Transparent),
        ("with_statement", Role::Transparent),
        ("block", Role::Transparent),
        ("import_statement", Role::Import),
        ("import_from_statement", Role::Import),
        ("future_import_statement", Role::Import),
        ("decorated_definition", Role::Custom),
        ("class_definition", Role::Type(TypeKind::Class)),
        ("function_definition", Role::Custom),
        ("expression_statement", Role::Custom),
        ("type_alias_statement", Role::Custom),
        ("type", Role::Custom),
        ("attribute", Role::Name(Position::Value)),
        ("identifier", Role::Word),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("string", TokenRule::Whole),
        ("module", TokenRule::LineTerminated),
        ("block", TokenRule::LineTerminated),
    ],
    doc_style: DocStyle::Inside,
    redundant_parens: &[
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
    interchangeable_quotes: true,
    is_doc: is_docstring,
    is_stylistic: |mark, _| mark.kind() == ";",
    head: read_head,
    import: read_import,
    custom: read_custom,
    finish: add_attributes,
    member_access: MEMBER_ACCESS,
    ..DEFAULT_DIALECT
});

/// Folders that contain packages but are not packages themselves.
const SOURCE_FOLDERS: &[&str] = &["src/", "lib/", "python/"];

fn module_path_of(_: &str, path: &str) -> ModulePath {
    let inner = SOURCE_FOLDERS.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path);
    let mut module = path_segments(inner);
    let name = module.pop().unwrap_or_default();
    let folder = module.clone();
    if name != "__init__" {
        module.push(name);
    }
    ModulePath { module, folder, root: Vec::new(), ..ModulePath::default() }
}

/// Whether a node is a docstring: a string that comes first in a module, class or function.
fn is_docstring(node: Node, around: &[Node]) -> bool {
    if node.kind() != "expression_statement" || node.child_count() != 1 {
        return false;
    }
    let is_text = node.child(0).is_some_and(|only| matches!(only.kind(), "string" | "concatenated_string"));
    let Some((parent, above)) = around.split_last().filter(|_| is_text) else { return false };
    match parent.kind() {
        "module" => true,
        "block" => {
            above.last().is_some_and(|it| matches!(it.kind(), "class_definition" | "function_definition"))
        }
        _ => false,
    }
}

fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = Head::new(walk, node);
    head.visibility = Some(visibility_of(&head.name));
    if let Some(around) = walk.parent_of(node).filter(|it| it.kind() == "decorated_definition") {
        head.declaration = around;
        head.start = around.start_byte();
        head.attributes = children_of_kind(around, "decorator");
    }
    if let Some(list) = node.child_by_field_name("superclasses") {
        head.bases = named_children_of(list);
        head.bases.retain(|it| it.kind() != "keyword_argument");
    }
    head
}

/// A leading underscore means private by convention; names such as `__init__` are reserved by the language and public.
fn visibility_of(name: &str) -> Visibility {
    let special = name.starts_with("__") && name.ends_with("__");
    if name.starts_with('_') && !special { Visibility::Private } else { Visibility::Public }
}

fn read_import<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let from = node.child_by_field_name("module_name");
    let (root, before) = from.map_or((None, Vec::new()), |from| imported_module(walk, from));
    if child_of_kind(node, "wildcard_import").is_some() {
        return walk.add_import(None, (root, &before));
    }
    let names: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    for name in names {
        let path = name.child_by_field_name("name").unwrap_or(name);
        let alias = name.child_by_field_name("alias").map(|alias| walk.node_text(alias));
        let words = walk.name_words(path).unwrap_or_default();
        if from.is_none() && alias.is_none() {
            // `import a.b` binds `a`
            words.first().into_iter().for_each(|first| walk.add_imported_name(first));
        } else {
            let path: Vec<&str> = before.iter().chain(&words).copied().collect();
            walk.add_import(alias.or(words.last().copied()), (root, &path));
        }
    }
}

/// The root and the words of the module in `from … import`; a leading dot is the folder of this file.
fn imported_module<'a>(walk: &Walk<'a>, node: Node<'a>) -> (Option<&'a str>, Vec<&'a str>) {
    if node.kind() != "relative_import" {
        return (Some("global"), walk.name_words(node).unwrap_or_default());
    }
    let dots = walk.node_text(node).bytes().take_while(|byte| *byte == b'.').count();
    let words = child_of_kind(node, "dotted_name").and_then(|name| walk.name_words(name)).unwrap_or_default();
    (Some(walk::FOLDER_ROOTS[(dots - 1).min(walk::FOLDER_ROOTS.len() - 1)]), words)
}

fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        "type" => read_annotation(walk, node),
        "decorated_definition" if walk.declaring => {
            if let Some(definition) = node.child_by_field_name("definition") {
                walk.visit(&mut definition.walk(), node);
            }
        }
        "function_definition" if walk.declaring => read_function(walk, node),
        "expression_statement" if walk.declaring => match child_of_kind(node, "assignment") {
            Some(assignment) if is_field(assignment) => read_field(walk, node, assignment),
            _ => walk.visit_non_declaring(cursor),
        },
        "type_alias_statement" if walk.declaring => {
            let mut head = read_head(walk, node);
            let words = node.child_by_field_name("left").map(|left| walk.node_text(left));
            let name = words.unwrap_or_default().split('[').next().unwrap_or_default();
            name.clone_into(&mut head.name);
            head.visibility = Some(visibility_of(name));
            let generic = node.child_by_field_name("left").and_then(|left| left.named_child(0));
            head.type_parameters = generic.and_then(|it| child_of_kind(it, "type_parameter"));
            walk.read_type_part(TypeKind::Alias, node, &head, |_, _| {});
        }
        _ => walk.visit_non_declaring(cursor),
    }
}

fn read_function<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    let decorators: Vec<&str> =
        head.attributes.iter().map(|it| walk.node_text(*it).trim_start_matches('@')).collect();
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
    let first = head.parameters.first().and_then(|list| list.named_child(0));
    if let (Some(owner), Some(receiver), Some(body), false) = (walk.owner, first, head.body, head.is_static) {
        read_attributes(walk, owner, (node, walk.node_text(receiver)), body, 0);
    }
}

/// Nesting of statements in which assignments to `self` are looked for.
const MAX_STATEMENT_DEPTH: u32 = 100;

/// Records the attributes that a method assigns to its first parameter: `self.a = b`, `self.a: T = b`.
fn read_attributes<'a>(
    walk: &mut Walk<'a>,
    owner: u32,
    (method, receiver): (Node<'a>, &str),
    node: Node<'a>,
    depth: u32,
) {
    for inner in named_children_of(node) {
        match inner.kind() {
            "assignment" => read_attribute(walk, owner, (method, receiver), inner),
            "function_definition" | "class_definition" | "lambda" => {}
            kind if depth < MAX_STATEMENT_DEPTH
                && (kind.ends_with("_statement") || kind.ends_with("_clause") || kind == "block") =>
            {
                read_attributes(walk, owner, (method, receiver), inner, depth + 1);
            }
            _ => {}
        }
    }
}

fn read_attribute<'a>(
    walk: &mut Walk<'a>,
    owner: u32,
    (method, receiver): (Node<'a>, &str),
    assignment: Node<'a>,
) {
    let target = assignment.child_by_field_name("left").filter(|left| left.kind() == "attribute");
    let on = target.and_then(|target| target.child_by_field_name("object"));
    let name = target.and_then(|target| target.child_by_field_name("attribute"));
    let (Some(on), Some(name)) = (on, name) else { return };
    if on.kind() != "identifier" || walk.node_text(on) != receiver {
        return;
    }
    let name = walk.node_text(name).to_owned();
    let mut member = plain_member(name, MemberKind::Field, assignment);
    member.visibility = visibility_of(&member.name);
    let declared = assignment.child_by_field_name("type");
    member.signature_text = match declared {
        Some(declared) => format!("{}: {}", member.name, walk.join_tokens(node_span(declared), &[])),
        None => member.name.clone(),
    };
    member.shape.push_token(&member.signature_text);
    let value = assignment.child_by_field_name("right");
    member.result_type = declared
        .or_else(|| value.and_then(|value| assigned_type(walk, method, value)))
        .and_then(|written| walk.written_type_index(written));
    walk.late_members.push((owner, member));
}

/// The type of an assigned value, if it is written: the class that is called, or the annotation of a parameter.
fn assigned_type<'a>(walk: &Walk<'a>, method: Node<'a>, value: Node<'a>) -> Option<Node<'a>> {
    if value.kind() == "call" {
        let class = value.child_by_field_name("function")?;
        let last = walk.node_text(class).rsplit('.').next().unwrap_or_default();
        return Some(class).filter(|_| walk::starts_uppercase(last));
    }
    let name = Some(value).filter(|value| value.kind() == "identifier").map(|value| walk.node_text(value))?;
    let parameters = named_children_of(method.child_by_field_name("parameters")?);
    walk.budget.spend(parameters.len());
    let named = |it: &Node<'a>| {
        let first = it.child_by_field_name("name").or_else(|| it.named_child(0));
        first.is_some_and(|first| walk.node_text(first) == name)
    };
    parameters.into_iter().find(named)?.child_by_field_name("type")
}

/// Adds attributes to their classes, each once, unless the class declares them itself.
fn add_attributes(walk: &mut Walk) {
    let mut names: FxHashMap<u32, FxHashSet<String>> = FxHashMap::default();
    for (owner, member) in std::mem::take(&mut walk.late_members) {
        let members = &walk.facts.types[owner as usize].members;
        let known =
            names.entry(owner).or_insert_with(|| members.iter().map(|known| known.name.clone()).collect());
        if known.insert(member.name.clone()) {
            walk.push_member(owner, member);
        }
    }
}

/// Whether an assignment declares a field: `a = 1` or `a: int` with a plain name as its target.
fn is_field(assignment: Node) -> bool {
    assignment.child_by_field_name("left").is_some_and(|left| left.kind() == "identifier")
}

fn read_field<'a>(walk: &mut Walk<'a>, node: Node<'a>, assignment: Node<'a>) {
    let mut head = Head::new(walk, assignment);
    head.declaration = node;
    head.name = assignment.child_by_field_name("left").map_or("", |left| walk.node_text(left)).to_owned();
    head.visibility = Some(visibility_of(&head.name));
    head.body = assignment.child_by_field_name("right");
    head.is_static = true;
    let constant = !head.name.bytes().any(|byte| byte.is_ascii_lowercase());
    let kind = if constant { MemberKind::Constant } else { MemberKind::Field };
    walk.add_member(kind, assignment, &head);
}

/// Records the names in an annotation as types; a quoted name is a forward reference.
fn read_annotation<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    match node.kind() {
        "identifier" | "attribute" if walk.record_name(node, Position::Type) => {}
        "string" => {
            let Some(content) = child_of_kind(node, "string_content") else { return };
            let words: Vec<&str> = walk.node_text(content).split('.').collect();
            let plain =
                |word: &&str| !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || it == '_');
            if words.iter().all(plain) {
                walk.push_reference(content, &words, Position::Type);
            }
        }
        _ => {
            for inner in named_children_of(node) {
                walk.descend(inner, |walk| read_annotation(walk, inner));
            }
        }
    }
}

/// How Python accesses members.
const MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[
        ("identifier", AccessRule::Name),
        ("attribute", AccessRule::Member("object", "attribute")),
        ("call", AccessRule::Call("function", "arguments")),
        ("parenthesized_expression", AccessRule::Transparent),
        ("typed_parameter", AccessRule::Variable("name", "type", "")),
        ("typed_default_parameter", AccessRule::Variable("name", "type", "value")),
        ("default_parameter", AccessRule::Variable("name", "", "value")),
        ("assignment", AccessRule::Variable("left", "type", "right")),
        ("for_statement", AccessRule::Variable("left", "", "")),
        ("import_statement", AccessRule::Import),
        ("import_from_statement", AccessRule::Import),
        ("function_definition", AccessRule::Scope),
        ("class_definition", AccessRule::RebindsSelf),
        ("lambda", AccessRule::Scope),
        ("list_comprehension", AccessRule::Scope),
        ("set_comprehension", AccessRule::Scope),
        ("dictionary_comprehension", AccessRule::Scope),
        ("generator_expression", AccessRule::Scope),
    ],
    self_words: &["self", "cls"],
    hoisted: &[
        ("assignment", "left"),
        ("augmented_assignment", "left"),
        ("named_expression", "name"),
        ("for_statement", "left"),
        ("for_in_clause", "left"),
        ("as_pattern_target", ""),
        ("function_definition", "name"),
        ("class_definition", "name"),
    ],
    hoists_from_blocks: true,
    ..DEFAULT_MEMBER_ACCESS
};
