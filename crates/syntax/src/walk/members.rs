//! Members of types and modules: functions and values, with the contract (shape) separated from the behaviour.
//!
//! Does not know overriding or inheritance.

use super::{Head, Walk, span};
use crate::digest::Digest;
use crate::facts::{Member, MemberKind, Shape, Takes, Visibility};
use crate::token::Span;
use std::fmt::Write as _;
use tree_sitter::Node;

/// A longer default value is displayed as `…`.
const SHOWN_VALUE: usize = 24;

/// Field names that grammars use for the name of a parameter.
const NAMES: &[&str] = &["pattern", "name"];

impl<'a> Walk<'a> {
    pub(super) fn member(&mut self, kind: MemberKind, node: Node<'a>) {
        let head = (self.dialect.head)(self, node);
        self.add_member(kind, node, &head);
    }

    /// Reads a member of the enclosing type, or of the module.
    pub(crate) fn add_member(&mut self, kind: MemberKind, node: Node<'a>, head: &Head<'a>) {
        let owner = match self.owner {
            Some(owner) => owner,
            None => self.module(),
        };
        let outer = self.owner.replace(owner);
        let known = self.type_parameters.len();
        self.push_type_parameters(head.type_parameters);
        let from = self.facts.references.len();
        self.visit_head(node, head);
        let mut member = self.built(kind, head, from);
        member.gives = head.value_type.and_then(|node| self.written_type(node));
        member.takes = self.takes(&head.parameters);
        for body in head.body.into_iter().chain(head.more) {
            self.visit_body(body, node);
        }
        self.type_parameters.truncate(known);
        self.owner = outer;
        if outer.is_none() {
            self.take(head.from, head.whole.end_byte());
        }
        self.push_member(owner, member);
    }

    pub(crate) fn push_member(&mut self, owner: u32, mut member: Member) {
        let part = &mut self.facts.types[owner as usize];
        let same = part.members.iter().filter(|it| it.kind == member.kind && it.key == member.key).count();
        if same > 0 {
            // same name and kind: variants for different platforms, or getter and setter
            let _ = write!(member.key, "#{}", same + 1);
        }
        part.declared += 1;
        part.members.push(member);
    }

    fn visit_body(&mut self, body: Node<'a>, node: Node<'a>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        self.visit(&mut body.walk(), node);
        self.declaring = declaring;
    }

    fn built(&self, kind: MemberKind, head: &Head<'a>, from: usize) -> Member {
        let signature = head.signature(self);
        let mut apart = head.left_out();
        let mut behaviour = self.parameters(&head.parameters, &mut apart);
        let mut shape = Shape::default();
        for attribute in self.attributes(head, from) {
            shape.append(&attribute);
        }
        shape.append(&self.shape(signature, from, &apart));
        let body = head.body.map(span);
        match body {
            Some(body) if head.is_inlined => shape.append(&self.shape(body, from, &[])),
            Some(body) => self.tokens_into(&mut behaviour, body),
            None => {}
        }
        if let Some(more) = head.more {
            self.tokens_into(&mut behaviour, span(more));
        }
        for word in head.apart.iter().filter(|it| it.from >= signature.from) {
            self.behaviour_word(&mut behaviour, *word);
        }
        let overloads = head.parameters.first().filter(|_| self.dialect.overloads);
        let types = overloads.map_or_else(String::new, |list| self.glued(span(*list), &apart));
        // TypeScript writes types after a colon; a default value may replace the type
        let types =
            types.replace("(: ", "(").replace(", : ", ", ").replace("(=", "(any").replace(", =", ", any");
        Member {
            kind,
            name: head.name.clone(),
            key: format!("{}{}{types}", head.qualifier, head.name),
            visibility: head.visibility.unwrap_or(Visibility::Public),
            is_static: head.is_static,
            shape,
            shown: self.shown(head, signature),
            value_type: head.value_type.and_then(|node| self.reference_at(node.start_byte() as u32, from)),
            body: if behaviour.is_empty() { Digest::default() } else { Digest::of(&behaviour) },
            gives: None,
            takes: Takes::default(),
            hidden: Digest::default(),
            doc: self.doc(head),
            span: Span::new(head.from, head.whole.end_byte()),
            signature,
            body_span: body,
        }
    }

    /// Adds a modifier that describes the implementation; visibility is not behaviour.
    fn behaviour_word(&self, out: &mut Vec<u8>, word: Span) {
        if matches!(word.of(self.source.text), "async" | "synchronized" | "native") {
            self.tokens_into(out, word);
        }
    }

    fn shown(&self, head: &Head<'a>, signature: Span) -> String {
        let mut shown = self.glued(signature, &head.left_out());
        if let Some(body) = head.body.filter(|_| head.is_inlined) {
            let value = self.glued(span(body), &[]);
            let value = if value.len() > SHOWN_VALUE { "…" } else { &value };
            let _ = write!(shown, " = {value}");
        }
        if head.overrides {
            shown.insert_str(0, "override ");
        }
        shown
    }

    /// Names and default values of parameters. They count as behaviour: callers may depend on them, but the signature stays the
    /// same. Adds their spans to `apart`.
    pub(super) fn parameters(&self, lists: &[Node<'a>], apart: &mut Vec<Span>) -> Vec<u8> {
        let mut behaviour = Vec::new();
        let each = |list: &Node<'a>| list.named_children(&mut list.walk()).collect::<Vec<_>>();
        for parameter in lists.iter().flat_map(each) {
            let mut inner = parameter.walk();
            let names = NAMES.iter().flat_map(|field| {
                parameter.children_by_field_name(field, &mut parameter.walk()).collect::<Vec<_>>()
            });
            let mut spans: Vec<Span> = names.map(Walk::own_name).collect();
            spans.extend(parameter.child_by_field_name("value").map(span));
            let words = parameter.children(&mut inner).filter(|it| it.kind() == "mutable_specifier");
            if spans.is_empty() {
                spans.extend(Walk::untyped(parameter));
            } else {
                spans.extend(words.map(span));
            }
            for span in &spans {
                self.tokens_into(&mut behaviour, *span);
            }
            apart.extend(spans);
        }
        behaviour
    }

    /// The name inside `...rest`.
    fn own_name(name: Node<'a>) -> Span {
        let splat = matches!(name.kind(), "rest_pattern" | "list_splat_pattern" | "dictionary_splat_pattern");
        name.named_child(0).filter(|_| splat).map_or(span(name), span)
    }

    /// The name of a parameter that has no name field: a bare name, or one after a star or before its type.
    fn untyped(parameter: Node<'a>) -> Option<Span> {
        match parameter.kind() {
            "identifier" => Some(span(parameter)),
            "list_splat_pattern" | "dictionary_splat_pattern" => parameter.named_child(0).map(span),
            "typed_parameter" => parameter.named_child(0).map(Walk::own_name),
            "spread_parameter" => {
                parameter.named_child(parameter.named_child_count().saturating_sub(1) as u32).map(span)
            }
            _ => None,
        }
    }
}

impl<'a> Head<'a> {
    /// End of the declared name.
    pub(super) fn name_end(&self, walk: &Walk<'a>) -> Option<u32> {
        let signature = self.signature(walk);
        let mut tokens = walk.source.within(signature);
        tokens.find(|token| walk.source.of(token) == self.name).map(|token| token.span.to)
    }
}

/// A member without a separate declaration: a tuple field, or an enum constant without a value.
pub(crate) fn value_member(name: String, kind: MemberKind, node: Node) -> Member {
    Member {
        kind,
        key: name.clone(),
        name,
        visibility: Visibility::Public,
        is_static: false,
        shape: Shape::default(),
        shown: String::new(),
        value_type: None,
        body: Digest::default(),
        gives: None,
        takes: Takes::default(),
        hidden: Digest::default(),
        doc: None,
        span: span(node),
        signature: span(node),
        body_span: None,
    }
}
