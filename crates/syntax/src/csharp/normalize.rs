//! Normalizes declarations, independent of layout: the contract as a `Shape`, the behaviour as bytes to hash, and one line of text
//! for display.
//!
//! Does not know how the three are used.

use super::kinds::Kind;
use super::walk::{Parameters, Walk, after_attributes, node_span, parse_visibility};
use crate::token::{Token, TokenKind};
use facts::Digest;
use facts::Span;
use facts::{Doc, Position, Shape, Visibility};
use tree_sitter::Node;

/// Attributes that tools generate and that are irrelevant to callers.
const IGNORED_ATTRIBUTES: &[&str] = &["GeneratedCode", "GeneratedCodeAttribute"];

/// A longer value is displayed as `…`.
const MAX_VALUE_LEN: usize = 24;

/// Separates tokens in hashed bytes; does not occur in source outside of strings.
const TOKEN_SEPARATOR: u8 = 0x1f;

#[derive(Default)]
pub(crate) struct Accessors {
    pub(crate) shape: Shape,
    pub(crate) text: String,
    pub(crate) behaviour: Vec<u8>,
    /// Behaviour of private accessors.
    pub(crate) private_behaviour: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// The tokens of a range, with a placeholder for each name of a type.
    pub(crate) fn shape_of(&self, span: Span, from: usize) -> Shape {
        let mut shape = Shape::default();
        let mut resume = 0;
        for token in self.source.tokens_in(span).take_while(|_| self.budget.spend(1)) {
            if token.span.from < resume {
                continue;
            }
            match self.reference_at(token.span.from, from).filter(|_| token.kind == TokenKind::Word) {
                Some(reference) => {
                    shape.push_name(reference);
                    resume = self.facts.references[reference as usize].name_end;
                }
                None => shape.push_token(self.source.text_of(token)),
            }
        }
        shape
    }

    /// The reference to a type that starts at a byte.
    pub(crate) fn reference_at(&self, byte: u32, from: usize) -> Option<u32> {
        let references = &self.facts.references[from..];
        let at = from + references.binary_search_by_key(&byte, |reference| reference.at).ok()?;
        let position = self.facts.references[at].position;
        matches!(position, Position::Type | Position::Base | Position::Attribute).then_some(at as u32)
    }

    /// The attributes of a declaration, separately and sorted: several may share brackets, and their order is insignificant.
    pub(crate) fn attribute_shapes(&self, node: Node<'a>, from: usize) -> Vec<Shape> {
        let mut found: Vec<(String, Shape)> = Vec::new();
        let mut cursor = node.walk();
        for list in node.children(&mut cursor).filter(|child| Kind::of_node(*child) == Kind::AttributeList) {
            let target = list.named_child(0).filter(|first| Kind::of_node(*first) == Kind::Other);
            let mut inner = list.walk();
            for attribute in
                list.named_children(&mut inner).filter(|it| Kind::of_node(*it) == Kind::Attribute)
            {
                let name = attribute.child_by_field_name("name").map_or("", |name| self.node_text(name));
                if IGNORED_ATTRIBUTES.contains(&name.rsplit('.').next().unwrap_or_default().trim()) {
                    continue;
                }
                let mut shape = Shape::default();
                shape.push_token("[");
                if let Some(target) = target {
                    shape.append_shape(&self.shape_of(node_span(target), from));
                }
                shape.append_shape(&self.shape_of(node_span(attribute), from));
                shape.push_token("]");
                found.push((self.join_tokens(node_span(attribute)), shape));
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.into_iter().map(|(_, shape)| shape).collect()
    }

    pub(crate) fn read_parameters(&self, list: Node<'a>, from: usize) -> Parameters {
        let (open, close) =
            if Kind::of_node(list) == Kind::BracketedParameterList { ("[", "]") } else { ("(", ")") };
        let mut out = Parameters { key: open.to_owned(), text: open.to_owned(), ..Parameters::default() };
        out.shape.push_token(open);
        let mut count = 0;
        let mut array = None;
        let mut cursor = list.walk();
        for child in list.children(&mut cursor) {
            if Kind::of_node(child) == Kind::Parameter {
                self.push_parameter(&mut out, child, from, &mut count);
            } else if child.kind() == "params" {
                array = Some(child.start_byte());
            } else if let Some(start) = array
                .filter(|_| Kind::of_node(child) == Kind::Identifier && is_parameter_name(list, child))
                .filter(|_| self.budget.spend(list.child_count() as usize))
            {
                let declared = Span::new(start, child.start_byte());
                self.push_parameter_parts(&mut out, declared, Some(child), None, from, &mut count);
                array = None;
            }
        }
        out.shape.push_token(close);
        out.key.push_str(close);
        out.text.push_str(close);
        out
    }

    fn push_parameter(&self, out: &mut Parameters, node: Node<'a>, from: usize, count: &mut u32) {
        for attribute in self.attribute_shapes(node, from) {
            out.shape.append_shape(&attribute);
        }
        let name = node.child_by_field_name("name");
        let start = after_attributes(node);
        let declared = Span::new(start, name.map_or(node.end_byte(), |name| name.start_byte()));
        let equals = node.children(&mut node.walk()).find(|child| child.kind() == "=");
        let default = equals.map(|mark| Span::new(mark.end_byte(), node.end_byte()));
        self.push_parameter_parts(out, declared, name, default, from, count);
    }

    fn push_parameter_parts(
        &self,
        out: &mut Parameters,
        declared: Span,
        name: Option<Node<'a>>,
        default: Option<Span>,
        from: usize,
        count: &mut u32,
    ) {
        if *count > 0 {
            out.shape.push_token(",");
            out.key.push(',');
            out.text.push_str(", ");
        }
        *count += 1;
        let name = name.map_or("", |name| self.node_text(name));
        let text = self.join_tokens(declared);
        out.shape.append_shape(&self.shape_of(declared, from));
        out.key.push_str(&text);
        out.text.push_str(&text);
        if !text.is_empty() {
            out.text.push(' ');
        }
        out.text.push_str(name);
        out.behaviour.extend(name.as_bytes());
        out.behaviour.push(TOKEN_SEPARATOR);
        if let Some(default) = default {
            self.push_tokens(&mut out.behaviour, default);
            out.text.push_str(&self.value_text(default));
        }
    }

    /// The accessors of a property, indexer or event; `=> x` is a `get` that returns `x`.
    pub(crate) fn read_accessors(&self, node: Node<'a>, from: usize) -> Accessors {
        let mut out = Accessors::default();
        let arrow = node.child_by_field_name("value").filter(|value| Kind::of_node(*value) == Kind::Arrow);
        if let Some(arrow) = arrow {
            out.shape.push_token("{ get; }");
            out.text.push_str(" { get; }");
            out.behaviour.extend(b"get");
            self.push_body(&mut out.behaviour, arrow);
        }
        let Some(list) = node.child_by_field_name("accessors") else { return out };
        let mut shown = String::new();
        let mut cursor = list.walk();
        for accessor in list.named_children(&mut cursor).filter(|it| Kind::of_node(*it) == Kind::Accessor) {
            self.push_accessor(&mut out, &mut shown, accessor, from);
        }
        if matches!(Kind::of_node(node), Kind::Property | Kind::Indexer) {
            out.text = format!(" {{ {shown}}}");
        }
        out
    }

    fn push_accessor(&self, out: &mut Accessors, shown: &mut String, node: Node<'a>, from: usize) {
        let name = node.child_by_field_name("name").map_or("", |name| self.node_text(name));
        let modifiers = self.sorted_modifiers(node);
        let private = parse_visibility(&modifiers) == Some(Visibility::Private);
        if private {
            out.private_behaviour.extend(name.as_bytes());
        } else {
            for attribute in self.attribute_shapes(node, from) {
                out.shape.append_shape(&attribute);
            }
            for word in &modifiers {
                out.shape.push_token(word);
                shown.push_str(word);
                shown.push(' ');
            }
            out.shape.push_token(name);
            shown.push_str(name);
            shown.push_str("; ");
        }
        let behaviour = if private { &mut out.private_behaviour } else { &mut out.behaviour };
        if let Some(body) = node.child_by_field_name("body") {
            behaviour.extend(name.as_bytes());
            self.push_body(behaviour, body);
        }
    }

    /// Adds a body in normalized form: `=> x`, `{ return x; }` and `{ x; }` are equivalent.
    pub(crate) fn push_body(&self, out: &mut Vec<u8>, body: Node<'a>) {
        out.push(TOKEN_SEPARATOR);
        let mut cursor = body.walk();
        if Kind::of_node(body) == Kind::Arrow {
            let arrow = body.children(&mut cursor).find(|child| child.kind() == "=>");
            let from = arrow.map_or(body.start_byte(), |arrow| arrow.end_byte());
            return self.push_tokens(out, Span::new(from, body.end_byte()));
        }
        let mut statements =
            body.named_children(&mut cursor).filter(|it| Kind::of_node(*it) != Kind::Comment);
        let only = statements.next().filter(|_| statements.next().is_none());
        match only.map(|only| (Kind::of_node(only), only)) {
            Some((Kind::ExpressionStatement | Kind::Throw, statement)) => {
                self.push_tokens(out, Span::new(statement.start_byte(), statement.end_byte() - 1));
            }
            Some((Kind::Return, statement)) if statement.named_child_count() > 0 => {
                let from = statement.start_byte() + "return".len();
                self.push_tokens(out, Span::new(from, statement.end_byte() - 1));
            }
            _ => self.push_tokens(out, node_span(body)),
        }
    }

    pub(crate) fn push_tokens(&self, out: &mut Vec<u8>, span: Span) {
        for token in self.source.tokens_in(span).take_while(|_| self.budget.spend(1)) {
            let text = self.source.text_of(token).as_bytes();
            if token.kind == TokenKind::Literal && text.contains(&b'\r') {
                // a checkout on another platform may change line endings
                out.extend(text.iter().filter(|byte| **byte != b'\r'));
            } else {
                out.extend(text);
            }
            out.push(TOKEN_SEPARATOR);
        }
    }

    pub(crate) fn value_text(&self, value: Span) -> String {
        let text = self.join_tokens(value);
        if text.len() > MAX_VALUE_LEN { " = …".to_owned() } else { format!(" = {text}") }
    }

    /// Joins tokens for display, with spaces only where they aid reading.
    pub(crate) fn join_tokens(&self, span: Span) -> String {
        let mut out = String::new();
        let mut before: Option<&Token> = None;
        for token in self.source.tokens_in(span).take_while(|_| self.budget.spend(1)) {
            let text = self.source.text_of(token);
            if before
                .is_some_and(|before| needs_space(self.source.text_of(before), before.kind, text, token.kind))
            {
                out.push(' ');
            }
            out.push_str(text);
            before = Some(token);
        }
        out
    }

    /// The documentation before a declaration.
    pub(crate) fn read_doc(&self, node: Node<'a>) -> Option<Doc> {
        let index = self.source.token_index(node.start_byte() as u32);
        let before = &self.source.tokens[..index];
        let first = before.iter().rposition(|token| token.kind.is_significant()).map_or(0, |at| at + 1);
        self.budget.spend(before.len() - first);
        let lines = before[first..].iter().filter(|token| token.kind == TokenKind::Doc);
        let text: Vec<&str> =
            lines.flat_map(|token| self.source.text_of(token).lines().map(strip_comment_marks)).collect();
        if text.is_empty() {
            return None;
        }
        // line breaks are insignificant, next to a tag as anywhere else
        let text = text.join(" ").replace('<', " <").replace('>', "> ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Doc { summary: first_sentence(&text), digest: Digest::of_bytes(text.as_bytes()) })
    }
}

fn is_parameter_name(list: Node, child: Node) -> bool {
    let mut cursor = list.walk();
    list.children_by_field_name("name", &mut cursor).any(|it| it == child)
}

/// Whether two tokens are separated by a space.
fn needs_space(before: &str, before_kind: TokenKind, text: &str, kind: TokenKind) -> bool {
    let wordy = |kind| matches!(kind, TokenKind::Word | TokenKind::Number | TokenKind::Literal);
    let spaced =
        |mark: &str| matches!(mark, "=" | "=>" | ":" | "??" | "&&" | "||" | "==" | "!=" | "+" | "|" | "<<");
    match (wordy(before_kind), wordy(kind)) {
        (true, true) => true,
        (false, true) => spaced(before) || matches!(before, "," | ")" | "]" | ">" | "?" | "*"),
        _ => before == "," || spaced(text) || spaced(before),
    }
}

/// Strips the comment marks from a line of documentation.
fn strip_comment_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches("/**").trim_start_matches("///").trim_end_matches("*/");
    line.trim().trim_start_matches('*').trim()
}

/// The first sentence of the documentation, without markup.
fn first_sentence(doc: &str) -> String {
    let inner = doc.split_once("<summary>").map_or(doc, |(_, rest)| rest);
    let inner = inner.split_once("</summary>").map_or(inner, |(inner, _)| inner).trim();
    let mut out = String::new();
    let mut rest = inner;
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>') else { break };
        out.push_str(&rest[..open]);
        out.push_str(tag_reference(&rest[open..open + close]));
        rest = &rest[open + close + 1..];
    }
    out.push_str(rest);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    out.split_once(". ").map_or(out.clone(), |(first, _)| format!("{first}."))
}

/// The name that a tag such as `<see cref="T:A.B"/>` refers to.
fn tag_reference(tag: &str) -> &str {
    let value = ["cref=\"", "name=\"", "langword=\""].iter().find_map(|key| tag.split_once(key));
    let value = value.map_or("", |(_, value)| value.split('"').next().unwrap_or_default());
    let value = value.split('(').next().unwrap_or_default();
    value.rsplit(['.', ':']).next().unwrap_or_default()
}
