//! C: structs, unions, enumerations, typedefs, functions, variables and macros, at the level of declarations. C++ shares the
//! declarators.
//!
//! Does not run the preprocessor: both sides of an `#if` are declared, and a declaration that a macro expands to is not seen.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::token::Source;
use crate::walk::{
    BlankRange, BlankRule, DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, Head, HeadRules, LazyDialect, Role,
    TokenRule, Walk, child_of_kind, children_of_kind, empty_part, is_word_char, node_span, other_spans,
};
use facts::Span;
use facts::{MemberKind, Position, TypeKind, Visibility};
use rustc_hash::FxHashSet;
use tree_sitter::{Node, TreeCursor};

pub(crate) const LANGUAGE: Language = Language {
    name: "C",
    level: Level::Declarations,
    extensions: &["c"],
    grammar: || grammars::c().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::OutsideNamespaces)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: ROLES,
    token_rules: TOKEN_RULES,
    has_overloads: true,
    is_stylistic,
    blank_rules: |_| BLANK_RULES,
    head: read_head,
    custom: read_custom,
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

/// Kinds that only C++ has do not occur in C.
pub(crate) const ROLES: &[(&str, Role)] = &[
    ("comment", Role::Skip),
    ("preproc_include", Role::Import),
    ("preproc_call", Role::Import),
    ("preproc_if", Role::Transparent),
    ("preproc_ifdef", Role::Transparent),
    ("preproc_elif", Role::Transparent),
    ("preproc_elifdef", Role::Transparent),
    ("preproc_else", Role::Transparent),
    ("linkage_specification", Role::Transparent),
    ("declaration_list", Role::Transparent),
    ("field_declaration_list", Role::Transparent),
    ("enumerator_list", Role::Transparent),
    ("preproc_def", Role::Custom),
    ("preproc_function_def", Role::Custom),
    ("struct_specifier", Role::Custom),
    ("union_specifier", Role::Custom),
    ("enum_specifier", Role::Custom),
    ("enumerator", Role::Member(MemberKind::EnumValue)),
    ("declaration", Role::Custom),
    ("field_declaration", Role::Custom),
    ("type_definition", Role::Custom),
    ("function_definition", Role::Custom),
    ("using_declaration", Role::Import),
    ("namespace_definition", Role::Custom),
    ("template_declaration", Role::Transparent),
    ("class_specifier", Role::Custom),
    ("access_specifier", Role::Custom),
    ("alias_declaration", Role::Type(TypeKind::Alias)),
    ("concept_definition", Role::Type(TypeKind::Trait)),
];

pub(crate) const TOKEN_RULES: &[(&str, TokenRule)] = &[
    ("comment", TokenRule::Comment),
    ("string_literal", TokenRule::Whole),
    ("raw_string_literal", TokenRule::Whole),
    ("char_literal", TokenRule::Whole),
    ("system_lib_string", TokenRule::Whole),
];

pub(crate) const HEAD_RULES: HeadRules = HeadRules {
    names: &["identifier", "field_identifier", "type_identifier"],
    raw_text: &["preproc_arg"],
    attributes: &["attribute_specifier", "attribute_declaration"],
    modifiers: &["storage_class_specifier"],
    ..DEFAULT_HEAD_RULES
};

/// Macros that by convention stand for attributes, or for nothing that a grammar could use. Most libraries have one of each
/// before or after their declarations, and the grammar takes the first for a type and the second for a variable.
pub(crate) const BLANK_RULES: &[BlankRule] = &[
    BlankRule { mark: "_API", range: attribute_macro },
    BlankRule { mark: "_ATTR", range: attribute_macro },
    BlankRule { mark: "_CONSTEXPR", range: attribute_macro },
    BlankRule { mark: "_DEPRECATED", range: attribute_macro },
    BlankRule { mark: "_EXCLUDED_", range: attribute_macro },
    BlankRule { mark: "_EXPORT", range: attribute_macro },
    BlankRule { mark: "_INLINE", range: attribute_macro },
    BlankRule { mark: "_NAMESPACE", range: attribute_macro },
    BlankRule { mark: "_NODISCARD", range: attribute_macro },
    BlankRule { mark: "_NOEXCEPT", range: attribute_macro },
    BlankRule { mark: "_NORETURN", range: attribute_macro },
    BlankRule { mark: "_NOTHROW", range: attribute_macro },
    BlankRule { mark: "_REQUIRED_", range: attribute_macro },
    BlankRule { mark: "_VISIBILITY", range: attribute_macro },
    BlankRule { mark: "class ", range: macro_before_name },
    BlankRule { mark: "struct ", range: macro_before_name },
];

fn is_macro_char(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

/// A word in capitals that ends in a mark, with the arguments after it, outside of directives and expressions.
fn attribute_macro(before: &str, after: &str) -> Option<BlankRange> {
    let start = before.trim_end_matches(is_word_char).len();
    let rest = after.find(|c| !is_word_char(c)).unwrap_or(after.len());
    let is_macro = before[start..].chars().chain(after[..rest].chars()).all(is_macro_char);
    let suffix = after[..rest].trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let is_code = !line.starts_with('#') && !line.starts_with("//");
    let end = rest + arguments_len(&after[rest..]);
    let is_attribute = is_macro && suffix.matches('_').count() == 1 && is_code;
    (is_attribute && is_between_declarations(&before[..start], &after[end..]))
        .then(|| start as isize - before.len() as isize..end as isize)
}

/// Whether text is where a declaration may have an attribute: before a word or a star, or after a list of parameters.
fn is_between_declarations(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end(), after.trim_start());
    let starts = |c: char| is_word_char(c) && !c.is_ascii_digit() || matches!(c, '*' | '~');
    let is_directive = before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('#'));
    let follows =
        before.is_empty() || is_directive || before.ends_with(|c| is_word_char(c) || ";{})>*&:/".contains(c));
    let leads = after.is_empty()
        || after.starts_with(starts)
        || ["::", "[[", "#", "//", "/*", "}"].iter().any(|mark| after.starts_with(mark));
    let trails = (before.ends_with(')') || before.ends_with("const")) && after.starts_with([';', '{', '=']);
    follows && (leads || trails)
}

/// The length of a list in parentheses.
fn arguments_len(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let mut open = 0;
    let closes = |(_, c): &(usize, char)| {
        open += i32::from(*c == '(') - i32::from(*c == ')');
        open == 0
    };
    text.char_indices().take(MAX_ARGUMENTS).find(closes).map_or(0, |(at, _)| at + 1)
}

/// Longest list of arguments of an attribute macro.
const MAX_ARGUMENTS: usize = 200;

/// `class EXPORTED Name {`: the grammar takes this for a function.
fn macro_before_name(before: &str, after: &str) -> Option<BlankRange> {
    let word = after.find(' ')?;
    let keyword = word + after[word..].find(|c: char| !c.is_whitespace())?;
    let word = after[keyword..].find(|c| !is_macro_char(c)).filter(|length| *length > 2)?;
    let end = keyword + word + arguments_len(&after[keyword + word..]);
    let name = after[end..].trim_start();
    let is_name =
        name.starts_with(|c: char| is_word_char(c) && !c.is_ascii_digit()) && !name.starts_with("final");
    let body = name.trim_start_matches(is_word_char).trim_start();
    let is_definition = is_name && (body.starts_with(['{', ':']) || body.starts_with("final"));
    (is_definition && !before.ends_with(is_word_char)).then_some(keyword as isize..end as isize)
}

/// A semicolon after the brace of a type.
pub(crate) fn is_stylistic(mark: Node, around: &[Node]) -> bool {
    mark.kind() == ";"
        && around.last().is_some_and(|parent| {
            matches!(parent.kind(), "translation_unit" | "declaration_list" | "field_declaration_list")
        })
}

/// `static` makes a function or variable local to its file; in a type, it makes a member of the type.
pub(crate) fn read_head<'a>(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
    let mut head = walk.read_table_head(node);
    if node.kind() == "enumerator" {
        head.is_static = true;
        head.is_inlined = true;
        head.body = node.child_by_field_name("value");
    }
    if head.is_static && walk.owner.is_none() && node.kind() != "enumerator" {
        head.visibility = Some(Visibility::File);
    }
    head
}

pub(crate) fn read_custom<'a>(walk: &mut Walk<'a>, cursor: &mut TreeCursor<'a>) {
    let node = cursor.node();
    match node.kind() {
        // a macro is known to the rest of the file, also if a function defines it
        "preproc_def" | "preproc_function_def" => read_macro(walk, node),
        _ if !walk.declaring => walk.visit_non_declaring(cursor),
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
            read_specifier(walk, node, None);
        }
        _ => read_declaration(walk, node),
    }
}

/// The value of a macro without parameters is compiled into its users, like that of a constant.
fn read_macro<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let mut head = read_head(walk, node);
    head.body = node.child_by_field_name("value");
    head.is_inlined = node.kind() == "preproc_def";
    head.parameters.clear();
    // macros ignore types and namespaces
    let owner = walk.owner.take();
    walk.add_member(MemberKind::Macro, node, &head);
    walk.owner = owner;
}

/// Reads a type with its body. An anonymous one has the name of its typedef: `typedef struct { … } name`.
fn read_specifier<'a>(walk: &mut Walk<'a>, node: Node<'a>, typedef: Option<(Node<'a>, Node<'a>)>) {
    let Some(body) = node.child_by_field_name("body") else { return };
    let mut head = (walk.dialect.head)(walk, node);
    let is_anonymous = head.name_node.is_none();
    match head.name_node.or(typedef.map(|(name, _)| name)) {
        Some(name) => {
            // `struct a::b { … }` and `struct b<int> { … }`
            let (_, last) = split_qualified(walk, name);
            head.set_name(walk, Some(last));
        }
        None => return walk.visit_children(&mut body.walk()),
    }
    if let Some((_, declaration)) = typedef {
        (head.declaration, head.start) = (declaration, declaration.start_byte());
    }
    let section = walk.section;
    let is_class = node.kind() == "class_specifier";
    let at = walk.facts.types.len();
    walk.read_type_part(kind_of_specifier(node), node, &head, |walk, body| {
        walk.section = is_class.then_some(Visibility::Private);
        walk.visit_children(&mut body.walk());
    });
    walk.section = section;
    if is_anonymous {
        walk.facts.types[at].header_text.clear();
    }
}

fn kind_of_specifier(node: Node) -> TypeKind {
    match node.kind() {
        "struct_specifier" => TypeKind::Struct,
        "union_specifier" => TypeKind::Union,
        "enum_specifier" => TypeKind::Enum,
        _ => TypeKind::Class,
    }
}

/// The declared name in a declarator, and the function declarator directly around it: `(*name)(int)` is a variable.
struct Declarator<'a> {
    name: Node<'a>,
    function: Option<Node<'a>>,
}

/// Keywords that the parser may take for a name where a macro hides the type before them.
const KEYWORDS: &str = "int void char bool unsigned signed long short float double struct union enum inline static const constexpr";

/// Nodes that wrap a declarator without a field for it.
const WRAPPERS: &[&str] =
    &["parenthesized_declarator", "reference_declarator", "attributed_declarator", "variadic_declarator"];

fn find_declarator(node: Node<'_>) -> Option<Declarator<'_>> {
    let (mut at, mut function) = (node, None);
    loop {
        let inner = at.child_by_field_name("declarator").filter(|_| at.kind() != "operator_cast");
        let wrapped = || {
            let mut cursor = at.walk();
            let mut named = at.named_children(&mut cursor).filter(|it| !it.is_extra());
            named.find(|it| !it.kind().ends_with("modifier") && !it.kind().starts_with("attribute_"))
        };
        let inner = inner.or_else(|| wrapped().filter(|_| WRAPPERS.contains(&at.kind())));
        let Some(inner) = inner else {
            return Some(Declarator { name: at, function }).filter(|_| at.kind() != "primitive_type");
        };
        function = Some(at).filter(|at| at.kind() == "function_declarator");
        at = inner;
    }
}

fn is_keyword(walk: &Walk, name: &str) -> bool {
    let own = walk.dialect.head_rules.map_or("", |rules| rules.keywords);
    KEYWORDS.split(' ').chain(own.split(' ')).any(|word| word == name)
}

/// Reads a declaration with any number of declarators, and the type that it may declare on the way.
fn read_declaration<'a>(walk: &mut Walk<'a>, node: Node<'a>) {
    let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut node.walk()).collect();
    // after an error, a keyword may be where a name should be
    let is_name = |it: &Declarator| !is_keyword(walk, walk.node_text(it.name));
    let declarators: Vec<Node> =
        declarators.into_iter().filter(|it| find_declarator(*it).is_some_and(|it| is_name(&it))).collect();
    let named: Vec<Declarator> = declarators.iter().filter_map(|it| find_declarator(*it)).collect();
    let specifier = node.child_by_field_name("type").filter(|it| it.child_by_field_name("body").is_some());
    if let Some(specifier) = specifier {
        let is_typedef = node.kind() == "type_definition";
        let name = named.first().map(|it| (it.name, node));
        read_specifier(walk, specifier, name.filter(|_| is_typedef));
    }
    let mut head = (walk.dialect.head)(walk, node);
    head.excluded.extend(specifier.and_then(|it| it.child_by_field_name("body")).map(node_span));
    let initializers = child_of_kind(node, "field_initializer_list");
    let is_constant = is_constant(walk, node);
    walk.read_names(node, &head, named.len(), |walk, at, mut head| {
        let (declarator, whole) = (&named[at], declarators[at]);
        head.set_name(walk, Some(declarator.name));
        head.excluded.extend(other_spans(&declarators, whole));
        head.parameters =
            declarator.function.and_then(|it| it.child_by_field_name("parameters")).into_iter().collect();
        read_declared(walk, &Declared { node, declarator, whole, initializers, is_constant }, head);
    });
}

/// Whether a typedef repeats the name of a type that the same file declares: `typedef struct a a;`.
fn is_forward(walk: &Walk, specifier: Node, name: &str) -> bool {
    let own = specifier.child_by_field_name("name").is_some_and(|tag| walk.node_text(tag) == name);
    own && walk.bodied_tags.get_or_init(|| tags_with_body(&walk.source)).contains(name)
}

fn tags_with_body<'a>(source: &Source<'a>) -> FxHashSet<&'a str> {
    let bodies = source.tokens.windows(3).filter_map(|three| {
        let [keyword, tag, brace] = [0, 1, 2].map(|at| source.text_of(&three[at]));
        let is_body = matches!(keyword, "struct" | "union" | "enum" | "class") && brace == "{";
        is_body.then_some(tag)
    });
    bodies.collect()
}

/// One name of a declaration.
struct Declared<'a, 'd> {
    node: Node<'a>,
    declarator: &'d Declarator<'a>,
    /// The declarator with its value.
    whole: Node<'a>,
    /// What a constructor initializes.
    initializers: Option<Node<'a>>,
    is_constant: bool,
}

fn read_declared<'a>(walk: &mut Walk<'a>, declared: &Declared<'a, '_>, mut head: Head<'a>) {
    let Declared { node, declarator, whole, initializers, .. } = *declared;
    if node.kind() == "type_definition" {
        let is_known = walk.facts.types.last().is_some_and(|last| last.name == head.name)
            || node.child_by_field_name("type").is_some_and(|it| is_forward(walk, it, &head.name));
        if !is_known && !head.name.is_empty() {
            let at = walk.facts.types.len();
            walk.read_type_part(TypeKind::Alias, node, &head, |_, _| {});
            walk.facts.types[at].header_text = walk.join_tokens(node_span(node), &head.excluded);
        }
        return;
    }
    if declarator.function.is_none() && node.kind() != "function_definition" {
        head.body = whole.child_by_field_name("value").or_else(|| node.child_by_field_name("default_value"));
    } else if let Some(list) = initializers {
        // what a constructor initializes is behaviour
        head.extra_body = head.body;
        head.body = Some(list);
    }
    let (scope, name) = split_qualified(walk, declarator.name);
    head.name = written_name(walk, name);
    head.name_node = Some(name);
    let kind = kind_of_member(walk, declared, &head.name, scope.last().copied());
    let is_definition = declarator.function.is_some() || head.body.is_some();
    match scope.last() {
        Some(of) if is_definition => add_member_elsewhere(walk, kind, node, &head, (of, &scope)),
        _ => walk.add_member(kind, node, &head),
    }
}

/// A name with at most one space where it has any: `operator new`, `operator bool`.
fn written_name(walk: &Walk, name: Node) -> String {
    let text = walk.node_text(name);
    let is_cast = name.kind() == "operator_cast";
    let text = text.split('(').next().filter(|_| is_cast).unwrap_or(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_symbol = words.get(1).is_some_and(|word| !word.starts_with(is_word_char));
    words.join(if is_symbol { "" } else { " " })
}

fn kind_of_member(walk: &Walk, declared: &Declared, name: &str, scope: Option<&str>) -> MemberKind {
    let owner = walk.owner.map(|owner| walk.facts.types[owner as usize].name.as_str());
    let owner = scope.or(owner);
    match declared.declarator.function {
        _ if name.starts_with('~') => MemberKind::Destructor,
        _ if name.starts_with("operator") => MemberKind::Operator,
        Some(_) if owner == Some(name) => MemberKind::Constructor,
        Some(_) if owner.is_some() => MemberKind::Method,
        Some(_) => MemberKind::Function,
        None if declared.is_constant => MemberKind::Constant,
        None => MemberKind::Field,
    }
}

fn is_constant(walk: &Walk, node: Node) -> bool {
    let qualifiers = children_of_kind(node, "type_qualifier");
    let has = |word: &str| qualifiers.iter().any(|it| walk.node_text(*it) == word);
    has("constexpr") || has("const") && node.kind() == "declaration"
}

/// Splits `a::B<T>::name` into the words before the last and the node of the last.
fn split_qualified<'a>(walk: &Walk<'a>, node: Node<'a>) -> (Vec<&'a str>, Node<'a>) {
    let (mut words, mut at) = (Vec::new(), node);
    while at.kind() == "qualified_identifier" {
        let scope = at.child_by_field_name("scope").map_or("", |scope| walk.node_text(scope));
        words.extend(Some(scope.split('<').next().unwrap_or_default().trim()).filter(|it| !it.is_empty()));
        let Some(name) = at.child_by_field_name("name") else { break };
        at = name;
    }
    let is_template = at.kind().starts_with("template_");
    (words, at.child_by_field_name("name").filter(|_| is_template).unwrap_or(at))
}

/// Adds a member that is defined outside of its type to a part of that type: `void A::f() {}`.
fn add_member_elsewhere<'a>(
    walk: &mut Walk<'a>,
    kind: MemberKind,
    node: Node<'a>,
    head: &Head<'a>,
    (of, scope): (&str, &[&'a str]),
) {
    let reference = walk.facts.references.len() as u32;
    walk.push_reference(node, scope, Position::Type);
    let at = walk.facts.types.len();
    let mut part = empty_part(TypeKind::Impl, walk.scope);
    of.clone_into(&mut part.name);
    part.span = Span::new(head.start, head.declaration.end_byte());
    part.signature = part.span;
    part.extended_type = Some(reference);
    walk.facts.types.push(part);
    let outer = walk.owner.replace(at as u32);
    walk.add_member(kind, node, head);
    walk.owner = outer;
    walk.facts.types[at].raw_digest = walk.declaration_digest(head.declaration);
    walk.claim_type(head.start, head.declaration.end_byte());
}
