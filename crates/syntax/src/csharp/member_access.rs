//! Collects member accesses in a C# tree with their receivers, as far as one file determines them: `this`, a variable with a
//! declared type, the value of another member.
//!
//! Does not resolve names, and does not record constructors, indexers and operators: they are used without a name.

use super::kinds::Kind;
use super::walk::{Chain, Variable, Walk, child};
use crate::facts::{On, Takes, Use, Written};
use tree_sitter::{Node, TreeCursor};

impl<'a> Walk<'a> {
    /// Starts a member with no variables in scope.
    pub(crate) fn begin_member(&mut self, node: Node<'a>, of_types: usize) {
        self.sight.of_types = of_types;
        self.sight.variables.clear();
        self.sight.until = node.end_byte() as u32;
        let declared = node.child_by_field_name("returns").or_else(|| node.child_by_field_name("type"));
        let declared = declared
            .or_else(|| child(node, Kind::VariableDeclaration).and_then(|it| it.child_by_field_name("type")));
        self.sight.gives = declared.and_then(|declared| match self.written(declared) {
            On::Written(written) => Some(written),
            _ => None,
        });
    }

    /// The type of the value or result of the current member.
    pub(crate) fn gives(&self) -> Option<u32> {
        self.sight.gives
    }

    /// The number of arguments that a declaration accepts.
    fn takes(&mut self, node: Node<'a>) -> Takes {
        let mut takes = Takes::default();
        let Some(list) = node.child_by_field_name("parameters") else { return takes };
        let mut cursor = list.walk();
        for parameter in list.children(&mut cursor) {
            if parameter.kind() == "params" {
                takes.most = Takes::ANY;
            } else if Kind::of(parameter) == Kind::Parameter {
                let first = takes.most == 0;
                takes.most = takes.most.saturating_add(1);
                let optional = parameter.children(&mut parameter.walk()).any(|it| it.kind() == "=");
                takes.least += u8::from(!optional && takes.least < Takes::ANY);
                if first && self.modifiers(parameter).contains(&"this") {
                    takes.extends = true;
                    takes.receiver = self.parameter_type(parameter);
                }
            }
        }
        takes
    }

    /// The number of arguments, including the receiver for a member of an extension block: it is the first argument when the member
    /// is called by its full name.
    pub(crate) fn takes_with_receiver(&mut self, node: Node<'a>) -> Takes {
        let takes = self.takes(node);
        let Some(parameter) = self.sight.receiver else { return takes };
        let (least, most) = (takes.least.saturating_add(1), takes.most.saturating_add(1));
        Takes { least, most, extends: true, receiver: self.parameter_type(parameter) }
    }

    /// Enters or leaves an extension block.
    pub(crate) fn receive(&mut self, list: Option<Node<'a>>) {
        self.sight.receiver = list.and_then(|list| child(list, Kind::Parameter));
    }

    /// Sets the types of the properties that a record has for its parameters.
    pub(crate) fn give_positional(&mut self, part: u32, node: Node<'a>) {
        if self.facts.types[part as usize].members.is_empty() {
            return;
        }
        let Some(list) = child(node, Kind::ParameterList) else { return };
        let mut cursor = list.walk();
        let parameters = list.named_children(&mut cursor).filter(|it| Kind::of(*it) == Kind::Parameter);
        for (at, parameter) in parameters.enumerate() {
            let gives = self.parameter_type(parameter);
            if let Some(member) = self.facts.types[part as usize].members.get_mut(at) {
                member.gives = gives;
            }
        }
    }

    fn parameter_type(&mut self, parameter: Node<'a>) -> Option<u32> {
        match self.written(parameter.child_by_field_name("type")?) {
            On::Written(written) => Some(written),
            _ => None,
        }
    }

    pub(crate) fn bind(&mut self, name: &'a str, on: On) -> On {
        let until = self.sight.until;
        self.sight.variables.insert(name, Variable { on, until });
        On::Unknown
    }

    /// Drops presumed member references to local functions that are declared further down.
    pub(crate) fn forget_local_functions(&mut self, from: usize) {
        if self.sight.functions.is_empty() {
            return;
        }
        let names = std::mem::take(&mut self.sight.functions);
        let Walk { facts, .. } = self;
        for used in facts.uses[from..].iter_mut().filter(|used| used.on == On::Sight) {
            if names.contains(&&*facts.words[used.word as usize]) {
                used.on = On::Outside;
            }
        }
    }

    pub(crate) fn bind_function(&mut self, name: &'a str) {
        self.bind(name, On::Unknown);
        self.sight.functions.push(name);
    }

    fn variable(&self, name: &str, at: u32) -> Option<On> {
        self.sight.variables.get(name).filter(|variable| at < variable.until).map(|variable| variable.on)
    }

    /// The receiver that a variable of a written type is.
    pub(crate) fn written(&mut self, node: Node<'a>) -> On {
        let written = match Kind::of(node) {
            Kind::PredefinedType => Written::PREDEFINED,
            Kind::NullableType | Kind::RefType => {
                return node.child_by_field_name("type").map_or(On::Unknown, |inner| self.written(inner));
            }
            Kind::ArrayType => {
                let inner = node.child_by_field_name("type").map(|inner| self.written(inner));
                let Some(On::Written(inner)) = inner else { return On::Unknown };
                Written { path: None, inner: Some(inner), single: true }
            }
            Kind::Identifier | Kind::GenericName | Kind::QualifiedName | Kind::AliasQualifiedName => {
                match self.named(node) {
                    Some(written) => written,
                    None => return On::Unknown,
                }
            }
            _ => return On::Unknown,
        };
        let next = self.facts.written.len() as u32;
        let at = *self.sight.written.entry(written).or_insert(next);
        if at == next {
            self.facts.written.push(written);
        }
        On::Written(at)
    }

    fn named(&mut self, node: Node<'a>) -> Option<Written> {
        let mut chain = Chain::default();
        self.flatten(node, &mut chain)?;
        if self.is_type_parameter(&chain) {
            let known = &self.type_parameters[..self.sight.of_types.min(self.type_parameters.len())];
            return known.contains(&chain.parts[0].word).then_some(Written::PARAMETER);
        }
        // `dynamic` accepts any member
        if chain.parts.iter().all(|part| part.word == "dynamic") {
            return None;
        }
        let path = self.path_of(&chain)?;
        let last = match Kind::of(node) {
            Kind::QualifiedName | Kind::AliasQualifiedName => node.child_by_field_name("name")?,
            _ => node,
        };
        let arguments = last.named_child(1).filter(|_| Kind::of(last) == Kind::GenericName);
        let count = arguments.map_or(0, |list| list.named_child_count());
        let inner = arguments.filter(|_| count > 0).and_then(|list| list.named_child(count as u32 - 1));
        let inner = inner.and_then(|inner| match self.written(inner) {
            On::Written(inner) => Some(inner),
            _ => None,
        });
        Some(Written { path: Some(path), inner, single: count == 1 })
    }

    fn ask(&mut self, word: &'a str, end: u32, arity: u16, on: On) -> On {
        let at = end - word.len() as u32;
        let word = self.word(word);
        self.facts.uses.push(Use { word, at, on, called: None, arity: arity.min(255) as u8 });
        On::Use(self.facts.uses.len() as u32 - 1)
    }

    /// Accesses an unqualified name in a value position.
    pub(crate) fn bare(&mut self, node: Node<'a>) -> On {
        self.ask_name(node, On::Sight)
    }

    /// Accesses a name on a receiver: `B` in `a.B<C>`.
    fn ask_name(&mut self, node: Node<'a>, on: On) -> On {
        let mut chain = std::mem::take(&mut self.chain);
        chain.alias = None;
        chain.parts.clear();
        let mut found = On::Unknown;
        if self.flatten(node, &mut chain).is_some() {
            found = match (on, chain.parts.as_slice()) {
                (On::Sight, _) => self.ask_along(&chain),
                (on, [part]) => self.ask(part.word, part.end, part.arity, on),
                _ => On::Unknown,
            };
        }
        self.chain = chain;
        found
    }

    /// Accesses each part of `a.B.C` on the part before it.
    pub(crate) fn ask_along(&mut self, chain: &Chain<'a>) -> On {
        let mut parts = chain.parts.iter();
        let mut on = match chain.alias {
            Some("global") => On::Root,
            Some(_) => return On::Unknown,
            None if self.is_type_parameter(chain) => return On::Unknown,
            None => On::Sight,
        };
        if on == On::Sight {
            let Some(first) = parts.next() else { return On::Unknown };
            on = self
                .variable(first.word, first.end)
                .unwrap_or_else(|| self.ask(first.word, first.end, first.arity, On::Sight));
        }
        parts.fold(on, |on, part| self.ask(part.word, part.end, part.arity, on))
    }

    /// Accesses `x.Name`, where `x` is not a plain name.
    pub(crate) fn asked(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let on = self.asked_first(cursor);
        let Some(name) = cursor.node().child_by_field_name("name") else { return On::Unknown };
        self.asked_name(name, on)
    }

    /// Accesses `x?.Name` or `x?[i]`.
    fn asked_unless_null(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let on = self.asked_first(cursor);
        let node = cursor.node();
        let Some(last) = node.named_child(node.named_child_count().saturating_sub(1) as u32) else {
            return on;
        };
        if let Some(name) = last.child_by_field_name("name").filter(|_| Kind::of(last) == Kind::MemberBinding)
        {
            return self.asked_name(name, on);
        }
        self.below(&mut last.walk());
        element(&self.facts.written, on, true)
    }

    /// Visits the expression before the dot.
    fn asked_first(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let parent = cursor.node();
        if !cursor.goto_first_child() {
            return On::Unknown;
        }
        let first = cursor.node();
        let on = match first.kind() {
            "this" => On::This,
            "base" => On::Base,
            _ if first.is_named() => self.visit(cursor, parent),
            _ => On::Unknown,
        };
        cursor.goto_parent();
        on
    }

    fn asked_name(&mut self, name: Node<'a>, on: On) -> On {
        let found = self.ask_name(name, on);
        self.type_arguments(name);
        found
    }

    /// Visits an expression that is neither a name nor a member access.
    pub(crate) fn expression(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) -> On {
        match kind {
            Kind::Invocation => self.call(cursor),
            Kind::ConditionalAccess => self.asked_unless_null(cursor),
            Kind::Parenthesized | Kind::Postfix | Kind::Checked => self.below(cursor),
            Kind::Cast | Kind::Default => self.typed(cursor, "type"),
            Kind::As => self.typed(cursor, "right"),
            Kind::Creation | Kind::ImplicitCreation => self.creation(cursor),
            Kind::With => self.with(cursor),
            Kind::Await => {
                let on = self.below(cursor);
                element(&self.facts.written, on, false)
            }
            Kind::ElementAccess => self.indexed(cursor),
            Kind::Conditional => self.branches(cursor, "consequence", "alternative"),
            Kind::Binary if cursor.node().child(1).is_some_and(|mark| mark.kind() == "??") => {
                self.branches(cursor, "left", "right")
            }
            Kind::PredefinedType
            | Kind::Boolean
            | Kind::Character
            | Kind::Integer
            | Kind::Real
            | Kind::Text
            | Kind::VerbatimString
            | Kind::RawString => On::Outside,
            Kind::Interpolated | Kind::TypeOf | Kind::SizeOf | Kind::Is | Kind::IsPattern => {
                self.below(cursor);
                On::Outside
            }
            Kind::Declarator => self.declarator(cursor),
            Kind::Foreach => self.foreach(cursor),
            Kind::RecursivePattern => self.pattern(cursor),
            Kind::Accessor => self.in_accessor(cursor),
            Kind::Block
            | Kind::For
            | Kind::UsingStatement
            | Kind::Fixed
            | Kind::Lambda
            | Kind::AnonymousMethod
            | Kind::Catch
            | Kind::SwitchArm
            | Kind::Query => self.scoped(cursor),
            kind => {
                self.declaration(kind, cursor);
                On::Unknown
            }
        }
    }

    /// Visits a node that is a scope for variables.
    pub(crate) fn scoped(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let until = std::mem::replace(&mut self.sight.until, cursor.node().end_byte() as u32);
        self.below(cursor);
        self.sight.until = until;
        On::Unknown
    }

    fn call(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let known = self.facts.uses.len() as u32;
        let (mut function, mut arguments) = (On::Unknown, 0);
        self.each(cursor, |walk, cursor, parent| {
            let on = walk.visit(cursor, parent);
            match cursor.field_name() {
                Some("function") => function = on,
                _ => arguments = cursor.node().named_child_count(),
            }
        });
        match function {
            // the called variable may hold a function from a member that was accessed much earlier
            On::Use(at) if at >= known => {
                self.facts.uses[at as usize].called = Some(arguments.min(254) as u8);
                function
            }
            _ => On::Unknown,
        }
    }

    fn typed(&mut self, cursor: &mut TreeCursor<'a>, field: &str) -> On {
        self.below(cursor);
        cursor.node().child_by_field_name(field).map_or(On::Unknown, |declared| self.written(declared))
    }

    /// `new T(…) { A = 1 }`: `A` is accessed on the created value.
    fn creation(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let declared = cursor.node().child_by_field_name("type");
        let on = declared.map_or(On::Unknown, |declared| self.written(declared));
        self.each(cursor, |walk, cursor, parent| match Kind::of(cursor.node()) {
            Kind::Initializer => walk.initializer(cursor, on),
            _ => drop(walk.visit(cursor, parent)),
        });
        on
    }

    fn initializer(&mut self, cursor: &mut TreeCursor<'a>, on: On) {
        self.each(cursor, |walk, cursor, parent| {
            let node = cursor.node();
            let left = node.child_by_field_name("left").filter(|left| Kind::of(*left) == Kind::Identifier);
            match left.filter(|_| Kind::of(node) == Kind::Assignment) {
                Some(left) => walk.assigned(cursor, left, on),
                None => drop(walk.visit(cursor, parent)),
            }
        });
    }

    fn assigned(&mut self, cursor: &mut TreeCursor<'a>, left: Node<'a>, on: On) {
        let member = self.ask_name(left, on);
        self.each(cursor, |walk, cursor, parent| match Kind::of(cursor.node()) {
            _ if cursor.node() == left => {}
            Kind::Initializer => walk.initializer(cursor, member),
            _ => drop(walk.visit(cursor, parent)),
        });
    }

    /// `x with { A = 1 }`.
    fn with(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let mut on = On::Unknown;
        self.each(cursor, |walk, cursor, parent| {
            if Kind::of(cursor.node()) == Kind::WithInitializer {
                if let Some(name) = cursor.node().named_child(0) {
                    walk.ask_name(name, on);
                }
                walk.below(cursor);
            } else {
                on = walk.visit(cursor, parent);
            }
        });
        on
    }

    fn indexed(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let mut on = On::Unknown;
        self.each(cursor, |walk, cursor, parent| {
            let found = walk.visit(cursor, parent);
            if cursor.field_name() == Some("expression") {
                on = found;
            }
        });
        element(&self.facts.written, on, true)
    }

    /// Visits two alternatives; returns the first with a known type.
    fn branches(&mut self, cursor: &mut TreeCursor<'a>, one: &str, other: &str) -> On {
        let (mut first, mut second) = (On::Unknown, On::Unknown);
        self.each(cursor, |walk, cursor, parent| {
            let found = walk.visit(cursor, parent);
            match cursor.field_name() {
                Some(field) if field == one => first = found,
                Some(field) if field == other => second = found,
                _ => {}
            }
        });
        if first == On::Unknown { second } else { first }
    }

    /// `var x = …` has the type of the value.
    fn declarator(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let node = cursor.node();
        let on = self.below(cursor);
        let declared = node.parent().and_then(|parent| parent.child_by_field_name("type"));
        let name = node.child_by_field_name("name").filter(|_| node.named_child_count() > 1);
        if let Some(name) = name.filter(|_| declared.is_some_and(|it| it.kind() == "implicit_type")) {
            self.bind(self.text(name), on);
        }
        On::Unknown
    }

    fn foreach(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let node = cursor.node();
        let until = std::mem::replace(&mut self.sight.until, node.end_byte() as u32);
        let inferred = node.child_by_field_name("type").is_some_and(|it| it.kind() == "implicit_type");
        let name = node.child_by_field_name("left").filter(|it| Kind::of(*it) == Kind::Identifier);
        self.each(cursor, |walk, cursor, parent| {
            let on = walk.visit(cursor, parent);
            if let Some(name) = name.filter(|_| inferred && cursor.field_name() == Some("right")) {
                let on = element(&walk.facts.written, on, false);
                walk.bind(walk.text(name), on);
            }
        });
        self.sight.until = until;
        On::Unknown
    }

    /// `T { A: 1 } x`: `A` is accessed on a `T`.
    fn pattern(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let declared = cursor.node().child_by_field_name("type");
        let on = declared.map_or(On::Unknown, |declared| self.written(declared));
        self.each(cursor, |walk, cursor, parent| {
            if Kind::of(cursor.node()) == Kind::PropertyPattern {
                walk.each(cursor, |walk, cursor, parent| {
                    let name =
                        cursor.node().named_child(0).filter(|name| Kind::of(*name) == Kind::Identifier);
                    let named = |name: &Node| name.next_sibling().is_some_and(|next| next.kind() == ":");
                    if let Some(name) = name.filter(named) {
                        walk.ask_name(name, on);
                    }
                    walk.visit(cursor, parent);
                });
            } else {
                walk.visit(cursor, parent);
            }
        });
        On::Unknown
    }

    fn in_accessor(&mut self, cursor: &mut TreeCursor<'a>) -> On {
        let until = std::mem::replace(&mut self.sight.until, cursor.node().end_byte() as u32);
        let on = self.sight.gives.map_or(On::Unknown, On::Written);
        self.bind("value", on);
        self.below(cursor);
        self.sight.until = until;
        On::Unknown
    }
}

/// An element of a list-like value.
fn element(written: &[Written], on: On, indexed: bool) -> On {
    match on {
        On::Written(at) => match written[at as usize] {
            Written { inner: Some(inner), single, .. } if single || indexed => On::Written(inner),
            _ => On::Unknown,
        },
        On::Use(at) if indexed => On::Indexed(at),
        On::Use(at) => On::Element(at),
        On::Outside => On::Outside,
        _ => On::Unknown,
    }
}
