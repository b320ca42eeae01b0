//! The state of one walk through a C# tree, and the parts of a declaration that all steps of the walk share.
//!
//! Does not know how a node is handled: declarations, members, references and member accesses each have a file.

use super::kinds::Kind;
use crate::ancestors::parent_within;
use crate::effort::EffortLimit;
use crate::token::Source;
use crate::walk::interner::Interner;
use facts::Span;
use facts::{FileFacts, Path, ReceiverExpr, Scope, Shape, Visibility, WrittenType};
use rustc_hash::FxHashMap;
use tree_sitter::Node;

/// One walk through one tree.
pub(crate) struct Walk<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) facts: FileFacts,
    lexicon: Interner<'a>,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
    pub(crate) type_parameters: Vec<&'a str>,
    pub(crate) locals: Locals<'a>,
    pub(crate) variable_scope: VariableScope<'a>,
    /// Reused for each chain of names, to avoid an allocation.
    pub(crate) chain: NameChain<'a>,
    /// The nodes around the current one, outermost first.
    pub(crate) open: Vec<Node<'a>>,
    pub(crate) budget: &'a EffortLimit<'a>,
    /// The list of values that was read last, its last explicit value, and how many values follow that one.
    pub(crate) enum_values: (usize, Option<Node<'a>>, u32),
    /// The receiver of the current extension block.
    pub(crate) extension_receiver: Option<Parameters>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(source: &'a Source<'a>, budget: &'a EffortLimit<'a>) -> Walk<'a> {
        Walk {
            source,
            facts: FileFacts {
                scopes: vec![Scope::default()],
                bytes: source.text.len() as u32,
                lines: crate::token::count_lines(source.text),
                ..FileFacts::default()
            },
            lexicon: Interner::default(),
            scope: 0,
            owner: None,
            type_parameters: Vec::new(),
            locals: Locals::default(),
            variable_scope: VariableScope::default(),
            chain: NameChain::default(),
            open: Vec::new(),
            budget,
            enum_values: (0, None, 0),
            extension_receiver: None,
        }
    }

    /// The parent of a node at or near the current one.
    pub(crate) fn parent_of(&self, node: Node<'a>) -> Option<Node<'a>> {
        parent_within(&self.open, node)
    }

    pub(crate) fn intern_word(&mut self, text: &'a str) -> u32 {
        // `@class` is the escaped form of the name `class`
        let text = text.strip_prefix('@').unwrap_or(text);
        self.lexicon.intern_word(&mut self.facts, text)
    }

    pub(crate) fn intern_path(&mut self, path: Path) -> u32 {
        self.lexicon.intern_path(&mut self.facts, path)
    }
}

/// A chain of names, such as `A::B.C<D>.E`.
#[derive(Default)]
pub(crate) struct NameChain<'a> {
    pub(crate) alias: Option<&'a str>,
    pub(crate) parts: Vec<ChainPart<'a>>,
}

pub(crate) struct ChainPart<'a> {
    pub(crate) word: &'a str,
    pub(crate) arity: u16,
    /// End of the word.
    pub(crate) end: u32,
}

impl NameChain<'_> {
    /// End of the part before the first type argument.
    pub(crate) fn name_end(&self) -> u32 {
        let plain = self.parts.iter().take_while(|part| part.arity == 0).count();
        let last = self.parts.get(plain).or(self.parts.last());
        last.map_or(0, |part| part.end)
    }
}

/// The variables of a member, each with the last word of its declared type.
pub(crate) type Locals<'a> = FxHashMap<&'a str, &'a str>;

#[derive(Default)]
pub(crate) struct Parameters {
    /// Modifiers, attributes and types.
    pub(crate) shape: Shape,
    /// Types only, to distinguish overloads.
    pub(crate) key: String,
    pub(crate) text: String,
    /// Names and default values: callers may depend on them, but the signature stays the same.
    pub(crate) behaviour: Vec<u8>,
}

/// The variables in scope, and the result type of the enclosing member.
#[derive(Default)]
pub(crate) struct VariableScope<'a> {
    pub(crate) variables: FxHashMap<&'a str, Variable>,
    pub(crate) written_types: FxHashMap<WrittenType, u32>,
    /// End of the scope of the next variable declared.
    pub(crate) scope_end: u32,
    /// The type of `value` in an accessor.
    pub(crate) result_type: Option<u32>,
    /// How many of the type parameters in scope belong to types.
    pub(crate) type_level_parameters: usize,
    /// Local functions of the member.
    pub(crate) local_functions: Vec<&'a str>,
    /// The parameter of the enclosing extension block.
    pub(crate) extension_parameter: Option<Node<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) receiver: ReceiverExpr,
    /// End of its scope. C# rejects a second variable of the same name inside it, so the last one declared applies.
    pub(crate) scope_end: u32,
}

pub(crate) fn node_span(node: Node) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

pub(crate) fn child_of_kind(node: Node<'_>, kind: Kind) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| Kind::of_node(*child) == kind)
}

/// Start of a declaration after its attributes.
pub(crate) fn after_attributes(node: Node) -> usize {
    let mut cursor = node.walk();
    let first = node
        .children(&mut cursor)
        .find(|it| !matches!(Kind::of_node(*it), Kind::AttributeList | Kind::Comment));
    first.map_or(node.start_byte(), |child| child.start_byte())
}

pub(crate) fn is_visibility(word: &str) -> bool {
    matches!(word, "public" | "protected" | "internal" | "private" | "file")
}

pub(crate) fn parse_visibility(modifiers: &[&str]) -> Option<Visibility> {
    let has = |word: &str| modifiers.contains(&word);
    match (has("protected"), has("internal"), has("private")) {
        (true, true, _) => Some(Visibility::ProtectedInternal),
        (true, _, true) => Some(Visibility::PrivateProtected),
        (true, ..) => Some(Visibility::Protected),
        (_, true, _) => Some(Visibility::Internal),
        (_, _, true) => Some(Visibility::Private),
        _ if has("public") => Some(Visibility::Public),
        _ if has("file") => Some(Visibility::File),
        _ => None,
    }
}
