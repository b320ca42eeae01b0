//! Collects member accesses with their receivers: `self`, a type, a variable with a declared type, or a value whose type is
//! written.
//!
//! Does not know free functions, or types that only a compiler could infer: such an access is recorded with an unknown receiver.

use super::{MAX_DEPTH, Walk, node_span, starts_uppercase};
use crate::facts::{MemberReference, ParameterCount, ReceiverExpr, WrittenType};
use rustc_hash::FxHashMap;
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
}

/// How a language accesses members.
pub(crate) struct MemberAccessRules {
    pub(crate) rules: &'static [(&'static str, AccessRule)],
    /// Keywords for the current instance or type: `self`, `this`.
    pub(crate) self_words: &'static [&'static str],
    /// Whether members can be accessed without an explicit receiver.
    pub(crate) implicit_self: bool,
}

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

#[derive(Default)]
pub(super) struct VariableScope<'a> {
    variables: FxHashMap<&'a str, (ReceiverExpr, u32)>,
    written_types: FxHashMap<WrittenType, u32>,
    scope_end: u32,
    in_body: bool,
    /// Whether the type of `self` or `this` is unknown at this point.
    is_self_unknown: bool,
}

impl<'a> Walk<'a> {
    /// Collects the member accesses of the whole tree.
    pub(super) fn collect_member_references(&mut self) {
        let root = self.root;
        self.variable_scope.scope_end = root.end_byte() as u32;
        self.depth = 0;
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
    pub(super) fn written_type_index(&mut self, node: Node<'a>) -> Option<u32> {
        match self.written_type_receiver(node) {
            ReceiverExpr::Typed(at) => Some(at),
            _ => None,
        }
    }

    fn written_type_receiver(&mut self, node: Node<'a>) -> ReceiverExpr {
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
        if words.is_empty() {
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
        if self.depth >= MAX_DEPTH {
            return last;
        }
        self.depth += 1;
        if cursor.goto_first_child() {
            loop {
                if cursor.node().is_named() {
                    last = self.access_node(cursor);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
        }
        self.depth -= 1;
        last
    }

    /// Visits a node; returns its value as the receiver of a member access.
    fn access_node(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        match self.tables.access_rules.get(node.kind_id() as usize).copied().flatten() {
            Some(AccessRule::Member(of, name)) => self.access_member(cursor, of, name),
            Some(AccessRule::Method(of, name, arguments)) => self.access_method(cursor, of, name, arguments),
            Some(AccessRule::Call(function, arguments)) => self.access_call(cursor, function, arguments),
            Some(AccessRule::Typed(field)) => {
                self.access_children(cursor);
                node.child_by_field_name(field)
                    .map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared))
            }
            Some(AccessRule::Construct(declared, body)) => self.access_construct(node, declared, body),
            Some(AccessRule::Transparent) => self.access_children(cursor),
            Some(AccessRule::Variable(name, declared, value)) => {
                self.access_variable(node, name, declared, value)
            }
            Some(AccessRule::Scope) => self.access_scope(cursor),
            Some(AccessRule::RebindsSelf) => {
                let foreign = self.variable_scope.is_self_unknown;
                self.variable_scope.is_self_unknown |= self.variable_scope.in_body;
                self.access_children(cursor);
                self.variable_scope.is_self_unknown = foreign;
                ReceiverExpr::Unknown
            }
            Some(AccessRule::Name) => self.access_name(node, cursor.field_name()),
            None => {
                self.access_children(cursor);
                ReceiverExpr::Unknown
            }
        }
    }

    fn access_scope(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let until = std::mem::replace(&mut self.variable_scope.scope_end, node.end_byte() as u32);
        let parameters =
            node.child_by_field_name("parameter").or_else(|| node.child_by_field_name("parameters"));
        if let Some(parameters) = parameters.filter(|it| UNTYPED_PARAMETERS.contains(&it.kind())) {
            self.bind_pattern(parameters, ReceiverExpr::Unknown);
        }
        let outside = !std::mem::replace(&mut self.variable_scope.in_body, true);
        self.access_children(cursor);
        self.variable_scope.in_body = !outside;
        self.variable_scope.scope_end = until;
        ReceiverExpr::Unknown
    }

    fn access_construct(&mut self, node: Node<'a>, declared: &str, body: &str) -> ReceiverExpr {
        let on = node
            .child_by_field_name(declared)
            .map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared));
        let Some(body) = node.child_by_field_name(body) else { return on };
        let mut cursor = body.walk();
        for given in body.named_children(&mut cursor) {
            let key = given.child_by_field_name("field").or_else(|| given.child_by_field_name("key"));
            let alone = || given.named_child(0).filter(|_| given.kind() == "shorthand_field_initializer");
            let name = key.map(|key| key.named_child(0).unwrap_or(key)).or_else(alone);
            if let Some(name) = name.filter(|name| name.kind().ends_with("identifier")) {
                self.push_member_reference(name, on);
            }
        }
        self.access_children(&mut body.walk());
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
        if self.depth >= MAX_DEPTH || !cursor.goto_first_child() {
            return;
        }
        self.depth += 1;
        loop {
            let field = cursor.field_name();
            visit(self, cursor, field);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
        self.depth -= 1;
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

    /// The receiver of a member access: a type, `self` or `this`, or another value.
    fn receiver_of(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        if !node.is_named() {
            return ReceiverExpr::Unknown;
        }
        let last = self.node_text(node).rsplit(['.', ':']).next().unwrap_or_default();
        if starts_uppercase(last)
            && let Some(on) = self.type_receiver(node)
        {
            return on;
        }
        match node.kind() {
            "super" => ReceiverExpr::Base,
            _ => self.access_node(cursor),
        }
    }

    /// `A`, `a.b.C`: a type, unless the first word is a variable, `self` or `this`.
    fn type_receiver(&mut self, node: Node<'a>) -> Option<ReceiverExpr> {
        let words = self.name_words(node)?;
        match words.as_slice() {
            [own] if self.dialect.member_access.self_words.contains(own) => Some(self.self_receiver()),
            [first, ..] if self.dialect.member_access.self_words.contains(first) => None,
            [first, ..] if self.variable_receiver(first, node.start_byte() as u32).is_none() => {
                Some(self.named_written_type(&words, None))
            }
            _ => None,
        }
    }

    fn variable_receiver(&self, name: &str, at: u32) -> Option<ReceiverExpr> {
        self.variable_scope.variables.get(name).filter(|(_, until)| at < *until).map(|(on, _)| *on)
    }

    fn access_name(&mut self, node: Node<'a>, field: Option<&str>) -> ReceiverExpr {
        let text = self.node_text(node);
        if self.dialect.member_access.self_words.contains(&text) {
            return self.self_receiver();
        }
        match self.variable_receiver(text, node.start_byte() as u32) {
            Some(on) => on,
            None if starts_uppercase(text) => self.named_written_type(&[text], None),
            None if self.allows_implicit_self() && !matches!(field, Some("name" | "label" | "key")) => {
                self.push_member_reference(node, ReceiverExpr::Implicit)
            }
            None => ReceiverExpr::Unknown,
        }
    }

    fn access_variable(&mut self, node: Node<'a>, name: &str, declared: &str, value: &str) -> ReceiverExpr {
        let given =
            node.child_by_field_name(value).map_or(ReceiverExpr::Unknown, |value| self.access_at(value));
        let declared = node.child_by_field_name(declared).or_else(|| {
            // `int a, b`: the type is a field of the parent
            node.parent().filter(|_| node.kind() == "variable_declarator")?.child_by_field_name(declared)
        });
        let inferred = declared.is_none_or(|declared| self.node_text(declared) == "var");
        let on = match declared.filter(|_| !inferred) {
            Some(declared) => self.written_type_receiver(declared),
            None if matches!(given, ReceiverExpr::Typed(_) | ReceiverExpr::Member(_)) => given,
            None => ReceiverExpr::Unknown,
        };
        // some grammars have no field for the name; without one, the whole pattern is bound
        let first = node.named_child(0).filter(|_| !name.is_empty());
        if !node.parent().is_some_and(|parent| FIELD_DECLARATIONS.contains(&parent.kind())) {
            self.bind_pattern(node.child_by_field_name(name).or(first).unwrap_or(node), on);
        }
        self.access_other_fields(node, [name, value]);
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
        let alone = words.len() == 1 || words.len() == 2 && words[0] == "mut";
        let on = if alone { on } else { ReceiverExpr::Unknown };
        // uppercase words in a pattern are types
        for word in words.into_iter().filter(|word| alone || !starts_uppercase(word)) {
            self.variable_scope.variables.insert(word, (on, self.variable_scope.scope_end));
        }
    }
}
