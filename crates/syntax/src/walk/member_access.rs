//! Collects member accesses with their receivers: `self`, a type, a variable with a declared type, or a value whose type is
//! written.
//!
//! Does not know free functions, or types that only a compiler could infer: such an access is recorded with an unknown receiver.

use super::{DEPTH, Walk, is_capital, span};
use crate::facts::{On, Takes, Use, Written};
use rustc_hash::FxHashMap;
use tree_sitter::{Node, TreeCursor};

/// How a node kind accesses members. The strings are the grammar's field names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// `a.b`: receiver and name.
    Member(&'static str, &'static str),
    /// `a.b(c)` as one node: receiver, name and arguments.
    Method(&'static str, &'static str, &'static str),
    /// `f(c)`: function and arguments.
    Call(&'static str, &'static str),
    /// `new T()`, `(T) x`: a value of the type in this field.
    Typed(&'static str),
    /// `T { a: 1 }`: the type, and the body that names its members.
    Made(&'static str, &'static str),
    /// `(a)`, `&a`: equivalent to the inner expression.
    Same,
    /// `let a: T = b`: name, type and value.
    Variable(&'static str, &'static str, &'static str),
    /// A scope for variables.
    Scope,
    /// Inside a body, `self` or `this` refers to a different value here, whose type is unknown.
    Rebinds,
    /// A single word.
    Name,
}

/// How a language accesses members.
pub(crate) struct Asks {
    pub(crate) rows: &'static [(&'static str, Asked)],
    /// Keywords for the current instance or type: `self`, `this`.
    pub(crate) own: &'static [&'static str],
    /// Whether members can be accessed without an explicit receiver.
    pub(crate) sight: bool,
}

/// Types that give access to the members of the value they contain.
const HOLDERS: &[&str] = &["Box", "Rc", "Arc"];

/// Nodes that wrap a type without changing its members: `&T`, `: T`, `dyn T`.
const AROUND: &[&str] = &[
    "type",
    "type_annotation",
    "reference_type",
    "pointer_type",
    "dynamic_type",
    "abstract_type",
    "parenthesized_type",
];

/// Parameter nodes without types: `x => x.y`.
const UNTYPED: &[&str] = &["identifier", "lambda_parameters", "inferred_parameters", "closure_parameters"];

/// Nodes that declare fields with the syntax of variables.
const FIELDS: &[&str] = &["field_declaration", "constant_declaration"];

#[derive(Default)]
pub(super) struct Sight<'a> {
    variables: FxHashMap<&'a str, (On, u32)>,
    written: FxHashMap<Written, u32>,
    until: u32,
    in_body: bool,
    /// Whether the type of `self` or `this` is unknown at this point.
    foreign: bool,
}

impl<'a> Walk<'a> {
    /// Collects the member accesses of the whole tree.
    pub(super) fn ask_all(&mut self) {
        let root = self.root;
        self.sight.until = root.end_byte() as u32;
        self.depth = 0;
        self.ask_below(&mut root.walk());
    }

    /// The number of arguments that a parameter list accepts, in languages with overloads.
    pub(super) fn takes(&self, lists: &[Node<'a>]) -> Takes {
        let uncounted = Takes { least: 0, most: Takes::ANY, ..Takes::default() };
        let Some(list) = lists.first().filter(|_| self.dialect.overloads) else { return uncounted };
        let mut cursor = list.walk();
        let kinds: Vec<&str> = list.named_children(&mut cursor).map(|it| it.kind()).collect();
        if kinds.iter().any(|kind| !kind.ends_with("formal_parameter")) {
            return uncounted;
        }
        let count = kinds.len().min(254) as u8;
        Takes { least: count, most: count, ..Takes::default() }
    }

    /// The index of the type that a node spells out.
    pub(super) fn written_type(&mut self, node: Node<'a>) -> Option<u32> {
        match self.written(node) {
            On::Written(at) => Some(at),
            _ => None,
        }
    }

    fn written(&mut self, node: Node<'a>) -> On {
        let first = node.named_child(0);
        let kind = node.kind();
        if AROUND.contains(&kind) {
            let last = node.named_child(node.named_child_count().saturating_sub(1) as u32);
            return last.map_or(On::Unknown, |inner| self.written(inner));
        }
        if matches!(kind, "generic_type" | "array_type" | "slice_type") {
            let Some(first) = first else { return On::Unknown };
            let last = node.named_child(node.named_child_count() as u32 - 1).unwrap_or(first);
            return if kind == "generic_type" { self.generic(first, last) } else { self.list_of(first) };
        }
        match self.chain(node) {
            Some(words) if !words.is_empty() => self.named(&words, None),
            _ => On::Unknown,
        }
    }

    fn generic(&mut self, name: Node<'a>, arguments: Node<'a>) -> On {
        let count = arguments.named_child_count();
        let inner =
            arguments.named_child(count.saturating_sub(1) as u32).and_then(|it| self.written_type(it));
        let Some(words) = self.chain(name) else { return On::Unknown };
        match (words.last(), inner) {
            (Some(last), Some(inner)) if HOLDERS.contains(last) => On::Written(inner),
            _ => self.named(&words, Some((inner, count == 1))),
        }
    }

    fn list_of(&mut self, element: Node<'a>) -> On {
        let Some(inner) = self.written_type(element) else { return On::Unknown };
        self.keep(Written { path: None, inner: Some(inner), single: true })
    }

    fn named(&mut self, words: &[&'a str], inner: Option<(Option<u32>, bool)>) -> On {
        let (alias, words) = self.rooted(words);
        if words.is_empty() {
            return On::Unknown;
        }
        let path = Some(self.path(alias, &words));
        let (inner, single) = inner.unwrap_or_default();
        self.keep(Written { path, inner, single })
    }

    fn keep(&mut self, written: Written) -> On {
        let next = self.facts.written.len() as u32;
        let at = *self.sight.written.entry(written).or_insert(next);
        if at == next {
            self.facts.written.push(written);
        }
        On::Written(at)
    }

    fn ask_below(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let mut last = On::Unknown;
        if self.depth >= DEPTH {
            return last;
        }
        self.depth += 1;
        if cursor.goto_first_child() {
            loop {
                if cursor.node().is_named() {
                    last = self.ask(cursor);
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
    fn ask(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let node = cursor.node();
        match self.tables.asks.get(node.kind_id() as usize).copied().flatten() {
            Some(Asked::Member(of, name)) => self.ask_member(cursor, of, name),
            Some(Asked::Method(of, name, arguments)) => self.ask_method(cursor, of, name, arguments),
            Some(Asked::Call(function, arguments)) => self.ask_call(cursor, function, arguments),
            Some(Asked::Typed(field)) => {
                self.ask_below(cursor);
                node.child_by_field_name(field).map_or(On::Unknown, |declared| self.written(declared))
            }
            Some(Asked::Made(declared, body)) => self.ask_made(node, declared, body),
            Some(Asked::Same) => self.ask_below(cursor),
            Some(Asked::Variable(name, declared, value)) => self.ask_variable(node, name, declared, value),
            Some(Asked::Scope) => self.ask_scope(cursor),
            Some(Asked::Rebinds) => {
                let foreign = self.sight.foreign;
                self.sight.foreign |= self.sight.in_body;
                self.ask_below(cursor);
                self.sight.foreign = foreign;
                On::Unknown
            }
            Some(Asked::Name) => self.ask_name(node, cursor.field_name()),
            None => {
                self.ask_below(cursor);
                On::Unknown
            }
        }
    }

    fn ask_scope(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let node = cursor.node();
        let until = std::mem::replace(&mut self.sight.until, node.end_byte() as u32);
        let parameters =
            node.child_by_field_name("parameter").or_else(|| node.child_by_field_name("parameters"));
        if let Some(parameters) = parameters.filter(|it| UNTYPED.contains(&it.kind())) {
            self.bind(parameters, On::Unknown);
        }
        let outside = !std::mem::replace(&mut self.sight.in_body, true);
        self.ask_below(cursor);
        self.sight.in_body = !outside;
        self.sight.until = until;
        On::Unknown
    }

    fn ask_made(&mut self, node: Node<'a>, declared: &str, body: &str) -> On {
        let on = node.child_by_field_name(declared).map_or(On::Unknown, |declared| self.written(declared));
        let Some(body) = node.child_by_field_name(body) else { return on };
        let mut cursor = body.walk();
        for given in body.named_children(&mut cursor) {
            let key = given.child_by_field_name("field").or_else(|| given.child_by_field_name("key"));
            let alone = || given.named_child(0).filter(|_| given.kind() == "shorthand_field_initializer");
            let name = key.map(|key| key.named_child(0).unwrap_or(key)).or_else(alone);
            if let Some(name) = name.filter(|name| name.kind().ends_with("identifier")) {
                self.used(name, on);
            }
        }
        self.ask_below(&mut body.walk());
        on
    }

    fn sees_members(&self) -> bool {
        self.dialect.asks.sight && !self.sight.foreign
    }

    fn own(&self) -> On {
        if self.sight.foreign { On::Unknown } else { On::This }
    }

    fn ask_at(&mut self, node: Node<'a>) -> On {
        self.ask(&mut node.walk())
    }

    fn used(&mut self, name: Node<'a>, on: On) -> On {
        let word = self.word(self.text(name));
        let at = name.start_byte() as u32;
        self.facts.uses.push(Use { word, at, on, called: None, arity: 0 });
        On::Use(self.facts.uses.len() as u32 - 1)
    }

    fn ask_member(&mut self, cursor: &mut TreeCursor<'a>, of: &str, name: &str) -> On {
        let (mut on, mut found) = (On::Unknown, On::Unknown);
        self.each_part(cursor, |walk, cursor, field| match field {
            Some(field) if field == of => on = walk.asked_of(cursor),
            Some(field) if field == name => found = walk.used(cursor.node(), on),
            _ => {}
        });
        found
    }

    /// Calls `visit` with each child of a node and its field name. Reuses the cursor: a new cursor and a list of words for each
    /// child took a sixth of the time to read TypeScript.
    fn each_part(
        &mut self,
        cursor: &mut TreeCursor<'a>,
        mut visit: impl FnMut(&mut Self, &mut TreeCursor<'a>, Option<&'a str>),
    ) {
        if self.depth >= DEPTH || !cursor.goto_first_child() {
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

    fn ask_method(&mut self, cursor: &mut TreeCursor<'a>, of: &str, name: &str, arguments: &str) -> On {
        let mut on = if self.sees_members() { On::Sight } else { On::Unknown };
        let mut found = On::Unknown;
        self.each_part(cursor, |walk, cursor, field| match field {
            Some(field) if field == of => on = walk.asked_of(cursor),
            Some(field) if field == name => found = walk.used(cursor.node(), on),
            Some(field) if field == arguments => walk.called(cursor, found),
            _ => {}
        });
        found
    }

    fn ask_call(&mut self, cursor: &mut TreeCursor<'a>, function: &str, arguments: &str) -> On {
        let known = self.facts.uses.len() as u32;
        let mut found = On::Unknown;
        self.each_part(cursor, |walk, cursor, field| match field {
            // the called variable may hold a function from a member that was accessed much earlier
            Some(field) if field == function => match walk.ask(cursor) {
                On::Use(at) if at < known => {}
                on => found = on,
            },
            Some(field) if field == arguments => walk.called(cursor, found),
            _ => {}
        });
        found
    }

    /// Records the number of arguments of a call, and visits them.
    fn called(&mut self, cursor: &mut TreeCursor<'a>, found: On) {
        if let On::Use(at) = found {
            let count = cursor.node().named_child_count();
            self.facts.uses[at as usize].called = Some(count.min(254) as u8);
        }
        self.ask_below(cursor);
    }

    /// The receiver of a member access: a type, `self` or `this`, or another value.
    fn asked_of(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let node = cursor.node();
        if !node.is_named() {
            return On::Unknown;
        }
        let last = self.text(node).rsplit(['.', ':']).next().unwrap_or_default();
        if is_capital(last)
            && let Some(on) = self.asked_type(node)
        {
            return on;
        }
        match node.kind() {
            "super" => On::Base,
            _ => self.ask(cursor),
        }
    }

    /// `A`, `a.b.C`: a type, unless the first word is a variable, `self` or `this`.
    fn asked_type(&mut self, node: Node<'a>) -> Option<On> {
        let words = self.chain(node)?;
        match words.as_slice() {
            [own] if self.dialect.asks.own.contains(own) => Some(self.own()),
            [first, ..] if self.dialect.asks.own.contains(first) => None,
            [first, ..] if self.variable(first, node.start_byte() as u32).is_none() => {
                Some(self.named(&words, None))
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str, at: u32) -> Option<On> {
        self.sight.variables.get(name).filter(|(_, until)| at < *until).map(|(on, _)| *on)
    }

    fn ask_name(&mut self, node: Node<'a>, field: Option<&str>) -> On {
        let text = self.text(node);
        if self.dialect.asks.own.contains(&text) {
            return self.own();
        }
        match self.variable(text, node.start_byte() as u32) {
            Some(on) => on,
            None if is_capital(text) => self.named(&[text], None),
            None if self.sees_members() && !matches!(field, Some("name" | "label" | "key")) => {
                self.used(node, On::Sight)
            }
            None => On::Unknown,
        }
    }

    fn ask_variable(&mut self, node: Node<'a>, name: &str, declared: &str, value: &str) -> On {
        let given = node.child_by_field_name(value).map_or(On::Unknown, |value| self.ask_at(value));
        let declared = node.child_by_field_name(declared).or_else(|| {
            // `int a, b`: the type is a field of the parent
            node.parent().filter(|_| node.kind() == "variable_declarator")?.child_by_field_name(declared)
        });
        let inferred = declared.is_none_or(|declared| self.text(declared) == "var");
        let on = match declared.filter(|_| !inferred) {
            Some(declared) => self.written(declared),
            None if matches!(given, On::Written(_) | On::Use(_)) => given,
            None => On::Unknown,
        };
        // some grammars have no field for the name; without one, the whole pattern is bound
        let first = node.named_child(0).filter(|_| !name.is_empty());
        if !node.parent().is_some_and(|parent| FIELDS.contains(&parent.kind())) {
            self.bind(node.child_by_field_name(name).or(first).unwrap_or(node), on);
        }
        self.ask_rest(node, [name, value]);
        On::Unknown
    }

    /// Visits the children of a variable other than its name and value, such as the body of a loop.
    fn ask_rest(&mut self, node: Node<'a>, without: [&str; 2]) {
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let known = cursor.field_name().is_some_and(|field| without.contains(&field));
            if cursor.node().is_named() && !known {
                self.ask(&mut cursor);
            }
            more = cursor.goto_next_sibling();
        }
    }

    /// Binds a variable. For a pattern, binds every word with an unknown type.
    fn bind(&mut self, pattern: Node<'a>, on: On) {
        let words: Vec<&'a str> =
            self.source.within(span(pattern)).map(|token| self.source.of(token)).collect();
        let alone = words.len() == 1 || words.len() == 2 && words[0] == "mut";
        let on = if alone { on } else { On::Unknown };
        // uppercase words in a pattern are types
        for word in words.into_iter().filter(|word| alone || !is_capital(word)) {
            self.sight.variables.insert(word, (on, self.sight.until));
        }
    }
}
