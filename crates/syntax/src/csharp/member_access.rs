//! Collects member accesses in a C# tree with their receivers, as far as one file determines them: `this`, a variable with a
//! declared type, the value of another member.
//!
//! Does not resolve names, and does not record constructors, indexers and operators: they are used without a name.

use super::kinds::Kind;
use super::references::MAX_DEPTH;
use super::walk::{NameChain, Variable, Walk, child_of_kind};
use crate::ancestors::sibling_after;
use facts::{MemberReference, ParameterCount, ReceiverExpr, WrittenType};
use rustc_hash::FxHashSet;
use tree_sitter::{Node, TreeCursor};

impl<'a> Walk<'a> {
    /// Starts a member with no variables in scope.
    pub(crate) fn begin_member(&mut self, node: Node<'a>, of_types: usize) {
        self.variable_scope.type_level_parameters = of_types;
        self.variable_scope.variables.clear();
        self.variable_scope.scope_end = node.end_byte() as u32;
        let declared = node.child_by_field_name("returns").or_else(|| node.child_by_field_name("type"));
        let declared = declared.or_else(|| {
            child_of_kind(node, Kind::VariableDeclaration).and_then(|it| it.child_by_field_name("type"))
        });
        self.variable_scope.result_type =
            declared.and_then(|declared| match self.written_type_receiver(declared) {
                ReceiverExpr::Typed(written) => Some(written),
                _ => None,
            });
    }

    /// The type of the value or result of the current member.
    pub(crate) fn result_type(&self) -> Option<u32> {
        self.variable_scope.result_type
    }

    /// The number of arguments that a declaration accepts.
    fn parameter_count(&mut self, node: Node<'a>) -> ParameterCount {
        let mut takes = ParameterCount::default();
        let Some(list) = node.child_by_field_name("parameters") else { return takes };
        let mut cursor = list.walk();
        for parameter in list.children(&mut cursor) {
            if parameter.kind() == "params" {
                takes.max = ParameterCount::UNLIMITED;
            } else if Kind::of_node(parameter) == Kind::Parameter {
                let first = takes.max == 0;
                takes.max = takes.max.saturating_add(1);
                let optional = parameter.children(&mut parameter.walk()).any(|it| it.kind() == "=");
                takes.min += u8::from(!optional && takes.min < ParameterCount::UNLIMITED);
                if first && self.sorted_modifiers(parameter).contains(&"this") {
                    takes.is_extension = true;
                    takes.receiver_type = self.parameter_written_type(parameter);
                }
            }
        }
        takes
    }

    /// The number of arguments, including the receiver for a member of an extension block: it is the first argument when the member
    /// is called by its full name.
    pub(crate) fn parameter_count_with_receiver(&mut self, node: Node<'a>) -> ParameterCount {
        let takes = self.parameter_count(node);
        let Some(parameter) = self.variable_scope.extension_parameter else { return takes };
        let (least, most) = (takes.min.saturating_add(1), takes.max.saturating_add(1));
        ParameterCount {
            min: least,
            max: most,
            is_extension: true,
            receiver_type: self.parameter_written_type(parameter),
        }
    }

    /// Enters or leaves an extension block.
    pub(crate) fn set_extension_parameter(&mut self, list: Option<Node<'a>>) {
        self.variable_scope.extension_parameter = list.and_then(|list| child_of_kind(list, Kind::Parameter));
    }

    /// Sets the types of the properties that a record has for its parameters.
    pub(crate) fn set_positional_types(&mut self, part: u32, node: Node<'a>) {
        if self.facts.types[part as usize].members.is_empty() {
            return;
        }
        let Some(list) = child_of_kind(node, Kind::ParameterList) else { return };
        let mut cursor = list.walk();
        let parameters = list.named_children(&mut cursor).filter(|it| Kind::of_node(*it) == Kind::Parameter);
        for (at, parameter) in parameters.enumerate() {
            let gives = self.parameter_written_type(parameter);
            if let Some(member) = self.facts.types[part as usize].members.get_mut(at) {
                member.result_type = gives;
            }
        }
    }

    fn parameter_written_type(&mut self, parameter: Node<'a>) -> Option<u32> {
        match self.written_type_receiver(parameter.child_by_field_name("type")?) {
            ReceiverExpr::Typed(written) => Some(written),
            _ => None,
        }
    }

    pub(crate) fn bind_variable(&mut self, name: &'a str, on: ReceiverExpr) -> ReceiverExpr {
        let until = self.variable_scope.scope_end;
        self.variable_scope.variables.insert(name, Variable { receiver: on, scope_end: until });
        ReceiverExpr::Unknown
    }

    /// Drops presumed member references to local functions that are declared further down.
    pub(crate) fn drop_local_functions(&mut self, from: usize) {
        if self.variable_scope.local_functions.is_empty() {
            return;
        }
        let names: FxHashSet<&str> = self.variable_scope.local_functions.drain(..).collect();
        let Walk { facts, .. } = self;
        for used in
            facts.member_references[from..].iter_mut().filter(|used| used.receiver == ReceiverExpr::Implicit)
        {
            if names.contains(&*facts.words[used.word as usize]) {
                used.receiver = ReceiverExpr::External;
            }
        }
    }

    pub(crate) fn bind_local_function(&mut self, name: &'a str) {
        self.bind_variable(name, ReceiverExpr::Unknown);
        self.variable_scope.local_functions.push(name);
    }

    fn variable_receiver(&self, name: &str, at: u32) -> Option<ReceiverExpr> {
        self.variable_scope
            .variables
            .get(name)
            .filter(|variable| at < variable.scope_end)
            .map(|variable| variable.receiver)
    }

    /// The receiver that a variable of a written type is.
    pub(crate) fn written_type_receiver(&mut self, node: Node<'a>) -> ReceiverExpr {
        if self.open.len() >= MAX_DEPTH as usize || !self.budget.spend(1) {
            return ReceiverExpr::Unknown;
        }
        self.open.push(node);
        let on = self.read_written_type(node);
        self.open.pop();
        on
    }

    fn read_written_type(&mut self, node: Node<'a>) -> ReceiverExpr {
        let written = match Kind::of_node(node) {
            Kind::PredefinedType => WrittenType::PREDEFINED,
            Kind::NullableType | Kind::RefType => {
                return node
                    .child_by_field_name("type")
                    .map_or(ReceiverExpr::Unknown, |inner| self.written_type_receiver(inner));
            }
            Kind::ArrayType => {
                let inner = node.child_by_field_name("type").map(|inner| self.written_type_receiver(inner));
                let Some(ReceiverExpr::Typed(inner)) = inner else { return ReceiverExpr::Unknown };
                WrittenType { path: None, element: Some(inner), has_single_argument: true }
            }
            Kind::Identifier | Kind::GenericName | Kind::QualifiedName | Kind::AliasQualifiedName => {
                match self.named_written_type(node) {
                    Some(written) => written,
                    None => return ReceiverExpr::Unknown,
                }
            }
            _ => return ReceiverExpr::Unknown,
        };
        let next = self.facts.written_types.len() as u32;
        let at = *self.variable_scope.written_types.entry(written).or_insert(next);
        if at == next {
            self.facts.written_types.push(written);
        }
        ReceiverExpr::Typed(at)
    }

    fn named_written_type(&mut self, node: Node<'a>) -> Option<WrittenType> {
        let mut chain = NameChain::default();
        self.flatten_chain(node, &mut chain)?;
        if self.is_type_parameter(&chain) {
            let known = &self.type_parameters
                [..self.variable_scope.type_level_parameters.min(self.type_parameters.len())];
            return known.contains(&chain.parts[0].word).then_some(WrittenType::TYPE_PARAMETER);
        }
        // `dynamic` accepts any member
        if chain.parts.iter().all(|part| part.word == "dynamic") {
            return None;
        }
        let path = self.intern_chain(&chain)?;
        let last = match Kind::of_node(node) {
            Kind::QualifiedName | Kind::AliasQualifiedName => node.child_by_field_name("name")?,
            _ => node,
        };
        let arguments = last.named_child(1).filter(|_| Kind::of_node(last) == Kind::GenericName);
        let count = arguments.map_or(0, |list| list.named_child_count());
        let inner = arguments.filter(|_| count > 0).and_then(|list| list.named_child(count as u32 - 1));
        let inner = inner.and_then(|inner| match self.written_type_receiver(inner) {
            ReceiverExpr::Typed(inner) => Some(inner),
            _ => None,
        });
        Some(WrittenType { path: Some(path), element: inner, has_single_argument: count == 1 })
    }

    fn push_member_reference(
        &mut self,
        word: &'a str,
        end: u32,
        arity: u16,
        on: ReceiverExpr,
    ) -> ReceiverExpr {
        let at = end - word.len() as u32;
        let word = self.intern_word(word);
        self.facts.member_references.push(MemberReference {
            word,
            at,
            receiver: on,
            argument_count: None,
            arity: arity.min(255) as u8,
        });
        ReceiverExpr::Member(self.facts.member_references.len() as u32 - 1)
    }

    /// Accesses an unqualified name in a value position.
    pub(crate) fn access_bare_name(&mut self, node: Node<'a>) -> ReceiverExpr {
        self.access_name(node, ReceiverExpr::Implicit)
    }

    /// Accesses a name on a receiver: `B` in `a.B<C>`.
    fn access_name(&mut self, node: Node<'a>, on: ReceiverExpr) -> ReceiverExpr {
        let mut chain = std::mem::take(&mut self.chain);
        chain.alias = None;
        chain.parts.clear();
        let mut found = ReceiverExpr::Unknown;
        if self.flatten_chain(node, &mut chain).is_some() {
            found = match (on, chain.parts.as_slice()) {
                (ReceiverExpr::Implicit, _) => self.access_chain(&chain),
                (on, [part]) => self.push_member_reference(part.word, part.end, part.arity, on),
                _ => ReceiverExpr::Unknown,
            };
        }
        self.chain = chain;
        found
    }

    /// Accesses each part of `a.B.C` on the part before it.
    pub(crate) fn access_chain(&mut self, chain: &NameChain<'a>) -> ReceiverExpr {
        let mut parts = chain.parts.iter();
        let mut on = match chain.alias {
            Some("global") => ReceiverExpr::Global,
            Some(_) => return ReceiverExpr::Unknown,
            None if self.is_type_parameter(chain) => return ReceiverExpr::Unknown,
            None => ReceiverExpr::Implicit,
        };
        if on == ReceiverExpr::Implicit {
            let Some(first) = parts.next() else { return ReceiverExpr::Unknown };
            on = self.variable_receiver(first.word, first.end).unwrap_or_else(|| {
                self.push_member_reference(first.word, first.end, first.arity, ReceiverExpr::Implicit)
            });
        }
        parts.fold(on, |on, part| self.push_member_reference(part.word, part.end, part.arity, on))
    }

    /// Accesses `x.Name`, where `x` is not a plain name.
    pub(crate) fn access_member(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let on = self.visit_receiver(cursor);
        let Some(name) = cursor.node().child_by_field_name("name") else { return ReceiverExpr::Unknown };
        self.access_generic_name(name, on)
    }

    /// Accesses `x?.Name` or `x?[i]`.
    fn access_conditionally(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let on = self.visit_receiver(cursor);
        let node = cursor.node();
        let Some(last) = node.named_child(node.named_child_count().saturating_sub(1) as u32) else {
            return on;
        };
        if let Some(name) =
            last.child_by_field_name("name").filter(|_| Kind::of_node(last) == Kind::MemberBinding)
        {
            return self.access_generic_name(name, on);
        }
        self.visit_children(&mut last.walk());
        element_receiver(&self.facts.written_types, on, true)
    }

    /// Visits the expression before the dot.
    fn visit_receiver(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let parent = cursor.node();
        if !cursor.goto_first_child() {
            return ReceiverExpr::Unknown;
        }
        let first = cursor.node();
        let on = match first.kind() {
            "this" => ReceiverExpr::This,
            "base" => ReceiverExpr::Base,
            _ if first.is_named() => self.visit(cursor, parent),
            _ => ReceiverExpr::Unknown,
        };
        cursor.goto_parent();
        on
    }

    fn access_generic_name(&mut self, name: Node<'a>, on: ReceiverExpr) -> ReceiverExpr {
        let found = self.access_name(name, on);
        self.visit_type_arguments(name);
        found
    }

    /// Visits an expression that is neither a name nor a member access.
    pub(crate) fn visit_expression(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        match kind {
            Kind::Invocation => self.visit_call(cursor),
            Kind::ConditionalAccess => self.access_conditionally(cursor),
            Kind::Parenthesized | Kind::Postfix | Kind::Checked => self.visit_children(cursor),
            Kind::Cast | Kind::Default => self.visit_typed(cursor, "type"),
            Kind::As => self.visit_typed(cursor, "right"),
            Kind::Creation | Kind::ImplicitCreation => self.visit_creation(cursor),
            Kind::With => self.visit_with(cursor),
            Kind::Await => {
                let on = self.visit_children(cursor);
                element_receiver(&self.facts.written_types, on, false)
            }
            Kind::ElementAccess => self.visit_element_access(cursor),
            Kind::Conditional => self.visit_branches(cursor, "consequence", "alternative"),
            Kind::Binary if cursor.node().child(1).is_some_and(|mark| mark.kind() == "??") => {
                self.visit_branches(cursor, "left", "right")
            }
            Kind::PredefinedType
            | Kind::Boolean
            | Kind::Character
            | Kind::Integer
            | Kind::Real
            | Kind::Text
            | Kind::VerbatimString
            | Kind::RawString => ReceiverExpr::External,
            Kind::Interpolated | Kind::TypeOf | Kind::SizeOf | Kind::Is | Kind::IsPattern => {
                self.visit_children(cursor);
                ReceiverExpr::External
            }
            Kind::Declarator => self.visit_declarator(cursor),
            Kind::Foreach => self.visit_foreach(cursor),
            Kind::RecursivePattern => self.visit_pattern(cursor),
            Kind::Accessor => self.visit_accessor(cursor),
            Kind::Block
            | Kind::For
            | Kind::UsingStatement
            | Kind::Fixed
            | Kind::Lambda
            | Kind::AnonymousMethod
            | Kind::Catch
            | Kind::SwitchArm
            | Kind::Query => self.visit_scoped(cursor),
            kind => {
                self.read_declaration(kind, cursor);
                ReceiverExpr::Unknown
            }
        }
    }

    /// Visits a node that is a scope for variables.
    pub(crate) fn visit_scoped(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let until = std::mem::replace(&mut self.variable_scope.scope_end, cursor.node().end_byte() as u32);
        self.visit_children(cursor);
        self.variable_scope.scope_end = until;
        ReceiverExpr::Unknown
    }

    fn visit_call(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let known = self.facts.member_references.len() as u32;
        let (mut function, mut arguments) = (ReceiverExpr::Unknown, 0);
        self.for_each_child(cursor, |walk, cursor, parent| {
            let on = walk.visit(cursor, parent);
            match cursor.field_name() {
                Some("function") => function = on,
                _ => arguments = cursor.node().named_child_count(),
            }
        });
        match function {
            // the called variable may hold a function from a member that was accessed much earlier
            ReceiverExpr::Member(at) if at >= known => {
                self.facts.member_references[at as usize].argument_count = Some(arguments.min(254) as u8);
                function
            }
            _ => ReceiverExpr::Unknown,
        }
    }

    fn visit_typed(&mut self, cursor: &mut TreeCursor<'a>, field: &str) -> ReceiverExpr {
        self.visit_children(cursor);
        cursor
            .node()
            .child_by_field_name(field)
            .map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared))
    }

    /// `new T(…) { A = 1 }`: `A` is accessed on the created value.
    fn visit_creation(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let declared = cursor.node().child_by_field_name("type");
        let on = declared.map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared));
        self.for_each_child(cursor, |walk, cursor, parent| match Kind::of_node(cursor.node()) {
            Kind::Initializer => walk.visit_initializer(cursor, on),
            _ => drop(walk.visit(cursor, parent)),
        });
        on
    }

    fn visit_initializer(&mut self, cursor: &mut TreeCursor<'a>, on: ReceiverExpr) {
        self.for_each_child(cursor, |walk, cursor, parent| {
            let node = cursor.node();
            let left =
                node.child_by_field_name("left").filter(|left| Kind::of_node(*left) == Kind::Identifier);
            match left.filter(|_| Kind::of_node(node) == Kind::Assignment) {
                Some(left) => walk.visit_member_initializer(cursor, left, on),
                None => drop(walk.visit(cursor, parent)),
            }
        });
    }

    fn visit_member_initializer(&mut self, cursor: &mut TreeCursor<'a>, left: Node<'a>, on: ReceiverExpr) {
        let member = self.access_name(left, on);
        self.for_each_child(cursor, |walk, cursor, parent| match Kind::of_node(cursor.node()) {
            _ if cursor.node() == left => {}
            Kind::Initializer => walk.visit_initializer(cursor, member),
            _ => drop(walk.visit(cursor, parent)),
        });
    }

    /// `x with { A = 1 }`.
    fn visit_with(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let mut on = ReceiverExpr::Unknown;
        self.for_each_child(cursor, |walk, cursor, parent| {
            if Kind::of_node(cursor.node()) == Kind::WithInitializer {
                if let Some(name) = cursor.node().named_child(0) {
                    walk.access_name(name, on);
                }
                walk.visit_children(cursor);
            } else {
                on = walk.visit(cursor, parent);
            }
        });
        on
    }

    fn visit_element_access(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let mut on = ReceiverExpr::Unknown;
        self.for_each_child(cursor, |walk, cursor, parent| {
            let found = walk.visit(cursor, parent);
            if cursor.field_name() == Some("expression") {
                on = found;
            }
        });
        element_receiver(&self.facts.written_types, on, true)
    }

    /// Visits two alternatives; returns the first with a known type.
    fn visit_branches(&mut self, cursor: &mut TreeCursor<'a>, one: &str, other: &str) -> ReceiverExpr {
        let (mut first, mut second) = (ReceiverExpr::Unknown, ReceiverExpr::Unknown);
        self.for_each_child(cursor, |walk, cursor, parent| {
            let found = walk.visit(cursor, parent);
            match cursor.field_name() {
                Some(field) if field == one => first = found,
                Some(field) if field == other => second = found,
                _ => {}
            }
        });
        if first == ReceiverExpr::Unknown { second } else { first }
    }

    /// `var x = …` has the type of the value.
    fn visit_declarator(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let on = self.visit_children(cursor);
        let declared = self.parent_of(node).and_then(|parent| parent.child_by_field_name("type"));
        let name = node.child_by_field_name("name").filter(|_| node.named_child_count() > 1);
        if let Some(name) = name.filter(|_| declared.is_some_and(|it| it.kind() == "implicit_type")) {
            self.bind_variable(self.node_text(name), on);
        }
        ReceiverExpr::Unknown
    }

    fn visit_foreach(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let until = std::mem::replace(&mut self.variable_scope.scope_end, node.end_byte() as u32);
        let inferred = node.child_by_field_name("type").is_some_and(|it| it.kind() == "implicit_type");
        let name = node.child_by_field_name("left").filter(|it| Kind::of_node(*it) == Kind::Identifier);
        self.for_each_child(cursor, |walk, cursor, parent| {
            let on = walk.visit(cursor, parent);
            if let Some(name) = name.filter(|_| inferred && cursor.field_name() == Some("right")) {
                let on = element_receiver(&walk.facts.written_types, on, false);
                walk.bind_variable(walk.node_text(name), on);
            }
        });
        self.variable_scope.scope_end = until;
        ReceiverExpr::Unknown
    }

    /// `T { A: 1 } x`: `A` is accessed on a `T`.
    fn visit_pattern(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let declared = cursor.node().child_by_field_name("type");
        let on = declared.map_or(ReceiverExpr::Unknown, |declared| self.written_type_receiver(declared));
        self.for_each_child(cursor, |walk, cursor, parent| {
            if Kind::of_node(cursor.node()) == Kind::PropertyPattern {
                walk.for_each_child(cursor, |walk, cursor, parent| {
                    let name =
                        cursor.node().named_child(0).filter(|name| Kind::of_node(*name) == Kind::Identifier);
                    let named = |name: &Node<'a>| {
                        sibling_after(Some(cursor.node()), *name).is_some_and(|next| next.kind() == ":")
                    };
                    if let Some(name) = name.filter(named) {
                        walk.access_name(name, on);
                    }
                    walk.visit(cursor, parent);
                });
            } else {
                walk.visit(cursor, parent);
            }
        });
        ReceiverExpr::Unknown
    }

    fn visit_accessor(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let until = std::mem::replace(&mut self.variable_scope.scope_end, cursor.node().end_byte() as u32);
        let on = self.variable_scope.result_type.map_or(ReceiverExpr::Unknown, ReceiverExpr::Typed);
        self.bind_variable("value", on);
        self.visit_children(cursor);
        self.variable_scope.scope_end = until;
        ReceiverExpr::Unknown
    }
}

/// An element of a list-like value.
fn element_receiver(written: &[WrittenType], on: ReceiverExpr, indexed: bool) -> ReceiverExpr {
    match on {
        ReceiverExpr::Typed(at) => match written[at as usize] {
            WrittenType { element: Some(inner), has_single_argument: single, .. } if single || indexed => {
                ReceiverExpr::Typed(inner)
            }
            _ => ReceiverExpr::Unknown,
        },
        ReceiverExpr::Member(at) if indexed => ReceiverExpr::Indexed(at),
        ReceiverExpr::Member(at) => ReceiverExpr::Element(at),
        ReceiverExpr::External => ReceiverExpr::External,
        _ => ReceiverExpr::Unknown,
    }
}
