//! Members of a C# type, each with its key, its contract (shape) and its behaviour.
//!
//! Does not know the enclosing type beyond its kind, which decides the default visibility of a member.

use super::kinds::Kind;
use super::normalize::Accessors;
use super::walk::{Walk, after_attributes, child, is_visibility, span, visibility};
use crate::digest::Digest;
use crate::facts::{Member, MemberKind, Shape, Takes, TypeKind, Visibility};
use crate::token::{Lexeme, Span};
use tree_sitter::{Node, TreeCursor};

/// Modifiers that describe the implementation, not the contract. `partial` is neither: it only indicates another part.
const OF_BODIES: &[&str] = &["async", "extern", "unsafe"];

impl<'a> Walk<'a> {
    pub(crate) fn member(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) {
        let node = cursor.node();
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        let locals = std::mem::take(&mut self.locals);
        let from = self.facts.references.len();
        let uses = self.facts.uses.len();
        self.begin_member(node, known);
        self.below(cursor);
        self.settle(from);
        self.forget_local_functions(uses);
        self.locals = locals;
        let takes = self.takes_with_receiver(node);
        self.type_parameters.truncate(known);
        let mut members = self.members(kind, node, from);
        for member in &mut members {
            (member.gives, member.takes) = (self.gives(), takes);
        }
        if let Some(owner) = self.owner {
            let part = &mut self.facts.types[owner as usize];
            part.declared += 1;
            part.members.extend(members);
        }
    }

    fn members(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        match kind {
            Kind::Field | Kind::EventField => self.fields(kind, node, from),
            Kind::EnumMember => vec![self.enum_value(node, from)],
            _ => vec![self.function(kind, node, from)],
        }
    }

    /// Starts a member with the common parts: visibility, modifiers, attributes, documentation.
    fn draft(&self, kind: MemberKind, node: Node<'a>, from: usize) -> Draft<'a> {
        let modifiers = self.modifiers(node);
        let owner = self.owner.map(|owner| self.facts.types[owner as usize].kind);
        let given = visibility(&modifiers);
        let default = match owner {
            Some(TypeKind::Interface | TypeKind::Enum) => Visibility::Public,
            _ => Visibility::Private,
        };
        let is_static =
            modifiers.contains(&"static") || modifiers.contains(&"const") || kind == MemberKind::EnumValue;
        let mut shape = Shape::default();
        for attribute in self.attributes(node, from) {
            shape.append(&attribute);
        }
        let (of_bodies, mut kept): (Vec<&str>, Vec<&str>) =
            modifiers.iter().partition(|word| OF_BODIES.contains(word));
        kept.retain(|word| !is_visibility(word) && *word != "partial");
        for word in &kept {
            shape.push(word);
        }
        // `static` comes first by convention
        kept.sort_by_key(|word| *word != "static");
        let shown = kept.iter().flat_map(|word| [word, " "]).collect();
        let behaviour = of_bodies.concat().into_bytes();
        Draft {
            kind,
            visibility: given.unwrap_or(default),
            given: given.is_some(),
            is_static,
            shape,
            shown,
            behaviour,
            node,
        }
    }

    fn fields(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        let Some(declaration) = child(node, Kind::VariableDeclaration) else { return Vec::new() };
        let kind = match kind {
            Kind::EventField => MemberKind::Event,
            _ if self.modifiers(node).contains(&"const") => MemberKind::Constant,
            _ => MemberKind::Field,
        };
        let declared = declaration.child_by_field_name("type");
        let mut cursor = declaration.walk();
        let declarators =
            declaration.named_children(&mut cursor).filter(|it| Kind::of(*it) == Kind::Declarator);
        declarators
            .map(|declarator| self.field(self.draft(kind, node, from), declared, declarator, from))
            .collect()
    }

    fn field(
        &self,
        mut draft: Draft<'a>,
        declared: Option<Node<'a>>,
        declarator: Node<'a>,
        from: usize,
    ) -> Member {
        let name = declarator.child_by_field_name("name").map_or("", |name| self.text(name));
        let equals = declarator.children(&mut declarator.walk()).find(|it| it.kind() == "=");
        let value = equals.map(|mark| Span::new(mark.end_byte(), declarator.end_byte()));
        if let Some(declared) = declared {
            draft.shape.append(&self.shape(span(declared), from));
            draft.shown.push_str(&self.glued(span(declared)));
        }
        // `fixed int numbers[4]`
        let end = equals.map_or(declarator.end_byte(), |mark| mark.start_byte());
        let sizes = Span::new(declarator.start_byte() + name.len(), end);
        draft.shape.append(&self.shape(sizes, from));
        draft.shown.extend([" ", name]);
        match value {
            Some(value) if draft.kind == MemberKind::Constant => {
                draft.shape.push("=");
                draft.shape.append(&self.shape(value, from));
                draft.shown.push_str(&self.value_shown(value));
            }
            Some(value) => self.tokens_into(&mut draft.behaviour, value),
            None => {}
        }
        let value_type = declared.and_then(|node| self.plain_type(node, from));
        draft.finish(self, name, name.to_owned(), value_type, value)
    }

    /// Builds an enum member; an implicit value derives from the last explicit one.
    fn enum_value(&self, node: Node<'a>, from: usize) -> Member {
        let mut draft = self.draft(MemberKind::EnumValue, node, from);
        let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
        let mut after = 0;
        let mut at = Some(node);
        let explicit = loop {
            let Some(here) = at else { break None };
            if Kind::of(here) == Kind::EnumMember {
                if let Some(value) = here.child_by_field_name("value") {
                    break Some(value);
                }
                after += 1;
            }
            at = here.prev_named_sibling();
        };
        if let Some(value) = explicit {
            draft.shape.append(&self.shape(span(value), from));
        }
        draft.shape.push(&format!("+{after}"));
        draft.shown.push_str(name);
        if let Some(value) = explicit.filter(|_| after == 0) {
            draft.shown.push_str(&self.value_shown(span(value)));
        }
        draft.finish(self, name, name.to_owned(), None, None)
    }

    fn function(&self, kind: Kind, node: Node<'a>, from: usize) -> Member {
        let mut draft = self.draft(function_kind(kind), node, from);
        let explicit = child(node, Kind::ExplicitInterface);
        if explicit.is_some() && !draft.given {
            draft.visibility = Visibility::Public;
        }
        let returns = node.child_by_field_name("returns").or_else(|| node.child_by_field_name("type"));
        let name = self.function_name(draft.kind, node, explicit);
        self.result(&mut draft, &name, returns, from);
        let mut key = name.clone();
        self.signature(&mut draft, &mut key, from);
        if let (MemberKind::Operator, Some(returns)) = (draft.kind, returns) {
            key.extend(["~", &self.glued(span(returns))]);
        }
        let accessors = self.accessors(node, from);
        let body_span = self.bodies(&mut draft, node, &accessors);
        if let Some(receiver) = &self.receiver {
            draft.shape.push("extension");
            draft.shape.append(&receiver.shape);
            key = format!("extension{}.{key}", receiver.key);
            draft.shown = format!("extension{} {}", receiver.shown, draft.shown);
        }
        let value_type = returns.and_then(|node| self.plain_type(node, from));
        let mut member = draft.finish(self, &name, key, value_type, body_span);
        if !accessors.hidden.is_empty() {
            member.hidden = Digest::of(&accessors.hidden);
        }
        member
    }

    /// Adds the return type: before the name, or after it for a conversion operator.
    fn result(&self, draft: &mut Draft<'a>, name: &str, returns: Option<Node<'a>>, from: usize) {
        let converts = draft.kind == MemberKind::Operator && name.ends_with("operator");
        let result = returns.map_or_else(String::new, |returns| self.glued(span(returns)));
        if let Some(returns) = returns {
            draft.shape.append(&self.shape(span(returns), from));
        }
        match (converts, result.as_str()) {
            (_, "") => draft.shown.push_str(name),
            (true, result) => draft.shown.extend([name, " ", result]),
            (false, result) => draft.shown.extend([result, " ", name]),
        }
    }

    /// Adds type parameters, parameters and constraints, and the initializer of a constructor.
    fn signature(&self, draft: &mut Draft<'a>, key: &mut String, from: usize) {
        let node = draft.node;
        if let Some(list) = child(node, Kind::TypeParameters) {
            draft.shape.append(&self.shape(span(list), from));
            draft.shown.push_str(&self.glued(span(list)));
            key.extend(["`", &list.named_child_count().to_string()]);
        }
        if let Some(list) = node.child_by_field_name("parameters") {
            let parameters = self.parameters(list, from);
            draft.shape.append(&parameters.shape);
            draft.shown.push_str(&parameters.shown);
            draft.behaviour.extend(&parameters.behaviour);
            key.push_str(&parameters.key);
        }
        let mut cursor = node.walk();
        for clause in node.children(&mut cursor) {
            match Kind::of(clause) {
                Kind::Constraints => draft.shape.append(&self.shape(span(clause), from)),
                Kind::ConstructorInitializer => self.tokens_into(&mut draft.behaviour, span(clause)),
                _ => {}
            }
        }
    }

    /// The reference to a type that is a plain name, nullable or not.
    fn plain_type(&self, node: Node<'a>, from: usize) -> Option<u32> {
        let plain =
            matches!(Kind::of(node), Kind::Identifier | Kind::QualifiedName | Kind::AliasQualifiedName);
        if plain || node.kind() == "nullable_type" {
            self.reference_at(node.start_byte() as u32, from)
        } else {
            None
        }
    }

    /// Adds the behaviour of a member; returns the span of its body.
    fn bodies(&self, draft: &mut Draft<'a>, node: Node<'a>, accessors: &Accessors) -> Option<Span> {
        draft.shape.append(&accessors.shape);
        draft.shown.push_str(&accessors.shown);
        draft.behaviour.extend(&accessors.behaviour);
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            self.body_into(&mut draft.behaviour, body);
        }
        let value = node.child_by_field_name("value").filter(|value| Kind::of(*value) != Kind::Arrow);
        if let Some(value) = value {
            draft.behaviour.extend(b"=");
            self.tokens_into(&mut draft.behaviour, span(value));
        }
        body.or_else(|| node.child_by_field_name("accessors"))
            .or_else(|| node.child_by_field_name("value"))
            .map(span)
    }

    fn function_name(&self, kind: MemberKind, node: Node<'a>, explicit: Option<Node<'a>>) -> String {
        let name =
            node.child_by_field_name("name").map_or("", |name| self.text(name)).trim_start_matches('@');
        let name = match kind {
            MemberKind::Indexer => "this".to_owned(),
            MemberKind::Destructor => format!("~{name}"),
            MemberKind::Operator => self.operator_name(node),
            _ => name.to_owned(),
        };
        explicit.map_or(name.clone(), |interface| self.glued(span(interface)) + &name)
    }

    /// `operator +` or `implicit operator`, as written.
    fn operator_name(&self, node: Node<'a>) -> String {
        let end = node.child_by_field_name("parameters").map_or(node.end_byte(), |list| list.start_byte());
        let type_span = node.child_by_field_name("type").map(span);
        let mut name = String::new();
        for token in self.source.within(Span::new(after_attributes(node), end)) {
            let text = self.source.of(token);
            let started = !name.is_empty();
            let in_type = type_span.is_some_and(|it| it.overlaps(token.span));
            if !in_type && (started || matches!(text, "implicit" | "explicit" | "operator")) {
                if started && (token.kind == Lexeme::Word || name.ends_with("operator")) {
                    name.push(' ');
                }
                name.push_str(text);
            }
        }
        name
    }

    /// The properties that a record declares through its parameters.
    pub(crate) fn positional(&self, list: Node<'a>, from: usize) -> Vec<Member> {
        let mut found = Vec::new();
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor).filter(|it| Kind::of(*it) == Kind::Parameter) {
            let (Some(name), Some(declared)) =
                (parameter.child_by_field_name("name"), parameter.child_by_field_name("type"))
            else {
                continue;
            };
            let mut draft = self.draft(MemberKind::Property, parameter, from);
            draft.visibility = Visibility::Public;
            draft.shape.append(&self.shape(span(declared), from));
            draft.shape.push("get; init;");
            draft.shown = format!("{} {}", self.glued(span(declared)), self.text(name));
            let name = self.text(name);
            let value_type = self.plain_type(declared, from);
            found.push(draft.finish(self, name, name.to_owned(), value_type, None));
        }
        found
    }
}

/// A member under construction.
struct Draft<'a> {
    kind: MemberKind,
    visibility: Visibility,
    /// Whether the source has a visibility modifier.
    given: bool,
    is_static: bool,
    shape: Shape,
    shown: String,
    behaviour: Vec<u8>,
    node: Node<'a>,
}

impl<'a> Draft<'a> {
    fn finish(
        self,
        walk: &Walk<'a>,
        name: &str,
        key: String,
        value_type: Option<u32>,
        body_span: Option<Span>,
    ) -> Member {
        let node = self.node;
        let end = body_span.map_or(node.end_byte(), |body| body.from as usize);
        let body = if self.behaviour.is_empty() { Digest::default() } else { Digest::of(&self.behaviour) };
        Member {
            kind: self.kind,
            name: name.trim_start_matches('@').to_owned(),
            key,
            visibility: self.visibility,
            is_static: self.is_static,
            shape: self.shape,
            shown: self.shown,
            value_type,
            body,
            gives: None,
            takes: Takes::default(),
            hidden: Digest::default(),
            doc: walk.doc(node),
            span: span(node),
            signature: Span::new(after_attributes(node), end),
            body_span,
        }
    }
}

fn function_kind(kind: Kind) -> MemberKind {
    match kind {
        Kind::Property => MemberKind::Property,
        Kind::Indexer => MemberKind::Indexer,
        Kind::Event => MemberKind::Event,
        Kind::Constructor => MemberKind::Constructor,
        Kind::Destructor => MemberKind::Destructor,
        Kind::Method => MemberKind::Method,
        _ => MemberKind::Operator,
    }
}
