//! Facts that one file states without any other file: its namespaces and imports, the types it declares with their members, its
//! unresolved references, and the places where parsing failed.
//!
//! Does not know what a name refers to. References stay unresolved, so a change in another file never requires parsing this one
//! again.

use crate::digest::Digest;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// All facts of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Interned words of all paths, without duplicates.
    pub words: Vec<Box<str>>,
    pub paths: Vec<Path>,
    /// The first scope is the file itself.
    pub scopes: Vec<Scope>,
    pub types: Vec<TypePart>,
    /// In source order.
    pub references: Vec<Reference>,
    /// The declared types of variables and members as written, without duplicates.
    pub written_types: Vec<WrittenType>,
    /// Each one follows the reference that is its receiver.
    pub member_references: Vec<MemberReference>,
    pub gaps: Vec<Gap>,
    pub lines: u32,
    pub bytes: u32,
    /// Whether names of outer namespaces must be imported before they can be used.
    pub requires_imports: bool,
    /// Whether namespaces and paths include the module path of the file in its project.
    pub has_module_path: bool,
    /// Whether references are only names in the text: the language is read at the level of declarations.
    pub is_textual: bool,
    /// Whether it declares nothing only because a condition such as `#if` leaves its text out.
    pub is_inactive: bool,
}

impl FileFacts {
    pub fn word_text(&self, word: u32) -> &str {
        self.words.get(word as usize).map_or("", |word| word)
    }

    pub fn reference_path(&self, reference: &Reference) -> &Path {
        &self.paths[reference.path as usize]
    }
}

/// A name as written, such as `A.B<,>.C`, with the number of type arguments of each segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Path {
    /// The qualifier before `::`; `global` is not treated specially.
    pub alias: Option<u32>,
    pub segments: Box<[Segment]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    pub word: u32,
    pub arity: u16,
}

/// A region of a file with the same name lookup rules: the file, or a namespace block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    pub parent: Option<u32>,
    /// The words of the namespace, outermost first; empty for the file.
    pub namespace: Vec<u32>,
    pub imports: Vec<Import>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub kind: ImportKind,
    pub path: u32,
    /// Whether it applies to every file of the project.
    pub global: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImportKind {
    Namespace,
    Static,
    /// `using X = …`, with the word `X`.
    Alias(u32),
}

/// A name that may refer to a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub path: u32,
    pub at: u32,
    /// End of the part before the first type argument.
    pub name_end: u32,
    pub scope: u32,
    /// The type whose declaration contains it.
    pub owner: Option<u32>,
    pub position: Position,
    /// Whether a variable in scope has this name, and its type has the same name.
    pub is_shadowed: bool,
}

/// A type as written in the source. Only names and arrays are recorded; `T*`, for example, is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WrittenType {
    /// `None` for an array and for the two constants below.
    pub path: Option<u32>,
    /// The element type: the last type argument, or the element of an array.
    pub element: Option<u32>,
    /// Whether `element` is the only type argument. A `Dictionary<K, V>` yields a `V` when indexed, but not when iterated.
    pub has_single_argument: bool,
}

impl WrittenType {
    /// `int`, `string`.
    pub const PREDEFINED: WrittenType = WrittenType { path: None, element: None, has_single_argument: false };
    /// A type parameter of the enclosing type.
    pub const TYPE_PARAMETER: WrittenType =
        WrittenType { path: None, element: None, has_single_argument: true };
}

/// A name that may refer to a member or a free function, or be the receiver of one. It ends where its word ends. 20 bytes each,
/// because a large codebase has a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberReference {
    pub word: u32,
    pub at: u32,
    pub receiver: ReceiverExpr,
    /// Number of arguments, if it is called.
    pub argument_count: Option<u8>,
    /// Number of type arguments.
    pub arity: u8,
}

/// The receiver of a member access, as far as the text of the file determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiverExpr {
    /// No explicit receiver: an unqualified name that is not a local variable.
    Implicit,
    This,
    Base,
    /// `global::`.
    Global,
    /// A word of an import: something of another module.
    Import,
    /// A value of a type written in this file, by index into `written_types`.
    Typed(u32),
    /// The value of another member reference, by index into `member_references`.
    Member(u32),
    /// An element of the value of another member reference, obtained by iterating over it or awaiting it.
    Element(u32),
    /// An element of the value of another member reference, obtained by indexing.
    Indexed(u32),
    /// A value whose type is not declared in source, such as a string or a number.
    External,
    /// A value whose type only a compiler could determine.
    Unknown,
}

/// The number of arguments a member accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterCount {
    pub min: u8,
    /// [`ParameterCount::UNLIMITED`] if the last parameter accepts any number of arguments.
    pub max: u8,
    /// Whether it is an extension method, callable as a member of the type of its first parameter.
    pub is_extension: bool,
    /// The type of that first parameter, by index into [`FileFacts::written_types`].
    pub receiver_type: Option<u32>,
}

impl ParameterCount {
    pub const UNLIMITED: u8 = u8::MAX;
}

/// The syntactic position of a name, which decides how it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    Type,
    /// In a base list, where the nested types of the declared type are not in scope.
    Base,
    Attribute,
    /// `A.B` in an expression: each segment may be a namespace, a type or a value.
    Value,
    /// Like `Value`, with the last segment called.
    Called,
    /// A single name where the grammar allows both a constant and a type: `nameof(A)`, `case A:`.
    Bare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    Class,
    Struct,
    Interface,
    Enum,
    Delegate,
    Record,
    RecordStruct,
    Union,
    Trait,
    Annotation,
    /// An alias, or a new type defined from another: Rust's and TypeScript's `type`, Go's `type A int`.
    Alias,
    /// The owner of free functions and values of a file or package.
    Module,
    /// Additional members of a type declared elsewhere: Rust's `impl`, Go's methods.
    Impl,
}

impl TypeKind {
    pub fn name(self) -> &'static str {
        match self {
            TypeKind::Class => "class",
            TypeKind::Struct => "struct",
            TypeKind::Interface => "interface",
            TypeKind::Enum => "enum",
            TypeKind::Delegate => "delegate",
            TypeKind::Record => "record",
            TypeKind::RecordStruct => "record struct",
            TypeKind::Union => "union",
            TypeKind::Trait => "trait",
            TypeKind::Annotation => "annotation",
            TypeKind::Alias => "type",
            TypeKind::Module => "module",
            TypeKind::Impl => "impl",
        }
    }
}

/// Ordered from the widest to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Visibility {
    Public,
    ProtectedInternal,
    Protected,
    Internal,
    /// `pub(crate)`.
    Crate,
    /// Java without a modifier, Go with a lowercase initial.
    Package,
    /// `pub(super)` and `pub(in path)`.
    Restricted,
    PrivateProtected,
    File,
    Private,
}

impl Visibility {
    pub fn name(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::ProtectedInternal => "protected internal",
            Visibility::Protected => "protected",
            Visibility::Internal => "internal",
            Visibility::Crate => "pub(crate)",
            Visibility::Package => "package",
            Visibility::Restricted => "pub(in)",
            Visibility::PrivateProtected => "private protected",
            Visibility::File => "file",
            Visibility::Private => "private",
        }
    }

    /// Whether users of the library can observe the behaviour of the item.
    pub fn is_public_api(self) -> bool {
        self <= Visibility::Protected
    }

    /// Whether other types can see the item at all.
    pub fn is_visible_outside(self) -> bool {
        self < Visibility::Private
    }
}

/// One declaration of a type; a partial type has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypePart {
    pub name: String,
    pub arity: u16,
    pub kind: TypeKind,
    pub scope: u32,
    pub outer: Option<u32>,
    /// `None` if the declaration has no visibility modifier.
    pub visibility: Option<Visibility>,
    /// Without visibility and `partial`, sorted.
    pub modifiers: Vec<String>,
    pub partial: bool,
    /// `<T, U>` as written; empty for a type without type parameters.
    pub parameters: String,
    pub bases: Vec<Shape>,
    /// The references that name the bases, used to resolve inheritance.
    pub base_references: Vec<u32>,
    /// The reference to the type to which this part adds members.
    pub extended_type: Option<u32>,
    pub attributes: Vec<Shape>,
    /// Constraints, the parameters of a primary constructor, the signature of a delegate.
    pub header: Shape,
    /// Digest of the default values and parameter names of the header.
    pub header_behaviour: Digest,
    /// The header after the name, formatted for display.
    pub header_text: String,
    /// Whether an attribute fixes the memory layout of its fields.
    pub has_explicit_layout: bool,
    pub members: Vec<Member>,
    /// Number of member declarations; `int a, b;` counts as one.
    pub declaration_count: u32,
    pub doc: Option<Doc>,
    pub span: Span,
    /// From the first modifier to the body.
    pub signature: Span,
    /// Digest of every byte, including the comments before the declaration.
    pub raw_digest: Digest,
    /// Whether it overlaps a gap.
    pub degraded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberKind {
    Field,
    Constant,
    EnumValue,
    Property,
    Indexer,
    Event,
    Constructor,
    Destructor,
    Method,
    Operator,
    /// A function of a module, not of a type.
    Function,
    Macro,
    /// A type that a trait declares and its implementations define.
    AssociatedType,
}

impl MemberKind {
    pub fn name(self) -> &'static str {
        match self {
            MemberKind::Field => "field",
            MemberKind::Constant => "constant",
            MemberKind::EnumValue => "value",
            MemberKind::Property => "property",
            MemberKind::Indexer => "indexer",
            MemberKind::Event => "event",
            MemberKind::Constructor => "constructor",
            MemberKind::Destructor => "destructor",
            MemberKind::Method => "method",
            MemberKind::Operator => "operator",
            MemberKind::Function => "function",
            MemberKind::Macro => "macro",
            MemberKind::AssociatedType => "type",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub kind: MemberKind,
    pub name: String,
    /// Identifies the member within its type: name, number of type parameters, types of parameters.
    pub key: String,
    pub visibility: Visibility,
    pub is_static: bool,
    /// Modifiers, attributes and types, and the value of a constant: everything callers may rely on.
    pub shape: Shape,
    /// The signature, formatted for display.
    pub signature_text: String,
    /// The reference to its type, if that is a plain name.
    pub value_type: Option<u32>,
    /// The type of its value or result, by index into [`FileFacts::written_types`].
    pub result_type: Option<u32>,
    pub parameter_count: ParameterCount,
    /// Digest of its behaviour: bodies, initial values, default values and names of parameters.
    pub behaviour: Digest,
    /// Digest of the behaviour of private accessors in a member that is not private itself.
    pub private_behaviour: Digest,
    pub doc: Option<Doc>,
    pub span: Span,
    pub signature: Span,
    pub body_span: Option<Span>,
}

/// Part of a declaration in normalized form, independent of its layout, with a placeholder for each name that can be resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    text: String,
    names: Vec<u32>,
}

/// Placeholder for a name in the text of a shape. This character does not occur in source outside of strings.
const NAME_PLACEHOLDER: char = '\u{1}';

impl Shape {
    pub fn push_token(&mut self, token: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        // a string may contain the placeholder character itself
        self.text.extend(token.chars().filter(|c| *c != NAME_PLACEHOLDER && *c != '\r'));
    }

    pub fn push_name(&mut self, reference: u32) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push(NAME_PLACEHOLDER);
        self.names.push(reference);
    }

    pub fn append_shape(&mut self, other: &Shape) {
        if !other.text.is_empty() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&other.text);
            self.names.extend(&other.names);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The length of its text in bytes.
    pub fn text_len(&self) -> usize {
        self.text.len()
    }

    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// Appends the text to `out`; `name` writes each resolved name.
    pub fn render(&self, mut name: impl FnMut(u32, &mut String), out: &mut String) {
        let mut names = self.names.iter();
        for piece in self.text.split_inclusive(NAME_PLACEHOLDER) {
            match piece.strip_suffix(NAME_PLACEHOLDER) {
                Some(before) => {
                    out.push_str(before);
                    if let Some(reference) = names.next() {
                        name(*reference, out);
                    }
                }
                None => out.push_str(piece),
            }
        }
    }
}

/// Documentation, without the layout of its markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doc {
    /// The first sentence or line of the documentation.
    pub summary: String,
    pub digest: Digest,
}

/// A place where parsing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub span: Span,
    pub line: u32,
    pub kind: GapKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GapKind {
    /// Text that matches no grammar rule.
    Unexpected,
    /// A token that a grammar rule requires and that is absent.
    Missing,
    /// Nesting deeper than the traversal limit.
    TooDeep,
    /// The whole file: reading it costs more than a file of its size may. Nothing of it is known.
    OverBudget,
}

impl FileFacts {
    /// Whether nothing of the file is known because reading it costs too much.
    pub fn is_over_budget(&self) -> bool {
        self.gaps.iter().any(|gap| gap.kind == GapKind::OverBudget)
    }
}
