//! Members of a C# type, each with its key, its contract (shape) and its behaviour.
//!
//! Does not know the enclosing type beyond its kind, which decides the default visibility of a member.

use super::kinds::Kind;
use super::normalize::Accessors;
use super::walk::{Walk, after_attributes, child_of_kind, is_visibility, node_span, parse_visibility};
use crate::token::TokenKind;
use facts::Digest;
use facts::Span;
use facts::{Member, MemberKind, ParameterCount, Shape, TypeKind, Visibility};
use tree_sitter::{Node, TreeCursor};

/// Modifiers that describe the implementation, not the contract. `partial` is neither: it only indicates another part.
const BEHAVIOUR_MODIFIERS: &[&str] = &["async", "extern", "unsafe"];

impl<'a> Walk<'a> {
    pub(crate) fn read_member(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) {
        let node = cursor.node();
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        let locals = std::mem::take(&mut self.locals);
        let from = self.facts.references.len();
        let uses = self.facts.member_references.len();
        self.begin_member(node, known);
        self.visit_children(cursor);
        self.drop_variable_references(from);
        self.drop_local_functions(uses);
        self.locals = locals;
        let takes = self.parameter_count_with_receiver(node);
        if kind == Kind::EnumMember {
            self.count_enum_value(node);
        }
        self.type_parameters.truncate(known);
        let mut members = self.build_members(kind, node, from);
        for member in &mut members {
            (member.result_type, member.parameter_count) = (self.result_type(), takes);
        }
        if let Some(owner) = self.owner {
            let part = &mut self.facts.types[owner as usize];
            part.declaration_count += 1;
            part.members.extend(members);
        }
    }

    /// Notes the last explicit value up to a member of an enumeration, and how many members follow that one.
    fn count_enum_value(&mut self, node: Node<'a>) {
        let list = self.open.last().map_or(0, Node::id);
        let (before, explicit, after) = self.enum_values;
        let (explicit, after) = if before == list { (explicit, after) } else { (None, 0) };
        self.enum_values = match node.child_by_field_name("value") {
            Some(value) => (list, Some(value), 0),
            None => (list, explicit, after + 1),
        };
    }

    fn build_members(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        match kind {
            Kind::Field | Kind::EventField => self.build_fields(kind, node, from),
            Kind::EnumMember => vec![self.build_enum_value(node, from)],
            _ => vec![self.build_function(kind, node, from)],
        }
    }

    /// Starts a member with the common parts: visibility, modifiers, attributes, documentation.
    fn start_draft(&self, kind: MemberKind, node: Node<'a>, from: usize) -> MemberDraft<'a> {
        let modifiers = self.sorted_modifiers(node);
        let owner = self.owner.map(|owner| self.facts.types[owner as usize].kind);
        let given = parse_visibility(&modifiers);
        let default = match owner {
            Some(TypeKind::Interface | TypeKind::Enum) => Visibility::Public,
            _ => Visibility::Private,
        };
        let is_static =
            modifiers.contains(&"static") || modifiers.contains(&"const") || kind == MemberKind::EnumValue;
        let mut shape = Shape::default();
        for attribute in self.attribute_shapes(node, from) {
            shape.append_shape(&attribute);
        }
        let (of_bodies, mut kept): (Vec<&str>, Vec<&str>) =
            modifiers.iter().partition(|word| BEHAVIOUR_MODIFIERS.contains(word));
        kept.retain(|word| !is_visibility(word) && *word != "partial");
        for word in &kept {
            shape.push_token(word);
        }
        // `static` comes first by convention
        kept.sort_by_key(|word| *word != "static");
        let shown = kept.iter().flat_map(|word| [word, " "]).collect();
        let behaviour = of_bodies.concat().into_bytes();
        MemberDraft {
            kind,
            visibility: given.unwrap_or(default),
            has_explicit_visibility: given.is_some(),
            is_static,
            shape,
            text: shown,
            behaviour,
            node,
        }
    }

    fn build_fields(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        let Some(declaration) = child_of_kind(node, Kind::VariableDeclaration) else { return Vec::new() };
        let kind = match kind {
            Kind::EventField => MemberKind::Event,
            _ if self.sorted_modifiers(node).contains(&"const") => MemberKind::Constant,
            _ => MemberKind::Field,
        };
        let declared = declaration.child_by_field_name("type");
        let mut cursor = declaration.walk();
        let declarators =
            declaration.named_children(&mut cursor).filter(|it| Kind::of_node(*it) == Kind::Declarator);
        declarators
            .map(|declarator| {
                self.build_field(self.start_draft(kind, node, from), declared, declarator, from)
            })
            .collect()
    }

    fn build_field(
        &self,
        mut draft: MemberDraft<'a>,
        declared: Option<Node<'a>>,
        declarator: Node<'a>,
        from: usize,
    ) -> Member {
        let name = declarator.child_by_field_name("name").map_or("", |name| self.node_text(name));
        let equals = declarator.children(&mut declarator.walk()).find(|it| it.kind() == "=");
        let value = equals.map(|mark| Span::new(mark.end_byte(), declarator.end_byte()));
        if let Some(declared) = declared {
            draft.shape.append_shape(&self.shape_of(node_span(declared), from));
            draft.text.push_str(&self.join_tokens(node_span(declared)));
        }
        // `fixed int numbers[4]`
        let end = equals.map_or(declarator.end_byte(), |mark| mark.start_byte());
        let sizes = Span::new(declarator.start_byte() + name.len(), end);
        draft.shape.append_shape(&self.shape_of(sizes, from));
        draft.text.extend([" ", name]);
        match value {
            Some(value) if draft.kind == MemberKind::Constant => {
                draft.shape.push_token("=");
                draft.shape.append_shape(&self.shape_of(value, from));
                draft.text.push_str(&self.value_text(value));
            }
            Some(value) => self.push_tokens(&mut draft.behaviour, value),
            None => {}
        }
        let value_type = declared.and_then(|node| self.plain_type_reference(node, from));
        draft.into_member(self, name, name.to_owned(), value_type, value)
    }

    /// Builds an enum member; an implicit value derives from the last explicit one.
    fn build_enum_value(&self, node: Node<'a>, from: usize) -> Member {
        let mut draft = self.start_draft(MemberKind::EnumValue, node, from);
        let name = node.child_by_field_name("name").map_or("", |name| self.node_text(name));
        let (_, explicit, after) = self.enum_values;
        if let Some(value) = explicit {
            draft.shape.append_shape(&self.shape_of(node_span(value), from));
        }
        draft.shape.push_token(&format!("+{after}"));
        draft.text.push_str(name);
        if let Some(value) = explicit.filter(|_| after == 0) {
            draft.text.push_str(&self.value_text(node_span(value)));
        }
        draft.into_member(self, name, name.to_owned(), None, None)
    }

    fn build_function(&self, kind: Kind, node: Node<'a>, from: usize) -> Member {
        let mut draft = self.start_draft(member_kind(kind), node, from);
        let explicit = child_of_kind(node, Kind::ExplicitInterface);
        if explicit.is_some() && !draft.has_explicit_visibility {
            draft.visibility = Visibility::Public;
        }
        let returns = node.child_by_field_name("returns").or_else(|| node.child_by_field_name("type"));
        let name = self.function_name(draft.kind, node, explicit);
        self.push_result(&mut draft, &name, returns, from);
        let mut key = name.clone();
        self.push_signature(&mut draft, &mut key, from);
        if let (MemberKind::Operator, Some(returns)) = (draft.kind, returns) {
            key.extend(["~", &self.join_tokens(node_span(returns))]);
        }
        let accessors = self.read_accessors(node, from);
        let body_span = self.push_bodies(&mut draft, node, &accessors);
        if let Some(receiver) = &self.extension_receiver {
            draft.shape.push_token("extension");
            draft.shape.append_shape(&receiver.shape);
            key = format!("extension{}.{key}", receiver.key);
            draft.text = format!("extension{} {}", receiver.text, draft.text);
        }
        let value_type = returns.and_then(|node| self.plain_type_reference(node, from));
        let mut member = draft.into_member(self, &name, key, value_type, body_span);
        if !accessors.private_behaviour.is_empty() {
            member.private_behaviour = Digest::of_bytes(&accessors.private_behaviour);
        }
        member
    }

    /// Adds the return type: before the name, or after it for a conversion operator.
    fn push_result(&self, draft: &mut MemberDraft<'a>, name: &str, returns: Option<Node<'a>>, from: usize) {
        let converts = draft.kind == MemberKind::Operator && name.ends_with("operator");
        let result = returns.map_or_else(String::new, |returns| self.join_tokens(node_span(returns)));
        if let Some(returns) = returns {
            draft.shape.append_shape(&self.shape_of(node_span(returns), from));
        }
        match (converts, result.as_str()) {
            (_, "") => draft.text.push_str(name),
            (true, result) => draft.text.extend([name, " ", result]),
            (false, result) => draft.text.extend([result, " ", name]),
        }
    }

    /// Adds type parameters, parameters and constraints, and the initializer of a constructor.
    fn push_signature(&self, draft: &mut MemberDraft<'a>, key: &mut String, from: usize) {
        let node = draft.node;
        if let Some(list) = child_of_kind(node, Kind::TypeParameters) {
            draft.shape.append_shape(&self.shape_of(node_span(list), from));
            draft.text.push_str(&self.join_tokens(node_span(list)));
            key.extend(["`", &list.named_child_count().to_string()]);
        }
        if let Some(list) = node.child_by_field_name("parameters") {
            let parameters = self.read_parameters(list, from);
            draft.shape.append_shape(&parameters.shape);
            draft.text.push_str(&parameters.text);
            draft.behaviour.extend(&parameters.behaviour);
            key.push_str(&parameters.key);
        }
        let mut cursor = node.walk();
        for clause in node.children(&mut cursor) {
            match Kind::of_node(clause) {
                Kind::Constraints => draft.shape.append_shape(&self.shape_of(node_span(clause), from)),
                Kind::ConstructorInitializer => self.push_tokens(&mut draft.behaviour, node_span(clause)),
                _ => {}
            }
        }
    }

    /// The reference to a type that is a plain name, nullable or not.
    fn plain_type_reference(&self, node: Node<'a>, from: usize) -> Option<u32> {
        let plain =
            matches!(Kind::of_node(node), Kind::Identifier | Kind::QualifiedName | Kind::AliasQualifiedName);
        if plain || node.kind() == "nullable_type" {
            self.reference_at(node.start_byte() as u32, from)
        } else {
            None
        }
    }

    /// Adds the behaviour of a member; returns the span of its body.
    fn push_bodies(
        &self,
        draft: &mut MemberDraft<'a>,
        node: Node<'a>,
        accessors: &Accessors,
    ) -> Option<Span> {
        draft.shape.append_shape(&accessors.shape);
        draft.text.push_str(&accessors.text);
        draft.behaviour.extend(&accessors.behaviour);
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            self.push_body(&mut draft.behaviour, body);
        }
        let value = node.child_by_field_name("value").filter(|value| Kind::of_node(*value) != Kind::Arrow);
        if let Some(value) = value {
            draft.behaviour.extend(b"=");
            self.push_tokens(&mut draft.behaviour, node_span(value));
        }
        body.or_else(|| node.child_by_field_name("accessors"))
            .or_else(|| node.child_by_field_name("value"))
            .map(node_span)
    }

    fn function_name(&self, kind: MemberKind, node: Node<'a>, explicit: Option<Node<'a>>) -> String {
        let name =
            node.child_by_field_name("name").map_or("", |name| self.node_text(name)).trim_start_matches('@');
        let name = match kind {
            MemberKind::Indexer => "this".to_owned(),
            MemberKind::Destructor => format!("~{name}"),
            MemberKind::Operator => self.operator_name(node),
            _ => name.to_owned(),
        };
        explicit.map_or(name.clone(), |interface| self.join_tokens(node_span(interface)) + &name)
    }

    /// `operator +` or `implicit operator`, as written.
    fn operator_name(&self, node: Node<'a>) -> String {
        let end = node.child_by_field_name("parameters").map_or(node.end_byte(), |list| list.start_byte());
        let type_span = node.child_by_field_name("type").map(node_span);
        let mut name = String::new();
        for token in self.source.tokens_in(Span::new(after_attributes(node), end)) {
            let text = self.source.text_of(token);
            let started = !name.is_empty();
            let in_type = type_span.is_some_and(|it| it.overlaps(token.span));
            if !in_type && (started || matches!(text, "implicit" | "explicit" | "operator")) {
                if started && (token.kind == TokenKind::Word || name.ends_with("operator")) {
                    name.push(' ');
                }
                name.push_str(text);
            }
        }
        name
    }

    /// The properties that a record declares through its parameters.
    pub(crate) fn positional_properties(&self, list: Node<'a>, from: usize) -> Vec<Member> {
        let mut found = Vec::new();
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor).filter(|it| Kind::of_node(*it) == Kind::Parameter) {
            let (Some(name), Some(declared)) =
                (parameter.child_by_field_name("name"), parameter.child_by_field_name("type"))
            else {
                continue;
            };
            let mut draft = self.start_draft(MemberKind::Property, parameter, from);
            draft.visibility = Visibility::Public;
            draft.shape.append_shape(&self.shape_of(node_span(declared), from));
            draft.shape.push_token("get; init;");
            draft.text = format!("{} {}", self.join_tokens(node_span(declared)), self.node_text(name));
            let name = self.node_text(name);
            let value_type = self.plain_type_reference(declared, from);
            found.push(draft.into_member(self, name, name.to_owned(), value_type, None));
        }
        found
    }
}

/// A member under construction.
struct MemberDraft<'a> {
    kind: MemberKind,
    visibility: Visibility,
    /// Whether the source has a visibility modifier.
    has_explicit_visibility: bool,
    is_static: bool,
    shape: Shape,
    text: String,
    behaviour: Vec<u8>,
    node: Node<'a>,
}

impl<'a> MemberDraft<'a> {
    fn into_member(
        self,
        walk: &Walk<'a>,
        name: &str,
        key: String,
        value_type: Option<u32>,
        body_span: Option<Span>,
    ) -> Member {
        let node = self.node;
        let end = body_span.map_or(node.end_byte(), |body| body.from as usize);
        let body =
            if self.behaviour.is_empty() { Digest::default() } else { Digest::of_bytes(&self.behaviour) };
        Member {
            kind: self.kind,
            name: name.trim_start_matches('@').to_owned(),
            key,
            visibility: self.visibility,
            is_static: self.is_static,
            shape: self.shape,
            signature_text: self.text,
            value_type,
            behaviour: body,
            result_type: None,
            parameter_count: ParameterCount::default(),
            private_behaviour: Digest::default(),
            doc: walk.read_doc(node),
            span: node_span(node),
            signature: Span::new(after_attributes(node), end),
            body_span,
        }
    }
}

fn member_kind(kind: Kind) -> MemberKind {
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
