//! Records the names in a C# tree that may refer to types, each with the syntactic position that decides its lookup.
//!
//! Does not resolve them. Names that cannot be types are omitted: declared names, functions called without a dot, labels, named
//! arguments, members in initialisers, variables in scope.

use super::kinds::Kind;
use super::walk::{ChainPart, NameChain, Walk};
use crate::ancestors::sibling_after;
use facts::Span;
use facts::{Path, Position, ReceiverExpr, Reference, Segment};
use tree_sitter::{Node, TreeCursor};

/// The role of a name at its position.
enum Role {
    Name(Position),
    /// The declaration of a variable.
    Local,
    /// A value, such as a method called without a dot; its type arguments may be types.
    Value,
    /// Not looked up.
    Ignored,
}

/// Maximum depth of the traversal. The deepest of eleven thousand real files reaches 190, and the stack of a thread is large
/// enough for ten times this limit.
pub(crate) const MAX_DEPTH: u32 = 1000;

impl<'a> Walk<'a> {
    /// Visits the children of the node at the cursor; returns the last one's value as a receiver.
    pub(crate) fn visit_children(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let mut last = ReceiverExpr::Unknown;
        self.for_each_child(cursor, |walk, cursor, parent| last = walk.visit(cursor, parent));
        last
    }

    /// Calls `visit` with each named child of the node at the cursor, in source order.
    pub(crate) fn for_each_child(
        &mut self,
        cursor: &mut TreeCursor<'a>,
        mut visit: impl FnMut(&mut Self, &mut TreeCursor<'a>, Node<'a>),
    ) {
        let parent = cursor.node();
        if self.open.len() >= MAX_DEPTH as usize {
            self.record_too_deep(parent);
            return;
        }
        self.open.push(parent);
        if cursor.goto_first_child() {
            while self.budget.spend(1) {
                if cursor.node().is_named() {
                    visit(self, cursor, parent);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
        }
        self.open.pop();
    }

    /// Visits a node; returns its value as the receiver of a member access.
    pub(crate) fn visit(&mut self, cursor: &mut TreeCursor<'a>, parent: Node<'a>) -> ReceiverExpr {
        let node = cursor.node();
        match Kind::of_node(node) {
            Kind::Identifier | Kind::GenericName | Kind::QualifiedName | Kind::AliasQualifiedName => {
                let field = cursor.field_name().unwrap_or_default();
                self.visit_name(node, parent, field)
            }
            Kind::MemberAccess => {
                let called =
                    Kind::of_node(parent) == Kind::Invocation && cursor.field_name() == Some("function");
                let position = if called { Position::Called } else { Position::Value };
                self.record_chain(node, position).unwrap_or_else(|| self.access_member(cursor))
            }
            Kind::ImplicitParameter => {
                self.locals.insert(self.node_text(node), "");
                self.bind_variable(self.node_text(node), ReceiverExpr::Unknown)
            }
            Kind::LocalFunction => self.visit_local_function(cursor),
            Kind::Comment => ReceiverExpr::Unknown,
            kind => self.visit_expression(kind, cursor),
        }
    }

    fn visit_local_function(&mut self, cursor: &mut TreeCursor<'a>) -> ReceiverExpr {
        let node = cursor.node();
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        if let Some(name) = node.child_by_field_name("name") {
            self.locals.insert(self.node_text(name), "");
            self.bind_local_function(self.node_text(name));
        }
        self.visit_scoped(cursor);
        self.type_parameters.truncate(known);
        ReceiverExpr::Unknown
    }

    fn visit_name(&mut self, node: Node<'a>, parent: Node<'a>, field: &str) -> ReceiverExpr {
        match self.name_role(node, parent, field) {
            Role::Name(position) => self.record_chain(node, position).unwrap_or(ReceiverExpr::Unknown),
            Role::Local => {
                let declared = parent.child_by_field_name("type").or_else(|| {
                    let around = Some(parent).filter(|_| Kind::of_node(parent) == Kind::Declarator)?;
                    self.parent_of(around)?.child_by_field_name("type")
                });
                let word = declared.map_or("", |node| self.last_word(node));
                self.locals.insert(self.node_text(node), word);
                let on = declared.map_or(ReceiverExpr::Unknown, |node| self.written_type_receiver(node));
                self.bind_variable(self.node_text(node), on)
            }
            Role::Value => {
                let on = self.access_bare_name(node);
                self.visit_type_arguments(node);
                on
            }
            Role::Ignored => {
                self.visit_type_arguments(node);
                ReceiverExpr::Unknown
            }
        }
    }

    fn name_role(&self, node: Node<'a>, parent: Node<'a>, field: &str) -> Role {
        let followed = |mark: &str| sibling_after(Some(parent), node).is_some_and(|next| next.kind() == mark);
        let first = || parent.named_child(0) == Some(node);
        match (Kind::of_node(parent), field) {
            (Kind::Attribute, "name") => Role::Name(Position::Attribute),
            (Kind::As | Kind::Is, "right") => Role::Name(Position::Type),
            (Kind::BaseList, _) => Role::Name(Position::Base),
            (Kind::TypeArguments | Kind::ExplicitInterface, _) | (_, "type" | "returns") => {
                Role::Name(Position::Type)
            }
            (
                Kind::Declarator
                | Kind::Parameter
                | Kind::ParameterList
                | Kind::BracketedParameterList
                | Kind::DeclarationExpression
                | Kind::DeclarationPattern
                | Kind::VarPattern
                | Kind::RecursivePattern
                | Kind::ListPattern
                | Kind::CatchDeclaration
                | Kind::From,
                "name",
            )
            | (Kind::Foreach, "left")
            | (Kind::TuplePattern | Kind::Designation | Kind::JoinInto | Kind::Query, _) => Role::Local,
            (Kind::Join | Kind::Let, _) if followed("in") || followed("=") => Role::Local,
            (_, "name") | (Kind::Constraints | Kind::Goto, _) => Role::Ignored,
            (Kind::Assignment, "left") | (Kind::Invocation, "function") => Role::Value,
            (Kind::Labeled | Kind::WithInitializer, _) if first() => Role::Ignored,
            (Kind::Subpattern, _) if followed(":") => Role::Ignored,
            (Kind::AnonymousObject, _) if followed("=") => Role::Ignored,
            (Kind::ConstantPattern | Kind::SwitchSection, _) => Role::Name(Position::Bare),
            (Kind::Binary, "left") if self.is_pattern_operand(parent) => Role::Name(Position::Bare),
            (Kind::Argument, _) if self.is_nameof_argument(parent) => Role::Name(Position::Bare),
            (Kind::Parenthesized, _) if self.is_called(parent) => Role::Name(Position::Bare),
            _ if matches!(Kind::of_node(node), Kind::QualifiedName | Kind::AliasQualifiedName) => {
                Role::Name(Position::Value)
            }
            _ => Role::Value,
        }
    }

    fn is_called(&self, node: Node<'a>) -> bool {
        self.parent_of(node).is_some_and(|parent| {
            Kind::of_node(parent) == Kind::Invocation && parent.child_by_field_name("function") == Some(node)
        })
    }

    /// Whether the first operand of an expression may be a type: the grammar parses `a is B && c` as `a is (B && c)`.
    fn is_pattern_operand(&self, operand: Node<'a>) -> bool {
        let mut node = operand;
        while let Some(parent) = self.parent_of(node).filter(|_| self.budget.spend(1)) {
            match Kind::of_node(parent) {
                Kind::ConstantPattern => return true,
                Kind::Binary if parent.child_by_field_name("left") == Some(node) => node = parent,
                _ => return false,
            }
        }
        false
    }

    /// Whether an argument belongs to `nameof`.
    fn is_nameof_argument(&self, argument: Node<'a>) -> bool {
        let call = self.parent_of(argument).and_then(|list| self.parent_of(list));
        let function = call.and_then(|call| call.child_by_field_name("function"));
        function.is_some_and(|function| self.node_text(function) == "nameof")
    }

    /// Records a chain of names, and the references in its type arguments. `None` if it does not start with a name.
    fn record_chain(&mut self, node: Node<'a>, position: Position) -> Option<ReceiverExpr> {
        let mut chain = std::mem::take(&mut self.chain);
        chain.alias = None;
        chain.parts.clear();
        let found = self.flatten_chain(node, &mut chain);
        let mut on = ReceiverExpr::Unknown;
        if found.is_some() {
            self.push_reference(node, &chain, position);
            if matches!(position, Position::Value | Position::Called | Position::Bare) {
                on = self.access_chain(&chain);
            }
        }
        self.chain = chain;
        found?;
        self.visit_type_arguments(node);
        Some(on)
    }

    fn push_reference(&mut self, node: Node<'a>, chain: &NameChain<'a>, position: Position) {
        let Some(path) = self.intern_chain(chain) else { return };
        self.facts.references.push(Reference {
            path,
            at: node.start_byte() as u32,
            name_end: chain.name_end(),
            scope: self.scope,
            owner: self.owner,
            position,
            is_shadowed: false,
        });
    }

    /// Interns the path of a chain; `None` if it starts with a type parameter.
    pub(crate) fn intern_chain(&mut self, chain: &NameChain<'a>) -> Option<u32> {
        if self.is_type_parameter(chain) {
            return None;
        }
        let alias = chain.alias.map(|alias| self.intern_word(alias));
        let parts =
            chain.parts.iter().map(|part| Segment { word: self.intern_word(part.word), arity: part.arity });
        let path = Path { alias, segments: parts.collect() };
        Some(self.intern_path(path))
    }

    pub(crate) fn is_type_parameter(&self, chain: &NameChain<'a>) -> bool {
        let first = chain.parts.first().filter(|first| first.arity == 0 && chain.alias.is_none());
        first.is_some_and(|first| self.type_parameters.contains(&first.word))
    }

    /// Collects the words of a chain; `None` if the node is not a chain.
    pub(crate) fn flatten_chain(&self, node: Node<'a>, out: &mut NameChain<'a>) -> Option<()> {
        self.flatten_part(node, out, 0)
    }

    fn flatten_part(&self, node: Node<'a>, out: &mut NameChain<'a>, depth: u32) -> Option<()> {
        if depth >= MAX_DEPTH || !self.budget.spend(1) {
            return None;
        }
        match Kind::of_node(node) {
            Kind::Identifier => {
                out.parts.push(ChainPart {
                    word: self.node_text(node),
                    arity: 0,
                    end: node.end_byte() as u32,
                });
            }
            Kind::GenericName => {
                let name = node.named_child(0)?;
                let arity = node.named_child(1).map_or(0, type_argument_count);
                out.parts.push(ChainPart { word: self.node_text(name), arity, end: name.end_byte() as u32 });
            }
            Kind::AliasQualifiedName => {
                self.flatten_part(node.child_by_field_name("name")?, out, depth + 1)?;
                out.alias = Some(self.node_text(node.child_by_field_name("alias")?));
            }
            kind @ (Kind::QualifiedName | Kind::MemberAccess) => {
                let before = if kind == Kind::QualifiedName { "qualifier" } else { "expression" };
                self.flatten_part(node.child_by_field_name(before)?, out, depth + 1)?;
                self.flatten_part(node.child_by_field_name("name")?, out, depth + 1)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Visits the type arguments of a name, at any position in it.
    pub(crate) fn visit_type_arguments(&mut self, node: Node<'a>) {
        if self.open.len() >= MAX_DEPTH as usize || !self.budget.spend(1) {
            return;
        }
        match Kind::of_node(node) {
            Kind::Identifier => {}
            Kind::GenericName => {
                if let Some(list) = node.named_child(1) {
                    self.visit_children(&mut list.walk());
                }
            }
            _ => {
                self.open.push(node);
                for child in node.named_children(&mut node.walk()) {
                    self.visit_type_arguments(child);
                }
                self.open.pop();
            }
        }
    }

    /// Drops references to variables of the current member. Keeps one if the type of its variable has the same name: only the
    /// members of that type can then decide.
    pub(crate) fn drop_variable_references(&mut self, from: usize) {
        let Walk { facts, locals, .. } = self;
        if locals.is_empty() {
            return;
        }
        let (words, paths) = (&facts.words, &facts.paths);
        let mut kept = from;
        for at in from..facts.references.len() {
            let mut reference = facts.references[at];
            let path = &paths[reference.path as usize];
            let first = &*words[path.segments[0].word as usize];
            let value = matches!(reference.position, Position::Value | Position::Called | Position::Bare);
            let local = if value && path.alias.is_none() { locals.get(first) } else { None };
            reference.is_shadowed = local.is_some();
            let type_too = local.is_some_and(|declared| *declared == first) && path.segments.len() > 1;
            if local.is_none() || type_too {
                facts.references[kept] = reference;
                kept += 1;
            }
        }
        facts.references.truncate(kept);
        locals.clear();
    }

    /// The last word of a written type: `Encoding` for `System.Text.Encoding?`.
    fn last_word(&self, node: Node<'a>) -> &'a str {
        match Kind::of_node(node) {
            Kind::Identifier => self.node_text(node),
            Kind::QualifiedName => node.child_by_field_name("name").map_or("", |name| self.node_text(name)),
            _ if node.kind() == "nullable_type" => {
                node.child_by_field_name("type").map_or("", |inner| self.last_word(inner))
            }
            _ => "",
        }
    }

    pub(crate) fn node_text(&self, node: Node) -> &'a str {
        Span::new(node.start_byte(), node.end_byte()).text_in(self.source.text)
    }
}

/// The length of a type argument list; that of `<,>` is two.
fn type_argument_count(list: Node) -> u16 {
    let commas = list.children(&mut list.walk()).filter(|it| it.kind() == ",").count();
    commas as u16 + 1
}
