//! Members of types and modules: functions and values, with the contract (shape) separated from the behaviour.
//!
//! Does not know overriding or inheritance.

use super::{Head, Walk, child_of_kind, find_part, node_span};
use facts::Digest;
use facts::Span;
use facts::{Member, MemberKind, ParameterCount, Shape, Visibility};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use tree_sitter::Node;

/// A longer default value is displayed as `…`.
const MAX_VALUE_LEN: usize = 24;

/// Field names that grammars use for the name of a parameter.
const PARAMETER_NAME_FIELDS: &[&str] = &["pattern", "name"];

/// The first members of a type by name.
#[derive(Default)]
pub(super) struct NamedMembers {
    count: usize,
    by_name: FxHashMap<String, Vec<usize>>,
}

impl<'a> Walk<'a> {
    pub(super) fn read_member(&mut self, kind: MemberKind, node: Node<'a>) {
        let head = (self.dialect.head)(self, node);
        if self.is_nameless(&head) {
            return self.visit_children(&mut node.walk());
        }
        self.add_member(kind, node, &head);
    }

    /// Reads a member of the enclosing type, or of the module.
    pub(crate) fn add_member(&mut self, kind: MemberKind, node: Node<'a>, head: &Head<'a>) {
        let owner = match self.owner {
            Some(owner) => owner,
            None => self.module_part(),
        };
        let outer = self.owner.replace(owner);
        self.mark_declared(head);
        let known = self.type_parameters.len();
        self.push_type_parameters(head.type_parameters);
        let from = self.read_references(node, head);
        let mut member = self.build_member(kind, head, from);
        member.result_type = head.value_type.and_then(|node| self.written_type_index(node));
        member.parameter_count = self.parameter_count(&head.parameters);
        // the names of a declaration share its values
        let is_shared = self.shared.is_some();
        for body in head.body.into_iter().chain(head.extra_body).filter(|_| !is_shared) {
            self.visit_body(body, node);
        }
        self.type_parameters.truncate(known);
        self.owner = outer;
        if outer.is_none() {
            self.claim_range(head.start, head.declaration.end_byte());
        }
        self.push_member(owner, member);
    }

    pub(crate) fn push_member(&mut self, owner: u32, mut member: Member) {
        // of a kind and key, as its declaration has it
        if !self.member_keys.insert((owner, member.kind, member.key.clone())) {
            // same name and kind: variants for different platforms, or getter and setter
            member.key.push_str("#2");
            self.member_keys.insert((owner, member.kind, member.key.clone()));
        }
        // what is kept counts, so that thousands of names with thousands of attributes each do not take the memory of their product
        let kept = member.shape.text_len() + 4 * member.shape.names().len() + member.signature_text.len();
        self.budget.spend(kept + member.doc.as_ref().map_or(0, |doc| doc.summary.len()));
        let part = &mut self.facts.types[owner as usize];
        part.declaration_count += 1;
        part.members.push(member);
    }

    /// The members of a type that have a name, so far.
    pub(crate) fn members_named(&mut self, owner: u32, name: &str) -> Vec<usize> {
        let members = &self.facts.types[owner as usize].members;
        let known = self.named_members.entry(owner).or_default();
        for (at, member) in members.iter().enumerate().skip(known.count) {
            known.by_name.entry(member.name.clone()).or_default().push(at);
        }
        known.count = members.len();
        let named = known.by_name.get(name).cloned().unwrap_or_default();
        self.budget.spend(named.len());
        named
    }

    fn visit_body(&mut self, body: Node<'a>, node: Node<'a>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        self.visit(&mut body.walk(), node);
        self.declaring = declaring;
    }

    fn build_member(&self, kind: MemberKind, head: &Head<'a>, from: usize) -> Member {
        let signature = head.signature_span(self);
        let mut apart = head.excluded_spans();
        let mut behaviour = self.parameter_behaviour(&head.parameters, &mut apart);
        let mut shape = Shape::default();
        for attribute in self.attribute_shapes(head, from) {
            shape.append_shape(&attribute);
        }
        shape.append_shape(&self.shape_of(signature, from, &apart));
        let body = head.body.map(node_span);
        match body {
            // without the references in it, of which only a declaration with several names knows already
            Some(body) if head.is_inlined => {
                shape.append_shape(&self.shape_of(body, self.facts.references.len(), &[]));
            }
            Some(body) => self.push_tokens(&mut behaviour, body),
            None => {}
        }
        if let Some(more) = head.extra_body {
            self.push_tokens(&mut behaviour, node_span(more));
        }
        for word in head.excluded.iter().filter(|it| it.from >= signature.from) {
            self.push_behaviour_word(&mut behaviour, *word);
        }
        let overloads = head.parameters.first().filter(|_| self.dialect.has_overloads);
        let types = overloads.map_or_else(String::new, |list| self.join_tokens(node_span(*list), &apart));
        // TypeScript writes types after a colon; a default value may replace the type
        let types =
            types.replace("(: ", "(").replace(", : ", ", ").replace("(=", "(any").replace(", =", ", any");
        // C++ writes a default value at one of several declarations of a function
        let types = match self.dialect.head_rules {
            Some(_) => types.replace(" =)", ")").replace(" =,", ","),
            None => types,
        };
        Member {
            kind,
            name: head.name.clone(),
            key: format!("{}{}{types}{}", head.qualifier, head.name, head.labels),
            visibility: head.visibility.unwrap_or(Visibility::Public),
            is_static: head.is_static,
            shape,
            signature_text: self.signature_text(head, signature),
            value_type: head.value_type.and_then(|node| self.reference_at(node.start_byte() as u32, from)),
            behaviour: if behaviour.is_empty() { Digest::default() } else { Digest::of_bytes(&behaviour) },
            result_type: None,
            parameter_count: ParameterCount::default(),
            private_behaviour: Digest::default(),
            doc: self.shared.as_ref().map_or_else(|| self.read_doc(head), |shared| shared.doc.clone()),
            span: Span::new(head.start, head.declaration.end_byte()),
            signature,
            body_span: body,
        }
    }

    /// Adds a modifier that describes the implementation; visibility is not behaviour.
    fn push_behaviour_word(&self, out: &mut Vec<u8>, word: Span) {
        if matches!(word.text_in(self.source.text), "async" | "synchronized" | "native") {
            self.push_tokens(out, word);
        }
    }

    fn signature_text(&self, head: &Head<'a>, signature: Span) -> String {
        let mut shown = self.join_tokens(signature, &head.excluded_spans());
        if let Some(body) = head.body.filter(|_| head.is_inlined) {
            let value = self.join_tokens(node_span(body), &[]);
            let value = if value.len() > MAX_VALUE_LEN { "…" } else { &value };
            let _ = write!(shown, " = {value}");
        }
        if head.is_override {
            shown.insert_str(0, "override ");
        }
        shown
    }

    /// Names and default values of parameters. They count as behaviour: callers may depend on them, but the signature stays the
    /// same. Adds their spans to `apart`.
    pub(super) fn parameter_behaviour(&self, lists: &[Node<'a>], apart: &mut Vec<Span>) -> Vec<u8> {
        let mut behaviour = Vec::new();
        let each = |list: &Node<'a>| {
            let mut before = "";
            let children = list.children(&mut list.walk()).collect::<Vec<_>>();
            let with_mark = |child: Node<'a>| (child, std::mem::replace(&mut before, child.kind()));
            children.into_iter().map(with_mark).filter(|(child, _)| child.is_named()).collect::<Vec<_>>()
        };
        for (parameter, mark) in lists.iter().flat_map(each) {
            if !self.budget.spend(1) {
                break;
            }
            let mut inner = parameter.walk();
            let names = PARAMETER_NAME_FIELDS.iter().flat_map(|field| {
                parameter.children_by_field_name(field, &mut parameter.walk()).collect::<Vec<_>>()
            });
            let mut spans: Vec<Span> = names.map(Walk::splat_name_span).collect();
            let words = parameter.children(&mut inner).filter(|it| it.kind() == "mutable_specifier");
            // Kotlin writes a default value next to its parameter
            if mark == "=" {
                spans = vec![node_span(parameter)];
            } else if spans.is_empty() {
                spans.extend(Walk::untyped_name_span(parameter));
            } else {
                spans.extend(words.map(node_span));
            }
            spans.extend(find_part(parameter, &["value", "default_value"]).map(node_span));
            for span in &spans {
                self.push_tokens(&mut behaviour, *span);
            }
            apart.extend(spans);
        }
        behaviour
    }

    /// The name inside `...rest`.
    fn splat_name_span(name: Node<'a>) -> Span {
        let splat = matches!(name.kind(), "rest_pattern" | "list_splat_pattern" | "dictionary_splat_pattern");
        name.named_child(0).filter(|_| splat).map_or(node_span(name), node_span)
    }

    /// The name of a parameter that has no name field: a bare name, or one after a star or before its type.
    fn untyped_name_span(parameter: Node<'a>) -> Option<Span> {
        match parameter.kind() {
            "identifier" => Some(node_span(parameter)),
            "list_splat_pattern" | "dictionary_splat_pattern" => parameter.named_child(0).map(node_span),
            "typed_parameter" => parameter.named_child(0).map(Walk::splat_name_span),
            // Kotlin
            "parameter" => child_of_kind(parameter, "identifier").map(node_span),
            // C and C++: `char *name[]`
            "parameter_declaration" | "optional_parameter_declaration" | "variadic_parameter_declaration" => {
                let inner = |it: &Node<'a>| match it.kind() {
                    "reference_declarator" | "variadic_declarator" => it.named_child(0),
                    _ => it.child_by_field_name("declarator"),
                };
                let declarators = std::iter::successors(Some(parameter), inner);
                declarators.last().filter(|it| it.kind() == "identifier").map(node_span)
            }
            "spread_parameter" => {
                parameter.named_child(parameter.named_child_count().saturating_sub(1) as u32).map(node_span)
            }
            _ => None,
        }
    }
}

impl<'a> Head<'a> {
    /// End of the declared name.
    pub(super) fn name_end(&self, walk: &Walk<'a>) -> Option<u32> {
        let signature = self.signature_span(walk);
        let mut tokens = walk.source.tokens_in(signature);
        tokens.find(|token| walk.source.text_of(token) == self.name).map(|token| token.span.to)
    }
}

/// A member without a separate declaration: a tuple field, or an enum constant without a value.
pub(crate) fn plain_member(name: String, kind: MemberKind, node: Node) -> Member {
    Member {
        kind,
        key: name.clone(),
        name,
        visibility: Visibility::Public,
        is_static: false,
        shape: Shape::default(),
        signature_text: String::new(),
        value_type: None,
        behaviour: Digest::default(),
        result_type: None,
        parameter_count: ParameterCount::default(),
        private_behaviour: Digest::default(),
        doc: None,
        span: node_span(node),
        signature: node_span(node),
        body_span: None,
    }
}
