//! Collects names and member accesses with their receivers: `self`, a type, a variable with a declared type, a value whose type
//! is written, or nothing for a free function or value. Local variables are bound here and leave no reference.
//!
//! Does not know types that only a compiler could infer: such an access is recorded with an unknown receiver.

use super::{MAX_DEPTH, Walk, field_of, node_span, starts_uppercase};
use facts::{MemberReference, ParameterCount, ReceiverExpr, WrittenType};
use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, TreeCursor};

/// How a node kind accesses members. The strings are the grammar's field names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessRule {
    /// `a.b`: receiver and name.
    Member(&'static str, &'static str),
    /// `a.b(c)` as one node: receiver, name and arguments.
    Method(&'static str, &'static str, &'static str),
    /// `f(c)`: function and arguments.
    Call(&'static str, &'static str),
    /// `new T()`, `(T) x`: a value of the type in this field.
    Typed(&'static str),
    /// `T { a: 1 }`: the type, and the body that names its members.
    Construct(&'static str, &'static str),
    /// `(a)`, `&a`: equivalent to the inner expression.
    Transparent,
    /// `let a: T = b`: name, type and value.
    Variable(&'static str, &'static str, &'static str),
    /// A scope for variables.
    Scope,
    /// Inside a body, `self` or `this` refers to a different value here, whose type is unknown.
    RebindsSelf,
    /// A single word.
    Name,
    /// An import or re-export: every word in it names something of another module.
    Import,
    /// Like `Import` if it has this field, otherwise an ordinary node: `export { a } from "b"`.
    ReExport(&'static str),
    /// A nested module or namespace with its own scope.
    Module,
    /// The unparsed arguments of a macro: tokens in which paths and chains are recognised by their separators.
    TokenTree,
    /// `A::f` as a value, without field names: receiver first, name last.
    MethodReference,
    /// `a: b` in an object whose type is not written: the field of the key.
    Keyed(&'static str),
    /// `a` in an object: a key, and the variable of that name.
    Shorthand,
    /// `T["a"]`: a type, and the name of one of its members as a string.
    Lookup,
    /// `T { a, b: c }` as a pattern: the type.
    StructPattern(&'static str),
}

/// How a language accesses members.
pub(crate) struct MemberAccessRules {
    pub(crate) rules: &'static [(&'static str, AccessRule)],
    /// Keywords for the current instance or type: `self`, `this`.
    pub(crate) self_words: &'static [&'static str],
    /// Whether members can be accessed without an explicit receiver.
    pub(crate) implicit_self: bool,
    /// Keywords that start a path from a module: `crate`, `super`.
    pub(crate) path_roots: &'static [&'static str],
    /// Nodes that bind a name in the whole scope around them, with the field of the name; without a field, all of their words.
    pub(crate) hoisted: &'static [(&'static str, &'static str)],
    /// Whether hoisted names are also found in nested blocks, up to the next function.
    pub(crate) hoists_from_blocks: bool,
    /// Words of the language or its prelude that no module declares.
    pub(crate) prelude: &'static [&'static str],
}

/// Defaults: a language without free functions and hoisting.
pub(crate) const DEFAULT_MEMBER_ACCESS: MemberAccessRules = MemberAccessRules {
    rules: &[],
    self_words: &[],
    implicit_self: false,
    path_roots: &[],
    hoisted: &[],
    hoists_from_blocks: false,
    prelude: &[],
};

/// Types that give access to the members of the value they contain.
const SMART_POINTERS: &[&str] = &["Box", "Rc", "Arc"];

/// Nodes that wrap a type without changing its members: `&T`, `: T`, `dyn T`.
const TYPE_WRAPPERS: &[&str] = &[
    "type",
    "type_annotation",
    "reference_type",
    "pointer_type",
    "dynamic_type",
    "abstract_type",
    "parenthesized_type",
];

/// Parameter nodes without types: `x => x.y`.
const UNTYPED_PARAMETERS: &[&str] =
    &["identifier", "lambda_parameters", "inferred_parameters", "closure_parameters"];

/// Nodes that declare fields with the syntax of variables.
const FIELD_DECLARATIONS: &[&str] = &["field_declaration", "constant_declaration"];

/// Assignment targets that are expressions and bind nothing: `a.b = c`.
const EXPRESSION_TARGETS: &[&str] = &["attribute", "subscript", "member_expression", "subscript_expression"];

/// Lists of assignment targets, each of which may be a name or an expression.
const TARGET_LISTS: &[&str] = &["pattern_list", "tuple_pattern", "list_pattern"];

/// Statements whose names belong to an outer scope.
const OUTER_NAME_STATEMENTS: &[&str] = &["global_statement", "nonlocal_statement"];

/// Fields in which a word is declared or labels something. Of `name`, specifiers and markup elements are exceptions.
const LABEL_FIELDS: &[&str] = &["name", "label", "key", "alias"];

/// Nodes whose field `name` refers to something declared elsewhere.
const NAMING_NODES: &[&str] = &[
    "export_specifier",
    "jsx_opening_element",
    "jsx_self_closing_element",
    "jsx_closing_element",
    "type_arguments",
];

#[derive(Default)]
pub(super) struct VariableScope<'a> {
    variables: FxHashMap<&'a str, Variable>,
    /// What the bindings of the open scopes replaced, oldest first.
    replaced: Vec<(&'a str, Option<Variable>)>,
    written_types: FxHashMap<WrittenType, u32>,
    scope_end: u32,
    in_body: bool,
    /// Whether the innermost body is that of a type, whose names are members.
    in_type_body: bool,
    /// Whether the type of `self` or `this` is unknown at this point.
    is_self_unknown: bool,
}

/// A bound name.
#[derive(Clone, Copy)]
struct Variable {
    on: ReceiverExpr,
    until: u32,
    /// Whether it is invisible to other functions; otherwise it is a value of the module.
    is_local: bool,
}

impl<'a> Walk<'a> {
    /// Collects the member accesses of the whole tree.
    pub(super) fn collect_member_references(&mut self) {
        let root = self.root;
        self.variable_scope.scope_end = root.end_byte() as u32;
        self.open.clear();
        self.access_children(&mut root.walk());
    }

    /// The number of arguments that a parameter list accepts, in languages with overloads.
    pub(super) fn parameter_count(&self, lists: &[Node<'a>]) -> ParameterCount {
        let uncounted =
            ParameterCount { min: 0, max: ParameterCount::UNLIMITED, ..ParameterCount::default() };
        let Some(list) = lists.first().filter(|_| self.dialect.has_overloads) else { return uncounted };
        let mut cursor = list.walk();
        let kinds: Vec<&str> = list.named_children(&mut cursor).map(|it| it.kind()).collect();
        if kinds.iter().any(|kind| !kind.ends_with("formal_parameter")) {
            return uncounted;
        }
        let count = kinds.len().min(254) as u8;
        ParameterCount { min: count, max: count, ..ParameterCount::default() }
    }

    /// The index of the type that a node spells out.
    pub(crate) fn written_type_index(&mut self, node: Node<'a>) -> Option<u32> {
        match self.written_type_receiver(node) {
            ReceiverExpr::Typed(at) => Some(at),
            _ => None,
        }
    }

    fn written_type_receiver(&mut self, node: Node<'a>) -> ReceiverExpr {
        self.enter(node, |walk| walk.read_written_type(node))
    }

    fn read_written_type(&mut self, node: Node<'a>) -> ReceiverExpr {
        let first = node.named_child(0);
        let kind = node.kind();
        if TYPE_WRAPPERS.contains(&kind) {
            let last = node.named_child(node.named_child_count().saturating_sub(1) as u32);
            return last.map_or(ReceiverExpr::Unknown, |inner| self.written_type_receiver(inner));
        }
        if matches!(kind, "generic_type" | "array_type" | "slice_type") {
            let Some(first) = first else { return ReceiverExpr::Unknown };
            let last = node.named_child(node.named_child_count() as u32 - 1).unwrap_or(first);
            return if kind == "generic_type" {
                self.generic_written_type(first, last)
            } else {
                self.list_written_type(first)
            };
        }
        match self.name_words(node) {
            Some(words) if !words.is_empty() => self.named_written_type(&words, None),
            _ => ReceiverExpr::Unknown,
        }
    }

    fn generic_written_type(&mut self, name: Node<'a>, arguments: Node<'a>) -> ReceiverExpr {
        let count = arguments.named_child_count();
        let inner =
            arguments.named_child(count.saturating_sub(1) as u32).and_then(|it| self.written_type_index(it));
        let Some(words) = self.name_words(name) else { return ReceiverExpr::Unknown };
        match (words.last(), inner) {
            (Some(last), Some(inner)) if SMART_POINTERS.contains(last) => ReceiverExpr::Typed(inner),
            _ => self.named_written_type(&words, Some((inner, count == 1))),
        }
    }

    fn list_written_type(&mut self, element: Node<'a>) -> ReceiverExpr {
        let Some(inner) = self.written_type_index(element) else { return ReceiverExpr::Unknown };
        self.intern_written_type(WrittenType { path: None, element: Some(inner), has_single_argument: true })
    }

    fn named_written_type(&mut self, words: &[&'a str], inner: Option<(Option<u32>, bool)>) -> ReceiverExpr {
        let (alias, words) = self.split_path_root(words);
        if words.is_empty() && alias.is_none() {
            return ReceiverExpr::Unknown;
        }
        let path = Some(self.intern_path(alias, &words));
        let (inner, single) = inner.unwrap_or_default();
        self.intern_written_type(WrittenType { path, element: inner, has_single_argument: single })
    }

    fn intern_written_type(&mut self, written: WrittenType) -> ReceiverExpr {
        let next = self.facts.written_types.len() as u32;
        let at = *self.variable_scope.written_types.entry(written).or_insert(next);
        if at == next {
            self.facts.written_types.push(written);
        }
        ReceiverExpr::Typed(at)
    }

    fn access_children(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let mut last = ReceiverExpr::Unknown;
        if self.is_too_deep() {
            return last;
        }
        self.open.push(cursor.node());
        if cursor.goto_first_child() {
            while self.budget.spend(1) {
                if cursor.node().is_named() {
                    last = self.access_node(cursor);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
        }
        self.open.pop();
        last
    }

    /// Visits a node; returns its value as the receiver of a member access.
    fn access_node(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        if !self.budget.spend(1) {
            return ReceiverExpr::Unknown;
        }
        match self.tables.access_rules.get(node.kind_id() as usize).copied().flatten() {
            Some(AccessRule::Member(of, name)) => self.access_member(cursor, of, name),
            Some(AccessRule::Method(of, name, arguments)) => self.access_method(cursor, of, name, arguments),
            Some(AccessRule::Call(function, arguments)) => self.access_call(cursor, function, arguments),
            Some(AccessRule::Typed(field)) => {
                self.access_children(cursor);
                node.child_by_field_name(field)
                    .map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared))
            }
            Some(AccessRule::Construct(declared, body)) => {
                self.enter(node, |walk| walk.access_construct(node, declared, body))
            }
            Some(AccessRule::Transparent) => self.access_children(cursor),
            Some(AccessRule::Variable(name, declared, value)) => {
                self.enter(node, |walk| walk.access_variable(node, name, declared, value))
            }
            Some(AccessRule::Scope) => self.access_scope(cursor),
            Some(AccessRule::RebindsSelf) => self.access_type_body(cursor),
            Some(AccessRule::Name) => self.access_name(node, cursor.field_name()),
            Some(AccessRule::Import) => self.enter(node, |walk| walk.access_import(node, None)),
            Some(AccessRule::ReExport(source)) if node.child_by_field_name(source).is_some() => {
                self.enter(node, |walk| walk.access_import(node, None))
            }
            Some(AccessRule::Module) => self.access_module(cursor),
            Some(AccessRule::TokenTree) => self.access_token_tree(cursor),
            Some(AccessRule::MethodReference) => self.enter(node, |walk| walk.access_method_reference(node)),
            Some(AccessRule::Keyed(key)) => {
                self.enter(node, |walk| walk.access_keyed(node, key, ReceiverExpr::Unknown))
            }
            Some(AccessRule::Shorthand) => {
                self.push_member_reference(node, ReceiverExpr::Unknown);
                self.access_name(node, None)
            }
            Some(AccessRule::Lookup) => self.access_lookup(node),
            Some(AccessRule::StructPattern(of)) => {
                self.enter(node, |walk| walk.access_struct_pattern(node, of))
            }
            Some(AccessRule::ReExport(_)) | None => {
                self.access_children(cursor);
                ReceiverExpr::Unknown
            }
        }
    }

    /// Reads a node that is not read child by child, unless the nesting is too deep.
    fn enter(&mut self, node: Node<'a>, read: impl FnOnce(&mut Self) -> ReceiverExpr) -> ReceiverExpr {
        if self.is_too_deep() {
            return ReceiverExpr::Unknown;
        }
        self.open.push(node);
        let on = read(self);
        self.open.pop();
        on
    }

    /// The body of a type or an object, in which `self` or `this` may be another value.
    fn access_type_body(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let foreign = self.variable_scope.is_self_unknown;
        self.variable_scope.is_self_unknown |= self.variable_scope.in_body;
        if cursor.node().kind() == "function_expression" {
            self.access_scope(cursor);
        } else {
            let around = std::mem::replace(&mut self.variable_scope.in_type_body, true);
            self.access_children(cursor);
            self.variable_scope.in_type_body = around;
        }
        self.variable_scope.is_self_unknown = foreign;
        ReceiverExpr::Unknown
    }

    /// Records the words of an import, without the names it binds.
    fn access_import(&mut self, node: Node<'a>, field: Option<&str>) -> ReceiverExpr {
        if node.kind() == "identifier" && field != Some("alias") {
            return self.push_member_reference(node, ReceiverExpr::Import);
        }
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more && self.budget.spend(1) {
            if cursor.node().is_named() {
                let (inner, field) = (cursor.node(), cursor.field_name());
                self.enter(inner, |walk| walk.access_import(inner, field));
            }
            more = cursor.goto_next_sibling();
        }
        ReceiverExpr::Unknown
    }

    /// A nested module: relative paths in it start from its scope.
    fn access_module(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let inner = self.module_of_node.get(&node.id()).map(|at| self.module_nodes[*at].0);
        let outer = self.scope;
        self.scope = inner.unwrap_or(outer);
        self.access_children(cursor);
        self.scope = outer;
        ReceiverExpr::Unknown
    }

    /// The arguments of a macro: `a.b(c)` is five tokens there.
    fn access_token_tree(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let mut before = ReceiverExpr::Unknown;
        let mut is_joined = false;
        let mut roots: Vec<&'a str> = Vec::new();
        self.for_each_field(cursor, |walk, cursor, _| {
            let node = cursor.node();
            match node.kind() {
                "." | "::" => is_joined = true,
                "crate" | "super" => {
                    if !std::mem::take(&mut is_joined) {
                        roots.clear();
                    }
                    roots.push(walk.node_text(node));
                    before = walk.named_written_type(&roots, None);
                }
                "identifier" | "self" => {
                    before = if std::mem::take(&mut is_joined) {
                        walk.push_member_reference(node, before)
                    } else {
                        walk.access_name(node, None)
                    };
                }
                "token_tree" => {
                    walk.mark_called(before, node);
                    walk.access_token_tree(cursor);
                }
                _ => {
                    before = ReceiverExpr::Unknown;
                    is_joined = false;
                    walk.access_node(cursor);
                }
            }
        });
        ReceiverExpr::Unknown
    }

    /// Marks the name before `(…)` in a macro as called; its arguments cannot be counted.
    fn mark_called(&mut self, before: ReceiverExpr, arguments: Node<'a>) {
        let end = arguments.start_byte() as u32;
        if let ReceiverExpr::Member(at) = before
            && self.node_text(arguments).starts_with('(')
        {
            let used = &mut self.facts.member_references[at as usize];
            let length = self.facts.words[used.word as usize].len() as u32;
            if used.at + length == end {
                used.argument_count = Some(0);
            }
        }
    }

    fn access_method_reference(&mut self, node: Node<'a>) -> ReceiverExpr {
        let mut cursor = node.walk();
        let mut on = ReceiverExpr::Unknown;
        let mut found = ReceiverExpr::Unknown;
        let count = node.child_count();
        let mut more = cursor.goto_first_child();
        let mut at = 0;
        while more {
            let child = cursor.node();
            if at == 0 && child.is_named() {
                on = self.receiver_of(&mut cursor);
            } else if at + 1 == count && child.kind() == "identifier" {
                found = self.push_member_reference(child, on);
            }
            at += 1;
            more = cursor.goto_next_sibling();
        }
        found
    }

    fn access_scope(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let until = std::mem::replace(&mut self.variable_scope.scope_end, node.end_byte() as u32);
        let outer = self.variable_scope.replaced.len();
        let outside = !std::mem::replace(&mut self.variable_scope.in_body, true);
        let around = std::mem::replace(&mut self.variable_scope.in_type_body, false);
        if node.kind() == "method_definition" && self.parent_of(node).is_some_and(|it| it.kind() == "object")
        {
            self.push_key(node, "name", ReceiverExpr::Unknown);
        }
        self.bind_parameters(node);
        self.bind_hoisted(node);
        self.access_children(cursor);
        self.variable_scope.in_type_body = around;
        self.variable_scope.in_body = !outside;
        self.variable_scope.scope_end = until;
        self.unbind_since(outer);
        ReceiverExpr::Unknown
    }

    /// Restores the bindings that a scope replaced.
    fn unbind_since(&mut self, outer: usize) {
        let scope = &mut self.variable_scope;
        for (name, before) in scope.replaced.drain(outer..).rev() {
            match before {
                Some(before) => scope.variables.insert(name, before),
                None => scope.variables.remove(name),
            };
        }
    }

    /// Binds parameters without types; those with types are nodes of their own.
    fn bind_parameters(&mut self, node: Node<'a>) {
        let list = node.child_by_field_name("parameter").or_else(|| node.child_by_field_name("parameters"));
        let Some(list) = list else { return };
        if UNTYPED_PARAMETERS.contains(&list.kind()) {
            return self.bind_pattern(list, ReceiverExpr::Unknown);
        }
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            if matches!(
                parameter.kind(),
                "identifier" | "list_splat_pattern" | "dictionary_splat_pattern" | "tuple_pattern"
            ) {
                self.bind_pattern(parameter, ReceiverExpr::Unknown);
            }
        }
    }

    /// Binds the names that are declared anywhere in a scope.
    fn bind_hoisted(&mut self, node: Node<'a>) {
        if self.dialect.member_access.hoisted.is_empty() {
            return;
        }
        let (mut bound, mut outer) = (Vec::new(), FxHashSet::default());
        self.collect_hoisted(&mut node.walk(), 0, &mut bound, &mut outer);
        for name in bound {
            if !outer.contains(self.node_text(name)) {
                self.bind_pattern(name, ReceiverExpr::Unknown);
            }
        }
    }

    fn collect_hoisted(
        &self,
        cursor: &mut TreeCursor<'a>,
        depth: u32,
        bound: &mut Vec<Node<'a>>,
        outer: &mut FxHashSet<&'a str>,
    ) {
        let rules = &self.dialect.member_access;
        if depth >= MAX_DEPTH || !cursor.goto_first_child() {
            return;
        }
        while self.budget.spend(1) {
            let child = cursor.node();
            let kind = child.kind_id() as usize;
            if let Some(field) = self.tables.hoisted.get(kind).copied().flatten() {
                let name = if field.is_empty() { Some(child) } else { field_of(child, field) };
                bound.extend(name.filter(|name| !EXPRESSION_TARGETS.contains(&name.kind())));
            }
            if OUTER_NAME_STATEMENTS.contains(&child.kind()) {
                outer.extend(self.name_words_of(child));
            }
            let is_scope = matches!(
                self.tables.access_rules.get(kind).copied().flatten(),
                Some(AccessRule::Scope | AccessRule::RebindsSelf)
            );
            if rules.hoists_from_blocks && child.is_named() && !is_scope {
                self.collect_hoisted(cursor, depth + 1, bound, outer);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }

    /// The names in a statement.
    fn name_words_of(&self, node: Node<'a>) -> Vec<&'a str> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).map(|child| self.node_text(child)).collect()
    }

    fn access_construct(&mut self, node: Node<'a>, declared: &str, body: &str) -> ReceiverExpr {
        let on = field_of(node, declared).map_or(ReceiverExpr::Unknown, |it| self.written_type_receiver(it));
        let Some(body) = field_of(node, body) else { return on };
        let mut cursor = body.walk();
        for given in body.named_children(&mut cursor) {
            let key = given.child_by_field_name("field").or_else(|| given.child_by_field_name("key"));
            let alone = || given.named_child(0).filter(|_| given.kind() == "shorthand_field_initializer");
            let name = key.map(|key| key.named_child(0).unwrap_or(key)).or_else(alone);
            // the keys of a map are values
            let is_field = key.is_none_or(|_| on != ReceiverExpr::Unknown);
            if let Some(name) = name.filter(|name| is_field && name.kind().ends_with("identifier")) {
                self.push_member_reference(name, on);
                if let Some(value) = given.child_by_field_name("value") {
                    self.access_at(value);
                }
                if key.is_none() {
                    self.access_at(given);
                }
            } else {
                self.access_at(given);
            }
        }
        on
    }

    fn allows_implicit_self(&self) -> bool {
        self.dialect.member_access.implicit_self && !self.variable_scope.is_self_unknown
    }

    fn self_receiver(&self) -> ReceiverExpr {
        if self.variable_scope.is_self_unknown { ReceiverExpr::Unknown } else { ReceiverExpr::This }
    }

    fn access_at(&mut self, node: Node<'a>) -> ReceiverExpr {
        self.access_node(&mut node.walk())
    }

    fn push_member_reference(&mut self, name: Node<'a>, on: ReceiverExpr) -> ReceiverExpr {
        let word = self.intern_word(self.node_text(name));
        let at = name.start_byte() as u32;
        self.facts.member_references.push(MemberReference {
            word,
            at,
            receiver: on,
            argument_count: None,
            arity: 0,
        });
        ReceiverExpr::Member(self.facts.member_references.len() as u32 - 1)
    }

    fn access_member(&mut self, cursor: &mut TreeCursor<'a>, of: &str, name: &str) -> ReceiverExpr {
        let (mut on, mut found) = (ReceiverExpr::Unknown, ReceiverExpr::Unknown);
        self.for_each_field(cursor, |walk, cursor, field| match field {
            Some(field) if field == of => on = walk.receiver_of(cursor),
            Some(field) if field == name => found = walk.push_member_reference(cursor.node(), on),
            _ => {}
        });
        found
    }

    /// Calls `visit` with each child of a node and its field name. Reuses the cursor: a new cursor and a list of words for each
    /// child took a sixth of the time to read TypeScript.
    fn for_each_field(
        &mut self,
        cursor: &mut TreeCursor<'a>,
        mut visit: impl FnMut(&mut Self, &mut TreeCursor<'a>, Option<&'a str>),
    ) {
        let node = cursor.node();
        if self.is_too_deep() || !cursor.goto_first_child() {
            return;
        }
        self.open.push(node);
        while self.budget.spend(1) {
            let field = cursor.field_name();
            visit(self, cursor, field);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
        self.open.pop();
    }

    fn access_method(
        &mut self,
        cursor: &mut TreeCursor<'a>,
        of: &str,
        name: &str,
        arguments: &str,
    ) -> ReceiverExpr {
        let mut on = if self.allows_implicit_self() { ReceiverExpr::Implicit } else { ReceiverExpr::Unknown };
        let mut found = ReceiverExpr::Unknown;
        self.for_each_field(cursor, |walk, cursor, field| match field {
            Some(field) if field == of => on = walk.receiver_of(cursor),
            Some(field) if field == name => found = walk.push_member_reference(cursor.node(), on),
            Some(field) if field == arguments => walk.record_arguments(cursor, found),
            _ => {}
        });
        found
    }

    fn access_call(&mut self, cursor: &mut TreeCursor<'a>, function: &str, arguments: &str) -> ReceiverExpr {
        let known = self.facts.member_references.len() as u32;
        let mut found = ReceiverExpr::Unknown;
        self.for_each_field(cursor, |walk, cursor, field| match field {
            // the called variable may hold a function from a member that was accessed much earlier
            Some(field) if field == function => match walk.access_node(cursor) {
                ReceiverExpr::Member(at) if at < known => {}
                on => found = on,
            },
            Some(field) if field == arguments => walk.record_arguments(cursor, found),
            _ => {}
        });
        found
    }

    /// Records the number of arguments of a call, and visits them.
    fn record_arguments(&mut self, cursor: &mut TreeCursor<'a>, found: ReceiverExpr) {
        if let ReceiverExpr::Member(at) = found {
            let count = cursor.node().named_child_count();
            self.facts.member_references[at as usize].argument_count = Some(count.min(254) as u8);
        }
        self.access_children(cursor);
    }

    /// The receiver of a member access: a type, a module, `self` or `this`, or another value.
    fn receiver_of(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        if !node.is_named() {
            return ReceiverExpr::Unknown;
        }
        if let Some(on) = self.rooted_receiver(node) {
            return on;
        }
        let is_name = node.kind() == "identifier";
        let last = self.node_text(node).rsplit(['.', ':']).next().unwrap_or_default();
        self.budget.spend(last.len() / 16);
        if starts_uppercase(last)
            && !(is_name && self.is_recorded(last))
            && let Some(on) = self.type_receiver(node)
        {
            if !is_name && on != self.self_receiver() {
                self.access_node(cursor);
            }
            return on;
        }
        match node.kind() {
            "super" => ReceiverExpr::Base,
            _ => self.access_node(cursor),
        }
    }

    /// `crate::a` in `crate::a::b`: a module or type by its path from a root.
    fn rooted_receiver(&mut self, node: Node<'a>) -> Option<ReceiverExpr> {
        let roots = self.dialect.member_access.path_roots;
        if roots.is_empty() || !self.parent_of(node).is_some_and(|it| it.kind().starts_with("scoped_")) {
            return None;
        }
        let words = self.name_words(node)?;
        let is_rooted = words.first().is_some_and(|first| roots.contains(first));
        is_rooted.then(|| self.named_written_type(&words, None))
    }

    /// Whether a word with this initial is recorded as a name in an expression. In a language with an implicit receiver, a
    /// capitalised word is a type, unless it is a constant.
    fn is_recorded(&self, word: &str) -> bool {
        !self.dialect.member_access.implicit_self || !starts_uppercase(word) || is_constant_name(word)
    }

    /// `A`, `a.b.C`: a type, unless the first word is a variable, `self` or `this`.
    fn type_receiver(&mut self, node: Node<'a>) -> Option<ReceiverExpr> {
        let words = self.name_words(node)?;
        match words.as_slice() {
            [own] if self.dialect.member_access.self_words.contains(own) => Some(self.self_receiver()),
            [first, ..] if self.dialect.member_access.self_words.contains(first) => None,
            [first, ..] if self.find_variable(first, node.start_byte() as u32).is_none() => {
                Some(self.named_written_type(&words, None))
            }
            _ => None,
        }
    }

    fn find_variable(&self, name: &str, at: u32) -> Option<Variable> {
        self.variable_scope.variables.get(name).filter(|known| at < known.until).copied()
    }

    fn access_name(&mut self, node: Node<'a>, field: Option<&str>) -> ReceiverExpr {
        let text = self.node_text(node);
        if self.dialect.member_access.self_words.contains(&text) {
            return self.self_receiver();
        }
        let variable = self.find_variable(text, node.start_byte() as u32);
        let known = variable.map(|variable| variable.on);
        if variable.is_some_and(|variable| variable.is_local) {
            return known.unwrap_or(ReceiverExpr::Unknown);
        }
        let typed = |walk: &mut Walk<'a>| walk.named_written_type(&[text], None);
        if !self.is_recorded(text) {
            return known.unwrap_or_else(|| typed(self));
        }
        if !self.is_use(node, field) || self.dialect.member_access.prelude.contains(&text) {
            return known.unwrap_or(ReceiverExpr::Unknown);
        }
        let implicit = !self.dialect.member_access.implicit_self || !self.variable_scope.is_self_unknown;
        let on = if implicit { ReceiverExpr::Implicit } else { ReceiverExpr::Unknown };
        let found = self.push_member_reference(node, on);
        known.filter(|known| *known != ReceiverExpr::Unknown).unwrap_or(found)
    }

    /// Whether a word in this field refers to something, rather than declaring or labelling it.
    fn is_use(&self, node: Node<'a>, field: Option<&str>) -> bool {
        match field {
            Some("name") => self.parent_of(node).is_some_and(|parent| NAMING_NODES.contains(&parent.kind())),
            Some(field) => !LABEL_FIELDS.contains(&field),
            None => true,
        }
    }

    fn access_variable(&mut self, node: Node<'a>, name: &str, declared: &str, value: &str) -> ReceiverExpr {
        let given = field_of(node, value).map_or(ReceiverExpr::Unknown, |value| self.access_at(value));
        let declared = field_of(node, declared).or_else(|| {
            // `int a, b`: the type is a field of the parent
            field_of(
                Some(node)
                    .filter(|_| node.kind() == "variable_declarator")
                    .and_then(|it| self.parent_of(it))?,
                declared,
            )
        });
        let inferred = declared.is_none_or(|declared| self.node_text(declared) == "var");
        let on = match declared.filter(|_| !inferred) {
            Some(declared) => self.written_type_receiver(declared),
            None if matches!(given, ReceiverExpr::Typed(_) | ReceiverExpr::Member(_)) => given,
            None => ReceiverExpr::Unknown,
        };
        // some grammars have no field for the name; without one, the whole pattern is bound
        let first = node.named_child(0).filter(|_| !name.is_empty());
        if !self.parent_of(node).is_some_and(|parent| FIELD_DECLARATIONS.contains(&parent.kind())) {
            let target = field_of(node, name).or(first).unwrap_or(node);
            self.bind_target(target, on);
            // a pattern that is the whole node is visited below
            if target != node {
                self.access_pattern(target, on);
            }
        }
        self.access_other_fields(node, [name, value]);
        ReceiverExpr::Unknown
    }

    /// Binds the names of an assignment target; other targets are expressions.
    fn bind_target(&mut self, target: Node<'a>, on: ReceiverExpr) {
        if EXPRESSION_TARGETS.contains(&target.kind()) {
            self.access_at(target);
        } else if TARGET_LISTS.contains(&target.kind()) {
            let mut cursor = target.walk();
            for each in target.named_children(&mut cursor) {
                self.enter(each, |walk| {
                    walk.bind_target(each, ReceiverExpr::Unknown);
                    ReceiverExpr::Unknown
                });
            }
        } else {
            self.bind_pattern(target, on);
        }
    }

    /// Records the members that a pattern takes out of a value; its variables are bound already.
    fn access_pattern(&mut self, pattern: Node<'a>, on: ReceiverExpr) {
        if self.is_too_deep() || !self.budget.spend(1) {
            return;
        }
        self.open.push(pattern);
        match pattern.kind() {
            "object_pattern" => {
                let mut cursor = pattern.walk();
                for taken in pattern.named_children(&mut cursor) {
                    self.access_taken(taken, on);
                }
            }
            "assignment_pattern" | "object_assignment_pattern" => self.access_taken(pattern, on),
            kind if kind == "array_pattern" || TARGET_LISTS.contains(&kind) => {
                let mut cursor = pattern.walk();
                for inner in pattern.named_children(&mut cursor) {
                    self.access_pattern(inner, ReceiverExpr::Unknown);
                }
            }
            kind if kind.ends_with("_pattern") => {
                self.access_at(pattern);
            }
            _ => {}
        }
        self.open.pop();
    }

    /// One element of a pattern: `a`, `a = 1`, `a: pattern`.
    fn access_taken(&mut self, taken: Node<'a>, on: ReceiverExpr) {
        match taken.kind() {
            "shorthand_property_identifier_pattern" => {
                self.push_member_reference(taken, on);
            }
            "pair_pattern" => {
                let inner = self.push_key(taken, "key", on);
                if let Some(value) = taken.child_by_field_name("value") {
                    self.access_pattern(value, inner);
                }
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                if let Some(left) = taken.child_by_field_name("left") {
                    self.enter(left, |walk| {
                        walk.access_taken(left, on);
                        ReceiverExpr::Unknown
                    });
                }
                if let Some(right) = taken.child_by_field_name("right") {
                    self.access_at(right);
                }
            }
            _ => self.access_pattern(taken, on),
        }
    }

    /// Records the key of `a: b`, if it is a plain name.
    fn push_key(&mut self, node: Node<'a>, field: &str, on: ReceiverExpr) -> ReceiverExpr {
        let key = node.child_by_field_name(field).filter(|key| key.kind() == "property_identifier");
        key.map_or(ReceiverExpr::Unknown, |key| self.push_member_reference(key, on))
    }

    fn access_keyed(&mut self, node: Node<'a>, key: &str, on: ReceiverExpr) -> ReceiverExpr {
        self.push_key(node, key, on);
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let is_plain_key = cursor.field_name() == Some(key) && cursor.node().named_child_count() == 0;
            if cursor.node().is_named() && !is_plain_key {
                self.access_node(&mut cursor);
            }
            more = cursor.goto_next_sibling();
        }
        ReceiverExpr::Unknown
    }

    fn access_lookup(&mut self, node: Node<'a>) -> ReceiverExpr {
        self.access_children(&mut node.walk());
        let name = node.named_child(node.named_child_count().saturating_sub(1) as u32);
        let name = name.and_then(|literal| literal.named_child(0)).filter(|it| it.kind() == "string");
        let (Some(of), Some(name)) = (node.named_child(0), name.and_then(|string| string.named_child(0)))
        else {
            return ReceiverExpr::Unknown;
        };
        let on = self.written_type_receiver(of);
        self.push_member_reference(name, on)
    }

    fn access_struct_pattern(&mut self, node: Node<'a>, of: &str) -> ReceiverExpr {
        let of = node.child_by_field_name(of);
        let on = of.map_or(ReceiverExpr::Unknown, |of| self.written_type_receiver(of));
        let mut cursor = node.walk();
        for inner in node.named_children(&mut cursor) {
            let name = inner.child_by_field_name("name").filter(|_| inner.kind() == "field_pattern");
            if let Some(name) = name {
                self.push_member_reference(name, on);
                if let Some(pattern) = inner.child_by_field_name("pattern") {
                    self.access_at(pattern);
                }
            } else if inner.kind() != "remaining_field_pattern" {
                self.access_at(inner);
            }
        }
        ReceiverExpr::Unknown
    }

    /// Visits the children of a variable other than its name and value, such as the body of a loop.
    fn access_other_fields(&mut self, node: Node<'a>, without: [&str; 2]) {
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let known = cursor.field_name().is_some_and(|field| without.contains(&field));
            if cursor.node().is_named() && !known {
                self.access_node(&mut cursor);
            }
            more = cursor.goto_next_sibling();
        }
    }

    /// Binds a variable. For a pattern, binds every word with an unknown type.
    fn bind_pattern(&mut self, pattern: Node<'a>, on: ReceiverExpr) {
        let words: Vec<&'a str> =
            self.source.tokens_in(node_span(pattern)).map(|token| self.source.text_of(token)).collect();
        self.budget.spend(words.len());
        let alone = words.len() == 1 || words.len() == 2 && words[0] == "mut";
        let on = if alone { on } else { ReceiverExpr::Unknown };
        if self.variable_scope.in_type_body {
            return;
        }
        let is_local = self.variable_scope.in_body;
        let variable = Variable { on, until: self.variable_scope.scope_end, is_local };
        // uppercase words in a pattern are types
        for word in words.into_iter().filter(|word| alone || !starts_uppercase(word)) {
            let before = self.variable_scope.variables.insert(word, variable);
            self.variable_scope.replaced.push((word, before));
        }
    }
}

/// `MAX_SIZE`, but not `T`.
fn is_constant_name(word: &str) -> bool {
    word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_lowercase())
}
