//! The shape of source text around a name: the node it is, the list of parameters or arguments that belongs to it, and the items
//! of that list.
//!
//! Does not know what a name refers to, and changes nothing.

use syntax::{Span, SyntaxNode};

/// The syntax nodes of a file, parents before children.
pub(crate) struct Nodes(pub(crate) Vec<SyntaxNode>);

/// A list in parentheses.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// Between the parentheses.
    pub(crate) inner: Span,
    pub(crate) items: Vec<Item>,
    /// Whether it has comments between its items.
    pub(crate) has_comment: bool,
    pub(crate) has_trailing_comma: bool,
}

/// An item of a list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) span: Span,
    /// Its nodes.
    pub(crate) nodes: Vec<u32>,
}

impl Nodes {
    pub(crate) fn get(&self, at: u32) -> &SyntaxNode {
        &self.0[at as usize]
    }

    /// The innermost node with exactly this span, or around it.
    pub(crate) fn at(&self, span: Span) -> Option<u32> {
        let is_around = |it: &SyntaxNode| it.span.from <= span.from && span.to <= it.span.to;
        let mut found = self.0.first().filter(|it| is_around(it)).map(|_| 0u32)?;
        while let Some(inner) = self.children(found).find(|it| is_around(self.get(*it))) {
            found = inner;
        }
        Some(found)
    }

    pub(crate) fn children(&self, of: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.get(of).end;
        let first = Some(of + 1).filter(|it| *it < end);
        std::iter::successors(first, move |it| Some(self.get(*it).end).filter(|next| *next < end))
    }

    pub(crate) fn child(&self, of: u32, field: &str) -> Option<u32> {
        self.children(of).find(|it| self.get(*it).field == field)
    }

    /// The nodes around a node, innermost first.
    pub(crate) fn ancestors(&self, of: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(of), |it| Some(self.get(*it).parent).filter(|_| *it != 0)).skip(1)
    }

    /// The node and everything below it.
    pub(crate) fn below(&self, of: u32) -> impl Iterator<Item = u32> + '_ {
        of..self.get(of).end
    }

    /// The first name in a node, in source order.
    pub(crate) fn first_name(&self, of: u32) -> Option<u32> {
        self.below(of).find(|it| self.get(*it).kind == "identifier")
    }

    /// The list of parameters that a declared name has.
    pub(crate) fn parameters_of(&self, name: u32) -> Option<u32> {
        let own = self.get(name).span;
        for around in self.ancestors(name).take(4) {
            let of =
                self.child(around, "value").filter(|it| is_function(self.get(*it).kind)).unwrap_or(around);
            if let Some(list) = self.child(of, "parameters").filter(|it| self.get(*it).span.from >= own.to) {
                return Some(list);
            }
        }
        None
    }

    /// The list of arguments if the name is what a call calls; `None` if it is used otherwise.
    pub(crate) fn arguments_of(&self, name: u32) -> Option<u32> {
        let mut callee = name;
        for around in self.ancestors(name) {
            let (node, inner) = (self.get(around), self.get(callee));
            let is_called = match node.kind {
                "method_invocation" => inner.field == "name",
                "call_expression" | "call" | "invocation_expression" => inner.field == "function",
                _ => false,
            };
            if is_called {
                return self.child(around, "arguments");
            }
            let is_last = CALLEES
                .iter()
                .any(|(kind, field)| *kind == node.kind && (inner.field == *field || field.is_empty()));
            if !is_last {
                return None;
            }
            callee = around;
        }
        None
    }

    /// The list in parentheses directly after a name in a macro: its tokens are not parsed.
    pub(crate) fn macro_arguments_of(&self, name: u32) -> Option<u32> {
        let after = self.get(name).end;
        let next = self.0.get(after as usize).filter(|it| it.kind == "token_tree")?;
        let is_sibling = next.parent == self.get(name).parent && next.span.from == self.get(name).span.to;
        let has_other_commas = |it: u32| matches!(self.get(it).kind, "|" | "||" | "<" | "=>");
        (is_sibling && !self.children(after).any(has_other_commas)).then_some(after)
    }

    /// Splits a node in parentheses into its items.
    pub(crate) fn list(&self, at: u32, text: &str) -> Option<List> {
        let node = self.get(at);
        let inner = Span { from: node.span.from + 1, to: node.span.to.checked_sub(1)? };
        let is_list = node.span.text_in(text).starts_with('(') && node.span.text_in(text).ends_with(')');
        if !is_list || node.is_broken || node.kind == "generator_expression" {
            return None;
        }
        let mut list = List { inner, items: Vec::new(), has_comment: false, has_trailing_comma: false };
        let mut nodes: Vec<u32> = Vec::new();
        let close = |nodes: &mut Vec<u32>, list: &mut List| {
            if let (Some(first), Some(last)) = (nodes.first(), nodes.last()) {
                let span = Span { from: self.get(*first).span.from, to: self.get(*last).span.to };
                list.items.push(Item { span, nodes: std::mem::take(nodes) });
            }
        };
        for child in self.children(at) {
            match self.get(child).kind {
                "(" | ")" => {}
                "," => {
                    close(&mut nodes, &mut list);
                    list.has_trailing_comma = true;
                }
                kind if kind.contains("comment") => list.has_comment = true,
                _ => {
                    nodes.push(child);
                    list.has_trailing_comma = false;
                }
            }
        }
        close(&mut nodes, &mut list);
        Some(list)
    }
}

/// Nodes whose last name is what is called: kind, and the field with that name (any if empty).
const CALLEES: &[(&str, &str)] = &[
    ("field_expression", "field"),
    ("scoped_identifier", "name"),
    ("generic_function", "function"),
    ("member_expression", "property"),
    ("attribute", "attribute"),
    ("selector_expression", "field"),
    ("member_access_expression", "name"),
    ("member_binding_expression", "name"),
    ("generic_name", ""),
    ("type_instantiation_expression", "function"),
    ("non_null_expression", ""),
];

fn is_function(kind: &str) -> bool {
    matches!(kind, "arrow_function" | "function_expression" | "generator_function")
}
