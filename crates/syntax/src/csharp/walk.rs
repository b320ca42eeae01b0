//! The state of one walk through a C# tree, and the parts of a declaration that all steps of the walk share.
//!
//! Does not know how a node is handled: declarations, members, references and member accesses each have a file.

use super::kinds::Kind;
use crate::facts::{FileFacts, On, Path, Scope, Shape, Visibility, Written};
use crate::token::{Source, Span};
use crate::walk::lexicon::Lexicon;
use rustc_hash::FxHashMap;
use tree_sitter::Node;

/// One walk through one tree.
pub(crate) struct Walk<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) facts: FileFacts,
    lexicon: Lexicon<'a>,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
    pub(crate) type_parameters: Vec<&'a str>,
    pub(crate) locals: Locals<'a>,
    pub(crate) sight: Sight<'a>,
    /// Reused for each chain of names, to avoid an allocation.
    pub(crate) chain: Chain<'a>,
    pub(crate) depth: u32,
    /// The receiver of the current extension block.
    pub(crate) receiver: Option<Parameters>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(source: &'a Source<'a>) -> Walk<'a> {
        Walk {
            source,
            facts: FileFacts {
                scopes: vec![Scope::default()],
                bytes: source.text.len() as u32,
                lines: crate::token::lines(source.text),
                ..FileFacts::default()
            },
            lexicon: Lexicon::default(),
            scope: 0,
            owner: None,
            type_parameters: Vec::new(),
            locals: Locals::default(),
            sight: Sight::default(),
            chain: Chain::default(),
            depth: 0,
            receiver: None,
        }
    }

    pub(crate) fn word(&mut self, text: &'a str) -> u32 {
        // `@class` is the escaped form of the name `class`
        let text = text.strip_prefix('@').unwrap_or(text);
        self.lexicon.word(&mut self.facts, text)
    }

    pub(crate) fn path(&mut self, path: Path) -> u32 {
        self.lexicon.path(&mut self.facts, path)
    }
}

/// A chain of names, such as `A::B.C<D>.E`.
#[derive(Default)]
pub(crate) struct Chain<'a> {
    pub(crate) alias: Option<&'a str>,
    pub(crate) parts: Vec<Part<'a>>,
}

pub(crate) struct Part<'a> {
    pub(crate) word: &'a str,
    pub(crate) arity: u16,
    /// End of the word.
    pub(crate) end: u32,
}

impl Chain<'_> {
    /// End of the part before the first type argument.
    pub(crate) fn until(&self) -> u32 {
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
    pub(crate) shown: String,
    /// Names and default values: callers may depend on them, but the signature stays the same.
    pub(crate) behaviour: Vec<u8>,
}

/// The variables in scope, and the result type of the enclosing member.
#[derive(Default)]
pub(crate) struct Sight<'a> {
    pub(crate) variables: FxHashMap<&'a str, Variable>,
    pub(crate) written: FxHashMap<Written, u32>,
    /// End of the scope of the next variable declared.
    pub(crate) until: u32,
    /// The type of `value` in an accessor.
    pub(crate) gives: Option<u32>,
    /// How many of the type parameters in scope belong to types.
    pub(crate) of_types: usize,
    /// Local functions of the member.
    pub(crate) functions: Vec<&'a str>,
    /// The parameter of the enclosing extension block.
    pub(crate) receiver: Option<Node<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) on: On,
    /// End of its scope. C# rejects a second variable of the same name inside it, so the last one declared applies.
    pub(crate) until: u32,
}

pub(crate) fn span(node: Node) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

pub(crate) fn child(node: Node<'_>, kind: Kind) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| Kind::of(*child) == kind)
}

/// Start of a declaration after its attributes.
pub(crate) fn after_attributes(node: Node) -> usize {
    let mut cursor = node.walk();
    let first =
        node.children(&mut cursor).find(|it| !matches!(Kind::of(*it), Kind::AttributeList | Kind::Comment));
    first.map_or(node.start_byte(), |child| child.start_byte())
}

pub(crate) fn is_visibility(word: &str) -> bool {
    matches!(word, "public" | "protected" | "internal" | "private" | "file")
}

pub(crate) fn visibility(modifiers: &[&str]) -> Option<Visibility> {
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
