//! The functions inside of a function around a place: local functions, closures and lambdas, outermost first.
//!
//! Parses the file again: declarations inside of bodies are not indexed.

use std::cell::OnceCell;
use syntax::{Reader, Span, Symbols, SyntaxNode, language_of};

/// Nodes that are functions, in the grammars of all languages.
const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_declaration",
    "generator_function_declaration",
    "function_expression",
    "generator_function",
    "arrow_function",
    "method_definition",
    "method_declaration",
    "function_item",
    "closure_expression",
    "func_literal",
    "lambda",
    "lambda_expression",
    "local_function_statement",
    "anonymous_method_expression",
];
/// Fields in which a declaration or an assignment around a function names it.
const NAME_FIELDS: &[&str] = &["name", "left", "pattern", "key"];
/// Texts without any of these have no function in another one.
const MARKS: &[&str] =
    &["def ", "lambda", "function", "=>", "fn ", "|", "func", "->", "delegate", ") {", ")\n"];

/// One file. It is parsed when a declaration in it may contain functions.
pub(crate) struct NestedFunctions {
    file: String,
    text: String,
    nodes: OnceCell<Vec<SyntaxNode>>,
}

impl NestedFunctions {
    pub(crate) fn new(file: String, text: String) -> NestedFunctions {
        NestedFunctions { file, text, nodes: OnceCell::new() }
    }

    fn nodes(&self) -> &[SyntaxNode] {
        self.nodes.get_or_init(|| {
            let reader = language_of(self.file.as_ref()).and_then(|language| Reader::new(language).ok());
            let parsed = reader.and_then(|mut it| it.parse(&self.text, &Symbols::default()));
            parsed.map(|it| it.nodes()).unwrap_or_default()
        })
    }

    /// Whether a declaration may contain functions before a place, which is cheaper to know than which ones.
    fn may_have(&self, around: Span, at: u32) -> bool {
        let body = self.text.get(around.from as usize..at as usize).unwrap_or_default();
        let (head, lines) = body.split_once('\n').unwrap_or((body, ""));
        MARKS.iter().any(|mark| lines.contains(mark) || head.matches(mark).count() > 1)
    }

    /// The names of the functions around a place, without the declaration itself.
    pub(crate) fn names_at(&self, declared: Span, at: u32) -> Vec<String> {
        if !self.may_have(declared, at) {
            return Vec::new();
        }
        let holds = |node: &&SyntaxNode| {
            node.span.from <= at
                && at < node.span.to
                && declared.from <= node.span.from
                && node.span.to <= declared.to
                && FUNCTIONS.contains(&node.kind)
        };
        let around: Vec<&SyntaxNode> = self.nodes().iter().filter(holds).collect();
        around.into_iter().skip(1).map(|node| self.name_of(node)).collect()
    }

    fn name_of(&self, function: &SyntaxNode) -> String {
        let own = self.named_by(function, &["name"]);
        let around = |node: &SyntaxNode| &self.nodes()[node.parent as usize];
        let parent = around(function);
        let by_parent = || self.named_by(parent, NAME_FIELDS);
        // in Go, both sides of an assignment are lists
        let by_list =
            || self.named_by(around(parent), NAME_FIELDS).filter(|_| parent.kind == "expression_list");
        own.or_else(by_parent).or_else(by_list).unwrap_or_else(|| "closure".to_owned())
    }

    /// The text of a child in one of the fields, if it is a name.
    fn named_by(&self, node: &SyntaxNode, fields: &[&str]) -> Option<String> {
        let at = self.nodes().iter().position(|it| std::ptr::eq(it, node))?;
        let children = self.nodes().get(at + 1..node.end as usize)?;
        let name = children.iter().find(|it| it.parent == at as u32 && fields.contains(&it.field))?;
        let text = name.span.text_in(&self.text);
        text.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| text.to_owned())
    }
}
